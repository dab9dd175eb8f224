"""The limits of a joint or of a task coordinate: for angles, and for lengths."""

from __future__ import annotations

import math
from typing import ClassVar

from pydantic import model_validator

from linkwork.machine.sections.angle_or_length import ANGLE, LENGTH
from linkwork.machine.sections.fields import Number, Range, Section, entry, one_of, wrong


class AngleLimits(Section):
    """Limits of an angle. Keys that are not given are not limited. One unit each: rad or deg."""

    kind: ClassVar[str] = ANGLE

    position_rad: Range | None = entry("Lower and upper limit of the angle", "rad", None)
    position_deg: Range | None = entry("Lower and upper limit of the angle", "deg", None)
    velocity_rad_s: Number | None = entry("Largest speed", "rad/s", None, gt=0)
    velocity_deg_s: Number | None = entry("Largest speed", "deg/s", None, gt=0)
    acceleration_rad_s2: Number | None = entry("Largest acceleration", "rad/s²", None, gt=0)
    acceleration_deg_s2: Number | None = entry("Largest acceleration", "deg/s²", None, gt=0)
    jerk_rad_s3: Number | None = entry("Largest jerk", "rad/s³", None, gt=0)
    jerk_deg_s3: Number | None = entry("Largest jerk", "deg/s³", None, gt=0)

    @model_validator(mode="after")
    def _one_unit_each(self) -> AngleLimits:
        one_of(self, "position_rad", "position_deg")
        one_of(self, "velocity_rad_s", "velocity_deg_s")
        one_of(self, "acceleration_rad_s2", "acceleration_deg_s2")
        one_of(self, "jerk_rad_s3", "jerk_deg_s3")
        _in_order(self.position_rad, "position_rad")
        _in_order(self.position_deg, "position_deg")
        return self

    def position(self) -> tuple[float, float]:
        """Return (lowest, highest) in rad; infinite where not limited."""
        if self.position_deg is not None:
            return math.radians(self.position_deg[0]), math.radians(self.position_deg[1])
        return _pair(self.position_rad)

    def rates(self) -> tuple[float, float, float]:
        """Return the largest velocity, acceleration and jerk in rad and s; infinite where not limited."""
        return (
            _either(self.velocity_rad_s, self.velocity_deg_s),
            _either(self.acceleration_rad_s2, self.acceleration_deg_s2),
            _either(self.jerk_rad_s3, self.jerk_deg_s3),
        )


class LengthLimits(Section):
    """Limits of a length. Keys that are not given are not limited."""

    kind: ClassVar[str] = LENGTH

    position_m: Range | None = entry("Lower and upper limit of the position", "m", None)
    velocity_m_s: Number | None = entry("Largest speed", "m/s", None, gt=0)
    acceleration_m_s2: Number | None = entry("Largest acceleration", "m/s²", None, gt=0)
    jerk_m_s3: Number | None = entry("Largest jerk", "m/s³", None, gt=0)

    @model_validator(mode="after")
    def _ordered(self) -> LengthLimits:
        _in_order(self.position_m, "position_m")
        return self

    def position(self) -> tuple[float, float]:
        """Return (lowest, highest) in m; infinite where not limited."""
        return _pair(self.position_m)

    def rates(self) -> tuple[float, float, float]:
        """Return the largest velocity, acceleration and jerk in m and s; infinite where not limited."""
        return (
            _either(self.velocity_m_s, None),
            _either(self.acceleration_m_s2, None),
            _either(self.jerk_m_s3, None),
        )


def _in_order(limits: list[float] | None, key: str) -> None:
    if limits is not None and not limits[0] < limits[1]:
        found, remedy = f"[{limits[0]:g}, {limits[1]:g}]", "write [lowest, highest]"
        raise wrong("the lower limit is not below the upper", found, "lowest < highest", remedy, (key,))


def _pair(limits: list[float] | None) -> tuple[float, float]:
    return (-math.inf, math.inf) if limits is None else (limits[0], limits[1])


def _either(radians: float | None, degrees: float | None) -> float:
    if degrees is not None:
        return math.radians(degrees)
    return math.inf if radians is None else radians
