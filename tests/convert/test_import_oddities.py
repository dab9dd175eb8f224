"""Import of robots with parts that other programs allow, or read in their own way."""

from pathlib import Path

import numpy as np
import pytest

from linkwork.convert.model_report import report
from linkwork.convert.robots import pose_search
from linkwork.convert.robots.importing import ImportOptions, import_robot, read_robot
from linkwork.convert.robots.pose_search import closed_pose
from linkwork.convert.robots.proof import prove
from linkwork.convert.robots.robot_model import ImportProblem
from linkwork.machine.loading import mechanism_of

LINK = """<link name="{}"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
  <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>{}</link>"""
JOINT = """<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" effort="9" velocity="3"/>{}</joint>"""


def urdf(folder: Path, *parts: str) -> Path:
    path = folder / "robot.urdf"
    path.write_text(f'<robot name="odd">{"".join(parts)}</robot>')
    return path


def mjcf(folder: Path, bodies: str, more: str = "") -> Path:
    path = folder / "robot.xml"
    path.write_text(f"<mujoco><worldbody>\n{bodies}</worldbody>{more}</mujoco>")
    return path


BODY = '<inertial pos="0.1 0 0" mass="1" diaginertia="0.01 0.02 0.02"/>'


def test_joints_may_start_from_a_world_that_is_not_declared(tmp_path: Path) -> None:
    parts = [LINK.format("arm", ""), JOINT.format("turn", "revolute", "world", "arm", "")]
    found = import_robot(urdf(tmp_path, *parts))
    assert found.machine.dof == 1
    assert prove(found.source).mass_matrix == pytest.approx(0.0, abs=1e-12)
    assert import_robot(urdf(tmp_path, *parts), ImportOptions(base="floating")).machine.dof == 1
    both = import_robot(urdf(tmp_path, *parts, LINK.format("stone", "")))
    assert both.machine.dof == 1 + 6
    assert any("no joint carries stone: taken to float" in each for each in both.remarks)
    still = import_robot(urdf(tmp_path, *parts, LINK.format("stone", "")), ImportOptions(base="fixed"))
    assert still.machine.dof == 1


def test_several_trees_float_or_stand_if_asked(tmp_path: Path) -> None:
    arm = [LINK.format("arm", ""), JOINT.format("turn", "revolute", "one", "arm", "")]
    path = urdf(tmp_path, LINK.format("one", ""), LINK.format("two", ""), *arm)
    with pytest.raises(ImportProblem, match=r"2 trees.*--base floating"):
        import_robot(path, ImportOptions(literal=True))
    assert import_robot(path, ImportOptions(base="fixed")).machine.dof == 1
    assert import_robot(path, ImportOptions(base="floating")).machine.dof == 6 + 1 + 6


def test_idle_motions_count_as_degrees_of_freedom() -> None:
    source = Path(__file__).parent / "robots" / "example-parallel-robots" / "talos_like" / "robot.urdf"
    machine = import_robot(source).machine
    found = report(machine)
    assert len(found["idle"]) == 1
    assert found["degrees_of_freedom"] == machine.dof + 1
    assert found["velocities"] - found["rank"] == found["mobility"] == machine.dof + 1
    assert found["rows"] == sum(each["rows"] for each in found["closures"])


@pytest.mark.slow
def test_many_loops_on_one_crank_close_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four-bars on one crank, each with two branches, of which limits allow the one far from zero."""
    monkeypatch.setattr(pose_search, "_HELD_TRIALS", 0)  # no joint is moved inside its limits
    bodies, joints, loops, limits = ["crank"], [], [], {"crank": (-0.1, 0.1)}
    joints.append("crank: {type: revolute, parent: world, child: crank, axis: [0, 1, 0]}")
    for k in range(24):
        a, b = f"a{k}", f"b{k}"
        bodies += [a, b]
        joints.append(f"{a}: {{type: revolute, parent: crank, child: {a}, at_m: [1, 0, 0], axis: [0, 1, 0]}}")
        joints.append(f"{b}: {{type: revolute, parent: world, child: {b}, at_m: [3, 0, 0], axis: [0, 1, 0]}}")
        loops.append(
            f"c{k}: {{type: pin, a: {{body: {a}, at_m: [2.5, 0, 0]}}, b: {{body: {b}, at_m: [0, 0, -2]}}, "
            "normal: [0, 1, 0]}"
        )
        limits[b] = (-3.6, 0.0)  # not 0.22, but -3.36
    text = "name: many\nbodies:\n" + "".join(
        f"  {name}: {{mass_kg: 1, inertia_kg_m2: {{xx: 1, yy: 1, zz: 1}}}}\n" for name in bodies
    )
    text += "joints:\n" + "".join(f"  {each}\n" for each in joints)
    text += "constraints:\n" + "".join(f"  {each}\n" for each in loops)
    mechanism = mechanism_of(text)
    found = closed_pose(mechanism, limits, {}, 0)
    assert found.values is not None
    for name, (low, high) in limits.items():
        assert low <= found.values[name] <= high
    assert closed_pose(mechanism, limits, {}, 0).values == found.values


SDF = """<sdf version="1.9"><model name="m">{}{}</model></sdf>"""


def sdf(folder: Path, *joints: str) -> Path:
    links = "".join(
        f"<link name='{name}'><pose>{x} 0 0 0 0 0</pose><inertial><mass>1</mass></inertial></link>"
        for x, name in enumerate("abc")
    )
    path = folder / "robot.sdf"
    path.write_text(SDF.format(links, "\n".join(joints)))
    return path


def turn(name: str, parent: str, child: str, effort: str = "", more: str = "") -> str:
    limit = f"<limit><effort>{effort}</effort></limit>" if effort else ""
    return (
        f"<joint name='{name}' type='revolute'><parent>{parent}</parent><child>{child}</child>"
        f"<axis><xyz>0 1 0</xyz>{limit}{more}</axis></joint>"
    )


@pytest.mark.parametrize(
    ("efforts", "motors"),
    [
        (("", "0", "0"), ["x"]),
        (("0", "5", ""), ["y"]),
        (("0", "0", "0"), []),
        (("", "", ""), list("xyz")),
    ],
)
def test_an_effort_of_zero_means_no_motor(
    efforts: tuple[str, str, str], motors: list[str], tmp_path: Path
) -> None:
    ends = [("world", "a"), ("a", "b"), ("b", "c")]
    joints = [turn(name, *each, effort) for name, each, effort in zip("xyz", ends, efforts, strict=True)]
    found = import_robot(sdf(tmp_path, *joints))
    assert [motor.joint for motor in found.machine.motors] == motors


def test_initial_positions_start_the_search(tmp_path: Path) -> None:
    """A loop that is open at zero closes near the given angles, not near their mirror image."""
    for sign in (1.0, -1.0):
        at = [f"<initial_position>{sign * value}</initial_position>" for value in (-1.0, 1.2)]
        path = sdf(
            tmp_path, turn("x", "world", "a", more=at[0]), turn("y", "a", "b", more=at[1]),
            "<joint name='z' type='fixed'><parent>world</parent><child>c</child></joint>",
            "<drake:ball_constraint xmlns:drake='d/drake'><drake:ball_constraint_body_A>b"
            "</drake:ball_constraint_body_A><drake:ball_constraint_body_B>c</drake:ball_constraint_body_B>"
            "<drake:ball_constraint_p_AP>1 0 0</drake:ball_constraint_p_AP>"
            "<drake:ball_constraint_p_BQ>-0.5 0 0</drake:ball_constraint_p_BQ></drake:ball_constraint>",
        )  # fmt: skip
        found = import_robot(path)
        assert found.source.start == {"x": -sign, "y": 1.2 * sign}
        assert np.sign(found.machine.initial_q[1]) == sign


def test_deformable_bodies_are_refused(tmp_path: Path) -> None:
    flex = '<flexcomp name="cloth" type="grid" dim="2" count="3 3 1" spacing=".1 .1 .1" mass="1"/>'
    with pytest.raises(ImportProblem, match="deformable bodies") as caught:
        read_robot(mjcf(tmp_path, f"<body><joint/>{BODY}</body>\n{flex}"))
    assert caught.value.line == 3


def test_springs_that_are_left_out_are_left_out_of_the_comparison_too(tmp_path: Path) -> None:
    bodies = f"""<body><joint name="ball" type="ball" stiffness="7"/>{BODY}</body>
      <body><joint name="a" axis="0 1 0"/>{BODY}</body><body><joint name="b" axis="1 0 0"/>{BODY}</body>"""
    tendons = """<tendon><fixed name="two" stiffness="5" damping="1"><joint joint="a" coef="1"/>
      <joint joint="b" coef="2"/></fixed>
      <fixed name="slack" stiffness="5" springlength="0.1 0.2"><joint joint="a" coef="1"/></fixed>
      <fixed name="kept" stiffness="3"><joint joint="b" coef="1"/></fixed></tendon>"""
    found = import_robot(mjcf(tmp_path, bodies, tendons), ImportOptions(literal=True))
    assert sum("left out" in each for each in found.remarks) == 3
    bias = prove(found.source).bias
    assert bias is not None
    assert bias < 1e-12


def test_limits_of_joints_with_several_coordinates_are_left_out(tmp_path: Path) -> None:
    more = JOINT.format("neck", "spherical", "arm", "head", "")
    found = import_robot(
        urdf(
            tmp_path, LINK.format("base", ""), LINK.format("arm", ""), LINK.format("head", ""),
            JOINT.format("turn", "revolute", "base", "arm", ""), more.replace('lower="-1"', 'lower="0.5"'),
        )
    )  # fmt: skip
    assert "the limit of neck, a spherical joint, is left out" in found.remarks


def test_a_shape_with_wrong_values_is_left_out(tmp_path: Path) -> None:
    mesh = '<visual><geometry><mesh filename="a.stl" scale="1 1"/></geometry></visual>'
    parts = [LINK.format("base", ""), LINK.format("arm", mesh)]
    robot = read_robot(urdf(tmp_path, *parts, JOINT.format("turn", "revolute", "base", "arm", "")))
    assert any("`scale` of <mesh> must be 3 numbers" in each for each in robot.remarks)
    path = sdf(tmp_path, turn("x", "world", "a"))
    box = "<visual name='v'><geometry><box><size>1 x 1</size></box></geometry></visual></link>"
    path.write_text(path.read_text().replace("</link>", box, 1))
    assert any("<size> must be 3 numbers" in each for each in read_robot(path).remarks)


def test_dampers_that_are_faster_than_a_step_are_told(tmp_path: Path) -> None:
    for damping, told in ((1e5, True), (0.1, False)):
        path = mjcf(tmp_path, f'<body><joint name="a" axis="0 1 0" damping="{damping}"/>{BODY}</body>')
        found = import_robot(path).remarks
        assert any("DAMPING of a" in each and "lsoda" in each for each in found) is told


def test_white_space_before_the_declaration_is_no_error(tmp_path: Path) -> None:
    path = urdf(tmp_path, LINK.format("base", ""), "\n<joint/>")
    path.write_text('\n  <?xml version="1.0"?>' + path.read_text())
    with pytest.raises(ImportProblem, match="no attribute `name`") as caught:
        read_robot(path)
    assert caught.value.line == 4


def test_two_axes_are_needed_for_two_turns(tmp_path: Path) -> None:
    joint = turn("x", "world", "a").replace("'revolute'", "'revolute2'")
    with pytest.raises(ImportProblem, match=r"revolute2.*no <axis2>") as caught:
        read_robot(sdf(tmp_path, turn("y", "a", "b"), joint))
    assert caught.value.line == 2


def test_the_remedy_for_inertia_without_mass_is_one_that_works(tmp_path: Path) -> None:
    path = sdf(tmp_path, turn("x", "a", "b"), turn("y", "world", "c"))
    path.write_text(path.read_text().replace("<mass>1</mass>", "<mass>0</mass>", 1))
    with pytest.raises(ImportProblem, match="give it a mass, or --base fixed if the robot stands"):
        import_robot(path)
    assert import_robot(path, ImportOptions(base="fixed")).machine.dof == 2


def test_missing_meshes_that_give_inertias_are_all_told(tmp_path: Path) -> None:
    geoms = '<geom type="mesh" mesh="m"/><geom type="mesh" mesh="n"/>'
    meshes = '<asset><mesh name="m" file="m.stl"/><mesh name="n" file="n.stl"/></asset>'
    with pytest.raises(ImportProblem, match=r"inertias follow: m\.stl, n\.stl; add them"):
        read_robot(mjcf(tmp_path, f"<body><joint/>{geoms}</body>", meshes))


def test_lengths_of_muscles_need_no_limits(tmp_path: Path) -> None:
    """MuJoCo would measure the lengths over all poses, and end with an error where a joint turns freely."""
    more = """<tendon><fixed name="t"><joint joint="a" coef="1"/></fixed></tendon>
      <actuator><muscle tendon="t"/></actuator>"""
    found = read_robot(mjcf(tmp_path, f'<body><joint name="a" axis="0 1 0"/>{BODY}</body>', more))
    assert found.motors == ["a"]
