"""The logs behind the spans of rig tests: each read once, ticks picked out by number."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from linkwork.arrays import Floats
from linkwork.protocol.codes import OverrunCause
from linkwork.recordings.log_file import Ticks
from linkwork.recordings.recording import NoRecording, read_recording
from linkwork.rig.collected import Span


class Logs:
    """Logs below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, Ticks | None] = {}

    def whole(self, log: str) -> Ticks | None:
        """Return all ticks of a run, from this segment on; None where the log is gone or damaged."""
        if log not in self._read:
            try:
                recording = read_recording(self._folder / log)
                lost = recording.damage and not recording.cut
                self._read[log] = None if lost else recording.ticks
            except (OSError, NoRecording):
                self._read[log] = None
        return self._read[log]

    def span(self, span: Span) -> Ticks | None:
        """Return the ticks of a span; None where there are none."""
        ticks = self.whole(span.log)
        if ticks is None:
            return None
        loops = np.split(ticks.table, 1 + np.flatnonzero(np.diff(ticks.table["tick"]) < 0))
        table = loops[min(span.loop, len(loops) - 1)]
        first, last = np.searchsorted(table["tick"], [span.first_tick, span.last_tick + 1])
        return Ticks(table[first:last], ticks.names) if last > first else None


def has_clock(ticks: Ticks) -> bool:
    """Whether the log has wall-clock times: not in lockstep."""
    return "received_ns" in (ticks.table.dtype.names or ())


def periods_us(ticks: Ticks) -> Floats:
    """Return the periods (n; µs) between arrivals of consecutive states, each in its own tick."""
    table = ticks.table
    fresh = (table["fresh"] == 1) & (table["connected"] == 1)
    follows = fresh[1:] & fresh[:-1] & (np.diff(table["tick"]) == 1) & (np.diff(table["device_tick"]) == 1)
    apart: Floats = np.diff(table["received_ns"])[follows] * 1e-3
    return apart


def latencies_us(ticks: Ticks) -> Floats:
    """Return the times (n; µs) from the arrival of a state to the sending of its command."""
    table = ticks.table
    fresh = (table["fresh"] == 1) & (table["connected"] == 1) & (table["sent_ns"] > table["received_ns"])
    taken: Floats = (table["sent_ns"] - table["received_ns"])[fresh] * 1e-3
    return taken


def phases_us(runs: Sequence[Ticks]) -> dict[str, Floats]:
    """Return the time per phase of the loop's period (ticks; µs); empty where a log does not have them."""
    if not runs or any("phase_ns" not in (run.table.dtype.names or ()) for run in runs):
        return {}
    rows = np.concatenate([run.table["phase_ns"] for run in runs]) * 1e-3
    rows = rows[~np.isnan(rows).any(axis=1)]  # left out while the machine is braked
    return dict(zip(runs[0].names["phase_ns"], rows.T, strict=True))


def overruns(runs: Sequence[Ticks]) -> dict[str, int]:
    """Return the number of ticks that overran their period, by cause, the most frequent first."""
    known = [run.table["overrun"] for run in runs if "overrun" in (run.table.dtype.names or ())]
    counts = Counter(int(cause) for causes in known for cause in causes if cause)
    return {OverrunCause(cause).name.lower(): count for cause, count in counts.most_common()}
