"""Robots of our own with what other descriptions rarely have together: counts, agreement, assembly modes."""

from pathlib import Path

import numpy as np
import pytest

from linkwork.convert.assembly_search import assembly_modes
from linkwork.convert.robots.importing import ImportOptions, import_robot
from linkwork.convert.robots.mujoco_worker import compiled
from linkwork.convert.robots.proof import prove
from linkwork.machine.description import Machine
from linkwork.multibody.tree.quaternions import to_matrix

OWN = Path(__file__).parent / "robots" / "own"


@pytest.mark.parametrize(
    ("file", "dof", "motors"),
    [
        ("defaults_and_equalities.xml", 6, ["hip", "w2"]),
        ("mimics_and_closing_frames.urdf", 10, ["crank_joint", "g1j"]),
        ("graph_of_joints.sdf", 4, ["crank_j", "gb"]),
        ("floating_loop.sdf", 7, ["j1"]),
    ],
)
def test_they_agree_with_another_library(file: str, dof: int, motors: list[str]) -> None:
    """The counts are those of hand: joints less closures, couplings and idle spins."""
    pytest.importorskip("mujoco" if file.endswith("xml") else "pinocchio")
    found = import_robot(OWN / file)
    assert (found.machine.dof, [motor.joint for motor in found.machine.motors]) == (dof, motors)
    proof = prove(found.source)
    assert max(proof.mass_matrix, proof.bias, proof.poses, proof.closures or 0.0) < 1e-9


def test_the_initial_pose_closes_the_loops_of_mujoco() -> None:
    """Connect, weld with a relative pose and a gear, with reference angles and nested defaults."""
    mujoco = pytest.importorskip("mujoco")
    path = OWN / "defaults_and_equalities.xml"
    machine = import_robot(path, ImportOptions(literal=True)).machine
    spec = mujoco.MjSpec.from_file(str(path))
    for body in spec.bodies:
        for geom in [each for each in body.geoms if each.type == mujoco.mjtGeom.mjGEOM_MESH]:
            spec.delete(geom)
    for each in [*spec.meshes, *spec.materials, *spec.textures]:
        spec.delete(each)
    model = spec.compile()
    data = mujoco.MjData(model)
    names = [joint["name"] for body in compiled({"file": str(path)})["bodies"] for joint in body["joints"]]
    for name, at in zip(names, model.jnt_qposadr, strict=True):
        value = _position(machine, name)
        zero = model.qpos0[at : at + len(value)]
        if len(value) == 1:
            data.qpos[at] = zero[0] + value[0]
            continue
        quat = value[-4:]
        if len(value) == 7:
            data.qpos[at : at + 3] = zero[:3] + to_matrix(zero[3:]) @ value[:3]
            mujoco.mju_mulQuat(data.qpos[at + 3 : at + 7], zero[3:].copy(), quat)
        else:
            data.qpos[at : at + 4] = quat
    mujoco.mj_forward(model, data)
    equalities = data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
    assert np.count_nonzero(equalities) == machine.assembly.rows
    assert np.abs(data.efc_pos[equalities]).max() < 1e-9


def _position(machine: Machine, joint: str) -> np.ndarray:
    """A joint's positions; the quaternion with the scalar part first."""
    names, q = machine.mechanism.position_names, machine.initial_q
    own = [value for name, value in zip(names, q, strict=True) if name.partition(".")[0] == joint]
    return np.array(own if len(own) == 1 else [*own[:-4], own[-1], *own[-4:-1]])


def test_a_floating_base_does_not_turn_between_assembly_modes() -> None:
    """A universal joint and a hinge carry a link on a ball: its two modes are mirror images."""
    found = assembly_modes(import_robot(OWN / "floating_loop.sdf").machine, {}, fruitless=30)
    assert len(found.modes) == 2
    assert {"base_floats.roll", "base_floats.pitch", "base_floats.yaw"} <= set(found.held)
