"""All types of joints together. A new type is a new class and one more line here."""

from __future__ import annotations

from typing import Annotated, get_args

from pydantic import Field

from linkwork.machine.sections.joints import FixedSpec, JointSpec, PrismaticSpec, RevoluteSpec, ScrewSpec
from linkwork.machine.sections.multi_dof_joints import (
    ColumnsSpec,
    CylindricalSpec,
    FreeSpec,
    PlanarSpec,
    SphericalSpec,
    UniversalSpec,
)

Joint = Annotated[
    RevoluteSpec
    | PrismaticSpec
    | ScrewSpec
    | CylindricalSpec
    | UniversalSpec
    | PlanarSpec
    | SphericalSpec
    | FreeSpec
    | ColumnsSpec
    | FixedSpec,
    Field(discriminator="type"),
]


def dof_of_type(name: str) -> dict[str, bool]:
    """Return `JointSpec.degrees_of_freedom` of a joint type; empty for an unknown type."""
    return _DOF.get(name, {})


_SPECS: tuple[type[JointSpec], ...] = get_args(get_args(Joint)[0])
_DOF = {
    name: spec.model_construct().degrees_of_freedom()
    for spec in _SPECS
    if spec is not ColumnsSpec  # its columns say
    for name in get_args(spec.model_fields["type"].annotation)
}
