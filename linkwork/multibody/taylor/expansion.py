"""Second-order Taylor expansion of the closures of joints, after Huang et al. 2000, section 3.

In a step, body i shifts by x_i + X_i and turns by the rotation vector θ_i + Θ_i, where X, Θ come from the
reactions. A vector s fixed in it becomes, to second order,

    s~ = s + θ × s + θ × (θ × s) / 2,       ds~ = Θ × s + (Θ × (θ × s) + θ × (Θ × s)) / 2
    c'ds~ = Θ'l(s, c),                      l(s, c) = s × c + ((θ × s) × c + s × (c × θ)) / 2

The last two terms are Phi_qq kap0 of the paper's general form. Its printed rows of rigid bodies have them for
directions only; with them in all rows, motion restores the rank that Phi_q loses at a singular pose.

| closure | Φ | rows |
| --- | --- | --- |
| the points coincide | E = p_b~ - p_a~ | 3 |
| parallel axes | s_b~ × s_a~ | 2 |
| point of b on a's axis | s_a~ × E | 2 |
| perpendicular | h_b~'h_a~ | 1 |

Products of vectors are projected on two unit vectors normal to a's axis: as triples, they have rank 2.
"""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import BUFFER, PARAMETERS, TOPOLOGY, int64, kernel, part, void
from linkwork.multibody.kernels.views import matrix, vector
from linkwork.multibody.linalg.vectors import (
    Vector,
    add,
    cross,
    dot,
    load,
    subtract,
    times,
)
from linkwork.multibody.taylor.rigid_motion import of_body, to_world
from linkwork.multibody.taylor.taylor_layout import (
    A_AT,
    A_AXES,
    AXES,
    B_AT,
    B_AXES,
    FREE_SHIFT,
    FREE_TURN,
    GAP,
    POSITION,
    ROWS,
    UNKNOWNS,
)

_AT_JOINT = void(PARAMETERS, TOPOLOGY, BUFFER, int64, int64, int64, int64)  # joint, b, a, first row


@part
def moved(s: Vector, turn: Vector) -> Vector:
    """s~ without reactions."""
    first = cross(turn, s)
    return add(s, add(first, times(0.5, cross(turn, first))))


@part
def sensitivity(s: Vector, turn: Vector, c: Vector) -> Vector:
    """l(s, c): how c's~ changes with a further rotation."""
    second = add(cross(cross(turn, s), c), cross(s, cross(c, turn)))
    return add(cross(s, c), times(0.5, second))


@part
def put(rows: Floats, row: int, shift_b: Vector, turn_b: Vector, shift_a: Vector, turn_a: Vector) -> None:
    """Write the twelve numbers of one row of `rows` (n × 12)."""
    rows[row, 0], rows[row, 1], rows[row, 2] = shift_b
    rows[row, 3], rows[row, 4], rows[row, 5] = turn_b
    rows[row, 6], rows[row, 7], rows[row, 8] = shift_a
    rows[row, 9], rows[row, 10], rows[row, 11] = turn_a


@part
def _ends(
    p: Floats, t: Integers, w: Floats, j: int, b: int, a: int
) -> tuple[Vector, Vector, Vector, Vector, Vector, Vector]:
    """Levers of the two points, their distance now, turns of both bodies, their distance after the step."""
    axes, position = matrix(t, w, AXES, 3), matrix(t, w, POSITION, 3)
    d_b = to_world(axes, b, load(matrix(t, p, B_AT, 3), j))
    d_a = to_world(axes, a, load(matrix(t, p, A_AT, 3), j))
    shift, turn = matrix(t, w, FREE_SHIFT, 3), matrix(t, w, FREE_TURN, 3)
    turn_b, turn_a = of_body(turn, b), of_body(turn, a)
    between = subtract(of_body(position, b), of_body(position, a))
    now = add(between, subtract(d_b, d_a))
    shifted = add(between, subtract(of_body(shift, b), of_body(shift, a)))
    later = add(shifted, subtract(moved(d_b, turn_b), moved(d_a, turn_a)))
    return d_b, d_a, now, turn_b, turn_a, later


@kernel(_AT_JOINT)
def coincide(p: Floats, t: Integers, w: Floats, j: int, b: int, a: int, row: int) -> None:
    """Three rows: the origins of the frames coincide."""
    rows, gap, right = matrix(t, w, ROWS, 12), vector(t, w, GAP), vector(t, w, UNKNOWNS)
    d_b, d_a, now, turn_b, turn_a, later = _ends(p, t, w, j, b, a)
    for k in range(3):
        e = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        on_a = times(-1.0, sensitivity(d_a, turn_a, e))
        put(rows, row + k, e, sensitivity(d_b, turn_b, e), times(-1.0, e), on_a)
        gap[row + k] = dot(e, now)
        right[row + k] = -dot(e, later)


@kernel(_AT_JOINT)
def on_axis(p: Floats, t: Integers, w: Floats, j: int, b: int, a: int, row: int) -> None:
    """Two rows: the origin of frame b lies on a's axis."""
    rows, gap, right = matrix(t, w, ROWS, 12), vector(t, w, GAP), vector(t, w, UNKNOWNS)
    axes, a_axes = matrix(t, w, AXES, 3), matrix(t, p, A_AXES, 3)
    d_b, d_a, now, turn_b, turn_a, later = _ends(p, t, w, j, b, a)
    s = to_world(axes, a, load(a_axes, 3 * j + 2))
    s_later = moved(s, turn_a)
    for k in range(2):
        e = to_world(axes, a, load(a_axes, 3 * j + k))
        # e'(ds~ × E) + e'(s~ × dE)
        c = cross(e, s_later)
        on_a = subtract(sensitivity(s, turn_a, cross(later, e)), sensitivity(d_a, turn_a, c))
        put(rows, row + k, c, sensitivity(d_b, turn_b, c), times(-1.0, c), on_a)
        gap[row + k] = dot(e, cross(s, now))
        right[row + k] = -dot(e, cross(s_later, later))


@kernel(_AT_JOINT)
def parallel(p: Floats, t: Integers, w: Floats, j: int, b: int, a: int, row: int) -> None:
    """Two rows: the axes of the frames are parallel."""
    rows, gap, right = matrix(t, w, ROWS, 12), vector(t, w, GAP), vector(t, w, UNKNOWNS)
    axes, turn = matrix(t, w, AXES, 3), matrix(t, w, FREE_TURN, 3)
    a_axes, b_axes = matrix(t, p, A_AXES, 3), matrix(t, p, B_AXES, 3)
    turn_b, turn_a = of_body(turn, b), of_body(turn, a)
    s_b, s_a = to_world(axes, b, load(b_axes, 3 * j + 2)), to_world(axes, a, load(a_axes, 3 * j + 2))
    later_b, later_a = moved(s_b, turn_b), moved(s_a, turn_a)
    nothing = (0.0, 0.0, 0.0)
    for k in range(2):
        e = to_world(axes, a, load(a_axes, 3 * j + k))
        # e'(ds_b~ × s_a~) + e'(s_b~ × ds_a~)
        on_b, on_a = (
            sensitivity(s_b, turn_b, cross(later_a, e)),
            sensitivity(s_a, turn_a, cross(e, later_b)),
        )
        put(rows, row + k, nothing, on_b, nothing, on_a)
        gap[row + k] = dot(e, cross(s_b, s_a))
        right[row + k] = -dot(e, cross(later_b, later_a))


@kernel(_AT_JOINT)
def perpendicular(p: Floats, t: Integers, w: Floats, j: int, b: int, a: int, row: int) -> None:
    """One row: b's second axis is perpendicular to a's first."""
    rows, gap, right = matrix(t, w, ROWS, 12), vector(t, w, GAP), vector(t, w, UNKNOWNS)
    axes, turn = matrix(t, w, AXES, 3), matrix(t, w, FREE_TURN, 3)
    turn_b, turn_a = of_body(turn, b), of_body(turn, a)
    h_b = to_world(axes, b, load(matrix(t, p, B_AXES, 3), 3 * j + 1))
    h_a = to_world(axes, a, load(matrix(t, p, A_AXES, 3), 3 * j))
    later_b, later_a = moved(h_b, turn_b), moved(h_a, turn_a)
    nothing = (0.0, 0.0, 0.0)
    on_b, on_a = sensitivity(h_b, turn_b, later_a), sensitivity(h_a, turn_a, later_b)
    put(rows, row, nothing, on_b, nothing, on_a)
    gap[row] = dot(h_b, h_a)
    right[row] = -dot(later_b, later_a)
