"""Structural base parameters: their numbers, the invariance of the motion, and what the command prints."""

import json
from pathlib import Path

import numpy as np
import pytest

from linkwork.identification.admissible_states import random_states
from linkwork.identification.base_parameters import structural_base_parameters
from linkwork.identification.regressor import Regressor
from linkwork.machine import load
from tests.command import linkwork

COUNTS = {  # with gravity, without, with one constant offset a motor
    "slider_crank": (5, 3, 6),
    "four_bar": (8, 4, 9),
    "five_bar": (7, 7, 9),
    "platform_3rrs": (37, 25, 40),
    "platform_huang": (37, 25, 40),
    "delta": (40, 34, 43),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if count[0] > 30 else ()) for name, count in COUNTS.items()],
)
def test_their_number_is_that_of_the_machine(name: str) -> None:
    machine = load(name)
    found = [
        structural_base_parameters(machine),
        structural_base_parameters(machine, gravity_m_s2=np.zeros(3)),
        structural_base_parameters(machine, motor_kinds=["offset"]),
    ]
    assert tuple(len(each.combinations) for each in found) == COUNTS[name]
    smallest, dropped = found[0].pivots
    assert smallest > 1e-6
    assert dropped < 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_another_seed_gives_the_same_classes(seed: int) -> None:
    machine = load("five_bar")
    first, other = structural_base_parameters(machine), structural_base_parameters(machine, seed=seed + 1)
    assert {each.name for each in other.alone} == {each.name for each in first.alone}
    assert {each.name for each in other.unseen} == {each.name for each in first.unseen}


@pytest.mark.parametrize("name", ["five_bar", "platform_3rrs", "scara"])
def test_parameters_with_the_same_base_parameters_give_the_same_efforts(name: str) -> None:
    machine, rng = load(name), np.random.default_rng(0)
    found, regressor = structural_base_parameters(machine), Regressor(machine.mechanism)
    own = regressor.values[: len(found.parameters)]
    null = np.linalg.svd(found.matrix)[2][len(found.combinations) :]
    other = own + null.T @ rng.normal(size=len(null))
    assert np.abs(found.matrix @ (other - own)).max() < 1e-12
    assert np.abs(other - own).max() > 0.1
    for state in random_states(machine, machine.mechanism, 20, seed=9):
        rows = regressor.rows(state.q, state.v, state.vdot)[:, : len(own)]
        efforts = state.basis.T @ rows @ np.column_stack([own, other])
        assert np.abs(efforts[:, 0] - efforts[:, 1]).max() < 1e-8 * max(1.0, np.abs(efforts).max())


def test_the_command_gives_their_number_beside_the_list() -> None:
    ran = linkwork("model", "five_bar", "--identifiable", "--json")
    assert ran.returncode == 0
    found = json.loads(ran.stdout)
    assert found["base_parameters"] == len(found["combinations"]) == 7
    assert [each["parameter"] for each in found["combinations"] if each["alone"]] == [
        "left_forearm.first_moment_y", "right_forearm.first_moment_y",
    ]  # fmt: skip
    assert len(found["unseen"]) == 30
    text = linkwork("model", "five_bar", "--identifiable").stdout
    assert "7 base parameters of the 40 parameters of 4 bodies" in text
    assert "left_forearm.inertia_zz + right_forearm.inertia_zz = 0.0395846 kg m²" in text


def test_a_machine_without_motors_shows_ratios_only() -> None:
    assert (
        json.loads(linkwork("model", "thin_disk", "--identifiable", "--json").stdout)["ratios_only"] is True
    )
    assert "only the ratios" in linkwork("model", "double_pendulum", "--identifiable").stdout


def test_it_is_a_list_of_its_own(tmp_path: Path) -> None:
    for words in (["--assemblies"], ["--draw", str(tmp_path / "picture.png")]):
        ran = linkwork("model", "five_bar", "--identifiable", *words)
        assert ran.returncode == 2
        assert "leave out --assemblies and --draw" in ran.stderr.replace("\n", " ")
    assert not (tmp_path / "picture.png").exists()
