"""Limits and tolerances of a joint or of a task coordinate, and the key `stop`: spring and damper there."""

from __future__ import annotations

import math

from linkwork.machine.problems import Place
from linkwork.machine.sections.constraint_base import CoordinateName
from linkwork.machine.sections.fields import Number, Section, entry, wrong
from linkwork.machine.sections.quantity import (
    ACCELERATION,
    DAMPING,
    JERK,
    POSITION,
    SPEED,
    STIFFNESS,
    DofSection,
    Quantity,
    RangeQuantity,
)

FOLLOWING_PER_PATH = 10.0
"""The largest following error, in path tolerances, where a file gives none."""


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


ABOUT = "Stops at the limits of the position: a spring and a damper. Default: no stops"


class DofStop(DofSection, common=True):
    """Stops of a degree of freedom; None where the file gives no stiffness or no damping."""

    stiffness = Quantity(
        "stiffness",
        STIFFNESS,
        "Stiffness. Default: the one at which the joint oscillates at 200 rad/s in the initial pose, or "
        "slower, at one radian per five steps of the plant",
        None,
        gt=0,
    )
    damping = Quantity(
        "damping", DAMPING, "Damping. Default: 0.7 of the critical damping in the initial pose", None, ge=0
    )


class AngleStop(DofStop):
    """Stops of an angle."""

    is_angle = True


class LengthStop(DofStop):
    """Stops of a length."""

    is_angle = False


def refuse_without_limits(stop: DofStop, limits: Limits | None, at: Place) -> None:
    """Refuse a stop of a joint whose position has no limits."""
    if limits is None or type(limits).position.given(limits) is None:
        key = "position_rad or position_deg" if stop.is_angle else "position_m"
        raise wrong(
            "a stop needs position limits",
            "no position limits",
            f"limits: {{{key}}}",
            f"add {key.split(' ')[0]} to the joint's limits, or remove stop",
            at,
        )


class CoordinateTolerances(Section):
    """Tolerances of one coordinate, in its own unit."""

    path: Number | None = entry("Largest error during motion", "rad or m", None, gt=0)
    goal: Number | None = entry("Largest error at the end", "rad or m", None, gt=0)
    start: Number | None = entry(
        "Largest distance of a goal's first sample from the machine's position", "rad or m", None, gt=0
    )
    following: Number | None = entry(
        "Largest error before the machine is braked, in every state", "rad or m", None, gt=0
    )


class Tolerances(Section):
    """Tolerances of goals that give none, for each coordinate in its own unit."""

    path: Number = entry("Largest error during motion", "rad or m", 0.01, gt=0)
    goal: Number = entry("Largest error at the end", "rad or m", 0.001, gt=0)
    start: Number = entry(
        "Largest distance of a goal's first sample from the machine's position", "rad or m", 0.001, gt=0
    )
    following: Number | None = entry(
        "Largest error before the machine is braked, in every state. Default: ten times `path`",
        "rad or m", None, gt=0,
    )  # fmt: skip
    goal_time_s: Number = entry(
        "Time after the end within which the goal tolerances must be met", "s", 1.0, gt=0, le=3600
    )
    coordinates: dict[CoordinateName, CoordinateTolerances] = entry(
        "Values for single coordinates, by name", default={}
    )

    @property
    def following_limit(self) -> float:
        """The largest error before the machine is braked, in every state."""
        return self.following or FOLLOWING_PER_PATH * self.path

    def of(self, name: str) -> Tolerances:
        """Return the tolerances with the coordinate's own in their place."""
        own = self.coordinates.get(name, CoordinateTolerances())
        return self.with_values(**own.model_dump(exclude_none=True))
