"""The section `frames`: frames that move along a line of the world, such as conveyor belts."""

from __future__ import annotations

import math

import numpy as np
from pydantic import model_validator

from linkwork.machine.problems import shown
from linkwork.machine.sections.fields import Name, Number, Range, Section, Vector3, entry, wrong
from linkwork.machine.sections.joints import unit_vector


class FrameSpec(Section):
    """A frame that moves along a straight line; an analog input measures how far."""

    signal: Name = entry("The analog input that measures the displacement")
    m_per_unit: Number = entry("Displacement per unit of the signal", "m", 1.0)
    along: Vector3 = entry("Direction of the motion, in the world; its length does not matter")
    speed_m_s: Range = entry("Smallest and largest speed along the direction that goals rely on", "m/s")
    acceleration_m_s2: Number = entry("Largest acceleration that goals rely on", "m/s²", gt=0)
    window_m: Range = entry(
        "Smallest and largest position along the direction at which a goal may be in the frame", "m"
    )
    bandwidth_rad_s: Number = entry(
        "Bandwidth of the filter that estimates position, speed and acceleration from the signal: higher "
        "follows changes faster, lower suppresses more noise",
        "rad/s",
        40.0,
        ge=1.0,
        le=500.0,
    )

    @model_validator(mode="after")
    def _fits(self) -> FrameSpec:
        unit_vector(self, "along")
        for key in ("speed_m_s", "window_m"):
            low, high = getattr(self, key)
            if not low < high:
                raise wrong(
                    "the range is empty", shown([low, high]), "[LOW, HIGH] with LOW < HIGH", at=(key,)
                )
        if self.m_per_unit == 0.0:
            raise wrong("the frame would not move", "0", "a number other than 0", at=("m_per_unit",))
        return self

    def direction(self) -> tuple[float, float, float]:
        """Return the direction with length 1."""
        x, y, z = (np.array(self.along) / np.linalg.norm(self.along)).tolist()
        return x, y, z

    def gain(self, axis: str, direction: tuple[float, float, float] | None) -> float:
        """Return the change of a task coordinate per metre of the frame's motion, NaN where it has none.

        axis: x, y, z, along, distance or an angle; direction: of `along`.
        """
        unit = self.direction()
        if axis in ("x", "y", "z"):
            return unit["xyz".index(axis)]
        if axis == "along":
            assert direction is not None, "the task section has made sure"
            return float(np.dot(direction, unit) / np.linalg.norm(direction))
        return math.nan if axis == "distance" else 0.0
