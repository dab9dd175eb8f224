"""How well the loop keeps time and the link keeps up, counted from its records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.records import RecordLayout
from linkwork.protocol.results import LoopTiming, Quantiles
from linkwork.timing.statistics import Histogram

WINDOW = 100
"""Periods over which the link's success rate is taken."""
PAUSE_NS = 500_000_000
"""Lockstep time may stand between two ticks; what is longer than this is no period."""


class LoopStatistics:
    """Period, latency and losses since the loop started. Memory is taken once."""

    def __init__(self, layout: RecordLayout) -> None:
        names = ("received_ns", "sent_ns", "missed", "lost_in_a_row", "connected")
        self._columns = [layout.offsets[name] for name in names]
        self._period, self._latency = Histogram(), Histogram()
        self._ticks = self._missed = self._lost = 0
        self._before_ns = -1
        self._answered = np.empty(0, np.bool_)
        self.lost_in_a_row = 0

    def add(self, words: NDArray[np.float64]) -> None:
        """Counts a batch of records (n, words)."""
        if not len(words):
            return
        received, sent, missed, lost, connected = words.view(np.int64)[:, self._columns].T
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
        self._window(connected != 0, answered)
        self._ticks += len(words)

    def _window(self, connected: NDArray[np.bool_], answered: NDArray[np.bool_]) -> None:
        """Keeps the last periods of the connection that stands; a connection lost begins a new window."""
        apart = np.flatnonzero(~connected)
        if len(apart):
            self._answered = answered[apart[-1] + 1 :][-WINDOW:]
        else:
            self._answered = np.concatenate((self._answered, answered))[-WINDOW:]

    def success_rate(self) -> float:
        """Share of the last 100 periods in which a state arrived; 0 without a plant."""
        return float(self._answered.mean()) if len(self._answered) else 0.0

    def timing(self) -> LoopTiming:
        """What `status` says about time keeping."""
        return {
            "ticks": self._ticks,
            "missed": self._missed,
            "lost": self._lost,
            "period_us": _quantiles(self._period),
            "latency_us": _quantiles(self._latency),
        }


def _quantiles(histogram: Histogram) -> Quantiles:
    return {
        "p50": round(histogram.quantile(0.5) / 1e3, 2),
        "p99": round(histogram.quantile(0.99) / 1e3, 2),
        "max": round(histogram.max_ns / 1e3, 2),
    }
