"""The machine under each set of its switchable constraints: degrees of freedom, coordinates, refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linkwork.machine import Machine, MachineError, for_controller, load, shipped_path
from linkwork.machine.constraint_sets import constraint_sets, names_of
from linkwork.multibody.functions import coordinate_jacobian

MACHINE = """
name: reaching
gravity_m_s2: [0, 0, -9.81]
bodies:
  a: {mass_kg: 2, inertia_kg_m2: {xx: 0, yy: 0, zz: 0}}
  b: {mass_kg: 3, inertia_kg_m2: {xx: 0, yy: 0, zz: 0}}
joints:
  x: {type: prismatic, parent: world, child: a, axis: [1, 0, 0]}
  y: {type: prismatic, parent: world, child: b, at_m: [1, 0, 0], axis: [1, 0, 0]}
constraints:
CONSTRAINTS
motors:
  x: {max_force_N: 50, max_speed_m_s: 5, brake_force_N: 50}
MORE
sensors:
  x: {velocity: true}
  y: {velocity: true}
"""
HOOK = "  hook: {type: distance, switchable: true, a: {body: a}, b: {body: b}, distance_m: 1}"


def reaching(folder: Path, constraints: str, more: str = "") -> Machine:
    path = folder / "reaching.yaml"
    path.write_text(MACHINE.replace("CONSTRAINTS", constraints).replace("MORE", more))
    return load(path)


def test_a_machine_without_switches_is_its_own_only_set() -> None:
    machine = load("four_bar")
    assert constraint_sets(machine) == {-1: machine}


def test_every_set_has_its_degrees_of_freedom_its_pose_and_its_coordinates() -> None:
    machine = load("slot_arm")
    sets = constraint_sets(machine)
    assert sets[machine.closed_at_start] is machine
    for closed, under in sets.items():
        if isinstance(under, str):
            assert (names_of(machine, closed), "no degree of freedom" in under) == (
                ("slot", "carriage"),
                True,
            )
            continue
        held = [one.name for one in under.mechanism.constraints if one.on]
        assert held == list(names_of(machine, closed))
        assert under.dof == 2 - len(held) == len(under.goal_coordinates)
        work = under.workspace()
        np.testing.assert_array_equal(work.on, [float(name in held) for name in machine.switchable])
        assert np.linalg.matrix_rank(coordinate_jacobian(under.mechanism, under.initial_q)[:2]) == 2
        assert under.mechanism.row_names == machine.mechanism.row_names


def test_a_set_that_leaves_a_joint_without_a_motor_is_refused_and_the_reason_said(tmp_path: Path) -> None:
    sets = constraint_sets(for_controller(reaching(tmp_path, HOOK)))
    assert isinstance(sets[1], Machine)
    assert sets[0] == "the motors do not control y in the initial pose"


def test_constraints_that_cannot_be_met_together_are_refused(tmp_path: Path) -> None:
    far = HOOK.replace("hook", "far").replace("distance_m: 1", "distance_m: 3, on: false")
    sets = constraint_sets(
        for_controller(reaching(tmp_path, f"{HOOK}\n{far}", "  y: {max_force_N: 9, max_speed_m_s: 1}"))
    )
    assert isinstance(sets[0b01], Machine)
    assert isinstance(sets[0b10], Machine)
    assert sets[0b11] == "the constraints cannot be met together near the initial pose"


def test_more_than_four_are_for_a_plant_alone(tmp_path: Path) -> None:
    text = shipped_path("slot_arm").read_text()
    more = "".join(
        f"  more{i}: {{type: coordinate, of: pin.z, equals_m: 0.{i}, on: false, switchable: true}}\n"
        for i in range(3)
    )
    path = tmp_path / "slot_arm.yaml"
    path.write_text(text.replace("task:", f"{more}task:"))
    machine = load(path)
    assert len(machine.switchable) == 5
    with pytest.raises(MachineError, match="5 constraints are switchable; the controller supports at most 4"):
        for_controller(machine)
