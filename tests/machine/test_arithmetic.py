"""Arithmetic in place of numbers, and the ways to give an orientation."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from linkwork.machine import Machine, MachineError, load, schema

PENDULUM = """
name: pendulum
bodies:
  rod: {mass_kg: %s, com_m: [0, 0, -1/4], inertia_kg_m2: [1/12, 1/12, 1e-4, 0, 0, 0]}
joints:
  hinge:
    type: revolute
    parent: world
    child: rod
    axis: [0, 1, 0]
    limits: {position_rad: [-pi/2, pi/2]}
    %s
"""


def machine_with(folder: Path, mass: str = "1", place: str = "") -> Machine:
    (folder / "machine.yaml").write_text(PENDULUM % (mass, place))
    return load(folder / "machine.yaml")


def test_numbers_may_be_arithmetic_in_the_unit_of_the_key(tmp_path: Path) -> None:
    machine = machine_with(tmp_path, "2*sqrt(0.25) + 1/4")
    body = machine.mechanism.bodies[0]
    assert body.mass_kg == 1.25
    np.testing.assert_array_equal(body.com_m, [0, 0, -0.25])
    np.testing.assert_array_equal(np.diag(body.inertia_kg_m2), [1 / 12, 1 / 12, 1e-4])
    assert machine.joints[0].position == (-math.pi / 2, math.pi / 2)
    assert machine.config_hash == machine_with(tmp_path, "1.25").config_hash


@pytest.mark.parametrize(
    ("mass", "message", "found"),
    [
        ("1/0", "no finite value", "1/0"),
        ("10**10**10", "no finite value", "10**10**10"),
        ("(-1)**0.5", "no finite value", "(-1)**0.5"),
        ("2*rod", "cannot depend on other values", "rod"),
        ("1 (2)", "an operator is missing", "("),
        ("1.2 kg", "has no unit here", "1.2 kg"),
        ("1e-3kg", "has no unit here", "1e-3kg"),
        ("'1,2'", "this is no number", "1,2"),
        ("(1 + 2", "not closed", "("),
        ("__import__('os')", "", ""),
        ("1/-12", "out of range", ""),
        ("heavy", "wrong type", "heavy"),
    ],
)
def test_arithmetic_that_is_none_is_refused_with_its_place(
    tmp_path: Path, mass: str, message: str, found: str
) -> None:
    with pytest.raises(MachineError) as error:
        machine_with(tmp_path, mass)
    [problem] = error.value.problems
    assert problem.key == "bodies.rod.mass_kg"
    assert message in problem.message
    assert found in problem.found


def test_the_place_of_an_error_is_the_character(tmp_path: Path) -> None:
    with pytest.raises(MachineError) as error:
        machine_with(tmp_path, "1 + 2*rod")
    [problem] = error.value.problems
    assert (problem.line, problem.column) == (4, len("  rod: {mass_kg: 1 + 2*") + 1)


def test_editors_accept_text_where_numbers_stand() -> None:
    mass = schema()["$defs"]["BodySpec"]["properties"]["mass_kg"]
    assert mass["type"] == ["number", "string"]


@pytest.mark.parametrize(
    "place",
    [
        "rpy_rad: [0, 0, pi/2]",
        "rpy_deg: [0, 0, 180/2]",
        "quaternion_wxyz: [cos(pi/4), 0, 0, sin(pi/4)]",
        "quaternion_wxyz: [0.7071, 0, 0, 0.7071]",
        "rotation_matrix: [[0, -1, 0], [1, 0, 0], [0, 0, 1]]",
        "rotation_matrix: [[0, -1.0001, 0], [1, 0, 0], [0, 0, 1]]",
    ],
)
def test_orientations_can_be_given_in_four_ways(tmp_path: Path, place: str) -> None:
    joint = machine_with(tmp_path, place=place).mechanism.joints[0]
    np.testing.assert_allclose(joint.rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("quaternion_wxyz: [1, 1, 0, 0]", "another length"),
        ("rotation_matrix: [[0, 1, 0], [1, 0, 0], [0, 0, 1]]", "no rotation"),
        ("rotation_matrix: [[1, 0, 0], [0, 1, 0], [0, 0, 2]]", "no rotation"),
        ("{quaternion_wxyz: [1, 0, 0, 0], rpy_deg: [0, 0, 0]}", "same value twice"),
    ],
)
def test_orientations_that_are_none_are_refused(tmp_path: Path, place: str, message: str) -> None:
    if place.startswith("{"):
        place = place[1:-1].replace("], rpy", "]\n    rpy")
    with pytest.raises(MachineError, match=message):
        machine_with(tmp_path, place=place)


def test_the_plant_may_be_turned_otherwise(tmp_path: Path) -> None:
    machine_with(tmp_path, place="quaternion_wxyz: [1, 0, 0, 0]")
    turned = load(tmp_path / "machine.yaml", ["hinge.rpy_deg=[0, 0, 90]"])
    np.testing.assert_allclose(turned.plant_mechanism.joints[0].rotation[0], [0, -1, 0], atol=1e-15)
