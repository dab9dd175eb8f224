"""The condition of a goal (`until`): evaluated in each tick on the record of the tick before."""

from __future__ import annotations

from linkwork.arrays import Floats
from linkwork.controller.exchange.goal_action_part import ActionPart
from linkwork.multibody.expressions.condition_program import ConditionProgram


class GoalCondition:
    """The condition of one goal. `pauses`: it pauses the goal each time it begins to hold, else it ends it.

    Raises ValueError when the part has no valid program.
    """

    def __init__(self, part: ActionPart) -> None:
        self.pauses = part.pauses
        self._program = ConditionProgram(part.condition)
        self._held = False

    def begins(self, words: Floats) -> bool:
        """Whether the condition holds for a record (its words: flat array), and not for the one before."""
        before, self._held = self._held, self._program.holds(words)
        return self._held and not before
