"""`linkwork latency`: the timing of this computer, as a table, two histograms and a verdict."""

from bisect import bisect_right
from math import log1p

from linkwork.cli.options.files import LatencyOptions
from linkwork.diagnostics.latency import LOAD, LatencyReport, run_latency
from linkwork.terminal.output import console, emit, goal_bar, say
from linkwork.timing.statistics import Histogram


def latency(options: LatencyOptions) -> None:
    """Run `linkwork latency`."""
    if not options.as_json and not options.load:
        console.print(LOAD, style="dim")
    with goal_bar(console, "measuring") as progress:
        report = run_latency(
            options.for_seconds or options.seconds,
            period_s=options.period,
            under_load=options.load,
            blame=options.blame,
            progress=progress,
        )
    if options.as_json:
        emit(report.as_dict())
    else:
        say(report_text(report))


_NAMES = {
    "late": {"exchange": "loop", "sleep": "bare absolute sleep", "bare": "bare echo"},
    "trips": {"exchange": "device link", "bare": "bare ZeroMQ echo"},
}
_MOST_CAUSES = 3
_EDGES_US = tuple(step * 10**power for power in range(-1, 7) for step in (1, 2, 5))


def report_text(report: LatencyReport, width: int = 100) -> str:
    """The whole report in lines of at most about `width` characters."""
    word, meaning = report.verdict
    share = report.jitter_us / (report.period_s * 1e6)
    loaded = report.under_load
    lines = [report.realtime, "", *_means(report), ""]
    if loaded is not None:
        lines += [f"load: {report.load}", ""]
    for title, each in (("without load", report), ("under load", loaded)):
        if each is not None:
            about = f", {title}" if loaded is not None else ""
            lines += [f"all in us{about}", *_table(each), "", *_ratios(each), ""]
            lines += [f"late wake-ups of the loop{about}", *bars(each.late["exchange"], width), ""]
            lines += [f"round trips over the device link{about}", *bars(each.trips["exchange"], width), ""]
    lines += _blame(report)
    late = f"the latest wake-up was {report.jitter_us:.1f} us, {share:.1%} of a period"
    lines += [f"{word}: {late}; {meaning}."]
    return "\n".join(lines if loaded is not None else [*lines, LOAD])


def _means(report: LatencyReport) -> list[str]:
    """The means for real time, one a line; those that are missing with their remedy."""
    wide = max((len(each.name) for each in report.means), default=0)
    lines = [
        f"  {each.name:<{wide}}  " + (each.obtained if each.met else f"{each.obtained}; wanted: {each.asked}")
        for each in report.means
    ]
    missing = [each for each in report.means if not each.met]
    remedies = [f"  {each.name}: {each.remedy}" for each in missing]
    return [
        f"real-time means: {len(report.means) - len(missing)} of {len(report.means)} obtained",
        *lines,
        *(["missing, and how to get it", *remedies] if remedies else []),
    ]


def _blame(report: LatencyReport) -> list[str]:
    """The causes of the latest wake-ups, or why they are not known; empty unless they were requested."""
    if report.no_blame:
        return [f"causes are not known: {report.no_blame}", ""]
    if not report.blame:
        return []
    lines = ["latest wake-ups, and what the kernel did meanwhile"]
    for each in report.blame:
        where = " under load" if each.loaded else ""
        lines.append(f"  {each.late_ns / 1e3:>9.1f} us{where}")
        lines += [f"  {cause.share_ns / 1e3:>15.1f} us  {cause.what}" for cause in each.causes[:_MOST_CAUSES]]
        if not each.causes:
            lines.append("                the trace does not show it")
    return [*lines, ""]


def bars(histogram: Histogram, width: int = 100) -> list[str]:
    """A histogram as lines.

    From - to in us, the count, and a bar on a logarithmic scale, so that rare ones show.
    """
    counts: dict[int, int] = {}
    for low, high, count in histogram.bins():
        place = bisect_right(_EDGES_US, (low + high - 1) / 2e3)
        counts[place] = counts.get(place, 0) + count
    if not counts:
        return ["  nothing was measured"]
    longest = max(width - 36, 10) / log1p(max(counts.values()))
    lines = []
    for place in range(min(counts), max(counts) + 1):
        low_us = _EDGES_US[place - 1] if place else 0
        high_us = f"{_EDGES_US[place]:g}" if place < len(_EDGES_US) else ""
        count = counts.get(place, 0)
        bar = "#" * (max(round(longest * log1p(count)), 1) if count else 0)
        lines.append(f"  {low_us:>8g} - {high_us:<8} us {count:>9} {bar}")
    return lines


def _table(report: LatencyReport) -> list[str]:
    heads = ("count", "p50", "p99", "p99.9", "max", "skipped")
    lines = [" " * 34 + "".join(f"{head:>11}" for head in heads)]
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
