"""Joint reactions by second-order expansion: the maximal-coordinate stepper of Huang et al. 2000.

Every rigid body has its own position and attitude. The reactions of a step are those with which all joints
are closed, to second order in the time step, when it ends: one square system, solved by plain elimination.
No joint coordinates, no stabilisation; loops are joints like any others.

Make a `MaximalModel` from bodies and connections, or of a `Mechanism` and the connections that close its
loops; a `TaylorStepper` then holds the state, steps, and gives reactions and poses.
"""

from linkwork.multibody.reactions.reactions import Reaction
from linkwork.offline.taylor.stepper import Pose, SingularStep, StepTooLong, TaylorStepper
from linkwork.offline.taylor.taylor_model import Connection, JointFrame, MaximalModel

__all__ = [
    "Connection",
    "JointFrame",
    "MaximalModel",
    "Pose",
    "Reaction",
    "SingularStep",
    "StepTooLong",
    "TaylorStepper",
]
