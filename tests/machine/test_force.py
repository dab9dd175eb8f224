"""Tilted planes as task coordinates, damping by ratio, force sensors: what comes of the file."""

from pathlib import Path

import numpy as np
import pytest

from linkwork.machine import MachineError, load
from linkwork.machine.catalogue import shipped_path
from linkwork.multibody.functions import coordinate_jacobian, mass_matrix
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.kinematics import kinematics

TILT = np.deg2rad(15.0)
S, T, N = (
    np.array([1.0, 0.0, 0.0]),
    np.array([0.0, np.cos(TILT), np.sin(TILT)]),
    np.array([0.0, -np.sin(TILT), np.cos(TILT)]),
)


def polish(tmp_path: Path, *changes: tuple[str, str]) -> Path:
    """The polishing machine with some text replaced."""
    text = shipped_path("scara_polish").read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "polish.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_coordinates_along_directions_are_those_of_the_tilted_frame() -> None:
    mechanism = load("scara_polish").mechanism
    names = [mechanism.coordinate_index(name) for name in ("s", "t", "n", "table.gap")]
    work, rng = mechanism.workspace(), np.random.default_rng(1)

    def at(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        work.q[:], work.v[:] = q, v
        kinematics(*work.arguments)
        coordinates(*work.arguments)
        return (
            work.theta[names].copy(),
            work.J[names].copy(),
            work.Jdv[names].copy(),
            work.point_position[0].copy(),
        )

    for _ in range(20):
        q, v, h = rng.normal(size=4), rng.normal(size=4), 1e-6
        theta, jacobian, rate, place = at(q, v)
        way = place - [0.0, 0.31, 0.0]
        np.testing.assert_allclose(theta, [S @ way, T @ way, N @ way, N @ way], atol=1e-14)
        (high, j_high, *_), (low, j_low, *_) = at(q + h * v, v), at(q - h * v, v)
        np.testing.assert_allclose(jacobian @ v, (high - low) / (2 * h), atol=1e-8)
        np.testing.assert_allclose(rate, (j_high - j_low) @ v / (2 * h), atol=1e-8)


def test_a_damping_ratio_takes_the_mass_at_the_point_and_stays_with_a_heavier_plant() -> None:
    machine = load("scara_polish", ["lift_link.mass_kg=+20%"])
    row = coordinate_jacobian(machine.mechanism, machine.initial_q)[machine.force_rows[0].gap]
    inertia = 1.0 / (row @ np.linalg.solve(mass_matrix(machine.mechanism, machine.initial_q), row))
    damping = machine.mechanism.contacts[0].damping_N_s_m
    assert damping == pytest.approx(2 * 0.3 * np.sqrt(5e4 * inertia))
    assert machine.plant_mechanism.contacts[0].damping_N_s_m == damping


def test_forces_that_goals_may_name() -> None:
    (table,) = load("scara_polish").force_rows
    assert (table.name, table.kind, table.unit) == ("table", "contact", "N")
    (guide,) = load("slider_crank").force_rows
    assert (guide.name, guide.kind, guide.unit) == ("guide", "constraint", "N")
    assert load("scara").force_rows == ()


def test_a_force_sensor_is_part_of_the_interface_only_where_there_is_one(tmp_path: Path) -> None:
    assert load("scara_polish").interface()["force_sensors"] == [
        {"name": "wrist", "unit": "N", "frame": "world", "components": ["x", "y", "z"]}
    ]
    assert "force_sensors" not in load("scara").interface()


@pytest.mark.parametrize(
    ("change", "where", "text"),
    [
        (("{contact: table,", "{contact: tabel,"), ("force_sensors", "wrist", "contact"), "contact"),
        (("0.3\n    friction", "0.3\n    damping_N_s_m: 1\n    friction"), None, "twice"),
        (("    direction: [1, 0, 0]\n", ""), ("task", "s"), "direction"),
        (("tool.along\n    direction: [1", "tool.x\n    direction: [1"), ("task", "s", "direction"), "along"),
        (("direction: [1, 0, 0]", "direction: [0, 0, 0]"), ("task", "s", "direction"), "direction"),
    ],
)  # fmt: skip
def test_mistakes_are_placed(
    tmp_path: Path, change: tuple[str, str], where: tuple[str, ...] | None, text: str
) -> None:
    with pytest.raises(MachineError) as caught:
        load(polish(tmp_path, change))
    problems = caught.value.problems
    assert any(text in str(problem) for problem in problems), problems
    assert where is None or any(problem.key == ".".join(where) for problem in problems), problems
