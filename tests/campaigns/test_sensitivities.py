"""Sensitivities of figures: values of known functions, intervals, and runs that are not independent."""

from __future__ import annotations

import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from linkwork.campaigns.analysis import Sensitivity, analyse, random_part, sobol_with_intervals
from linkwork.campaigns.campaign_file import ParameterSection, SamplingSection
from linkwork.campaigns.campaign_page import campaign_page
from linkwork.campaigns.campaign_plan import CampaignPlan
from linkwork.campaigns.design import design_of
from linkwork.campaigns.results_table import ResultsTable
from linkwork.cli import campaign_command
from linkwork.reports.provenance import provenance
from linkwork.terminal.output import console
from tests.campaigns import small_campaign


class _Made(ResultsTable):
    """A table of successful runs with one figure that varies."""

    def __init__(self, plan: CampaignPlan, values: np.ndarray, failed: int = -1) -> None:
        self._plan, self._values, self._failed, self.rows = plan, values, failed, plan.runs

    def numbers(self, name: str) -> np.ndarray:
        if name.startswith("parameter."):
            column = self._plan.recipe.parameter_names.index(name.removeprefix("parameter."))
            return self._plan.design.values[:, column]
        return self._values if name == "error_max.left" else np.ones(self.rows)

    def texts(self, name: str) -> np.ndarray:
        tasks = [self._plan.task(run) for run in range(self.rows)]
        if name in ("variant", "trajectory"):
            return np.array([getattr(task, name) for task in tasks], object)
        found = np.full(self.rows, "SUCCESSFUL" if name == "result" else "", object)
        if name == "result" and self._failed >= 0:
            found[self._failed] = "REFUSED"
        return found


def _planned(folder: Path, sampling: str) -> CampaignPlan:
    text = small_campaign.TEXT.replace("method: latin_hypercube, samples: 2", sampling)
    return small_campaign.planned(folder, text.replace("  slow: {controller: {bandwidth_rad_s: 10}}\n", ""))


def _found(plan: CampaignPlan, values: np.ndarray) -> dict[str, Sensitivity]:
    return {
        f"{each.kind} {each.parameter}": each for each in analyse(plan, _Made(plan, values)).sensitivities
    }


def test_sobol_indices_of_a_known_function_lie_in_their_intervals() -> None:
    """Ishigami's function: S1 = 0.3139, S2 = 0.4424, S3 = 0, ST3 = 0.2437 (Saltelli et al. 2008, 4.2).

    The fourth parameter has no effect.
    """
    from scipy.stats import sobol_indices

    angle = ParameterSection(uniform=[-np.pi, np.pi])
    design = design_of(SamplingSection(method="sobol", samples=4096, indices=True), [angle] * 4, 1)
    x, y, z, _ = design.values.T
    blocks = (np.sin(x) + 7.0 * np.sin(y) ** 2 + 0.1 * z**4 * np.sin(x)).reshape(6, design.base)
    tracemalloc.start()
    found = sobol_with_intervals(blocks)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 10 * blocks.nbytes
    assert np.array_equal(found, sobol_with_intervals(blocks))
    first, total = found[:, :4], found[:, 4:]
    for each, exact in ((first, [0.3139, 0.4424, 0.0]), (total, [0.5576, 0.4424, 0.2437])):
        assert each[0, :3] == pytest.approx(exact, abs=0.02)
        assert (each[1, :3] < exact).all()
        assert (each[2, :3] > exact).all()
        assert (each[2] - each[1] < 0.15).all()
        assert each[:, 3].tolist() == [0.0, 0.0, 0.0]
    parts = {"f_A": blocks[:1], "f_B": blocks[1:2], "f_AB": blocks[2:, None, :]}
    scipys = sobol_indices(func=parts, n=design.base)  # type: ignore[arg-type]
    assert first[0] == pytest.approx(np.ravel(scipys.first_order), abs=1e-12)
    assert total[0] == pytest.approx(np.ravel(scipys.total_order), abs=1e-12)


def test_the_fewest_samples_for_indices_give_some(tmp_path: Path) -> None:
    plan = _planned(tmp_path, "method: sobol, samples: 2, indices: true")
    found = _found(plan, np.arange(float(plan.runs)))
    assert set(found) == {"first mass", "first delay", "total mass", "total delay"}


def test_a_run_without_a_figure_leaves_rank_correlations_and_every_summary_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = _planned(tmp_path, "method: sobol, samples: 4, indices: true")
    values = np.arange(float(plan.runs))
    assert analyse(plan, _Made(plan, values)).without_indices == {}
    values[3] = np.nan
    table = _Made(plan, values)
    found = analyse(plan, table)
    assert {each.kind for each in found.sensitivities} == {"rank"}
    assert found.without_indices == {"error_max.left": 1}
    says = "error_max.left: no Sobol indices, because 1 of 16 runs have no such figure"
    assert says in campaign_page(plan, table, found, provenance([], 1.0))
    campaign_command._show(plan, found, "quick.yaml")
    assert says in capsys.readouterr().out


def test_the_summary_names_the_variant_and_motion_of_the_sensitivities_and_the_failed_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = small_campaign.planned(tmp_path, small_campaign.TEXT.replace("samples: 2", "samples: 16"))
    table = _Made(plan, np.arange(float(plan.runs)), failed=3)
    found = analyse(plan, table)
    told = campaign_command._summary(plan, found, tmp_path, tmp_path)
    assert told["sensitivities_of"] == {"variant": "shipped", "trajectory": "there"}
    assert [(each["run"], each["figure"]) for each in told["failed"]] == [(3, "REFUSED")]
    with console.capture() as shown:
        campaign_command._show(plan, found, "quick.yaml")
    assert "sensitivities of shipped, there" in " ".join(shown.get().split())


def test_a_rank_correlation_of_many_runs_is_not_that_of_a_pattern_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every second run of this grid has the same delay; it explains the figure, and the mass does not."""
    monkeypatch.setattr("linkwork.campaigns.analysis.MOST_FOR_RANKS", 600)
    plan = _planned(tmp_path, "method: grid, levels: 600")
    mass, delay = plan.design.values.T
    even = np.arange(plan.runs) % 2 == 0
    rising = (mass - mass.mean()) * np.where(even, 1.0, -1.0)
    assert abs(_found(plan, rising)["rank mass"].value) < 0.15
    assert _found(plan, delay)["rank delay"].value == pytest.approx(1.0)
    table = _Made(plan, rising)
    monkeypatch.setattr("linkwork.campaigns.campaign_page.MOST", 600)
    page = campaign_page(plan, table, analyse(plan, table), provenance([], 1.0))
    drawn = re.findall(r'<path d="([^"]*)" style="[^"]*opacity: 0.55; stroke: var\(--h1\)', page)[0]
    marks = np.array(re.findall(r"M ([0-9.]+) ([0-9.]+) L", drawn), float)
    assert len(marks) == 600
    assert abs(np.corrcoef(marks.T)[0, 1]) < 0.15
    rows = np.arange(1000)
    assert np.array_equal(random_part(rows, 1000), rows)
    part = random_part(rows, 100)
    assert len(np.unique(part)) == 100
    assert (np.diff(part) > 0).all()


@pytest.mark.parametrize("repeats", [1, 40])
def test_repeated_samples_do_not_narrow_the_interval(tmp_path: Path, repeats: int) -> None:
    """All runs of a sample have the same figure here: there are 16 independent ones."""
    plan = _planned(tmp_path, f"method: latin_hypercube, samples: 16, repeats: {repeats}")
    values = np.tile(np.random.default_rng(3).normal(size=16), repeats)
    found = _found(plan, values)["rank mass"]
    assert found.low < found.value < found.high
    assert found.high - found.low > 0.5
