"""Simplification of imports: chains of massless links, planar loops, points that are a hinge or a weld."""

from pathlib import Path

import numpy as np
import pytest

from linkwork.convert.robots import pose_search
from linkwork.convert.robots.importing import Imported, ImportOptions, import_robot
from linkwork.convert.robots.proof import prove
from linkwork.convert.robots.robot_model import ImportProblem
from linkwork.convert.robots.robot_writing import written
from linkwork.convert.robots.same_motion import motion_difference
from linkwork.machine import load
from linkwork.machine.checks.controllability import refusals
from tests.convert.closed_robots import stewart
from tests.convert.test_import import JOINT, LINK, PARALLEL, SHEET, four_bar


def same_motion(found: Imported) -> bool:
    """Whether the simplified robot moves as the one that was read."""
    return motion_difference(found.source, found.robot, found.machine) < 1e-9


def kinds(found: Imported) -> dict[str, str]:
    """Types of joints by name."""
    return {joint.name: joint.kind for joint in found.machine.mechanism.joints}


def closure_types(found: Imported) -> list[str]:
    """Types of closures."""
    return [type(each).__name__ for each in found.machine.mechanism.constraints]


def hung(folder: Path, second: str, more: str = "") -> Imported:
    """A pendulum on two hinges with a massless link between: about z, then about `second`."""
    path = folder / "hung.urdf"
    parts = [
        '<link name="ground"/><link name="between"/>',
        LINK.format("bob"),
        JOINT.format("one", "continuous", "ground", "between", "0 0 1"),
        JOINT.format("two", "revolute", "between", "bob", "0 0 0")
        .replace("0 0 1", second)
        .replace("</joint>", f"{more}</joint>"),
    ]
    path.write_text(f"<robot name='hung'>{''.join(parts)}</robot>")
    (folder / "motors.yaml").write_text("closures: {}\nmotors: []\n")
    return import_robot(path, ImportOptions(folder / "motors.yaml"))


def test_two_hinges_with_a_massless_link_are_a_universal_joint(tmp_path: Path) -> None:
    found = hung(tmp_path, "1 0 0")
    assert kinds(found) == {"one": "universal"}
    (change,) = found.changes
    assert change.startswith("one and two meet in one point, with massless links between")
    assert change.endswith("they are the universal joint one, without the limits of two")
    assert same_motion(found)


@pytest.mark.parametrize(
    ("second", "more"), [("1 0 1", ""), ("1 0 0", '<dynamics damping="0.1"/>')], ids=["oblique", "damped"]
)
def test_other_chains_stay_as_they_are(second: str, more: str, tmp_path: Path) -> None:
    assert kinds(hung(tmp_path, second, more)) == {"one": "revolute", "two": "revolute"}


def test_the_legs_of_a_platform_hang_on_universal_joints(tmp_path: Path) -> None:
    path = tmp_path / "stewart.xml"
    path.write_text(stewart())
    found = import_robot(path)
    assert sorted(kinds(found).values()) == ["free", *["prismatic"] * 6, *["universal"] * 6]
    assert found.machine.dof == 6
    assert same_motion(found)


def test_a_link_without_mass_that_carries_nothing_stays(tmp_path: Path) -> None:
    wheel = '<link name="wheel"/>', JOINT.format("axle", "continuous", "rocker", "wheel", "1 0 0")
    (tmp_path / "loops.yaml").write_text(SHEET)
    found = import_robot(four_bar(tmp_path, *wheel), ImportOptions(tmp_path / "loops.yaml"))
    assert "wheel has no mass and carries nothing: it stays where axle has it at zero" in found.changes
    assert "axle" not in kinds(found)
    assert found.machine.mechanism.points[0].name == "wheel"


def test_a_point_in_a_planar_loop_is_a_pin(tmp_path: Path) -> None:
    (tmp_path / "loops.yaml").write_text(SHEET.replace("revolute", "3d"))
    found = import_robot(four_bar(tmp_path), ImportOptions(tmp_path / "loops.yaml"))
    assert "end, a ball joint, closes a planar loop: it is a pin in the plane" in found.changes
    assert closure_types(found) == ["PinClosure"]
    assert same_motion(found)


def test_ends_beside_each_other_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ends of a planar loop lie 0.01 m apart along the hinges, so that it cannot close."""
    (tmp_path / "loops.yaml").write_text(SHEET.replace("at_m: [1, 0, 0]}}", "at_m: [1, 0, 0.01]}}"))
    monkeypatch.setattr(pose_search, "MOST_STARTS", 50)
    with pytest.raises(
        ImportProblem, match=r"could not be closed from random poses: end\.x, .* remain open by"
    ):
        import_robot(four_bar(tmp_path), ImportOptions(tmp_path / "loops.yaml"))


def test_three_points_are_a_weld(tmp_path: Path) -> None:
    """A leaf that hangs on a hinge and is welded by three points; the hinge then closes the planar loop."""
    leaf = LINK.format("leaf"), JOINT.format("d", "revolute", "rocker", "leaf", "1 0 0")
    places = {"low": "[0, 0, 0]", "high": "[0, 0, 0.1]", "side": "[0.1, 0.1, 0.2]"}
    ends = [
        f"  {name}: {{type: 3d, a: {{link: leaf, at_m: {at}}}, b: {{link: arm/left, at_m: {at}}}}}"
        for name, at in places.items()
    ]
    sheet = "\n".join(["closures:", *ends, "motors: [a]"]).replace("at_m: [0, 0, 0]}}", "at_m: [0, 0, 0]}}")
    (tmp_path / "loops.yaml").write_text(sheet)
    found = import_robot(four_bar(tmp_path, *leaf), ImportOptions(tmp_path / "loops.yaml"))
    assert any("hold three points of leaf on arm/left: they are a weld" in each for each in found.changes)
    assert any("d is the closure, a hinge" in each for each in found.changes)
    assert closure_types(found) == ["PinClosure"]
    assert found.machine.dof == 1
    assert same_motion(found)


def test_a_weld_comes_back_from_sdf(tmp_path: Path) -> None:
    (tmp_path / "loops.yaml").write_text(SHEET.replace("revolute, a", "6d, a"))
    literal = import_robot(four_bar(tmp_path), ImportOptions(tmp_path / "loops.yaml", literal=True))
    text, exported = written(literal.machine, "sdf")
    assert exported.losses == []
    (tmp_path / "bars.sdf").write_text(text)
    assert any("they are a weld" in each for each in import_robot(tmp_path / "bars.sdf").changes)


def test_a_bent_rod_may_spin(tmp_path: Path) -> None:
    found = import_robot(PARALLEL / "talos_like" / "robot.urdf")
    (tmp_path / "talos.yaml").write_text(found.text)
    assert any(each.startswith("rod_1, whose centre of mass is off the line") for each in found.changes)
    assert refusals(load(tmp_path / "talos.yaml")) == []
    assert written(found.machine, "urdf")[1].losses == []  # the damping of the spin is the plant's
    (tmp_path / "talos.yaml").write_text(found.text.replace("idle: true", "viscous_N_m_s: 0.1, idle: true"))
    damped = load(tmp_path / "talos.yaml")
    assert written(damped, "urdf")[1].losses == ["the friction of moteur_rod_1_rev0"]


def test_motors_are_proposed_nearest_to_the_ground(tmp_path: Path) -> None:
    (tmp_path / "loops.yaml").write_text(SHEET.replace("motors: [a]", ""))
    found = import_robot(four_bar(tmp_path), ImportOptions(tmp_path / "loops.yaml", effort=7.0))
    (motor,) = found.machine.motors
    assert (motor.joint, motor.max_effort) == ("a", 7.0)
    assert "the source names no motors; taken: a" in found.remarks


TENDONS = """
<mujoco model="tendons"><worldbody><site name="hook" pos="0.3 0 0.5"/>
  <body name="a" pos="0 0 0.3"><joint name="ja" axis="0 1 0" ref="0.2"/><geom size=".1"/>
    <site name="eye" pos=".2 0 0"/>
    <body name="b" pos=".3 0 0"><joint name="jb" axis="0 1 0" stiffness="1"/><geom size=".1"/>
      <body name="c" pos=".3 0 0"><joint name="jc" axis="0 1 0"/><geom size=".1"/></body></body></body>
  <body name="d" pos="0 1 0"><joint name="jd" axis="0 1 0"/><geom size=".1"/></body></worldbody>
  <tendon>
    <spatial name="balance" stiffness="200" damping="3" springlength="0.2">
      <site site="hook"/><site site="eye"/></spatial>
    <fixed name="sum"><joint joint="ja" coef="1"/><joint joint="jb" coef="-0.5"/></fixed>
    <fixed name="lone" stiffness="3" springlength="0.1"><joint joint="jb" coef="2"/></fixed>
    <fixed name="third" frictionloss="0.2"><joint joint="jc" coef="2"/></fixed>
    <fixed name="pair"><joint joint="jb" coef="1"/><joint joint="jd" coef="1"/></fixed>
  </tendon>
  <equality><tendon name="three" tendon1="sum" tendon2="third" polycoef="0.1 1 0 0 0"/>
    <joint name="gear" joint1="jd" joint2="jb" polycoef="0 3 0 0 0"/></equality>
  <actuator><motor name="pull" tendon="pair" gear="2" ctrlrange="-10 10" ctrllimited="true"/></actuator>
</mujoco>
"""


def test_tendons_are_couplings_springs_and_motors(tmp_path: Path) -> None:
    """Springs beside MuJoCo's, the sum of coupled coordinates, one motor for two joints that are coupled."""
    path = tmp_path / "tendons.xml"
    path.write_text(TENDONS)
    found = import_robot(path)
    proof = prove(found.source)
    assert max(proof.mass_matrix, proof.bias, proof.poses, proof.closures or 0.0) < 1e-12
    mechanism = found.machine.mechanism
    springs = {each.name: each for each in mechanism.elements}
    assert (springs["jb"].stiffness, springs["jb"].rest) == pytest.approx((13.0, 12 / 13 * 0.05))
    assert (springs["balance"].stiffness, springs["balance"].damping) == (200.0, 3.0)
    q = dict(zip(mechanism.joint_names, found.machine.initial_q, strict=True))
    assert q["ja"] - 0.5 * q["jb"] - 2.0 * q["jc"] == pytest.approx(0.1)
    (motor,) = found.machine.motors
    assert motor.joint == "jb"
    assert motor.max_effort == pytest.approx(2 * 10 * (1 + 3))  # both joints turn with the tendon
    assert "of the tendon third these are left out: friction" in found.remarks
    text, _ = written(found.machine, "mjcf")
    path.write_text(text)
    assert np.isclose(prove(import_robot(path).source).bias, 0.0, atol=1e-12)


def test_spatial_tendons_cannot_couple(tmp_path: Path) -> None:
    path = tmp_path / "tendons.xml"
    path.write_text(TENDONS.replace('tendon1="sum"', 'tendon1="balance"'))
    with pytest.raises(ValueError, match=r"tendons.xml:16: .* couples a spatial tendon, which is not read"):
        import_robot(path)


def test_limits_of_any_size_mean_none(tmp_path: Path) -> None:
    text = """<sdf version="1.9"><model name="m"><link name="a">
    <inertial><pose>0 0 1 0 0 0</pose></inertial></link><joint name="j" type="revolute">
    <parent>world</parent><child>a</child><axis><xyz>0 1 0</xyz><limit>
    <lower>-1e16</lower><upper>inf</upper><effort>INF</effort><velocity>1e+30</velocity></limit></axis></joint>
    </model></sdf>"""
    (tmp_path / "m.sdf").write_text(text)
    (limits,) = import_robot(tmp_path / "m.sdf").machine.joints
    assert not np.isfinite(limits.position).any()
