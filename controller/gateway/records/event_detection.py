"""Events from successive records: state, fault, limited, switched, signals, goal.accepted, goal.result.

Events depend on the records alone, so that a lockstep run gives the same events each time.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.exchange.faults import FaultCode
from linkwork.controller.exchange.records import RecordLayout
from linkwork.controller.gateway.records.messages import ENDED, UNDER_WAY, Messages, limits_named, limits_told
from linkwork.controller.motion.limits.effort_limits import Limited
from linkwork.controller.supervision.state_machine import State

STICKS_TICKS = 100
"""A limit ends when it has not been met for this many ticks, so that a flickering one is reported once."""
Told = tuple[int, str, dict[str, Any]]
"""(row of the batch, event, content)"""
_WATCHED = (
    "state",
    "goal_id",
    "goal_status",
    "fault",
    "fault_tick",
    "connected",
    "phase",
    "authority",
    "until_met",
)


class EventDetector:
    """Keep the values of the last record that later events need. `first`: the record before the first batch,
    if there is one."""

    def __init__(self, layout: RecordLayout, wording: Messages, first: np.void | None = None) -> None:
        self._wording = wording
        self._dtype = layout.dtype
        signals = wording.watched_signals(layout)
        switched, switches = layout.offsets["switched"], len(layout.names["switch"])
        self._looked_at = [
            *(layout.offsets[name] for name in _WATCHED),
            *signals,
            *range(switched, switched + switches),  # its bits are zero just where it is
            *(layout.offsets[name] for name in ("order_id", "order_arrived", "limited")),
        ]
        self._compared = len(_WATCHED) + len(signals)
        self._signals, self._signalled = bool(signals), first
        self._switches = switches > 0
        self._before: NDArray[np.int64] | None = None
        self._state = int(first["state"]) if first is not None else int(State.UNCONFIGURED)
        self._goal = (int(first["goal_id"]), int(first["goal_status"])) if first is not None else (0, 0)
        self._fault = int(first["fault_tick"]) if first is not None and first["fault"] else -1
        streams = first is not None and float(first["path_length_s"]) == 0.0
        self._stream = self._goal[0] if streams else 0
        """Number of the latest stream."""
        self._met: dict[int, int] = {}

    def rows(self, words: NDArray[np.float64]) -> Sequence[int]:
        """The rows of a batch (n, words) that differ from the one before them in anything but numbers."""
        if not len(words):
            return []
        integers = words.view(np.int64)
        looked_at = integers[:, self._looked_at]
        if self._before is not None and not self._met and (looked_at == self._before).all():
            return []  # as in most batches
        kept = self._compared
        watched = looked_at[:, :kept]
        notable: NDArray[np.bool_] = np.any(looked_at[:, kept:] != 0, axis=1)
        notable[1:] |= (watched[1:] != watched[:-1]).any(axis=1)
        notable[0] |= self._before is None or bool((watched[0] != self._before[:kept]).any())
        self._before = looked_at[-1].copy()
        self._before[kept:] = 0  # an order, a switch, or a limit that is met, is always worth a look
        if self._met or looked_at[:, -1].any():
            return range(len(words))
        return np.flatnonzero(notable).tolist()

    def detect(self, row: int, record: np.void) -> list[Told]:
        """The events of one record; records that `rows` leaves out have none."""
        tick, time_s = int(record["tick"]), float(record["time_s"])
        told: list[Told] = []
        state = int(record["state"])
        if state != self._state:
            names = {"state": State(state).name.lower(), "before": State(self._state).name.lower()}
            told.append((row, "state", {**names, "tick": tick, "time_s": time_s}))
            self._state = state
        fault = int(record["fault_tick"]) if int(record["fault"]) != FaultCode.NONE else -1
        if fault != self._fault:
            if fault >= 0:
                told.append((row, "fault", dict(self._wording.fault(record))))
            self._fault = fault
        if self._switches and (switched := self._wording.switch(record)) is not None:
            told.append((row, "switched", dict(switched)))
        if self._signals:
            changes = self._wording.changes(record, self._signalled)
            told += [(row, "signal.changed", dict(each)) for each in changes]
            self._signalled = record.copy()
        told += self._goals(row, record, tick, time_s)
        if self._met or int(record["limited"]):
            told += self._limits(row, record, tick, time_s)
        return told

    def _goals(self, row: int, record: np.void, tick: int, time_s: float) -> list[Told]:
        goal, status = int(record["goal_id"]), int(record["goal_status"])
        before, self._goal = self._goal, (goal, status)
        told: list[Told] = []
        if goal != before[0]:
            if int(record["replaced_goal"]) == before[0] and before[1] in UNDER_WAY:
                told.append((row, "goal.result", dict(self._wording.replaced(record))))
            content = {
                "goal": goal,
                "tick": tick,
                "time_s": time_s,
                "duration_s": float(record["path_length_s"]),
            }
            self._stream = goal if content["duration_s"] == 0.0 else 0
            told.append((row, "goal.accepted", content))
        if status in ENDED and before != (goal, status):
            told.append((row, "goal.result", dict(self._wording.result(record, stream=goal == self._stream))))
        return told

    def _limits(self, row: int, record: np.void, tick: int, time_s: float) -> list[Told]:
        known, bits = set(self._met), int(record["limited"])
        for bit in (1 << number for number in range(bits.bit_length())):
            if bits & bit:
                self._met[bit] = tick
        self._met = {bit: last for bit, last in self._met.items() if tick - last < STICKS_TICKS}
        if set(self._met) == known:
            return []
        bits = sum(self._met)
        text, held = limits_told(bits), self._wording.held_back(record)
        if bits & Limited.HEAT and (hot := self._wording.derated(record)):
            text = f"{text}: {hot}"
        content = {"limited": limits_named(bits), "tick": tick, "time_s": time_s, "text": text}
        if held is not None:
            content |= {"text": f"{text}: {held['text']}", "held_back": held}
        return [(row, "limited", content)]
