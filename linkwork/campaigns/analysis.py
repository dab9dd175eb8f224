"""Analysis of a campaign's table, column by column: spread, pass rates, worst cases, sensitivities."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

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
"""Runs from which a rank correlation is computed; of more, randomly chosen ones."""
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
    """Results of a campaign: groups of runs, figures, worst and failed cases, sensitivities.

    The sensitivities are those of the first group. without_indices: figures of a design for Sobol indices
    that have rank correlations instead, each with the number of its runs without the figure.
    """

    groups: tuple[GroupOfRuns, ...]
    spreads: tuple[Spread, ...]
    worst: tuple[WorstCase, ...]
    failed: tuple[WorstCase, ...]
    sensitivities: tuple[Sensitivity, ...]
    without_indices: Mapping[str, int]


def analyse(plan: CampaignPlan, table: ResultsTable) -> Analysis:
    """Analyse the table of a campaign."""
    variant, trajectory = table.texts("variant"), table.texts("trajectory")
    result, passed = table.texts("result"), table.numbers("passed") > 0.5
    groups: list[GroupOfRuns] = []
    spreads: list[Spread] = []
    sensitivities: list[Sensitivity] = []
    without_indices: dict[str, int] = {}
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
                missing = int(np.count_nonzero(~np.isfinite(values[first])))
                if plan.design.base and missing:
                    without_indices[name] = missing
    failed = tuple(_failed(plan, table, np.flatnonzero(result != SUCCESSFUL)[:WORST]))
    return Analysis(
        tuple(groups), tuple(spreads), tuple(worst), failed, tuple(sensitivities), without_indices
    )


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
    if plan.design.base and known.all() and np.ptp(values[: 2 * plan.design.base]) > 0.0:
        yield from _indices(plan, name, values)
        return
    rows = random_part(np.flatnonzero(known), MOST_FOR_RANKS)
    if len(rows) < FEWEST or np.ptp(values[rows]) == 0.0:
        return
    samples = rows % (plan.design.base or len(values) // plan.file.sampling.repeats)
    for column, parameter in enumerate(plan.recipe.parameter_names):
        yield _rank(name, parameter, plan.design.values[rows, column], values[rows], samples)


def random_part(rows: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """Return at most so many of some rows (n,), in their order, the same ones every time.

    They are chosen at random: evenly spaced rows of a design have a pattern in its parameters.
    """
    if len(rows) <= most:
        return rows
    part: NDArray[np.intp] = np.random.default_rng(0).choice(rows, most, replace=False)
    return np.sort(part)


def _rank(name: str, parameter: str, x: Floats, y: Floats, samples: NDArray[np.intp]) -> Sensitivity:
    """Spearman's correlation with a percentile bootstrap interval.

    samples (n,): number of each run's sample. Whole samples are drawn: their runs are not independent.
    """
    from scipy.stats import rankdata

    if np.ptp(x) == 0.0:
        return Sensitivity(name, parameter, "rank", math.nan, math.nan, math.nan)
    ranks = np.stack([rankdata(x), rankdata(y)])
    different, sample = np.unique(samples, return_inverse=True)
    count = len(different)

    def correlation(draw: NDArray[np.int64]) -> Floats:
        weights = np.bincount(draw, minlength=count)[sample]
        (variance, covariance), (_, other) = np.cov(ranks, fweights=weights, ddof=0)
        return np.array([covariance / np.sqrt(variance * other)])

    return Sensitivity(name, parameter, "rank", *_with_interval(correlation, count)[:, 0].tolist())


def _with_interval(estimate: Callable[[NDArray[np.int64]], Floats], count: int) -> Floats:
    """Return an estimate (n,) from samples, and the ends of its percentile bootstrap intervals (3, n).

    estimate: receives numbers of samples, each below `count`.
    """
    random = np.random.default_rng(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = [estimate(random.integers(0, count, count)) for _ in range(RESAMPLES)]
    ends = 50.0 * (1.0 - CONFIDENCE), 50.0 * (1.0 + CONFIDENCE)
    return np.vstack([estimate(np.arange(count)), np.nanpercentile(drawn, ends, axis=0)])


def _indices(plan: CampaignPlan, name: str, values: Floats) -> Iterator[Sensitivity]:
    """Sobol indices of first and total order (Saltelli et al. 2010), with bootstrap intervals."""
    base, names = plan.design.base, plan.recipe.parameter_names
    found = sobol_with_intervals(values.reshape(len(names) + 2, base))
    for place, (kind, parameter) in enumerate(itertools.product(("first", "total"), names)):
        yield Sensitivity(name, parameter, kind, *found[:, place].tolist())


def sobol_with_intervals(blocks: Floats) -> Floats:
    """Return Sobol indices (3, 2 × parameters): values and ends of intervals, first order before total.

    blocks (parameters + 2, base): a figure at the samples A, B, and A with each parameter of B.
    """
    blocks = blocks - blocks[:2].mean()

    def indices(draw: NDArray[np.int64]) -> Floats:
        drawn = blocks[:, draw]
        a, b, mixed = drawn[0], drawn[1], drawn[2:]
        first, total = (b * (mixed - a)).mean(axis=1), 0.5 * np.square(mixed - a).mean(axis=1)
        found: Floats = np.concatenate([first, total]) / drawn[:2].var()
        return found

    return _with_interval(indices, blocks.shape[1])


def told_without_indices(found: Analysis, figure: str) -> str:
    """Return why a figure of a design for Sobol indices has none, "" where it has."""
    missing = found.without_indices.get(figure, 0)
    if not missing:
        return ""
    return f"{figure}: no Sobol indices, because {missing} of {found.groups[0].runs} runs have no such figure"


def named_values(plan: CampaignPlan, values: Sequence[float]) -> str:
    """Return the values of the parameters as text: "friction 0.03 N m, delay 2 ticks"."""
    pairs = zip(plan.recipe.parameter_names, plan.recipe.parameters, values, strict=True)
    return ", ".join(f"{name} {value:.4g} {each.unit}".rstrip() for name, each, value in pairs)
