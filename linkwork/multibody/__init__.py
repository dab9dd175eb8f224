"""The mathematics of constrained multibody systems: no files, sockets, clocks or global state.

Describe a mechanism with `Body`, `Joint`, `Point` and `Coordinate`, and what closes its loops with
`multibody.constraints`; make it with `Mechanism.build`. Then either call functions on states (functions.py,
acceleration.py, assembly.py, projector.py), or take a `Workspace` and run kernels on `*workspace.arguments`:

    of the tree         kinematics.py, dynamics.py, coordinates.py, integrate.py
    of the constraints  rows.py (Φ, A, b), rank.py (one decision on the rank, basis of admitted velocities)
    under constraints   constrained.py, formulations.py (accelerations), projection.py, step.py
    minimal coordinates partition.py, minimal.py; in closed form closed_form.py, four_bar.py
    for people          evaluation.py (Φ, A, P and their rates), reactions.py (joints and closures)
    on plain matrices   linear.py, orthogonal.py, udwadia_kalaba.py
"""

from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import Body, Coordinate, Joint, ModelError, Point
from linkwork.multibody.workspace import Workspace

__all__ = ["Body", "Coordinate", "Joint", "Mechanism", "ModelError", "Point", "Workspace"]
