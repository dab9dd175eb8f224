"""Whether a file's names point at something, its joints form a tree, and its values fit each other."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from linkwork.machine.building.contact_parameters import check_contacts
from linkwork.machine.building.dof_names import (
    balls,
    coordinates,
    coordinates_of_force,
    degrees_of_freedom,
    initial_keys,
    joint_limits,
    of_orientation,
    owned,
)
from linkwork.machine.building.sensed_forces import check_force_sensors
from linkwork.machine.checks.alias_names import check_aliases
from linkwork.machine.checks.constraint_references import WORLD, check_constraints, check_coordinate
from linkwork.machine.checks.setting_checks import check_bounds, check_driver, check_settings
from linkwork.machine.checks.signal_names import check_signals, condition_problems
from linkwork.machine.checks.unknown_names import unknown
from linkwork.machine.nearest_name import nearest
from linkwork.machine.problems import Problem
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.force_elements import AppliedForceSpec, SpringSpec
from linkwork.machine.sections.formulas import unreadable, within
from linkwork.machine.sections.quantity import given_keys, keys_named, keys_of
from linkwork.machine.units import UnitKey, choices
from linkwork.machine.yaml_document import Document
from linkwork.multibody.expressions import ExpressionError
from linkwork.multibody.expressions.conditions import parse_named

_SHARED = ("rotor_inertia", "viscous", "coulomb")
"""Quantities of motors that a joint with several degrees of freedom has as a whole."""


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
        check_settings,
        check_driver,
        check_bounds,
        check_signals,
        check_scene,
        check_aliases,
    )
    problems = [problem for rule in rules for problem in rule(file, document)]
    return sorted(problems, key=lambda problem: (problem.line or 0, problem.column or 0))


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
    yield from _loops(file, document, carrier)


def _loops(file: MachineFile, document: Document, carrier: Mapping[str, str]) -> Iterator[Problem]:
    """Report each loop of joints once, at its first joint in the file. `carrier`: by body, its joint."""
    settled: set[str] = set()  # bodies that lead to the world, to no body, or to a loop that was reported
    for name, joint in file.joints.items():
        body, way = joint.parent, [joint.child]
        passed = set(way)
        while body in carrier and body not in settled and body not in passed:
            way.append(body)
            passed.add(body)
            body = file.joints[carrier[body]].parent
        if body == joint.child:
            yield document.problem(
                ("joints", name, "parent"),
                "the joints form a loop",
                found=f"{joint.child} is its own ancestor through {joint.parent}",
                allowed="a tree that grows from world",
                remedy="leave one of these joints out and close the loop under `constraints`",
            )
        elif body in passed:
            way = way[: way.index(body)]  # which lead to a loop of later joints
        settled.update(way)


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
        friction = [key for part in _SHARED for key in keys_named(type(motor), part)]
        for key in ("gear", *friction):
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
    known: Mapping[str, UnitKey],
    said: dict[tuple[str, bool], str],
) -> Iterator[Problem]:
    """Return a problem where a key names no position or speed, or one that is given already."""
    key = at[1]
    quantity = known.get(key)
    if quantity is None:
        fitting = {text: each for text, each in known.items() if at[0] == "initial" or not each.is_speed}
        allowed, remedy = choices(key, fitting)
        message = "no joint has this name and unit"
        yield document.problem(at, message, of_key=True, found=key, allowed=allowed, remedy=remedy)
        return
    other = said.setdefault((quantity.name, quantity.is_speed), key)
    if other != key or (at[0] == "initial_guess" and key in file.initial):
        message, remedy = f"{other} and {key} give the same value twice", f"keep {other} only"
        yield document.problem(at, message, of_key=True, found=key, remedy=remedy)


def _within_limits(
    file: MachineFile, document: Document, key: str, quantity: UnitKey, value: float
) -> Iterator[Problem]:
    own = joint_limits(file, quantity.name)
    if own is None:
        return
    low, high = own.position
    if quantity.is_speed:
        low, high = -own.velocity, own.velocity
    if not low <= value <= high:
        f = quantity.factor
        found, allowed = f"{file.initial[key]:g}", f"{low / f:g} to {high / f:g}"
        message = "the machine would start outside the limits of the joint"
        yield document.problem(("initial", key), message, found=found, allowed=allowed)


def check_scene(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Yield the problems of names, grippers and moving planes."""
    if file.scene is None:
        return
    taken = dict.fromkeys(file.points, "a point") | dict.fromkeys(file.contacts, "a contact")
    taken |= dict.fromkeys(file.joints, "a joint") | dict.fromkeys(coordinates(file), "a coordinate")
    taken |= dict.fromkeys(file.signals, "a signal")
    planes = file.scene.planes
    moving = {name for name, plane in planes.items() if plane.speed_m_s or plane.turn_rad_s}
    for section in ("parts", "grippers", "feeders", "beams", "planes"):
        for name in getattr(file.scene, section):
            if section == "planes" and name not in moving:
                continue  # nothing names it in an expression
            if name in taken:
                text = f"{taken[name]} has this name"
                place = ("scene", section, name)
                yield document.problem(place, text, of_key=True, found=name, remedy="take another name")
            taken[name] = f"one of the {section}"
    used: dict[str, str] = {}
    for name, gripper in file.scene.grippers.items():
        place = ("scene", "grippers", name)
        if gripper.point not in file.points:
            yield unknown(document, (*place, "point"), gripper.point, "point", file.points)
        elif file.points[gripper.point].body == "world":
            text = "this point is fixed in the world"
            remedy = "name a point of a moving body"
            yield document.problem((*place, "point"), text, found=gripper.point, remedy=remedy)
        elif gripper.point in used:
            text = f"{used[gripper.point]} is at this point"
            remedy = "give each gripper its own point"
            yield document.problem((*place, "point"), text, found=gripper.point, remedy=remedy)
        used[gripper.point] = name
        yield from condition_problems(file, document, (*place, "closed_when"), gripper.closed_when)
    for name in moving:
        key = "turn_rad_s" if planes[name].turn_rad_s else "speed_m_s"
        yield from _speed_problems(file, document, ("scene", "planes", name, key))


def _speed_problems(
    file: MachineFile, document: Document, path: tuple[str, str, str, str]
) -> Iterator[Problem]:
    """Yield the problems of the expression of a plane's speed."""
    assert file.scene is not None
    text, known = getattr(file.scene.planes[path[2]], path[3]), [*file.signals, "time_s"]
    try:
        names = parse_named(text).names
    except ExpressionError as error:
        yield unreadable(document, path, error)
        return
    for name, at in names.items():
        if name not in known:
            yield within(document, path, unknown(document, path, name, "signal", known), at)


def check_force_elements(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Return the problems of the sections `springs` and `forces`."""
    for name, spring in file.springs.items():
        yield from _spring(file, document, ("springs", name), spring)
    for name, force in file.forces.items():
        yield from _force(file, document, ("forces", name), force)


def _spring(
    file: MachineFile, document: Document, here: tuple[str, str], spring: SpringSpec
) -> Iterator[Problem]:
    if spring.joint is not None:
        angles = owned(file)
        if spring.joint not in angles:
            yield unknown(document, (*here, "joint"), spring.joint, "joint with a coordinate", angles)
            return
        is_angle = angles[spring.joint]
        misplaced = given_keys(spring, not is_angle)
        if misplaced:
            message = f"{spring.joint} is {'an angle' if is_angle else 'a length'}"
            allowed = ", ".join(keys_of(SpringSpec, is_angle))
            yield document.problem(
                (*here, misplaced[0]), message, of_key=True, found=misplaced[0], allowed=allowed
            )
    for index, point in enumerate(spring.between or ()):
        if point not in file.points:
            yield unknown(document, (*here, "between", index), point, "point", file.points)
    ends = [file.points[point].body for point in spring.between or () if point in file.points]
    if len(ends) == 2 and ends[0] == ends[1]:
        message, remedy = "both points are on the same body", "name a point of another body"
        yield document.problem((*here, "between", 1), message, found=ends[1], remedy=remedy)


def _force(
    file: MachineFile, document: Document, here: tuple[str, str], force: AppliedForceSpec
) -> Iterator[Problem]:
    if force.joint is not None:
        angles = degrees_of_freedom(file)
        if force.joint not in angles:
            yield unknown(document, (*here, "joint"), force.joint, "joint", angles)
        else:
            needed = "torque_N_m" if angles[force.joint] else "force_N"
            if force.quantity != needed:
                message = f"{force.joint} is {'an angle' if angles[force.joint] else 'a length'}"
                yield document.problem(
                    (*here, force.quantity), message, of_key=True, found=force.quantity, allowed=needed
                )
    if force.point is not None and force.point not in file.points:
        yield unknown(document, (*here, "point"), force.point, "point", file.points)
    elif force.point is not None and file.points[force.point].body == WORLD:
        message, remedy = "this point is fixed in the world", "name a point of a moving body"
        yield document.problem((*here, "point"), message, found=force.point, remedy=remedy)
    if force.body is not None and force.body not in file.bodies:
        yield unknown(document, (*here, "body"), force.body, "body", file.bodies)
    place = (*here, force.quantity)
    for name, at in coordinates_of_force(force).items():
        for problem in check_coordinate(file, document, place, name, of_key=False):
            known = replace(problem, allowed=f"{problem.allowed}; t, pi, deg")
            yield within(document, place, known, at)
