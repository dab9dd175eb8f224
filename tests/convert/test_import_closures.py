"""Closures in all dialects: each is read, or an error with its place; none is passed over."""

from pathlib import Path

import numpy as np
import pytest

from linkwork.convert.robots.importing import ImportOptions, import_robot, read_robot
from linkwork.convert.robots.proof import prove
from linkwork.convert.robots.robot_model import FramePose, ImportProblem, RobotModel, SourceClosure
from linkwork.convert.robots.xml_reading import rotation_of
from tests.convert.test_import_completeness import URDF_JOINT, urdf

AXIS, SECOND = "<axis><xyz>0 1 0</xyz></axis>", "<axis2><xyz>1 0 0</xyz></axis2>"


def gazebo(kind: str, pose: str, more: str = "") -> str:
    return f"""<gazebo><joint name="end" type="{kind}"><parent>b</parent><child>c</child>{pose}{more}</joint>
      </gazebo>"""


def in_ground(robot: RobotModel, closure: SourceClosure) -> list[FramePose]:
    """The frames of both ends at the zero pose."""
    found = []
    for link, pose in ((closure.a, closure.a_pose), (closure.b, closure.b_pose)):
        while (joint := robot.carrier(link)) is not None:
            pose, link = joint.pose @ pose, joint.parent
        found.append(pose)
    return found


@pytest.mark.parametrize(
    ("kind", "more", "type_"),
    [
        ("revolute", AXIS, "revolute"),
        ("prismatic", AXIS, "prismatic"),
        ("ball", "", "point"),
        ("fixed", "", "weld"),
        ("universal", AXIS + SECOND, "universal"),
    ],
)
def test_joints_in_gazebo_close_loops_at_their_place_in_the_child(
    kind: str, more: str, type_: str, tmp_path: Path
) -> None:
    robot = read_robot(urdf(tmp_path, gazebo(kind, "<pose>.1 .2 .3 .4 .5 .6</pose>", more)))
    (closure,) = robot.closures
    assert closure.type == type_
    assert (closure.a, closure.b) == ("b", "c")
    assert closure.b_pose.at == pytest.approx([0.1, 0.2, 0.3])
    assert np.abs(closure.b_pose.rotation - rotation_of(0.4, 0.5, 0.6)).max() < 1e-15
    here, there = in_ground(robot, closure)
    assert np.abs(here.at - there.at).max() < 1e-15
    assert np.abs(here.rotation - there.rotation).max() < 1e-15
    if more:
        assert closure.axis == pytest.approx([0.0, 1.0, 0.0])


def test_a_pose_may_be_relative_to_another_link(tmp_path: Path) -> None:
    robot = read_robot(urdf(tmp_path, gazebo("ball", '<pose relative_to="b">0 .1 .5 0 0 0</pose>')))
    assert robot.closures[0].a_pose.at == pytest.approx([0.0, 0.1, 0.5])
    assert robot.closures[0].b_pose.at == pytest.approx([0.0, 0.1, 0.0])


@pytest.mark.parametrize(
    "axis",
    [
        '<xyz expressed_in="__model__">0 1 0</xyz>',
        "<xyz>0 1 0</xyz><use_parent_model_frame>1</use_parent_model_frame>",
    ],
)
def test_axes_may_be_those_of_the_model(axis: str, tmp_path: Path) -> None:
    turned = gazebo("revolute", "<pose>0 0 0 1.2 0 0.3</pose>", f"<axis>{axis}</axis>")
    robot = read_robot(urdf(tmp_path, turned))
    (closure,) = robot.closures
    here, _ = in_ground(robot, closure)
    assert here.rotation @ closure.axis == pytest.approx([0.0, 1.0, 0.0])


def test_a_robot_that_gazebo_fixes_to_the_world_stands(tmp_path: Path) -> None:
    stands = '<gazebo><joint name="w" type="fixed"><parent>world</parent><child>base</child></joint></gazebo>'
    assert read_robot(urdf(tmp_path, stands)).closures == []
    held = stands.replace("fixed", "ball").replace("base", "b")
    (closure,) = read_robot(urdf(tmp_path, held)).closures
    assert (closure.a, closure.b) == ("base", "b")


@pytest.mark.parametrize(
    ("kind", "axis", "type_"),
    [("spherical", "", "point"), ("continuous", '<axis xyz="0 1 0"/>', "revolute"), ("Fixed", "", "weld")],
)
def test_loop_joints_are_read(kind: str, axis: str, type_: str, tmp_path: Path) -> None:
    loop = f"""<loop_joint name="end" type="{kind}"><link1 link="b" xyz="0 .1 .5" rpy="0 0 .2"/>
      <link2 link="c" xyz="0 .1 0" rpy="0 0 .2"/>{axis}</loop_joint>"""
    robot = read_robot(urdf(tmp_path, loop))
    (closure,) = robot.closures
    assert closure.type == type_
    here, there = in_ground(robot, closure)
    assert np.abs(here.at - there.at).max() < 1e-15
    assert np.abs(here.rotation - there.rotation).max() < 1e-15


@pytest.mark.parametrize(
    "more",
    [
        "<kinematicLoop/>",
        "<loop_closure/>",
        "<constraint/>",
        '<closed_chain a="b"/>',
        "<gazebo><constraint/></gazebo>",
        "<weld/>",
        gazebo("hinge3", ""),
        gazebo("screw", "", AXIS),
        gazebo("gearbox", ""),
        gazebo("ball", "").replace(">c<", ">d<"),
    ],
)
def test_a_closure_that_is_not_understood_is_an_error_with_its_place(more: str, tmp_path: Path) -> None:
    with pytest.raises(ImportProblem) as caught:
        read_robot(urdf(tmp_path, more))
    assert caught.value.line == 11
    assert read_robot(urdf(tmp_path, more), ImportOptions(no_closures=True)).closures == []


def test_names_that_only_contain_such_words_are_no_closures(tmp_path: Path) -> None:
    found = import_robot(urdf(tmp_path, "<enclosure/>"))
    assert "elements that are not read: <enclosure>" in found.remarks


@pytest.mark.parametrize("space", ["http://drake.mit.edu", "https://example.org/urdf"])
def test_a_default_namespace_changes_nothing(space: str, tmp_path: Path) -> None:
    """Elements of Drake keep theirs, though it may be the same one."""
    ball = """<drake:ball_constraint><drake:ball_constraint_body_A name="b"/>
      <drake:ball_constraint_body_B name="c"/><drake:ball_constraint_p_AP value="0 0 .5"/>
      </drake:ball_constraint>"""
    plain = 'xmlns:drake="http://drake.mit.edu"'
    (tmp_path / "plain").mkdir()
    one = import_robot(urdf(tmp_path, ball, root=f"xmlns = '{space}' {plain}"))
    other = import_robot(urdf(tmp_path / "plain", ball, root=plain))
    assert [each.type for each in one.source.closures] == ["point"]
    assert one.text.partition("\n\n")[2] == other.text.partition("\n\n")[2]


SHEET = "closed_loop: [[tip_b, tip_c]]\ntype: [3D]\nname_mot: [x]\njoint_name: [y]\njoint_type: [SPHERICAL]\n"


def sheeted(folder: Path, sheet: str) -> Path:
    """The arm with frames to close, and a sheet beside it."""
    tips = "".join(
        f'<link name="tip_{name}"/>' + URDF_JOINT.format(f"{name}_tip", "fixed", name, f"tip_{name}", at, "")
        for name, at in (("b", "0 0 .5"), ("c", "0 0 0"))
    )
    (folder / "robot.yaml").write_text(sheet)
    return urdf(folder, tips)


@pytest.mark.parametrize(
    ("kind", "type_", "axes"),
    [
        ("SPHERICAL", "spherical", None),
        ("CARDAN", "universal", "xy"),
        ("UJOINT_XY", "universal", "xy"),
        ("UJOINT_YZ", "universal", "yz"),
        ("UJOINT_ZX", "universal", "zx"),
        ("UJOINT_ZY", "universal", "zy"),
        ("ujoint_yx", "universal", "yx"),
        ("FIXED", "fixed", None),
        ("cylindrical", "cylindrical", None),
    ],
)
def test_joint_types_of_sheets_are_compared_with_the_file(
    kind: str, type_: str, axes: str | None, tmp_path: Path
) -> None:
    found = read_robot(sheeted(tmp_path, SHEET.replace("SPHERICAL", kind)))
    joint = found.joints["y"]
    assert joint.type == type_
    if axes is not None:
        assert joint.second_axis is not None
        assert "xyz"[int(np.argmax(joint.second_axis))] + "xyz"[int(np.argmax(joint.axis))] == axes
    proof = prove(found)
    assert proof.of_source
    assert proof.agrees


@pytest.mark.parametrize(
    ("right", "wrong", "line", "said"),
    [
        ("tip_c", "tip_d", 1, "there is no link or joint 'tip_d'"),
        ("3D", "5D", 2, "unknown type of closure '5D'"),
        ("[x]", "[xx]", 3, "there is no joint 'xx'"),
        ("[y]", "[yy]", 4, "there is no joint 'yy'"),
        ("[y]", "[y, z]", 5, "joint_type has 1 entries for 2 joints"),
        ("SPHERICAL", "HINGED", 5, "unknown joint type 'HINGED'"),
        ("SPHERICAL", "UJOINT_XX", 5, "unknown joint type 'UJOINT_XX'"),
        ("joint_name", "joint_names", 4, "unknown key 'joint_names'"),
        ("[[tip_b, tip_c]]", "[[tip_b, tip_c]", 2, "expected"),
    ],
)
def test_an_error_in_a_sheet_beside_the_file_is_an_error(
    right: str, wrong: str, line: int, said: str, tmp_path: Path
) -> None:
    path = sheeted(tmp_path, SHEET.replace(right, wrong, 1))
    with pytest.raises(ImportProblem, match=said) as caught:
        read_robot(path)
    assert caught.value.line == line
    assert caught.value.file.endswith("robot.yaml")
    found = import_robot(path, ImportOptions(no_closures=True))
    assert found.machine.dof == 3


def test_a_motor_that_a_ball_joint_cannot_have_is_told(tmp_path: Path) -> None:
    found = read_robot(sheeted(tmp_path, SHEET.replace("[x]", "[x, y]")))
    assert found.left_out == ["the motor of y, a spherical joint, is left out"]


def test_an_older_sheet_is_an_error_and_a_machine_file_is_none(tmp_path: Path) -> None:
    with pytest.raises(ImportProblem, match="neither closed_loop nor closures"):
        read_robot(sheeted(tmp_path, "name_mot: x\nname_closedloop: tip\ntype: 6D\n"))
    found = read_robot(sheeted(tmp_path, "name: arm\nbodies: {a: {mass_kg: 1}}\n"))
    assert any("does not fit it" in each for each in found.left_out)
