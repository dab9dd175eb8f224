"""Re-admission of the goal under way after a payload change: the rest of its path is checked again.

A goal that is still feasible continues with stopping limits for the new load; at a lower speed where only
that is feasible. Otherwise the goal stops on its path, and ends with INFEASIBLE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwork.controller.planning.messages.planner_messages import MachineState

if TYPE_CHECKING:
    from linkwork.controller.gateway.gateway import Gateway

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from linkwork.controller.exchange.orders import NOW, CancelGoal, Order, Retime, StartGoal
from linkwork.controller.gateway.goals.goal_queue import Handed, junction
from linkwork.controller.gateway.goals.planner_jobs import Job
from linkwork.controller.gateway.order_queue import Asked, OrderEffect
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.messages.planner_messages import PlannedGoal, PlanResult
from linkwork.controller.planning.messages.planner_start import REWALK
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError

if TYPE_CHECKING:
    from linkwork.controller.gateway.gateway import Gateway


Told = Callable[[str], None]
Payloads = Mapping[str, tuple[float, ...]]
ANSWER_WITHIN_S = 10.0


def rewalk(
    gateway: Gateway,
    goal: Handed | None,
    payloads: Payloads,
    told: Told = lambda _: None,
    *,
    at_tick: int | None = None,
) -> None:
    """Check the rest of a goal with these payloads; `told` receives the result as text.

    at_tick: the tick at which the payloads change, if not now. Without a goal `told` receives ''.
    """
    record = gateway.latest
    stopping = record is not None and int(record["goal_status"]) == GoalStatus.STOPPING
    if goal is None or (goal.begun and stopping):
        told("")
        return
    try:
        slot = gateway.planning.take_slot(0 if record is None else int(record["goal_slots"]))
    except RequestError as error:
        told(f"the rest of goal {goal.goal} was not checked again: {error.message}")
        return
    again = _Rewalk(gateway, goal, payloads, told, slot, at_tick)
    try:
        gateway.planning.submit(Job(REWALK, b"", again.start, again.planned, slot))
    except RequestError as error:
        gateway.planning.free_slot(slot)
        told(f"the rest of goal {goal.goal} was not checked again: {error.message}")


@dataclass(eq=False)
class _Rewalk:
    gateway: Gateway
    goal: Handed
    payloads: Payloads
    told: Told
    slot: int
    at_tick: int | None

    def start(self) -> MachineState:
        """Start of the remaining path, when the planner begins with it."""
        gateway = self.gateway
        known = gateway.goal_queue.known(self.goal.goal) or self.goal
        period_s = gateway.machine.controller.period_s
        before = junction(known, gateway.latest, 0.0, self.at_tick, period_s)
        return replace(start_of(gateway), payloads=dict(self.payloads), before=before)

    def planned(self, result: PlanResult) -> None:
        """The planner's word."""
        number = self.goal.goal
        if not isinstance(result, RequestError):
            assert isinstance(result, PlannedGoal), "only `check` has a verdict"
            self._go_on(result)
        elif result.code == ResultCode.INFEASIBLE:
            self._place(CancelGoal(number, ResultCode.INFEASIBLE), lambda _: None)
            self._tell(f"goal {number} stops on its path: {result.message}")
        elif result.code == ResultCode.CANCELLED:
            self.told("")
        else:
            self.told(f"the rest of goal {number} was not checked again: {result.message}")

    def _go_on(self, plan: PlannedGoal) -> None:
        gateway, number, why = self.gateway, self.goal.goal, plan.limited
        assert isinstance(plan.begin, Retime), "the rest of a goal is the same path at another speed"
        fraction = plan.begin.speed

        def taken(effect: OrderEffect | RequestError) -> None:
            gateway.planning.free_slot(self.slot)
            if isinstance(effect, RequestError) or effect.outcome < 0:
                self.told("")  # it has ended meanwhile
                return
            gateway.goal_queue.retime(number, self.slot, plan.words, plan.duration_s, fraction)
            if why is None:
                self.told("")
            else:
                self._tell(f"goal {number} continues at {fraction:.3g} of its speed: {why['text']}")

        self._place(StartGoal(self.slot, plan.words, plan.checksum, number, plan.begin), taken)

    def _place(self, order: Order, then: Callable[[OrderEffect | RequestError], None]) -> None:
        gateway = self.gateway
        when = NOW if self.at_tick is None or self.at_tick <= gateway.tick else self.at_tick
        gateway.order_queue.place(
            replace(order, at_tick=when),
            then,
            now_ns=gateway.now_ns,
            leased=True,
            timeout_s=ANSWER_WITHIN_S if when == NOW else None,
            asked=Asked("payload", gateway.lease.owner or ""),
        )

    def _tell(self, text: str) -> None:
        """Notify the client and all subscribers."""
        record = self.gateway.latest
        time_s = 0.0 if record is None else float(record["time_s"])
        content = {"limited": ["payload"], "tick": self.gateway.tick, "time_s": time_s, "text": text}
        self.gateway.publish("limited", content)
        self.told(text)


def start_of(gateway: Gateway) -> MachineState:
    """Return the start of a goal: the newest estimate, and the reference that the loop holds."""
    record, machine = gateway.latest, gateway.machine
    payloads = dict(gateway.tuning.payloads)
    if record is None:
        v = (0.0,) * machine.mechanism.nv
        return MachineState(tuple(machine.initial_q.tolist()), v, closed=gateway.closed, payloads=payloads)
    reference = record["reference"]
    held = np.flatnonzero(np.isfinite(reference))
    names = machine.mechanism.coordinate_names
    return MachineState(
        tuple(record["q"].tolist()),
        tuple(record["v"].tolist()),
        tuple(names[index] for index in held),
        tuple(reference[held].tolist()),
        gateway.closed,
        payloads,
        time_s=float(record["time_s"]),
        inputs=tuple(record["input"].tolist()),
    )
