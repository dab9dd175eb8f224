"""The report of a campaign as one self-contained HTML file: no scripts, no external fonts or pictures."""

from __future__ import annotations

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
    WorstCase,
    named_values,
    random_part,
    shown_figures,
    told_without_indices,
)
from linkwork.campaigns.campaign_plan import CampaignPlan
from linkwork.campaigns.results_table import ResultsTable
from linkwork.reports.chart import (
    HUES,
    MOST,
    Chart,
    ChartLine,
    Interval,
    Limit,
    Moment,
    figure,
    intervals,
    scatter,
)
from linkwork.reports.markup import Content, Markup, definitions, document, element, plain_table, write_whole
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
    evidence: Content = None,
) -> Path:
    """Write the report, whole or not at all; return its path. told: provenance. evidence: shown first.

    Raises OSError.
    """
    return write_whole(folder / FILE, campaign_page(plan, table, found, told, evidence))


def campaign_page(
    plan: CampaignPlan,
    table: ResultsTable,
    found: Analysis,
    told: Mapping[str, Any],
    evidence: Content = None,
) -> str:
    """Return the whole file."""
    variant, trajectory = table.texts("variant"), table.texts("trajectory")
    pairs = [(each.variant, each.trajectory) for each in found.groups]
    groups = [
        (_named(plan, *pair), np.flatnonzero((variant == pair[0]) & (trajectory == pair[1])))
        for pair in pairs
    ]
    return document(
        f"Campaign {plan.file.name}",
        _head(plan, found),
        element(
            "main",
            evidence,
            element("h2", "Results"),
            _pass_rates(plan, found),
            *_figures(plan, table, found, groups),
            element("h2", "Worst cases"),
            _cases(plan, (*found.failed, *found.worst)),
            element("h2", "All figures"),
            _spreads(plan, found),
        ),
        _provenance(plan, told),
    )


def _named(plan: CampaignPlan, variant: str, trajectory: str) -> str:
    """Name of a group: only what differs between groups."""
    parts = [variant] * (len(plan.variants) > 1) + [trajectory] * (len(plan.trajectories) > 1)
    return ", ".join(parts) or trajectory


def _head(plan: CampaignPlan, found: Analysis) -> Markup:
    runs = sum(each.runs for each in found.groups)
    passed = sum(each.passed for each in found.groups)
    failed = runs - sum(each.succeeded for each in found.groups)
    parts = [f"machine {plan.machine.name}", f"{runs} runs", f"{len(plan.design)} samples"]
    parts += [f"{plan.file.sampling.method.replace('_', ' ')} design", f"seed {plan.file.seed}"]
    return element(
        "header",
        element("h1", f"Campaign {plan.file.name}"),
        element("p", plan.file.about, class_="lead") if plan.file.about else None,
        element("p", ", ".join(parts), class_="lead"),
        element(
            "p",
            element("b", f"{_percent(passed, runs)} passed", class_="good" if passed == runs else "bad"),
            element("span", f"{failed} without success") if failed else None,
            class_="verdict",
        ),
    )


def _percent(part: int, whole: int) -> str:
    return f"{100.0 * part / whole:.1f} %" if whole else DASH


def _pass_rates(plan: CampaignPlan, found: Analysis) -> Markup:
    required = list(plan.file.requirements)
    rates = {(each.variant, each.trajectory, each.figure): each.passed for each in found.spreads}
    titles = ["variant", "motion", "runs", "succeeded", "passed"]
    titles += [
        f"{name} ≤ {amount(limit, plan.figures[name])}" for name, limit in plan.file.requirements.items()
    ]
    rows: list[list[Content]] = []
    for each in found.groups:
        others = [f"{count} {name}" for name, count in each.results if name != "SUCCESSFUL"]
        succeeded: Content = _percent(each.succeeded, each.runs)
        if others:
            succeeded = element("span", str(succeeded), element("small", ", ".join(others)))
        shares: list[Content] = [
            f"{100.0 * rates[each.variant, each.trajectory, name]:.1f} %" for name in required
        ]
        passed = _percent(each.passed, each.runs)
        rows.append([each.variant, each.trajectory, str(each.runs), succeeded, passed, *shares])
    return plain_table(titles, rows, range(2, len(titles)))


def _figures(plan: CampaignPlan, table: ResultsTable, found: Analysis, groups: Groups) -> Iterator[Markup]:
    """Each figure with a requirement: distribution, sensitivities, and the parameters of most effect."""
    for name in shown_figures(plan):
        values = table.numbers(name)
        if not np.isfinite(values).any():
            continue
        mine = [each for each in found.sensitivities if each.figure == name]
        charts = [_distribution(plan, name, values, groups), *_effects(mine, groups[0][0])]
        why = told_without_indices(found, name)
        charts += _scattered(plan, table, name, values, mine, groups)
        yield element("h3", name)
        if why:
            yield element("p", why, class_="note")
        yield element("div", *charts, class_="charts")


def _distribution(plan: CampaignPlan, name: str, values: Floats, groups: Groups) -> Markup:
    """Cumulative distribution of each group, with the requirement."""
    factor, unit = _scale(plan, name, values)
    lines = []
    for number, (label, rows) in enumerate(islice(groups, HUES)):
        known = np.sort(values[rows][np.isfinite(values[rows])]) * factor
        if len(known):
            share = np.linspace(0.0, 1.0, min(len(known), _POINTS)) if len(known) > 1 else np.array([1.0])
            lines.append(ChartLine(label, np.quantile(known, share), 100.0 * share, number + 1))
    limit = plan.file.requirements.get(name)
    ends = [end * factor for end in (float(np.nanmin(values)), float(np.nanmax(values)))]
    moments: tuple[Moment, ...] = ()
    if limit is not None and ends[0] <= limit * factor <= ends[1]:
        moments = (Moment(limit * factor, "required"),)
    return figure(Chart("Distribution", f"{name} / {unit}", "runs below / %", tuple(lines), moments=moments))


def _scale(plan: CampaignPlan, name: str, values: Floats) -> tuple[float, str]:
    unit = plan.figures[name]
    factor, shown = scale(float(np.nanmax(np.abs(values), initial=0.0)), "" if unit == "1" else unit)
    return factor, shown or "1"


def _effects(mine: Sequence[Sensitivity], group: str) -> Iterator[Markup]:
    """Sensitivities of a figure in one group of runs, of each kind."""
    for number, kind in enumerate(dict.fromkeys(each.kind for each in mine)):
        rows = [
            Interval(each.parameter, each.value, each.low, each.high, number + 1)
            for each in sorted(mine, key=lambda one: -abs(one.value) if one.value == one.value else 1.0)
            if each.kind == kind
        ]
        word = "Spearman's rank correlation" if kind == "rank" else f"Sobol index, {_KINDS[kind]}"
        yield intervals(f"Sensitivity, {_KINDS[kind]}", word, rows, f"{group}, with intervals of 95 %")


def _scattered(
    plan: CampaignPlan,
    table: ResultsTable,
    name: str,
    values: Floats,
    mine: Sequence[Sensitivity],
    groups: Groups,
) -> Iterator[Markup]:
    kind = "total" if any(each.kind == "total" for each in mine) else "rank"
    order = sorted((each for each in mine if each.kind == kind and each.value == each.value),
                   key=lambda one: -abs(one.value))  # fmt: skip
    factor, unit = _scale(plan, name, values)
    limit = plan.file.requirements.get(name)
    level = None
    if limit is not None and limit <= 2.0 * float(np.nanmax(values)):
        level = Limit(limit * factor, "required")
    shown = [(label, random_part(rows[np.isfinite(values[rows])], MOST)) for label, rows in groups[:HUES]]
    for each in order[:SCATTERED]:
        spec = plan.file.parameters[each.parameter]
        x = table.numbers(f"parameter.{each.parameter}")
        marks = [
            ChartLine(label, x[rows], values[rows] * factor, number + 1)
            for number, (label, rows) in enumerate(shown)
        ]
        x_label = f"{each.parameter} / {spec.unit or '1'}"
        log = spec.loguniform is not None
        yield scatter(f"Against {each.parameter}", x_label, f"{name} / {unit}", marks, level, log_x=log)


def _cases(plan: CampaignPlan, cases: Sequence[WorstCase]) -> Markup:
    rows: list[list[Content]] = [
        [
            each.figure,
            amount(each.value, plan.figures.get(each.figure, "1")),
            f"{each.variant}, {each.trajectory}",
            named_values(plan, each.values),
            element("code", f"linkwork campaign {plan.path.name} --run {each.run}"),
        ]
        for each in cases
    ]
    return plain_table(("figure", "value", "variant, motion", "parameters", "alone"), rows, (1,))


def _spreads(plan: CampaignPlan, found: Analysis) -> Markup:
    rows: list[list[Content]] = [
        [
            each.figure,
            _named(plan, each.variant, each.trajectory),
            *(amount(value, plan.figures[each.figure]) for value in (each.median, each.high, each.worst)),
            DASH if math.isnan(each.passed) else f"{100.0 * each.passed:.1f} %",
        ]
        for each in found.spreads
    ]
    return plain_table(("figure", "runs of", "median", "95 %", "worst", "passed"), rows, (2, 3, 4, 5))


def _provenance(plan: CampaignPlan, told: Mapping[str, Any]) -> Markup:
    rows = origin(told)
    rows.insert(2, ("campaign", plan.recipe.identity[:16]))
    return element("section", element("h2", "Provenance"), definitions(rows))
