"""Drake's elements in URDF and SDF: joints, ball constraints, springs and tendons."""

from pathlib import Path

import numpy as np
import pytest

from linkwork.convert.robots.importing import Imported, ImportOptions, import_robot, read_robot
from linkwork.convert.robots.proof import prove
from linkwork.convert.robots.robot_model import ImportProblem

LINKS = ("cross", "nut", "hand", "puck", "left", "right")
LINK = """<link name="{}"><inertial><origin xyz="0.1 0 0.05"/><mass value="1"/>
  <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
URDF = f"""
<robot name="all" xmlns:drake="http://drake.mit.edu">
  <link name="base"/>{"".join(map(LINK.format, LINKS))}
  <drake:joint name="cardan" type="universal"><parent link="base"/><child link="cross"/>
    <origin xyz="0 0 1" rpy="0.1 0.2 0.3"/><dynamics damping="0.1"/></drake:joint>
  <drake:joint name="thread" type="screw"><parent link="cross"/><child link="nut"/><axis xyz="0 1 0"/>
    <drake:screw_thread_pitch value="0.1"/></drake:joint>
  <drake:joint name="wrist" type="ball"><parent link="nut"/><child link="hand"/>
    <origin xyz="0.3 0 0"/></drake:joint>
  <drake:joint name="table" type="planar"><parent link="base"/>
    <child link="puck"/><axis xyz="0 0 1"/></drake:joint>
  <joint name="l" type="prismatic"><parent link="base"/><child link="left"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="1" effort="10" velocity="1"/></joint>
  <joint name="r" type="prismatic"><parent link="base"/><child link="right"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="0" velocity="1"/></joint>
  <drake:ball_constraint><drake:ball_constraint_body_A name="hand"/>
    <drake:ball_constraint_body_B name="puck"/>
    <drake:ball_constraint_p_AP value="0.2 0 0"/><drake:ball_constraint_p_BQ value="0 0 0.8"/>
  </drake:ball_constraint>
  <drake:linear_spring_damper>
    <drake:linear_spring_damper_body_A name="base"/><drake:linear_spring_damper_p_AP value="0 0 2"/>
    <drake:linear_spring_damper_body_B name="cross"/><drake:linear_spring_damper_p_BQ value="0.1 0 0"/>
    <drake:linear_spring_damper_free_length value="0.4"/><drake:linear_spring_damper_stiffness value="30"/>
    <drake:linear_spring_damper_damping value="2"/></drake:linear_spring_damper>
  <drake:tendon_constraint><drake:tendon_constraint_joint name="l" a="1"/>
    <drake:tendon_constraint_joint name="r" a="2"/><drake:tendon_constraint_offset value="0.1"/>
    <drake:tendon_constraint_lower_limit value="0.3"/><drake:tendon_constraint_upper_limit value="0.3"/>
  </drake:tendon_constraint>
  <drake:tendon_constraint><drake:tendon_constraint_joint name="l" a="1"/>
    <drake:tendon_constraint_lower_limit value="0"/></drake:tendon_constraint>
</robot>"""


def read(folder: Path, text: str = URDF) -> Imported:
    (folder / "all.urdf").write_text(text.strip())
    return import_robot(folder / "all.urdf", ImportOptions(literal=True))


def test_drakes_elements_of_urdf_are_read(tmp_path: Path) -> None:
    found = read(tmp_path)
    mechanism = found.machine.mechanism
    joints = {each.name: each for each in mechanism.joints}
    assert [joints[name].kind for name in ("cardan", "thread", "wrist", "table")] == [
        "universal", "screw", "spherical", "planar",
    ]  # fmt: skip
    assert joints["thread"].pitch_m_per_rad == pytest.approx(0.1 / (2 * np.pi))
    assert joints["cardan"].viscous == 0.1
    idle = {motion.row.name for motion in found.machine.assembly.idle}
    kinds = {each.name: type(each).__name__ for each in mechanism.constraints if each.name not in idle}
    assert kinds == {"ball_constraint_1": "PointClosure", "tendon_constraint_1": "CouplingConstraint"}
    left, right = (found.machine.initial_q[mechanism.joint_index(name)] for name in "lr")
    assert left + 2 * right + 0.1 == pytest.approx(0.3)
    (spring,) = mechanism.elements
    assert (spring.stiffness, spring.damping, spring.rest) == (30.0, 2.0, 0.4)
    assert [note for note in found.remarks if "drake" in note] == [
        "drake:tendon_constraint (line 34) is soft or slack, and left out",
    ]


def test_they_agree_with_pinocchio(tmp_path: Path) -> None:
    proof = prove(read(tmp_path).source)
    assert proof.without == ""
    assert max(proof.mass_matrix, proof.poses, proof.closures or 0.0) < 1e-12


def test_a_bushing_which_may_close_a_loop_is_an_error(tmp_path: Path) -> None:
    bushing = '<drake:linear_bushing_rpy name="soft"/></robot>'
    (tmp_path / "all.urdf").write_text(URDF.strip().replace("</robot>", bushing))
    with pytest.raises(ImportProblem, match=r"linear_bushing_rpy> 'soft' may close a loop.*--no-closures"):
        read_robot(tmp_path / "all.urdf")
    assert read_robot(tmp_path / "all.urdf", ImportOptions(no_closures=True)).closures == []


@pytest.mark.parametrize("inside", ["mujoco", "simulator", "gazebo><extension"])
def test_a_closure_inside_an_element_that_is_not_read_is_an_error(inside: str, tmp_path: Path) -> None:
    end = "</extension></gazebo>" if "extension" in inside else f"</{inside}>"
    closure = f'<{inside}><loops><connect/><loop_joint name="pin"/></loops>{end}</robot>'
    (tmp_path / "all.urdf").write_text(URDF.strip().replace("</robot>", closure))
    with pytest.raises(ImportProblem, match=r"<loops> '' may close a loop.*--no-closures"):
        read_robot(tmp_path / "all.urdf")
    assert read_robot(tmp_path / "all.urdf", ImportOptions(no_closures=True)).closures == []


@pytest.mark.parametrize(
    ("wrong", "right", "line", "said"),
    [
        ('type="ball"', 'type="curvilinear"', 13, "unknown type 'curvilinear'"),
        ('value="0 0 0.8"', 'value="0 0"', 23, "must be 3 numbers"),
        ('_body_B name="puck"', '_body_B name="fist"', 21, "fist"),
        ('<drake:screw_thread_pitch value="0.1"/>', "", 11, "no <drake:screw_thread_pitch>"),
        ('joint name="r" a', 'joint name="s" a', 30, "there is no such joint"),
    ],
)
def test_broken_elements_are_refused(wrong: str, right: str, line: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "all.urdf").write_text(URDF.strip().replace(wrong, right, 1))
    with pytest.raises(ImportProblem, match=said) as caught:
        read_robot(tmp_path / "all.urdf")
    assert caught.value.line == line


def test_a_planar_joint_mimics_and_springs_of_sdf_are_read(tmp_path: Path) -> None:
    body = "<link name='{}'><inertial><mass>1</mass></inertial></link>"
    spring = "".join(
        f"<drake:linear_spring_damper_{key}>{value}</drake:linear_spring_damper_{key}>"
        for key, value in (
            ("body_A", "world"), ("p_AP", "0 0 1"), ("body_B", "puck"), ("p_BQ", "0.1 0 0"),
            ("free_length", "0.5"), ("stiffness", "20"), ("damping", "1"),
        )
    )  # fmt: skip
    turn = '<joint name="{}" type="revolute"><parent>world</parent><child>{}</child>{}</joint>'
    (tmp_path / "all.sdf").write_text(
        '<sdf version="1.9" xmlns:drake="drake.mit.edu"><model name="m">'
        + "".join(map(body.format, ("puck", "first", "second")))
        + '<drake:joint name="table" type="planar"><drake:parent>world</drake:parent>'
        "<drake:child>puck</drake:child><drake:damping>0 0 0</drake:damping></drake:joint>"
        + turn.format("a", "first", "")
        + turn.format("b", "second", '<drake:mimic joint="a" multiplier="-2" offset="0.1"/>')
        + f"<drake:linear_spring_damper>{spring}</drake:linear_spring_damper></model></sdf>"
    )
    machine = import_robot(tmp_path / "all.sdf", ImportOptions(literal=True)).machine
    assert [joint.kind for joint in machine.mechanism.joints] == ["planar", "revolute", "revolute"]
    (coupling,) = machine.mechanism.constraints
    assert getattr(coupling, "factors") == {"b": 1.0, "a": 2.0}  # noqa: B009
    assert [each.stiffness for each in machine.mechanism.elements] == [20.0]
