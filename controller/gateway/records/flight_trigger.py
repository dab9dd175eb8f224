"""When flight records are written: of each fault, once the machine has had time to come to rest."""

from __future__ import annotations

from collections import deque
from typing import Any

from linkwork.controller.gateway.history import Memory
from linkwork.controller.gateway.records.flight_record import FlightRecorder
from linkwork.controller.shared_memory import Shared

AFTER_TICKS = 500
"""Ticks after a fault that its flight record still holds, if they come within AFTER_S."""
AFTER_S = 1.0
MOST_PENDING = 4
"""Faults whose flight records wait; of more the oldest are given up."""


class Aftermath:
    """Pending flight records of faults, written one after the other."""

    def __init__(self, recorder: FlightRecorder, memory: Memory) -> None:
        self._recorder, self._memory = recorder, memory
        self._due: deque[tuple[int, int, dict[str, Any]]] = deque(maxlen=MOST_PENDING)
        self._notices: list[str] = []

    @property
    def busy(self) -> bool:
        """Whether a record is being written."""
        return self._recorder.busy

    def expect(self, fault: dict[str, Any], now_ns: int) -> None:
        """A fault (or what else has a tick): its record is due when some time has passed."""
        self._due.append((fault["tick"], now_ns + round(1e9 * AFTER_S), fault))

    def attend(self, tick: int, now_ns: int, shared: Shared | None) -> None:
        """Often: a slice of the work. tick: the newest; shared: the loop's memory."""
        self._recorder.advance()
        self._settle()
        if not self._due or self._recorder.busy or shared is None:
            return
        if tick >= self._due[0][0] + AFTER_TICKS or now_ns >= self._due[0][1]:
            self._begin(shared)

    def take_notices(self) -> list[str]:
        """Return why flight records could not be written since the last call."""
        notices, self._notices = self._notices, []
        return notices

    def now(self, shared: Shared | None, otherwise: dict[str, Any] | None = None) -> None:
        """Begin the pending records, or `otherwise`, which has a tick too: no more ticks will come."""
        if not self._due and otherwise is not None:
            self.expect(otherwise, 0)
        while self._due and shared is not None:
            self._begin(shared)

    def close(self, shared: Shared | None) -> None:
        """Write all that is left."""
        self.now(shared)
        self._recorder.finish()

    def _begin(self, shared: Shared) -> None:
        tick, _, cause = self._due.popleft()
        words, _, _ = shared.read_records(0)
        self._memory.flight_record(tick, str(self._recorder.path_for(tick)))
        self._recorder.finish()
        self._settle()
        self._recorder.begin(tick, words, cause)

    def _settle(self) -> None:
        """Report a record that could not be written."""
        if self._recorder.problem:
            self._notices.append(self._recorder.problem)
            self._memory.flight_record(self._recorder.tick, None)
            self._recorder.problem = ""
