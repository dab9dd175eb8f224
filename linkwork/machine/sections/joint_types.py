"""All types of joints together. A new type is a new class and one more line here."""

from __future__ import annotations

from typing import Annotated, get_args

from pydantic import Field

from linkwork.machine.sections import multi_dof_joints as several
from linkwork.machine.sections.joints import FixedSpec, JointSpec, PrismaticSpec, RevoluteSpec, ScrewSpec

Joint = Annotated[
    RevoluteSpec
    | PrismaticSpec
    | ScrewSpec
    | several.CylindricalSpec
    | several.UniversalSpec
    | several.PlanarSpec
    | several.SphericalSpec
    | several.FreeSpec
    | several.ColumnsSpec
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
    if spec is not several.ColumnsSpec  # its columns say
    for name in get_args(spec.model_fields["type"].annotation)
}
