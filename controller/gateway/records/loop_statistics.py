"""Statistics of the loop's timing and of the link, from the loop's records."""

import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.exchange.records import PHASES, RecordLayout
from linkwork.protocol.codes import OverrunCause
from linkwork.protocol.results import LoopTiming, PhaseQuantiles, Quantiles, TimingWindow
from linkwork.timing.statistics import Histogram

LINK_WINDOW = 100
"""Periods over which the link's success rate is taken."""
WINDOW = 10_000
"""Ticks over which phases and overruns are reported beside those since the start."""
PAUSE_NS = 500_000_000
"""Longest interval that counts as a period: lockstep time may stop between two ticks."""
_UNKNOWN, _LATE_WAKE = int(OverrunCause.UNKNOWN), int(OverrunCause.LATE_WAKE)


class PhaseStatistics:
    """Time per phase and overruns by cause: of the last WINDOW ticks, and of all. Memory is taken once."""

    def __init__(self) -> None:
        self._recent = np.zeros((WINDOW, len(PHASES) + 1))
        """Time per phase (ns), and the cause of the overrun, of the last ticks, in turn."""
        self._count = self._told = 0
        self._histograms = [Histogram() for _ in PHASES]
        self._causes = np.zeros(len(OverrunCause), np.int64)

    def add(self, phases: Floats, causes: NDArray[np.int64]) -> None:
        """Count some ticks: phases (n, phases) in ns, causes (n) of OverrunCause."""
        for start in range(0, len(phases), WINDOW):
            part = slice(start, start + WINDOW)
            rows = np.arange(self._count, self._count + len(phases[part])) % WINDOW
            if self._count + len(rows) - self._told > WINDOW:
                self._tell()
            self._recent[rows, :-1], self._recent[rows, -1] = phases[part], causes[part]
            self._count += len(rows)
        self._causes += np.bincount(causes, minlength=len(OverrunCause))

    def _tell(self) -> None:
        """Add the buffered ticks to the histograms; called rarely, with many ticks."""
        rows = np.arange(self._told, self._count) % WINDOW
        for histogram, column in zip(self._histograms, self._recent[rows, :-1].T, strict=True):
            histogram.add_all(column.astype(np.int64))
        self._told = self._count

    def window(self) -> TimingWindow:
        """Return the statistics of the last ticks."""
        rows = self._recent[: min(self._count, WINDOW)]
        times: dict[str, PhaseQuantiles] = {}
        for name, column in zip(PHASES, rows[:, :-1].T, strict=True):
            known = column if len(column) else np.zeros(1)
            p50, p99, p999, largest = np.quantile(known, (0.5, 0.99, 0.999, 1.0)).tolist()
            times[name] = _phase(p50, p99, p999, largest)
        causes = np.bincount(rows[:, -1].astype(np.int64), minlength=len(OverrunCause))
        return {"ticks": len(rows), "phases_us": times, "overruns": _by_cause(causes)}

    def since_start(self) -> TimingWindow:
        """Return the statistics of all ticks."""
        self._tell()
        times = {
            name: _phase(each.quantile(0.5), each.quantile(0.99), each.quantile(0.999), each.max_ns)
            for name, each in zip(PHASES, self._histograms, strict=True)
        }
        return {"ticks": self._count, "phases_us": times, "overruns": _by_cause(self._causes)}


class LoopStatistics:
    """Period, latency, phases, overruns and losses since the loop started. Memory is taken once."""

    def __init__(self, layout: RecordLayout) -> None:
        names = ("received_ns", "sent_ns", "missed", "lost_in_a_row", "connected")
        self._columns = [layout.offsets[name] for name in names]
        self._overrun, self._phase = layout.offsets["overrun"], layout.offsets["phase_ns"]
        self._period, self._latency = Histogram(), Histogram()
        self._phases, self._stolen = PhaseStatistics(), StolenTime()
        self._ticks = self._missed = self._lost = 0
        self._before_ns = -1
        self._answered = np.empty(0, np.bool_)
        self.lost_in_a_row = 0

    def blame(self, words: NDArray[np.float64]) -> None:
        """Write the cause STOLEN to those records (records × words) whose overrun the hypervisor explains.

        The loop sees that it was late, not that the processor was taken from the whole computer. The kernel
        reports this in a file that the loop does not read.
        """
        causes = words.view(np.int64)[:, self._overrun]
        unexplained = (causes == _UNKNOWN) | (causes == _LATE_WAKE)
        if unexplained.any() and self._stolen.grew():
            causes[unexplained] = OverrunCause.STOLEN
        self._stolen.refresh(time.monotonic_ns())

    def add(self, words: NDArray[np.float64]) -> None:
        """Count a batch of records (n, words)."""
        if not len(words):
            return
        integers = words.view(np.int64)
        received, sent, missed, lost, connected = integers[:, self._columns].T
        periods = np.diff(
            received, prepend=self._before_ns if self._before_ns >= 0 else received[0] - PAUSE_NS
        )
        self._period.add_all(periods[periods < PAUSE_NS])
        self._before_ns = int(received[-1])
        self._missed += int(missed.sum())
        self._lost += int(np.count_nonzero(lost))
        self.lost_in_a_row = int(lost[-1])
        answered = (connected != 0) & (lost == 0)
        self._latency.add_all(sent[answered] - received[answered])
        self._phases.add(words[:, self._phase : self._phase + len(PHASES)], integers[:, self._overrun])
        self._window(connected != 0, answered)
        self._ticks += len(words)

    def _window(self, connected: NDArray[np.bool_], answered: NDArray[np.bool_]) -> None:
        """Keep the last periods of the present connection; a lost connection begins a new window."""
        apart = np.flatnonzero(~connected)
        if len(apart):
            self._answered = answered[apart[-1] + 1 :][-LINK_WINDOW:]
        else:
            self._answered = np.concatenate((self._answered, answered))[-LINK_WINDOW:]

    def success_rate(self) -> float:
        """Share of the last 100 periods in which a state arrived; 0 without a plant."""
        return float(self._answered.mean()) if len(self._answered) else 0.0

    def timing(self) -> LoopTiming:
        """Return the timing section of `status`."""
        return {
            "ticks": self._ticks,
            "missed": self._missed,
            "lost": self._lost,
            "period_us": _quantiles(self._period),
            "latency_us": _quantiles(self._latency),
            "window": self._phases.window(),
            "since_start": self._phases.since_start(),
        }


def _quantiles(histogram: Histogram) -> Quantiles:
    return {
        "p50": round(histogram.quantile(0.5) / 1e3, 2),
        "p99": round(histogram.quantile(0.99) / 1e3, 2),
        "max": round(histogram.max_ns / 1e3, 2),
    }


def _phase(p50: float, p99: float, p999: float, largest: float) -> PhaseQuantiles:
    return {
        "p50": round(p50 / 1e3, 2),
        "p99": round(p99 / 1e3, 2),
        "p999": round(p999 / 1e3, 2),
        "max": round(largest / 1e3, 2),
    }


def _by_cause(counts: NDArray[np.int64]) -> dict[str, int]:
    found = {cause.name.lower(): int(counts[cause]) for cause in OverrunCause if cause and counts[cause]}
    return dict(sorted(found.items(), key=lambda each: -each[1]))


_STAT = Path("/proc/stat")
_STEAL = 8
"""Column of the time stolen in the line of all processors (proc(5))."""
REFRESH_NS = 100_000_000


class StolenTime:
    """Detects stolen time, in steps of the kernel's clock tick (10 ms)."""

    def __init__(self) -> None:
        self._before, self._read_ns = _stolen(), 0

    def refresh(self, now_ns: int) -> None:
        """Read the count again where the last reading is older than REFRESH_NS, so that `grew` is recent."""
        if now_ns - self._read_ns >= REFRESH_NS:
            self._before, self._read_ns = _stolen(), now_ns

    def grew(self) -> bool:
        """Whether time was stolen from any processor since the count was read last."""
        before, self._before = self._before, _stolen()
        return self._before > before


def _stolen() -> int:
    """Clock ticks stolen from all processors since the computer started; 0 where the kernel does not say."""
    try:
        return int(_STAT.read_bytes().split(b"\n", 1)[0].split()[_STEAL])
    except (OSError, ValueError, IndexError):
        return 0
