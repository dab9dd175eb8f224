"""The report of a campaign as one self-contained HTML file: no scripts, no external fonts or pictures."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.campaigns.analysis import (
    Analysis,
    Sensitivity,
    named_values,
    random_part,
    shown_figures,
    told_without_indices,
)
from linkwork.campaigns.campaign_plan import CampaignPlan
from linkwork.campaigns.results_table import ResultsTable
from linkwork.reports.chart import HUES, MOST, Chart
from linkwork.reports.pages import render, write_whole
from linkwork.reports.provenance import origin
from linkwork.reports.quantities import DASH, amount, scale

FILE: Final = "report.html"
SCATTERED: Final = 2
"""Parameters of largest effect against which a figure is drawn."""
_KINDS: Final = {"rank": "rank correlation", "first": "first order", "total": "total order"}
_POINTS: Final = 200
"""Points of a cumulative distribution."""

Groups = Sequence[tuple[str, np.ndarray[Any, np.dtype[np.intp]]]]


def write_page(
    plan: CampaignPlan,
    table: ResultsTable,
    found: Analysis,
    told: Mapping[str, Any],
    folder: Path,
    tuning: Mapping[str, Any] | None = None,
) -> Path:
    """Write the report of a campaign to its folder, whole or not at all; return its path. Raises OSError.

    table: results of all runs; found: their analysis. told: provenance. tuning: rows of `settings` and
    `margins`, and a `chart`, which are shown first.
    """
    return write_whole(folder / FILE, campaign_page(plan, table, found, told, tuning))


def campaign_page(
    plan: CampaignPlan,
    table: ResultsTable,
    found: Analysis,
    told: Mapping[str, Any],
    tuning: Mapping[str, Any] | None = None,
) -> str:
    """Return the report of a campaign as one HTML file; arguments as of `write_page`."""
    variant, trajectory = table.texts("variant"), table.texts("trajectory")
    pairs = [(each.variant, each.trajectory) for each in found.groups]
    groups = [
        (_named(plan, *pair), np.flatnonzero((variant == pair[0]) & (trajectory == pair[1])))
        for pair in pairs
    ]
    rows = origin(told)
    rows.insert(2, ("campaign", plan.recipe.identity[:16]))
    return render(
        "campaign.html",
        title=f"Campaign {plan.file.name}",
        plan=plan,
        found=found,
        tuning=tuning,
        runs=sum(each.runs for each in found.groups),
        passed=sum(each.passed for each in found.groups),
        failed=sum(each.runs - each.succeeded for each in found.groups),
        percent=_percent,
        rates={(each.variant, each.trajectory, each.figure): each.passed for each in found.spreads},
        figures=_figures(plan, table, found, groups),
        parameters=named_values,
        spreads=_spreads(plan, found),
        origin=rows,
    )


def _named(plan: CampaignPlan, variant: str, trajectory: str) -> str:
    """Name of a group: only what differs between groups."""
    parts = [variant] * (len(plan.variants) > 1) + [trajectory] * (len(plan.trajectories) > 1)
    return ", ".join(parts) or trajectory


def _percent(part: int, whole: int) -> str:
    return f"{100.0 * part / whole:.1f} %" if whole else DASH


def _figures(
    plan: CampaignPlan, table: ResultsTable, found: Analysis, groups: Groups
) -> Iterator[tuple[str, str, list[Chart]]]:
    """Yield each figure with a requirement, and the reason why it has no indices, if so.

    Charts are its distribution, sensitivities, and the parameters of largest effect.
    """
    for name in shown_figures(plan):
        values = table.numbers(name)
        if not np.isfinite(values).any():
            continue
        mine = [each for each in found.sensitivities if each.figure == name]
        charts = [_distribution(plan, name, values, groups), *_effects(mine, groups[0][0])]
        charts += _scattered(plan, table, name, values, mine, groups)
        yield name, told_without_indices(found, name), charts


def _distribution(plan: CampaignPlan, name: str, values: Floats, groups: Groups) -> Chart:
    """Cumulative distribution of each group, with the requirement."""
    factor, unit = _scale(plan, name, values)
    chart = Chart("Distribution", f"{name} / {unit}", "runs below / %")
    for label, rows in islice(groups, HUES):
        known = np.sort(values[rows][np.isfinite(values[rows])]) * factor
        if len(known):
            share = np.linspace(0.0, 1.0, min(len(known), _POINTS)) if len(known) > 1 else np.array([1.0])
            chart.line(label, np.quantile(known, share), 100.0 * share)
    limit = plan.file.requirements.get(name)
    if limit is not None and float(np.nanmin(values)) <= limit <= float(np.nanmax(values)):
        chart.moment(limit * factor, "required")
    return chart


def _scale(plan: CampaignPlan, name: str, values: Floats) -> tuple[float, str]:
    unit = plan.figures[name]
    factor, shown = scale(float(np.nanmax(np.abs(values), initial=0.0)), "" if unit == "1" else unit)
    return factor, shown or "1"


def _effects(mine: Sequence[Sensitivity], group: str) -> Iterator[Chart]:
    """Sensitivities of a figure in one group of runs, of each kind."""
    for number, kind in enumerate(dict.fromkeys(each.kind for each in mine)):
        rows = [each for each in _by_effect(mine) if each.kind == kind]
        word = "Spearman's rank correlation" if kind == "rank" else f"Sobol index, {_KINDS[kind]}"
        note = f"{group}, with intervals of 95 %"
        chart = Chart(f"Sensitivity, {_KINDS[kind]}", word, note=note, rows=len(rows))
        for each in rows:
            chart.interval(each.parameter, each.value, each.low, each.high, number + 1)
        yield chart


def _by_effect(mine: Sequence[Sensitivity]) -> list[Sensitivity]:
    """The largest effect first, unknown ones last."""
    return sorted(mine, key=lambda one: 1.0 if math.isnan(one.value) else -abs(one.value))


def _scattered(
    plan: CampaignPlan,
    table: ResultsTable,
    name: str,
    values: Floats,
    mine: Sequence[Sensitivity],
    groups: Groups,
) -> Iterator[Chart]:
    kind = "total" if any(each.kind == "total" for each in mine) else "rank"
    order = [each for each in _by_effect(mine) if each.kind == kind and not math.isnan(each.value)]
    factor, unit = _scale(plan, name, values)
    limit = plan.file.requirements.get(name)
    shown = [(label, random_part(rows[np.isfinite(values[rows])], MOST)) for label, rows in groups[:HUES]]
    for each in order[:SCATTERED]:
        spec = plan.file.parameters[each.parameter]
        x = table.numbers(f"parameter.{each.parameter}")
        x_label = f"{each.parameter} / {spec.unit or '1'}"
        log_x = spec.loguniform is not None
        chart = Chart(f"Against {each.parameter}", x_label, f"{name} / {unit}", log_x=log_x)
        for label, rows in shown:
            chart.dots(label, x[rows], values[rows] * factor)
        if limit is not None and limit <= 2.0 * float(np.nanmax(values)):
            chart.limit(limit * factor, "required")
        yield chart


def _spreads(plan: CampaignPlan, found: Analysis) -> list[list[str]]:
    return [
        [
            each.figure,
            _named(plan, each.variant, each.trajectory),
            *(amount(value, plan.figures[each.figure]) for value in (each.median, each.high, each.worst)),
            DASH if math.isnan(each.passed) else f"{100.0 * each.passed:.1f} %",
        ]
        for each in found.spreads
    ]
