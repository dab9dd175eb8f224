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


def freedoms_of_type(name: str) -> dict[str, bool]:
    """The freedoms of a type of joint, as `JointSpec.freedoms`; none of an unknown type."""
    return _FREEDOMS.get(name, {})


_SPECS: tuple[type[JointSpec], ...] = get_args(get_args(Joint)[0])
_FREEDOMS = {
    name: spec.model_construct().freedoms()
    for spec in _SPECS
    if spec is not ColumnsSpec  # its columns say
    for name in get_args(spec.model_fields["type"].annotation)
}
