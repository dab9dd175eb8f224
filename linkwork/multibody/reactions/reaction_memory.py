"""The struct of `ReactionTable`: its plan, the bodies' constants, scratch and results."""

from __future__ import annotations

from typing import Annotated

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.structs import Struct

COLUMNS = 10
"""Of a result: place (3, m, world), force (3, N), moment about the place (3, N m), effort (N m or N)."""

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
) = range(11)

CLOSURE, TERM, ADJOINT, FACTOR = range(4)
"""A closure; a coordinate in a linear row, in an expression, in a sum of velocities."""


class ReactionMemory(Struct):
    """The argument r of `reaction_kernels.reactions`. A body or link -1 is the world.

    Lengths: n_bodies, n_links, n_joints, n_entries of constraints.
    """

    body_link: Annotated[Integers, "n_bodies"]
    body_carrier: Annotated[Integers, "n_bodies", "body that carries it"]
    outward: Annotated[Integers, "n_bodies", "their indices, each after the body that carries it"]
    joints: Annotated[Integers, "n_joints, 4", "child's body, first link, number of links, 1 for a screw"]
    entries: Annotated[Integers, "n_entries, 11", "of constraints: FORM to WITH"]
    touched: Annotated[Integers, "n_contacts", "index of the body"]
    pushed_bodies: Annotated[Integers, "n_elements, 2", "bodies on which they act, -1: world or none"]

    seats: Annotated[Floats, "n_bodies, 7", "in link axes: mass, centre of mass, origin"]
    moments: Annotated[Floats, "n_bodies, 6", "inertia about the centre of mass, in link axes"]
    rates: Annotated[Floats, "2 * n_links, 3", "v̇'s part of the twist's rate, angular and linear"]
    carried: Annotated[Floats, "2 * n_bodies, 3", "moment (about the reference), force, those beyond too"]
    basis: Annotated[Floats, "12, 3", "orthonormal screws"]
    transmitted: Annotated[Floats, "n_joints, 9", "place, and all force and moment through each joint"]
    results: Annotated[Floats, "n_joints + n_entries, 10", "of joints, then of entries (COLUMNS)"]
