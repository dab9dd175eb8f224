"""Layout of the three flat arrays that a kernel gets: parameters p, topology t, workspace w.

`t` begins with counts and with a table of offsets. A *field* is a constant below: the index in `t` at which
the field's start is written; the entry after it holds its end. So `w[t[Q] + i]` is coordinate i, and inside
kernels `views.vector(t, w, Q)` is the whole field as an array at no cost.

Sizes: nq coordinates, nv velocities, nl links, np points, nc coordinates of interest, nk constraints with
together nr rows, ng targets of theirs (see `Mechanism`).
"""

NQ, NV, N_LINKS, N_POINTS, N_COORDINATES, N_CONSTRAINTS, N_ROWS, N_TARGETS, N_TERMS, N_TAPE = range(10)

_next = 16


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
ON = _field()  # nk, 1 for a constraint that is switched on, 0 for one that is off
CLOCK = _field()  # time (s) now, and the time at which the targets hold
TARGET = _field()  # ng × 6, a target's value and its first five time derivatives
BAUMGARTE = _field()  # nr × 2, alpha (1/s) and beta (1/s²)
PHI = _field()  # nr, residual of position, 0 in rows of velocity level
PHI_RATE = _field()  # nr, residual of velocity
EXPLICIT = _field()  # nr, the part of it that is not A v: Φ_t
LEVEL = _field()  # 1: rows of velocity level are left out, for finding positions; else 0
DRIVEN_WORK = _field()  # J, done so far by applied forces and by constraints that move with time
A = _field()  # nr × nv, rows that are switched off are 0
B = _field()  # nr, A v̇ = b
CONSTRAINT_FORCE = _field()  # nv, acting on the mechanism
MULTIPLIERS = _field()  # nr, those of minimum norm (in scaled rows)
BASIS = _field()  # nv × nv, its first nv - rank rows span the velocities that A admits
RANKING = _field()  # the decision on the rank, see rank.py
CHOICE = (
    _field()
)  # how a step finds its acceleration (formulations.py), and whether it corrects (1) or not (0)
COMPLIANT = _field()  # nv, generalized force of stops and contacts
CONTACT_FORCE = _field()  # contacts × 3, on the point, world frame
CONTACT_GAP = _field()  # contacts, distance from the surface, negative inside
LOSSES = _field()  # power lost now (W), energy of stops' and contacts' springs (J), energy lost so far (J),
# energy of springs that press no more, on their way back (J)

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
SECOND = _field()  # nv, acceleration of a step's second stage
KEPT = _field()  # RANKING, CLOCK[0], DRIVEN_WORK and LOSSES[2] as they were before a step
RATES = _field()  # nq, q̇
FACTORED = _field()  # nr × nv, scaled rows, after their pivoted QR
RIGHT_SIDE = _field()  # nr, scaled b, after the reflections of that QR
EXCHANGES = _field()  # nv, exchanged columns
REFLECTED = _field()  # nv, factors of the reflections
REDUCED = _field()  # nv × nv, mass matrix of the admitted velocities and its factor
MOMENTA = _field()  # nv × nv, scratch of reduced_mass.py: M times the basis
SUPPORTS = _field()  # nv × nv, links that each row of the basis moves, row after row
COUPLED = _field()  # 5 × nv, see reduced_mass.py
SHIFT = _field()  # nv, forces, or a correction of position or velocity
FREE_MOTION = _field()  # nv, components of a motion in the basis
TAPE = _field()  # longest program × 4: value, two derivatives along the motion, and adjoint, see tape.py
ASIDE = _field()  # nr × nv + nr + nv + nq, scratch of the branch poses and of the slower formulations
ASIDE_2 = _field()  # the same
TOUCHING = _field()  # 1 for each side of a stop, then for each contact, that presses, 0 for those that do not
HELD = _field()  # 1 while a step holds TOUCHING fixed (touch_search.py)
PRESSURE = (
    _field()
)  # of each of these: elastic force and the damper's pull (N or N m), above 0 where it presses
BACKUP = _field()  # state at the beginning of a part of a step
STAGES = _field()  # 2 (nq + nv) + 4, of an implicit step: rates, then losses and driving powers (W)
SEARCH = _field()  # how far a step in parts has come (touch_search.py)
SLIPPING = _field()  # nv, constant force of brakes that slip and of dampers at their limit (N or N m)
DAMPERS = _field()  # nv, coefficient of dampers beside the viscous friction
STUCK = _field()  # nv, 1 where a brake holds the velocity at zero
STUCK_COUNT = _field()  # 2, how many, and how many of them are independent on the manifold
STICKING = _field()  # nv, the force with which it does, after an acceleration
STUCK_ROWS = _field()  # nv × nv, scratch of sticking.py: QR of the stuck velocities' rows
STUCK_BASIS = _field()  # nv × nv, the velocities that A admits, stuck ones too
STUCK_EXCHANGES = _field()  # nv
STUCK_REFLECTED = _field()  # nv
STUCK_SIDE = _field()  # nv
STUCK_MOTION = _field()  # nv
PUSHES = _field()  # 2 nr, multipliers of the corrections at both ends of a symmetric step: position, velocity
PUSHED = _field()  # 4 nv, its corrections of position and velocity at its beginning, then at its end
UNPUSHED = _field()  # nq + nv + RANKING_SIZE + 3, the start of a symmetric step
SQUARE = _field()  # (nv + nr)² + 4 (nv + nr), scratch of the slower formulations
WINDOW = _field()  # lost directions in scaled rows (each nr), then scratch, see branch_window.py
ELEMENT_FORCE = _field()  # elements × 3: stretch or displacement, its rate, and the force along the line
ELEMENT_WRENCH = _field()  # 4 elements × 3, moment about the reference and force on the first and second body
ELEMENT_POWER = _field()  # 1, power of the applied forces (W)
PASSED = _field()  # rank, switches and scaled rows of the last sample, 2 nr of scratch, see passages.py
FRONT_STATES = _field()  # fronts × 9, see elimination.py
COLUMN_LISTS = _field()  # the columns of each front, in the order of elimination
ROW_LISTS = _field()  # the rows of each front
STAMPS = _field()  # nv + nr, scratch of elimination.py
COLUMN_SQUARES = _field()  # nv, squared lengths of the scaled columns
LAST = COLUMN_SQUARES

# fields of p
GRAVITY = _field()  # 3
PROGRAM_CONSTANT = _field()  # instructions, constants of the programs
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
DIRECTIONS = _field()
"""nc × 4: of a coordinate along a direction that direction and its value at the origin; of a distance its
place and what is taken off."""
FRAME_AT = _field()  # 2 nk × 3, origins of the frames a and b of each constraint, in link axes
FRAME_AXES = _field()  # 6 nk × 3, their axes
ROW_OFFSET = _field()  # nr, m
TERM_FACTOR = _field()  # factors of the terms of linear rows
ROW_SCALE = _field()  # nr, takes a row to unit size
COLUMN_SCALE = _field()  # nv, rad or m for one unit of velocity
TARGET_GIVEN = _field()  # ng, with what targets begin
BAUMGARTE_GIVEN = _field()  # nr × 2
ON_GIVEN = _field()  # nk, with what the switches begin
STOP_RANGE = _field()  # stops × 2, lowest and highest coordinate
STOP_LAW = _field()  # stops × 2, stiffness and damping
SURFACES = (
    _field()
)  # contacts × 7, a place and the normal of a plane, 0; or centre, nothing and radius of a sphere
CONTACT_LAW = _field()  # contacts × 5, stiffness, damping, friction, slip speed, radius of the ball
ELEMENT_LAW = _field()
"""elements × 8: stiffness, damping, rest, preload, progressive (a constant force: that force), direction."""
REFERENCE_SIZE = _field()  # 1, size of the scaled rows in ordinary poses
RANK_TOLERANCE = _field()  # 1, relative to it: shorter directions of the scaled rows are round-off

# tables in t
LINKS = _field()  # nl × 3: parent link (-1: world), index in q, index in v
POSES = _field()  # nl × 2: index in q of a quaternion's scalar part (or tree.SCREW, tree.FOLLOWS), base link
BALLS = _field()  # quaternions × 2: indices in q of the vector part's beginning and of the scalar part
POINTS = _field()  # np: link (-1: world)
COORDINATES = _field()  # nc × 2: kind, then index in v of the joint, or index of the point
CONSTRAINTS = _field()  # nk × 4: first row, number of rows, links of frames a and b (-1: world)
ROWS = _field()  # nr × 4: kind, axes i and j (else first term, instruction or factor, and how many of them),
# target (-1: none; -2: none, and Φ is an angle that may jump by whole turns)
STOPS = _field()  # stops: index in q and v
CONTACTS = _field()  # contacts: index of the point
ELEMENTS = _field()
"""elements × 7: line; indices of its dof, of its points, or of its point or link and its link; law; of a
program the first instruction, how many, and whether it reads coordinates."""
TERMS = _field()  # coordinate of interest of each term

PROGRAM = _field()  # instructions × 3: operation, and the entries of the tape that it takes
FRONTS = _field()
"""fronts × 9: in FRONT_COLUMNS the first, the end of the summed ones, the end; in FRONT_ROWS the first and
the end; in FRONTS_BEFORE the first and the end; 1 where a later front takes over what is left; the first
front of its cluster."""
FRONT_COLUMNS = _field()  # places in v
FRONT_ROWS = _field()  # rows of A
FRONTS_BEFORE = _field()  # fronts whose rows a front takes over
FACTORS = _field()  # factors of velocity rows × 3: coordinate (-1: none), first instruction, instructions

END_OF_HEADER = _next

ROUNDING = 1e-12
"""Default length of a direction of the scaled rows, 1 in ordinary poses, below which it is round-off."""

RANKING_SIZE = 14
(
    RANK,  # independent rows now
    SMALLEST,  # estimate of the smallest kept singular value of the scaled rows, over the reference size
    DROPPED,  # size of the dropped part over the reference size
    ORDINARY,  # rank away from branch poses; 0: not decided yet, which the next state then does
    LOST,  # rows that have lost their independence to a branch pose, now
    REPLACED,  # how many of them are replaced by their next derivative
    NEAR,  # 1 where the smallest singular value is small (rank.NEAR_AT) or lost, 0 elsewhere
    PASSAGES,  # branch poses passed, where they are counted (passages.py)
    INCONSISTENCY,  # how far dependent rows contradict the others, in the last solution
    SWITCHED,  # code of the switches for which ORDINARY holds
    EXAMINED,  # how many directions were short when it was last decided whether branches meet; 0: none
    EXAMINED_AT,  # length of the shortest of them then
    MEETING,  # how many of them are lost: all (ALL), none (0), or that many, held in WINDOW
    IN_FRONTS,  # 1 where the factors are those of elimination.py, 0 where they are those of rank.py
) = range(RANKING_SIZE)
ALL = -1.0

SEARCH_SIZE = 9
(
    REST,  # of the step, s
    PARTS,  # begun so far
    PHASE,  # purpose of the next move
    PART,  # length of the part that went too far, s
    LOW,  # a length that is not beyond the change of touch, s
    HIGH,  # one that is
    BEFORE,  # how far the first side is beyond it at LOW (below 0), N or N m
    AFTER,  # at HIGH
    TRIALS,  # so far; above 0 where the last one moved HIGH, below where it moved LOW
) = range(SEARCH_SIZE)

ELEMENT_COLUMNS, ELEMENT_NUMBERS = 7, 8
FRONT_NUMBERS, FRONT_STATE_NUMBERS = 9, 9
LINE_JOINT, LINE_POINTS, LINE_WORLD, LINE_BODY, LINE_WORLD_AXIS, LINE_BODY_AXIS = range(6)
SPRING, CONSTANT_FORCE, PROGRAMMED = range(3)

ON_JOINT, ON_X, ON_Y, ON_Z, ON_ALONG, ON_DISTANCE, ON_ROLL, ON_PITCH, ON_YAW = range(9)
ALONG, PERPENDICULAR, DISTANCE, LINEAR_ROW, NO_SLIP, DISC, EXPRESSION, VELOCITY = range(8)
WRAPS = -2
COORDINATE_KINDS = {
    "joint": ON_JOINT,
    "x": ON_X,
    "y": ON_Y,
    "z": ON_Z,
    "along": ON_ALONG,
    "distance": ON_DISTANCE,
    "roll": ON_ROLL,
    "pitch": ON_PITCH,
    "yaw": ON_YAW,
}
