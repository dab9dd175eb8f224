"""The sections `bodies` and `points`."""

from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from linkwork.machine.problems import shown
from linkwork.machine.sections.fields import (
    Alias,
    Name,
    Number,
    Section,
    Switch,
    Vector3,
    alias,
    calculated,
    entry,
    wrong,
)
from linkwork.machine.sections.visual_shapes import Visual
from linkwork.multibody.model import INERTIA_ROUNDING

_ELEMENTS = ("xx", "yy", "zz", "xy", "xz", "yz")
_ROUNDING = 1e-6
_LIGHTEST_KG = 1e-12


class InertiaSpec(Section):
    """Inertia matrix about the centre of mass, in the axes of the body."""

    xx: Number = entry("Moment of inertia about x", "kg m²", ge=0)
    yy: Number = entry("Moment of inertia about y", "kg m²", ge=0)
    zz: Number = entry("Moment of inertia about z", "kg m²", ge=0)
    xy: Number = entry("Element (x, y) of the inertia matrix, −∫ x y dm", "kg m²", 0.0)
    xz: Number = entry("Element (x, z) of the inertia matrix, −∫ x z dm", "kg m²", 0.0)
    yz: Number = entry("Element (y, z) of the inertia matrix, −∫ y z dm", "kg m²", 0.0)
    unphysical: Switch = entry(
        "Use an inertia that no rigid body has, with a warning: of a model that must stay as it is",
        default=False,
    )

    def matrix(self) -> NDArray[np.float64]:
        """Return the 3 × 3 matrix in kg m²."""
        return np.array(
            [[self.xx, self.xy, self.xz], [self.xy, self.yy, self.yz], [self.xz, self.yz, self.zz]],
            dtype=np.float64,
        )

    @model_validator(mode="after")
    def _is_an_inertia(self) -> Self:
        small, middle, large = np.linalg.eigvalsh(self.matrix())
        if self.unphysical:
            return self
        slack = _ROUNDING * max(abs(large), abs(small)) + INERTIA_ROUNDING
        found = f"principal moments {small:.6g}, {middle:.6g}, {large:.6g} kg m²"
        if small < -slack:
            raise wrong("no rigid body has a negative principal moment of inertia", found, "none below 0")
        if large > small + middle + slack:
            allowed = "the largest at most the sum of the other two (triangle inequality)"
            raise wrong(
                "no rigid body has these moments of inertia",
                found,
                allowed,
                "check xx, yy, zz and the products, or write unphysical: true",
            )
        return self


def _from_list(value: Any) -> Any:
    """Accept [xx, yy, zz, xy, xz, yz] as well as the mapping."""
    if not isinstance(value, list):
        return value
    if len(value) != len(_ELEMENTS):
        allowed = "six numbers [xx, yy, zz, xy, xz, yz], or a mapping of these names"
        raise wrong("a list of inertia has another length", f"{len(value)} values", allowed)
    elements = [calculated(element) for element in value]
    for index, element in enumerate(elements):
        if isinstance(element, bool) or not isinstance(element, (int, float)):
            raise wrong("this has the wrong type", shown(element), "a number", at=(index,))
    return dict(zip(_ELEMENTS, elements, strict=True))


Inertia = Annotated[
    InertiaSpec,
    BeforeValidator(
        _from_list,
        json_schema_input_type=InertiaSpec
        | Annotated[
            list[Number],
            Field(min_length=6, max_length=6, description="[xx, yy, zz, xy, xz, yz] [kg m²]"),
        ],
    ),
]


class BodySpec(Section):
    """A rigid body. Its frame lies at the joint that carries it."""

    about: str = entry("Description of the body", default="")
    alias: Alias | None = alias()
    mass_kg: Number = entry("Mass", "kg", ge=0)
    com_m: Vector3 = entry("Centre of mass, in the body's frame", "m", [0.0, 0.0, 0.0])
    inertia_kg_m2: Inertia = entry("Inertia about the centre of mass, in the body's axes", "kg m²")
    visual: list[Visual] = entry("Shapes that show the body in drawings", default=[])

    @model_validator(mode="after")
    def _inertia_needs_mass(self) -> Self:
        if 0 < self.mass_kg < _LIGHTEST_KG:
            allowed = f"0, or {_LIGHTEST_KG:g} or more"
            raise wrong(
                "this mass is too small for the computation", f"{self.mass_kg:g}", allowed, at=("mass_kg",)
            )
        if self.mass_kg == 0 and self.inertia_kg_m2.matrix().any():
            allowed = "more than 0 where there is inertia"
            raise wrong("a body without mass has no inertia", "0", allowed, "give it mass", at=("mass_kg",))
        return self


class PointSpec(Section):
    """A named point of a body, for task coordinates and plots."""

    about: str = entry("Description of the point", default="")
    alias: Alias | None = alias()
    body: Name = entry("The body that carries the point")
    at_m: Vector3 = entry("Position of the point, in the body's frame", "m", [0.0, 0.0, 0.0])
