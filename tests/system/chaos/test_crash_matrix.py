"""Kills, stops and ends each process at random ticks of random goals; compares with the table of reactions.

    pytest -m chaos -s                                   # 60 trials
    LINKWORK_CHAOS_TRIALS=1000 LINKWORK_CHAOS_SEED=7 LINKWORK_CHAOS_STATE=chaos.jsonl pytest -m chaos -s
    LINKWORK_CHAOS_SEED=7 LINKWORK_CHAOS_FIRST=123 LINKWORK_CHAOS_TRIALS=1 pytest -m chaos -s

With a state file, trials that it lists are not repeated, so a run that was interrupted continues.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from linkwork.machine import shipped_path
from tests.system.chaos.reactions import HEADING, REACTIONS, RULE
from tests.system.chaos.striking import Arena, Outcome
from tests.system.chaos.trials import Trial, draw

SHORT_SEED, SHORT_BLOCK, SHORT_LONGEST_STOP_S = 335, 10, 1.6
SHORT_TRIALS = 3
"""Of each half, of its ten: a full CI run must stay within its time."""
BLOCK = 20
"""Trials on one rig."""


def run(trials: list[Trial], keep: Path | None = None) -> list[Outcome]:
    """Run trials of one machine and one pace on one rig; each outcome is printed, and kept in the file."""
    outcomes = []
    with (
        tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as folder,
        Arena(trials[0].subject, trials[0].pace, Path(folder)) as arena,
    ):
        for trial in trials:
            outcomes.append(outcome := arena.run(trial))
            print(outcome, flush=True)
            _keep(keep, trial, outcome.violations, str(outcome))
        left = arena.end()
        if left:
            outcomes[-1].violations += [f"left behind: {each}" for each in left]
            print(f"left behind: {', '.join(left)}", flush=True)
            _keep(keep, trials[-1], left, "left behind")
    return outcomes


def _keep(path: Path | None, trial: Trial, violations: list[str], text: str) -> None:
    if path is not None:
        said = {"seed": trial.seed, "index": trial.index, "violations": violations, "text": text}
        with path.open("a") as file:
            file.write(json.dumps(said) + "\n")


def violations_of(outcomes: list[Outcome]) -> list[str]:
    return [str(outcome) for outcome in outcomes if outcome.violations]


@pytest.mark.slow
@pytest.mark.parametrize("half", [0, 3])
def test_kills_and_stops_in_short(half: int) -> None:
    """Half of the short form: the open machine in lockstep, the closed one in real time."""
    first = half * SHORT_BLOCK
    trials = [
        draw(SHORT_SEED, index, SHORT_BLOCK, SHORT_LONGEST_STOP_S)
        for index in range(first, first + SHORT_TRIALS)
    ]
    assert violations_of(run(trials)) == []


@pytest.mark.chaos
@pytest.mark.timeout(0)
def test_kills_and_stops() -> None:
    seed, first, count = (
        int(os.environ.get(f"LINKWORK_CHAOS_{name}", default))
        for name, default in (("SEED", "1"), ("FIRST", "0"), ("TRIALS", "60"))
    )
    state = os.environ.get("LINKWORK_CHAOS_STATE")
    keep = Path(state) if state else None
    done = set(_done(keep, seed))
    trials = [draw(seed, index, BLOCK) for index in range(first, first + count) if index not in done]
    print(f"\nseed {seed}: {len(trials)} trials, {count - len(trials)} done before", flush=True)
    outcomes = []
    for _, block in groupby(trials, key=lambda trial: trial.index // BLOCK):
        outcomes += run(list(block), keep)
    assert violations_of(outcomes) == []


def _done(keep: Path | None, seed: int) -> Iterator[int]:
    if keep is not None and keep.exists():
        for line in keep.read_text().splitlines():
            said = json.loads(line)
            if said["seed"] == seed:
                yield said["index"]


def test_the_documentation_has_the_reactions_of_the_trials() -> None:
    page = (shipped_path("scara").resolve().parents[1] / "docs" / "states.md").read_text()
    lines = page[page.index(HEADING) :].split("\n\n")[0].splitlines()
    assert lines == [HEADING, RULE, *(row.line for row in REACTIONS)]
