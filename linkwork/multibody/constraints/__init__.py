"""Constraints of a mechanism beyond its tree: loop closures, couplings, prescribed coordinates.

Each kind is one small file that defines its equations (Φ = 0), its rows, and the meaning of its multipliers.
The files only specify; `multibody.constraints.rows` evaluates all of them.

Sign: the constraint force is Fc = A'λ. For a closure between frames a and b, λ is the action of the closure
on the body of b; the body of a receives the opposite, at the same point.
"""

from linkwork.multibody.constraints.constraint import Closure, Constraint, Frame, Row
from linkwork.multibody.constraints.coordinate import CoordinateConstraint
from linkwork.multibody.constraints.coupling import CouplingConstraint
from linkwork.multibody.constraints.cylindrical import CylindricalClosure
from linkwork.multibody.constraints.distance import DistanceClosure
from linkwork.multibody.constraints.expression import ExpressionConstraint
from linkwork.multibody.constraints.pin import PinClosure
from linkwork.multibody.constraints.point import PointClosure
from linkwork.multibody.constraints.prismatic import PrismaticClosure
from linkwork.multibody.constraints.revolute import RevoluteClosure
from linkwork.multibody.constraints.rolling import RollingConstraint
from linkwork.multibody.constraints.universal import UniversalClosure
from linkwork.multibody.constraints.velocity import VelocityConstraint
from linkwork.multibody.constraints.weld import WeldClosure

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
