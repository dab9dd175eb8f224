"""Constraints of a mechanism beyond its tree: loop closures, couplings, prescribed coordinates.

Each kind is one class that defines its equations (Φ = 0), its rows, and the meaning of its multipliers.
The classes only specify; `multibody.constraints.rows` evaluates all of them.

Sign: the constraint force is Fc = A'λ. For a closure between frames a and b, λ is the action of the closure
on the body of b; the body of a receives the opposite, at the same point.
"""

from linkwork.multibody.constraints.closures import (
    CylindricalClosure,
    DistanceClosure,
    PinClosure,
    PointClosure,
    PrismaticClosure,
    RevoluteClosure,
    RollingConstraint,
    UniversalClosure,
    WeldClosure,
)
from linkwork.multibody.constraints.constraint import Closure, Constraint, Frame, Row
from linkwork.multibody.constraints.coordinate_constraints import (
    CoordinateConstraint,
    CouplingConstraint,
    ExpressionConstraint,
    VelocityConstraint,
)

__all__ = [
    "Closure",
    "Constraint",
    "CoordinateConstraint",
    "CouplingConstraint",
    "CylindricalClosure",
    "DistanceClosure",
    "ExpressionConstraint",
    "Frame",
    "PinClosure",
    "PointClosure",
    "PrismaticClosure",
    "RevoluteClosure",
    "RollingConstraint",
    "Row",
    "UniversalClosure",
    "VelocityConstraint",
    "WeldClosure",
]
