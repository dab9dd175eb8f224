"""Entries of a time line: faults of sensors. A sensor is named by its joint, a force sensor by its name."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, Literal

from pydantic import model_validator

from linkwork.machine.sections.fields import Number, entry, one_of, wrong
from linkwork.plant.faults.entries import FaultEntry, Named

UNITS = ("rad", "deg", "m", "N", "N_m")


class SensorEntry(FaultEntry):
    """A sensor says something else than it should."""

    quantity: ClassVar[str] = ""
    """The key of its number without the unit: "by"; "" where it has none."""
    suffix: ClassVar[str] = ""
    """What follows the unit in that key: "_s" for a rate."""
    forces: ClassVar[bool] = True
    """Whether a force sensor can have it."""

    of: Named = entry("The sensor: the joint that it measures, or the force sensor's name")
    axis: Named | None = entry(
        "Component x, y or z of a force sensor, row of a constraint. Default: all", default=None
    )
    measures: Literal["motion", "force"] | None = entry(
        "Selects between two sensors of one name: joint motion, or force", default=None
    )

    @model_validator(mode="after")
    def _one_number(self) -> SensorEntry:
        if self.quantity:
            one_of(self, *self.number_keys(), needed=True)
        return self

    def is_of_force(self, joints: Collection[str]) -> bool:
        """Whether it concerns a force sensor: so it says, by word or unit, or no such joint is measured."""
        if self.measures is not None:
            return self.measures == "force"
        given = [key for key in self.number_keys() if getattr(self, key) is not None]
        in_newtons = any(key.startswith(f"{self.quantity}_N") for key in given)
        return in_newtons or self.axis is not None or self.of not in joints

    @classmethod
    def number_keys(cls) -> list[str]:
        """The keys that may give its number, one a unit."""
        return [f"{cls.quantity}_{unit}{cls.suffix}" for unit in UNITS] if cls.quantity else []


def _of(about: str, unit: str, **rules: float) -> Number | None:
    number: Number | None = entry(about, unit, None, **rules)
    return number


class Bias(SensorEntry):
    """A constant is added."""

    kind: ClassVar[str] = "sensor.bias"
    quantity: ClassVar[str] = "by"
    sensor: Literal["bias"]
    by_rad: Number | None = _of("Bias added to the reading", "rad")
    by_deg: Number | None = _of("Bias added to the reading", "degrees")
    by_m: Number | None = _of("Bias added to the reading", "m")
    by_N: Number | None = _of("Bias added to the reading", "N")
    by_N_m: Number | None = _of("Bias added to the reading", "N m")


class Drift(SensorEntry):
    """The offset grows with time; a measured velocity changes by the rate."""

    kind: ClassVar[str] = "sensor.drift"
    quantity: ClassVar[str] = "rate"
    suffix: ClassVar[str] = "_s"
    sensor: Literal["drift"]
    rate_rad_s: Number | None = _of("Drift rate", "rad/s")
    rate_deg_s: Number | None = _of("Drift rate", "degrees/s")
    rate_m_s: Number | None = _of("Drift rate", "m/s")
    rate_N_s: Number | None = _of("Drift rate", "N/s")
    rate_N_m_s: Number | None = _of("Drift rate", "N m/s")


class Freeze(SensorEntry):
    """The last reading stays, of position and velocity."""

    kind: ClassVar[str] = "sensor.freeze"
    sensor: Literal["freeze"]


class Noise(SensorEntry):
    """Normally distributed numbers are added."""

    kind: ClassVar[str] = "sensor.noise"
    quantity: ClassVar[str] = "std"
    sensor: Literal["noise"]
    std_rad: Number | None = _of("Standard deviation", "rad", ge=0)
    std_deg: Number | None = _of("Standard deviation", "degrees", ge=0)
    std_m: Number | None = _of("Standard deviation", "m", ge=0)
    std_N: Number | None = _of("Standard deviation", "N", ge=0)
    std_N_m: Number | None = _of("Standard deviation", "N m", ge=0)
    velocity_std_rad_s: Number | None = _of("Standard deviation of a measured velocity", "rad/s", ge=0)
    velocity_std_m_s: Number | None = _of("Standard deviation of a measured velocity", "m/s", ge=0)

    @model_validator(mode="after")
    def _one_velocity(self) -> Noise:
        one_of(self, "velocity_std_rad_s", "velocity_std_m_s")
        return self


class Quantise(SensorEntry):
    """Readings are rounded to whole steps."""

    kind: ClassVar[str] = "sensor.quantise"
    quantity: ClassVar[str] = "step"
    sensor: Literal["quantise"]
    step_rad: Number | None = _of("The step", "rad", gt=0)
    step_deg: Number | None = _of("The step", "degrees", gt=0)
    step_m: Number | None = _of("The step", "m", gt=0)
    step_N: Number | None = _of("The step", "N", gt=0)
    step_N_m: Number | None = _of("The step", "N m", gt=0)


class NotANumber(SensorEntry):
    """The reading is not a number."""

    kind: ClassVar[str] = "sensor.nan"
    forces: ClassVar[bool] = False
    sensor: Literal["nan"]


class Swap(SensorEntry):
    """Two sensors of one kind speak in each other's place."""

    kind: ClassVar[str] = "sensor.swap"
    sensor: Literal["swap"]
    other: Named = entry("The other sensor")

    @model_validator(mode="after")
    def _two(self) -> Swap:
        if self.other == self.of:
            raise wrong(
                "a sensor is not swapped with itself", self.other, remedy="name another", at=("other",)
            )
        return self


class Scale(SensorEntry):
    """Readings are multiplied, of position and velocity."""

    kind: ClassVar[str] = "sensor.scale"
    sensor: Literal["scale"]
    factor: Number = entry("Factor of the reading")


SENSOR = (Bias, Drift, Freeze, Noise, Quantise, NotANumber, Swap, Scale)
