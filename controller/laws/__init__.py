"""Control laws: pure functions of the predicted state, the reference and the model.

A law reads a workspace in which kinematics, dynamics and coordinates have been evaluated, and a reference for
the goal coordinates in use, and writes one generalized force per joint. It keeps no state.
"""

from linkwork.controller.laws.law import Law, LawReport, Reference, Tunable
from linkwork.controller.laws.law_table import law_of, laws_of

__all__ = ["Law", "LawReport", "Reference", "Tunable", "law_of", "laws_of"]
