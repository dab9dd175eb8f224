"""Aghili's three assemblies in `simulate`: the motion of `projected`, and condition numbers."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from linkwork.machine import load
from linkwork.multibody.formulations.projector import ASSEMBLIES
from linkwork.offline.run import simulate
from linkwork.offline.start_state import StartState
from tests.system.running import linkwork

CRANK = StartState(speeds={"crank": 3.0})


@pytest.mark.parametrize("formulation", ASSEMBLIES)
@pytest.mark.parametrize("name", ["slider_crank", "four_bar"])
def test_each_assembly_gives_the_motion_of_projected(name: str, formulation: str) -> None:
    machine, start = load(name), CRANK if name == "slider_crank" else StartState()
    found = simulate(machine, 0.1, 1e-3, start, formulation=formulation)
    usual = simulate(machine, 0.1, 1e-3, start, "rk4")
    np.testing.assert_allclose(found.q, usual.q, atol=1e-12)
    np.testing.assert_allclose(found.v, usual.v, atol=1e-11)
    assert usual.inertia_condition is None


def test_condition_numbers_of_the_slider_crank_are_those_of_the_paper() -> None:
    """K = m l² [[1, (1 + c₂)/5], [0, (3 - 2 c₂)/5]] for γ = m l² on the branch q₂ = 2π - 2 q₁ (1 kg, 1 m)."""
    motion = simulate(load("slider_crank"), 0.3, 1e-3, CRANK, formulation="scaled", gamma=1.0)
    assert motion.balance.singular_passages == 0
    cosines = np.cos(motion.q[:-1, 1])  # a step counts at its beginning
    of_paper = [np.linalg.cond([[1.0, (1.0 + c) / 5.0], [0.0, (3.0 - 2.0 * c) / 5.0]]) for c in cosines]
    assert motion.inertia_condition == pytest.approx((min(of_paper), max(of_paper)), rel=1e-9)


def test_gamma_of_the_size_of_the_inertia_keeps_the_condition_number_small() -> None:
    machine = load("four_bar")
    most = []
    for gamma in (None, 1e-4, 1e4):
        motion = simulate(machine, 0.02, 1e-3, formulation="scaled", gamma=gamma)
        assert motion.inertia_condition is not None
        most.append(motion.inertia_condition[1])
    assert most[0] < 0.01 * min(most[1:])


def test_a_branch_pose_is_passed_on_its_branch() -> None:
    motion = simulate(load("slider_crank"), 1.0, 1e-3, CRANK, formulation="symmetric")
    assert motion.balance.singular_passages == 1
    assert np.abs(motion.q[:, 1] + 2.0 * motion.q[:, 0]).max() < 1e-12


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"formulation": "plain", "gamma": 1.0}, "gamma belongs to the formulation scaled"),
        ({"formulation": "scaled", "gamma": 0.0}, "positive and finite"),
        ({"formulation": "scaled", "integrator": "gauss"}, "stepped in plain numpy by rk4"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        simulate(load("slider_crank"), 0.01, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="machines with constraints"):
        simulate(load("scara"), 0.01, formulation="scaled")


def test_the_command_prints_them(tmp_path) -> None:  # type: ignore[no-untyped-def]
    words = ("simulate", "slider_crank", "--duration", "0.01", "--formulation", "scaled", "--gamma", "2")
    ran = linkwork(tmp_path, *words, "--json")
    found = json.loads(ran.stdout)
    assert 1.0 < found["inertia_condition_min"] <= found["inertia_condition_max"] < math.inf
