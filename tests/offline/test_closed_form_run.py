"""Closed forms that a machine file names: the motion by `minimal`, other frames, machines that have none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linkwork.machine import MachineError, check, load, shipped_path
from linkwork.offline.constraint_switching import Switch
from linkwork.offline.run import simulate

TURNED = """
name: turned
gravity_m_s2: [0, 4, -9]
bodies:
  rocker: {mass_kg: 1, com_m: [0, 0.3, 0.1], inertia_kg_m2: {xx: 0.04, yy: 0.03, zz: 0.03}}
  drive: {mass_kg: 2, com_m: [0, 0, 0.4], inertia_kg_m2: {xx: 0.1, yy: 0.1, zz: 0.01}}
  coupler: {mass_kg: 1, com_m: [0, 0.1, 0.3], inertia_kg_m2: {xx: 0.05, yy: 0.05, zz: 0.01}}
joints:
  third: {type: revolute, parent: coupler, child: rocker, at_m: [0.1, 0.2, 0.67], rpy_deg: [25, 0, 0], axis: [1, 0, 0]}
  first: {type: revolute, parent: world, child: drive, at_m: [0.3, 0.1, -0.2], rpy_deg: [70, 0, 0], axis: [1, 0, 0]}
  second: {type: revolute, parent: drive, child: coupler, at_m: [-0.2, 0, 0.8], axis: [-1, 0, 0]}
constraints:
  pin: {type: revolute, a: {body: rocker, at_m: [0, 0.6, 0], axis: [1, 0, 0]},
        b: {body: world, at_m: [0.2, 0.9, 0.4], axis: [1, 0, 0]}}
closed_form: four_bar
motors:
  first: {max_torque_N_m: 20, max_speed_rad_s: 10}
initial: {first_deg: -93}
initial_guess: {second_deg: 9, third_deg: -87}
"""  # noqa: E501


def _written(folder: Path, text: str) -> Path:
    path = folder / "machine.yaml"
    path.write_text(text)
    return path


def test_the_four_bar_passes_both_singularities_as_projected_does() -> None:
    machine = load("four_bar")
    assert machine.closed_form == "four_bar"
    closed, projected = (simulate(machine, 1.0, formulation=name) for name in ("minimal", "projected"))
    np.testing.assert_allclose(closed.q, projected.q, atol=1e-7)
    for measure in (np.cos(closed.q[:, 0]), np.sin(closed.q[:, 2])):
        assert (measure[:-1] * measure[1:] < 0).any()
    assert closed.switches == 2
    assert closed.balance.residual_position_max < 1e-14
    assert closed.balance.energy_balance_error_J < 1e-5


def test_first_order_steps_too() -> None:
    fine = simulate(load("four_bar"), 0.2)
    errors = [
        np.abs(
            simulate(load("four_bar"), 0.2, dt, integrator="semi_implicit", formulation="minimal").q[-1]
            - fine.q[-1]
        ).max()
        for dt in (0.001, 0.0005)
    ]
    assert 1.7 < errors[0] / errors[1] < 2.3


def test_any_frames_order_and_direction_of_axes(tmp_path: Path) -> None:
    machine = load(_written(tmp_path, TURNED))
    closed, projected = (
        simulate(machine, 0.5, formulation=name, effort=[3.0]) for name in ("minimal", "projected")
    )
    np.testing.assert_allclose(closed.q, projected.q, atol=1e-7)
    assert closed.balance.residual_position_max < 1e-12
    assert np.ptp(closed.q[:, 0]) > 0.1


def test_what_is_switched_or_set_otherwise() -> None:
    machine = load("four_bar", ["rocker.mass_kg=+50%"])
    runs = [simulate(machine, 0.2, formulation=name) for name in ("minimal", "projected")]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-8)
    let_go = [Switch("O4", "off", 0.1)]
    runs = [simulate(machine, 0.2, formulation=name, switches=let_go) for name in ("minimal", "projected")]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-8)


CASES = {
    "a screw": (
        ("type: revolute, parent: drive", "type: screw, pitch_m_per_turn: 1, parent: drive"),
        "three revolute joints and no other",
    ),
    "axes askew": (("rpy_deg: [25, 0, 0], axis: [1, 0, 0]", "axis: [1, 0, 0.1]"), "not parallel"),
    "no chain": (("parent: drive, child: coupler", "parent: world, child: coupler"), "in one chain"),
    "another closure": (
        ("type: revolute, a", "type: universal, a"),
        "must be a point, pin or revolute closure",
    ),
    "held elsewhere": (("a: {body: rocker", "a: {body: coupler"), "must hold the link of third at the world"),
    "out of reach": (("[0.2, 0.9, 0.4]", "[0.2, 9.9, 0.4]"), "longer than all others together"),
    "none": (("four_bar", "five_bar"), "invalid choice"),
}


@pytest.mark.parametrize("case", CASES)
def test_machines_that_have_no_closed_form_are_refused_at_the_key(tmp_path: Path, case: str) -> None:
    (old, new), words = CASES[case]
    assert old in TURNED
    with pytest.raises(MachineError) as caught:
        load(_written(tmp_path, TURNED.replace(old, new)))
    (problem,) = caught.value.problems
    assert words in problem.message
    assert problem.key == "closed_form"
    assert problem.line == 1 + TURNED[: TURNED.index("closed_form")].count("\n")


def test_a_linkage_that_can_lie_flat_is_refused(tmp_path: Path) -> None:
    text = shipped_path("four_bar").read_text().replace("at_m: [1, 0, 0]", "at_m: [0.9, 0, 0]")
    (problem,) = check(_written(tmp_path, text))
    assert "it can lie flat" in problem.message
    assert "Newton" in problem.remedy
