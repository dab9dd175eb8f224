"""The section `sensors`: one entry under the name of the joint it measures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Discriminator, Tag, model_validator

from linkwork.machine.sections.angle_or_length import ANGLE, LENGTH, angle_or_length
from linkwork.machine.sections.fields import Count, Number, Section, Switch, entry, one_of


@dataclass(frozen=True)
class SensorValues:
    """A sensor's numbers in SI units (rad or m); a resolution of 0 is an ideal sensor."""

    counts_per_turn: int
    resolution: float
    noise: float
    velocity: bool
    velocity_noise: float


class AnglePositionSpec(Section):
    """Measurement of an angle; ideal where no key is given."""

    counts_per_turn: Count | None = entry(
        "Counts of the encoder for one turn of the joint; none: ideal", default=None, gt=0
    )
    resolution_rad: Number | None = entry("Resolution. Default: ideal", "rad", None, gt=0)
    noise_rad: Number = entry("Standard deviation of the noise", "rad", 0.0, ge=0)

    @model_validator(mode="after")
    def _one_step(self) -> AnglePositionSpec:
        one_of(self, "counts_per_turn", "resolution_rad")
        return self


class LengthPositionSpec(Section):
    """Measurement of a length; ideal where no key is given."""

    resolution_m: Number | None = entry("Resolution. Default: ideal", "m", None, gt=0)
    noise_m: Number = entry("Standard deviation of the noise", "m", 0.0, ge=0)


class AngleSensorSpec(Section):
    """The sensor of a hinge or a screw."""

    kind: ClassVar[str] = ANGLE
    position: AnglePositionSpec = entry("Resolution and noise of the angle", default=AnglePositionSpec())
    velocity: Switch = entry("Whether the device also sends the joint's speed", default=False)
    velocity_noise_rad_s: Number = entry("Standard deviation of the noise of the speed", "rad/s", 0.0, ge=0)

    def values(self) -> SensorValues:
        """Return the numbers in SI units."""
        counts = self.position.counts_per_turn or 0
        resolution = math.tau / counts if counts else self.position.resolution_rad or 0.0
        return SensorValues(
            counts, resolution, self.position.noise_rad, self.velocity, self.velocity_noise_rad_s
        )


class LengthSensorSpec(Section):
    """The sensor of a slide."""

    kind: ClassVar[str] = LENGTH
    position: LengthPositionSpec = entry("Resolution and noise of the position", default=LengthPositionSpec())
    velocity: Switch = entry("Whether the device also sends the joint's speed", default=False)
    velocity_noise_m_s: Number = entry("Standard deviation of the noise of the speed", "m/s", 0.0, ge=0)

    def values(self) -> SensorValues:
        """Return the numbers in SI units."""
        return SensorValues(
            0,
            self.position.resolution_m or 0.0,
            self.position.noise_m,
            self.velocity,
            self.velocity_noise_m_s,
        )


Sensor = Annotated[
    Annotated[AngleSensorSpec, Tag(ANGLE)] | Annotated[LengthSensorSpec, Tag(LENGTH)],
    Discriminator(angle_or_length),
]
