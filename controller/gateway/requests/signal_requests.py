"""The requests `set`, `wait` and `edges`: output signals, conditions, changes of inputs."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.exchange.named_signals import digital_input, output_value, quantities, read_condition
from linkwork.controller.exchange.orders import OrderOutcome, SetOutputs
from linkwork.controller.exchange.records import RecordLayout
from linkwork.controller.gateway.gateway import Gateway
from linkwork.controller.gateway.goals.goal_requests import need_signals
from linkwork.controller.gateway.order_queue import OrderEffect, Rows
from linkwork.controller.gateway.records.messages import state_name
from linkwork.controller.gateway.requests.call import Answering, Call, PendingResult
from linkwork.controller.gateway.requests.order_outcomes import effect_map, place, until
from linkwork.machine import Machine
from linkwork.multibody.expressions.conditions import Condition
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import RequestError

IN_FORCE_S = 1.0
"""Longest wait of `set` for a record with the values in force; then it is answered without."""


def set_signals(gateway: Gateway, call: Call) -> Answering:
    """Handle `set`: the outputs change at one tick, all or none."""
    order = set_order(gateway.machine, call.params().signals)
    need_signals(gateway)
    gateway.borrow(call)

    effect: OrderEffect = yield place(gateway, call, order)
    if effect.outcome is not OrderOutcome.NOTHING_TO_DO:
        with suppress(RequestError):
            yield until(gateway, _in_force(order), IN_FORCE_S, RequestError(RequestCode.NO_PLANT, ""))
    return effect_map(call.method, effect)


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
    return SetOutputs(tuple(output_value(machine, name, wanted[name], ("signals", name)) for name in wanted))


def wait_for_condition(gateway: Gateway, call: Call) -> Answering:
    """Handle `wait`: answer with the first record in which the condition holds."""
    params, queue = call.params(), gateway.order_queue
    queue.refuse_watch(call.requester, 0)  # before the work of reading it
    condition = read_condition(gateway.machine, gateway.layout, params.condition, ("condition",))
    rows = rows_that_meet(gateway.layout, condition)
    record = gateway.latest
    if record is not None and len(rows(np.frombuffer(record.tobytes(), np.float64)[np.newaxis])):
        return _answer(gateway, record)
    if gateway.time_stands:
        text = (
            "the condition does not hold, and lockstep time stands still; run it with `advance` or a motion"
        )
        raise RequestError(RequestCode.NOT_MET, text, data=_told(gateway))
    queue.refuse_watch(call.requester, condition.size)
    late = f"{params.condition!r} was not met within {params.within_s:g} s"

    met: PendingResult[OrderEffect] = PendingResult()
    queue.watch(
        rows,
        condition.size,
        call.requester,
        met,
        now_ns=gateway.now_ns,
        timeout_s=params.within_s,
        late=RequestError(RequestCode.NOT_MET, late),
    )
    try:
        effect: OrderEffect = yield met
    except RequestError as error:
        if error.code == RequestCode.NOT_MET:
            raise RequestError(error.code, late, data=_told(gateway)) from None
        raise
    return _answer(gateway, effect.record)


def rows_that_meet(layout: RecordLayout, condition: Condition) -> Rows:
    """Return a function that finds the records which meet the condition."""
    places = quantities(layout)
    at = {name: places[name][0] for name in condition.names}
    whole = "tick" in at
    number = at.pop("tick", 0)

    def rows(words: Floats) -> NDArray[np.intp]:
        columns = {name: words[:, place] for name, place in at.items()}
        if whole:
            columns["tick"] = words.view(np.int64)[:, number].astype(np.float64)
        return condition.met_rows(columns, len(words))

    return rows


def edges(gateway: Gateway, call: Call) -> None:
    """Handle `edges`: the latest changes of a digital input."""
    params = call.params()
    signal = digital_input(gateway.machine, params.signal, ("signal",))
    call.answer({"edges": gateway.memory.edges(signal.name, params.after)})


def _told(gateway: Gateway) -> dict[str, Any]:
    record = gateway.latest
    return {} if record is None else {"signals": gateway.wording.signals(record)}


def _answer(gateway: Gateway, record: np.void) -> dict[str, Any]:
    return {
        "tick": int(record["tick"]),
        "state": state_name(record),
        "text": "",
        "time_s": float(record["time_s"]),
        "signals": gateway.wording.signals(record),
    }
