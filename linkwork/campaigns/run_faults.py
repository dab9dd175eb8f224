"""The faults of one run: entries of the campaign file with the values of its parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.machine import Machine, MachineError, Problem
from linkwork.machine.yaml_document import Document
from linkwork.plant.faults.pushes import is_pushable, pushable
from linkwork.plant.faults.timeline import TimeLine, check_timeline

if TYPE_CHECKING:
    from linkwork.campaigns.campaign_plan import RunRecipe, RunTask


def fault_entries(recipe: RunRecipe, task: RunTask) -> list[dict[str, Any]]:
    """Return the entries of a time line, without those in which a parameter is 0: no fault."""
    values = dict(zip(recipe.parameter_names, task.values, strict=True))
    return [_with(entry, values) for entry in recipe.faults if not _has_zero(entry, values)]


def fault_seed(recipe: RunRecipe, task: RunTask) -> int:
    """Return the seed of the faults' random numbers, which samples with the same stream share."""
    return _seeds(recipe, task)[1]


def noise_seed(recipe: RunRecipe, task: RunTask) -> int:
    """Return the seed of the sensors' noise, which samples with the same stream share."""
    return _seeds(recipe, task)[0]


def _seeds(recipe: RunRecipe, task: RunTask) -> tuple[int, int]:
    noise, faults = np.random.SeedSequence([recipe.seed, task.stream]).generate_state(2).tolist()
    return int(noise), int(faults)


def faults_with(
    recipe: RunRecipe, task: RunTask, machine: Machine, document: Document | None = None
) -> TimeLine | None:
    """Return the time line of a run; None in a campaign without faults.

    document: the campaign file, at whose entries problems are placed. Raises MachineError.
    """
    if not recipe.faults:
        return None
    entries = fault_entries(recipe, task)
    data = {"seed": fault_seed(recipe, task), "faults": entries}
    line = Document("faults", "", data, {}, {})
    try:
        ready = machine if is_pushable(machine.plant_mechanism) else pushable(machine)
        return check_timeline(line, ready, hardware=False)
    except MachineError as error:
        if document is None:
            raise
        kept = [
            index
            for index, entry in enumerate(recipe.faults)
            if not _has_zero(entry, dict(zip(recipe.parameter_names, task.values, strict=True)))
        ]
        raise MachineError([_placed(problem, document, kept) for problem in error.problems]) from None


def _placed(problem: Problem, document: Document, kept: list[int]) -> Problem:
    """Move a problem of a time line to the entry of the campaign file. kept: places of its entries there."""
    steps: list[str | int] = []
    for name, number in re.findall(r"([^.\[\]]+)|\[(\d+)\]", problem.key):
        steps.append(int(number) if number else name)
    if len(steps) > 1 and isinstance(steps[1], int) and steps[1] < len(kept):
        steps[1] = kept[steps[1]]
    return document.problem(
        steps, problem.message, found=problem.found, allowed=problem.allowed, remedy=problem.remedy
    )


def _has_zero(entry: Any, values: Mapping[str, float]) -> bool:
    if isinstance(entry, Mapping):
        return any(_has_zero(each, values) for each in entry.values())
    if isinstance(entry, list):
        return any(_has_zero(each, values) for each in entry)
    return isinstance(entry, str) and entry.startswith("$") and values.get(entry[1:]) == 0.0


def _with(entry: Any, values: Mapping[str, float]) -> Any:
    if isinstance(entry, Mapping):
        return {key: _with(each, values) for key, each in entry.items()}
    if isinstance(entry, list):
        return [_with(each, values) for each in entry]
    if isinstance(entry, str) and entry.startswith("$"):
        value = values[entry[1:]]
        return int(value) if value == int(value) else value
    return entry
