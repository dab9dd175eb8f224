"""Numbers that kernels and Python share: places in small arrays, and kinds of rows, coordinates and forces.

The arrays themselves are fields of `Model` and `Workspace` (workspace.py).
"""

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
