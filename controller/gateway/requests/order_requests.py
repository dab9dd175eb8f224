"""A request that is one order: placed, and answered with its effect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from linkwork.controller.gateway.order_queue import Asked, OrderEffect
from linkwork.controller.gateway.requests.call import Call
from linkwork.controller.gateway.requests.order_outcomes import effect_map, refusal
from linkwork.controller.orders import NOW, Order
from linkwork.protocol.errors import RequestError
from linkwork.protocol.request_table import REQUESTS

if TYPE_CHECKING:
    from linkwork.controller.gateway.gateway import Gateway

ANSWER_WITHIN_S = 10.0


def place(
    gateway: Gateway,
    call: Call,
    order: Order,
    *,
    done: Callable[[OrderEffect], None] | None = None,
    taken: Callable[[], None] | None = None,
) -> None:
    """Place an order for a request; answer with its effect, or pass the effect to `done`.

    `taken` is called when it has taken effect, even at a later tick.
    """
    leased = REQUESTS[call.method].needs_lease
    scheduled = call.at_tick is not None and call.at_tick > gateway.tick
    if scheduled and leased:
        gateway.order_queue.refuse_if_full(call.owner, goal=False)
    elif scheduled:
        gateway.order_queue.refuse_stop_if_full(call.requester)

    def then(effect: OrderEffect | RequestError) -> None:
        if isinstance(effect, RequestError):
            call.refuse(effect)
            return
        if effect.outcome < 0:
            error = refusal(call.method, effect, gateway.wording, gateway.link_text)
            call.refuse(error)
            if scheduled:
                told = {"method": call.method, "code": int(error.code), "text": error.message}
                gateway.publish("order.refused", told, call.requester)
            return
        if taken is not None:
            taken()
        if done is None or scheduled:
            call.answer(effect_map(call.method, effect))
        else:
            done(effect)

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
