"""The robot of ROS: standard URDF in the names of `state`, and transforms that place each body."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from linkwork.arrays import Floats
from linkwork.drawing.skeleton import BodyFrames
from linkwork.machine import Machine, load, shipped_path
from linkwork.ros.robot_frames import LinkTransform, RobotFrames

MACHINES = ("five_bar", "scara", "arm_6dof", "delta", "platform_huang", "slider_crank", "thin_disk")
STANDARD = {"revolute", "continuous", "prismatic", "fixed", "floating"}


def pose(machine: Machine, random: np.random.Generator) -> Floats:
    """Positions anywhere; closures need not hold."""
    names = machine.mechanism.position_names
    q = np.asarray(machine.initial_q) + random.normal(size=len(names))
    for scalar, name in enumerate(names):
        if name.endswith(".quaternion"):
            own = [k for k, each in enumerate(names) if each.startswith(name.removesuffix("quaternion"))]
            ball = [*own[-4:-1], scalar]
            q[ball] /= np.linalg.norm(q[ball])
    return q


def placed(transforms: list[LinkTransform]) -> dict[str, Floats]:
    """Frame (4 × 4) of each link in the world, along the tree."""
    frames, left = {"world": np.eye(4)}, list(transforms)
    while left:
        each = next(one for one in left if one.parent in frames)
        left.remove(each)
        frame = np.eye(4)
        frame[:3, :3], frame[:3, 3] = Rotation.from_quat(each.quaternion).as_matrix(), each.place_m
        frames[each.child] = frames[each.parent] @ frame
    return frames


@pytest.mark.parametrize("name", MACHINES)
def test_transforms_place_each_body_where_the_model_has_it(name: str) -> None:
    machine = load(name)
    robot, bodies, random = RobotFrames(machine), BodyFrames(machine.mechanism), np.random.default_rng(1)
    for _ in range(3):
        q = pose(machine, random)
        frames = placed(robot.constant() + robot.transforms(q))
        for body, (*axes, origin) in zip(bodies.bodies, bodies.frames_at(q), strict=True):
            np.testing.assert_allclose(frames[body][:3, 3], origin, atol=1e-12)
            np.testing.assert_allclose(frames[body][:3, :3].T, axes, atol=1e-12)


@pytest.mark.parametrize("name", MACHINES)
def test_the_description_is_a_tree_of_standard_joints_in_the_names_of_state(name: str) -> None:
    machine = load(name)
    root = ElementTree.fromstring(RobotFrames(machine).description)
    joints = root.findall("joint")
    assert {each.get("type") for each in joints} <= STANDARD
    moving = {each.get("name") for each in joints if each.get("type") not in ("fixed", "floating")}
    balls = {each.get("name") for each in joints if each.get("type") == "floating"}
    known = machine.mechanism.position_names
    assert moving == {each for each in known if each.partition(".")[0] not in balls}
    links = {each.get("name") for each in root.findall("link")}
    assert links - {each.find("child").get("link") for each in joints} == {"world"}  # type: ignore[union-attr]


def test_meshes_have_addresses_and_capsules_are_cylinders(tmp_path: Path) -> None:
    text = shipped_path("scara").read_text()
    mesh = tmp_path / "my arm.stl"
    mesh.write_text("solid none\nendsolid none\n")
    shapes = '[{type: capsule, radius_m: 0.1, length_m: 0.4}, {type: mesh, file: "my arm.stl"}]'
    path = tmp_path / "scara.yaml"
    path.write_text(text.replace("  wrist_link:\n", f"  wrist_link:\n    visual: {shapes}\n", 1))
    root = ElementTree.fromstring(RobotFrames(load(path)).description)
    files = [each.get("filename") for each in root.iter("mesh")]
    assert mesh.as_uri() in files
    assert "%20" in mesh.as_uri()
    assert not list(root.iter("capsule"))
    assert any(each.get("length") == "0.4" for each in root.iter("cylinder"))
