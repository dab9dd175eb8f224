"""What can be demanded of a mechanism beyond its tree: closures of loops, couplings, prescribed coordinates.

Each kind is one small file that says what it demands (Φ = 0), in which rows, and what its multipliers mean.
The files only specify; `multibody.rows` evaluates all of them.

Sign: the constraint force is Fc = A'λ. For a closure between frames a and b, λ is what the closure does to
the body of b; the body of a receives the opposite, at the same place.
"""

from multibody.constraints.constraint import Closure, Constraint, Frame, Row
from multibody.constraints.coordinate import CoordinateConstraint
from multibody.constraints.coupling import CouplingConstraint
from multibody.constraints.cylindrical import CylindricalClosure
from multibody.constraints.distance import DistanceClosure
from multibody.constraints.expression import ExpressionConstraint
from multibody.constraints.pin import PinClosure
from multibody.constraints.point import PointClosure
from multibody.constraints.prismatic import PrismaticClosure
from multibody.constraints.revolute import RevoluteClosure
from multibody.constraints.rolling import RollingConstraint
from multibody.constraints.universal import UniversalClosure
from multibody.constraints.velocity import VelocityConstraint
from multibody.constraints.weld import WeldClosure

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
