"""Programs of expressions with their derivatives: forwards along the motion, backwards for the gradient.

Along the motion with v̇ = 0, so that θ˙ = J v and θ¨ = J̇ v, each entry of the tape carries its value and two
derivatives of time (a Taylor series of second order). Afterwards the adjoint of each entry, from the last one
back, gives the gradient: dΦ = Σ adjoint dθ.
"""

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.expressions.program import (
    ACOS,
    ADD,
    ASIN,
    ATAN,
    ATAN2,
    CLOCK_TIME,
    CONSTANT,
    COORDINATE,
    COS,
    DIVIDE,
    EXP,
    LOG,
    MULTIPLY,
    NEGATIVE,
    RATE,
    SIN,
    SQRT,
    SUBTRACT,
    TAN,
    TANH,
)
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    float64,
    int64,
    kernel,
    part,
    void,
)
from linkwork.multibody.kernels.layout import (
    CLOCK,
    FACTORS,
    JDV,
    PROGRAM,
    PROGRAM_CONSTANT,
    TAPE,
    THETA,
)
from linkwork.multibody.kernels.views import matrix, table, vector
from linkwork.multibody.tree.coordinates import add_coordinate, clear_coordinate, coordinate_rate

_ON_PROGRAM = void(PARAMETERS, TOPOLOGY, BUFFER, int64, int64)


@part
def _function(operation: int, x: float, exponent: float) -> tuple[float, float, float]:
    """f(x), f'(x), f''(x)."""
    if operation == SIN:
        s, c = math.sin(x), math.cos(x)
        return s, c, -s
    if operation == COS:
        s, c = math.sin(x), math.cos(x)
        return c, -s, -c
    if operation == TAN:
        y = math.tan(x)
        return y, 1.0 + y * y, 2.0 * y * (1.0 + y * y)
    if operation in (ASIN, ACOS):
        d = 1.0 / math.sqrt(1.0 - x * x) if abs(x) < 1.0 else math.nan
        if operation == ACOS:
            return (math.acos(x) if abs(x) <= 1.0 else math.nan), -d, -x * d * d * d
        return (math.asin(x) if abs(x) <= 1.0 else math.nan), d, x * d * d * d
    if operation == ATAN:
        d = 1.0 / (1.0 + x * x)
        return math.atan(x), d, -2.0 * x * d * d
    if operation == SQRT:
        y = math.sqrt(x) if x > 0.0 else math.nan
        return y, 0.5 / y, -0.25 / (x * y)
    if operation == EXP:
        y = math.exp(x)
        return y, y, y
    if operation == LOG:
        return (math.log(x) if x > 0.0 else math.nan), 1.0 / x, -1.0 / (x * x)
    if operation == TANH:
        y = math.tanh(x)
        d = 1.0 - y * y
        return y, d, -2.0 * y * d
    d2 = exponent * (exponent - 1.0) * x ** (exponent - 2.0)
    return x**exponent, exponent * x ** (exponent - 1.0), d2


@kernel(_ON_PROGRAM)
def run_program(p: Floats, t: Integers, w: Floats, first: int, count: int) -> None:
    """After `coordinates`: the first three columns of `TAPE` for a program, values and derivatives."""
    program, constant, tape = table(t, PROGRAM, 3), vector(t, p, PROGRAM_CONSTANT), matrix(t, w, TAPE, 4)
    theta, bias = vector(t, w, THETA), vector(t, w, JDV)
    for k in range(count):
        operation, a, b = program[first + k, 0], program[first + k, 1], program[first + k, 2]
        value = rate = second = 0.0
        if operation == CONSTANT:
            value = constant[first + k]
        elif operation == CLOCK_TIME:
            value, rate = vector(t, w, CLOCK)[0], 1.0
        elif operation == COORDINATE:
            value, rate, second = theta[a], coordinate_rate(t, w, a), bias[a]
        elif operation == RATE:  # in forces, of which no derivatives are wanted
            value = coordinate_rate(t, w, a)
        else:
            x, xd, xdd = tape[a, 0], tape[a, 1], tape[a, 2]
            y = yd = ydd = 0.0
            if b >= 0:
                y, yd, ydd = tape[b, 0], tape[b, 1], tape[b, 2]
            if operation == ADD:
                value, rate, second = x + y, xd + yd, xdd + ydd
            elif operation == SUBTRACT:
                value, rate, second = x - y, xd - yd, xdd - ydd
            elif operation == NEGATIVE:
                value, rate, second = -x, -xd, -xdd
            elif operation == MULTIPLY:
                value, rate, second = x * y, xd * y + x * yd, xdd * y + 2.0 * xd * yd + x * ydd
            elif operation == DIVIDE:
                value = x / y
                rate = (xd - value * yd) / y
                second = (xdd - 2.0 * rate * yd - value * ydd) / y
            elif operation == ATAN2:
                square = x * x + y * y
                value = math.atan2(x, y)
                rate = (y * xd - x * yd) / square
                second = (y * xdd - x * ydd - 2.0 * rate * (x * xd + y * yd)) / square
            else:
                value, d, dd = _function(operation, x, constant[first + k])
                rate, second = d * xd, dd * xd * xd + d * xdd
        tape[k, 0], tape[k, 1], tape[k, 2] = value, rate, second


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER, int64, int64, VECTOR))
def add_gradient(p: Floats, t: Integers, w: Floats, first: int, count: int, row: Floats) -> float:
    """After `run_program`: add the program's gradient g with respect to velocities to `row` (nv) of A.

    Return g'v, the part of the program's rate that is not that of the clock.
    """
    program, constant, tape = table(t, PROGRAM, 3), vector(t, p, PROGRAM_CONSTANT), matrix(t, w, TAPE, 4)
    moving = 0.0
    for k in range(count):
        tape[k, 3] = 0.0
    tape[count - 1, 3] = 1.0
    for k in range(count - 1, -1, -1):
        operation, a, b = program[first + k, 0], program[first + k, 1], program[first + k, 2]
        adjoint = tape[k, 3]
        if operation == COORDINATE:
            add_coordinate(t, w, a, adjoint, row)
            moving += adjoint * tape[k, 1]
        elif operation == ADD:
            tape[a, 3] += adjoint
            tape[b, 3] += adjoint
        elif operation == SUBTRACT:
            tape[a, 3] += adjoint
            tape[b, 3] -= adjoint
        elif operation == NEGATIVE:
            tape[a, 3] -= adjoint
        elif operation == MULTIPLY:
            tape[a, 3] += adjoint * tape[b, 0]
            tape[b, 3] += adjoint * tape[a, 0]
        elif operation == DIVIDE:
            tape[a, 3] += adjoint / tape[b, 0]
            tape[b, 3] -= adjoint * tape[k, 0] / tape[b, 0]
        elif operation == ATAN2:
            x, y = tape[a, 0], tape[b, 0]
            tape[a, 3] += adjoint * y / (x * x + y * y)
            tape[b, 3] -= adjoint * x / (x * x + y * y)
        elif operation != CONSTANT and operation != CLOCK_TIME:
            _, d, _ = _function(operation, tape[a, 0], constant[first + k])
            tape[a, 3] += adjoint * d
    return moving


@part
def _clear_gradient(t: Integers, first: int, count: int, row: Floats) -> None:
    """Set the entries of `row` (nv) to 0 that the program's gradient can have."""
    program = table(t, PROGRAM, 3)
    for k in range(first, first + count):
        if program[k, 0] == COORDINATE:
            clear_coordinate(t, program[k, 1], row)


@part
def expression_row(
    t: Integers, p: Floats, w: Floats, first: int, count: int, row: Floats
) -> tuple[float, float, float, float]:
    """Return Φ, its rate, the part of it that is not A v, and the second derivative for v̇ = 0.

    Writes the gradient to `row` (nv) of A.
    """
    run_program(p, t, w, first, count)
    _clear_gradient(t, first, count, row)
    moving = add_gradient(p, t, w, first, count, row)
    tape = matrix(t, w, TAPE, 4)
    return tape[count - 1, 0], tape[count - 1, 1], tape[count - 1, 1] - moving, tape[count - 1, 2]


@part
def velocity_row(
    t: Integers, p: Floats, w: Floats, first: int, count: int, row: Floats
) -> tuple[float, float, float]:
    """Return Σ f θ˙ + f₀, f₀, and the rate of the sum for v̇ = 0; write Σ f J to `row` (nv) of A.

    The factors f are programs.
    """
    factors, tape, bias = table(t, FACTORS, 3), matrix(t, w, TAPE, 4), vector(t, w, JDV)
    speed = rate = given = 0.0
    for k in range(first, first + count):
        if factors[k, 0] >= 0:
            clear_coordinate(t, factors[k, 0], row)
    for k in range(first, first + count):
        coordinate = factors[k, 0]
        run_program(p, t, w, factors[k, 1], factors[k, 2])
        value, change = tape[factors[k, 2] - 1, 0], tape[factors[k, 2] - 1, 1]
        if coordinate < 0:
            given += value
            rate += change
            continue
        moving = coordinate_rate(t, w, coordinate)
        add_coordinate(t, w, coordinate, value, row)
        speed += value * moving
        rate += change * moving + value * bias[coordinate]
    return speed + given, given, rate
