"""Handlers of the requests, one for each method.

A handler answers, refuses by RequestError, or returns the steps that do.
"""

from collections.abc import Callable

from linkwork.controller.exchange.orders import (
    BY_NAME,
    MOST_PAIRS,
    AdvanceTime,
    CancelGoal,
    ChooseLaw,
    Disable,
    EmergencyStop,
    Enable,
    JogCoordinates,
    Order,
    OrderOutcome,
    Recover,
    SetSpeed,
    Stop,
)
from linkwork.controller.gateway.gateway import Gateway
from linkwork.controller.gateway.goals.goal_requests import HANDLERS as GOAL_HANDLERS
from linkwork.controller.gateway.goals.goal_requests import faster
from linkwork.controller.gateway.goals.stream_requests import HANDLERS as STREAM_HANDLERS
from linkwork.controller.gateway.order_queue import OrderEffect
from linkwork.controller.gateway.records.messages import state_name
from linkwork.controller.gateway.requests import state_answers as answers
from linkwork.controller.gateway.requests.assembly_requests import confirm_branch, switch_constraint
from linkwork.controller.gateway.requests.call import Answering, Call
from linkwork.controller.gateway.requests.describe import describe
from linkwork.controller.gateway.requests.lease import LeaseChange
from linkwork.controller.gateway.requests.order_outcomes import (
    ANSWER_WITHIN_S,
    assumed,
    carry_out,
    effect_map,
    not_cleared,
    place,
    until,
)
from linkwork.controller.gateway.requests.signal_requests import edges, set_signals, wait_for_condition
from linkwork.controller.gateway.requests.tuning_requests import HANDLERS as TUNING_HANDLERS
from linkwork.controller.gateway.requests.tuning_requests import preload_order
from linkwork.controller.supervision.brakes import Phase
from linkwork.controller.supervision.state_machine import State
from linkwork.machine.nearest_name import no_such
from linkwork.protocol.codes import Pace, RequestCode, ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.laws import FREE_LAWS, REST_LAW_NAMES, law_named
from linkwork.protocol.request_table import REQUESTS

Handler = Callable[["Gateway", Call], Answering | None]
STOP_ANSWER_S = 0.010
"""A stop is answered within 20 ms, whether or not the loop has had its next tick by then."""


def _state(gateway: Gateway, call: Call) -> None:
    call.answer(answers.state(gateway))


def _status(gateway: Gateway, call: Call) -> None:
    call.answer(answers.status(gateway))


def _describe(gateway: Gateway, call: Call) -> None:
    role = call.server.role_of(call.key)
    call.answer(dict(describe(gateway.machine, gateway.options.pace, gateway.sets, role)))


def _faults(gateway: Gateway, call: Call) -> None:
    call.answer({"faults": gateway.memory.faults(call.params().limit)})


def _acquire(gateway: Gateway, call: Call) -> None:
    params = call.params()
    gateway.need_owner(call)

    def take() -> LeaseChange | None:
        moving = gateway.in_motion
        return gateway.lease.acquire(
            call.owner,
            gateway.now_ns,
            key=call.key,
            holder=params.holder,
            force=params.force,
            in_motion=moving,
        )

    gateway.change_lease(take)
    call.answer(dict(gateway.lease.as_map(gateway.now_ns)))


def _release(gateway: Gateway, call: Call) -> None:
    holder = call.params().holder
    gateway.need_owner(call)
    gateway.change_lease(
        lambda: gateway.lease.release(
            call.owner, gateway.now_ns, key=call.key, holder=holder, in_motion=gateway.in_motion
        )
    )
    call.answer(dict(gateway.lease.as_map(gateway.now_ns)))


def _enable(gateway: Gateway, call: Call) -> Answering:
    call.params()
    gateway.borrow(call)
    yield place(gateway, call, Enable())
    effect: OrderEffect = yield until(
        gateway,
        lambda record: int(record["state"]) != State.ACTIVE or int(record["phase"]) == Phase.RELEASED,
        ANSWER_WITHIN_S,
        RequestError(RequestCode.NO_LOOP, "the brakes did not release in time"),
    )
    if int(effect.record["state"]) == State.ACTIVE:
        return effect_map(call.method, effect, assumed(gateway.machine))
    state = state_name(effect.record)
    text = f"enabling ended in {state}"
    if int(effect.record["fault"]):
        text += f": {gateway.wording.fault(effect.record)['text']}"
    raise RequestError(RequestCode.WRONG_STATE, text, data={"state": state})


def _disable(gateway: Gateway, call: Call) -> Answering:
    call.params()
    gateway.borrow(call)
    gateway.planning.drop_motions("the machine was disabled")
    yield place(gateway, call, Disable())
    effect: OrderEffect = yield until(
        gateway,
        lambda record: int(record["state"]) not in (State.ACTIVE, State.STOPPING),
        3.0 * ANSWER_WITHIN_S,
        RequestError(RequestCode.NO_LOOP, "the machine has not come to rest in time"),
    )
    return effect_map(call.method, effect)


def _recover(gateway: Gateway, call: Call) -> Answering:
    call.params()
    gateway.borrow(call)
    effect: OrderEffect = yield place(gateway, call, Recover())
    if int(effect.record["state"]) != State.FAULT:
        return effect_map(call.method, effect, "cleared" if effect.outcome is OrderOutcome.DONE else "")
    try:
        effect = yield until(
            gateway,
            lambda record: int(record["state"]) != State.FAULT,
            gateway.machine.plant.peer_timeout_s,
            RequestError(RequestCode.NOT_CLEARED, "not cleared: the plant has not answered"),
        )
    except RequestError:
        if gateway.latest is None:
            raise
        unchanged = OrderEffect(OrderOutcome.NOT_CLEARED, gateway.latest)
        raise not_cleared(unchanged, gateway.wording) from None
    return effect_map(call.method, effect, "cleared")


def _advance(gateway: Gateway, call: Call) -> Answering:
    ticks = call.params().ticks
    if gateway.options.pace is not Pace.LOCKSTEP:
        text = "only lockstep time can be advanced; this controller runs in real time"
        raise RequestError(RequestCode.UNSUPPORTED, text)
    gateway.borrow(call)
    effect: OrderEffect = yield place(gateway, call, AdvanceTime(ticks))
    last = int(effect.record["tick"]) + ticks - 1
    effect = yield until(
        gateway,
        lambda record: int(record["tick"]) >= last or not int(record["connected"]),
        None,
        RequestError(RequestCode.NO_PLANT, "the plant has disconnected"),
    )
    return effect_map(call.method, effect)


def _stop(gateway: Gateway, call: Call) -> Answering:
    call.params()
    if call.at_tick is None or call.at_tick <= gateway.tick:
        gateway.planning.drop_motions("a stop was requested")
    told = "" if call.at_tick is not None else _cancelling(gateway.order_queue.revocable)
    stop = place(gateway, call, EmergencyStop() if call.method == "estop" else Stop())

    def late() -> None:
        text = "handed to the loop; takes effect at its next tick"
        call.answer({"tick": gateway.tick, "state": gateway.state_name, "text": text})

    gateway.after(STOP_ANSWER_S, late)
    effect: OrderEffect = yield stop
    return effect_map(call.method, effect, told)


def _cancelling(pending: int) -> str:
    if not pending:
        return ""
    return f"{pending} pending {'order was' if pending == 1 else 'orders were'} cancelled"


def _cancel(gateway: Gateway, call: Call) -> Answering:
    params = call.params()
    goal = params.goal
    gateway.borrow(call)
    if params.order is not None:
        pending = gateway.order_queue.pending
        one = next((each for each in pending if each.order == params.order), None)
        if one is None:
            there = ", ".join(str(each.order) for each in pending) or "none"
            text = f"order: {params.order} is not pending; pending are {there}"
            raise RequestError(RequestCode.INVALID_PARAMS, text, ["order"])
        order = CancelGoal(one.goal) if one.goal else CancelGoal(waiting=one.order)
        return carry_out(gateway, call, order)
    if goal is None:
        gateway.planning.drop_motions("it was cancelled while it was being planned")
    return carry_out(gateway, call, CancelGoal(goal or 0))


def _jog(gateway: Gateway, call: Call) -> Answering:
    velocity = call.params().velocity
    names = gateway.machine.mechanism.coordinate_names
    pairs: list[tuple[int, float]] = []
    if len(velocity) > MOST_PAIRS:
        text = f"velocity: at most {MOST_PAIRS} coordinates can be jogged at once, found {len(velocity)}"
        raise RequestError(RequestCode.INVALID_PARAMS, text, ["velocity"])
    for name, rate in velocity.items():
        if name not in names:
            text = no_such("coordinate", name, names)
            raise RequestError(ResultCode.INVALID_COORDINATES, text, ["velocity", name])
        pairs.append((names.index(name), rate))
    gateway.borrow(call)
    return carry_out(gateway, call, JogCoordinates(tuple(pairs)))


def _law(gateway: Gateway, call: Call) -> Answering:
    name = call.params().name
    if name not in REST_LAW_NAMES:
        text = f"name: unknown law {name!r}; available: {', '.join(REST_LAW_NAMES)}"
        raise RequestError(RequestCode.INVALID_PARAMS, text, ["name"])
    kind = law_named(name)
    if kind in FREE_LAWS and gateway.machine.driver.follows_positions:
        text = f"name: {name} needs drives in mode cst; these follow positions (driver.motors: mode csp)"
        raise RequestError(RequestCode.INVALID_PARAMS, text, ["name"])
    gateway.borrow(call)
    return carry_out(gateway, call, ChooseLaw(int(kind)))


def _speed(gateway: Gateway, call: Call) -> Answering:
    fraction = call.params().fraction
    under_way = gateway.goal_queue.running(gateway.latest)
    if fraction > (under_way.own if under_way is not None else 1.0):
        steps = faster(gateway, call)
        if steps is not None:
            return steps
    gateway.borrow(call)
    return carry_out(gateway, call, SetSpeed(fraction))


def _preload(gateway: Gateway, call: Call) -> Answering:
    order = preload_order(gateway, call)
    gateway.borrow(call)
    return carry_out(gateway, call, order)


def _simple(kind: type[Order]) -> Handler:
    def handle(gateway: Gateway, call: Call) -> Answering:
        call.params()
        gateway.borrow(call)
        return carry_out(gateway, call, kind())

    return handle


_PLAIN = {name: BY_NAME[name] for name in REQUESTS if name in BY_NAME}
"""Requests that are one order of the same name."""
HANDLERS: dict[str, Handler] = {
    **{name: _simple(kind) for name, kind in _PLAIN.items()},
    **TUNING_HANDLERS,
    "state": _state,
    "status": _status,
    "describe": _describe,
    "faults": _faults,
    "acquire": _acquire,
    "release": _release,
    "enable": _enable,
    "disable": _disable,
    "speed": _speed,
    "cancel": _cancel,
    "jog": _jog,
    "law": _law,
    "preload": _preload,
    "switch": switch_constraint,
    "confirm_branch": confirm_branch,
    "set": set_signals,
    "wait": wait_for_condition,
    "edges": edges,
    "advance": _advance,
    "stop": _stop,
    "estop": _stop,
    "recover": _recover,
    **GOAL_HANDLERS,
    **STREAM_HANDLERS,
}
"""By method; a request without an entry here is the order of its name, without arguments."""
