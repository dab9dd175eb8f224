"""Goals: planned by the worker, handed to the loop whole, answered when the loop has taken them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from controller.gateway.call import Call
from controller.gateway.desk import Effect
from controller.gateway.memory import Requester
from controller.gateway.outcomes import busy, refusal, wrong_state
from controller.gateway.planning import Job
from controller.gateway.wording import UNDER_WAY, in_motion
from controller.loop.brakes import Phase
from controller.loop.states import State
from controller.orders import NOW, OrderKind
from protocol.codes import RequestCode
from protocol.errors import RequestError
from protocol.requests import pack_notification
from protocol.results import GoalAccepted

if TYPE_CHECKING:
    from controller.gateway.gateway import Gateway

ANSWER_WITHIN_S = 10.0


def move_or_send(gateway: Gateway, call: Call) -> None:
    """`move` and `send`: plan, then hand over."""
    if call.method == "move":
        call.params()  # small: a wrong field is refused here, before anything is borrowed
    if call.envelope.at_tick is None:
        _able(gateway, call)
    gateway.borrow(call)
    slot = gateway.planning.take_slot(int(gateway.latest["goal_slots"]) if gateway.latest is not None else 0)

    def planned(result: Mapping[str, Any] | RequestError) -> None:
        if isinstance(result, RequestError):
            call.refuse(result)
            return
        try:
            _hand_over(gateway, call, result, slot)
        except RequestError as error:
            gateway.planning.free_slot(slot)
            call.refuse(error)

    _submit(gateway, call, planned, slot)


def check(gateway: Gateway, call: Call) -> None:
    """`check`: walk through it, and say what would come of it."""

    def planned(result: Mapping[str, Any] | RequestError) -> None:
        if isinstance(result, RequestError):
            call.refuse(result)
        else:
            call.answer(result)

    _submit(gateway, call, planned, -1)


def _submit(
    gateway: Gateway, call: Call, planned: Callable[[Mapping[str, Any] | RequestError], None], slot: int
) -> None:
    job = Job(call.method, bytes(call.request.params), lambda: start_of(gateway), planned, slot)
    try:
        gateway.planning.submit(job)
    except RequestError:
        gateway.planning.free_slot(slot)
        raise


def _able(gateway: Gateway, call: Call) -> None:
    """Refuses at once what the loop would refuse after the planning."""
    record = gateway.latest
    if record is None:
        raise RequestError(RequestCode.NO_PLANT, f"`{call.method}` needs a plant: {gateway.link_text}")
    state, phase = State(int(record["state"])), Phase(int(record["phase"]))
    if state is not State.ACTIVE or phase is not Phase.RELEASED:
        raise wrong_state(call.method, record, gateway.wording)
    if in_motion(record):
        raise busy(int(record["goal_id"]) if int(record["goal_status"]) in UNDER_WAY else None)


def start_of(gateway: Gateway) -> dict[str, Any]:
    """Where a goal begins: the newest estimate, and the reference that the loop holds."""
    record = gateway.latest
    if record is None:
        q = gateway.machine.initial_q
        return {"q": q.tolist(), "v": [0.0] * gateway.machine.mechanism.nv, "coordinates": [], "theta": []}
    reference = record["reference"]
    held = np.flatnonzero(np.isfinite(reference))
    names = gateway.machine.mechanism.coordinate_names
    return {
        "q": record["q"].tolist(),
        "v": record["v"].tolist(),
        "coordinates": [names[index] for index in held],
        "theta": reference[held].tolist(),
    }


def _hand_over(gateway: Gateway, call: Call, plan: Mapping[str, Any], slot: int) -> None:
    """Gives a planned goal to the loop, unless whoever asked for it went away during the planning."""
    if not call.server.send(call.peer, pack_notification("goal.planned", {"duration_s": plan["duration_s"]})):
        raise RequestError(RequestCode.NOT_OWNER, "whoever asked is gone; nothing moves")
    goal = gateway.next_goal()
    scheduled = call.envelope.at_tick is not None and call.envelope.at_tick > gateway.tick

    extra = {name: plan[name] for name in ("full_speed_s",) if name in plan}

    def accepted(tick: int) -> GoalAccepted:
        return {
            "goal": goal,
            "method": call.method,
            "owner": call.owner,
            "tick": tick,
            "duration_s": float(plan["duration_s"]),
            "coordinates": list(plan["coordinates"]),
            "report": dict(plan.get("report") or {}),
        }

    def then(effect: Effect | RequestError) -> None:
        gateway.planning.free_slot(slot)
        error = effect if isinstance(effect, RequestError) else None
        if isinstance(effect, Effect) and effect.outcome < 0:
            error = refusal(call.method, effect, gateway.wording, gateway.link_text)
        if error is not None:
            if scheduled:
                gateway.goal_refused(goal, error, Requester(call.server, call.peer))
            call.refuse(error)
        elif isinstance(effect, Effect):
            begun = accepted(int(effect.record["tick"]))
            gateway.memory.accept(begun, Requester(call.server, call.peer))
            call.answer(dict(begun) | extra)

    gateway.desk.place(
        OrderKind.GOAL,
        then,
        now_ns=gateway.now_ns,
        timeout_s=None if scheduled else ANSWER_WITHIN_S,
        leased=True,
        at_tick=NOW if call.envelope.at_tick is None else call.envelope.at_tick,
        slot=slot,
        length=int(plan["length"]),
        generation=goal,
        checksum=int(plan["checksum"]),
        goal_id=goal,
        arguments=(1.0,),
    )
    if scheduled and call.envelope.at_tick is not None:
        call.answer(dict(accepted(call.envelope.at_tick)) | extra)


HANDLERS = {"move": move_or_send, "send": move_or_send, "check": check}
