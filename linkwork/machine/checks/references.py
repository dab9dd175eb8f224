"""Whether a file's names point at something, its joints form a tree, and its values fit each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from linkwork.machine.building.bound_sections import check_bounds
from linkwork.machine.building.contact_parameters import check_contacts
from linkwork.machine.building.dof_names import (
    balls,
    coordinates,
    degrees_of_freedom,
    initial_keys,
    initial_names,
    joint_limits,
    of_orientation,
)
from linkwork.machine.building.driver_settings import check_driver
from linkwork.machine.building.sensed_forces import check_force_sensors
from linkwork.machine.checks.alias_names import check_aliases
from linkwork.machine.checks.constraint_references import check_constraints
from linkwork.machine.checks.force_element_references import check_force_elements
from linkwork.machine.checks.scene_names import check_scene
from linkwork.machine.checks.signal_names import check_signals
from linkwork.machine.checks.unknown_names import unknown
from linkwork.machine.nearest_name import nearest
from linkwork.machine.problems import Problem
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.tolerances import check_tolerances
from linkwork.machine.units import Quantity, choices
from linkwork.machine.yaml import Document

WORLD = "world"


def check_references(file: MachineFile, document: Document) -> list[Problem]:
    """Return every problem of a file whose sections are right each for itself, in the order of the file."""
    rules = (
        _tree,
        _points,
        check_constraints,
        check_contacts,
        check_force_elements,
        check_force_sensors,
        _motors_and_sensors,
        _orientations,
        _names,
        _initial,
        _settings,
        _driver,
        check_bounds,
        check_signals,
        check_scene,
        check_aliases,
    )
    problems = [problem for rule in rules for problem in rule(file, document)]
    return sorted(problems, key=lambda problem: (problem.line or 0, problem.column or 0))


def _driver(file: MachineFile, document: Document) -> Iterator[Problem]:
    yield from check_driver(file, document, degrees_of_freedom(file))


def _tree(file: MachineFile, document: Document) -> Iterator[Problem]:
    carrier: dict[str, str] = {}
    if WORLD in file.bodies:
        yield document.problem(
            ("bodies", WORLD),
            "`world` is the ground, not a body",
            of_key=True,
            found=WORLD,
            remedy="take another name",
        )
    for name, joint in file.joints.items():
        if joint.parent != WORLD and joint.parent not in file.bodies:
            yield unknown(document, ("joints", name, "parent"), joint.parent, "body", [WORLD, *file.bodies])
        if joint.child not in file.bodies:
            yield unknown(document, ("joints", name, "child"), joint.child, "body", file.bodies)
        elif joint.child in carrier:
            found, allowed = (
                f"{joint.child}, carried by {carrier[joint.child]} too",
                "one joint for each child",
            )
            yield document.problem(
                ("joints", name, "child"),
                "two joints carry the same body",
                found=found,
                allowed=allowed,
                remedy="keep one of them and close the loop under `constraints`",
            )
        carrier.setdefault(joint.child, name)
    misspelt = {nearest(child, file.bodies) for child in carrier if child not in file.bodies}
    for name in file.bodies:
        if name not in carrier and name != WORLD and name not in misspelt:
            remedy = f"add a joint with child: {name}"
            yield document.problem(
                ("bodies", name), "no joint carries this body", of_key=True, found=name, remedy=remedy
            )
    closed: set[str] = set()
    for name, joint in file.joints.items():
        loop = _loop(file, carrier, name)
        if loop and not closed & loop:
            yield document.problem(
                ("joints", name, "parent"),
                "the joints form a loop",
                found=f"{joint.child} is its own ancestor through {joint.parent}",
                allowed="a tree that grows from world",
                remedy="leave one of these joints out and close the loop under `constraints`",
            )
        closed |= loop


def _loop(file: MachineFile, carrier: dict[str, str], name: str) -> set[str]:
    """Return the bodies of the loop that a joint closes; none where it is connected to the world or to no
    body."""
    body, way = file.joints[name].parent, {file.joints[name].child}
    while body not in (WORLD, file.joints[name].child):
        if body not in carrier or body in way:
            return set()
        way.add(body)
        body = file.joints[carrier[body]].parent
    return way if body != WORLD else set()


def _points(file: MachineFile, document: Document) -> Iterator[Problem]:
    for name, point in file.points.items():
        if point.body != WORLD and point.body not in file.bodies:
            yield unknown(document, ("points", name, "body"), point.body, "body", [WORLD, *file.bodies])
    for name, task in file.task.items():
        if task.point() not in file.points:
            yield unknown(document, ("task", name, "coordinate"), task.point(), "point", file.points)


def _motors_and_sensors(file: MachineFile, document: Document) -> Iterator[Problem]:
    moving = degrees_of_freedom(file)
    for section, rows in (("motors", file.motors), ("sensors", file.sensors)):
        for name in rows:
            if name in moving:
                continue
            several = [each for each in moving if each.startswith(f"{name}.")]
            if name in file.joints and several:
                message, found = "this joint has several degrees of freedom", name
                allowed, remedy = ", ".join(several), f"write {several[0]}"
            elif name in file.joints:
                message, found, allowed, remedy = "a fixed joint does not move", name, ", ".join(moving), ""
            else:
                yield unknown(document, (section, name), name, "joint", moving, of_key=True)
                continue
            yield document.problem(
                (section, name), message, of_key=True, found=found, allowed=allowed, remedy=remedy
            )
    for name, motor in file.motors.items():
        for key in ("gear", "rotor_inertia_kg_m2", "viscous_N_m_s", "coulomb_N_m"):
            if "." in name and name in moving and key in motor.model_fields_set:
                message = "a joint with several degrees of freedom has inertia and friction as a whole"
                remedy = "give it to the joint, or model the joint as several joints"
                yield document.problem(("motors", name, key), message, of_key=True, found=key, remedy=remedy)


def _orientations(file: MachineFile, document: Document) -> Iterator[Problem]:
    """An orientation is measured as a whole: its three readings are one rotation vector."""
    for joint in balls(file):
        parts = of_orientation(file, joint)
        there = [name for name in parts if name in file.sensors]
        if there and len(there) < len(parts):
            message = f"the orientation of {joint} is measured as a whole, as a rotation vector"
            remedy = f"measure all three, or make {joint} a compound joint of three rotations"
            yield document.problem(
                ("sensors", there[0]), message, of_key=True, found=", ".join(there),
                allowed=f"{', '.join(parts)}, or none of them", remedy=remedy,
            )  # fmt: skip


def _names(file: MachineFile, document: Document) -> Iterator[Problem]:
    for name in file.task:
        if name in file.joints:
            message, remedy = "a joint has this name already", "take another name for the task coordinate"
            yield document.problem(("task", name), message, of_key=True, found=name, remedy=remedy)


def _initial(file: MachineFile, document: Document) -> Iterator[Problem]:
    known, said = initial_keys(file), dict[tuple[str, bool], str]()
    for key, value in file.initial.items():
        yield from _known_once(file, document, ("initial", key), known, said)
        if key in known:
            yield from _within_limits(file, document, key, known[key], value * known[key].factor)
    for key in file.initial_guess:
        yield from _known_once(file, document, ("initial_guess", key), known, said)
        if key in known and known[key].is_speed:
            remedy = "give speeds in `initial`"
            message = "a guess is a position; speeds cannot be guessed"
            yield document.problem(("initial_guess", key), message, of_key=True, found=key, remedy=remedy)
    if file.initial_guess and not file.constraints:
        message, remedy = (
            "without constraints there is no search for a pose",
            "give these values in `initial`",
        )
        yield document.problem(("initial_guess",), message, of_key=True, remedy=remedy)


def _known_once(
    file: MachineFile,
    document: Document,
    at: tuple[str, str],
    known: Mapping[str, Quantity],
    said: dict[tuple[str, bool], str],
) -> Iterator[Problem]:
    """Return a problem where a key names no position or speed, or one that is given already."""
    key = at[1]
    quantity = known.get(key)
    if quantity is None:
        allowed, remedy = choices(key, initial_names(file), speeds=at[0] == "initial")
        message = "no joint has this name and unit"
        yield document.problem(at, message, of_key=True, found=key, allowed=allowed, remedy=remedy)
        return
    other = said.setdefault((quantity.name, quantity.is_speed), key)
    if other != key or (at[0] == "initial_guess" and key in file.initial):
        message, remedy = f"{other} and {key} give the same value twice", f"keep {other} only"
        yield document.problem(at, message, of_key=True, found=key, remedy=remedy)


def _within_limits(
    file: MachineFile, document: Document, key: str, quantity: Quantity, value: float
) -> Iterator[Problem]:
    own = joint_limits(file, quantity.name)
    if own is None:
        return
    low, high = own.position()
    if quantity.is_speed:
        low, high = -own.rates()[0], own.rates()[0]
    if not low <= value <= high:
        f = quantity.factor
        found, allowed = f"{file.initial[key]:g}", f"{low / f:g} to {high / f:g}"
        message = "the machine would start outside the limits of the joint"
        yield document.problem(("initial", key), message, found=found, allowed=allowed)


def _settings(file: MachineFile, document: Document) -> Iterator[Problem]:
    period, plant_period = file.controller.period_s, file.plant.period_s
    if period is not None and period != plant_period:
        allowed, remedy = f"the plant's, {plant_period:g}", "leave it out of one of the two sections"
        message = "plant and controller must have the same period"
        yield document.problem(
            ("controller", "period_s"), message, found=f"{period:g}", allowed=allowed, remedy=remedy
        )
    moving, known = degrees_of_freedom(file), list(coordinates(file))
    goals = file.controller.goal_coordinates
    at = ("controller", "goal_coordinates")
    for index, name in enumerate(goals or ()):
        if name not in known:
            yield unknown(document, (*at, index), name, "coordinate", known)
        elif goals is not None and name in goals[:index]:
            yield document.problem(
                (*at, index), "this coordinate is given twice", found=name, remedy="keep one"
            )
    if goals is not None and not file.constraints and len(goals) != len(moving):
        found, allowed = (
            f"{len(goals)} coordinates",
            f"{len(moving)}, one for each degree of freedom of the machine",
        )
        yield document.problem(
            at, "these coordinates do not determine the motion", found=found, allowed=allowed
        )
    for name in file.controller.tolerances.coordinates:
        if name not in known:
            place = ("controller", "tolerances", "coordinates", name)
            yield unknown(document, place, name, "coordinate", known, of_key=True)
    yield from check_tolerances(file.controller.tolerances, known, document)
