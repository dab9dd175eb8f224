"""The section `frames`: frames that move along a line of the world, or turn about one."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from pydantic import Discriminator, Tag, model_validator

from linkwork.arrays import Floats
from linkwork.machine.problems import shown
from linkwork.machine.sections.fields import Name, Number, Range, Section, Vector3, entry, one_of, wrong
from linkwork.machine.sections.joints import unit_vector

_SLIDES, _TURNS = "slides", "turns"
PARALLEL = 1.0 - 1e-9
"""Cosine of the angle from which two directions count as parallel."""


class _FrameSpec(Section):
    """Common keys of moving frames."""

    signal: Name = entry("The analog input that measures the displacement")
    bandwidth_rad_s: Number = entry(
        "Bandwidth of the filter that estimates position, speed and acceleration from the signal: higher "
        "follows changes faster, lower suppresses more noise",
        "rad/s",
        40.0,
        ge=1.0,
        le=500.0,
    )

    def center(self) -> tuple[float, float, float] | None:
        """Return a point of the line about which the frame turns; None of one that slides."""
        return None


class SlidingFrameSpec(_FrameSpec):
    """A frame that moves along a straight line, such as a conveyor belt; an analog input measures how far."""

    m_per_unit: Number = entry("Displacement per unit of the signal", "m", 1.0)
    along: Vector3 = entry("Direction of the motion, in the world; its length does not matter")
    speed_m_s: Range = entry("Smallest and largest speed along the direction that goals rely on", "m/s")
    acceleration_m_s2: Number = entry("Largest acceleration that goals rely on", "m/s²", gt=0)
    window_m: Range = entry(
        "Smallest and largest position along the direction at which a goal may be in the frame", "m"
    )

    @model_validator(mode="after")
    def _fits(self) -> SlidingFrameSpec:
        unit_vector(self, "along")
        _in_order(self, "speed_m_s", "window_m")
        _moves(self, "m_per_unit")
        return self

    def axis(self) -> Floats:
        """Return the direction (3) with length 1."""
        return unit_vector(self, "along")

    def motion(self) -> tuple[float, list[float], float, list[float]]:
        """Return the displacement per unit, the range of speeds, the acceleration and the window (m, s)."""
        return self.m_per_unit, self.speed_m_s, self.acceleration_m_s2, self.window_m

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

    rad_per_unit: Number | None = entry("Angle per unit of the signal. Default: 1 rad", "rad", None)
    deg_per_unit: Number | None = entry("Angle per unit of the signal", "deg", None)
    about: Vector3 = entry(
        "Direction of the line about which it turns, in the world, by the right-hand rule; its length does"
        " not matter"
    )
    center_m: Vector3 = entry("A point of this line", "m", [0.0, 0.0, 0.0])
    speed_rad_s: Range | None = entry("Smallest and largest speed that goals rely on", "rad/s", None)
    speed_deg_s: Range | None = entry("Smallest and largest speed that goals rely on", "deg/s", None)
    acceleration_rad_s2: Number | None = entry(
        "Largest acceleration that goals rely on", "rad/s²", None, gt=0
    )
    acceleration_deg_s2: Number | None = entry(
        "Largest acceleration that goals rely on", "deg/s²", None, gt=0
    )
    window_rad: Range | None = entry(
        "Smallest and largest angle about the line at which a goal may be in the frame, from x (from y, if"
        " the line is parallel to x)",
        "rad",
        None,
    )
    window_deg: Range | None = entry("The same in degrees", "deg", None)

    @model_validator(mode="after")
    def _fits(self) -> TurningFrameSpec:
        unit_vector(self, "about")
        one_of(self, "rad_per_unit", "deg_per_unit")
        for keys in (
            ("speed_rad_s", "speed_deg_s"),
            ("acceleration_rad_s2", "acceleration_deg_s2"),
            ("window_rad", "window_deg"),
        ):
            one_of(self, *keys, needed=True)
        _in_order(self, "speed_rad_s", "speed_deg_s", "window_rad", "window_deg")
        _moves(self, "rad_per_unit", "deg_per_unit")
        for key, turn in (("window_rad", 2.0 * math.pi), ("window_deg", 360.0)):
            window = getattr(self, key)
            if window is not None and window[1] - window[0] > turn:
                raise wrong("the window is more than a turn", shown(window), f"{turn:g} at most", at=(key,))
        return self

    def axis(self) -> Floats:
        """Return the direction (3) with length 1."""
        return unit_vector(self, "about")

    def center(self) -> tuple[float, float, float]:
        """Return the centre (3; m) about which the frame turns."""
        x, y, z = self.center_m
        return x, y, z

    def motion(self) -> tuple[float, list[float], float, list[float]]:
        """Return the displacement per unit, the range of speeds, the acceleration and the window (rad, s)."""

        def radians(key: str) -> list[float]:
            given = getattr(self, key.format("rad"))
            value = np.radians(getattr(self, key.format("deg"))) if given is None else np.array(given)
            found: list[float] = value.ravel().tolist()
            return found

        given = self.rad_per_unit is not None or self.deg_per_unit is not None
        per_unit = radians("{}_per_unit")[0] if given else 1.0
        return per_unit, radians("speed_{}_s"), radians("acceleration_{}_s2")[0], radians("window_{}")

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


def _in_order(section: Section, *keys: str) -> None:
    for key in keys:
        pair = getattr(section, key)
        if pair is not None and not pair[0] < pair[1]:
            raise wrong("the range is empty", shown(pair), "[LOW, HIGH] with LOW < HIGH", at=(key,))


def _moves(section: Section, *keys: str) -> None:
    for key in keys:
        if getattr(section, key) == 0.0:
            raise wrong("the frame would not move", "0", "a number other than 0", at=(key,))


def _kind(value: Any) -> str:
    turning = "about" in value if isinstance(value, dict) else isinstance(value, TurningFrameSpec)
    return _TURNS if turning else _SLIDES


FrameSpec = Annotated[
    Annotated[SlidingFrameSpec, Tag(_SLIDES)] | Annotated[TurningFrameSpec, Tag(_TURNS)],
    Discriminator(_kind),
]
"""One moving frame; `about` makes one that turns."""
