"""The section `task`: scalar coordinates of named points that goals may name beside the joints."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, cast

from pydantic import Discriminator, Field, Tag, model_validator

from machine.fields import Section, Vector3, entry, wrong
from machine.joints import unit_vector
from machine.kinds import ANGLE, LENGTH, angle_or_length
from machine.limits import AngleLimits, LengthLimits

ANGLES = ("roll", "pitch", "yaw")

_NAME = r"^[A-Za-z][A-Za-z0-9_]*"
_CHOICE = (
    "A point and what of it: POINT.x, POINT.y, POINT.z, its place in the world's frame [m], "
    "POINT.along, its way from `from_m` along `direction` [m], "
    "or POINT.roll, POINT.pitch, POINT.yaw, the angles of its body in the world [rad]"
)
LengthCoordinate = Annotated[str, Field(pattern=_NAME + r"\.(x|y|z|along)$")]
AngleCoordinate = Annotated[str, Field(pattern=_NAME + r"\.(roll|pitch|yaw)$")]


class _TaskSpec(Section):
    """What all task coordinates share."""

    coordinate: str

    def point(self) -> str:
        """Return the name of the point."""
        return self.coordinate.partition(".")[0]

    def axis(self) -> Literal["x", "y", "z", "along", "roll", "pitch", "yaw"]:
        """Return x, y, z, along, roll, pitch or yaw."""
        return cast(
            Literal["x", "y", "z", "along", "roll", "pitch", "yaw"], self.coordinate.partition(".")[2]
        )

    def line(self) -> dict[str, tuple[float, float, float]]:
        """Return direction and beginning of a way along a line; nothing for other coordinates."""
        return {}


class LengthTaskSpec(_TaskSpec):
    """A place of a point along an axis of the world, or along a direction of one's own, in m."""

    kind: ClassVar[str] = LENGTH
    coordinate: LengthCoordinate = entry(_CHOICE)
    direction: Vector3 | None = entry(
        "Of POINT.along: the direction, in the world; its length does not matter", default=None
    )
    from_m: Vector3 | None = entry(
        "Of POINT.along: the place where the coordinate is 0; none: the world's origin", "m", None
    )
    limits: LengthLimits = entry("Limits of the coordinate and its rates", default=LengthLimits())

    @model_validator(mode="after")
    def _has_line(self) -> LengthTaskSpec:
        along = self.axis() == "along"
        if along and self.direction is None:
            raise wrong("the direction is missing", "nothing", "three numbers", "add direction: [0, 0, 1]")
        if along:
            unit_vector(self, "direction")
        for key in ("direction", "from_m"):
            if not along and getattr(self, key) is not None:
                remedy = f"write {self.point()}.along, or leave {key} out"
                raise wrong(f"{key} belongs to POINT.along", key, "", remedy, (key,))
        return self

    def line(self) -> dict[str, tuple[float, float, float]]:
        """Return direction and beginning of a way along a line; nothing for other coordinates."""
        if self.direction is None:
            return {}
        x, y, z = self.direction
        u, v, w = self.from_m or (0.0, 0.0, 0.0)
        return {"direction": (x, y, z), "from_m": (u, v, w)}


class AngleTaskSpec(_TaskSpec):
    """An angle of the body that carries a point (3-2-1: Rz(yaw) Ry(pitch) Rx(roll)), in rad."""

    kind: ClassVar[str] = ANGLE
    coordinate: AngleCoordinate = entry(_CHOICE)
    limits: AngleLimits = entry("Limits of the coordinate and its rates", default=AngleLimits())


Task = Annotated[
    Annotated[LengthTaskSpec, Tag(LENGTH)] | Annotated[AngleTaskSpec, Tag(ANGLE)],
    Discriminator(angle_or_length),
]
