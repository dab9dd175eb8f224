"""The section `force_sensors`: what measures the force between a point and what it touches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from machine.fields import Name, Number, Section, entry

AXES = ("x", "y", "z")


@dataclass(frozen=True)
class ForceSensor:
    """A sensor of the force on the point of a contact: three components in N, in `frame`.

    `contact` is the contact's place among the mechanism's. "world": along the world's axes; "body": along
    those of the body that carries the point. `resolution_N` is the smallest step, 0 for an ideal sensor;
    `noise_N` a standard deviation.
    """

    name: str
    contact: int
    frame: Literal["world", "body"]
    resolution_N: float
    noise_N: float


class ForceSensorSpec(Section):
    """A sensor of the force that a contact puts on the machine's point, with three components."""

    about: str = entry("What this sensor is, for people", default="")
    contact: Name = entry("The contact whose force it measures, by its name in `contacts`")
    frame: Literal["world", "body"] = entry(
        "Axes of the three components: the world's, or those of the body that carries the point",
        default="world",
    )
    resolution_N: Number | None = entry("Smallest step; none: ideal", "N", None, gt=0)
    noise_N: Number = entry("Standard deviation of the noise", "N", 0.0, ge=0)

    def make(self, name: str, contact: int) -> ForceSensor:
        """Return it in SI units."""
        return ForceSensor(name, contact, self.frame, self.resolution_N or 0.0, self.noise_N)
