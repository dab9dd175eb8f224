"""Mechanisms in symbols: explicit equations, Poincaré's form, and programs for machines without Python.

`derive` makes the equations of a `Mechanism` by the same recursions as the kernels, every intermediate result
named at once (tape.py), so that closed machines take seconds. The functions of Kwatny & Blankenship 1995 take
joints and bodies one by one, numbers or symbols alike, and give SymPy matrices.

Needs SymPy, which nothing else in linkwork does: `pip install 'linkwork[symbolic]'`.
"""

try:
    import sympy  # noqa: F401
except ImportError as error:
    raise ImportError("multibody.symbolic needs SymPy: pip install 'linkwork[symbolic]'") from error

from multibody.symbolic.chains import ChainBody, chain_inertia, end_effector, gravity_potential, velocity_map
from multibody.symbolic.evaluate import numeric
from multibody.symbolic.joints import (
    CompoundJoint,
    JointKinematics,
    compound_joint_map,
    joint_configuration,
    joint_kinematics,
)
from multibody.symbolic.model import Part, SymbolicModel, derive
from multibody.symbolic.poincare import PoincareEquations, poincare_equations

__all__ = [
    "derive",
    "SymbolicModel",
    "Part",
    "numeric",
    "joint_configuration",
    "joint_kinematics",
    "JointKinematics",
    "compound_joint_map",
    "CompoundJoint",
    "ChainBody",
    "chain_inertia",
    "velocity_map",
    "end_effector",
    "gravity_potential",
    "poincare_equations",
    "PoincareEquations",
]
