"""All that changes the motion in a description is imported, or the import says that it is left out."""

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest

from linkwork.convert.model_report import report
from linkwork.convert.robots.import_report import report_rows
from linkwork.convert.robots.importing import Imported, ImportOptions, import_robot
from linkwork.convert.robots.proof import Proof, prove
from linkwork.convert.robots.robot_model import ImportProblem
from linkwork.convert.robots.same_motion import motion_difference
from tests.command import linkwork

HEAVY = '<inertial pos=".1 .02 .3" mass="2" diaginertia=".1 .2 .15"/>'
SPRUNG = 'damping="2" stiffness="5" springref=".4"'
OFF = '<option density="1000" viscosity="1"><flag {}/></option>'


def mjcf(
    folder: Path, *, options: str = "", a: str = "", b: str = "", joint: str = "", more: str = ""
) -> Path:
    path = folder / "arm.xml"
    path.write_text(
        f"""<mujoco><compiler autolimits="true"/>{options}<worldbody>
        <body name="a" {a}><joint name="a" axis="0 1 0" {joint}/>{HEAVY}<site name="s" pos=".1 0 0"/>
        <body name="b" pos="0 0 .5" {b}><joint name="b" axis="1 0 0"/>{HEAVY}<site name="t"/></body></body>
        </worldbody>{more}</mujoco>"""
    )
    return path


UNDERSTOOD = {
    "gravity flag": {"options": '<option><flag gravity="disable"/></option>'},
    "gravity": {"options": '<option gravity="1 2 -3"/>'},
    "spring and damper": {"joint": SPRUNG + ' armature=".3"'},
    "spring flag": {"options": '<option><flag spring="disable"/></option>', "joint": SPRUNG},
    "damper flag": {"options": '<option><flag damper="disable"/></option>', "joint": SPRUNG},
    "both flags": {"options": OFF.format('spring="disable" damper="disable"'), "joint": SPRUNG},
    "gravity compensation": {"a": 'gravcomp=".4"', "b": 'gravcomp=".4"'},
    "springdamper": {"joint": 'springdamper="1 1"'},
    "spatial tendon": {
        "more": '<tendon><spatial stiffness="9" damping="2" springlength=".2"><site site="s"/>'
        '<site site="t"/></spatial></tendon>'
    },
}
LEFT_OUT = {
    "gravity compensation of one body": ({"a": 'gravcomp="1"'}, "feel their weight: a"),
    "fluid": ({"options": '<option density="1.2" viscosity=".1" wind="1 0 0"/>'}, "fluid"),
    "tendon of two joints": (
        {"more": '<tendon><fixed stiffness="9"><joint joint="a" coef="1"/><joint joint="b" coef="2"/></fixed>'
         "</tendon>"},
        "several joints",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", UNDERSTOOD)
def test_forces_of_mjcf_are_those_of_the_whole_file(case: str, tmp_path: Path) -> None:
    found = import_robot(mjcf(tmp_path, **UNDERSTOOD[case]))
    proof = prove(found.source)
    assert found.robot.left_out == []
    assert proof.agrees
    assert proof.whole < 1e-12


@pytest.mark.parametrize("case", LEFT_OUT)
def test_a_force_that_is_left_out_is_named_and_the_whole_file_does_not_agree(
    case: str, tmp_path: Path
) -> None:
    parts, said = LEFT_OUT[case]
    path = mjcf(tmp_path, **parts)
    found = import_robot(path)
    proof = prove(found.source)
    assert proof.agrees
    assert not proof.complete
    assert any(said in each for each in found.robot.left_out)
    ran = linkwork("import", str(path), "--out", str(tmp_path / "arm.yaml"))
    assert ran.returncode == 0
    lines = ran.stdout.splitlines()
    assert lines[1].strip().startswith("degrees of freedom: 2")
    assert any(line.startswith("✕ left out:") and said in line for line in lines[2:5])
    assert any(line.startswith("✕ agreement:") and "because of what is left out" in line for line in lines)
    assert ran.stdout.count(found.robot.left_out[0]) == 1


def test_flags_switch_off_closures_limits_friction_and_actuators(tmp_path: Path) -> None:
    closing = (
        '<equality><connect body1="b" anchor="0 0 1"/></equality><actuator><motor joint="a"/></actuator>'
    )
    more = {"joint": 'frictionloss="1" range="-1 1"', "more": closing}
    off = '<option><flag constraint="disable" actuation="disable"/></option>'
    found = import_robot(mjcf(tmp_path, options=off, **more))
    assert (found.machine.dof, found.source.joints["a"].friction, found.source.joints["a"].lower) == (
        2,
        0,
        None,
    )
    assert found.machine.motors == ()
    assert "actuators that the file switches off are no motors" in found.remarks
    assert import_robot(mjcf(tmp_path, **more)).machine.dof < 2


def test_servos_soft_closures_and_moved_bodies_are_told(tmp_path: Path) -> None:
    path = mjcf(
        tmp_path,
        more='<actuator><position name="servo" joint="a" kp="9"/></actuator>'
        '<equality><joint name="soft" joint1="a" joint2="b" solref="1 1"/></equality>',
    )
    path.write_text(path.read_text().replace("<worldbody>", '<worldbody><body name="hand" mocap="true"/>'))
    found = import_robot(path)
    assert any("the servo or activation in servo is not modelled" in each for each in found.remarks)
    assert "soft is rigid here, and soft in the source (solref)" in found.robot.left_out
    assert any("mocap" in each and "hand" in each for each in found.robot.left_out)


def test_a_weld_without_torques_holds_a_point(tmp_path: Path) -> None:
    path = mjcf(tmp_path, more='<equality><weld body1="b" torquescale="0"/></equality>')
    assert [each.type for each in import_robot(path).source.closures] == ["point"]


def test_a_disagreement_is_not_good(tmp_path: Path) -> None:
    found = import_robot(mjcf(tmp_path))

    def rows(proof: Proof) -> list[tuple[str, str]]:
        said = report_rows(found, report(found.machine), proof, None)
        return [(row.text, row.verdict) for row in said if row.title == "agreement"]

    ((text, verdict),) = rows(Proof("MuJoCo", 5, 0.1, 1e-15, 1e-15))
    assert verdict == "bad"
    assert "THIS IS NOT THE ROBOT OF THE FILE" in text
    _, (text, verdict) = rows(Proof("MuJoCo", 5, 1e-15, 1e-15, 1e-15, whole=0.1))
    assert verdict == "bad"
    assert "though nothing is left out: an error of the import" in text
    ((text, verdict),) = rows(Proof("Pinocchio", 5, 1e-15, 1e-15, 1e-15, of_source=False))
    assert verdict == ""


BODY = "<inertial><mass>2</mass><inertia><ixx>.1</ixx><iyy>.2</iyy><izz>.15</izz></inertia></inertial>"
TURN = "<joint name='{}' type='{}'><parent>{}</parent><child>{}</child>{}</joint>"
AXIS = "<axis><xyz>0 1 0</xyz>{}</axis>"


def sdf(
    folder: Path,
    *,
    a: str = "",
    b: str = "",
    model: str = "",
    joint: str = "",
    world: str = "",
    body: str = BODY,
) -> Path:
    path = folder / "arm.sdf"
    joint = joint or TURN.format("x", "revolute", "world", "a", AXIS.format(""))
    path.write_text(
        f"""<sdf version="1.11" xmlns:drake="d/drake"><world name="w">{world}<model name="m">
        <link name="a">{body}{a}</link><link name="b"><pose>1 0 0 0 0 0</pose>{BODY}{b}</link>{joint}
        {TURN.format("y", "revolute", "a", "b", AXIS.format(""))}{model}</model></world></sdf>"""
    )
    return path


SHAPES = {
    "box": ("<box><size>.1 .2 .3</size></box>", 'type="box" size=".05 .1 .15"'),
    "sphere": ("<sphere><radius>.1</radius></sphere>", 'type="sphere" size=".1"'),
    "cylinder": (
        "<cylinder><radius>.05</radius><length>.5</length></cylinder>",
        'type="cylinder" size=".05 .25"',
    ),
    "capsule": ("<capsule><radius>.1</radius><length>.4</length></capsule>", 'type="capsule" size=".1 .2"'),
    "ellipsoid": ("<ellipsoid><radii>.1 .2 .3</radii></ellipsoid>", 'type="ellipsoid" size=".1 .2 .3"'),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_inertias_from_shapes_are_those_of_mujoco(shape: str, tmp_path: Path) -> None:
    """Two shapes with densities of their own and of the link, in poses relative to frames."""
    own, theirs = SHAPES[shape]
    body = f"""<inertial auto="true"><density>3000</density><mass>9</mass></inertial>
      <collision name="c"><pose>0 .1 -.25 .3 .2 .1</pose><geometry>{own}</geometry></collision>
      <collision name="d"><pose relative_to="f">.1 0 0 0 0 0</pose><density>500</density>
      <geometry>{own}</geometry></collision>"""
    frame = '<frame name="f" attached_to="a"><pose>0 0 .2 0 0 1</pose></frame>'
    link = import_robot(sdf(tmp_path, body=body, model=frame)).source.links["a"]
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><compiler angle="radian" eulerseq="XYZ"/><worldbody><body><joint/>
        <geom density="3000" pos="0 .1 -.25" euler=".3 .2 .1" {theirs}/>
        <geom density="500" pos="{0.1 * np.cos(1)} {0.1 * np.sin(1)} .2" euler="0 0 1" {theirs}/>
        </body></worldbody></mujoco>"""
    )
    axes = np.zeros(9)
    mujoco.mju_quat2Mat(axes, model.body_iquat[1])
    turn, scale = axes.reshape(3, 3), 9.0 / model.body_mass[1]
    assert link.mass == pytest.approx(9.0)
    assert np.abs(link.com - model.body_ipos[1]).max() < 1e-12
    assert np.abs(link.inertia - scale * turn @ np.diag(model.body_inertia[1]) @ turn.T).max() < 1e-10


def test_the_inertia_of_a_cylinder_and_its_default_density(tmp_path: Path) -> None:
    shape = (
        f"<collision name='c'><density>5000</density><geometry>{SHAPES['cylinder'][0]}</geometry></collision>"
    )
    body = f"<inertial auto='true'/>{shape}"
    link = import_robot(sdf(tmp_path, body=body)).source.links["a"]
    assert link.mass == pytest.approx(19.634954, abs=1e-6)
    assert np.diag(link.inertia) == pytest.approx([0.421333, 0.421333, 0.0245437], abs=1e-6)
    water = import_robot(sdf(tmp_path, body=body.replace("<density>5000</density>", ""))).source.links["a"]
    assert water.mass == pytest.approx(0.2 * link.mass)
    for shapes in ("", "<collision name='c'><geometry><mesh><uri>a.stl</uri></mesh></geometry></collision>"):
        with pytest.raises(ImportProblem, match="the inertia of 'a' is automatic"):
            import_robot(sdf(tmp_path, body=f"<inertial auto='true'/>{shapes}"))


FLUID = "</mass><fluid_added_mass><xx>1</xx></fluid_added_mass>"
DAMPED = AXIS.format("<dynamics><damping>1</damping></dynamics>") + "<axis2><xyz>1 0 0</xyz></axis2>"


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"a": "<kinematic>1</kinematic>"}, "<kinematic> is left out (a, line 2)"),
        ({"a": "<velocity_decay><linear>.1</linear></velocity_decay>"}, "<velocity_decay>"),
        ({"a": "<enable_wind>true</enable_wind>"}, "wind"),
        ({"model": "<enable_wind>true</enable_wind>"}, "wind"),
        ({"body": BODY.replace("</mass>", FLUID)}, "fluid"),
        ({"a": "<gravity>false</gravity>"}, "feel their weight: a"),
        ({"model": "<plugin filename='gz-sim-buoyancy-system' name='b'/>"}, "gz-sim-buoyancy-system"),
        ({"world": "<population name='p'/>"}, "<population>"),
        (
            {"joint": TURN.format("x", "universal", "world", "a", DAMPED)},
            "the damping of x, which differs between its axes, is left out",
        ),
    ],
)  # fmt: skip
def test_elements_of_sdf_that_change_the_motion_are_told(
    parts: dict[str, str], said: str, tmp_path: Path
) -> None:
    found = import_robot(sdf(tmp_path, **parts))
    assert len(found.robot.left_out) == 1
    assert said in found.robot.left_out[0]
    assert found.robot.left_out[0] in found.remarks


def test_what_changes_nothing_is_not_told_and_what_is_unknown_is_counted(tmp_path: Path) -> None:
    still = "<kinematic>0</kinematic><enable_wind>false</enable_wind><self_collide>1</self_collide>"
    system = "<plugin filename='gz-sim-joint-state-publisher-system' name='p'/><odd/><odd/>"
    found = import_robot(sdf(tmp_path, a=still, b="<strange/>", model=system))
    assert found.robot.left_out == []
    assert "elements that are not read: <odd> (2), <strange>" in found.remarks


def test_links_without_gravity_are_in_a_world_without_gravity(tmp_path: Path) -> None:
    """Links on the ground do not count."""
    more = "<link name='rest'><pose>9 0 0 0 0 0</pose></link>" + TURN.format(
        "z", "fixed", "world", "rest", ""
    )
    found = import_robot(sdf(tmp_path, a="<gravity>0</gravity>", b="<gravity>false</gravity>", model=more))
    assert np.abs(found.source.gravity).max() == 0.0
    assert found.robot.left_out == []


URDF_LINK = """<link name="{}"><inertial><origin xyz=".1 .02 .03"/><mass value="2"/>
  <inertia ixx=".1" iyy=".2" izz=".15" ixy=".01" ixz="0" iyz="0"/></inertial>{}</link>"""
URDF_JOINT = """<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/><origin xyz="{}"/>
  <axis xyz="0 1 0"/><limit effort="10" velocity="5" lower="-3" upper="3"/>{}</joint>"""


def urdf(folder: Path, more: str = "", *, root: str = "", link: str = "", joint: str = "") -> Path:
    """An arm with the links a and b, and a third link c beside it."""
    path = folder / "arm.urdf"
    path.write_text(
        f"""<robot name="arm" {root}><link name="base"/>{URDF_LINK.format("a", link)}
        {URDF_LINK.format("b", "")}
        {URDF_LINK.format("c", "")}{URDF_JOINT.format("x", "revolute", "base", "a", "0 0 0", joint)}
        {URDF_JOINT.format("y", "revolute", "a", "b", "1 0 0", "")}
        {URDF_JOINT.format("z", "revolute", "base", "c", "1 0 .5", "")}{more}</robot>"""
    )
    return path


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            '<gazebo reference="a"><kinematic>true</kinematic></gazebo>',
            "<kinematic> is left out (a, line 11)",
        ),
        ('<gazebo reference="a"><dampingFactor>0.1</dampingFactor></gazebo>', "its velocity decays"),
        ('<gazebo reference="a"><turnGravityOff>true</turnGravityOff></gazebo>', "feel their weight: a"),
        ('<gazebo reference="x"><mimic joint="y"/></gazebo>', "it couples joints"),
        ("<gazebo><static>true</static></gazebo>", "<static>"),
        ('<gazebo><plugin filename="libmimic_joint_plugin.so"/></gazebo>', "libmimic_joint_plugin.so"),
        ('<force_element name="f"/>', "it exerts a force"),
        ('<transmission name="both"><joint name="x"/><joint name="y"/></transmission>', "transmission both"),
    ],
)
def test_extensions_of_urdf_that_change_the_motion_are_told(more: str, said: str, tmp_path: Path) -> None:
    found = import_robot(urdf(tmp_path, more))
    assert [said in each for each in found.robot.left_out] == [True]


def test_springs_and_gravity_in_extensions_of_urdf_are_read(tmp_path: Path) -> None:
    spring = "<springStiffness>5</springStiffness><springReference>.2</springReference>"
    weightless = "".join(f'<gazebo reference="{name}"><gravity>0</gravity></gazebo>' for name in "abc")
    quiet = '<gazebo reference="a"><mu1>1</mu1><kinematic>false</kinematic></gazebo>'
    control = '<gazebo><plugin filename="libgazebo_ros_control.so"/></gazebo>'
    more = f'<gazebo reference="x">{spring}</gazebo>{weightless}{quiet}{control}'
    found = import_robot(urdf(tmp_path, more, joint='<calibration rising="0"/>'))
    assert found.robot.left_out == []
    assert (found.source.joints["x"].stiffness, found.source.joints["x"].rest) == (5.0, 0.2)
    assert np.abs(found.source.gravity).max() == 0.0
    assert not any("not read" in each for each in found.remarks)


def test_a_mimic_joint_in_ros2_control_is_a_coupling(tmp_path: Path) -> None:
    params = '<param name="mimic">x</param><param name="multiplier">-2</param>'
    found = import_robot(urdf(tmp_path, f'<ros2_control><joint name="y">{params}</joint></ros2_control>'))
    (coupling,) = found.source.couplings
    assert (coupling.joint, coupling.other, coupling.coefficients) == ("y", "x", (0.0, -2.0))
    assert found.machine.dof == 2


def test_rotors_that_a_library_does_not_read_do_not_disturb_the_comparison(tmp_path: Path) -> None:
    drake = 'xmlns:drake="http://drake.mit.edu"'
    actuator = '<actuator name="m"><drake:rotor_inertia value=".1"/></actuator>'
    found = import_robot(
        urdf(tmp_path, f'<transmission name="t"><joint name="x"/>{actuator}</transmission>', root=drake)
    )
    assert found.source.joints["x"].armature == 0.1
    assert prove(found.source).agrees


def test_a_rotor_without_mass_is_imported(tmp_path: Path) -> None:
    """On a hinge, and as a part of a link; the inertia of neither is lost."""
    rotor = URDF_LINK.format("rotor", "").replace('mass value="2"', 'mass value="0"')
    fixed = rotor.replace("rotor", "sleeve")
    joints = URDF_JOINT.format("spin", "continuous", "b", "rotor", "0 0 .1", "")
    joints += URDF_JOINT.format("grip", "fixed", "b", "sleeve", "0 0 0", "")
    found = import_robot(urdf(tmp_path, rotor + fixed + joints))
    bodies = {each.name: each for each in found.machine.mechanism.bodies}
    assert 0.0 < bodies["rotor"].mass_kg < 1e-8
    assert np.asarray(bodies["rotor"].inertia_kg_m2)[1, 1] == pytest.approx(0.2)
    assert np.asarray(bodies["b"].inertia_kg_m2)[1, 1] == pytest.approx(0.4)
    assert any(each.startswith("rotor has inertia, but no mass") for each in found.remarks)
    assert not any(each.startswith("UNITS") for each in found.remarks)
    assert prove(found.source).agrees
    assert motion_difference(found.source, found.robot, found.machine) < 1e-8


def sliding_leg(folder: Path, com: str) -> Imported:
    """A plate on a hinge, and a leg of tube and rod between balls in the ground and in the plate."""
    tube = URDF_LINK.format("tube", "").replace(".1 .02 .03", com)
    legs = (
        tube
        + tube.replace("tube", "rod")
        + URDF_JOINT.format("ball", "spherical", "base", "tube", ".5 0 0", "")
    )
    legs += URDF_JOINT.format("slide", "prismatic", "tube", "rod", "0 0 .5", "").replace("0 1 0", "0 0 1")
    (folder / "leg.yaml").write_text(
        "closures: {end: {type: point, a: {link: rod, at_m: [0, 0, 0.5]}, b: {link: a, at_m: [0.5, 0, 1]}}}\n"
        "motors: [slide, y, z]\n"
    )
    return import_robot(urdf(folder, legs), ImportOptions(folder / "leg.yaml"))


@pytest.mark.parametrize("com", ["0 0 .1", ".01 0 .1"])
def test_a_leg_that_slides_between_balls_has_an_idle_spin(com: str, tmp_path: Path) -> None:
    found = sliding_leg(tmp_path, com)
    assert [motion.joint for motion in found.machine.assembly.idle] == ["ball"]
    assert found.machine.dof == 3
    bent = any("tube and rod, whose centres of mass are off the line" in each for each in found.changes)
    assert bent is (com != "0 0 .1")


def test_legs_of_ball_joints_alone_and_of_free_bodies_are_idle_too(tmp_path: Path) -> None:
    """A bent leg whose far end is a joint, and a free rod that two points hold."""
    tube = URDF_LINK.format("tube", "")
    links = tube + tube.replace("tube", "rod") + tube.replace("tube", "plate")
    joints = URDF_JOINT.format("ball", "spherical", "base", "tube", ".5 0 0", "")
    joints += URDF_JOINT.format("slide", "prismatic", "tube", "rod", "0 0 .5", "").replace("0 1 0", "0 0 1")
    joints += URDF_JOINT.format("head", "spherical", "rod", "plate", "0 0 .5", "")
    found = import_robot(urdf(tmp_path, links + joints))
    assert found.robot.joints["ball"].idle
    assert "ball" in [motion.joint for motion in found.machine.assembly.idle]
    path = mjcf(
        tmp_path, more="<equality><connect site1='p' site2='r'/><connect site1='t' site2='u'/></equality>"
    )
    rod = f"""<site name="r" pos=".5 0 0"/><body name="rod" pos=".5 0 0"><freejoint name="free"/>{HEAVY}
      <site name="p"/><site name="u" pos="-.5 0 .5"/></body></worldbody>"""
    path.write_text(path.read_text().replace("</worldbody>", rod))
    held = import_robot(path)
    assert held.robot.joints["free"].idle
    assert any("rod, whose centre of mass is off the line" in each for each in held.changes)


def test_free_ends_and_the_way_out_stand_in_the_first_lines(tmp_path: Path) -> None:
    loop = '<loop_joint name="hinge" type="slippery"><link1 link="b"/><link2 link="c"/></loop_joint>'
    path, out = urdf(tmp_path, loop), str(tmp_path / "out.yaml")
    ran = linkwork("import", str(path), "--out", out)
    assert ran.returncode == 2
    assert "loop 'hinge' has the unknown type 'slippery'" in ran.stderr
    assert "--no-closures" in ran.stderr
    ran = linkwork("import", str(path), "--out", out, "--no-closures")
    assert ran.returncode == 0
    assert "free ends: links b and c end free: a loop may be missing" in "".join(ran.stdout.splitlines()[:4])
    ran = linkwork("import", str(path), "--no-closures", "--closures", out)
    assert ran.returncode == 2
    ran = linkwork("import", str(path), "--out", out, "--overwrite", "--no-closures", "--json")
    (said,) = json.loads(ran.stdout)["left_out"]
    assert said.startswith("closures are not read (--no-closures)")
