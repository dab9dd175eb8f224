"""Named poses of a machine file."""

from __future__ import annotations

import math

import pytest

from linkwork import load
from linkwork.machine import MachineError, shipped, shipped_path


def written(tmp_path, poses):
    path = tmp_path / "scara.yaml"
    path.write_text(shipped_path("scara").read_text() + f"\nposes: {poses}\n")
    return load(str(path))


def test_poses_have_units_and_name_joints_or_task_coordinates(tmp_path):
    poses = written(tmp_path, "{home: {shoulder_deg: 90}, up: {z_m: 0.2, elbow_rad: 0.1}}").poses
    assert poses == {"home": {"shoulder": pytest.approx(math.pi / 2)}, "up": {"z": 0.2, "elbow": 0.1}}


@pytest.mark.parametrize(
    ("pose", "says"),
    [("{sholder_deg: 1}", "sholder_deg"), ("{shoulder: 1}", "shoulder_deg"), ("{x_m: 1, x_m: 2}", "x_m")],
)
def test_a_wrong_name_is_refused_at_its_place(tmp_path, pose, says):
    with pytest.raises(MachineError, match=says) as error:
        written(tmp_path, f"{{home: {pose}}}")
    assert "poses" in str(error.value) or "twice" in str(error.value)


@pytest.mark.parametrize("name", [name for name in shipped() if name not in ("double_pendulum", "thin_disk")])
def test_home_is_the_initial_pose(name):
    machine = load(name)
    home = machine.poses.get("home", {})
    assert set(home) <= set(machine.goal_coordinates)
    for coordinate, value in home.items():
        assert value == machine.initial_q[machine.mechanism.joint_index(coordinate)]
