"""All types of joints together. A new type is a new class and one more line here."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from linkwork.machine.sections.joints import FixedSpec, PrismaticSpec, RevoluteSpec, ScrewSpec
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

NO_FRICTION = (0.0, 0.0, 0.0, 1e-3)


def friction(joint: Joint) -> tuple[float, float, float, float]:
    """Return armature, viscous, coulomb and the coulomb speed of a joint in SI units."""
    if isinstance(joint, PrismaticSpec):
        return joint.armature_kg, joint.viscous_N_s_m, joint.coulomb_N, joint.coulomb_speed_m_s
    if isinstance(joint, (RevoluteSpec, ScrewSpec, UniversalSpec, SphericalSpec)):
        return joint.armature_kg_m2, joint.viscous_N_m_s, joint.coulomb_N_m, joint.coulomb_speed_rad_s
    return NO_FRICTION
