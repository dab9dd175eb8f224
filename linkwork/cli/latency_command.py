"""`linkwork latency`: the timing of this computer."""

from __future__ import annotations

from linkwork.cli.options.files import LatencyOptions
from linkwork.diagnostics.latency import LOAD, LatencyError, run_latency
from linkwork.diagnostics.latency_text import report_text
from linkwork.terminal.failures import Misuse
from linkwork.terminal.output import console, emit, goal_bar, say


def latency(options: LatencyOptions) -> None:
    """Run `linkwork latency`."""
    if not options.as_json and not options.load:
        console.print(LOAD, style="dim")
    try:
        with goal_bar(console, "measuring") as progress:
            report = run_latency(
                options.for_seconds or options.seconds,
                period_s=options.period,
                under_load=options.load,
                blame=options.blame,
                progress=progress,
            )
    except LatencyError as error:
        raise Misuse(str(error)) from None
    if options.as_json:
        emit(report.as_dict())
    else:
        say(report_text(report))
