"""Layout of the plan and the memory of a `ReactionTable`.

Both are flat arrays, laid out as the workspace is (layout.py): the plan r holds a header of offsets and then
its tables of integers, the memory c holds the bodies' constants, scratch and the results. So `views.table(r,
BODIES, BODY_COLUMNS)` and `views.matrix(r, c, RESULTS, COLUMNS)` are views at no cost.
"""

_next = 0


def _field() -> int:
    global _next
    _next += 2
    return _next - 2


# tables in r
BODIES = _field()  # bodies × 2: link (-1: world), body that carries it (-1: world)
OUTWARD = _field()  # bodies: their indices, each after the body that carries it
JOINTS = _field()  # joints × 4: child's body, first link, number of links, 1 for a screw
ENTRIES = _field()  # entries of constraints × ENTRY_COLUMNS
TOUCHED = _field()  # contacts: index of the body
PUSHED_BODIES = _field()  # elements × 2: indices of the bodies on which they act (-1: world or none)

# fields of c
SEATS = _field()  # bodies × SEAT_COLUMNS, in link axes: mass, centre of mass, origin
MOMENTS = _field()  # bodies × 6, inertia about the centre of mass, in link axes
RATES = _field()  # 2 links × 3: v̇'s part of the twist's rate, angular and linear
CARRIED = (
    _field()
)  # 2 bodies × 3: moment (about the reference) and force that a body needs, with the bodies beyond it
BASIS = _field()  # 12 × 3: orthonormal screws
TRANSMITTED = _field()  # joints × 9: place, and all force and moment through each joint
RESULTS = _field()  # (joints + entries) × COLUMNS

END_OF_HEADER = _next

BODY_COLUMNS, JOINT_COLUMNS, SEAT_COLUMNS = 2, 4, 7

COLUMNS = 10
"""Of a result: place (3, m, world), force (3, N), moment about the place (3, N m), effort (N m or N)."""

ENTRY_COLUMNS = 11
(
    FORM,  # of the four below
    ON_BODY,  # index, -1: world
    FROM_BODY,
    CONSTRAINT,  # index
    ROW,  # of its multiplier
    SOURCE,  # of its share of the row: a term (TERM), or an entry of the tape
    START,  # of a program: first instruction
    LENGTH,  # and how many
    KIND,  # of the coordinate (layout.COORDINATE_KINDS)
    SEAT,  # index of the point, or of the joint that the coordinate belongs to
    WITH,  # index of the coordinate, or of the joint's link
) = range(ENTRY_COLUMNS)

CLOSURE, TERM, ADJOINT, FACTOR = range(4)
"""A closure; a coordinate in a linear row, in an expression, in a sum of velocities."""
