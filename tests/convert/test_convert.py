"""Machines written as URDF, MJCF and SDF, and imported again: the same mass matrix, bias and closures."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from linkwork.convert.robots.exporting import UnwritableMachine
from linkwork.convert.robots.importing import ImportOptions, import_robot
from linkwork.convert.robots.robot_writing import written
from linkwork.machine import Machine, load
from linkwork.machine.catalogue import shipped
from linkwork.multibody.formulations.evaluation import constraint_evaluation
from linkwork.multibody.functions import bias, mass_matrix
from linkwork.multibody.kernels.layout import ALONG
from tests.command import linkwork

ROBOTS = Path(__file__).parent / "robots"
FOREIGN = sorted(ROBOTS.glob("example-parallel-robots/*/robot.urdf")) + sorted(ROBOTS.glob("*/*.urdf"))
ENDINGS = {"urdf": "urdf", "mjcf": "xml", "sdf": "sdf"}
DEFAULT = {"arm_6dof_simple", "delta"}
"""Machines of the default tests: ball joints, compound joints, hinges that close loops."""


def returned(machine: Machine, to: str, folder: Path) -> None:
    """Write a machine, import the result, and compare."""
    text, found = written(machine, to)  # type: ignore[arg-type]
    heavy = not any("gravity" in loss for loss in found.losses)
    if any("inertia" in loss for loss in found.losses):
        return  # of another body; the command refuses it
    path = folder / f"{machine.name}.{ENDINGS[to]}"
    path.write_text(text, encoding="utf-8")
    again = import_robot(path, ImportOptions(literal=True))
    old, new = machine.plant_mechanism, again.machine.plant_mechanism
    assert new.nv == old.nv
    names = list(new.joint_names)
    places, scalars = [], {}
    for k, (joint, index) in enumerate(found.dofs):
        own = [n for n, name in enumerate(names) if name.partition(".")[0] == again.renamed.get(joint, joint)]
        places.append(own[index])
        if len(own) in (3, 6) and found.robot.joints[joint].type != "universal":
            first = old.joint_names[k].partition(".")[0]
            scalars[old.position_names.index(f"{first}.quaternion")] = new.position_names.index(
                f"{again.renamed.get(joint, joint)}.quaternion"
            )
    rng = np.random.default_rng(2)
    for _ in range(2):
        q, v = rng.uniform(-0.9, 0.9, old.nq), rng.normal(size=old.nv)
        for ball in {name.partition(".")[0] for name in old.position_names[old.nv :]}:
            own = [n for n, name in enumerate(old.position_names) if name.partition(".")[0] == ball]
            part = own[-4:] if len(own) == 4 else own[3:]
            q[part] /= np.linalg.norm(q[part])
        other_q, other_v = np.zeros(new.nq), np.zeros(new.nv)
        other_q[places], other_v[places] = q[: old.nv], v
        for mine, theirs in scalars.items():
            other_q[theirs] = q[mine]
        wanted = mass_matrix(old, q)
        scale = np.abs(wanted).max()
        assert np.abs(mass_matrix(new, other_q)[np.ix_(places, places)] - wanted).max() < 1e-12 * scale
        if not heavy:
            continue
        terms = bias(old, q, v)
        most = max(float(np.abs(terms).max()), scale)
        assert np.abs(bias(new, other_q, other_v)[places] - terms).max() < 1e-12 * most
        _same_closures(machine, old, new, (q, v), (other_q, other_v))


def _same_closures(machine: Machine, old, new, mine, theirs) -> None:  # type: ignore[no-untyped-def]
    """The distance of the points that closures hold: |Φ| of its rows in metres."""
    idle = {motion.row.name for motion in machine.assembly.idle}
    one, two = (
        {
            constraint.name: np.linalg.norm(
                [phi[first + k] for k, row in enumerate(constraint.rows) if row.kind == ALONG]
            )
            for constraint, first, phi in _rows(mechanism, state)
            if constraint.name not in idle and len(constraint.rows) >= 3
        }
        for mechanism, state in ((old, mine), (new, theirs))
    )
    for name, gap in one.items():
        if name in two:
            assert two[name] == pytest.approx(gap, abs=1e-12)


def _rows(mechanism, state):  # type: ignore[no-untyped-def]
    if not mechanism.constraints:
        return
    phi, first = constraint_evaluation(mechanism, *state).phi, 0
    for constraint in mechanism.constraints:
        yield constraint, first, phi
        first += len(constraint.rows)


@pytest.mark.parametrize("to", ENDINGS)
@pytest.mark.parametrize(
    "name", [name if name in DEFAULT else pytest.param(name, marks=pytest.mark.slow) for name in shipped()]
)
def test_shipped_machines_come_back(name: str, to: str, tmp_path: Path) -> None:
    returned(load(name), to, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("to", ENDINGS)
@pytest.mark.parametrize("source", FOREIGN, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_foreign_robots_come_back(source: Path, to: str, tmp_path: Path) -> None:
    returned(import_robot(source).machine, to, tmp_path)


def test_what_a_format_lacks_is_listed_and_refused(tmp_path: Path) -> None:
    target = tmp_path / "polish.urdf"
    refused = linkwork("convert", "scara_polish", "--to", "urdf", "--out", str(target))
    assert refused.returncode == 2
    assert "--lossy leaves them out" in refused.stderr
    assert "the contact" in refused.stderr
    assert not target.exists()
    ran = linkwork("convert", "scara_polish", "--to", "urdf", "--out", str(target), "--lossy")
    assert ran.returncode == 0, ran.stderr
    assert "left out: the contact" in ran.stdout
    ElementTree.parse(target)
    again = linkwork("convert", "scara_polish", "--to", "urdf", "--out", str(target), "--lossy")
    assert "--overwrite" in again.stderr


SCREW = """
name: press
bodies: {nut: {mass_kg: 1, inertia_kg_m2: {xx: 1.0e-3, yy: 1.0e-3, zz: 1.0e-3}}}
joints: {thread: {type: screw, parent: world, child: nut, axis: [0, 0, 1], pitch_m_per_turn: 0.01}}
"""


def test_a_joint_that_a_format_lacks_cannot_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "press.yaml").write_text(SCREW)
    machine = load(tmp_path / "press.yaml")
    returned(machine, "sdf", tmp_path)
    for to in ("urdf", "mjcf"):
        with pytest.raises(UnwritableMachine, match="no screws, as thread is"):
            written(machine, to)  # type: ignore[arg-type]


GEARS = """
name: gears
bodies:
  a: &wheel {mass_kg: 1, com_m: [0.1, 0, 0], inertia_kg_m2: {xx: 2.0e-3, yy: 2.0e-3, zz: 3.0e-3}}
  b: *wheel
  c: *wheel
  d: *wheel
joints:
  ja: {type: revolute, parent: world, child: a, axis: [0, 0, 1]}
  jb: {type: revolute, parent: world, child: b, at_m: [1, 0, 0], axis: [0, 0, 1]}
  jc: {type: prismatic, parent: world, child: c, at_m: [2, 0, 0], axis: [0, 0, 1]}
  jd: {type: revolute, parent: c, child: d, at_m: [3, 0, 0], axis: [1, 0, 0]}
constraints:
  differential: {type: coupling, factors: {ja: 2, jb: -3, jc: 0.5}, equals: 0.25}
  first: {type: coupling, factors: {jd: 1, ja: 2}, equals: 0.1}
  second: {type: coupling, factors: {jd: 1, jb: -1}, equals: 0}
"""


def test_couplings_of_many_joints_are_tendons_of_mujoco(tmp_path: Path) -> None:
    """MuJoCo's residuals are those of the constraints, divided by the factor of each first joint."""
    import mujoco

    (tmp_path / "gears.yaml").write_text(GEARS)
    machine = load(tmp_path / "gears.yaml")
    text, found = written(machine, "mjcf")
    assert found.losses == []
    returned(machine, "mjcf", tmp_path)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:] = q = np.array([0.3, -0.4, 0.7, 0.9])
    mujoco.mj_forward(model, data)
    wanted = constraint_evaluation(machine.mechanism, q, np.zeros(4)).phi / [2.0, 1.0, 1.0]
    residuals = dict(zip(data.efc_id[:3].tolist(), data.efc_pos[:3].tolist(), strict=True))
    places = {model.equality(name).id: k for k, name in enumerate(("differential", "first", "second"))}
    for equality, residual in residuals.items():
        assert residual == pytest.approx(wanted[places[equality]], abs=1e-12)
    _, of_urdf = written(machine, "urdf")
    assert [loss.split(":")[0] for loss in of_urdf.losses] == ["the constraint differential"]
    assert [(each.joint, each.other) for each in of_urdf.robot.couplings] == [("jd", "ja"), ("jb", "jd")]
    returned(machine, "urdf", tmp_path)


SLIDES = """
name: slides
bodies:
  a: &part {mass_kg: 1, com_m: [0.1, 0, 0.1], inertia_kg_m2: {xx: 2.0e-3, yy: 2.0e-3, zz: 3.0e-3}}
  b: *part
  c: *part
joints:
  ja: {type: revolute, parent: world, child: a, rpy_deg: [20, 0, 0], axis: [0, 0, 1]}
  jb: {type: revolute, parent: a, child: b, at_m: [0.5, 0, 0], axis: [0, 0, 1]}
  jc: {type: revolute, parent: world, child: c, at_m: [0.3, 0.1, 0.2], axis: [0, 1, 0]}
constraints:
  guide:
    {type: prismatic, a: {body: a, at_m: [0.1, 0, 0]}, b: {body: b, at_m: [OFFSET, 0, 0]}, axis: [1, 0, 0]}
  cross:
    {type: universal, a: {body: b, at_m: [-0.5, 0, 0], axis: [0, 0, 1]}, b: {body: world, axis: [1, 0, 0]}}
"""


def test_slides_and_universal_joints_close_loops_in_sdf(tmp_path: Path) -> None:
    """They are written where the loop is closed at the zero pose, in which SDF gives a joint's frame."""
    (tmp_path / "slides.yaml").write_text(SLIDES.replace("OFFSET", "-0.3"))
    machine = load(tmp_path / "slides.yaml")
    text, found = written(machine, "sdf")
    assert found.losses == []
    assert text.count('type="prismatic"') == text.count('type="universal"') == 1
    returned(machine, "sdf", tmp_path)
    again = import_robot(tmp_path / "slides.sdf", ImportOptions(literal=True)).machine.mechanism
    types = {one.name: type(one).__name__ for one in again.constraints}
    assert types == {"guide": "PrismaticClosure", "cross": "UniversalClosure"}


def test_a_slide_that_is_open_at_zero_is_refused_in_sdf(tmp_path: Path) -> None:
    """The guide is turned by 20°, so that the second joint stands at -20°."""
    turned = SLIDES.replace("[0.1, 0, 0]", "[0.5, 0, 0]").replace(
        "[OFFSET, 0, 0]", "[0, 0, 0], rpy_deg: [0, 0, 20]"
    )
    (tmp_path / "slides.yaml").write_text(turned[: turned.index("  cross:")])
    _, found = written(load(tmp_path / "slides.yaml"), "sdf")
    (loss,) = found.losses
    assert loss.startswith("the closure guide: a prismatic joint of SDF closes a loop in the pose")


def test_mujoco_and_pinocchio_read_what_is_written(tmp_path: Path) -> None:
    """The start of a platform closes its loops in MuJoCo; Pinocchio has the machine's degrees of freedom."""
    import mujoco
    import pinocchio

    machine = load("platform_3rrs")
    text, _ = written(machine, "mjcf")
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    assert data.nefc >= 6
    assert np.abs(data.efc_pos[:6]).max() < 1e-9
    text, _ = written(load("five_bar"), "urdf")
    (tmp_path / "five_bar.urdf").write_text(text)
    assert pinocchio.buildModelFromUrdf(str(tmp_path / "five_bar.urdf")).nv == load("five_bar").mechanism.nv
