"""Idle degrees of freedom: found when a machine is loaded, or declared by `idle: true`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from linkwork.machine import Machine, MachineError, for_controller, load
from linkwork.machine.loading import plant_mechanism_with
from tests.machine.ball_ended import delta, stewart, text_of

RODS = ["upper_a_1", "upper_a_2", "upper_a_3", "upper_b_1", "upper_b_2", "upper_b_3"]


def loaded(folder: Path, data: dict[str, Any], *plant_set: str) -> Machine:
    path = folder / "machine.yaml"
    path.write_text(text_of(data))
    return load(path, plant_set)


def arm_with(wheel: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """A driven arm that carries a wheel on a bearing without a motor."""
    return {
        "name": "arm_with_wheel",
        "bodies": {
            "arm": {"mass_kg": 1, "com_m": [0.2, 0, 0], "inertia_kg_m2": [0.01, 0.01, 0.01, 0, 0, 0]},
            "wheel": {"mass_kg": 0.5, "inertia_kg_m2": [0.002, 0.001, 0.001, 0, 0, 0], **wheel},
        },
        "joints": {
            "hinge": {"type": "revolute", "parent": "world", "child": "arm", "axis": [0, 0, 1]},
            "bearing": {
                "type": "revolute", "parent": "arm", "child": "wheel", "at_m": [0.4, 0, 0], "axis": [1, 0, 0],
                **keys,
            },
        },
        "motors": {"hinge": {"max_torque_N_m": 10, "max_speed_rad_s": 10, "brake_torque_N_m": 5}},
        "sensors": {"hinge": {}},
    }  # fmt: skip


def test_each_rod_between_two_balls_turns_idly_about_itself(tmp_path: Path) -> None:
    machine = loaded(tmp_path, delta())
    assert sorted(motion.joint for motion in machine.assembly.idle) == RODS
    assert all(abs(motion.direction[0]) == pytest.approx(1.0, abs=1e-9) for motion in machine.assembly.idle)
    assert machine.dof == 3
    assert for_controller(machine) is machine


def test_the_plant_has_the_motions_that_the_controllers_model_holds(tmp_path: Path) -> None:
    machine = loaded(tmp_path, delta(), "platform.mass_kg=+20%")
    rows = [motion.row.name for motion in machine.assembly.idle]
    for mechanism, held in (
        (machine.mechanism, True),
        (machine.plant_mechanism, False),
        (plant_mechanism_with(machine, ["platform.mass_kg=+50%"]), False),
    ):
        assert [one.on for one in mechanism.constraints if one.name in rows] == [held] * 6
        joint = next(one for one in mechanism.joints if one.name == "upper_b_2")
        assert joint.viscous == pytest.approx(0.06 * 0.004**2 / 2, rel=1e-6)


def test_legs_with_a_ball_at_both_ends_turn_and_those_with_a_cardan_joint_do_not(tmp_path: Path) -> None:
    machine = loaded(tmp_path, stewart())
    assert sorted(motion.joint for motion in machine.assembly.idle) == [f"foot_{i}" for i in range(1, 7)]
    assert machine.dof == 6
    assert loaded(tmp_path, stewart("UPS")).assembly.idle == ()


def test_a_motion_that_moves_a_mass_is_not_idle_unless_the_file_says_so(tmp_path: Path) -> None:
    bent = delta()
    bent["bodies"]["rod_a_2"]["com_m"] = [0.25, 0.01, 0]
    machine = loaded(tmp_path, bent)
    assert len(machine.assembly.idle) == 5
    with pytest.raises(MachineError, match=r"upper_a_2\.rx") as error:
        for_controller(machine)
    assert "idle: true" in error.value.problems[0].remedy
    bent["joints"]["upper_a_2"]["idle"] = True
    machine = loaded(tmp_path, bent)
    assert len(machine.assembly.idle) == 6
    for_controller(machine)


def test_a_motion_can_be_kept_from_being_idle(tmp_path: Path) -> None:
    data = delta()
    data["joints"]["upper_a_2"]["idle"] = False
    assert "upper_a_2" not in [motion.joint for motion in loaded(tmp_path, data).assembly.idle]


def test_a_joint_that_a_motor_drives_has_no_idle_motion(tmp_path: Path) -> None:
    data = delta()
    data["joints"]["motor_1"]["idle"] = True
    with pytest.raises(MachineError) as error:
        loaded(tmp_path, data)
    problem = error.value.problems[0]
    assert problem.key == "joints.motor_1.idle"
    assert "no idle degree of freedom" in problem.message


def test_a_balanced_wheel_without_a_motor_is_idle_and_one_out_of_balance_is_not(tmp_path: Path) -> None:
    machine = for_controller(loaded(tmp_path, arm_with({})))
    assert [motion.joint for motion in machine.assembly.idle] == ["bearing"]
    assert machine.dof == 1
    with pytest.raises(MachineError, match="bearing"):
        for_controller(loaded(tmp_path, arm_with({"com_m": [0, 0.02, 0]})))


def test_what_is_measured_sprung_named_or_moving_at_the_start_is_not_idle(tmp_path: Path) -> None:
    spring = {"coil": {"joint": "bearing", "stiffness_N_m_rad": 1.0}}
    for more in (
        {"sensors": {"hinge": {}, "bearing": {}}},
        {"springs": spring},
        {"points": {"rim": {"body": "wheel", "at_m": [0, 0.1, 0]}}},
        {"initial": {"bearing_rad_s": 5}},
    ):
        assert loaded(tmp_path, arm_with({}) | more).assembly.idle == ()
