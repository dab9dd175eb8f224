"""The requests `set` and `wait`: output signals, and conditions on what the machine measures."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.controller.gateway.order_queue import OrderEffect
from linkwork.controller.gateway.records.messages import state_name
from linkwork.controller.gateway.requests.call import Call
from linkwork.controller.gateway.requests.order_outcomes import effect_map
from linkwork.controller.gateway.requests.order_requests import place
from linkwork.controller.orders import OrderOutcome, SetOutputs
from linkwork.controller.records import RecordLayout
from linkwork.machine import Machine
from linkwork.machine.nearest_name import nearest
from linkwork.machine.signal_values import SignalValueError
from linkwork.multibody.expressions import ExpressionError
from linkwork.multibody.expressions.conditions import Condition, parse_condition
from linkwork.protocol.codes import Feature, RequestCode
from linkwork.protocol.errors import RequestError

if TYPE_CHECKING:
    from linkwork.controller.gateway.gateway import Gateway

IN_FORCE_S = 1.0
"""Longest wait of `set` for a record with the values in force; then it is answered without."""
MOST_WAITS = 100
"""Conditions that may be waited for at a time."""
_OWN_NAMES = (("input", "input"), ("output", "output"), ("coordinate", "coordinate"))
_WITH_SUFFIX = (("q", "position", "position"), ("v", "joint", "velocity"), ("effort", "motor", "effort"))
_FORCES = (("force", "force"), ("force_measured", "component"))


def set_signals(gateway: Gateway, call: Call) -> None:
    """Handle `set`: the outputs change at one tick, all or none."""
    order = set_order(gateway.machine, call.params().signals)
    if gateway.features is not None and Feature.SIGNALS not in gateway.features:
        text = "the plant does not carry signals: its welcome does not list this feature"
        raise RequestError(RequestCode.UNSUPPORTED, text)
    gateway.borrow(call)

    def done(effect: OrderEffect) -> None:
        if effect.outcome is OrderOutcome.NOTHING_TO_DO:
            call.answer(effect_map(call.method, effect))
            return

        def seen(_: OrderEffect | RequestError) -> None:
            call.answer(effect_map(call.method, effect))

        gateway.order_queue.wait(
            _in_force(order),
            seen,
            now_ns=gateway.now_ns,
            timeout_s=IN_FORCE_S,
            late=RequestError(RequestCode.NO_PLANT, ""),
            leased=True,
        )

    place(gateway, call, order, done=done)


def _in_force(order: SetOutputs) -> Callable[[np.void], bool]:
    """Whether a record shows the values in force, or that they cannot come into force any more."""
    places = [place for place, _ in order.pairs]
    wanted = [value for _, value in order.pairs]

    def condition(record: np.void) -> bool:
        shown, commanded = record["output"][places].tolist(), record["output_command"][places].tolist()
        return shown == wanted or commanded != wanted or not int(record["connected"])

    return condition


def set_order(machine: Machine, wanted: dict[str, Any]) -> SetOutputs:
    """Return the order that sets these signals. Raises RequestError naming the signal."""
    outputs = [signal.name for signal in machine.outputs]
    pairs = []
    for name, value in wanted.items():
        path: list[str | int] = ["signals", name]
        if name not in outputs:
            _refuse_name(machine, name, path)
        try:
            pairs.append((outputs.index(name), machine.outputs[outputs.index(name)].read(value)))
        except SignalValueError as error:
            allowed = {"allowed": error.allowed}
            raise RequestError(RequestCode.INVALID_PARAMS, f"signals.{error}", path, allowed) from None
    return SetOutputs(tuple(pairs))


def _refuse_name(machine: Machine, name: str, path: list[str | int]) -> None:
    known = [signal.name for signal in machine.outputs]
    if not known:
        text = "this machine has no output signals; add them to `signals` in its file"
        raise RequestError(RequestCode.UNSUPPORTED, text)
    if any(signal.name == name for signal in machine.inputs):
        text = f"signals.{name}: an input is set by the device; outputs are {', '.join(known)}"
    else:
        meant = nearest(name, known)
        hint = f", did you mean {meant!r}?" if meant else ""
        text = f"signals.{name}: there is no such signal{hint}; outputs are {', '.join(known)}"
    raise RequestError(RequestCode.INVALID_PARAMS, text, path, {"allowed": known})


def wait_for_condition(gateway: Gateway, call: Call) -> None:
    """Handle `wait`: answer with the first record in which the condition holds."""
    params = call.params()
    condition = read_condition(gateway.machine, gateway.layout, params.condition)
    holds = holding(gateway.layout, condition)
    if gateway.latest is not None and holds(gateway.latest):
        _answer(gateway, call, gateway.latest)
        return
    if gateway.time_stands:
        text = (
            "the condition does not hold, and lockstep time stands still; run it with `advance` or a motion"
        )
        raise RequestError(RequestCode.NOT_MET, text, data=_told(gateway))
    if gateway.order_queue.watches >= MOST_WAITS:
        raise RequestError(RequestCode.BUSY, f"{MOST_WAITS} conditions are waited for already")

    late = f"{params.condition!r} was not met within {params.within_s:g} s"

    def then(effect: OrderEffect | RequestError) -> None:
        if not isinstance(effect, RequestError):
            _answer(gateway, call, effect.record)
        elif effect.code == RequestCode.NOT_MET:
            call.refuse(RequestError(effect.code, late, data=_told(gateway)))
        else:
            call.refuse(effect)

    gateway.order_queue.wait(
        holds,
        then,
        now_ns=gateway.now_ns,
        timeout_s=params.within_s,
        late=RequestError(RequestCode.NOT_MET, late),
        each=True,
    )


def read_condition(machine: Machine, layout: RecordLayout, text: str) -> Condition:
    """Parse a condition. Raises RequestError with the position of the error in the text."""
    places = quantities(layout)
    switches = [signal.name for signal in machine.signals if signal.is_digital]
    try:
        condition = parse_condition(text, switches)
    except ExpressionError as error:
        raise RequestError(RequestCode.INVALID_PARAMS, f"condition: {error}", ["condition"]) from None
    for name in condition.names:
        if name not in places:
            meant = nearest(name, list(places))
            hint = f", did you mean {meant!r}?" if meant else ""
            wrong = f"condition: there is no quantity {name!r}{hint}; there are {', '.join(places)}"
            raise RequestError(RequestCode.INVALID_PARAMS, wrong, ["condition"], {"allowed": list(places)})
    return condition


def quantities(layout: RecordLayout) -> dict[str, tuple[str, int]]:
    """Names that a condition may use, each with its channel and place in it."""
    found = {name: (name, -1) for name in ("time_s", "tick")}
    for channel, per in _OWN_NAMES:
        found |= {name: (channel, at) for at, name in enumerate(layout.names[per])}
    for channel, per, suffix in _WITH_SUFFIX:
        found |= {f"{name}.{suffix}": (channel, at) for at, name in enumerate(layout.names[per])}
    for channel, per in _FORCES:
        found |= {name: (channel, at) for at, name in enumerate(layout.names[per]) if name not in found}
    return found


def holding(layout: RecordLayout, condition: Condition) -> Callable[[np.void], bool]:
    """Return whether a record meets the condition, as a function."""
    places = quantities(layout)
    at = {name: layout.offsets[places[name][0]] + max(places[name][1], 0) for name in condition.names}
    whole = "tick" in at
    number = at.pop("tick", 0)

    def holds(record: np.void) -> bool:
        words = np.frombuffer(record.tobytes(), np.float64)
        values = {name: float(words[place]) for name, place in at.items()}
        if whole:
            values["tick"] = float(words.view(np.int64)[number])
        return condition.met(values)

    return holds


def _told(gateway: Gateway) -> dict[str, Any]:
    record = gateway.latest
    return {} if record is None else {"signals": gateway.wording.signals(record)}


def _answer(gateway: Gateway, call: Call, record: np.void) -> None:
    call.answer(
        {
            "tick": int(record["tick"]),
            "state": state_name(record),
            "text": "",
            "time_s": float(record["time_s"]),
            "signals": gateway.wording.signals(record),
        }
    )
