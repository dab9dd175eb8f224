"""The section `task`: scalar coordinates of named points that goals may name beside the joints."""

from typing import Annotated, Any, Self, cast

from pydantic import Field, model_validator

from linkwork.machine.sections.fields import Alias, Direction, Number, Vector3, alias, entry, wrong
from linkwork.machine.sections.limits import AngleLimits, LengthLimits, Limits
from linkwork.machine.sections.quantity import DofSection
from linkwork.multibody.model import ANGLES, Coordinate, CoordinateKind

LENGTHS = ("x", "y", "z", "along", "distance")

_NAME = r"^[A-Za-z][A-Za-z0-9_]*"
_CHOICE = (
    "A point and what of it: POINT.x, POINT.y, POINT.z, its place in the world's frame [m], "
    "POINT.along, its way from `from_m` along `direction` [m], "
    "POINT.distance, how far it is from `from_m`, less `radius_m` [m], "
    "or POINT.roll, POINT.pitch, POINT.yaw, the angles of its body in the world [rad]"
)
LengthCoordinate = Annotated[str, Field(pattern=_NAME + rf"\.({'|'.join(LENGTHS)})$")]
AngleCoordinate = Annotated[str, Field(pattern=_NAME + rf"\.({'|'.join(ANGLES)})$")]
_PLACED = {"direction": ("along",), "from_m": ("along", "distance"), "radius_m": ("distance",)}


class Task(DofSection, common=True):
    """A task coordinate: a length or an angle of a point."""

    coordinate: str
    limits: Limits
    alias: Alias | None = alias()

    def point(self) -> str:
        """Return the name of the point."""
        return self.coordinate.partition(".")[0]

    def axis(self) -> CoordinateKind:
        """Return x, y, z, along, distance, roll, pitch or yaw."""
        return cast(CoordinateKind, self.coordinate.partition(".")[2])

    def place(self) -> dict[str, Any]:
        """Return the line or the place from which the coordinate is measured; nothing for others."""
        return {}

    def make(self, name: str) -> Coordinate:
        """Return what multibody calls it."""
        return Coordinate(name, self.axis(), self.point(), **self.place())


class LengthTask(Task):
    """Position of a point along a direction, or its distance from a place, in m."""

    is_angle = False
    coordinate: LengthCoordinate = entry(_CHOICE)
    direction: Direction | None = entry(
        "Direction of POINT.along, in the world; its length does not matter", default=None
    )
    from_m: Vector3 | None = entry(
        "Of POINT.along: position where the coordinate is 0; of POINT.distance: position from which it is "
        "measured. Default: the world's origin",
        "m",
        None,
    )
    radius_m: Number | None = entry(
        "Of POINT.distance: length subtracted, so that the coordinate is 0 on a sphere. Default: 0",
        "m",
        None,
        ge=0,
    )
    limits: LengthLimits = entry("Limits of the coordinate and its rates", default=LengthLimits())

    @model_validator(mode="after")
    def _has_place(self) -> Self:
        axis = self.axis()
        if axis == "along" and self.direction is None:
            raise wrong("the direction is missing", "nothing", "three numbers", "add direction: [0, 0, 1]")
        for key, axes in _PLACED.items():
            if axis not in axes and getattr(self, key) is not None:
                owners = " and ".join(f"POINT.{each}" for each in axes)
                remedy = f"write {self.point()}.{axes[-1]}, or leave {key} out"
                raise wrong(f"{key} belongs to {owners}", key, "", remedy, (key,))
        return self

    def place(self) -> dict[str, Any]:
        """Return where and along what a coordinate of a point is measured."""
        origin = self.from_m or (0.0, 0.0, 0.0)
        if self.axis() == "along":
            return {"direction": self.direction, "from_m": origin}
        return {"from_m": origin, "less_m": self.radius_m or 0.0} if self.axis() == "distance" else {}


class AngleTask(Task):
    """An angle of the body that carries a point (3-2-1: Rz(yaw) Ry(pitch) Rx(roll)), in rad."""

    is_angle = True
    coordinate: AngleCoordinate = entry(_CHOICE)
    limits: AngleLimits = entry("Limits of the coordinate and its rates", default=AngleLimits())
