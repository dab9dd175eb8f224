"""Reactions to the digital twin's comparisons: telemetry, log, events, and orders to stop or to brake."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.exchange.orders import NOW, Order, OrderOutcome, ReportDifference, SetPayload
from linkwork.controller.gateway.order_queue import OrderEffect
from linkwork.controller.gateway.twin.twin import LEASH, REACTS_AFTER, DigitalTwin
from linkwork.machine import Machine
from linkwork.machine.twin_differences import differences
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
            gateway.aside("twin.note", {"text": text})
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


REARMED: Final = 0.8
WORSE: Final = 1.5
OVER_AFTER_S: Final = 0.25
EXCEEDED: Final = "twin.exceeded"
OVER: Final = "twin.over"

_DONE = {"tell": "", "stop": "; the machine is stopped on its path", "fault": "; the machine is braked"}


@dataclass(frozen=True)
class Alarmed:
    """Event and reaction that follow from a row.

    `event`: EXCEEDED, OVER, or "" without an event; `acts`: whether the reaction set in the file is due.
    `which`, `value` and `limit` of the content are those of the order DIFFERENCE.
    """

    row: int
    event: str
    content: dict[str, Any]
    acts: bool


class Alarm:
    """When differences beyond their thresholds are reported, and when the controller reacts.

    An excess, be it a collision or a load that the model does not know, is reported twice: when a difference
    is beyond its threshold, and when all have been below `REARMED` of theirs for `OVER_AFTER_S`; further
    excesses meanwhile belong to it. The reaction is repeated when all have been below `REARMED`, or when the
    greatest has grown by `WORSE` since: a machine that has been stopped against an obstacle may be moved away
    from it, and is stopped again when it is pressed harder.
    """

    def __init__(self, machine: Machine) -> None:
        self._differences = differences(machine)
        self._limits = [each.threshold for each in self._differences]
        self._motors, self._action = len(machine.motors), machine.twin.on_exceeded
        self._acted = 0.0
        """The share at which something was done last; 0: armed."""
        self._worst: tuple[float, dict[str, Any]] | None = None
        """The greatest share of the excess reported, and its event; None without an excess."""
        self._since = self._calm_s = 0.0
        """When the excess began, and since when all differences have been small."""

    def check(self, rows: NDArray[Any]) -> list[Alarmed]:
        """Return the alarms of these rows."""
        shares = np.where((rows["judged"] != 0) & (rows["compared"] != 0), rows["share"], 0.0)
        found: list[Alarmed] = []
        if self._worst is None and not (shares >= 1.0).any():
            return found
        for at, share in enumerate(shares.tolist()):
            found += self._exceeds(at, rows[at], share) if share >= REARMED else self._calms(at, rows[at])
        return found

    def _exceeds(self, at: int, row: np.void, share: float) -> list[Alarmed]:
        self._calm_s = math.inf
        begins = self._worst is None and share >= 1.0
        acts = share >= max(1.0, WORSE * self._acted)
        if not begins and self._worst is None:
            return []
        content = self._event(row)
        if begins:
            self._since = content["time_s"]
        if self._worst is None or share > self._worst[0]:
            self._worst = share, content
        if acts:
            self._acted = share
        return [Alarmed(at, EXCEEDED if begins else "", content, acts)] if begins or acts else []

    def _calms(self, at: int, row: np.void) -> list[Alarmed]:
        self._acted = 0.0
        if self._worst is None:
            return []
        now_s = float(row["time_s"])
        self._calm_s = min(self._calm_s, now_s)
        if now_s - self._calm_s < OVER_AFTER_S:
            return []
        (_, content), self._worst = self._worst, None
        text = (
            f"machine and model agree again; {self._differences[content['which']]} differed by "
            f"{content['value']:.4g} {content['unit']}"
        )
        over = content | {"tick": int(row["tick"]), "time_s": now_s, "since_s": self._since, "text": text}
        return [Alarmed(at, OVER, over, acts=False)]

    def _event(self, row: np.void) -> dict[str, Any]:
        which = int(row["worst"])
        difference, limit = self._differences[which], self._limits[which]
        values = [*row["motor_effort"].tolist(), *row["effort"].tolist(), float(row["energy"])]
        value = values[which]
        text = (
            f"{difference} differs from the model's by {value:.4g} {difference.unit}, "
            f"more than {limit:.4g} {difference.unit}{_DONE[self._action]}"
        )
        return {
            "which": which,
            "kind": difference.kind,
            "name": difference.name,
            "value": value,
            "limit": limit,
            "unit": difference.unit,
            "tick": int(row["tick"]),
            "time_s": float(row["time_s"]),
            "action": self._action,
            "text": text,
        }
