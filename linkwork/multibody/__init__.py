"""The mathematics of constrained multibody systems: no files, sockets, clocks or global state.

Describe a mechanism with `Body`, `Joint`, `Point` and `Coordinate`, and what closes its loops with
`multibody.constraints`; make it with `Mechanism.build`. Then either call functions on states (functions.py,
assembly/assembly.py, formulations/acceleration.py), or take a `Workspace` and run kernels on
`*workspace.arguments`. Each folder imports only from those below it:

    reactions           forces and moments at joints and closures
    formulations        accelerations by each formulation; Φ, A, P and their rates
    assembly            consistent states, assembly modes, closed forms, switched constraints
    functions.py        functions on states
    steps               one step of time
    dynamics            inertia, bias forces, constrained accelerations, projections
    mechanism.py        the mechanism, from descriptions of its parts
    closure             factors of A, loop by loop; its rank
    contact, forces     stops, contacts, springs, force elements
    constraints         Φ, A and b of each kind of constraint
    expressions, tree   text as programs; joints and kinematics
    linalg, kernels     vectors and matrices; the translator to C
"""

from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import Body, Coordinate, Joint, ModelError, Point
from linkwork.multibody.workspace import Workspace

__all__ = ["Body", "Coordinate", "Joint", "Mechanism", "ModelError", "Point", "Workspace"]
