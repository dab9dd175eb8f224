"""Mechanisms in symbols: explicit equations, Poincaré's form, and programs for machines without Python.

`derive` makes the equations of a `Mechanism` by the same recursions as the kernels, with a name for every
intermediate result (operation_tape.py), so that closed machines take seconds. The functions of Kwatny &
Blankenship 1995 take joints and bodies one by one, numbers or symbols alike, and give SymPy matrices.

Only this package of linkwork needs SymPy: `pip install 'linkwork[symbolic]'`.
"""

try:
    import sympy  # noqa: F401
except ImportError as error:
    raise ImportError("linkwork.symbolic needs SymPy: pip install 'linkwork[symbolic]'") from error

from linkwork.symbolic.chains import (
    ChainBody,
    PoincareEquations,
    chain_inertia,
    end_effector,
    gravity_potential,
    poincare_equations,
    velocity_map,
)
from linkwork.symbolic.code import numeric
from linkwork.symbolic.joint_expressions import (
    CompoundJoint,
    JointKinematics,
    compound_joint_map,
    joint_configuration,
    joint_kinematics,
)
from linkwork.symbolic.symbolic_model import NamedResult, SymbolicModel, derive

__all__ = [
    "derive",
    "SymbolicModel",
    "NamedResult",
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
