"""Where everything lies in the three flat arrays that a kernel gets: parameters p, topology t, workspace w.

`t` begins with counts and with a table of offsets. A *field* is a constant below: the index in `t` at which
the field's start is written; the entry after it holds its end. So `w[t[Q] + i]` is coordinate i, and inside
kernels `views.vector(t, w, Q)` is the whole field as an array at no cost.

Sizes: nq coordinates, nv velocities, nl links, np points, nc coordinates of interest (see `Mechanism`).
"""

NQ, NV, N_LINKS, N_POINTS, N_COORDINATES = range(5)

_next = 8


def _field() -> int:
    global _next
    _next += 2
    return _next - 2


# fields of w that others read and write
Q = _field()  # nq, coordinates
V = _field()  # nv, velocities
EFFORT = _field()  # nv, applied generalized force
H = _field()  # nv, Coriolis, centrifugal and gravity terms (on the left-hand side)
FRICTION = _field()  # nv, generalized force of friction, opposing v
M = _field()  # nv × nv, mass matrix, armature included
VDOT = _field()  # nv, accelerations
THETA = _field()  # nc, coordinates of interest
J = _field()  # nc × nv, their Jacobian
JDV = _field()  # nc, its rate times v
POINT_POSITION = _field()  # np × 3, world frame
POINT_VELOCITY = _field()  # np × 3, world frame
POINT_BIAS = _field()  # np × 3, acceleration for vdot = 0, world frame
ENERGY = _field()  # kinetic, potential

# fields of w that only the kernels of this room use; all vectors in world axes
REFERENCE = _field()  # 3, the point about which moments and linear velocities are taken
AXES = _field()  # 3 nl × 3, row 3 i + k is the k-th axis of link i
ORIGIN = _field()  # nl × 3, origin of link i
SCREW_ANGULAR = _field()  # nl × 3, joint i's twist for unit velocity
SCREW_LINEAR = _field()
ANGULAR = _field()  # nl × 3, angular velocity of link i
LINEAR = _field()  # nl × 3, velocity of link i's material at the reference point
ANGULAR_BIAS = _field()  # nl × 3, rate of the twist for vdot = 0
LINEAR_BIAS = _field()
MOMENT = _field()  # nl × 3, wrench carried by joint i for vdot = 0
FORCE = _field()
COMPOSITE_MASS = _field()  # nl, mass of link i and everything it carries
COMPOSITE_FIRST = _field()  # nl × 3, first moment of mass
COMPOSITE_SECOND = _field()  # nl × 6, inertia (xx, xy, xz, yy, yz, zz)
FACTOR = _field()  # nv × nv, Cholesky factor of M
START_Q = _field()  # nq, state at the beginning of a step
START_V = _field()  # nv
SUM_Q = _field()  # nq, weighted sum of stages
SUM_V = _field()  # nv

# fields of p
GRAVITY = _field()  # 3
FIXED_AXES = _field()  # 3 nl × 3, row 3 i + k: k-th axis of joint frame i, in the parent link's axes
FIXED_ORIGIN = _field()  # nl × 3, origin of joint frame i in the parent link
TURN = _field()  # nl, radians of rotation about the joint's z axis per unit of its coordinate
TRAVEL = _field()  # nl, metres along it per unit
MASS = _field()  # nl
COM = _field()  # nl × 3, in link axes
INERTIA = _field()  # nl × 6, about the centre of mass, in link axes
ARMATURE = _field()  # nv
VISCOUS = _field()  # nv
COULOMB = _field()  # nv
COULOMB_SPEED = _field()  # nv
POINT_AT = _field()  # np × 3, in link axes (world if the point is fixed)
POINT_AXES = _field()  # 3 np × 3, axes of the point's body, in link axes

# tables in t
LINKS = _field()  # nl × 3: parent link (-1: world), index in q, index in v
POINTS = _field()  # np: link (-1: world)
COORDINATES = _field()  # nc × 2: kind, then index in v of the joint, or index of the point

END_OF_HEADER = _next

ON_JOINT, ON_X, ON_Y, ON_Z, ON_ROLL, ON_PITCH, ON_YAW = range(7)
COORDINATE_KINDS = {
    "joint": ON_JOINT,
    "x": ON_X,
    "y": ON_Y,
    "z": ON_Z,
    "roll": ON_ROLL,
    "pitch": ON_PITCH,
    "yaw": ON_YAW,
}
