"""Programs of expressions with their derivatives: forwards along the motion, backwards for the gradient.

Along the motion with v̇ = 0, so that θ˙ = J v and θ¨ = J̇ v, each entry of the tape carries its value and two
derivatives of time (a Taylor series of second order). Afterwards the adjoint of each entry, from the last one
back, gives the gradient: dΦ = Σ adjoint dθ.
"""

import math

from linkwork.arrays import Floats
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
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.tree.coordinates import add_coordinate, clear_coordinate, coordinate_rate
from linkwork.multibody.workspace import Model, Workspace


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


@kernel
def run_program(m: Model, w: Workspace, first: int, count: int) -> None:
    """After `coordinates`: the first three columns of `tape` for a program, values and derivatives."""
    for k in range(count):
        operation, a, b = m.program[first + k, 0], m.program[first + k, 1], m.program[first + k, 2]
        value = rate = second = 0.0
        if operation == CONSTANT:
            value = m.program_constant[first + k]
        elif operation == CLOCK_TIME:
            value, rate = w.clock[0], 1.0
        elif operation == COORDINATE:
            value, rate, second = w.theta[a], coordinate_rate(m, w, a), w.Jdv[a]
        elif operation == RATE:  # in forces, of which no derivatives are wanted
            value = coordinate_rate(m, w, a)
        else:
            x, xd, xdd = w.tape[a, 0], w.tape[a, 1], w.tape[a, 2]
            y = yd = ydd = 0.0
            if b >= 0:
                y, yd, ydd = w.tape[b, 0], w.tape[b, 1], w.tape[b, 2]
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
                value, d, dd = _function(operation, x, m.program_constant[first + k])
                rate, second = d * xd, dd * xd * xd + d * xdd
        w.tape[k, 0], w.tape[k, 1], w.tape[k, 2] = value, rate, second


@kernel
def add_gradient(m: Model, w: Workspace, first: int, count: int, row: Floats) -> float:
    """After `run_program`: add the program's gradient g with respect to velocities to `row` (nv) of A.

    Return g'v, the part of the program's rate that is not that of the clock.
    """
    moving = 0.0
    for k in range(count):
        w.tape[k, 3] = 0.0
    w.tape[count - 1, 3] = 1.0
    for k in range(count - 1, -1, -1):
        operation, a, b = m.program[first + k, 0], m.program[first + k, 1], m.program[first + k, 2]
        adjoint = w.tape[k, 3]
        if operation == COORDINATE:
            add_coordinate(m, w, a, adjoint, row)
            moving += adjoint * w.tape[k, 1]
        elif operation == ADD:
            w.tape[a, 3] += adjoint
            w.tape[b, 3] += adjoint
        elif operation == SUBTRACT:
            w.tape[a, 3] += adjoint
            w.tape[b, 3] -= adjoint
        elif operation == NEGATIVE:
            w.tape[a, 3] -= adjoint
        elif operation == MULTIPLY:
            w.tape[a, 3] += adjoint * w.tape[b, 0]
            w.tape[b, 3] += adjoint * w.tape[a, 0]
        elif operation == DIVIDE:
            w.tape[a, 3] += adjoint / w.tape[b, 0]
            w.tape[b, 3] -= adjoint * w.tape[k, 0] / w.tape[b, 0]
        elif operation == ATAN2:
            x, y = w.tape[a, 0], w.tape[b, 0]
            w.tape[a, 3] += adjoint * y / (x * x + y * y)
            w.tape[b, 3] -= adjoint * x / (x * x + y * y)
        elif operation != CONSTANT and operation != CLOCK_TIME:
            _, d, _ = _function(operation, w.tape[a, 0], m.program_constant[first + k])
            w.tape[a, 3] += adjoint * d
    return moving


@part
def _clear_gradient(m: Model, first: int, count: int, row: Floats) -> None:
    """Set the entries of `row` (nv) to 0 that the program's gradient can have."""
    for k in range(first, first + count):
        if m.program[k, 0] == COORDINATE:
            clear_coordinate(m, m.program[k, 1], row)


@part
def expression_row(
    m: Model, w: Workspace, first: int, count: int, row: Floats
) -> tuple[float, float, float, float]:
    """Return Φ, its rate, the part of it that is not A v, and the second derivative for v̇ = 0.

    Writes the gradient to `row` (nv) of A.
    """
    run_program(m, w, first, count)
    _clear_gradient(m, first, count, row)
    moving = add_gradient(m, w, first, count, row)
    return w.tape[count - 1, 0], w.tape[count - 1, 1], w.tape[count - 1, 1] - moving, w.tape[count - 1, 2]


@part
def velocity_row(m: Model, w: Workspace, first: int, count: int, row: Floats) -> tuple[float, float, float]:
    """Return Σ f θ˙ + f₀, f₀, and the rate of the sum for v̇ = 0; write Σ f J to `row` (nv) of A.

    The factors f are programs.
    """
    speed = rate = given = 0.0
    for k in range(first, first + count):
        if m.factors[k, 0] >= 0:
            clear_coordinate(m, m.factors[k, 0], row)
    for k in range(first, first + count):
        coordinate = m.factors[k, 0]
        run_program(m, w, m.factors[k, 1], m.factors[k, 2])
        value, change = w.tape[m.factors[k, 2] - 1, 0], w.tape[m.factors[k, 2] - 1, 1]
        if coordinate < 0:
            given += value
            rate += change
            continue
        moving = coordinate_rate(m, w, coordinate)
        add_coordinate(m, w, coordinate, value, row)
        speed += value * moving
        rate += change * moving + value * w.Jdv[coordinate]
    return speed + given, given, rate
