"""Import of MJCF: joints, springs, equalities and motors, compared with MuJoCo; files that are refused."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from linkwork.convert.robots.importing import Imported, ImportOptions, import_robot, read_robot
from linkwork.convert.robots.proof import prove
from linkwork.convert.robots.robot_model import ImportProblem
from tests.command import linkwork

ALL_KINDS = """
<mujoco model="all kinds">
  <compiler angle="degree"/>
  <option gravity="0 1 -9"/>
  <asset><mesh name="shape" file="missing.stl"/></asset>
  <worldbody>
    <site name="ground" pos="1.2 0 0"/>
    <body name="arm/1">
      <joint name="swing 1" axis="0 1 0" pos="0.1 0 0" stiffness="3" springref="20" frictionloss="0.1"
             armature="0.01" range="-90 90" ref="10"/>
      <geom type="box" size=".1 .05 .2" pos="0.1 0 0.1"/>
      <body name="two_joints" pos="1 0 0">
        <joint name="turn" axis="0 1 0"/>
        <joint name="slide" type="slide" axis="1 0 0" pos="0.2 0.1 0" stiffness="5" damping="0.3"/>
        <inertial pos="0.1 0 0" mass="2" fullinertia="0.1 0.2 0.25 0.01 0.02 0.03"/>
        <geom type="mesh" mesh="shape"/>
        <site name="tip" pos="0.2 0 0" euler="10 20 30"/>
        <body name="bob" pos="0 0 0.3" euler="30 0 10">
          <joint name="ball" type="ball" pos="0 0 0.05" damping="0.2"/>
          <geom type="capsule" size="0.05" fromto="0 0 0 0 0.1 0.3"/>
        </body>
      </body>
    </body>
    <body name="free" pos="0 0 1" euler="20 30 40">
      <freejoint name="drift"/>
      <geom type="box" size=".1 .2 .3"/>
      <body name="hub" pos="0.1 0 0"><geom type="sphere" size="0.1"/></body>
    </body>
  </worldbody>
  <equality>
    <connect name="held" site1="tip" site2="ground"/>
    <joint name="cam" joint1="swing 1" joint2="slide" polycoef="0 0.5 0.2 0 0"/>
    <joint name="gear" joint1="turn" joint2="swing 1" polycoef="0 -2 0 0 0"/>
    <weld name="glued" body1="bob" body2="free"/>
  </equality>
  <actuator><motor name="drive" joint="swing 1" gear="50" ctrlrange="-2 1" ctrllimited="true"/></actuator>
</mujoco>
"""


@pytest.fixture(scope="module")
def literal(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    path = tmp_path_factory.mktemp("mjcf") / "robot.xml"
    path.write_text(ALL_KINDS)
    return import_robot(path, ImportOptions(literal=True))


def test_every_kind_of_joint_agrees_with_mujoco(literal: Imported) -> None:
    proof = prove(literal.source)
    assert (proof.without, proof.library, proof.states) == ("", "MuJoCo", 5)
    for value in (proof.mass_matrix, proof.bias, proof.poses, proof.closures):
        assert value is not None
        assert value < 1e-12
    assert "MuJoCo on 5 random states: mass matrix to 1" in proof.lines()[0]


def test_values_of_the_source_stand_in_the_machine(literal: Imported) -> None:
    machine, mechanism = literal.machine, literal.machine.mechanism
    (motor,) = machine.motors
    assert (motor.joint, motor.max_effort) == ("swing_1", 100.0)
    limits = {each.name: each.position for each in machine.joints}
    assert limits["swing_1"] == pytest.approx(np.radians([-100.0, 80.0]))
    springs = {each.name: each for each in mechanism.elements}
    assert (springs["swing_1"].stiffness, springs["slide"].stiffness) == (3.0, 5.0)
    assert springs["swing_1"].rest == pytest.approx(np.radians(10.0))
    joints = {each.name: each for each in mechanism.joints}
    assert (joints["swing_1"].armature, joints["swing_1"].coulomb) == (0.01, 0.1)
    assert (joints["slide"].viscous, joints["ball"].viscous, joints["hub_fixed"].kind) == (0.3, 0.2, "fixed")
    assert mechanism.gravity_m_s2.tolist() == [0.0, 1.0, -9.0]
    kinds = {each.name: type(each).__name__ for each in mechanism.constraints}
    assert kinds == {
        "held": "PointClosure",
        "glued": "WeldClosure",
        "cam": "ExpressionConstraint",
        "gear": "CouplingConstraint",
    }
    assert machine.assembly.residual < 1e-9


def test_free_and_loaded_motion_is_mujocos(tmp_path: Path) -> None:
    """A spring pendulum that slides and turns: the same motion by MuJoCo with small Runge-Kutta steps."""
    from linkwork.offline.run import simulate

    text = """<mujoco><option integrator="RK4" timestep="0.0005"><flag contact="disable"/></option><worldbody>
      <body name="cart">
        <joint name="x" type="slide" axis="1 0 0" stiffness="40" springref="0.1" damping="0.5"/>
        <geom type="box" size=".1 .1 .1"/>
        <body name="rod"><joint name="a" axis="0 1 0" damping="0.05"/>
          <geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0"/></body></body></worldbody></mujoco>"""
    path = tmp_path / "cart.xml"
    path.write_text(text)
    (tmp_path / "cart.yaml").write_text(import_robot(path).text)
    from linkwork.machine import load

    found = simulate(load(tmp_path / "cart.yaml"), 0.5)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    while data.time < 0.5 - 1e-9:
        mujoco.mj_step(model, data)
    assert abs(data.qpos[1]) > 0.3
    assert found.q[-1] == pytest.approx(data.qpos, abs=1e-7)


@pytest.mark.parametrize(
    ("wrong", "right", "line", "said"),
    [
        ('type="ball"', 'type="bal"', 18, "invalid keyword"),
        ('joint="swing 1" gear', 'joint="swing 2" gear', 35, "unknown transmission target"),
        ('site1="tip"', 'site1="top"', 30, "top"),
        ('file="missing.stl"', 'file="../../etc/secret.stl"', 4, "outside the folder"),
        ("<worldbody>", '<include file="/etc/passwd"/><worldbody>', 5, "outside the folder"),
        ('mass="2"', 'mass="nan"', 11, "must be larger"),
        ("<worldbody>", "<worldbody><replicate count='1000000'/>", 5, "1000 copies"),
    ],
)
def test_broken_files_are_refused(wrong: str, right: str, line: int, said: str, tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(ALL_KINDS.strip().replace(wrong, right, 1))
    with pytest.raises(ImportProblem) as caught:
        read_robot(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    assert caught.value.line == line


def test_a_child_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(ALL_KINDS.strip())
    with pytest.raises(ImportProblem, match=r"more than 0\.01 s; give it more with --timeout"):
        read_robot(path, ImportOptions(seconds=0.01))


def test_the_command_shows_how_well_it_agrees(tmp_path: Path) -> None:
    (tmp_path / "robot.xml").write_text(ALL_KINDS.strip())
    ran = linkwork("import", str(tmp_path / "robot.xml"), "--out", str(tmp_path / "out.yaml"))
    assert ran.returncode == 0, ran.stderr
    assert "agreement: with MuJoCo on 5 random states: mass matrix to 1" in ran.stdout
    refused = linkwork("import", str(tmp_path / "robot.xml"), "--package", "nowhere")
    assert "expected NAME=DIR" in refused.stderr
