"""The latency report for people: a table, two histograms, the verdict."""

from __future__ import annotations

from bisect import bisect_right

from linkwork.diagnostics.latency import LOAD, LatencyReport
from linkwork.timing.statistics import Histogram

_NAMES = {
    "late": {"exchange": "loop", "sleep": "bare absolute sleep", "bare": "bare echo"},
    "trips": {"exchange": "device link", "bare": "bare ZeroMQ echo"},
}
_EDGES_US = tuple(step * 10**power for power in range(-1, 7) for step in (1, 2, 5))


def report_text(report: LatencyReport, width: int = 100) -> str:
    """The whole report in lines of at most about `width` characters."""
    word, meaning = report.verdict
    share = report.jitter_us / (report.period_s * 1e6)
    return "\n".join(
        (
            report.realtime,
            *(f"  {warning}" for warning in report.warnings),
            "",
            *_table(report),
            "",
            *_ratios(report),
            "",
            "late wake-ups of the loop",
            *bars(report.late["exchange"], width),
            "",
            "round trips over the device link",
            *bars(report.trips["exchange"], width),
            "",
            f"{word}: the latest wake-up was {report.jitter_us:.1f} us, {share:.1%} of a period; {meaning}.",
            LOAD,
        )
    )


def bars(histogram: Histogram, width: int = 100) -> list[str]:
    """A histogram as lines.

    From - to in us, a bar on a square-root scale (so that rare ones show), the count.
    """
    counts: dict[int, int] = {}
    for low, high, count in histogram.bins():
        place = bisect_right(_EDGES_US, (low + high - 1) / 2e3)
        counts[place] = counts.get(place, 0) + count
    if not counts:
        return ["  nothing was measured"]
    longest = max(width - 36, 10) / max(counts.values()) ** 0.5
    lines = []
    for place in range(min(counts), max(counts) + 1):
        low_us = _EDGES_US[place - 1] if place else 0
        high_us = f"{_EDGES_US[place]:g}" if place < len(_EDGES_US) else ""
        count = counts.get(place, 0)
        bar = "#" * (max(round(longest * count**0.5), 1) if count else 0)
        lines.append(f"  {low_us:>8g} - {high_us:<8} us {count:>9} {bar}")
    return lines


def _table(report: LatencyReport) -> list[str]:
    heads = ("count", "p50", "p99", "p99.9", "max", "skipped")
    lines = [f"{'all in us':<34}" + "".join(f"{head:>11}" for head in heads)]
    for kind, title, histograms in (
        ("late", "woke late", report.late),
        ("trips", "round trip", report.trips),
    ):
        for block, name in _NAMES[kind].items():
            summary = histograms[block].summary()
            numbers = (summary.p50_ns, summary.p99_ns, summary.p999_ns, summary.max_ns)
            skipped = f"{report.skipped[block]:>11}" if kind == "late" else ""
            lines.append(
                f"{title:<12}{name:<22}{summary.count:>11}"
                + "".join(f"{number / 1e3:>11.1f}" for number in numbers)
                + skipped
            )
    return lines


def _ratios(report: LatencyReport) -> list[str]:
    rows = (
        ("loop / bare absolute sleep", report.ratio("late", "exchange", "sleep")),
        ("device link / bare ZeroMQ echo", report.ratio("trips", "exchange", "bare")),
    )
    return [
        f"{name:<34}median {ratio['p50']:.2f} (quartiles {ratio['p50_low_quartile']:.2f} to "
        f"{ratio['p50_high_quartile']:.2f}), p99 {ratio['p99']:.2f}"
        for name, ratio in rows
    ]
