"""Analysis of a campaign's table, column by column: spread, pass rates, worst cases, sensitivities."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.campaigns.campaign_plan import CampaignPlan
from linkwork.campaigns.merit import SUCCESSFUL
from linkwork.campaigns.results_table import ResultsTable

WORST: Final = 3
"""Worst cases that are shown of a figure."""
CONFIDENCE: Final = 0.95
RESAMPLES: Final = 200
MOST_FOR_RANKS: Final = 20_000
"""Runs from which a rank correlation is computed; of more, evenly spaced ones."""
FEWEST: Final = 8
"""Runs with a figure below which no sensitivity is given."""


@dataclass(frozen=True)
class Spread:
    """A figure over the runs of one variant and trajectory.

    passed: share of all runs that meet its requirement, NaN without one.
    """

    figure: str
    variant: str
    trajectory: str
    runs: int
    median: float
    high: float
    worst: float
    passed: float


@dataclass(frozen=True)
class WorstCase:
    """A run with one of the largest values of a figure; or one that failed, with the reason as figure."""

    figure: str
    run: int
    value: float
    variant: str
    trajectory: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Sensitivity:
    """Effect of a parameter on a figure, with the ends of its confidence interval.

    kind: "rank" (Spearman's correlation), "first" or "total" (Sobol index).
    """

    figure: str
    parameter: str
    kind: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class GroupOfRuns:
    """Runs of one variant and trajectory: their number, those that succeeded and passed, results."""

    variant: str
    trajectory: str
    runs: int
    succeeded: int
    passed: int
    results: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Analysis:
    """Results of a campaign: groups of runs, figures, worst and failed cases, sensitivities."""

    groups: tuple[GroupOfRuns, ...]
    spreads: tuple[Spread, ...]
    worst: tuple[WorstCase, ...]
    failed: tuple[WorstCase, ...]
    sensitivities: tuple[Sensitivity, ...]


def analyse(plan: CampaignPlan, table: ResultsTable) -> Analysis:
    """Analyse the table of a campaign."""
    variant, trajectory = table.texts("variant"), table.texts("trajectory")
    result, passed = table.texts("result"), table.numbers("passed") > 0.5
    groups: list[GroupOfRuns] = []
    spreads: list[Spread] = []
    sensitivities: list[Sensitivity] = []
    rows_of = {
        (one, other): np.flatnonzero((variant == one) & (trajectory == other))
        for one in plan.variants
        for other in plan.trajectories
    }
    for (one, other), rows in rows_of.items():
        counts = Counter(result[rows].tolist())
        groups.append(
            GroupOfRuns(one, other, len(rows), counts[SUCCESSFUL], int(passed[rows].sum()),
                        tuple(counts.most_common()))
        )  # fmt: skip
    worst: list[WorstCase] = []
    for name in plan.figures:
        values = table.numbers(name)
        limit = plan.file.requirements.get(name, math.nan)
        for (one, other), rows in rows_of.items():
            spreads.append(_spread(name, one, other, values[rows], limit))
        if name in shown_figures(plan):
            worst += _largest(plan, name, values)
            if plan.recipe.parameters:
                first = next(iter(rows_of.values()))
                sensitivities += _sensitivities(plan, name, values[first])
    failed = tuple(_failed(plan, table, np.flatnonzero(result != SUCCESSFUL)[:WORST]))
    return Analysis(tuple(groups), tuple(spreads), tuple(worst), failed, tuple(sensitivities))


def _failed(plan: CampaignPlan, table: ResultsTable, runs: NDArray[np.intp]) -> Iterator[WorstCase]:
    """Yield runs without success, with result, fault and text in place of a figure."""
    if len(runs):
        columns = [table.texts(name) for name in ("result", "fault", "text")]
        for run in runs.tolist():
            told = ": ".join(filter(None, (str(column[run]) for column in columns)))
            yield _case(plan, told, run, math.nan)


def shown_figures(plan: CampaignPlan) -> tuple[str, ...]:
    """Return the figures with requirements, or, without any, the largest errors and the share of effort."""
    if plan.file.requirements:
        return tuple(name for name in plan.figures if name in plan.file.requirements)
    return tuple(name for name in plan.figures if name.startswith("error_max.") or name == "effort_share")


def _spread(name: str, variant: str, trajectory: str, values: Floats, limit: float) -> Spread:
    known = values[np.isfinite(values)]
    passed = float((values <= limit).mean()) if math.isfinite(limit) else math.nan
    if not len(known):
        return Spread(name, variant, trajectory, 0, math.nan, math.nan, math.nan, passed)
    median, high = np.percentile(known, [50.0, 95.0]).tolist()
    return Spread(name, variant, trajectory, len(known), median, high, float(known.max()), passed)


def _largest(plan: CampaignPlan, name: str, values: Floats) -> Iterator[WorstCase]:
    order = np.argsort(np.where(np.isfinite(values), -values, np.inf), kind="stable")[:WORST]
    for run in order.tolist():
        if math.isfinite(values[run]):
            yield _case(plan, name, run, float(values[run]))


def _case(plan: CampaignPlan, name: str, run: int, value: float) -> WorstCase:
    task = plan.task(run)
    return WorstCase(name, run, value, task.variant, task.trajectory, task.values)


def _sensitivities(plan: CampaignPlan, name: str, values: Floats) -> Iterator[Sensitivity]:
    """Sobol indices where the design has them and every run has the figure, else rank correlations."""
    known = np.isfinite(values)
    if plan.design.base and known.all() and np.ptp(values) > 0.0:
        yield from _indices(plan, name, values)
        return
    rows = np.flatnonzero(known)
    if len(rows) < FEWEST or np.ptp(values[rows]) == 0.0:
        return
    rows = rows[:: -(-len(rows) // MOST_FOR_RANKS)]
    for column, parameter in enumerate(plan.recipe.parameter_names):
        yield _rank(name, parameter, plan.design.values[rows, column], values[rows])


def _rank(name: str, parameter: str, x: Floats, y: Floats) -> Sensitivity:
    """Spearman's correlation with a percentile bootstrap interval."""
    from scipy.stats import rankdata

    if np.ptp(x) == 0.0:
        return Sensitivity(name, parameter, "rank", math.nan, math.nan, math.nan)
    ranks = np.stack([rankdata(x), rankdata(y)])
    value = _correlation(ranks)
    random = np.random.default_rng(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = [_correlation(ranks[:, random.integers(0, len(x), len(x))]) for _ in range(RESAMPLES)]
    ends = 50.0 * (1.0 - CONFIDENCE), 50.0 * (1.0 + CONFIDENCE)
    low, high = np.nanpercentile(drawn, ends).tolist()
    return Sensitivity(name, parameter, "rank", value, low, high)


def _correlation(rows: Floats) -> float:
    matrix: Floats = np.asarray(np.corrcoef(rows))
    return float(matrix[0, 1])


def _indices(plan: CampaignPlan, name: str, values: Floats) -> Iterator[Sensitivity]:
    """Sobol indices of first and total order (Saltelli et al. 2010), with bootstrap intervals."""
    from scipy.stats import sobol_indices

    base, names = plan.design.base, plan.recipe.parameter_names
    blocks: NDArray[Any] = values.reshape(len(names) + 2, base)
    parts: Any = {"f_A": blocks[:1], "f_B": blocks[1:2], "f_AB": blocks[2:, None, :]}
    found = sobol_indices(func=parts, n=base)
    bounds = found.bootstrap(confidence_level=CONFIDENCE, n_resamples=RESAMPLES)
    for kind, index, interval in (
        ("first", found.first_order, bounds.first_order),
        ("total", found.total_order, bounds.total_order),
    ):
        ends = interval.confidence_interval
        for place, parameter in enumerate(names):
            yield Sensitivity(
                name, parameter, kind, float(np.ravel(index)[place]),
                float(np.ravel(ends.low)[place]), float(np.ravel(ends.high)[place]),
            )  # fmt: skip


def named_values(plan: CampaignPlan, values: Sequence[float]) -> str:
    """Return the values of the parameters as text: "friction 0.03 N m, delay 2 ticks"."""
    pairs = zip(plan.recipe.parameter_names, plan.recipe.parameters, values, strict=True)
    return ", ".join(f"{name} {value:.4g} {each.unit}".rstrip() for name, each, value in pairs)
