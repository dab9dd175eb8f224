"""The log: every tick and event, in segments, with a cap on the total size of a machine's segments.

Writing may fail (a full disk), and files may be removed. Then logging stops, `problem` gives the reason, and
the machine continues. Logging continues in another segment as soon as there is room for it.
"""

import errno
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.gateway.records.log_segment import LogSource, Segment
from linkwork.controller.gateway.records.logged_orders import GoalWords, TakenSetPoint

SEGMENT_BYTES = 12_000_000
"""Bytes of messages in a segment, before compression: bounds the index that the writer keeps in memory."""
STAMP = "%Y%m%d-%H%M%S"
"""When a run began, local time."""
FLUSH_EVERY_NS = 250_000_000
"""Wall time after which a real-time log hands over even an unfinished chunk."""
LOOK_EVERY_NS, RETRY_EVERY_NS = 1_000_000_000, 5_000_000_000
"""Wall time after which the segment's file is looked for, and between two attempts to continue a log that has
stopped."""
Event = tuple[int, str, Mapping[str, Any] | GoalWords | TakenSetPoint]
"""(row of the batch that it follows, −1: before all; name, content)."""


class Log:
    """Segments `<family>-<stamp>-0000.mcap`, `…-0001.mcap`, … in a folder.

    `family` begins the names of all logs that share the cap; `stamp` (STAMP) is when the run began, or the
    next second in which no other run in the folder did. Raises OSError when the first segment cannot be
    made.
    """

    def __init__(self, folder: Path, family: str, stamp: str, source: LogSource, cap_bytes: int) -> None:
        self._folder, self._family, self.stamp = folder, family, stamp
        self._source = source
        self._cap = cap_bytes
        self._segment_bytes = min(SEGMENT_BYTES, max(cap_bytes // 4, 1))
        self._number = 0
        self._now_ns = self._flushed_ns = self._looked_ns = self._retry_ns = 0
        self._closed = False
        self._notices: list[str] = []
        self._lost_at_stop = 0
        self.lost = 0
        """Ticks that were not logged because logging had stopped, as far as they can be counted."""
        self.problem = ""
        """Why logging has stopped; empty while it runs."""
        self.first: Path
        """The run's first segment."""
        self._segment: Segment | None = self._open()
        self.first = self._segment.path

    @property
    def path(self) -> Path | None:
        """Path of the newest segment; None while logging has stopped."""
        return self._segment.path if self._segment is not None else None

    def take_notices(self) -> list[str]:
        """Return what has happened since the last call, as text: logging stopped, or continues."""
        notices, self._notices = self._notices, []
        return notices

    def write(
        self,
        words: NDArray[np.float64],
        events: Sequence[Event] = (),
        compared: NDArray[Any] | None = None,
    ) -> None:
        """Append a batch of records (n, words) with its events, which come in rising order of rows.

        compared: the digital twin's comparison of each record, where it is known already.
        """
        if self._segment is None:
            self.lost += len(words)
            return
        try:
            done = 0
            for row, name, content in events:
                self._ticks(words[done : row + 1], None if compared is None else compared[done : row + 1])
                done = max(done, row + 1)
                self._segment.event(name, content)
            self._ticks(words[done:], None if compared is None else compared[done:])
        except OSError as error:
            self._give_up(error)
            self.lost += len(words)

    def compared(self, rows: NDArray[Any]) -> None:
        """Append the digital twin's comparisons of earlier records."""
        if self._segment is None:
            return
        try:
            self._segment.compared(rows)
        except OSError as error:
            self._give_up(error)

    def flush(self, now_ns: int) -> None:
        """Flush written data to the system, and continue a log that has stopped. Call it often.

        A real-time log flushes unfinished chunks too, four times a second.
        """
        self._now_ns = now_ns
        if self._segment is None:
            self._continue()
            return
        if now_ns - self._looked_ns >= LOOK_EVERY_NS:
            self._looked_ns = now_ns
            if self._segment.removed:
                self._give_up(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))
                self._retry_ns = now_ns
                return
        close_chunk = self._source.wall_clock and now_ns - self._flushed_ns >= FLUSH_EVERY_NS
        if close_chunk:
            self._flushed_ns = now_ns
        elif self._source.wall_clock:
            return
        try:
            self._segment.flush(close_chunk=close_chunk)
        except OSError as error:
            self._give_up(error)

    def close(self) -> None:
        """Complete the last segment."""
        self._closed = True
        if self._segment is None:
            return
        try:
            self._segment.close()
        except OSError as error:
            self._give_up(error)
        self._segment = None

    def _ticks(self, words: NDArray[np.float64], compared: NDArray[Any] | None) -> None:
        """Write records one by one into segments; a segment ends at the first record with which it is
        full."""
        size = self._source.layout.bytes + 4
        while len(words):
            assert self._segment is not None
            room = max(1, -((self._segment.bytes - self._segment_bytes) // size))
            self._segment.ticks(words[:room], None if compared is None else compared[:room])
            words, compared = words[room:], None if compared is None else compared[room:]
            if self._segment.bytes >= self._segment_bytes:
                self._segment.close()
                self._segment = self._open()

    def _open(self) -> Segment:
        self._folder.mkdir(parents=True, exist_ok=True)
        while True:
            path = self._folder / f"{self._family}-{self.stamp}-{self._number:04d}.mcap"
            try:
                segment = Segment(path, self._source, packs=True)
                break
            except FileExistsError:
                if self._number > 0:
                    self._number += 1
                    continue
                # Another run began in the same second: its segments are not this run's.
                later = datetime.strptime(self.stamp, STAMP) + timedelta(seconds=1)
                self.stamp = later.strftime(STAMP)
        self._number += 1
        self._prune(path)
        return segment

    def _prune(self, newest: Path) -> None:
        """Remove the oldest segments until a full new one fits under the cap."""
        sizes = {path: path.stat().st_size for path in self._segments() if path != newest}
        spare = self._cap - self._segment_bytes - sum(sizes.values())
        for path in sizes:
            if spare >= 0:
                return
            path.unlink(missing_ok=True)
            spare += sizes[path]

    def _segments(self) -> list[Path]:
        """All segments of the family, oldest first."""
        pattern = re.compile(re.escape(self._family) + r"-(\d{8}-\d{6})-(\d{4,})\.mcap")
        found = [
            (match[1], int(match[2]), path)
            for path in self._folder.iterdir()
            if (match := pattern.fullmatch(path.name))
        ]
        return [path for _, _, path in sorted(found)]

    def _give_up(self, error: OSError) -> None:
        self.problem = f"logging has stopped: {self._folder}: {error.strerror or error}"
        self._notices.append(f"{self.problem}; it continues as soon as a segment can be written")
        self._lost_at_stop, self._retry_ns = self.lost, self._now_ns + RETRY_EVERY_NS
        if self._segment is not None:
            self._segment.abandon()
            self._segment = None

    def _continue(self) -> None:
        """Begin another segment if a whole one fits on the disk."""
        if self._closed or self._now_ns < self._retry_ns:
            return
        self._retry_ns = self._now_ns + RETRY_EVERY_NS
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if shutil.disk_usage(self._folder).free < self._segment_bytes:
                return
            self._segment = self._open()
        except OSError:
            return
        self.problem = ""
        missing = self.lost - self._lost_at_stop
        self._notices.append(f"logging continues in {self._segment.path}; about {missing} ticks are missing")
