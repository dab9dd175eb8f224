"""The limits of a joint or of a task coordinate."""

from __future__ import annotations

import math

from linkwork.machine.sections.quantity import (
    ACCELERATION,
    JERK,
    POSITION,
    SPEED,
    DofSection,
    Quantity,
    RangeQuantity,
)


class Limits(DofSection, common=True):
    """Limits of a coordinate in rad or m and seconds; infinite where the file gives none.

    `position` is (lowest, highest); velocity, acceleration and jerk hold in both directions.
    """

    position = RangeQuantity("position", POSITION, "Lower and upper limit of the {position}")
    velocity = Quantity("velocity", SPEED, "Largest speed", None, absent=math.inf, gt=0)
    acceleration = Quantity("acceleration", ACCELERATION, "Largest acceleration", None, absent=math.inf, gt=0)
    jerk = Quantity("jerk", JERK, "Largest jerk", None, absent=math.inf, gt=0)


class AngleLimits(Limits):
    """Limits of an angle. Keys that are not given are not limited. One unit each: rad or deg."""

    is_angle = True


class LengthLimits(Limits):
    """Limits of a length. Keys that are not given are not limited."""

    is_angle = False
