"""Re-admission of the goal under way after a payload change: the rest of its path is checked again.

A goal that is still feasible continues with stopping limits for the new load; at a lower speed where only
that is feasible. Otherwise the goal stops on its path, and ends with INFEASIBLE.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from linkwork.controller.exchange.orders import NOW, CancelGoal, Order, Retime, StartGoal
from linkwork.controller.gateway.gateway import Gateway
from linkwork.controller.gateway.goals.goal_queue import Handed, junction
from linkwork.controller.gateway.order_queue import Asked, OrderEffect
from linkwork.controller.gateway.requests.call import PendingResult, Steps
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.messages.planner_messages import MachineState, PlannedGoal, PlanResult
from linkwork.controller.planning.messages.planner_start import REWALK
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError

Payloads = Mapping[str, tuple[float, ...]]
ANSWER_WITHIN_S = 10.0


def rewalk(
    gateway: Gateway, goal: Handed | None, payloads: Payloads, *, at_tick: int | None = None
) -> Steps[str]:
    """Check the rest of a goal with these payloads; return the result as text, empty where nothing changes.

    at_tick: the tick at which the payloads change, if not now.
    """
    record = gateway.latest
    stopping = record is not None and int(record["goal_status"]) == GoalStatus.STOPPING
    if goal is None or (goal.begun and stopping):
        return ""
    number = goal.goal

    def start() -> MachineState:
        """Start of the remaining path, when the planner begins with it."""
        known = gateway.goal_queue.known(number) or goal
        period_s = gateway.machine.period_s
        before = junction(known, gateway.latest, 0.0, at_tick, period_s)
        return replace(start_of(gateway), payloads=dict(payloads), before=before)

    try:
        slot = gateway.planning.take_slot(0 if record is None else int(record["goal_slots"]))
        plan: PlanResult = yield gateway.planning.plan(REWALK, b"", start, slot)
    except RequestError as error:
        if error.code == ResultCode.INFEASIBLE:
            _place(gateway, CancelGoal(number, ResultCode.INFEASIBLE), at_tick)
            return _tell(gateway, f"goal {number} stops on its path: {error.message}")
        if error.code == ResultCode.CANCELLED:
            return ""
        return f"the rest of goal {number} was not checked again: {error.message}"
    assert isinstance(plan, PlannedGoal), "only `check` has a verdict"
    assert isinstance(plan.begin, Retime), "the rest of a goal is the same path at another speed"
    fraction, again = plan.begin.speed, StartGoal(slot, plan.words, plan.checksum, number, plan.begin)
    try:
        effect: OrderEffect = yield _place(gateway, again, at_tick)
    except RequestError:
        return ""
    finally:
        gateway.planning.free_slot(slot)
    if effect.outcome < 0:  # it has ended meanwhile
        return ""
    gateway.goal_queue.retime(number, slot, plan.words, plan.duration_s, fraction)
    if plan.limited is None:
        return ""
    return _tell(gateway, f"goal {number} continues at {fraction:.3g} of its speed: {plan.limited['text']}")


def _place(gateway: Gateway, order: Order, at_tick: int | None) -> PendingResult[OrderEffect]:
    awaited: PendingResult[OrderEffect] = PendingResult()
    when = NOW if at_tick is None or at_tick <= gateway.tick else at_tick
    gateway.order_queue.place(
        replace(order, at_tick=when),
        awaited,
        now_ns=gateway.now_ns,
        leased=True,
        timeout_s=ANSWER_WITHIN_S if when == NOW else None,
        asked=Asked("payload", gateway.lease.owner or ""),
    )
    return awaited


def _tell(gateway: Gateway, text: str) -> str:
    """Notify the client and all subscribers."""
    record = gateway.latest
    time_s = 0.0 if record is None else float(record["time_s"])
    content = {"limited": ["payload"], "tick": gateway.tick, "time_s": time_s, "text": text}
    gateway.publish("limited", content)
    return text


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
        outputs=tuple(record["output"].tolist()),
        temperatures=tuple(
            np.ravel([record["winding_temperature"], record["body_temperature"]], "F").tolist()
        ),
    )
