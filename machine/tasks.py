"""The section `task`: scalar coordinates of named points that goals may name beside the joints."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, cast

from pydantic import Discriminator, Field, Tag

from machine.fields import Section, entry
from machine.kinds import ANGLE, LENGTH, angle_or_length
from machine.limits import AngleLimits, LengthLimits

ANGLES = ("roll", "pitch", "yaw")

_NAME = r"^[A-Za-z][A-Za-z0-9_]*"
_CHOICE = (
    "A point and what of it: POINT.x, POINT.y, POINT.z, its place in the world's frame [m], "
    "or POINT.roll, POINT.pitch, POINT.yaw, the angles of its body in the world [rad]"
)
LengthCoordinate = Annotated[str, Field(pattern=_NAME + r"\.(x|y|z)$")]
AngleCoordinate = Annotated[str, Field(pattern=_NAME + r"\.(roll|pitch|yaw)$")]


class _TaskSpec(Section):
    """What all task coordinates share."""

    coordinate: str

    def point(self) -> str:
        """Return the name of the point."""
        return self.coordinate.partition(".")[0]

    def axis(self) -> Literal["x", "y", "z", "roll", "pitch", "yaw"]:
        """Return x, y, z, roll, pitch or yaw."""
        return cast(Literal["x", "y", "z", "roll", "pitch", "yaw"], self.coordinate.partition(".")[2])


class LengthTaskSpec(_TaskSpec):
    """A place of a point along an axis of the world, in m."""

    kind: ClassVar[str] = LENGTH
    coordinate: LengthCoordinate = entry(_CHOICE)
    limits: LengthLimits = entry("Limits of the coordinate and its rates", default=LengthLimits())


class AngleTaskSpec(_TaskSpec):
    """An angle of the body that carries a point (3-2-1: Rz(yaw) Ry(pitch) Rx(roll)), in rad."""

    kind: ClassVar[str] = ANGLE
    coordinate: AngleCoordinate = entry(_CHOICE)
    limits: AngleLimits = entry("Limits of the coordinate and its rates", default=AngleLimits())


Task = Annotated[
    Annotated[LengthTaskSpec, Tag(LENGTH)] | Annotated[AngleTaskSpec, Tag(ANGLE)],
    Discriminator(angle_or_length),
]
