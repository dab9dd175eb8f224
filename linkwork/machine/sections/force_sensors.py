"""The section `force_sensors`: sensors of contact forces and constraint loads."""

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import PrivateAttr, model_validator

from linkwork.machine.sections.fields import Name, NamedSection, Number, entry, wrong
from linkwork.protocol.results import DescribedForceSensor

AXES = ("x", "y", "z")


class ForceSensor(NamedSection):
    """A sensor of the contact force on a point of the machine, or of the load of a constraint."""

    _rows: Mapping[str, int] = PrivateAttr(dict.fromkeys(AXES, -1))
    _first: int = PrivateAttr(0)

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
    def _of_one_kind(self) -> Self:
        if (self.contact is None) == (self.constraint is None):
            found = "nothing" if self.contact is None else "contact and constraint"
            remedy = "name one; make two sensors where both are measured"
            raise wrong("a sensor measures one thing", found, "contact, or constraint", remedy)
        other = ("measures",) if self.contact is not None else ("frame",)
        turns = self.unit == "N m"
        for key in (*other, *(("resolution_N", "noise_N") if turns else ("resolution_N_m", "noise_N_m"))):
            if getattr(self, key) is not None:
                kind = "of a contact" if self.contact is not None else "of a constraint"
                what = f"of {'torques' if turns else 'forces'}" if key not in other else kind
                raise wrong(f"a sensor {what} has no {key}", key, "", f"leave {key} out", (key,))
        return self

    def measuring(self, rows: Mapping[str, int], first: int) -> Self:
        """Return the sensor with the rows of its constraint, by component, and the place of its first number.

        rows: of the mechanism; none of a contact, whose place among the mechanism's is `index`.
        """
        placed = self.model_copy()
        placed._rows, placed._first = rows or self._rows, first
        return placed

    @property
    def unit(self) -> Literal["N", "N m"]:
        """Unit of its numbers."""
        return "N m" if self.measures == "torque" else "N"

    @property
    def axes(self) -> Literal["world", "body", "constraint"]:
        """Whose axes the components are along: the world's, those of the point's body, the constraint's."""
        return "constraint" if self.contact is None else self.frame or "world"

    @property
    def components(self) -> tuple[str, ...]:
        """Names of its numbers.

        Of a contact: the force on its point. Of a constraint: the multipliers of its rows, on b by a.
        """
        return tuple(self._rows)

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows of the mechanism's constraints that it measures; none of a contact."""
        return tuple(row for row in self._rows.values() if row >= 0)

    @property
    def first(self) -> int:
        """Place of its first number among those of all force sensors."""
        return self._first

    @property
    def numbers(self) -> slice:
        """Places of its numbers among those of all force sensors."""
        return slice(self._first, self._first + len(self._rows))

    @property
    def resolution(self) -> float:
        """The smallest step in its unit; 0: ideal."""
        return self.resolution_N or self.resolution_N_m or 0.0

    @property
    def noise(self) -> float:
        """Standard deviation in its unit."""
        return self.noise_N or self.noise_N_m or 0.0

    def interface(self) -> DescribedForceSensor:
        """Return what both ends of the device link, and clients, know of it, as plain data."""
        components = list(self.components)
        return {"name": self.name, "unit": self.unit, "frame": self.axes, "components": components}
