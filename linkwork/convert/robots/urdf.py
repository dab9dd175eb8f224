"""URDF: links, joints, mimic joints, transmissions, and <loop> elements as of generalized_rbda."""

from __future__ import annotations

from pathlib import Path
from typing import cast, get_args
from xml.etree.ElementTree import Element

import numpy as np

from linkwork.convert.robots.robot_model import (
    ClosureType,
    ImportProblem,
    JointType,
    RobotModel,
    SourceClosure,
    SourceCoupling,
    SourceJoint,
    SourceLink,
)
from linkwork.convert.robots.xml_reading import XmlFile

LARGEST_ROBOT = 1000
"""Number of links."""
_LOOPS: dict[str, ClosureType] = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "spherical": "point",
    "fixed": "weld",
    "universal": "universal",
    "cylindrical": "cylindrical",
    "pin": "pin",
    "distance": "distance",
}


def read_urdf(file: XmlFile) -> RobotModel:
    """Read a robot. Raises ImportProblem with file and line."""
    path = Path(file.path)
    links = [_link(file, element) for element in file.root.findall("link")]
    joints = [_joint(file, element) for element in file.root.findall("joint")]
    mimics = [_mimic(file, element) for element in file.root.findall("joint")]
    if not links:
        raise file.problem(file.root, "the robot has no <link>")
    robot = RobotModel(file.root.get("name") or path.stem, str(path), {}, {})
    for link in links:
        if link.name in robot.links:
            raise ImportProblem(str(path), link.line, f"two links are called {link.name!r}")
        robot.links[link.name] = link
    for joint in joints:
        if joint.name in robot.joints:
            raise ImportProblem(str(path), joint.line, f"two joints are called {joint.name!r}")
        robot.joints[joint.name] = joint
    robot.couplings = [each for each in mimics if each is not None]
    robot.closures = [_loop(file, element) for element in file.root.findall("loop")]
    independent = [
        element.get("name", "")
        for element in file.root.findall("joint")
        if element.get("independent") == "true"
    ]
    driven = [
        joint.get("name", "")
        for transmission in file.root.findall("transmission")
        for joint in transmission.findall("joint")
    ]
    robot.motors = driven or independent or None
    _add_rotors(file, robot)
    check_tree(robot)
    return robot


def _add_rotors(file: XmlFile, robot: RobotModel) -> None:
    """Add the inertia of rotors at joints: drake:rotor_inertia times the square of drake:gear_ratio."""
    for transmission in file.root:
        if not str(transmission.tag).endswith("transmission"):
            continue
        values = {"rotor_inertia": 0.0, "gear_ratio": 1.0}
        for element in transmission.iter():
            key = str(element.tag).rpartition("}")[2]
            if key in values:
                values[key] = file.number(element, "value")
        for joint in transmission.findall("joint"):
            found = robot.joints.get(joint.get("name", ""))
            if found is not None:
                found.armature += values["rotor_inertia"] * values["gear_ratio"] ** 2


def _link(file: XmlFile, element: Element) -> SourceLink:
    link = SourceLink(file.text(element, "name"), file.line(element))
    inertial = element.find("inertial")
    if inertial is None:
        return link
    pose = file.pose(inertial.find("origin"))
    link.mass, link.com = file.number(file.one(inertial, "mass"), "value"), pose.at
    inertia = inertial.find("inertia")
    if inertia is not None:
        xx, xy, xz, yy, yz, zz = (
            file.number(inertia, key, 0.0) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        )
        own = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        link.inertia = pose.rotation @ own @ pose.rotation.T
    if link.mass < 0.0:
        raise file.problem(inertial, f"the mass of {link.name!r} is negative: {link.mass:g} kg")
    return link


def _joint(file: XmlFile, element: Element) -> SourceJoint:
    name, kind = file.text(element, "name"), file.text(element, "type")
    if kind not in get_args(JointType):
        allowed = ", ".join(get_args(JointType))
        raise file.problem(element, f"joint {name!r} has the unknown type {kind!r}; known: {allowed}")
    joint = SourceJoint(
        name,
        cast(JointType, kind),
        file.text(file.one(element, "parent"), "link"),
        file.text(file.one(element, "child"), "link"),
        file.line(element),
        file.pose(element.find("origin")),
    )
    axis = element.find("axis")
    if axis is not None:
        joint.axis = file.numbers(axis, "xyz", 3, "1 0 0")
    if kind in ("revolute", "continuous", "prismatic", "planar") and not np.linalg.norm(joint.axis) > 1e-9:
        raise file.problem(element, f"the axis of joint {name!r} has no direction")
    limit = element.find("limit")
    if limit is not None:
        for key in ("lower", "upper", "effort", "velocity"):
            text = limit.get(key)
            if text is not None:
                setattr(joint, key, file.limit(limit, f"`{key}` of <limit>", text))
    dynamics = element.find("dynamics")
    if dynamics is not None:
        joint.damping, joint.friction = (file.number(dynamics, key, 0.0) for key in ("damping", "friction"))
    return joint


def _mimic(file: XmlFile, element: Element) -> SourceCoupling | None:
    mimic = element.find("mimic")
    if mimic is None:
        return None
    name = file.text(element, "name")
    factor, offset = (
        file.number(mimic, key, default) for key, default in (("multiplier", 1.0), ("offset", 0.0))
    )
    return SourceCoupling(
        f"{name}_mimic", name, file.text(mimic, "joint"), (offset, factor), file.line(mimic)
    )


def _loop(file: XmlFile, element: Element) -> SourceClosure:
    name, kind = element.get("name") or "loop", file.text(element, "type")
    if kind not in _LOOPS:
        raise file.problem(
            element, f"loop {name!r} has the unknown type {kind!r}; known: {', '.join(_LOOPS)}"
        )
    before, after = file.one(element, "predecessor"), file.one(element, "successor")
    axis = element.find("axis")
    closure = SourceClosure(
        name,
        _LOOPS[kind],
        file.text(before, "link"),
        file.pose(before.find("origin")),
        file.text(after, "link"),
        file.pose(after.find("origin")),
        file.line(element),
        np.array([0.0, 0.0, 1.0]) if axis is None else file.numbers(axis, "xyz", 3),
    )
    if kind == "universal":
        closure.b_axis = closure.axis
    if kind == "distance":
        closure.distance = file.number(element, "distance")
    return closure


def check_tree(robot: RobotModel) -> None:
    """Raise ImportProblem where joints name unknown links, share a child or form a ring."""
    if len(robot.links) > LARGEST_ROBOT:
        text = f"the robot has {len(robot.links)} links, more than {LARGEST_ROBOT}"
        raise ImportProblem(robot.file, 0, text)
    carried: dict[str, SourceJoint] = {}
    for joint in robot.joints.values():
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in robot.links:
                text = f"the {role} of joint {joint.name!r} is {name!r}, and there is no such link"
                raise ImportProblem(robot.file, joint.line, text)
        if joint.child in carried:
            first = carried[joint.child].name
            text = f"the joints {first!r} and {joint.name!r} carry the same link {joint.child!r}"
            raise ImportProblem(robot.file, joint.line, text, "close the loop with a closure instead")
        carried[joint.child] = joint
    grounded: set[str] = set()
    for joint in robot.joints.values():
        seen, link = {joint.child}, joint.parent
        while link in carried and link not in grounded:
            if link in seen:
                raise ImportProblem(robot.file, joint.line, f"the joints form a ring through link {link!r}")
            seen.add(link)
            link = carried[link].parent
        grounded |= seen
    for coupling in robot.couplings:
        for coupled in coupling.joints:
            if coupled not in robot.joints:
                text = f"{coupling.name!r} couples the joint {coupled!r}, and there is no such joint"
                raise ImportProblem(robot.file, coupling.line, text)
    for closure in robot.closures:
        for name in (closure.a, closure.b):
            if name not in robot.links:
                text = f"closure {closure.name!r} names the link {name!r}, which does not exist"
                raise ImportProblem(robot.file, closure.line, text)
