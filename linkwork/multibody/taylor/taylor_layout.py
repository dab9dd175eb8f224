"""Layout of the flat arrays of a maximal model: parameters p, topology t, workspace w.

As in kernels/layout.py: a field is the index in t at which its start is written, and `views` reads it. Sizes:
nb bodies (the world is body -1), nj joints, nf degrees of freedom, nr rows, as many as unknown reactions.

Vectors are in world axes, except where "body axes" is said. A *row* has the 12 coefficients of one scalar
closure on the accelerations of its two bodies: b's centre, b's rotation, a's centre, a's rotation. A *column*
is the effect of one unknown on these accelerations, in the same order.
"""

N_BODIES, N_JOINTS, N_DOF, N_ROWS = range(4)

SPHERICAL, REVOLUTE, CYLINDRICAL, PRISMATIC, PIN = range(5)
TURN, SLIDE = range(2)

_next = 8


def _field() -> int:
    global _next
    _next += 2
    return _next - 2


# fields of w: the state
POSITION = _field()  # nb × 3, centres of mass, m
ATTITUDE = _field()  # nb × 4, unit quaternions (w, x, y, z): body axes to world axes
VELOCITY = _field()  # nb × 3, of the centres of mass, m/s
SPIN = _field()  # nb × 3, angular velocity in body axes, rad/s
# fields of w: what acts during a step
FORCE = _field()  # nb × 3, applied at the centre of mass, N
TORQUE = _field()  # nb × 3, applied, N m
EFFORT = _field()  # nf, of the motors along joint axes, on b, N m or N
# fields of w: results
COORDINATE = _field()  # nf, joint angles (counted on through whole turns) and slides, rad or m
RATE = _field()  # nf
REACTION = _field()  # nj × 9: force and moment on b's body from a's, and where: at the origin of frame b
ACCELERATION = _field()  # nb × 3
ANGULAR_ACCELERATION = _field()  # nb × 3
MATRIX = _field()  # nr × nr
UNKNOWNS = _field()  # nr: the right side, then the reactions
REACTIONS_AT = _field()  # 1: part of the step after which places and directions of reactions are taken
PIVOT_RATIO = _field()  # 2: smallest pivot over largest, and the least that a step accepts
TURN_MAX = _field()  # 2: largest rotation of a body in a step without reactions, and the most accepted, rad
GAP = _field()  # nr: the closures' values before the step, m or rad (0 for armatures)
# fields of w: scratch
AXES = _field()  # 3 nb × 3, row 3 i + k: k-th axis of body i
OMEGA = _field()  # nb × 3, angular velocity
FREE_ACCELERATION = _field()  # nb × 3, with no reactions
FREE_ANGULAR = _field()  # nb × 3
FREE_SHIFT = _field()  # nb × 3, displacement in the step with no reactions
FREE_TURN = _field()  # nb × 3, rotation vector likewise
ROWS = _field()  # nr × 12
COLUMNS = _field()  # nr × 12
DIRECTIONS = _field()  # nr × 6: force and moment on b for one unit of the unknown

# fields of p
GRAVITY = _field()  # 3
MASS = _field()  # nb
INERTIA = _field()  # nb × 6, about the centre of mass, body axes
INVERSE_INERTIA = _field()  # nb × 6
A_AT = _field()  # nj × 3, origin of frame a from the centre of mass of its body, body axes
A_AXES = _field()  # 3 nj × 3, row 3 j + k: k-th axis of frame a, body axes; the third is the joint's
B_AT = _field()
B_AXES = _field()
ARMATURE = _field()  # nf
VISCOUS = _field()  # nf
COULOMB = _field()  # nf
COULOMB_SPEED = _field()  # nf

# tables in t
JOINTS = _field()  # nj × 5: kind, body of b, body of a, first row, row after its last
DOF = _field()  # nf × 3: joint, TURN or SLIDE, row of its armature (-1: none)
ROW_BODIES = _field()  # nr × 2: body of b, body of a

END_OF_HEADER = _next


def sizes(nb: int, nj: int, nf: int, nr: int) -> dict[int, int]:
    """Return the number of floats of each field of w, in their order."""
    motion = (POSITION, VELOCITY, SPIN, FORCE, TORQUE, ACCELERATION, ANGULAR_ACCELERATION, OMEGA)
    free = (FREE_ACCELERATION, FREE_ANGULAR, FREE_SHIFT, FREE_TURN)
    return {
        **dict.fromkeys((*motion, *free), 3 * nb),
        ATTITUDE: 4 * nb,
        AXES: 9 * nb,
        **dict.fromkeys((EFFORT, COORDINATE, RATE), nf),
        REACTION: 9 * nj,
        MATRIX: nr * nr,
        **dict.fromkeys((UNKNOWNS, GAP), nr),
        REACTIONS_AT: 1,
        **dict.fromkeys((PIVOT_RATIO, TURN_MAX), 2),
        **dict.fromkeys((ROWS, COLUMNS), 12 * nr),
        DIRECTIONS: 6 * nr,
    }
