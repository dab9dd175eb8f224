"""Tuning: the settings that are found, candidates that are rejected, and an interrupted search."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from linkwork.campaigns.campaign_plan import RunRecipe, RunTask
from linkwork.campaigns.carrying_out import LocalWorkers, Record
from linkwork.campaigns.run_worker import carry_out
from linkwork.campaigns.tuning import compared, read_tuning, tune, write_patch
from linkwork.machine import MachineError
from tests.campaigns import small_campaign

TEXT = (
    small_campaign.TEXT.replace("choice: [0, 1]", "choice: [0]").replace("samples: 2", "samples: 1")
    + """\
tune:
  settings: {controller.bandwidth_rad_s: [5, 30]}
  minimise: error_max.left
  over: worst
  candidates: 5
  generations: 1
"""
)


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
    text = TEXT.replace("error_max.left: 0.01", "error_max.left: 0.0008")
    path = small_campaign.write(tmp_path, text.replace("uniform: [0.7, 0.9]", "choice: [0.9]"))
    tuning = read_tuning(path)
    seen: list[tuple[int, int]] = []
    best, candidates = tune(tuning, here, tmp_path, lambda done, most: seen.append((done, most)))
    assert seen[-1] == (len(candidates), tuning.most)
    assert best.broken == 0.0
    assert best.cost == min(each.cost for each in candidates)
    for each in candidates:  # one run each: it violates its requirement just where the figure is above it
        assert (each.broken == 1.0) == (each.value > 0.0008)
        assert each.broken == 1.0 or each.settings[0] > 9.0
        assert each.broken == 0.0 or each.settings[0] < 21.0
    assert {each.broken for each in candidates} == {0.0, 1.0}

    carried_out = here.carried_out
    again, repeated = tune(tuning, here, tmp_path, lambda _done, _most: None)
    assert (again, repeated) == (best, candidates)
    assert here.carried_out == carried_out

    patch = write_patch(tuning, best, tmp_path).read_text()
    assert f"bandwidth_rad_s: {best.settings[0]:.6g}" in patch
    plan = compared(tuning, best, tmp_path)
    assert plan.variants == ("as_it_is", "tuned")
    assert plan.file.seed != tuning.plan.file.seed


@pytest.mark.parametrize(
    ("was", "written", "says"),
    [
        ("controller.bandwidth_rad_s", "controller.bandwith_rad_s", "write bandwidth_rad_s"),
        ("[5, 30]", "[30, 5]", "below the second"),
        ("minimise: error_max.left", "minimise: error_max.lift", "write error_max.left"),
    ],
)
def test_a_mistake_in_the_section_is_shown_at_its_place(
    tmp_path: Path, was: str, written: str, says: Any
) -> None:
    path = small_campaign.write(tmp_path, TEXT.replace(was, written))
    with pytest.raises(MachineError, match=says) as refused:
        read_tuning(path)
    assert "quick.yaml:1" in str(refused.value)
