"""Tuning: the settings that are found, candidates that are rejected, and an interrupted search."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.campaigns.campaign_plan import RunRecipe, RunTask
from linkwork.campaigns.campaign_run import LocalWorkers, Record
from linkwork.campaigns.result_store import ResultStore
from linkwork.campaigns.run_worker import carry_out
from linkwork.campaigns.tuning import CandidateRuns, compared, read_tuning, tune, write_patch
from linkwork.machine import MachineError
from linkwork.machine.loading import machine_in
from linkwork.machine.machine_patches import steps_of
from linkwork.machine.yaml_document import parse_yaml
from tests.campaigns import small_campaign

TEXT = """\
name: quick
machine: flywheel.yaml
seed: 5
sampling: {method: latin_hypercube, samples: 1}
parameters: {inertia: {plant: wheel.inertia_kg_m2, factor: true, choice: [1.2]}}
trajectories: {there: {move: {turn: 0.3}}}
requirements: {error_max.turn: 0.004}
tune:
  settings: {controller.bandwidth_rad_s: [40, 120]}
  minimise: error_max.turn
  over: worst
  candidates: 5
  generations: 1
"""


def _written(folder: Path, text: str = TEXT) -> Path:
    (folder / "flywheel.yaml").write_text(small_campaign.FLYWHEEL)
    return small_campaign.write(folder, text)


class _Here(LocalWorkers):
    """Carries out the runs in this process, and counts them."""

    def __init__(self, count: int) -> None:
        self.carried_out = 0

    def __exit__(self, *_: object) -> None:
        pass

    def carry_out(self, recipe: RunRecipe, tasks: Iterable[RunTask], record: Record) -> None:
        tasks = list(tasks)
        self.carried_out += len(tasks)
        for line in carry_out(recipe, tasks)[0]:
            record(line)


def test_the_search_finds_quicker_settings_rejects_violations_and_continues(tmp_path: Path) -> None:
    here = _Here(1)
    tuning = read_tuning(_written(tmp_path))
    seen: list[tuple[int, int]] = []
    best, candidates = tune(tuning, here, tmp_path, lambda done, most: seen.append((done, most)))
    assert seen[-1] == (len(candidates), tuning.most)
    assert best.broken == 0.0
    assert best.cost == min(each.cost for each in candidates)
    for each in (
        candidates
    ):  # one run and one margin each: the run violates its requirement where its figure is above it
        assert (each.broken == 0.5) == (each.value > 0.004)
        assert each.broken == 0.5 or each.settings[0] > 50.0
        assert each.broken == 0.0 or each.settings[0] < 80.0
        assert each.margin.gain > 4.0
    assert {each.broken for each in candidates} == {0.0, 0.5}

    carried_out = here.carried_out
    again, repeated = tune(tuning, here, tmp_path, lambda _done, _most: None)
    assert (again, repeated) == (best, candidates)
    assert here.carried_out == carried_out

    patch = write_patch(tuning, best, tmp_path).read_text()
    assert f"bandwidth_rad_s: {best.settings[0]!r}}}" in patch
    plan = compared(tuning, best, tmp_path)
    tuned = machine_in(parse_yaml(plan.recipe.machines["tuned"], "machine.yaml"))
    assert tuned.controller.bandwidth_rad_s == best.settings[0]
    assert all(each.settings[0] == float(f"{each.settings[0]:.6g}") for each in candidates)
    assert plan.variants == ("as_it_is", "tuned")
    assert plan.file.seed != tuning.plan.file.seed

    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "er")
    assert compared(tuning, best, tmp_path / "link").machine.name == "flywheel"


def test_gains_of_single_coordinates_are_tuned(tmp_path: Path) -> None:
    """The first setting is far too slow; a name in brackets may have dots."""
    own = "controller.gains.turn.bandwidth_rad_s: [10, 120]", "controller.gains[turn].damping_ratio: [0.7, 1]"
    text = TEXT.replace(" {controller.bandwidth_rad_s: [40, 120]}", "".join(f"\n    {key}" for key in own))
    tuning = read_tuning(_written(tmp_path, text))
    with ResultStore(tmp_path, {}, 2) as store:
        runs = CandidateRuns(tuning, _Here(1), store, lambda _done, _most: None)
        slow, quick = runs.evaluate([np.array([10.0, 1.0]), np.array([110.0, 1.0])])
    assert slow.value > 10.0 * quick.value
    assert tuning.patch([30.0, 0.8]) == {
        "controller": {"gains": {"turn": {"bandwidth_rad_s": 30.0, "damping_ratio": 0.8}}}
    }
    assert steps_of("controller.gains[wrist.1].x") == ["controller", "gains", "wrist.1", "x"]
    with pytest.raises(MachineError, match="write turn"):
        read_tuning(_written(tmp_path, text.replace("gains.turn", "gains.tern")))


@pytest.mark.slow
def test_the_search_goes_on_while_no_candidate_is_allowed(tmp_path: Path) -> None:
    """The costs of rejected candidates are nearly equal, which is no sign that the search has ended."""
    text = TEXT.replace("error_max.turn: 0.004", "error_max.turn: 1e-9").replace("tions: 1", "tions: 3")
    tuning = read_tuning(_written(tmp_path, text))
    best, candidates = tune(tuning, _Here(1), tmp_path, lambda _done, _most: None)
    assert best.broken == 0.5
    assert len(candidates) == tuning.most == 20


class _Killed(_Here):
    """Ends after some runs."""

    def carry_out(self, recipe: RunRecipe, tasks: Iterable[RunTask], record: Record) -> None:
        super().carry_out(recipe, list(tasks)[:5], record)
        raise KeyboardInterrupt


def test_candidates_whose_runs_are_complete_survive_a_kill_within_their_generation(tmp_path: Path) -> None:
    """A run and a margin each: two candidates are complete after five results."""
    tuning = read_tuning(_written(tmp_path))
    seen: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        tune(tuning, _Killed(1), tmp_path, lambda done, _most: seen.append(done))
    assert seen == [0, 1, 2]
    _, undisturbed = tune(tuning, _Here(1), tmp_path / "undisturbed", lambda _done, _most: None)
    here = _Here(1)
    assert tune(tuning, here, tmp_path, lambda _done, _most: None)[1] == undisturbed
    assert here.carried_out == 2 * (tuning.most - 2)


def test_a_candidate_with_too_small_a_stability_margin_is_rejected(tmp_path: Path) -> None:
    """The gain margin falls as the bandwidth rises."""
    text = TEXT.replace("  over: worst\n", "  over: worst\n  stability_margin: {gain: 6, phase_deg: 20}\n")
    tuning = read_tuning(_written(tmp_path, text))
    with ResultStore(tmp_path, {}, 2) as store:
        runs = CandidateRuns(tuning, _Here(1), store, lambda _done, _most: None)
        slow, quick = runs.evaluate([np.array([70.0]), np.array([110.0])])
        assert slow.margin.gain > 6.0 > quick.margin.gain > 2.0
        assert (slow.broken, quick.broken) == (0.0, 0.5)
        assert slow.cost < quick.cost
        again = CandidateRuns(tuning, _Here(1), store, lambda _done, _most: None)
        assert again.evaluate([np.array([70.0]), np.array([110.0])]) == [slow, quick]


@pytest.mark.parametrize(
    ("was", "written", "says"),
    [
        ("controller.bandwidth_rad_s", "controller.bandwith_rad_s", "write bandwidth_rad_s"),
        ("[40, 120]", "[120, 40]", "below the second"),
        ("over: worst", "stability_margin: {phase: 30}", "phase_deg"),
        ("over: worst", "stability_margin: {gain: 0.5}", "1 or more"),
        ("minimise: error_max.turn", "minimise: error_max.tern", "write error_max.turn"),
    ],
)
def test_a_mistake_in_the_section_is_shown_at_its_place(
    tmp_path: Path, was: str, written: str, says: Any
) -> None:
    path = _written(tmp_path, TEXT.replace(was, written))
    with pytest.raises(MachineError, match=says) as refused:
        read_tuning(path)
    assert re.search(r"quick.yaml:\d+:\d+", str(refused.value))
