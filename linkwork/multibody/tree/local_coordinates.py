"""Coordinates of a step: where a state lies, seen from the state at the step's beginning.

x (nv) takes q0 to q = q0 moved along x (rotations.move). Of ordinary joints x is just q - q0; of a rotation
by a quaternion it is the rotation vector in the turned axes, R = R0 exp(x^), whose rate is not the angular
velocity:

    ω = J x˙,   J = 1 - (1 - cos θ)/θ² x^ + (θ - sin θ)/θ³ x^x^,   J⁻¹ = 1 + x^/2 + c x^x^,   θ = |x|
    c = 1/θ² - (1 + cos θ)/(2 θ sin θ)

Unlike the components of a quaternion these are as many as the degrees of freedom, so that some of them can be
taken as independent and the others follow.
"""

import math

from linkwork.arrays import Floats
from linkwork.multibody.kernels.compiling import part
from linkwork.multibody.kernels.views import copy
from linkwork.multibody.linalg.vectors import add, cross, dot, times
from linkwork.multibody.workspace import Model


@part
def chart_rates(m: Model, x: Floats, v: Floats, rates: Floats) -> None:
    """Write the rates x˙ (nv) for v (nv) at x (nv): x˙ = J⁻¹ v for rotations, v for other joints."""
    copy(v, rates)
    for i in range(m.n_balls):
        k = m.ball_vector[i]
        turn, w = (x[k], x[k + 1], x[k + 2]), (v[k], v[k + 1], v[k + 2])
        square = dot(turn, turn)
        c = 1.0 / 12.0 + square / 720.0
        if square > 1e-4:
            angle = math.sqrt(square)
            c = 1.0 / square - (1.0 + math.cos(angle)) / (2.0 * angle * math.sin(angle))
        once = cross(turn, w)
        rates[k], rates[k + 1], rates[k + 2] = add(w, add(times(0.5, once), times(c, cross(turn, once))))


@part
def chart_row(m: Model, x: Floats, row: Floats, turned: Floats) -> None:
    """Transform a Jacobian's row (nv) against v to `turned` (nv), the row against x˙ at x (nv): row' J."""
    copy(row, turned)
    for i in range(m.n_balls):
        k = m.ball_vector[i]
        turn, a = (x[k], x[k + 1], x[k + 2]), (row[k], row[k + 1], row[k + 2])
        square = dot(turn, turn)
        first, second = 0.5 - square / 24.0, 1.0 / 6.0 - square / 120.0
        if square > 1e-4:
            angle = math.sqrt(square)
            first = (1.0 - math.cos(angle)) / square
            second = (angle - math.sin(angle)) / (square * angle)
        once = cross(turn, a)
        turned[k], turned[k + 1], turned[k + 2] = add(
            a, add(times(first, once), times(second, cross(turn, once)))
        )
