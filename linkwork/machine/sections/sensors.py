"""The section `sensors`: one entry under the name of the joint it measures."""

import math
from typing import Any, Self

from pydantic import model_validator

from linkwork.machine.sections.fields import Count, Section, Switch, entry, one_of
from linkwork.machine.sections.quantity import POSITION, SPEED, DofSection, Quantity, without_degrees


class PositionReading(Section, common=True):
    """Measurement of a position; ideal where no key is given."""

    resolution = Quantity(
        "resolution", without_degrees(POSITION), "Resolution. Default: ideal", None, absent=0.0, gt=0
    )
    noise = Quantity("noise", without_degrees(POSITION), "Standard deviation of the noise", 0.0, ge=0)


class AngleReading(PositionReading):
    """Measurement of an angle; ideal where no key is given."""

    is_angle = True
    counts_per_turn: Count | None = entry(
        "Counts of the encoder for one turn of the joint; none: ideal", default=None, gt=0
    )

    @model_validator(mode="after")
    def _one_step(self) -> Self:
        one_of(self, "counts_per_turn", "resolution_rad")
        return self


class LengthReading(PositionReading):
    """Measurement of a length; ideal where no key is given."""

    is_angle = False


class Sensor(DofSection, common=True):
    """A sensor at the degree of freedom `joint`: q[index], and v[index] where `velocity`."""

    position: PositionReading
    velocity: Switch = entry("Whether the device also sends the joint's speed", default=False)
    velocity_noise = Quantity(
        "velocity_noise", without_degrees(SPEED), "Standard deviation of the noise of the speed", 0.0, ge=0
    )

    @property
    def joint(self) -> str:
        """The joint that it measures, or its degree of freedom JOINT.DOF."""
        return self.name

    @property
    def resolution(self) -> float:
        """The smallest step, rad or m; 0 for an ideal sensor."""
        counts = getattr(self.position, "counts_per_turn", None)
        return math.tau / counts if counts else self.position.resolution

    @property
    def noise(self) -> float:
        """Standard deviation of the noise of positions, rad or m."""
        return self.position.noise

    @property
    def uncertainty(self) -> float:
        """Error of a reading, rad or m, that its resolution and noise (four deviations) explain."""
        return self.resolution + 4.0 * self.noise

    def speed_uncertainty(self, gain: float) -> float:
        """The same of its speed, rad/s or m/s; gain (1/s): from positions to the speed, where it measures
        none.
        """
        return 4.0 * self.velocity_noise if self.velocity else gain * (self.resolution + 6.0 * self.noise)

    def with_values(self, **values: Any) -> Self:
        """Return a copy with other settings; `noise` and `resolution` are those of positions."""
        reading: dict[str, Any] = {key: values.pop(key) for key in ("noise", "resolution") if key in values}
        if "resolution" in reading and self.is_angle:
            reading["counts_per_turn"] = None
        return super().with_values(position=self.position.with_values(**reading), **values)


class AngleSensor(Sensor):
    """The sensor of a hinge or a screw."""

    is_angle = True
    position: AngleReading = entry("Resolution and noise of the angle", default=AngleReading())


class LengthSensor(Sensor):
    """The sensor of a slide."""

    is_angle = False
    position: LengthReading = entry("Resolution and noise of the position", default=LengthReading())
