"""Control laws: pure functions of the predicted state, the reference and the model.

A law reads a workspace in which kinematics, dynamics and coordinates have been evaluated, and a reference for
the goal coordinates in use, and writes one generalized force per joint. It keeps no state.
"""

from controller.laws.law import Law, LawKind, LawReport, Reference, Tunable
from controller.laws.make import law_of, laws_of

__all__ = ["Law", "LawKind", "LawReport", "Reference", "Tunable", "law_of", "laws_of"]
