"""How well the loop keeps time and the link keeps up, counted from its records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from controller.records import RecordLayout
from protocol.results import Quantiles, Timing
from timing.statistics import Histogram

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
        self._answered = bytearray(WINDOW)
        self._seen = 0
        self.lost_in_a_row = 0

    def add(self, words: NDArray[np.float64]) -> None:
        """Counts a batch of records (n, words)."""
        for received, sent, missed, lost, connected in words.view(np.int64)[:, self._columns].tolist():
            period = received - self._before_ns
            if self._before_ns >= 0 and period < PAUSE_NS:
                self._period.add(period)
            self._before_ns = received
            self._missed += missed
            self._lost += lost > 0
            self.lost_in_a_row = lost
            if connected:
                self._answered[self._seen % WINDOW] = lost == 0
                self._seen += 1
            else:
                self._seen = 0
            if connected and not lost:
                self._latency.add(sent - received)
        self._ticks += len(words)

    def success_rate(self) -> float:
        """Share of the last 100 periods in which a state arrived; 0 without a plant."""
        counted = min(self._seen, WINDOW)
        return sum(self._answered[:counted]) / counted if counted else 0.0

    def timing(self) -> Timing:
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
