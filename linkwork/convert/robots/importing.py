"""`linkwork import`: from a robot's description to a machine file that loads, with changes and remarks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import numpy as np

from linkwork.arrays import Floats
from linkwork.convert.robots.closure_sheets import add_sheet, closing_frames
from linkwork.convert.robots.examination import examine
from linkwork.convert.robots.limited_child import SECONDS, MissingLibrary, call
from linkwork.convert.robots.loop_simplification import FramePoint, LoopSimplifier
from linkwork.convert.robots.machine_writing import MachineWriter
from linkwork.convert.robots.mjcf import read_mjcf
from linkwork.convert.robots.package_paths import PackagePaths
from linkwork.convert.robots.robot_model import ImportProblem, RobotModel, SourceJoint, SourceLink
from linkwork.convert.robots.sdf import read_sdf
from linkwork.convert.robots.urdf import check_tree, read_urdf
from linkwork.convert.robots.xml_reading import XmlFile
from linkwork.machine import Machine, MachineError, load
from linkwork.machine.building.kept_values import values_of
from linkwork.machine.loading import mechanism_of
from linkwork.multibody.formulations.assembly import AssemblyError, assemble_workspace
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import WORLD
from linkwork.multibody.tree.rotations import move_by

STARTS, ENOUGH = 1000, 5
"""Random poses from which the loops are tried to close, and closed ones among which the nearest is taken."""


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

    `closures`: a sheet; `packages`: folders by the names of packages; `base`: whether a robot without a joint
    to the world stands or floats (default: URDF stands, others say); `literal`: change nothing; `repair`:
    mend inertias that no body has; `seconds`: largest duration of a child process; `seed`: of the search for
    a pose.
    """

    closures: Path | None = None
    packages: Mapping[str, Path] = field(default_factory=dict)
    base: Literal["fixed", "floating"] | None = None
    literal: bool = False
    repair: bool = False
    seconds: float = SECONDS
    seed: int = 0


def read_robot(path: Path, options: ImportOptions | None = None) -> RobotModel:
    """Read URDF, SDF or MJCF with its closures. Raises ImportProblem."""
    options = options or ImportOptions()
    file = _expanded(path, options) if path.suffix == ".xacro" else XmlFile(path)
    packages = PackagePaths(path.parent, options.packages)
    tag = file.root.tag
    if tag == "robot":
        robot = read_urdf(file)
    elif tag in ("mujoco", "mujocoinclude"):
        robot = read_mjcf(file, packages, options.seconds)
    elif tag == "sdf":
        robot = read_sdf(file, packages)
    else:
        text = f"the root element is <{tag}>; known: <robot> (URDF), <sdf> (SDF), <mujoco> (MJCF)"
        raise file.problem(file.root, text)
    beside = path.with_name("robot.yaml")
    if options.closures is not None:
        add_sheet(robot, options.closures)
    elif tag == "robot" and beside.exists():
        robot = _with_sheet_beside(robot, beside)
    if not robot.closures:
        robot.closures = closing_frames(robot)
    _place_base(robot, options.base)
    check_tree(robot)
    if path.suffix == ".xacro":
        robot.tree_from_file = False
    return robot


def _expanded(path: Path, options: ImportOptions) -> XmlFile:
    """Return what a xacro file expands to; lines are those of the expanded text."""
    if not path.is_file():
        raise ImportProblem(str(path), 0, "cannot be read: no such file")
    folders = {name: str(folder.resolve()) for name, folder in options.packages.items()}
    request = {"file": str(path.resolve()), "packages": folders}
    try:
        text = call("xacro_worker:expanded", request, str(path), options.seconds)
    except MissingLibrary as missing:
        wrong, remedy = f"xacro needs {missing}, which is not installed", "pip install 'linkwork[import]'"
        raise ImportProblem(str(path), 0, wrong, remedy) from None
    return XmlFile(path, text)


def _with_sheet_beside(robot: RobotModel, sheet: Path) -> RobotModel:
    """Return the robot with the sheet that lies beside it, if its names are those of this robot."""
    tried = deepcopy(robot)
    try:
        add_sheet(tried, sheet)
    except ImportProblem as problem:
        place = f"line {problem.line}: " if problem.line else ""
        robot.remarks.append(
            f"{sheet.name} beside the file does not fit it, and is not used: {place}{problem.message}"
        )
        return robot
    tried.remarks.append(f"closures and motors are those of {sheet.name} beside the file")
    return tried


def _place_base(robot: RobotModel, base: Literal["fixed", "floating"] | None) -> None:
    """Make the robot's base stand or float as asked."""
    roots = robot.roots()
    if base is None or len(roots) != 1:
        return
    (root,) = roots
    free = [each for each in robot.children(root) if each.type == "floating"]
    if base == "fixed":
        for joint in free:
            joint.type = "fixed"
        return
    if not free:
        links = {WORLD: SourceLink(WORLD, 0)} | robot.links
        robot.links = links
        robot.joints = {"base": SourceJoint("base", "floating", WORLD, root, 0)} | robot.joints


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
    remarks = [*robot.remarks, *examine(robot, repair=options.repair)]
    if robot.motors is None:
        robot.motors = _guessed_motors(robot)
        remarks.append(f"the source names no motors; taken: {', '.join(robot.motors) or 'none'}")
    heading = [
        f"Imported from {path.name} by linkwork import.",
        *(f"- {note}" for note in [*changes, *remarks]),
    ]
    writer = MachineWriter(robot, frames)
    text = writer.text(heading)
    machine, error = _loaded(text)
    if machine is None and error is not None and _is_open(error):
        start = {writer.names.of("joint", name): value for name, value in robot.start.items()}
        rng = np.random.default_rng(options.seed)
        pose = _found_pose(mechanism_of(text), writer.limits, start, rng)
        if pose is None:
            where = f"the loops could not be closed from {STARTS} poses"
            raise ImportProblem(str(path), 0, where, "check the closures")
        remarks.append("the loops are open at the zero pose; the initial pose was found by search")
        text = writer.text(heading, pose)
        machine, error = _loaded(text)
    if machine is None:
        assert error is not None
        first = error.problems[0]
        message = f"the machine file does not load: {first.key}: {first.message}"
        raise ImportProblem(str(path), 0, message, first.remedy)
    return Imported(text, machine, robot, source, changes, remarks, writer.names.changed)


def _loaded(text: str) -> tuple[Machine | None, MachineError | None]:
    with TemporaryDirectory(prefix="lw-import-") as folder:
        path = Path(folder) / "machine.yaml"
        path.write_text(text, encoding="utf-8")
        try:
            return load(path), None
        except MachineError as error:
            return None, error


def _is_open(error: MachineError | None) -> bool:
    """Whether only the assembly of the loops failed."""
    return error is not None and all(
        problem.key.startswith(("constraints", "initial")) for problem in error.problems
    )


def _found_pose(
    mechanism: Mechanism,
    limits: Mapping[str, tuple[float, float]],
    start: Mapping[str, float],
    rng: np.random.Generator,
) -> dict[str, float] | None:
    """Return the values of a pose that closes the loops, near zero if possible (`kept_values.values_of`).

    start: values (rad, m) of joints at which the search begins.
    """
    angles, names = np.array(mechanism.joint_is_angle), mechanism.joint_names
    reach = np.array([limits.get(name, (-np.inf, np.inf)) for name in names])
    first = np.array([start.get(name, 0.0) for name in names])
    best: Floats | None = None
    closed = 0
    for trial in range(STARTS):
        if closed == ENOUGH:
            break
        work = mechanism.workspace()
        work.q[: mechanism.nv] = first
        way = rng.uniform(-1.0, 1.0, mechanism.nv) * np.where(angles, math.pi, 0.2) * min(1.0, 0.1 * trial)
        move_by(work.topology, work.q, way, 1.0)
        try:
            found = assemble_workspace(mechanism, work)
        except AssemblyError:
            continue
        own = found.q[: mechanism.nv]
        if np.any((own < reach[:, 0]) | (own > reach[:, 1])):
            continue
        closed += 1
        if trial == 0 and start:
            return values_of(mechanism, found.q)
        if best is None or _far(found.q, first) < _far(best, first):
            best = found.q
    return None if best is None else values_of(mechanism, best)


def _far(q: Floats, start: Floats) -> float:
    return float(np.abs(q[: len(start)] - start).max())


def _guessed_motors(robot: RobotModel) -> list[str]:
    """Joints with an effort limit, where there are no loops all of them."""
    moving = [each for each in robot.joints.values() if each.type in ("revolute", "continuous", "prismatic")]
    led = {each.joint for each in robot.couplings}
    free = [each for each in moving if each.name not in led]
    limited = [each.name for each in free if each.effort]
    return (
        limited
        if limited and not robot.closures
        else ([] if robot.closures else [each.name for each in free])
    )
