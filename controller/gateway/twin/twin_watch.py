"""Reactions to the digital twin's comparisons: telemetry, log, events, and orders to stop or to brake."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.gateway.order_queue import OrderEffect
from linkwork.controller.gateway.twin.twin import LEASH, REACTS_AFTER, DigitalTwin
from linkwork.controller.gateway.twin.twin_alarm import Alarm
from linkwork.controller.orders import NOW, Order, OrderOutcome, ReportDifference, SetPayload
from linkwork.protocol.errors import RequestError
from linkwork.protocol.telemetry import TWIN_TOPIC

if TYPE_CHECKING:
    from linkwork.controller.gateway.gateway import Gateway

LAST_WORDS_S = 2.0
"""How long the gateway waits for comparisons when it takes records for the last time."""
_TOO_LATE_TO_WAIT = (OrderOutcome.REFUSED_LATE, OrderOutcome.REFUSED_FULL)


class TwinWatch:
    """The gateway's dealings with the digital twin."""

    def __init__(self, gateway: Gateway, twin: DigitalTwin) -> None:
        self.twin = twin
        self._gateway, self._alarm = gateway, Alarm(gateway.machine)
        self._fault = gateway.machine.twin.on_exceeded == "fault"
        self._running = False
        self._acts = gateway.machine.twin.on_exceeded != "tell"

    @property
    def pressing(self) -> bool:
        """Whether lockstep time runs, or waits for a comparison."""
        return self._running or self.twin.pressing

    def begin(self) -> None:
        """Begin with a loop."""
        shared = self._gateway.host.shared
        if shared is not None:
            shared.leash = LEASH if self.twin.in_step else 0

    def records(
        self, words: NDArray[np.float64], *, last: bool
    ) -> tuple[NDArray[np.float64], NDArray[Any] | None]:
        """Return the records (records × words) that may be published now; in lockstep with comparisons."""
        if not self.twin.in_step:
            self.twin.offer(words)
            return words, None
        self._running = bool(len(words))
        taken, compared = self.twin.hold(words, LAST_WORDS_S if last else 0.0)
        return (words, None) if last and not len(taken) else (taken, compared)

    def attend(self) -> None:
        """Receive the comparisons made since the last call. Call it often."""
        gateway = self._gateway
        if self.twin.in_step:
            self.twin.attend()
        else:
            compared = self.twin.pop_comparisons()
            if compared is not None:
                for _, name, content in self.publish(compared):
                    gateway.note(name, content)
                if gateway.log is not None:
                    gateway.log.compared(compared)
        for text in self.twin.notes:
            gateway.aside("twin", {"text": text})
        self.twin.notes.clear()

    def publish(self, compared: NDArray[Any]) -> list[tuple[int, str, dict[str, Any]]]:
        """Publish comparisons, and act on them. Returns their events."""
        self._publish(compared)
        found: list[tuple[int, str, dict[str, Any]]] = []
        for each in self._alarm.check(compared):
            if each.event:
                self._gateway.publish(each.event, each.content)
                found.append((each.row, each.event, each.content))
            if self._acts and each.acts:
                self._order(each.content)
        return found

    def order_taken(self, order: Order, record: np.void) -> None:
        """Pass the payloads to the twin's model."""
        if isinstance(order, SetPayload):
            load = [order.mass_kg, *order.com_m, *order.inertia_kg_m2]
            self.twin.carry(int(record["tick"]), order.point, load)

    def _publish(self, compared: NDArray[Any]) -> None:
        broadcast, twin = self._gateway.broadcast, self.twin
        rows = broadcast.chosen(compared["tick"])
        if not len(rows) or not broadcast.wanted(TWIN_TOPIC):
            return
        chosen = compared[rows]
        channels = twin.channels
        stamps = channels.stamps_ns(chosen, wall_clock=not twin.in_step)
        for row, stamp in zip(chosen, stamps, strict=True):
            broadcast.sample(TWIN_TOPIC, 1e-9 * stamp, channels.as_map(row))

    def _order(self, content: Mapping[str, Any], *, at_once: bool = False) -> None:
        """Order the reaction that the machine file sets: in lockstep at a tick that does not depend on
        timing."""
        later = self.twin.in_step and not at_once
        order = ReportDifference(
            int(content["which"]),
            float(content["value"]),
            float(content["limit"]),
            self._fault,
            at_tick=int(content["tick"]) + REACTS_AFTER if later else NOW,
        )

        def then(effect: OrderEffect | RequestError) -> None:
            if isinstance(effect, OrderEffect) and effect.outcome in _TOO_LATE_TO_WAIT:
                self._order(content, at_once=True)

        with suppress(RequestError):  # without a loop the machine does not move
            self._gateway.order_queue.place(order, then, now_ns=self._gateway.now_ns, urgent=True)
