"""Goals that take over from another one: each waits until the goal before it is where it expects it to be.

A new goal is planned from a point of the path of the goal under way that still lies ahead: position, velocity
and acceleration of the reference are the same on both sides of it. The planner may have been slow, the goal
may have been stopped or have changed its speed meanwhile; so the loop looks again before it takes the new
goal, and refuses it otherwise.
"""

from linkwork.controller.exchange.orders import After, OrderOutcome, Splice, StartGoal
from linkwork.controller.motion.references.reference import Follow, GoalStatus

SAME_RATE = 1e-9
SAME_PLACE_S = 1e-9
MOST_WAITING = 3


def junction_outcome(
    begin: After | Splice, goal: Follow | None, last: int, status: int, period_s: float
) -> OrderOutcome | None:
    """DONE when the new goal may begin in this tick, a refusal when it cannot any more, None: it waits.

    goal: the goal under way. last, status: number and status of the latest goal.
    """
    if goal is None:  # it has ended; whether the new one begins there is checked later
        ended_well = last == begin.before and status == GoalStatus.SUCCEEDED
        return OrderOutcome.DONE if ended_well else OrderOutcome.REFUSED_SPLICE
    if goal.goal_id != begin.before or goal.stopping:
        return OrderOutcome.REFUSED_SPLICE
    if isinstance(begin, After):
        return None
    s, rate, change = goal.path.here()
    if abs(rate - begin.rate) > SAME_RATE or abs(change) > SAME_RATE:
        return OrderOutcome.REFUSED_SPLICE
    if s < begin.s - SAME_PLACE_S:
        return None if rate > 0.0 else OrderOutcome.REFUSED_SPLICE
    late = s - begin.s > rate * period_s + SAME_PLACE_S
    return OrderOutcome.REFUSED_SPLICE if late else OrderOutcome.DONE


class WaitingGoals:
    """The goals that wait, first come first served."""

    def __init__(self) -> None:
        self.waiting: list[StartGoal] = []

    def add(self, order: StartGoal) -> bool:
        """Queue a goal; False when the queue is full."""
        if len(self.waiting) >= MOST_WAITING:
            return False
        self.waiting.append(order)
        return True

    def decided(self, goal: Follow | None, last: int, status: int, period_s: float) -> StartGoal | None:
        """Return the first order that need not wait any longer; None without any. It may still be refused.

        goal: the one under way. last, status: number of the newest goal and its GoalStatus. period_s: of a
        tick.
        """
        for order in self.waiting:
            begin = order.begin
            if not isinstance(begin, After | Splice) or self.has(begin.before):
                continue  # its turn comes when that one is under way, or refused
            if junction_outcome(begin, goal, last, status, period_s) is not None:
                self.waiting.remove(order)
                return order
        return None

    def drop(self, goal: int | None = None) -> list[StartGoal]:
        """Remove the goal of this number, or all of them; return their orders."""
        dropped = [order for order in self.waiting if goal in (None, order.goal)]
        self.waiting = [order for order in self.waiting if order not in dropped]
        return dropped

    def has(self, goal: int) -> bool:
        """Whether this goal waits."""
        return any(order.goal == goal for order in self.waiting)
