"""Requests that are one order: placed, and answered with the outcome of the order."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.controller.exchange.orders import NOW, AuthorityEnd, Order, OrderOutcome
from linkwork.controller.gateway.gateway import Gateway
from linkwork.controller.gateway.order_queue import Asked, Condition, OrderEffect
from linkwork.controller.gateway.records.messages import UNDER_WAY, Messages, state_name
from linkwork.controller.gateway.requests.call import Answering, Call, PendingResult
from linkwork.controller.supervision.brakes import Phase
from linkwork.controller.supervision.state_machine import Event, State, allowed
from linkwork.machine import Machine
from linkwork.protocol.codes import ORDER_HORIZON_S, RequestCode, ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.laws import REST_LAW_NAMES
from linkwork.protocol.request_table import REQUESTS


def effect_map(method: str, effect: OrderEffect, text: str = "") -> dict[str, Any]:
    """Return the answer of a request that an order carried out: tick, state and text.

    method: of the request. effect: the order's outcome and record. text: added to the answer.
    """
    nothing = effect.outcome is OrderOutcome.NOTHING_TO_DO
    return {
        "tick": int(effect.record["tick"]),
        "state": state_name(effect.record),
        "text": text or (REQUESTS[method].nothing if nothing else ""),
    }


def assumed(machine: Machine) -> str:
    """Return as text the assembly mode that `enable` assumes."""
    if not machine.is_constrained:
        return ""
    if machine.controller.estimator.assemblies != "several":
        return "assumed in the assembly mode of the initial pose"
    return "in the confirmed assembly mode"


def refusal(method: str, effect: OrderEffect, wording: Messages, link_text: str) -> RequestError:
    """Return the error that says why an order was refused, from the record of the tick that refused it.

    method: of the request. wording: texts of this machine. link_text: what is wrong with the link to the
    plant.
    """
    record, state = effect.record, State(int(effect.record["state"]))
    match effect.outcome:
        case OrderOutcome.REFUSED_STATE if not int(record["connected"]) and state is not State.ESTOP:
            return RequestError(
                RequestCode.NO_PLANT,
                f"`{method}` needs a plant: {link_text}",
                data={"state": state_name(record)},
            )
        case OrderOutcome.REFUSED_STATE:
            return wrong_state(method, record, wording)
        case OrderOutcome.REFUSED_BUSY:
            return busy(int(record["goal_id"]) if int(record["goal_status"]) in UNDER_WAY else None)
        case OrderOutcome.REFUSED_START:
            text = (
                "the goal does not start at the machine's position: the machine moved while the goal was"
                " planned; try again"
            )
            return RequestError(ResultCode.INVALID_GOAL, text)
        case OrderOutcome.REFUSED_NOT_HOMED:
            return not_homed(method)
        case OrderOutcome.REFUSED_BRANCH:
            text = (
                f"`{method}` needs the assembly mode, which the sensors do not determine; if `state` shows"
                " the actual joint positions, confirm it: confirm_branch (linkwork confirm-branch)"
            )
            data = {"state": state_name(record), "needs": "confirm_branch"}
            return RequestError(RequestCode.WRONG_STATE, text, data=data)
        case OrderOutcome.REFUSED_CONTACT:
            text = (
                "the machine's contacts do not fit the goal: a goal with `force` starts in contact (make it"
                " with a guarded move: linkwork move ... --until-force N), a guarded move starts without"
                " contact. To change which contacts are pressed, stop the machine first"
            )
            return RequestError(ResultCode.CONTACT_LOST, text)
        case OrderOutcome.REFUSED_FRAME:
            text = (
                "the moving frame is not where it was expected at the begin of the goal: the goal began too"
                " late after it was planned, or the frame's speed is outside its range; nothing moves: send"
                " it again"
            )
            return RequestError(ResultCode.INVALID_GOAL, text)
        case OrderOutcome.REFUSED_SPLICE:
            text = (
                "the preceding goal had stopped, ended or changed its speed before this one could take over;"
                " nothing else changes: try again"
            )
            return RequestError(ResultCode.INVALID_GOAL, text)
        case OrderOutcome.NOT_CLEARED:
            return not_cleared(effect, wording)
        case OrderOutcome.REFUSED_LATE:
            text = f"at_tick is in the past: the loop is at tick {int(record['tick'])}"
            return RequestError(ResultCode.OLD_TIMESTAMP, text, ["at_tick"], {"tick": int(record["tick"])})
        case OrderOutcome.REFUSED_FULL:
            return RequestError(RequestCode.BUSY, "too many orders are pending; try again")
        case OrderOutcome.REFUSED_FAR:
            text = f"at_tick: more than {ORDER_HORIZON_S:g} s ahead of tick {int(record['tick'])}"
            return RequestError(RequestCode.INVALID_PARAMS, text, ["at_tick"], {"tick": int(record["tick"])})
        case OrderOutcome.REVOKED:
            return revoked(record)
        case OrderOutcome.CANCELLED:
            return RequestError(effect.code, _cancelled(effect.code))
        case OrderOutcome.REFUSED_SET:
            text = "the controller cannot run the machine under the constraints that would then hold"
            return RequestError(RequestCode.UNSUPPORTED, f"{text}; `describe` says why (constraint_sets)")
        case OrderOutcome.REFUSED_VALUE:
            return RequestError(RequestCode.INVALID_PARAMS, _VALUES.get(method, "a value is out of bounds"))
    return RequestError(RequestCode.INTERNAL, f"the loop refused `{method}`: {effect.outcome.name}")


def revoked(record: np.void) -> RequestError:
    """Return why an accepted order was cancelled, from the record that ended its authority."""
    ended = AuthorityEnd(int(record["authority_end"]))
    code = ResultCode.LEASE_LOST if ended is AuthorityEnd.LEASE_LOST else ResultCode.CANCELLED
    tick = int(record["tick"])
    return RequestError(
        code, f"not started: {_ENDED.get(ended, 'all motion was ended')} (tick {tick})", data={"tick": tick}
    )


def _cancelled(code: ResultCode) -> str:
    if code is ResultCode.INFEASIBLE:
        return "not started: it is not feasible with the payload set before it"
    return "not started: it was cancelled"


def wrong_state(method: str, record: np.void, wording: Messages) -> RequestError:
    """Return the refusal of a request that the present state does not allow.

    method: of the request. record: of the newest tick. wording: texts of this machine.
    """
    state, phase = State(int(record["state"])), Phase(int(record["phase"]))
    name, hint = state.name.lower(), _HINTS.get(state, "")
    if state is State.FAULT:
        hint = f": {wording.fault(record)['text']} (recover first)"
    if state is State.ACTIVE and phase is not Phase.RELEASED:
        text = f"`{method}` is not possible before the brakes are released; they are {phase.name.lower()}"
    else:
        methods = [_METHODS[event] for event in allowed(state) if event in _METHODS]
        text = f"`{method}` is not allowed in state {name}{hint}; allowed now: {', '.join(methods)}"
    return RequestError(RequestCode.WRONG_STATE, text, data={"state": name})


def not_homed(method: str) -> RequestError:
    """Refusal of goals before homing."""
    text = (
        f"`{method}` needs a homed device, and the device reports that it is not homed; until then only"
        " jogging is possible"
    )
    return RequestError(RequestCode.WRONG_STATE, text, data={"homed": False})


def busy(goal: int | None) -> RequestError:
    """The refusal while something else moves the machine."""
    what = f"goal {goal} is active" if goal is not None else "a jog or another motion is active"
    return RequestError(RequestCode.BUSY, f"{what}; wait until it ends, or stop it", data={"goal": goal})


def not_cleared(effect: OrderEffect, wording: Messages) -> RequestError:
    """The refusal of `recover` and `reset` while the cause persists."""
    if not int(effect.record["fault"]):
        return RequestError(RequestCode.NOT_CLEARED, "not cleared: the controller has no plant")
    fault = wording.fault(effect.record)
    text = f"not cleared: {fault['name']}: {fault['text']}; it clears when: {fault['clears_when']}"
    return RequestError(RequestCode.NOT_CLEARED, text, data={"fault": dict(fault)})


_ENDED = {
    AuthorityEnd.STOP: "an earlier stop cancelled all pending orders",
    AuthorityEnd.DISABLE: "the machine was disabled before it",
    AuthorityEnd.ESTOP: "an earlier emergency stop cancelled it",
    AuthorityEnd.FAULT: "a fault braked the machine before it",
    AuthorityEnd.LEASE_LOST: "the lease of its owner ended before it",
    AuthorityEnd.SHUTDOWN: "the controller was shut down before it",
    AuthorityEnd.TOLERANCE: "a goal before it violated a tolerance and was stopped",
    AuthorityEnd.DIFFERENCE: "the machine differed from its model and was stopped before it",
    AuthorityEnd.SWITCHED: "a constraint was switched before it",
    AuthorityEnd.INFEASIBLE: "the goal before it became infeasible and was stopped",
}
_HINTS = {
    State.INACTIVE: " (enable it first)",
    State.ESTOP: " (reset first)",
    State.UNCONFIGURED: " (there has been no plant yet)",
}
_METHODS = {
    Event.ENABLE: "enable",
    Event.DISABLE: "disable",
    Event.MOVE: "move, send, jog, law",
    Event.STOP: "stop",
    Event.CLEARED: "recover",
    Event.ESTOP: "estop",
    Event.RESET: "reset",
}
_VALUES = {
    "speed": "fraction: must be between 0 and 1, or up to 2 if the active goal was accepted for it",
    "jog": "velocity: name joints only, or task coordinates only where they are as many as the joints",
    "preload": "effort: exceeds the limit of the machine file",
    "confirm_branch": "positions: the estimate did not stay at these positions, or the machine file says that"
    " the machine has one assembly mode (assemblies: one)",
    "law": f"name: must be one of {', '.join(REST_LAW_NAMES)}",
}


ANSWER_WITHIN_S = 10.0


def place(
    gateway: Gateway, call: Call, order: Order, *, taken: Callable[[], None] = lambda: None
) -> PendingResult[OrderEffect]:
    """Place an order for a request, and await its effect. Raises RequestError.

    A request for a later tick is answered at once, and no effect comes. `taken` is called when the order has
    taken effect, even at a later tick.
    """
    leased = REQUESTS[call.method].needs_lease
    scheduled = call.at_tick is not None and call.at_tick > gateway.tick
    if scheduled and leased:
        gateway.order_queue.refuse_if_full(call.owner, goal=False)
    elif scheduled:
        gateway.order_queue.refuse_stop_if_full(call.requester)
    awaited: PendingResult[OrderEffect] = PendingResult()

    def then(effect: OrderEffect | RequestError) -> None:
        refused = isinstance(effect, OrderEffect) and effect.outcome < 0
        if isinstance(effect, OrderEffect) and refused:
            effect = refusal(call.method, effect, gateway.wording, gateway.host.link_text)
        if isinstance(effect, OrderEffect):
            taken()
        if not scheduled:
            awaited(effect)
        elif refused and isinstance(effect, RequestError):
            told = {"method": call.method, "code": int(effect.code), "text": effect.message}
            gateway.publish("order.refused", told, call.requester)

    number = gateway.order_queue.place(
        replace(order, at_tick=NOW if call.at_tick is None else call.at_tick),
        then,
        now_ns=gateway.now_ns,
        timeout_s=None if scheduled else ANSWER_WITHIN_S,
        urgent=not leased,
        leased=leased,
        asked=Asked(call.method, call.owner, call.requester),
    )
    if scheduled:
        text = f"takes effect at tick {call.at_tick}"
        call.answer({"tick": call.at_tick, "state": gateway.state_name, "text": text, "order": number})
    return awaited


def carry_out(gateway: Gateway, call: Call, order: Order) -> Answering:
    """Place the only order of a request, and answer with its effect."""
    effect: OrderEffect = yield place(gateway, call, order)
    return effect_map(call.method, effect)


def until(
    gateway: Gateway, condition: Condition, timeout_s: float | None, late: RequestError
) -> PendingResult[OrderEffect]:
    """Await the first notable record that meets the condition; `late` comes when the time is over."""
    awaited: PendingResult[OrderEffect] = PendingResult()
    gateway.order_queue.wait(
        condition, awaited, now_ns=gateway.now_ns, timeout_s=timeout_s, late=late, leased=True
    )
    return awaited
