"""The unknown reactions: effect of a unit of each on its two bodies, and the square system for all.

    (dt²/2) (Phi_q + Phi_qq kap0) M⁻¹ Z' Q = -(Phi + Phi_q kap0 + ½ kap0' Phi_qq kap0)      Huang et al. 2000

The unknowns of a joint are a force and a moment on b, at the origin of frame b, in the directions that the
joint constrains; the body of a receives the opposite, at the same point. Phi_q + Phi_qq kap0 are the
gradients at the end of the step; the places and directions Z are those of some part of it, reached by motion
without reactions: of its beginning (0) in the paper. But then a step that starts in a singular pose has no
solution for any Phi_qq, because Z loses there the rank that Phi_q loses. Taken half way (1/2) they do not
lose rank together; and the reactions do no work to second order, since the step's displacement is dt times
the mean of the old and the new velocity.

| joint | rows | unknowns |
| --- | --- | --- |
| spherical | coincide | force |
| revolute | coincide, parallel | force; moment normal to the axis |
| cylindrical | on axis, parallel | force and moment normal to the axis |
| prismatic | on axis, parallel, perpendicular | force normal to the axis; moment |
| pin | on axis | force normal to the axis |

A rotor geared to a joint (armature I) is one more unknown T along the axis, with T / I + s'(α_b - α_a) = 0,
or the accelerations of the coincident points for a slide.
"""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    PARAMETERS,
    THREE,
    TOPOLOGY,
    float64,
    int64,
    kernel,
    part,
    void,
)
from linkwork.multibody.kernels.views import matrix, table, vector
from linkwork.multibody.linalg.vectors import (
    Vector,
    add,
    cross,
    dot,
    load,
    subtract,
    times,
)
from linkwork.multibody.taylor.expansion import coincide, moved, on_axis, parallel, perpendicular, put
from linkwork.multibody.taylor.rigid_motion import STEP, angular_response, free_motion, of_body, to_world
from linkwork.multibody.taylor.taylor_layout import (
    A_AXES,
    ARMATURE,
    AXES,
    B_AT,
    COLUMNS,
    DIRECTIONS,
    DOF,
    FREE_ACCELERATION,
    FREE_ANGULAR,
    FREE_SHIFT,
    FREE_TURN,
    GAP,
    JOINTS,
    MASS,
    MATRIX,
    N_DOF,
    N_JOINTS,
    N_ROWS,
    OMEGA,
    PIN,
    POSITION,
    PRISMATIC,
    REACTIONS_AT,
    REVOLUTE,
    ROW_BODIES,
    ROWS,
    SPHERICAL,
    TURN,
    UNKNOWNS,
)


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, int64, int64, int64, THREE, THREE, THREE, THREE))
def column(
    p: Floats, t: Integers, w: Floats, row: int, b: int, a: int, lever_b: Vector, lever_a: Vector,
    force: Vector, moment: Vector,
) -> None:  # fmt: skip
    """M⁻¹ Z' for an unknown with this force and moment on b; levers lead from the centres to the point."""
    nothing = (0.0, 0.0, 0.0)
    mass, directions = vector(t, p, MASS), matrix(t, w, DIRECTIONS, 6)
    shift_b = turn_b = shift_a = turn_a = nothing
    if b >= 0:
        shift_b = times(1.0 / mass[b], force)
        turn_b = angular_response(p, t, w, b, add(moment, cross(lever_b, force)))
    if a >= 0:
        shift_a = times(-1.0 / mass[a], force)
        turn_a = times(-1.0, angular_response(p, t, w, a, add(moment, cross(lever_a, force))))
    put(matrix(t, w, COLUMNS, 12), row, shift_b, turn_b, shift_a, turn_a)
    directions[row, 0], directions[row, 1], directions[row, 2] = force
    directions[row, 3], directions[row, 4], directions[row, 5] = moment


@part
def part_turn(t: Integers, w: Floats, i: int) -> Vector:
    """Rotation vector of a body in that part of the step, with no reactions."""
    return times(vector(t, w, REACTIONS_AT)[0], of_body(matrix(t, w, FREE_TURN, 3), i))


@part
def _levers(p: Floats, t: Integers, w: Floats, j: int, b: int, a: int) -> tuple[Vector, Vector]:
    """From both centres of mass to the origin of frame b, as they would be part way through the step."""
    position, shift = matrix(t, w, POSITION, 3), matrix(t, w, FREE_SHIFT, 3)
    lever_b = to_world(matrix(t, w, AXES, 3), b, load(matrix(t, p, B_AT, 3), j))
    reach = vector(t, w, REACTIONS_AT)[0]
    lever_b = moved(lever_b, part_turn(t, w, b))
    c_b = add(of_body(position, b), times(reach, of_body(shift, b)))
    c_a = add(of_body(position, a), times(reach, of_body(shift, a)))
    return lever_b, subtract(add(c_b, lever_b), c_a)


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, int64))
def joint_rows(p: Floats, t: Integers, w: Floats, j: int) -> None:
    """Rows and columns of one joint."""
    joints, axes, a_axes = table(t, JOINTS, 5), matrix(t, w, AXES, 3), matrix(t, p, A_AXES, 3)
    kind, b, a, row = joints[j, 0], joints[j, 1], joints[j, 2], joints[j, 3]
    lever_b, lever_a = _levers(p, t, w, j, b, a)
    turn_a = part_turn(t, w, a)
    nothing = (0.0, 0.0, 0.0)
    whole = kind in (SPHERICAL, REVOLUTE)
    if whole:
        coincide(p, t, w, j, b, a, row)
    else:
        on_axis(p, t, w, j, b, a, row)
    for k in range(3 if whole else 2):
        e = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        if not whole:
            e = moved(to_world(axes, a, load(a_axes, 3 * j + k)), turn_a)
        column(p, t, w, row, b, a, lever_b, lever_a, e, nothing)
        row += 1
    if kind not in (SPHERICAL, PIN):
        parallel(p, t, w, j, b, a, row)
        if kind == PRISMATIC:
            perpendicular(p, t, w, j, b, a, row + 2)
        for k in range(3 if kind == PRISMATIC else 2):
            e = moved(to_world(axes, a, load(a_axes, 3 * j + k)), turn_a)
            column(p, t, w, row, b, a, lever_b, lever_a, nothing, e)
            row += 1


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, int64, float64))
def armature_row(p: Floats, t: Integers, w: Floats, k: int, half: float) -> None:
    """Row and column of the rotor on degree of freedom k."""
    dofs, joints = table(t, DOF, 3), table(t, JOINTS, 5)
    j, row = dofs[k, 0], dofs[k, 2]
    b, a = joints[j, 1], joints[j, 2]
    s = to_world(matrix(t, w, AXES, 3), a, load(matrix(t, p, A_AXES, 3), 3 * j + 2))
    s = moved(s, part_turn(t, w, a))
    lever_b, lever_a = _levers(p, t, w, j, b, a)
    linear, angular = matrix(t, w, FREE_ACCELERATION, 3), matrix(t, w, FREE_ANGULAR, 3)
    rows, right = matrix(t, w, ROWS, 12), vector(t, w, UNKNOWNS)
    nothing, back = (0.0, 0.0, 0.0), times(-1.0, s)
    apart = subtract(of_body(angular, b), of_body(angular, a))
    if dofs[k, 1] == TURN:
        put(rows, row, nothing, s, nothing, back)
        column(p, t, w, row, b, a, lever_b, lever_a, nothing, s)
    else:
        put(rows, row, s, cross(lever_b, s), back, times(-1.0, cross(lever_a, s)))
        column(p, t, w, row, b, a, lever_b, lever_a, s, nothing)
        omega = matrix(t, w, OMEGA, 3)
        w_b, w_a = of_body(omega, b), of_body(omega, a)
        on_b = add(cross(of_body(angular, b), lever_b), cross(w_b, cross(w_b, lever_b)))
        on_a = add(cross(of_body(angular, a), lever_a), cross(w_a, cross(w_a, lever_a)))
        apart = add(subtract(of_body(linear, b), of_body(linear, a)), subtract(on_b, on_a))
    vector(t, w, GAP)[row] = 0.0
    right[row] = -half * dot(s, apart)


@part
def _meet(rows: Floats, i: int, at: int, columns: Floats, k: int, end: int) -> float:
    """Row i's six numbers from `at` times column k's six from `end`."""
    total = 0.0
    for n in range(6):
        total += rows[i, at + n] * columns[k, end + n]
    return total


@kernel(STEP)
def assemble(p: Floats, t: Integers, w: Floats, dt: float) -> None:
    """`free_motion`, then matrix and right side of the system for the reactions, for a step of dt (s)."""
    free_motion(p, t, w, dt)
    half = 0.5 * dt * dt
    for j in range(t[N_JOINTS]):
        joint_rows(p, t, w, j)
    dofs, armature = table(t, DOF, 3), vector(t, p, ARMATURE)
    for k in range(t[N_DOF]):
        if dofs[k, 2] >= 0:
            armature_row(p, t, w, k, half)

    system, bodies = matrix(t, w, MATRIX, t[N_ROWS]), table(t, ROW_BODIES, 2)
    rows, columns = matrix(t, w, ROWS, 12), matrix(t, w, COLUMNS, 12)
    for i in range(t[N_ROWS]):
        b, a = bodies[i, 0], bodies[i, 1]
        for k in range(t[N_ROWS]):
            entry = 0.0
            for end in range(2):
                if bodies[k, end] >= 0:
                    if bodies[k, end] == b:
                        entry += _meet(rows, i, 0, columns, k, 6 * end)
                    elif bodies[k, end] == a:
                        entry += _meet(rows, i, 6, columns, k, 6 * end)
            system[i, k] = half * entry
    for k in range(t[N_DOF]):
        row = dofs[k, 2]
        if row >= 0:
            system[row, row] += half / armature[k]
