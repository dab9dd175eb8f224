"""Pending orders: those that wait for their tick or for the goal before them, and their motion authority.

An order is bound to the motion authority under which it was accepted. An event that ends all motion (a stop,
a fault, the end of the lease) ends the authority, and with it every bound order that is pending.
"""

from linkwork.controller.exchange.orders import (
    NOW,
    After,
    AuthorityEnd,
    Order,
    OrderOutcome,
    ReportDifference,
    Splice,
    StartGoal,
)
from linkwork.controller.motion.motion_executor import MotionExecutor
from linkwork.controller.motion.references.goal_splices import WaitingGoals, junction_outcome
from linkwork.protocol.codes import ORDER_HORIZON_S, PENDING_ORDERS


class PendingOrders:
    """The orders that wait, and the motion authority.

    `authority`: number of the present authority; orders accepted under an earlier one have no effect.
    `authority_end`: what ended the one before. `timed`: the orders that wait for a later tick, next first.
    `goals`: those that wait for the goal before them.
    """

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self._horizon_ticks = round(ORDER_HORIZON_S / period_s)
        self.authority, self.authority_end = 1, AuthorityEnd.NONE
        self.timed: list[Order] = []
        self.goals = WaitingGoals()

    @property
    def reports(self) -> bool:
        """Whether a report of the digital twin waits for its tick."""
        return any(isinstance(order, ReportDifference) for order in self.timed)

    def end_authority(self, why: AuthorityEnd, executor: MotionExecutor, order: Order | None = None) -> bool:
        """End the authority of all orders accepted so far. Return True when some of them still waited.

        order: the order that ends it; its number of the next authority counts where that is larger.
        """
        self.authority = max(self.authority + 1, order.authority if order is not None else 0)
        self.authority_end = why
        dropped = bool(self.goals.drop())
        if dropped:
            executor.forget_following()
        kept = [one for one in self.timed if not one.bound]
        dropped = dropped or len(kept) < len(self.timed)
        self.timed = kept
        return dropped

    def withdraw(self, goal: int, executor: MotionExecutor) -> bool:
        """Drop a goal that waits, by its number. Return False when it does not wait."""
        kept = [one for one in self.timed if not (isinstance(one, StartGoal) and one.goal == goal)]
        dropped, self.timed = len(kept) < len(self.timed), kept
        if self.goals.drop(goal):
            executor.forget_following()
            dropped = True
        return dropped

    def drop(self, number: int) -> bool:
        """Drop an order that waits for its tick, by its number. Return False when it does not wait."""
        kept = [one for one in self.timed if one.id != number]
        dropped, self.timed = len(kept) < len(self.timed), kept
        return dropped

    def refusal(self, order: Order, tick: int) -> OrderOutcome | None:
        """Why an order that has just arrived can neither take effect nor wait; None: it can."""
        if 0 < order.authority < self.authority and order.bound:
            return OrderOutcome.REVOKED
        if order.at_tick in (NOW, tick):
            return None
        if order.at_tick < tick:
            return OrderOutcome.REFUSED_LATE
        if order.at_tick - tick > self._horizon_ticks:
            return OrderOutcome.REFUSED_FAR
        alike = sum(one.bound is order.bound for one in self.timed)
        return OrderOutcome.REFUSED_FULL if alike >= PENDING_ORDERS else None

    def due(self, arrived: Order | None, tick: int, executor: MotionExecutor) -> Order | None:
        """The order that takes effect in this tick, or None.

        arrived: an order that was not refused. One for a later tick waits, and so does a goal that begins
        after or in place of another one.
        """
        if arrived is not None and arrived.at_tick > tick:
            self.timed.append(arrived)
            self.timed.sort(key=lambda order: (order.at_tick, order.id))
            arrived = None
        if arrived is None and self.timed and self.timed[0].at_tick <= tick:
            arrived = self.timed.pop(0)
        for waiting in self.goals.waiting:
            if waiting.verified:
                executor.expect(waiting)
        if self.goals.waiting and (arrived is None or not arrived.precedes_goals):
            goal = executor.goal_state
            ready = self.goals.decided(executor.goal, goal.id, goal.status, self._period_s)
            if ready is not None:
                if arrived is not None:
                    self.timed.insert(0, arrived)  # in the next tick
                return ready
        return None if arrived is None or self._waits(arrived, executor) else arrived

    def _waits(self, order: Order, executor: MotionExecutor) -> bool:
        """Whether the order is a goal that has to wait for the one before it, and now does."""
        if not isinstance(order, StartGoal) or not isinstance(order.begin, After | Splice):
            return False
        begin, goal, found = order.begin, executor.goal_state, None
        if not self.goals.has(begin.before):
            found = junction_outcome(begin, executor.goal, goal.id, goal.status, self._period_s)
        if found is not None or not self.goals.add(order):
            return False
        if order.verified:
            executor.expect(order)
        return True
