"""Flight records: the last seconds of ticks around a fault, each in a separate file.

A record is taken a little after its fault, so that it shows how the machine came to rest, and written in
slices, so that requests are answered meanwhile.
"""

import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.exchange.shared_memory import Shared
from linkwork.controller.gateway.history import Memory
from linkwork.controller.gateway.records.log_segment import LogSource, Segment

KEPT = 20
"""Flight records that stay; older ones of the same machine are removed."""
SLICE_RECORDS = 256


class FlightRecorder:
    """Writes flight records into a folder, one at a time.

    `advance` is to be called often and does a slice of the work. `problem` has the reason why the last record
    could not be written, `tick` the tick of its fault.
    """

    def __init__(self, folder: Path, family: str, stamp: str, source: LogSource) -> None:
        self._folder, self._family, self._stamp = folder, family, stamp
        self._source = source
        self._work: Iterator[None] | None = None
        self.problem = ""
        self.tick = -1

    def path_for(self, tick: int) -> Path:
        """Return the path of the record of a fault in this tick."""
        return self._folder / f"{self._family}-{self._stamp}-flight-{tick}.mcap"

    @property
    def busy(self) -> bool:
        """Whether a flight record is being written."""
        return self._work is not None

    def begin(self, tick: int, words: NDArray[np.float64], cause: dict[str, object]) -> None:
        """Start to write the records `words` (n, words); one still under way is completed first."""
        self.finish()
        self.problem, self.tick = "", tick
        self._work = self._write(tick, words, cause)

    def advance(self) -> None:
        """Do a slice of the work, if there is any."""
        if self._work is None:
            return
        try:
            next(self._work)
        except StopIteration:
            self._work = None
        except OSError as error:
            self._work = None
            self.problem = f"no flight record: {self._folder}: {error.strerror or error}"

    def finish(self) -> None:
        """Do all that is left."""
        while self._work is not None:
            self.advance()

    def _write(self, tick: int, words: NDArray[np.float64], cause: dict[str, object]) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self.path_for(tick)
        path.unlink(missing_ok=True)
        segment = Segment(path, self._source)
        try:
            for at in range(0, len(words), SLICE_RECORDS):
                segment.ticks(words[at : at + SLICE_RECORDS])
                yield
            segment.event("fault", cause)
            segment.close()
        except OSError:
            segment.abandon()
            path.unlink(missing_ok=True)
            raise
        self._prune()

    def _prune(self) -> None:
        pattern = re.compile(re.escape(self._family) + r"-\d{8}-\d{6}-flight-\d+\.mcap")
        found = [path for path in self._folder.iterdir() if pattern.fullmatch(path.name)]
        found.sort(key=lambda path: path.stat().st_mtime)
        for path in found[:-KEPT]:
            path.unlink(missing_ok=True)


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
