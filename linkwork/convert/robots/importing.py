"""`linkwork import`: from a robot's description to a machine file that loads, with changes and remarks."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import numpy as np

from linkwork.convert.robots.closure_sheets import add_sheet, closing_frames, is_of
from linkwork.convert.robots.examination import examine
from linkwork.convert.robots.limited_child import SECONDS, MissingLibrary, call
from linkwork.convert.robots.link_shapes import PackagePaths
from linkwork.convert.robots.loop_simplification import FramePoint, LoopSimplifier
from linkwork.convert.robots.machine_writing import MachineNames, MachineWriter
from linkwork.convert.robots.mjcf import read_mjcf
from linkwork.convert.robots.pose_search import closed_pose, nearest_within
from linkwork.convert.robots.robot_model import TURNS, ImportProblem, RobotModel, SourceJoint, SourceLink
from linkwork.convert.robots.sdf import read_sdf
from linkwork.convert.robots.urdf import check_tree, read_urdf
from linkwork.convert.robots.xml_reading import read_xml
from linkwork.machine import Machine, MachineError, load
from linkwork.machine.building.initial_assembly import admitted_velocities, independent
from linkwork.machine.loading import mechanism_of
from linkwork.machine.nearest_name import listed
from linkwork.multibody.functions import mass_matrix
from linkwork.multibody.model import WORLD


@dataclass
class Imported:
    """The text of a machine file, the machine that it makes, and notes for people.

    `source`: the robot as it was read; `robot`: simplified; `changes`: simplifications; `remarks`: values
    that the source lacks or has wrong; `renamed`: names by the source's.
    """

    text: str
    machine: Machine
    robot: RobotModel
    source: RobotModel
    changes: list[str]
    remarks: list[str]
    renamed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ImportOptions:
    """Options of an import.

    `closures`: a sheet; `no_closures`: import the tree alone; `packages`: folders by the names of packages;
    `base`: whether a robot without a joint
    to the world stands or floats (default: URDF stands, others say); `literal`: change nothing; `repair`:
    mend inertias that no body has; `effort`: largest effort of the motors (N m or N), not the source's;
    `seconds`: largest duration of a child process; `seed`: of the search for a pose; `folder`: that of the
    machine file, for the paths of meshes (None: without shapes for drawings).
    """

    closures: Path | None = None
    packages: Mapping[str, Path] = field(default_factory=dict)
    base: Literal["fixed", "floating"] | None = None
    literal: bool = False
    repair: bool = False
    effort: float | None = None
    seconds: float = SECONDS
    seed: int = 0
    folder: Path | None = None
    no_closures: bool = False


def read_robot(path: Path, options: ImportOptions | None = None) -> RobotModel:
    """Read URDF, SDF or MJCF with its closures. Raises ImportProblem."""
    options = options or ImportOptions()
    expanded = _expanded(path, options) if path.suffix == ".xacro" else None
    root = read_xml(path, expanded)  # lines of xacro are those of the expanded text
    packages = PackagePaths(path.parent, options.packages)
    tag = root.tag
    as_tree = options.no_closures
    if tag == "robot":
        robot = read_urdf(root, packages, as_tree=as_tree)
    elif tag == "mujocoinclude":
        text = "the file is a part, which another file includes"
        raise root.problem(text, "import the file whose root element is <mujoco>")
    elif tag == "mujoco":
        robot = read_mjcf(root, packages, options.seconds, as_tree=as_tree)
    elif tag == "sdf":
        robot = read_sdf(root, packages, as_tree=as_tree)
    else:
        text = f"the root element is <{tag}>; known: <robot> (URDF), <sdf> (SDF), <mujoco> (MJCF)"
        raise root.problem(text)
    if as_tree:
        robot.leave_out("closures are not read (--no-closures): loops are open, and no sheet is used")
    else:
        sheet = _sheet(robot, path, options) if tag == "robot" else options.closures
        if sheet is not None:
            add_sheet(robot, sheet)
        robot.closures = robot.closures or closing_frames(robot)
    _place_base(robot, options.base)
    check_tree(robot)
    robot.expanded = expanded or ""
    for joint in robot.joints.values():
        if joint.type not in (*TURNS, "prismatic", "fixed") and joint.name in (robot.motors or ()):
            robot.leave_out(f"the motor of {joint.name}, a {joint.type} joint, is left out")
        if joint.type in ("floating", "planar", "cylindrical"):
            lost = [key for key in ("damping", "friction", "armature", "stiffness") if getattr(joint, key)]
            if lost:
                robot.leave_out(f"{listed(lost)} of {joint.name}, a {joint.type} joint, is left out")
    return robot


def _expanded(path: Path, options: ImportOptions) -> str:
    """Return the XML to which a xacro file expands."""
    if not path.is_file():
        raise ImportProblem(str(path), 0, "cannot be read: no such file")
    folders = {name: str(folder.resolve()) for name, folder in options.packages.items()}
    request = {"file": str(path.resolve()), "packages": folders}
    try:
        text: str = call("xacro_worker:expanded", request, str(path), options.seconds)
    except MissingLibrary as missing:
        wrong, remedy = f"xacro needs {missing}, which is not installed", "pip install 'linkwork[import]'"
        raise ImportProblem(str(path), 0, wrong, remedy) from None
    return text


def _sheet(robot: RobotModel, path: Path, options: ImportOptions) -> Path | None:
    """Return the sheet of a URDF: the given one, or the one beside it that is of this robot."""
    beside = path.with_name("robot.yaml")
    if options.closures is not None or not beside.is_file():
        return options.closures
    if is_of(robot, beside):
        robot.remarks.append(f"closures and motors are those of {beside.name} beside the file")
        return beside
    robot.leave_out(
        f"{beside.name} beside the file does not fit it, and is not used: it has no closures of this robot"
    )
    return None


def _place_base(robot: RobotModel, base: Literal["fixed", "floating"] | None) -> None:
    """Make the robot's base stand or float as asked: of several trees all, without a choice those beside
    the world float.
    """
    roots = robot.roots()
    if len(roots) > 1 and (WORLD in roots or base is not None):
        _hang_on_world(robot, [each for each in roots if each != WORLD], base)
        return
    if base is None or len(roots) != 1:
        return
    (root,) = roots
    if root == WORLD and base == "floating":
        return
    free = [each for each in robot.children(root) if each.type == "floating"]
    if base == "fixed":
        for joint in free:
            joint.type = "fixed"
        return
    if not free:
        links = {WORLD: SourceLink(WORLD, 0)} | robot.links
        robot.links = links
        robot.joints = {"base": SourceJoint("base", "floating", WORLD, root, 0)} | robot.joints


def _hang_on_world(robot: RobotModel, roots: list[str], base: Literal["fixed", "floating"] | None) -> None:
    """Join the roots of trees to the world, free or fixed."""
    robot.links = {WORLD: robot.links.get(WORLD) or SourceLink(WORLD, 0)} | robot.links
    kind: Literal["fixed", "floating"] = base or "floating"
    for root in roots:
        name = f"{root}_{'floats' if kind == 'floating' else 'stands'}"
        robot.joints[name] = SourceJoint(name, kind, WORLD, root, robot.links[root].line)
    robot.tree_from_file = False
    does = "float" if kind == "floating" else "stand"
    robot.remarks.append(f"no joint carries {listed(roots)}: taken to {does} (--base fixed or floating)")


def import_robot(path: Path, options: ImportOptions | None = None) -> Imported:
    """Import a robot.

    Raises ImportProblem where the source cannot be read, and where its loops close in no pose that was tried.
    """
    options = options or ImportOptions()
    source = read_robot(path, options)
    robot = deepcopy(source)
    changes: list[str] = []
    frames: list[FramePoint] = []
    if not options.literal:
        simplifier = LoopSimplifier(robot)
        simplifier.run()
        changes, frames = simplifier.notes, simplifier.frames
    if not any(joint.type != "fixed" for joint in robot.joints.values()):
        text, remedy = "nothing in it moves: no joint is other than fixed", "--base floating lets it float"
        raise ImportProblem(robot.file, 0, text, remedy)
    remarks = examine(robot, repair=options.repair)
    if any(robot.links[name].shapes for name in robot.roots()):
        remarks.append("the ground's shapes for drawings are left out")
    guessed = robot.motors is None
    made = _made(robot, frames, options)
    if guessed:
        robot.motors = _guessed_motors(robot, made)
        remarks.append(f"the source names no motors; taken: {', '.join(robot.motors) or 'none'}")
    if options.effort is not None:
        for name in robot.motors or ():
            robot.joints[name].effort = options.effort
        remarks.append(f"the largest effort of the motors, {options.effort:g} N m or N, is not of the source")
    if guessed or options.effort is not None:
        made = _made(robot, frames, options)
    if made.searched:
        remarks.append(made.searched)
    remarks += _fast_dampers(made.machine)
    remarks = [*robot.remarks, *remarks]
    heading = [f"Imported from {path.name} by linkwork import.", *(f"- {note}" for note in changes + remarks)]
    text = "".join(f"# {line}\n" for line in heading) + made.text
    return Imported(text, made.machine, robot, source, changes, remarks, made.names.changed)


_OPEN = (
    "the loops are open at the zero pose, or beyond limits of joints; the initial pose was found by search"
)
_SINGULAR = "the machine is singular at the zero pose; the initial pose was found by search"


@dataclass(frozen=True)
class _Made:
    """The text of a machine file and its machine; `searched`: why it does not start at zero, or empty."""

    text: str
    machine: Machine
    names: MachineNames
    searched: str


def _made(robot: RobotModel, frames: list[FramePoint], options: ImportOptions) -> _Made:
    """Write a robot and load the result, from a pose found by search if its loops are open at zero.

    A singular zero pose is left, too, unless nothing may change (`literal`), or no regular pose is found.
    Joints that are beyond their limits in all closed poses that are found lose these limits.
    """
    writer = MachineWriter(robot, frames, options.folder)
    nearest = {name: nearest_within(*limits) for name, limits in writer.limits.items()}
    start = {name: value for name, value in nearest.items() if value}
    text = writer.text(start)
    machine, error = _loaded(text)
    searched = _OPEN if machine is None and _is_open(error) else ""
    if machine is not None and machine.assembly.rank < machine.assembly.ordinary_rank and not options.literal:
        searched = _SINGULAR
    if searched:
        given = {writer.names.of("joint", name): value for name, value in robot.start.items()}
        found = closed_pose(mechanism_of(text), writer.limits, given, options.seed)
        if found.values is not None:
            text = writer.text(found.values)
            machine, error = _loaded(text)
        elif machine is not None:
            searched = ""
        else:
            wrong = "the loops could not be closed from random poses"
            remedy = "check the closures, and the limits of joints"
            beyond = [
                each for each in robot.joints.values() if writer.names.of("joint", each.name) in found.outside
            ]
            for joint in beyond:
                reach = f"{joint.lower:.4g} to {joint.upper:.4g} {'rad' if joint.type in TURNS else 'm'}"
                why = f"in {found.starts} starts the loops closed in no pose within {reach}"
                robot.leave_out(f"LIMITS OF {joint.name} ARE LEFT OUT: {why}")
                joint.lower = joint.upper = None
            if beyond:
                return _made(robot, frames, options)
            if found.nearest is not None:
                rows, gap = ", ".join(found.nearest.rows[:4]), found.nearest.residual
                wrong += f": {rows} remain open by {gap:.3g} (typical lengths or rad) or more"
            raise ImportProblem(robot.file, 0, wrong, remedy)
    elif start:
        searched = f"zero is outside the limits of {listed(list(start))}, which start within them"
    if machine is None:
        assert error is not None
        first = error.problems[0]
        message = f"the machine file does not load: {first.key}: {first.message}"
        raise ImportProblem(robot.file, 0, message, first.remedy)
    return _Made(text, machine, writer.names, searched)


def _fast_dampers(machine: Machine) -> list[str]:
    """Return a remark on joints whose dampers act faster than a step of the plant."""
    mechanism, plant = machine.mechanism, machine.plant
    step = plant.period_s / plant.substeps
    damping = {joint.name: joint.viscous for joint in mechanism.joints}
    inertias = np.diag(mass_matrix(mechanism, machine.initial_q))
    fast = [
        name
        for name, inertia in zip(mechanism.joint_names, inertias, strict=True)
        if damping[name.partition(".")[0]] * step > inertia
    ]
    if not fast:
        return []
    remedy = "simulate with --integrator lsoda, or reduce the damping"
    return [f"DAMPING of {listed(fast)} acts faster than a step of {step:g} s, which may diverge: {remedy}"]


def _loaded(text: str) -> tuple[Machine | None, MachineError | None]:
    with TemporaryDirectory(prefix="lw-import-") as folder:
        path = Path(folder) / "machine.yaml"
        path.write_text(text, encoding="utf-8")
        try:
            return load(path), None
        except MachineError as error:
            return None, error


def _is_open(error: MachineError | None) -> bool:
    """Whether only the assembly of the loops failed, or its result is outside the limits of joints."""
    return error is not None and all(
        problem.key.startswith(("constraints", "initial")) or problem.key.endswith(".limits")
        for problem in error.problems
    )


def _guessed_motors(robot: RobotModel, made: _Made) -> list[str]:
    """Return joints that may have motors: with an effort limit, if any have one, and not with 0 in SDF.

    Where there are loops, as many as are independent, those nearest to the ground first.
    """
    led = {each.joint for each in robot.couplings}
    moving = [
        each
        for each in robot.joints.values()
        if each.type in ("revolute", "continuous", "prismatic") and each.name not in led
    ]
    if robot.format == "sdf":  # an effort of 0 says there: not driven
        moving = [each for each in moving if each.effort != 0.0]
    limited = [each for each in moving if each.effort] or moving
    if not robot.closures:
        return [each.name for each in limited]
    by_name = {
        made.names.of("joint", each.name): each.name
        for each in sorted(limited, key=lambda joint: robot.depth(joint.child))
    }
    mechanism = made.machine.mechanism
    ways = admitted_velocities(mechanism, made.machine.initial_q)
    chosen = {by_name[name] for name in independent(mechanism, ways, list(by_name))}
    return [each.name for each in moving if each.name in chosen]
