"""The mathematics of constrained multibody systems: no files, sockets, clocks or global state.

Describe a mechanism with `Body`, `Joint`, `Point` and `Coordinate`, make it with `Mechanism.build`, then
either call `multibody.functions`, or take a `Workspace` from it and run the kernels (kinematics.py,
dynamics.py, coordinates.py, integrate.py, linear.py, orthogonal.py, udwadia_kalaba.py) on
`*workspace.arguments`.
"""

from multibody.mechanism import Mechanism
from multibody.model import Body, Coordinate, Joint, ModelError, Point
from multibody.workspace import Workspace

__all__ = ["Body", "Coordinate", "Joint", "Mechanism", "ModelError", "Point", "Workspace"]
