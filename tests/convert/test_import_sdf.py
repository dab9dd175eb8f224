"""Import of SDF: joints that close loops, frames, gearboxes, includes within packages, and broken files."""

from pathlib import Path

import numpy as np
import pytest

from linkwork.convert.robots.importing import Imported, ImportOptions, import_robot, read_robot
from linkwork.convert.robots.proof import prove
from linkwork.convert.robots.robot_model import ImportProblem

INERTIAL = (
    "<inertial><pose>{} 0 0 0.1 0.2 0.3</pose><mass>1</mass>"
    "<inertia><ixx>0.01</ixx><iyy>0.02</iyy><izz>0.025</izz></inertia></inertial>"
)


def link(name: str, pose: str, of: str = "", com: float = 0.0) -> str:
    relative = f' relative_to="{of}"' if of else ""
    return f'<link name="{name}"><pose{relative}>{pose}</pose>{INERTIAL.format(com)}</link>'


def joint(name: str, kind: str, parent: str, child: str, more: str = "<axis><xyz>0 0 1</xyz></axis>") -> str:
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{more}</joint>'


AXES = "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>"
SPRING = (
    '<pose>0.05 0 0 0.4 0 0</pose><axis><xyz expressed_in="__model__">0 0 1</xyz>'
    "<limit><lower>-2</lower><upper>2</upper><effort>10</effort></limit><dynamics><damping>0.1</damping>"
    "<spring_stiffness>2</spring_stiffness><spring_reference>0.3</spring_reference></dynamics></axis>"
)
BALLS = "".join(
    f"<drake:ball_constraint_{key}>{value}</drake:ball_constraint_{key}>"
    for key, value in (("body_A", "hand"), ("body_B", "float"), ("p_AP", "0.1 0 0"), ("p_BQ", "0 0.3 0"))
)
GEARBOX = (
    "<gearbox_ratio>3</gearbox_ratio><gearbox_reference_body>base</gearbox_reference_body>"
    "<axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 1</xyz></axis2>"
)
PARTS = [
    '<frame name="side"><pose degrees="true">0.6 0 0 0 90 0</pose></frame>',
    link("base", "0 0 0 0 0 0"),
    link("crank", "0 0 0.1 0 0 0.3", com=0.1),
    link("coupler", "0.4 0 0 0 0 0.9", "crank"),
    link("rocker", "-0.1 0 0 0 -1.5707963267948966 2", "side"),
    link("cross", "0 0 0.5 0 0 0", "crank"),
    link("nut", "0 0 0.5 0 0 0", "cross", 0.2),
    link("hand", "0 0.2 0.5 0 0 0", "nut"),
    link("float", "0 0.2 1.5 1 0 0", "nut"),
    link("gear_1", "1 1 0 0 0 0"),
    link("gear_2", "2 1 0 0 0 0"),
    joint("stand", "fixed", "world", "base", ""),
    joint("drive", "revolute", "base", "crank", SPRING),
    joint("elbow", "revolute", "crank", "coupler"),
    joint("pivot", "revolute", "rocker", "base"),  # from child to parent, seen from the world
    joint("end", "revolute", "rocker", "coupler", '<pose relative_to="coupler">0.5 0 0 0 0 0</pose>'),
    joint("cardan", "universal", "crank", "cross", AXES),
    joint(
        "screw", "screw", "nut", "cross",
        "<axis><xyz>1 0 0</xyz></axis><screw_thread_pitch>0.1</screw_thread_pitch>",
    ),
    joint("wrist", "ball", "nut", "hand", "<pose>0.1 0 0 0 0 0</pose>"),
    joint("turn_1", "revolute", "base", "gear_1"),
    joint("turn_2", "continuous", "base", "gear_2", "<axis><xyz>0 0 -1</xyz></axis>"),
    joint("gears", "gearbox", "gear_1", "gear_2", GEARBOX),
    f"<drake:ball_constraint>{BALLS}</drake:ball_constraint>",
]  # fmt: skip


def sdf(*parts: str, name: str = "all") -> str:
    head = f'<sdf version="1.9" xmlns:drake="drake.mit.edu"><model name="{name}">'
    return "\n".join([head, *parts, "</model></sdf>"])


@pytest.fixture(scope="module")
def literal(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    path = tmp_path_factory.mktemp("sdf") / "all.sdf"
    path.write_text(sdf(*PARTS))
    return import_robot(path, ImportOptions(literal=True))


def test_all_joints_agree_with_pinocchio(literal: Imported) -> None:
    proof = prove(literal.source)
    assert proof.without == ""
    assert "Pinocchio, which was given the tree as it was read" in proof.library
    for value in (proof.mass_matrix, proof.bias, proof.poses, proof.closures):
        assert value is not None
        assert value < 1e-12


def test_the_graph_becomes_a_tree_with_closures(literal: Imported) -> None:
    mechanism = literal.machine.mechanism
    idle = {motion.row.name for motion in literal.machine.assembly.idle}
    kinds = {each.name: type(each).__name__ for each in mechanism.constraints if each.name not in idle}
    assert kinds == {
        "end": "RevoluteClosure",
        "ball_constraint_1": "PointClosure",
        "gears": "CouplingConstraint",
    }
    joints = {each.name: each for each in mechanism.joints}
    assert (joints["pivot"].parent, joints["pivot"].child) == ("base", "rocker")
    assert np.asarray(joints["pivot"].axis).tolist() == [0.0, 0.0, -1.0]
    assert joints["float_floats"].kind == "free"
    assert joints["screw"].pitch_m_per_rad == pytest.approx(0.1 / (2 * np.pi))
    assert np.asarray(joints["cardan"].axis).tolist() == [0.0, 1.0, 0.0]
    gears = mechanism.constraints[mechanism.constraint_index("gears")]
    # turn_2 has the other direction: seen along +z, the second gear turns by -3 times the first
    assert getattr(gears, "factors") == {"turn_2": 1.0, "turn_1": -3.0}  # noqa: B009
    assert [motor.joint for motor in literal.machine.motors] == ["drive"]
    assert mechanism.elements[0].stiffness == 2.0


def test_poses_are_those_of_the_frames(literal: Imported) -> None:
    """Places of links in the world, at the pose of the file, worked out by hand."""
    from linkwork.convert.robots.robot_model import FramePose

    def place(name: str) -> FramePose:
        carrier = literal.source.carrier(name)
        return FramePose() if carrier is None else place(carrier.parent) @ carrier.pose

    crank = np.array([0.05 * np.cos(0.3), 0.05 * np.sin(0.3), 0.1])
    assert place("crank").at == pytest.approx(crank)
    elbow = np.array([0.4 * np.cos(0.3), 0.4 * np.sin(0.3), 0.1])
    assert place("coupler").at == pytest.approx(elbow)
    # `side` turns x onto -z: 0.1 m back along its x axis is 0.1 m up; the rocker's joint lies at the base
    end = next(each for each in literal.source.closures if each.name == "end")
    wanted = elbow + 0.5 * np.array([np.cos(1.2), np.sin(1.2), 0.0])
    for body, pose in ((end.a, end.a_pose), (end.b, end.b_pose)):
        assert (place(body) @ pose).at == pytest.approx(wanted)
    assert place("rocker").at == pytest.approx(np.zeros(3))
    com = place("rocker") @ FramePose(literal.source.links["rocker"].com)
    assert com.at == pytest.approx([0.6, 0.0, 0.1])


@pytest.mark.parametrize("stand", ["", joint("stand", "fixed", "world", "base", "")])
def test_a_static_model_does_not_move(stand: str, tmp_path: Path) -> None:
    file = tmp_path / "wall.sdf"
    links = link("base", "0 0 0 0 0 0"), link("door", "0 0 1 0 0 0")
    file.write_text(sdf("<static>true</static>", *links, joint("pin", "revolute", "base", "door"), stand))
    assert import_robot(file, ImportOptions()).machine.dof == 0


def test_models_are_included_from_packages_only(tmp_path: Path) -> None:
    inner = sdf(link("rod", "0 0 0.5 0 0 0"), joint("swing", "revolute", "__model__", "rod"), name="rod")
    inner = inner.replace("<parent>__model__</parent>", "<parent>hub</parent>").replace(
        "</model>", link("hub", "0 0 0 0 0 0") + "</model>"
    )
    (tmp_path / "store" / "rod").mkdir(parents=True)
    (tmp_path / "store" / "rod" / "model.sdf").write_text(inner)
    (tmp_path / "secret.sdf").write_text(inner)
    (tmp_path / "robot").mkdir()
    path = tmp_path / "robot" / "two.sdf"

    def include(uri: str, name: str, pose: str) -> str:
        return f"<include><uri>{uri}</uri><name>{name}</name><pose>{pose}</pose></include>"

    pair = [
        include("model://parts/rod", "left", "0 1 0 0 0 0"),
        include("model://parts/rod", "right", "0 -1 0 0 0 0"),
    ]
    stands = [joint(f"stand_{side}", "fixed", "world", f"{side}::hub", "") for side in ("left", "right")]
    path.write_text(sdf(*pair, *stands))
    with pytest.raises(ImportProblem, match=r"package 'parts'.*give --package parts=DIR"):
        read_robot(path)
    options = ImportOptions(packages={"parts": tmp_path / "store"})
    found = import_robot(path, options)
    assert found.machine.dof == 2
    assert {joint.name for joint in found.machine.mechanism.joints} == {"left_swing", "right_swing"}
    for uri in (
        "model://parts/../../secret.sdf",
        "../secret.sdf",
        "file:///etc/passwd",
        "https://example.org/a.sdf",
    ):
        path.write_text(sdf(include(uri, "left", "0 0 0 0 0 0")))
        with pytest.raises(ImportProblem, match=r"leads out|outside|is not read"):
            read_robot(path, options)
    path.write_text(sdf(include("two.sdf", "again", "0 0 0 0 0 0")))
    with pytest.raises(ImportProblem, match="nest more than"):
        read_robot(path)


@pytest.mark.parametrize(
    ("wrong", "right", "said"),
    [
        ('relative_to="crank"', 'relative_to="crnak"', "no frame, link or joint 'crnak'; write crank"),
        ("<child>crank</child>", "<child>crnak</child>", "crnak"),
        ("<mass>1</mass>", "<mass>-1</mass>", "negative"),
        ("<ixx>0.01</ixx>", "<ixx>nan</ixx>", "must be finite"),
        ('type="screw"', 'type="bolt"', "unknown type 'bolt'; known: revolute"),
        ("0.6 0 0 0 90 0", "0.6 0 0 0 90", "must be 6 numbers"),
        ('version="1.9"', 'version="next"', "is not one of SDF"),
        (">base</gearbox_reference_body>", ">crank</gearbox_reference_body>", "needs a revolute joint"),
        ("<xyz>0 0 -1</xyz>", "<xyz>0 0 0</xyz>", "no direction"),
        ("<parent>world</parent><child>base", "<parent>base</parent><child>base", "to itself"),
    ],
)
def test_broken_files_are_refused(wrong: str, right: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "all.sdf"
    whole = sdf(*PARTS)
    assert wrong in whole
    path.write_text(whole.replace(wrong, right, 1))
    with pytest.raises(ImportProblem) as caught:
        read_robot(path)
    assert said in str(caught.value)
    assert caught.value.line > 0


def test_frames_that_form_a_ring_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "ring.sdf"
    path.write_text(
        sdf(link("a", "0 0 0 0 0 0", "b"), link("b", "0 0 0 0 0 0", "a"), joint("j", "ball", "a", "b"))
    )
    with pytest.raises(ImportProblem, match="form a ring"):
        read_robot(path)
