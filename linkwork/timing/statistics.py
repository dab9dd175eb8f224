"""Statistics of durations in bounded memory: a histogram with logarithmic bins.

A bin is one thirty-second of its octave wide, so a quantile is right to 1.6 % wherever it lies between a
nanosecond and an hour. Memory is allocated once; adding takes a fraction of a microsecond without lasting
allocation.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

_SUB_BITS = 5
_SUB = 1 << _SUB_BITS
_OCTAVES = 42
_BINS = _SUB * (_OCTAVES - _SUB_BITS + 1)
_CEILING_NS = (1 << _OCTAVES) - 1
_FEW = 64
"""Below so many durations, adding them one by one is faster than through arrays."""


@dataclass(frozen=True)
class Summary:
    """A histogram in six numbers; all durations in ns, zero when empty."""

    count: int
    mean_ns: float
    p50_ns: float
    p99_ns: float
    p999_ns: float
    max_ns: int

    def in_microseconds(self) -> dict[str, float]:
        """Return the summary as a mapping for JSON: count, mean_us, p50_us, p99_us, p999_us, max_us."""
        values = asdict(self)
        count = values.pop("count")
        return {"count": count} | {
            key.removesuffix("_ns") + "_us": round(value / 1e3, 3) for key, value in values.items()
        }


class Histogram:
    """Counts of durations in ns. Negative durations count as zero, those beyond 73 minutes as 73 minutes."""

    __slots__ = ("_bins", "count", "max_ns", "min_ns", "total_ns")

    def __init__(self) -> None:
        self._bins = [0] * _BINS
        self.reset()

    def reset(self) -> None:
        """Forget everything; keep the memory."""
        for index in range(_BINS):
            self._bins[index] = 0
        self.count = self.total_ns = self.max_ns = 0
        self.min_ns = _CEILING_NS

    def add(self, duration_ns: int) -> None:
        """Count one duration, an integer of ns."""
        value = 0 if duration_ns < 0 else min(duration_ns, _CEILING_NS)
        shift = value.bit_length() - _SUB_BITS - 1
        self._bins[value if shift < 0 else (shift << _SUB_BITS) + (value >> shift)] += 1
        self.count += 1
        self.total_ns += value
        if value > self.max_ns:
            self.max_ns = value
        if value < self.min_ns:
            self.min_ns = value

    def add_all(self, durations_ns: NDArray[np.int64]) -> None:
        """Count many durations (n) at once, each an integer of ns."""
        if len(durations_ns) < _FEW:
            for duration_ns in durations_ns.tolist():
                self.add(duration_ns)
            return
        values = np.clip(durations_ns, 0, _CEILING_NS)
        shifts = np.maximum(np.frexp(values.astype(np.float64))[1] - (_SUB_BITS + 1), -1)
        at = np.where(shifts < 0, values, (shifts << _SUB_BITS) + (values >> np.maximum(shifts, 0)))
        for index, count in zip(
            *(found.tolist() for found in np.unique(at, return_counts=True)), strict=True
        ):
            self._bins[index] += count
        self.count += len(values)
        self.total_ns += int(values.sum())
        self.max_ns = max(self.max_ns, int(values.max()))
        self.min_ns = min(self.min_ns, int(values.min()))

    def quantile(self, fraction: float) -> float:
        """The duration (ns) that `fraction` (0 to 1) of all durations do not exceed.

        0 when there are none.
        """
        if not 0.0 <= fraction <= 1.0:
            raise ValueError(f"fraction is {fraction}; a quantile's fraction must be between 0 and 1")
        if not self.count:
            return 0.0
        wanted = fraction * self.count
        reached = 0
        for low, high, count in self.bins():
            reached += count
            if reached >= wanted:
                return float(min(max((low + high - 1) / 2, self.min_ns), self.max_ns))
        return float(self.max_ns)

    def bins(self) -> Iterator[tuple[int, int, int]]:
        """The bins that hold something: (first ns, first ns of the bin after it, count), in rising order."""
        for index, count in enumerate(self._bins):
            if count:
                shift = max((index >> _SUB_BITS) - 1, 0)
                low = (index - (shift << _SUB_BITS)) << shift
                yield low, low + (1 << shift), count

    def summary(self) -> Summary:
        """Mean, median, 99th and 99.9th percentile and maximum."""
        mean = self.total_ns / self.count if self.count else 0.0
        return Summary(
            self.count, mean, self.quantile(0.5), self.quantile(0.99), self.quantile(0.999), self.max_ns
        )
