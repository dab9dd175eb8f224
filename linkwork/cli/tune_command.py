"""`linkwork tune`: settings of the controller that minimise a figure of merit over a campaign."""

import math
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.campaigns.analysis import analyse
from linkwork.campaigns.campaign_page import write_page
from linkwork.campaigns.campaign_run import (
    CampaignOptions,
    LocalWorkers,
    plain_failures,
    processors,
    run_campaign,
)
from linkwork.campaigns.results_table import ResultsTable
from linkwork.campaigns.tuning import Candidate, TuningPlan, compared, read_tuning, write_patch
from linkwork.campaigns.tuning import tune as search
from linkwork.cli.options.study import TuneOptions
from linkwork.reports.chart import Chart
from linkwork.reports.provenance import provenance
from linkwork.reports.quantities import amount, scale
from linkwork.terminal.failures import DONE, GOAL_FAILED
from linkwork.terminal.output import complain, console, emit, number, run_bar, say, table


def tune(options: TuneOptions) -> int:
    """Run `linkwork tune`."""
    tuning = read_tuning(options.file)
    begun, count = time.monotonic(), options.workers or processors()
    folder = options.out or Path("linkwork-out") / f"tune-{tuning.plan.file.name}"
    with plain_failures():
        with run_bar(console, "candidates") as progress, LocalWorkers(count) as pool:
            best, candidates = search(tuning, pool, folder, progress)
        if best.broken:
            complain(
                "every candidate fails, violates a limit, misses a requirement or has too small a stability"
                f" margin; the best one in {100.0 * best.broken:.1f} % of its runs and poses"
            )
            return GOAL_FAILED
        patch = write_patch(tuning, best, folder)
        plan = compared(tuning, best, folder)
        with run_bar(console, "comparison") as progress:
            path = run_campaign(plan, CampaignOptions(folder / "comparison", count), progress)
        results = ResultsTable(path)
        told = provenance(sys.argv[1:], time.monotonic() - begun)
        shown = _evidence(tuning, best, candidates)
        page = write_page(plan, results, analyse(plan, results), told, folder, shown)
    if options.as_json:
        settings = dict(zip(tuning.keys, best.settings, strict=True))
        emit(
            {"settings": settings, "value": best.value, "before": _before(tuning, candidates),
             "margin": vars(best.margin), "candidates": len(candidates),
             "patch": str(patch), "report": str(page)}
        )  # fmt: skip
    else:
        _show(tuning, best, candidates)
        say(f"settings: {shlex.quote(str(patch))}")
        say(f"report: {shlex.quote(str(page))}")
    return DONE


def _before(tuning: TuningPlan, candidates: Sequence[Candidate]) -> float | None:
    """The figure of merit with the file's own settings."""
    present = _present(tuning, candidates)
    return None if present is None else present.value


def _present(tuning: TuningPlan, candidates: Sequence[Candidate]) -> Candidate | None:
    """The candidate with the file's own settings, the first one where the file gives them."""
    return None if tuning.present() is None else candidates[0]


def _margins(
    tuning: TuningPlan, best: Candidate, candidates: Sequence[Candidate]
) -> list[tuple[str, str, str, str]]:
    """Rows: margin, in the file, found, required."""
    present, required = _present(tuning, candidates), tuning.section.stability_margin

    def row(name: str, key: str, factor: float, unit: str) -> tuple[str, str, str, str]:
        def shown(margin: Any) -> str:
            value = getattr(margin, key)
            return "unlimited" if math.isinf(value) else f"{factor * value:.3g}{unit}"

        before = "–" if present is None else shown(present.margin)
        return f"{name} margin", before, shown(best.margin), f"≥ {shown(required)}"

    return [
        row("gain", "gain", 1.0, ""),
        row("phase", "phase_deg", 1.0, " deg"),
        row("delay", "delay_s", 1e3, " ms"),
    ]


def _rows(tuning: TuningPlan, best: Candidate) -> list[tuple[str, str, str, str]]:
    present = tuning.present()
    return [
        (key, "–" if present is None else number(float(present[place])), number(best.settings[place]),
         f"{number(low)} … {number(high)}")
        for place, (key, (low, high)) in enumerate(tuning.section.settings.items())
    ]  # fmt: skip


def _show(tuning: TuningPlan, best: Candidate, candidates: Sequence[Candidate]) -> None:
    rows: list[Sequence[str]] = list(_rows(tuning, best))
    console.print(table("settings", ("key", "in the file", "found", "searched"), rows))
    margins: list[Sequence[str]] = list(_margins(tuning, best, candidates))
    console.print(table("stability margins", ("margin", "in the file", "found", "required"), margins))
    section, before = tuning.section, _before(tuning, candidates)
    unit = tuning.plan.figures[section.minimise]
    was = f", before {number(before)} {unit}" if before is not None else ""
    say(f"{section.minimise}, {section.over}: {number(best.value)} {unit}{was}; {len(candidates)} candidates")


def _evidence(tuning: TuningPlan, best: Candidate, candidates: Sequence[Candidate]) -> dict[str, Any]:
    """The settings that were found, and the figure of merit over the search."""
    section, unit = tuning.section, tuning.plan.figures[tuning.section.minimise]
    values = np.array([each.value if each.broken == 0.0 else math.nan for each in candidates])
    best_so_far = np.fmin.accumulate(values)
    factor, shown = scale(float(np.nanmax(values, initial=0.0)), unit)
    numbers = np.arange(1.0, len(values) + 1.0)
    note = "gaps: a run fails or violates a limit, or a margin is too small"
    chart = Chart("Search", "candidate", f"{section.minimise} / {shown}", log=True, note=note)
    chart.line("best so far", numbers, best_so_far * factor)
    chart.line("candidate", numbers, values * factor, dashed=True)
    before = _before(tuning, candidates)
    was = "–" if before is None else amount(before, unit)
    merit = (
        f"{section.minimise}, {section.over} of {tuning.plan.runs} runs",
        was,
        amount(best.value, unit),
        "",
    )
    margins = list(_margins(tuning, best, candidates))
    return {"settings": [*_rows(tuning, best), merit], "margins": margins, "chart": chart}
