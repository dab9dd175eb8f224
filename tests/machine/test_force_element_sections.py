"""The sections `springs` and `forces` of a machine file: what they build, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from linkwork.machine import Machine, MachineError, load
from linkwork.multibody.functions import bias

DATA = {
    "name": "sprung_arm",
    "bodies": {
        "arm": {
            "mass_kg": 2.0,
            "com_m": [0.2, 0, 0],
            "inertia_kg_m2": {"xx": 0.002, "yy": 0.028, "zz": 0.028},
        }
    },
    "joints": {"hinge": {"type": "revolute", "parent": "world", "child": "arm", "axis": [0, -1, 0]}},
    "points": {
        "tip": {"body": "arm", "at_m": [0.4, 0, 0]},
        "wrist": {"body": "arm", "at_m": [0.3, 0, 0]},
        "hook": {"body": "world", "at_m": [0, 0, 0.5]},
    },
    "motors": {"hinge": {"max_torque_N_m": 20, "max_speed_rad_s": 10, "brake_torque_N_m": 20}},
    "sensors": {"hinge": {"position": {"counts_per_turn": 1048576}, "velocity": True}},
}


def made(folder: Path, **sections: object) -> Machine:
    path = folder / "arm.yaml"
    path.write_text(json.dumps({**DATA, **sections}))
    return load(path)


def torque_at(machine: Machine, angle: float, *, plant: bool = False) -> float:
    """What the elements add to the bias of the arm at rest, with the sign of an effort."""
    mechanism = machine.plant_mechanism if plant else machine.mechanism
    gravity = 2.0 * 9.81 * 0.2 * np.cos(angle)
    return float(gravity - bias(mechanism, [angle], [0.0])[0])


def test_units_and_defaults(tmp_path: Path) -> None:
    spring = {"joint": "hinge", "stiffness_N_m_rad": 1.5, "rest_deg": 90, "preload_N_m": 0.1}
    machine = made(tmp_path, springs={"s": {**spring, "progressive_N_m_rad3": 0.3}})
    stretch = 0.4 - np.pi / 2
    assert torque_at(machine, 0.4) == pytest.approx(-(0.1 + 1.5 * stretch + 0.3 * stretch**3), rel=1e-12)
    between = {"between": ["hook", "tip"], "stiffness_N_m": 40, "rest_m": 0.2, "preload_N": 3}
    machine = made(tmp_path, springs={"s": between})
    length = np.hypot(0.4, 0.5)
    pull = (3 + 40 * (length - 0.2)) / length * 0.5 * 0.4  # lever of the vertical part at angle 0
    assert torque_at(machine, 0.0) == pytest.approx(pull, rel=1e-12)


def test_forces_at_points_on_bodies_and_joints(tmp_path: Path) -> None:
    forces = {
        "up": {"point": "tip", "direction": [0, 0, 2], "force_N": 3},
        "turn": {"body": "arm", "axis": [0, -1, 0], "axes": "body", "torque_N_m": 0.5},
        "drive": {"joint": "hinge", "torque_N_m": "0.25*cos(hinge) + tip.x"},
    }
    machine = made(tmp_path, forces=forces)
    expected = 3 * 0.4 * np.cos(0.3) + 0.5 + 0.25 * np.cos(0.3) + 0.4 * np.cos(0.3)
    assert torque_at(machine, 0.3) == pytest.approx(expected, rel=1e-12)
    assert "tip.x" in machine.mechanism.coordinate_names


def test_what_only_the_plant_has_is_no_part_of_the_controllers_model(tmp_path: Path) -> None:
    push = {"joint": "hinge", "torque_N_m": 1.0, "plant_only": True}
    plain, pushed = made(tmp_path), made(tmp_path, forces={"push": push})
    assert torque_at(pushed, 0.2) == pytest.approx(0.0, abs=1e-12)
    assert torque_at(pushed, 0.2, plant=True) == pytest.approx(1.0, rel=1e-12)
    assert pushed.model_hash == plain.model_hash
    assert pushed.plant_model_hash != plain.plant_model_hash
    assert pushed.interface_hash == plain.interface_hash


@pytest.mark.parametrize(
    ("section", "entry", "key", "said"),
    [
        ("springs", {"joint": "hing", "stiffness_N_m_rad": 1}, "springs.s.joint", "write hinge"),
        ("springs", {"joint": "hinge", "stiffness_N_m": 1}, "springs.s.stiffness_N_m", "is an angle"),
        ("springs", {"joint": "hinge"}, "springs.s", "exerts no force"),
        ("springs", {"stiffness_N_m": 1}, "springs.s", "joint or between is missing"),
        ("springs", {"between": ["hook", "tup"], "stiffness_N_m": 1}, "springs.s.between[1]", "tip, wrist"),
        ("springs", {"between": ["tip", "wrist"], "stiffness_N_m": 1}, "springs.s.between[1]", "same body"),
        ("springs", {"between": ["hook", "tip"], "stiffness_N_m_rad": 1}, "springs.s", "is linear"),
        ("springs", {"joint": "hinge", "stiffness_N_m_rad": -1}, "springs.s.stiffness_N_m_rad", "0"),
        ("springs", {"joint": "hinge", "stiffness_N_m_rad": 1e9}, "springs.s.stiffness_N_m_rad", "too large"),
        ("forces", {"joint": "hinge", "force_N": 1}, "forces.s.force_N", "is an angle"),
        ("forces", {"point": "tip", "force_N": 1}, "forces.s", "direction is missing"),
        (
            "forces",
            {"point": "hook", "direction": [1, 0, 0], "force_N": 1},
            "forces.s.point",
            "fixed in the world",
        ),
        ("forces", {"point": "tip", "direction": [0, 0, 0], "force_N": 1}, "forces.s.direction", "direction"),
        ("forces", {"body": "leg", "axis": [1, 0, 0], "torque_N_m": 1}, "forces.s.body", "arm"),
        ("forces", {"body": "arm", "axis": [1, 0, 0], "force_N": 1}, "forces.s.force_N", "torque_N_m"),
        ("forces", {"joint": "hinge", "torque_N_m": "2*hing"}, "forces.s.torque_N_m", "write hinge"),
        ("forces", {"joint": "hinge", "torque_N_m": "abs(hinge)"}, "forces.s.torque_N_m", "not smooth"),
        ("forces", {"joint": "hinge", "torque_N_m": "rate(hinge"}, "forces.s.torque_N_m", "not closed"),
        (
            "forces",
            {"joint": "hinge", "torque_N_m": 1, "axis": [1, 0, 0]},
            "forces.s.axis",
            "belongs to a body",
        ),
    ],
)
def test_mistakes_are_named_with_their_place(
    section: str, entry: dict[str, object], key: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(MachineError) as caught:
        made(tmp_path, **{section: {"s": entry}})
    (problem,) = caught.value.problems
    assert problem.key.startswith(key)
    assert said in f"{problem.message} {problem.allowed} {problem.remedy}"
    assert problem.line


def test_the_plants_spring_may_be_another(tmp_path: Path) -> None:
    path = tmp_path / "arm.yaml"
    springs = {"s": {"joint": "hinge", "stiffness_N_m_rad": 2.0}}
    path.write_text(json.dumps({**DATA, "springs": springs}))
    machine = load(path, ["springs.s.stiffness_N_m_rad=+10%"])
    assert torque_at(machine, 0.5, plant=True) == pytest.approx(-1.1, rel=1e-12)
    assert torque_at(machine, 0.5) == pytest.approx(-1.0, rel=1e-12)
