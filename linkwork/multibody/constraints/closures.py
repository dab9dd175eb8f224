"""Closures: constraints between a frame on each of two bodies, which close kinematic loops.

d leads from the origin of frame a to that of frame b; a_i and b_i are their axes.
"""

from dataclasses import dataclass
from typing import ClassVar

from linkwork.multibody.constraints.constraint import PARALLEL, POINT, Closure, Row, along, perpendicular
from linkwork.multibody.kernels.layout import DISC, DISTANCE, NO_SLIP
from linkwork.multibody.model import ModelError, _number

_ON_DISC = (("z", 2), ("slip_x", 0), ("slip_y", 1))


@dataclass(frozen=True, eq=False)
class PointClosure(Closure):
    """Two points coincide: a ball joint that closes a loop.

    Φ = (a_1'd, a_2'd, a_3'd) = 0, three rows in metres.

    Multipliers: the force on b (N), in the axes of frame a, through the common point. In planar machines the
    row along the normal is dependent; it does no harm, and a PinClosure has none.
    """

    fixed_rows: ClassVar[tuple[Row, ...]] = POINT


@dataclass(frozen=True, eq=False)
class PinClosure(Closure):
    """A pin of a planar loop: two points coincide as seen along a normal.

    Φ = (a_1'd, a_2'd) = 0, two rows in metres; the z axis of frame a is the normal of the plane.

    The origin of b lies on the line through the origin of a along the normal. Where the joints keep the
    bodies in planes across the normal this is a hinge, without the rows that repeat the joints' conditions.
    Multipliers: two forces on b (N) along a_1 and a_2, through the origin of b.
    """

    fixed_rows: ClassVar[tuple[Row, ...]] = POINT[:2]


@dataclass(frozen=True, eq=False)
class RevoluteClosure(Closure):
    """Two frames share their origin and the direction of their z axes: a hinge that closes a loop.

    Φ = (a_1'd, a_2'd, a_3'd, a_1'b_3, a_2'b_3) = 0, three rows in metres and two in radians.

    Multipliers: the force on b (N) in the axes of frame a, through the common point; then two moments: λ_4
    acts on b as the moment λ_4 b_3 × a_1, λ_5 as λ_5 b_3 × a_2 (N m), which is about a_2 and -a_1. Opposite z
    axes satisfy the equations too; assembly stays with the ones it starts near.
    """

    fixed_rows: ClassVar[tuple[Row, ...]] = POINT + PARALLEL


@dataclass(frozen=True, eq=False)
class CylindricalClosure(Closure):
    """The z axes of two frames lie on one line, along which and about which the bodies are free.

    Φ = (a_1'd, a_2'd, a_1'b_3, a_2'b_3) = 0, two rows in metres and two in radians.

    Multipliers: two forces on b (N) along a_1 and a_2, through the origin of b; then the moments λ b_3 × a_1
    and λ b_3 × a_2 on b (N m).
    """

    fixed_rows: ClassVar[tuple[Row, ...]] = POINT[:2] + PARALLEL


@dataclass(frozen=True, eq=False)
class PrismaticClosure(Closure):
    """The z axes of two frames lie on one line, along which the bodies slide without turning: a guide.

    Φ = (a_1'd, a_2'd, a_1'b_3, a_2'b_3, a_1'b_2) = 0, two rows in metres and three in radians.

    Multipliers: two forces on b (N) along a_1 and a_2, through the origin of b; then the moments λ b_3 × a_1,
    λ b_3 × a_2 and λ b_2 × a_1 on b (N m), the last one about -a_3.
    """

    fixed_rows: ClassVar[tuple[Row, ...]] = POINT[:2] + PARALLEL + (perpendicular(0, 1),)


@dataclass(frozen=True, eq=False)
class UniversalClosure(Closure):
    """Two frames share their origin and their z axes stay perpendicular: a cardan cross.

    Φ = (a_1'd, a_2'd, a_3'd, a_3'b_3) = 0, three rows in metres and one in radians.

    The z axes are the arms of the cross. Multipliers: the force on b (N) in the axes of frame a; then the
    moment λ b_3 × a_3 on b (N m), normal to the cross.
    """

    fixed_rows: ClassVar[tuple[Row, ...]] = (*POINT, perpendicular(2, 2))


@dataclass(frozen=True, eq=False)
class WeldClosure(Closure):
    """Two frames coincide: a loop closed rigidly, or a gripper that holds.

    Φ = (a_1'd, a_2'd, a_3'd, a_1'b_2, a_2'b_3, a_3'b_1) = 0, three rows in metres and three in radians.

    Multipliers: the force on b (N) in the axes of frame a; then the moments λ b_2 × a_1, λ b_3 × a_2 and
    λ b_1 × a_3 on b (N m), which are about -a_3, -a_1 and -a_2. The equations hold also where the axes of one
    frame are permuted or reversed; assembly refuses such poses.
    """

    fixed_rows: ClassVar[tuple[Row, ...]] = (
        *POINT,
        perpendicular(0, 1),
        perpendicular(1, 2),
        perpendicular(2, 0),
    )


@dataclass(frozen=True, eq=False)
class DistanceClosure(Closure):
    """Two points keep a fixed distance: a massless rod with ball joints at its ends.

    Φ = |p_b - p_a| - c = 0, one row in metres; c is `distance_m`, or follows the workspace's target.

    Multiplier: the force on b (N) along the line from a to b, positive where it pushes. The distance must be
    positive: where the points coincide, the row has no direction and is NaN.
    """

    distance_m: float = 1.0

    def __post_init__(self) -> None:
        """Check the distance."""
        super().__post_init__()
        where = ("constraints", self.name, "distance_m")
        if not _number(self.distance_m, where) > 0.0:
            raise ModelError(
                f"expected more than 0, found {self.distance_m:g}; points that coincide are a PointClosure",
                where,
            )

    @property
    def rows(self) -> tuple[Row, ...]:
        """Return the one row of the constraint."""
        return (Row("distance", DISTANCE),)


@dataclass(frozen=True, eq=False)
class RollingConstraint(Closure):
    """A sphere or thin disc of radius c about b's origin rolls on the plane of a_1, a_2 through a's origin.

    The point of contact is p_b - c e. For a sphere e = a_3; a wheel whose axle stays parallel to the plane
    touches it as a sphere does. A disc (`disc`) lies normal to b_3, and e is the direction within it that is
    nearest to a_3; it must not lie flat. Rows: a_3'(d - c e) = 0 (m), then the velocity of b's material
    against a's at the point of contact has no part along a_1 nor a_2 (m/s); these two are on the level of
    velocities and constrain no position. Multipliers: the forces of contact on b (N) along a_3 (pressing
    where positive; the constraint does not enforce this), a_1 and a_2.
    """

    radius_m: float = 1.0
    disc: bool = False

    def __post_init__(self) -> None:
        """Check the radius."""
        super().__post_init__()
        where = ("constraints", self.name, "radius_m")
        if not _number(self.radius_m, where) > 0.0:
            raise ModelError(f"expected more than 0, found {self.radius_m:g}", where)

    @property
    def rows(self) -> tuple[Row, ...]:
        """Height, then the two rows against slipping."""
        if self.disc:
            return tuple(Row(name, DISC, i, offset=self.radius_m) for name, i in _ON_DISC)
        slip = [Row(f"slip_{'xy'[i]}", NO_SLIP, i, offset=self.radius_m) for i in range(2)]
        return (along(2, self.radius_m), *slip)
