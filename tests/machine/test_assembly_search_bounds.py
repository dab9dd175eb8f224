"""Bounds of the search for assembly modes, and the estimate of what it missed."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from linkwork.convert.assembly_search import unseen
from tests.command import linkwork

DYADS = 4
"""Pairs of links that each close with the elbow up or down: 2 to this power modes."""


def dyads() -> str:
    inertia = "inertia_kg_m2: {xx: 0.01, yy: 0.01, zz: 0.01}"
    bodies, joints, constraints = "", "", ""
    for i in range(DYADS):
        bodies += f"  u{i}: {{mass_kg: 1, {inertia}}}\n  l{i}: {{mass_kg: 1, {inertia}}}\n"
        hinge = "type: revolute, axis: [0, 0, 1]"
        joints += f"  s{i}: {{{hinge}, parent: world, child: u{i}, at_m: [0, {3 * i}, 0]}}\n"
        joints += f"  e{i}: {{{hinge}, parent: u{i}, child: l{i}, at_m: [1, 0, 0]}}\n"
        ends = f"a: {{body: l{i}, at_m: [1, 0, 0]}}, b: {{body: world, at_m: [1.2, {3 * i}, 0]}}"
        constraints += f"  c{i}: {{type: pin, normal: [0, 0, 1], {ends}}}\n"
    guess = ", ".join(f"s{i}_deg: 50, e{i}_deg: -100" for i in range(DYADS))
    head = "name: dyads\nbodies:\n"
    return f"{head}{bodies}joints:\n{joints}constraints:\n{constraints}initial_guess: {{{guess}}}\n"


def test_few_starts_estimate_that_modes_are_missing(write: Callable[..., Path]) -> None:
    path = str(write(dyads()))
    found = {
        starts: json.loads(linkwork("model", path, "--assemblies", "--starts", str(starts), "--json").stdout)
        for starts in (4, 120)
    }
    assert [each["starts"] for each in found.values()] == [4, 120]
    assert len(found[4]["modes"]) < 2**DYADS
    least, most = found[4]["missing_range"]
    assert least <= found[4]["missing"] <= most
    assert least <= 2**DYADS - len(found[4]["modes"]) <= most
    assert (len(found[120]["modes"]), found[120]["missing"]) == (2**DYADS, 0)
    assert found[120]["missing_range"][1] <= 2
    assert "more may exist" in linkwork("model", path, "--assemblies", "--starts", "4").stdout


@pytest.mark.parametrize(("classes", "draws"), [(40, 60), (40, 120), (16, 20), (200, 300)])
def test_the_interval_of_unseen_classes_holds_their_number(classes: int, draws: int) -> None:
    rng = np.random.default_rng(classes + draws)
    right = 0
    for _ in range(400):
        times = np.bincount(rng.integers(classes, size=draws), minlength=classes).tolist()
        number, least, most = unseen(times.count(1), times.count(2))
        assert least <= number <= most
        right += math.floor(least) <= times.count(0) <= math.ceil(most)
    assert right >= 360


def test_the_time_ends_the_search(write: Callable[..., Path]) -> None:
    ran = linkwork("model", str(write(dyads())), "--assemblies", "--seconds", "0.1", "--json")
    assert json.loads(ran.stdout)["starts"] >= 1


@pytest.mark.parametrize("words", [["--starts", "3"], ["--seconds", "1"]])
def test_bounds_belong_to_the_search(words: list[str]) -> None:
    ran = linkwork("model", "five_bar", *words)
    assert ran.returncode == 2
    assert "--assemblies" in ran.stderr
