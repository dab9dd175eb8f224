"""The section `force_sensors`: sensors of contact forces and constraint loads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import model_validator

from linkwork.machine.sections.fields import Name, Number, Section, entry, wrong

AXES = ("x", "y", "z")
Frame = Literal["world", "body", "constraint"]


@dataclass(frozen=True)
class ForceSensor:
    """A sensor of forces (`unit` N) or moments (N m), with one number for each of its `components`.

    Of a contact: the force on its point, three components. `frame` "world": along the world's axes; "body":
    along those of the body that carries the point. Of a constraint (`frame` "constraint"): the multipliers of
    the `rows` of the mechanism, on body b by body a. `contact` and `constraint` are places among the
    mechanism's, -1 for none. `first` is the place of its first number among those of all force sensors.
    `resolution` is the smallest step, 0 for an ideal sensor; `noise` a standard deviation.
    """

    name: str
    contact: int
    constraint: int
    frame: Frame
    unit: Literal["N", "N m"]
    components: tuple[str, ...]
    rows: tuple[int, ...]
    first: int
    resolution: float
    noise: float

    @property
    def numbers(self) -> slice:
        """Places of its numbers among those of all force sensors."""
        return slice(self.first, self.first + len(self.components))


class ForceSensorSpec(Section):
    """A sensor of the contact force on a point of the machine, or of the load of a constraint."""

    about: str = entry("Description of the sensor", default="")
    contact: Name | None = entry(
        "The contact whose force it measures, by its name in `contacts`", default=None
    )
    constraint: Name | None = entry(
        "Instead: the constraint whose load it measures, by its name in `constraints`", default=None
    )
    frame: Literal["world", "body"] | None = entry(
        "Of a contact, axes of the three components: the world's, or those of the body that carries the "
        "point; none: world",
        default=None,
    )
    measures: Literal["force", "torque"] | None = entry(
        "Of a constraint: its forces, or its torques; none: force", default=None
    )
    resolution_N: Number | None = entry("Resolution. Default: ideal", "N", None, gt=0)
    resolution_N_m: Number | None = entry("Resolution of torques. Default: ideal", "N m", None, gt=0)
    noise_N: Number | None = entry("Standard deviation of the noise. Default: 0", "N", None, ge=0)
    noise_N_m: Number | None = entry(
        "Standard deviation of the noise of torques. Default: 0", "N m", None, ge=0
    )

    @model_validator(mode="after")
    def _of_one_kind(self) -> ForceSensorSpec:
        if (self.contact is None) == (self.constraint is None):
            found = "nothing" if self.contact is None else "contact and constraint"
            remedy = "name one; make two sensors where both are measured"
            raise wrong("a sensor measures one thing", found, "contact, or constraint", remedy)
        other = ("measures",) if self.contact is not None else ("frame",)
        turns = self.unit() == "N m"
        for key in (*other, *(("resolution_N", "noise_N") if turns else ("resolution_N_m", "noise_N_m"))):
            if getattr(self, key) is not None:
                kind = "of a contact" if self.contact is not None else "of a constraint"
                what = f"of {'torques' if turns else 'forces'}" if key not in other else kind
                raise wrong(f"a sensor {what} has no {key}", key, "", f"leave {key} out", (key,))
        return self

    def unit(self) -> Literal["N", "N m"]:
        """Return the unit of its numbers."""
        return "N m" if self.measures == "torque" else "N"

    def resolution(self) -> float:
        """Return the smallest step in its unit; 0: ideal."""
        return self.resolution_N or self.resolution_N_m or 0.0

    def noise(self) -> float:
        """Return the standard deviation in its unit."""
        return self.noise_N or self.noise_N_m or 0.0
