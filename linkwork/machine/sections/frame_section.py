"""The section `frames`: frames that move along a line of the world, or turn about one."""

import math
from typing import Annotated, Any, Self

from pydantic import Discriminator, Tag, model_validator

from linkwork.arrays import Floats
from linkwork.machine.problems import shown
from linkwork.machine.sections.fields import Direction, Name, Number, Section, Vector3, entry, wrong
from linkwork.machine.sections.orientation import unit
from linkwork.machine.sections.quantity import (
    ACCELERATION,
    POSITION,
    REQUIRED,
    SPEED,
    Quantity,
    RangeQuantity,
)

_SLIDES, _TURNS = "slides", "turns"
PARALLEL = 1.0 - 1e-9
"""Cosine of the angle from which two directions count as parallel."""


class _FrameSpec(Section, common=True):
    """A frame that slides or turns (m or rad), as far as `per_unit` for each unit of the signal.

    Goals rely on the range of its speed, on its largest acceleration, and on its window.
    """

    signal: Name = entry("The analog input that measures the displacement")
    bandwidth_rad_s: Number = entry(
        "Bandwidth of the filter that estimates position, speed and acceleration from the signal: higher "
        "follows changes faster, lower suppresses more noise",
        "rad/s",
        40.0,
        ge=1.0,
        le=500.0,
    )
    per_unit = Quantity("{unit}_per_unit", POSITION, "Displacement per unit of the signal. Default: 1", 1.0)
    speed = RangeQuantity("speed", SPEED, "Smallest and largest speed that goals rely on", REQUIRED)
    acceleration = Quantity("acceleration", ACCELERATION, "Largest acceleration that goals rely on", gt=0)
    window = RangeQuantity(
        "window", POSITION, "Smallest and largest {position} at which a goal may be in the frame", REQUIRED
    )

    @model_validator(mode="after")
    def _moves(self) -> Self:
        if self.per_unit == 0.0:
            given = type(self).per_unit.given(self)
            place = (given.key,) if given else ()
            raise wrong("the frame would not move", "0", "a number other than 0", at=place)
        return self

    def center(self) -> tuple[float, float, float] | None:
        """Return a point of the line about which the frame turns; None of one that slides."""
        return None


class SlidingFrameSpec(_FrameSpec):
    """A frame that moves along a straight line, such as a conveyor belt; an analog input measures how far."""

    is_angle = False
    along: Direction = entry("Direction of the motion, in the world; its length does not matter")

    def axis(self) -> Floats:
        """Return the direction (3) with length 1."""
        return unit(self.along)

    def gain(self, axis: str, direction: Floats | None) -> float:
        """Return the change of a task coordinate per metre of the frame's motion, NaN where it has none.

        axis: x, y, z, along, distance or an angle; direction (3): of `along`, with length 1.
        """
        if axis in ("x", "y", "z"):
            return float(self.axis()["xyz".index(axis)])
        if axis == "along":
            assert direction is not None, "the task section has made sure"
            return float(direction @ self.axis())
        return math.nan if axis == "distance" else 0.0


class TurningFrameSpec(_FrameSpec):
    """A frame that turns about a straight line, such as a rotary table; an analog input measures how far.

    The input may begin again after a whole turn.
    """

    is_angle = True
    about: Direction = entry(
        "Direction of the line about which it turns, in the world, by the right-hand rule; its length does"
        " not matter"
    )
    center_m: Vector3 = entry("A point of this line", "m", [0.0, 0.0, 0.0])
    window = RangeQuantity(
        "window",
        POSITION,
        "Smallest and largest angle about the line at which a goal may be in the frame, from x (from y, if"
        " the line is parallel to x)",
        REQUIRED,
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        low, high = self.window
        given = type(self).window.given(self)
        if given and high - low > math.tau + 1e-9:
            window, turn = getattr(self, given.key), math.tau / given.unit.factor
            raise wrong("the window is more than a turn", shown(window), f"{turn:g} at most", at=(given.key,))
        return self

    def axis(self) -> Floats:
        """Return the direction (3) with length 1."""
        return unit(self.about)

    def center(self) -> tuple[float, float, float]:
        """Return the centre (3; m) about which the frame turns."""
        x, y, z = self.center_m
        return x, y, z

    def gain(self, axis: str, direction: Floats | None) -> float:
        """Return the change of a task coordinate per radian of the frame's motion, NaN where it has none.

        axis, direction (3): as of a frame that slides. 0 of x, y and z, which turn with the frame. roll,
        pitch and yaw have a meaning in a frame that turns about z.
        """
        along = self.axis()
        if axis in ("x", "y", "z"):
            return 0.0
        if axis == "along":
            assert direction is not None, "the task section has made sure"
            return 0.0 if abs(float(direction @ along)) > PARALLEL else math.nan
        if axis == "distance" or abs(along[2]) < PARALLEL:
            return math.nan
        return float(along[2]) if axis == "yaw" else 0.0


def _kind(value: Any) -> str:
    turning = "about" in value if isinstance(value, dict) else isinstance(value, TurningFrameSpec)
    return _TURNS if turning else _SLIDES


FrameSpec = Annotated[
    Annotated[SlidingFrameSpec, Tag(_SLIDES)] | Annotated[TurningFrameSpec, Tag(_TURNS)],
    Discriminator(_kind),
]
"""One moving frame; `about` makes one that turns."""
