"""Import of robots: foreign descriptions with loops, what is simplified, and files that are broken."""

import json
import random
from pathlib import Path

import numpy as np
import pinocchio
import pytest
from scipy.spatial.transform import Rotation

from linkwork.convert.robots.importing import Imported, ImportOptions, import_robot, read_robot
from linkwork.convert.robots.robot_model import ImportProblem
from linkwork.machine import load
from linkwork.multibody.functions import bias, mass_matrix
from linkwork.multibody.steps.integrate import rk4
from tests.command import linkwork

ROBOTS = Path(__file__).parent / "robots"
PARALLEL = ROBOTS / "example-parallel-robots"
# degrees of freedom: one for each motor, and one for each rod that spins between two ball joints
FREE = {
    "5bar_linkage": 2,
    "5bar_linkage_iso6d": 2,
    "digit_like": 6 + 3,
    "disney_like": 6 + 3,
    "robot_delta": 2,
    "talos_like": 6 + 1,
}
IDLE_HINGES = {"5bar_linkage": 1, "robot_delta": 3}
"""Links between two hinges on one axis, which a literal import keeps."""


@pytest.fixture(scope="module", params=FREE)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def plain(name: str) -> Imported:
    return import_robot(PARALLEL / name / "robot.urdf")


@pytest.fixture(scope="module")
def literal(name: str) -> Imported:
    return import_robot(PARALLEL / name / "robot.urdf", ImportOptions(literal=True))


def test_foreign_robots_assemble_with_their_degrees_of_freedom(plain: Imported, name: str) -> None:
    assert plain.machine.dof + len(plain.machine.assembly.idle) == FREE[name]
    assert plain.machine.assembly.residual < 1e-9
    assert plain.changes
    assert len(plain.machine.motors) == len(plain.robot.motors or ())


def test_a_literal_import_has_the_same_freedom_and_its_idle_spins(literal: Imported, name: str) -> None:
    assert literal.changes == []
    assert literal.machine.dof + len(literal.machine.assembly.idle) == FREE[name] + IDLE_HINGES.get(name, 0)


def test_mass_matrix_and_bias_are_pinocchios(literal: Imported, name: str) -> None:
    model = pinocchio.buildModelFromUrdf(str(PARALLEL / name / "robot.urdf"))
    data, mechanism = model.createData(), literal.machine.mechanism
    ours = {literal.renamed.get(each, each) for each in model.names[1:]}
    assert ours == set(mechanism.joint_names)
    order = [mechanism.joint_index(literal.renamed.get(each, each)) for each in model.names[1:]]
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, v = rng.uniform(-1.0, 1.0, model.nq), rng.normal(size=model.nv)
        own_q, own_v = np.zeros(mechanism.nq), np.zeros(mechanism.nv)
        own_q[order], own_v[order] = q, v
        wanted = pinocchio.crba(model, data, q)
        wanted = np.triu(wanted) + np.triu(wanted, 1).T
        found = mass_matrix(mechanism, own_q)[np.ix_(order, order)]
        assert np.abs(found - wanted).max() < 1e-9 * np.abs(wanted).max()
        terms = pinocchio.nonLinearEffects(model, data, q, v)
        assert np.abs(bias(mechanism, own_q, own_v)[order] - terms).max() < 1e-9 * max(
            1.0, np.abs(terms).max()
        )


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["digit_like", "talos_like"])
def test_the_simplified_robot_moves_as_the_literal_one(robot: str) -> None:
    """Falling from the literal one's pose: hinges at the same angles, ball joints turned as their gimbals."""
    file = PARALLEL / robot / "robot.urdf"
    literal, plain, source = (
        import_robot(file, ImportOptions(literal=True)),
        import_robot(file),
        read_robot(file),
    )
    work, ours = (each.machine.plant_mechanism.workspace() for each in (literal, plain))
    work.q[:] = literal.machine.initial_q

    def angle(name: str) -> float:
        return float(work.q[literal.machine.mechanism.joint_index(literal.renamed.get(name, name))])

    for name, joint in plain.robot.joints.items():
        if joint.type != "spherical":
            ours.q[plain.machine.mechanism.joint_index(plain.renamed.get(name, name))] = angle(name)
            continue
        chain = [source.joints[name.removesuffix("rev0") + part] for part in ("rev0", "rev1", "rev2")]
        turn = Rotation.from_matrix(joint.pose.rotation).inv()
        for each in chain:
            own = Rotation.from_rotvec(each.axis * angle(each.name))
            turn = turn * Rotation.from_matrix(each.pose.rotation) * own
        own_name = plain.renamed.get(name, name)
        first = plain.machine.mechanism.joint_names.index(f"{own_name}.rx")
        scalar = plain.machine.mechanism.position_names.index(f"{own_name}.quaternion")
        ours.q[first : first + 3], ours.q[scalar] = np.split(turn.as_quat(), [3])[0], turn.as_quat()[3]
    for _ in range(100):
        rk4(*work.arguments, 2e-4)
        rk4(*ours.arguments, 2e-4)
    moved = []
    for name in source.motors or ():
        own = plain.machine.mechanism.joint_index(plain.renamed.get(name, name))
        assert ours.q[own] == pytest.approx(angle(name), abs=1e-8)
        moved.append(abs(work.v[literal.machine.mechanism.joint_index(literal.renamed.get(name, name))]))
    assert max(moved) > 0.1


def test_loops_of_generalized_rbda() -> None:
    four_bar = import_robot(ROBOTS / "generalized_rbda" / "four_bar.urdf")
    assert (four_bar.machine.dof, [motor.joint for motor in four_bar.machine.motors]) == (1, ["joint1"])
    leg = import_robot(ROBOTS / "generalized_rbda" / "planar_leg_linkage.urdf")
    assert leg.machine.dof == 2
    assert [motor.joint for motor in leg.machine.motors] == ["base_to_thigh", "thigh_to_driver"]
    assert any("NO BODY HAS THE INERTIA OF thigh" in each for each in leg.remarks)
    assert any(each.key.startswith("bodies.thigh") for each in leg.machine.warnings)
    mended = import_robot(ROBOTS / "generalized_rbda" / "planar_leg_linkage.urdf", ImportOptions(repair=True))
    assert "unphysical" not in mended.text
    for body in mended.machine.mechanism.bodies:
        moments = np.linalg.eigvalsh(np.asarray(body.inertia_kg_m2))
        assert moments[2] <= (moments[0] + moments[1]) * (1.0 + 1e-6)


def test_couplings_of_urdf_plus_sum_the_joints_of_both_chains(tmp_path: Path) -> None:
    """A rotor on the base turns the elbow by a belt along the arm: 6 rotor = shoulder + elbow."""
    rotor, shoulder, elbow = (
        JOINT.format(name, "revolute", parent, child, "1 0 0").replace(">", f' independent="{free}">', 1)
        for name, parent, child, free in (
            ("rotor", "ground", "crank", "true"),
            ("shoulder", "ground", "rocker", "true"),
            ("elbow", "rocker", "arm/left", "false"),
        )
    )
    belt = (
        '<coupling name="belt"><predecessor link="crank"/><successor link="arm/left"/><ratio value="6"/>'
        '</coupling>\n<ros2_control name="x"/><odd/>'
    )
    found = import_robot(four_bar(tmp_path, belt, a=rotor, b=shoulder, c=elbow))
    (constraint,) = found.machine.mechanism.constraints
    assert getattr(constraint, "factors") == {"elbow": 1.0, "shoulder": 1.0, "rotor": -6.0}  # noqa: B009
    assert [motor.joint for motor in found.machine.motors] == ["rotor", "shoulder"]
    assert "elements that are not read: <odd>" in found.remarks
    with pytest.raises(ImportProblem, match="does not exist"):
        import_robot(four_bar(tmp_path, belt.replace("crank", "wheel"), a=rotor, b=shoulder, c=elbow))


def test_joints_start_within_their_limits(tmp_path: Path) -> None:
    """An arm whose elbow cannot be straight, and a closed one: both start near zero within the limits."""
    bent = JOINT.format("b", "revolute", "crank", "arm/left", "1 0 0").replace('upper="3"', 'upper="-0.5"')
    found = import_robot(four_bar(tmp_path, b=bent))
    low, high = found.machine.joints[1].position
    assert low < found.machine.initial_q[1] == pytest.approx(-0.5 - 0.05 * (high - low))
    assert "zero is outside the limits of b, which start within them" in found.remarks
    (tmp_path / "loops.yaml").write_text(SHEET)
    closed = import_robot(four_bar(tmp_path, b=bent), ImportOptions(tmp_path / "loops.yaml")).machine
    assert closed.assembly.residual < 1e-9
    for joint, value in zip(closed.joints, closed.initial_q, strict=True):
        assert joint.position[0] <= value <= joint.position[1]
    never = four_bar(
        tmp_path,
        b=bent.replace("-0.5", "-2.9"),
        c=JOINT.format("c", "revolute", "ground", "rocker", "0 1 0").replace("-3", "2.9"),
    )
    found = import_robot(never, ImportOptions(tmp_path / "loops.yaml"))
    assert found.machine.assembly.residual < 1e-9
    (said,) = (each for each in found.remarks if each.startswith("LIMITS OF"))
    assert "ARE LEFT OUT" in said
    assert "the loops closed in no pose within" in said


def test_a_mimic_joint_may_be_fixed_and_a_motor_too(tmp_path: Path) -> None:
    fixed = JOINT.format("c", "fixed", "ground", "rocker", "0 1 0")
    follower = fixed.replace("</joint>", '<mimic joint="a" multiplier="-2"/></joint>')
    motor = '<transmission name="m"><joint name="c"/></transmission>'
    path = four_bar(tmp_path, motor, c=follower)
    assert import_robot(path).machine.dof == 2
    assert import_robot(path, ImportOptions(literal=True)).machine.motors == ()
    leader = JOINT.format("a", "revolute", "ground", "crank", "0 0 0").replace(
        "</joint>", '<mimic joint="c" offset="0.2"/></joint>'
    )
    assert import_robot(four_bar(tmp_path, a=leader, c=fixed)).machine.initial_q[0] == pytest.approx(0.2)


def test_a_robot_in_which_nothing_moves_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "still.urdf"
    path.write_text(f'<robot name="still">{LINK.format("drone")}</robot>')
    with pytest.raises(ImportProblem, match=r"nothing in it moves.*--base floating"):
        import_robot(path)
    assert import_robot(path, ImportOptions(base="floating")).machine.dof == 6


LINK = (
    '<link name="{}"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>'
    '<inertia ixx="0.01" iyy="0.1" izz="0.1"/></inertial></link>'
)
JOINT = (
    '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/><origin xyz="{}"/><axis xyz="0 0 1"/>'
    '<limit lower="-3" upper="3" effort="20" velocity="5"/></joint>'
)


def four_bar(folder: Path, *more: str, **parts: str) -> Path:
    """A parallelogram without its closure: crank and rocker of 1 m on the ground, a coupler of 1 m."""
    path = folder / "robot.urdf"
    elements = {
        "ground": '<link name="ground"/>',
        "crank": LINK.format("crank"),
        "arm/left": LINK.format("arm/left"),
        "rocker": LINK.format("rocker"),
        "a": JOINT.format("a", "revolute", "ground", "crank", "0 0 0"),
        "b": JOINT.format("b", "revolute", "crank", "arm/left", "1 0 0"),
        "c": JOINT.format("c", "revolute", "ground", "rocker", "0 1 0"),
    } | parts
    path.write_text("\n".join(["<robot name='bars'>", *elements.values(), *more, "</robot>"]))
    return path


SHEET = """
closures:
  end: {type: revolute, a: {link: arm/left, at_m: [1, 0, 0]}, b: {link: rocker, at_m: [1, 0, 0]}}
motors: [a]
"""


def test_a_sheet_of_our_own_closes_a_loop(tmp_path: Path) -> None:
    (tmp_path / "loops.yaml").write_text(SHEET)
    found = import_robot(four_bar(tmp_path), ImportOptions(tmp_path / "loops.yaml"))
    assert found.machine.dof == 1
    assert [motor.joint for motor in found.machine.motors] == ["a"]
    assert found.renamed == {"arm/left": "arm_left"}
    assert found.machine.joints[0].position == (-3.0, 3.0)


def test_two_points_that_coincide_are_a_hinge(tmp_path: Path) -> None:
    ends = [
        f"  {name}: {{type: 3d, a: {{link: arm/left, at_m: {at}}}, b: {{link: rocker, at_m: {at}}}}}"
        for name, at in (("low", "[1, 0, 0]"), ("high", "[1, 0, 0.1]"))
    ]
    (tmp_path / "loops.yaml").write_text("\n".join(["closures:", *ends, "motors: [a]"]))
    found = import_robot(four_bar(tmp_path), ImportOptions(tmp_path / "loops.yaml"))
    assert "low and high hold two points of arm/left on rocker: they are a hinge" in found.changes
    assert "low, a hinge, closes a planar loop: it is a pin in the plane" in found.changes
    assert [type(each).__name__ for each in found.machine.mechanism.constraints] == ["PinClosure"]
    assert found.machine.dof == 1


def test_mimic_joints_are_couplings_and_closing_frames_close(tmp_path: Path) -> None:
    mimic = JOINT.format("c", "revolute", "ground", "rocker", "0 1 0").replace(
        "</joint>", '<mimic joint="a" multiplier="-2" offset="0.1"/></joint>'
    )
    found = import_robot(four_bar(tmp_path, c=mimic))
    assert found.machine.dof == 2
    a, c = (found.machine.mechanism.joint_index(name) for name in "ac")
    assert found.machine.initial_q[c] == pytest.approx(-2 * found.machine.initial_q[a] + 0.1)
    ends = [
        part
        for number, link in (("1", "arm/left"), ("2", "rocker"))
        for part in (
            f'<link name="closing_end_{number}"/>',
            JOINT.format(f"end{number}", "fixed", link, f"closing_end_{number}", "1 0 0"),
        )
    ]
    assert import_robot(four_bar(tmp_path, *ends)).machine.dof == 1


@pytest.mark.parametrize(
    ("parts", "line", "said"),
    [
        ({"crank": "<link name='crank'>"}, 8, "not well-formed"),
        ({"crank": "<link/>"}, 3, "no attribute `name`"),
        ({"crank": LINK.format("rocker")}, 5, "two links are called 'rocker'"),
        ({"crank": LINK.format("crank").replace('value="1"', 'value="heavy"')}, 3, "must be a number"),
        ({"crank": LINK.format("crank").replace('ixx="0.01"', 'ixx="nan"')}, 3, "must be finite"),
        ({"crank": LINK.format("crank").replace('value="1"', 'value="-1"')}, 3, "negative"),
        ({"a": JOINT.format("a", "revolute", "grund", "crank", "0 0 0")}, 6, "no such link"),
        (
            {"a": JOINT.format("a", "hinge", "ground", "crank", "0 0 0")},
            6,
            "unknown type 'hinge'; known: revolute",
        ),
        ({"a": JOINT.format("a", "revolute", "ground", "crank", "0 0")}, 6, "must be 3 numbers"),
        ({"a": JOINT.format("a", "revolute", "arm/left", "crank", "0 0 0")}, 6, "ring"),
        ({"c": JOINT.format("c", "revolute", "ground", "crank", "0 0 0")}, 8, "carry the same link"),
        ({"a": "<joint name='a' type='revolute'/>"}, 6, "no <parent>"),
    ],
)
def test_broken_files_are_refused_with_the_line(
    parts: dict[str, str], line: int, said: str, tmp_path: Path
) -> None:
    path = four_bar(tmp_path, **parts)
    with pytest.raises(ImportProblem) as caught:
        read_robot(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    if "well-formed" not in said:
        assert caught.value.line == line


def test_entities_document_types_and_depth_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    bomb = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 9))
    for text in (
        f'<!DOCTYPE robot [<!ENTITY l0 "ha">{bomb}]><robot name="x">&l8;</robot>',
        '<!DOCTYPE robot [<!ENTITY e SYSTEM "file:///etc/passwd">]><robot name="x">&e;</robot>',
    ):
        path.write_text(text)
        with pytest.raises(ImportProblem, match="document type or an entity"):
            read_robot(path)
    path.write_text("<robot>" * 300 + "</robot>" * 300)
    with pytest.raises(ImportProblem, match="200 deep"):
        read_robot(path)


def test_mutated_files_are_read_or_refused(tmp_path: Path) -> None:
    rng = random.Random(5)
    sources = [
        (ROBOTS / "generalized_rbda" / "four_bar.urdf").read_bytes(),
        four_bar(tmp_path).read_bytes(),
    ]
    path, refused = tmp_path / "mutated.urdf", 0
    for _ in range(600):
        data = bytearray(rng.choice(sources))
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(data))
            match rng.randrange(4):
                case 0:
                    data[at] = rng.randrange(256)
                case 1:
                    del data[at : at + rng.randint(1, 200)]
                case 2:
                    data[at:at] = rng.choice([b"<", b'"', b"1e999", b"&x;", b"\0", b"link", b"-"])
                case _:
                    data[at:at] = data[at : at + rng.randint(1, 300)]
            data = data or bytearray(b" ")
        path.write_bytes(bytes(data))
        try:
            read_robot(path)
        except ImportProblem:
            refused += 1
    assert refused > 300


def test_the_command_writes_a_machine_file(tmp_path: Path) -> None:
    out = tmp_path / "leg.yaml"
    source = str(PARALLEL / "talos_like" / "robot.urdf")
    ran = linkwork("import", source, "--out", str(out), "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["model"]["degrees_of_freedom"] == 6 + 1
    assert load(out).dof == 6
    again = linkwork("import", source, "--out", str(out))
    assert again.returncode == 2
    assert "--overwrite" in again.stderr
    missing = linkwork("import", str(tmp_path / "none.urdf"))
    assert missing.returncode == 2
    assert "cannot be read" in missing.stderr
