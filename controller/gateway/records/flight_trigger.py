"""When flight records are written: of the latest fault, once the machine has had time to come to rest."""

from __future__ import annotations

from typing import Any

from linkwork.controller.gateway.history import Memory
from linkwork.controller.gateway.records.flight_record import FlightRecorder
from linkwork.controller.shared_memory import Shared

AFTER_TICKS = 500
"""Ticks after a fault that its flight record still holds, if they come within AFTER_S."""
AFTER_S = 1.0


class Aftermath:
    """Pending flight record of a fault."""

    def __init__(self, recorder: FlightRecorder, memory: Memory) -> None:
        self._recorder, self._memory = recorder, memory
        self._due: tuple[int, int, dict[str, Any]] | None = None

    @property
    def busy(self) -> bool:
        """Whether a record is being written."""
        return self._recorder.busy

    def expect(self, fault: dict[str, Any], now_ns: int) -> None:
        """A fault (or what else has a tick): its record is due when some time has passed."""
        self._due = (fault["tick"], now_ns + round(1e9 * AFTER_S), fault)

    def attend(self, tick: int, now_ns: int, shared: Shared | None) -> None:
        """Often: a slice of the work. tick: the newest; shared: the loop's memory."""
        self._recorder.advance()
        if self._due is None or self._recorder.busy or shared is None:
            return
        if tick >= self._due[0] + AFTER_TICKS or now_ns >= self._due[1]:
            self._begin(shared)

    def now(self, shared: Shared | None, otherwise: dict[str, Any] | None = None) -> None:
        """Begin the pending record, or `otherwise`, which has a tick too: no more ticks will come."""
        if self._due is None and otherwise is not None:
            self.expect(otherwise, 0)
        if self._due is not None and shared is not None:
            self._begin(shared)

    def close(self, shared: Shared | None) -> None:
        """Write all that is left."""
        self.now(shared)
        self._recorder.finish()

    def _begin(self, shared: Shared) -> None:
        assert self._due is not None
        (tick, _, cause), self._due = self._due, None
        words, _, _ = shared.read_records(0)
        self._memory.flight_record(tick, str(self._recorder.path_for(tick)))
        self._recorder.begin(tick, words, cause)
