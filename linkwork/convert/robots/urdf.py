"""URDF: links, joints, mimic joints, transmissions, <loop> and <coupling> as of URDF+, <gazebo>, and Drake's.

<loop_joint> is that of Isaac Sim and of old versions of Drake. Joints in <gazebo> are those of SDF.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import cast, get_args
from xml.etree.ElementTree import Element

import numpy as np

from linkwork.convert.robots.link_shapes import LinkShapes, PackagePaths
from linkwork.convert.robots.robot_model import (
    ClosureType,
    FramePose,
    ImportProblem,
    JointType,
    RobotModel,
    SourceClosure,
    SourceCoupling,
    SourceJoint,
    SourceLink,
)
from linkwork.convert.robots.sdf import add_closing_joints
from linkwork.convert.robots.source_elements import LINK_EFFECTS, DrakeElements, ElementTable, drake_kind
from linkwork.convert.robots.xml_reading import XmlFile
from linkwork.machine.problems import counted
from linkwork.multibody.model import WORLD

_DRAKE_JOINTS = {"ball": "spherical"}
_JOINT = "origin parent child axis limit dynamics mimic"
_TABLE = ElementTable(
    {
        "robot": "link joint loop loop_joint coupling transmission ros2_control gazebo drake:joint "
        "drake:ball_constraint drake:linear_spring_damper drake:tendon_constraint",
        "link": "inertial visual collision",
        "inertial": "origin mass inertia",
        "joint": _JOINT,
        "drake:joint": f"{_JOINT} drake:screw_thread_pitch",
        "limit": "",
        "gazebo": "joint gravity turnGravityOff springStiffness springReference",
    },
    (
        "material sensor safety_controller calibration contact self_collision_checking frame fixed_frame "
        "drake:acceleration drake:collision_filter_group drake:proximity_properties "
        "visual collision surface mu mu1 mu2 kp kd fdir1 minDepth maxContacts maxVel max_contacts "
        "selfCollide self_collide must_be_base_link laserRetro light audio_source allow_auto_disable "
        "implicitSpringDamper provideFeedback preserveFixedJoint disableFixedJointLumping physics "
        "cfmDamping fudgeFactor erp cfm stopErp stopCfm stopKp stopKd stop_erp stop_cfm"
    ),
    LINK_EFFECTS
    | {
        "drake:controller_gains": "a controller of the motor holds a set-point",
        "force_element": "it exerts a force",
        "mujoco": "options of MuJoCo change the model",
        "gazebo/inertial": "it replaces mass and inertia",
        "gazebo/axis": "it changes limits, damping or coupling of the joint",
        "gazebo/mimic": "it couples joints",
        "gazebo/initialJointPosition": "the joint starts elsewhere",
        "gazebo/link": "it adds a body",
        "gazebo/model": "it adds bodies",
        "gazebo/include": "it adds bodies",
    },
)
LARGEST_ROBOT = 1000
"""Number of links."""
_LOOPS: dict[str, ClosureType] = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "spherical": "point",
    "ball": "point",
    "3d": "point",
    "fixed": "weld",
    "6d": "weld",
    "universal": "universal",
    "cylindrical": "cylindrical",
    "pin": "pin",
    "distance": "distance",
}


def read_urdf(file: XmlFile, packages: PackagePaths, *, as_tree: bool = False) -> RobotModel:
    """Read a robot, without closures with `as_tree`. Raises ImportProblem with file and line."""
    path = Path(file.path)
    links = [_link(file, element) for element in file.root.findall("link")]
    remarks = _add_shapes(file, packages, links)
    elements = [each for each in file.root if each.tag == "joint" or drake_kind(each) == "joint"]
    joints = [_joint(file, element) for element in elements]
    mimics = [_mimic(file, element) for element in elements]
    if not links:
        raise file.problem(file.root, "the robot has no <link>")
    name = file.root.get("name") or path.stem
    robot = RobotModel(name, str(path), {}, {}, remarks=remarks, as_tree=as_tree)
    for link in links:
        if link.name in robot.links:
            raise ImportProblem(str(path), link.line, f"two links are called {link.name!r}")
        robot.links[link.name] = link
    for joint in joints:
        if joint.name in robot.joints:
            raise ImportProblem(str(path), joint.line, f"two joints are called {joint.name!r}")
        robot.joints[joint.name] = joint
    robot.couplings = [each for each in mimics if each is not None and _couples(robot, each)]
    if not as_tree:
        loops = [each for each in file.root if each.tag in ("loop", "loop_joint")]
        robot.closures = [_loop(file, element) for element in loops]
    _add_controls(file, robot)
    robot.motors = _driven(file) or _independent(elements) or None
    _add_rotors(file, robot)
    _add_world(robot)
    drake = DrakeElements(robot, file, lambda name, _: (name, FramePose()))
    for element in file.root:
        drake.add(element)
    check_tree(robot)
    for element in file.root.findall("coupling"):
        robot.couplings.append(_coupling(file, robot, element))
    if not as_tree:
        add_closing_joints(robot, file, packages)
    _add_gazebo(file, robot)
    _TABLE.check(robot, file, file.root)
    shapes = len(file.root.findall("link/collision"))
    if shapes:
        robot.remarks.append(f"contacts are not modelled: {counted(shapes, 'collision shape')}")
    return robot


def _add_controls(file: XmlFile, robot: RobotModel) -> None:
    """Add couplings of simulated joints in ros2_control; leave out transmissions that couple joints."""
    for joint in file.root.findall("ros2_control/joint"):
        given = {each.get("name", ""): (each.text or "").strip() for each in joint.findall("param")}
        name, other = joint.get("name", ""), given.get("mimic")
        if other and not robot.coupled(name):
            factor, offset = (
                float(file.parsed(joint, f"param {key!r}", given.get(key, default), 1)[0])
                for key, default in (("multiplier", "1"), ("offset", "0"))
            )
            rule = (offset, factor)
            robot.couplings.append(SourceCoupling(f"{name}_mimic", name, other, rule, file.line(joint)))
    for each in file.root.iter("transmission"):
        if len(each.findall("joint")) > 1:
            name = each.get("name", "")
            robot.leave_out(f"the transmission {name} couples joints, which get a motor each")


def _add_gazebo(file: XmlFile, robot: RobotModel) -> None:
    """Add springs of joints, and take gravity from links, as <gazebo reference="…"> has them."""
    weightless: dict[str, float] = {}
    for element in file.root.findall("gazebo"):
        name = element.get("reference", "")
        for tag, off in (("gravity", ("0", "false")), ("turnGravityOff", ("1", "true"))):
            given = (element.findtext(tag) or "").strip().lower()
            if given and name in robot.links:
                weightless[name] = float(given in off)
        for tag, key in (("springStiffness", "stiffness"), ("springReference", "rest")):
            value = element.find(tag)
            if value is None or name not in robot.joints:
                continue
            number = float(file.parsed(value, f"<{tag}>", value.text or "", 1)[0])
            if robot.joints[name].type in ("revolute", "continuous", "prismatic"):
                setattr(robot.joints[name], key, number)
            elif number:
                robot.leave_out(f"<{tag}> of {name}, a {robot.joints[name].type} joint, is left out")
    if any(weightless.values()):
        robot.lessen_gravity(weightless)


def _add_world(robot: RobotModel) -> None:
    """Add the ground that joints name as their parent `world` without declaring it, as Drake's files do."""
    joints = robot.joints.values()
    if WORLD not in robot.links and any(each.parent == WORLD for each in joints):
        robot.links = {WORLD: SourceLink(WORLD, 0)} | robot.links
        robot.tree_from_file = False


def _driven(file: XmlFile) -> list[str]:
    """Return joints with transmissions, or with command interfaces of ros2_control."""
    found = [
        joint.get("name", "")
        for transmission in file.root.findall("transmission")
        for joint in transmission.findall("joint")
    ]
    commanded = [
        joint.get("name", "")
        for control in file.root.findall("ros2_control")
        for joint in control.findall("joint")
        if joint.find("command_interface") is not None
    ]
    return list(dict.fromkeys(found or commanded))


def _independent(joints: list[Element]) -> list[str]:
    """Return the joints that are not said to be dependent, where a file says so of any joint (URDF+)."""
    if all(each.get("independent") is None for each in joints):
        return []
    moving = [each for each in joints if each.get("type") in ("revolute", "continuous", "prismatic")]
    return [each.get("name", "") for each in moving if each.get("independent", "true") == "true"]


def _coupling(file: XmlFile, robot: RobotModel, element: Element) -> SourceCoupling:
    """Read a coupling of URDF+: ratio × Σ q to the predecessor = Σ q to the successor.

    The sums are of the joints from the nearest link that carries both.
    """
    name = element.get("name") or "coupling"
    ratio_given = element.find("ratio")
    ratio = 1.0 if ratio_given is None else file.number(ratio_given, "value")
    chains: list[list[SourceJoint]] = []
    for tag in ("predecessor", "successor"):
        end = file.one(element, tag)
        link = file.text(end, "link")
        if link not in robot.links:
            raise file.problem(end, f"coupling {name!r} names the link {link!r}, which does not exist")
        chain: list[SourceJoint] = []
        while (joint := robot.carrier(link)) is not None:
            chain.insert(0, joint)
            link = joint.parent
        chains.append(chain)
    before, after = chains
    while before and after and before[0] is after[0]:
        before, after = before[1:], after[1:]
    factors: dict[str, float] = {}
    for chain, factor in ((after, 1.0), (before, -ratio)):
        for joint in reversed(chain):
            if joint.type not in ("revolute", "continuous", "prismatic", "fixed"):
                text = f"coupling {name!r} passes the joint {joint.name!r}, which has several coordinates"
                raise file.problem(element, text)
            if joint.type != "fixed" and factor:
                factors[joint.name] = factor
    if not factors:
        raise file.problem(element, f"coupling {name!r} couples no joints")
    return SourceCoupling.of_sum(name, factors, 0.0, file.line(element))


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


def _add_shapes(file: XmlFile, packages: PackagePaths, links: list[SourceLink]) -> list[str]:
    """Add what shows the links; return remarks."""
    shapes = LinkShapes(packages)
    materials = {each.get("name"): each for each in file.root.findall("material")}
    for link, element in zip(links, file.root.findall("link"), strict=True):
        for visual in element.findall("visual"):
            with shapes.without_wrong():
                _add_shape(file, shapes, link, visual, materials)
    return shapes.remarks()


def _add_shape(
    file: XmlFile, shapes: LinkShapes, link: SourceLink, visual: Element, materials: dict[str | None, Element]
) -> None:
    geometry, material = visual.find("geometry"), visual.find("material")
    if geometry is None or not len(geometry):
        return
    shape, pose, rgba = geometry[0], file.pose(visual.find("origin")), None
    if material is not None:
        rgba = _rgba(file, material) or _rgba(file, materials.get(material.get("name")))
    if shape.tag == "mesh":
        scale = file.numbers(shape, "scale", 3, "1 1 1")
        shapes.add_mesh(link, file.text(shape, "filename"), scale.tolist(), pose, rgba)
        return
    sizes: list[float] = []
    if shape.tag == "box":
        sizes = file.numbers(shape, "size", 3).tolist()
    elif shape.tag in ("cylinder", "capsule"):
        sizes = [file.number(shape, key) for key in ("radius", "length")]
    elif shape.tag == "sphere":
        sizes = [file.number(shape, "radius")]
    shapes.add(link, str(shape.tag).rpartition("}")[2], sizes, pose, rgba)


def _rgba(file: XmlFile, material: Element | None) -> list[float] | None:
    color = None if material is None else material.find("color")
    return None if color is None else list(file.numbers(color, "rgba", 4, "0.6 0.6 0.6 1").tolist())


def _joint(file: XmlFile, element: Element) -> SourceJoint:
    """Read a joint of URDF, or one with the further types of Drake's."""
    name, kind = file.text(element, "name"), file.text(element, "type")
    kind = _DRAKE_JOINTS.get(kind, kind) if drake_kind(element) else kind
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
    if drake_kind(element) and kind == "universal":  # the axes are x of the parent, y of the child
        joint.axis, joint.second_axis = np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])
    if drake_kind(element) and kind == "screw":
        pitch = next((each for each in element if drake_kind(each) == "screw_thread_pitch"), None)
        if pitch is None:
            raise file.problem(element, f"the screw {name!r} has no <drake:screw_thread_pitch>")
        joint.pitch = file.number(pitch, "value") / math.tau
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


def _couples(robot: RobotModel, mimic: SourceCoupling) -> bool:
    """Whether a mimic joint moves; one that follows a fixed joint stays at its offset."""
    other = robot.joints.get(mimic.other or "")
    if other is not None and other.type == "fixed":
        mimic.other, mimic.coefficients = None, mimic.coefficients[:1]
    return robot.joints[mimic.joint].type != "fixed"


def _loop(file: XmlFile, element: Element) -> SourceClosure:
    name, kind = element.get("name") or "loop", file.text(element, "type")
    if kind.lower() not in _LOOPS:
        text = f"loop {name!r} has the unknown type {kind!r}; known: {', '.join(_LOOPS)}"
        raise file.problem(element, text, "--no-closures imports the tree alone")
    ends: list[tuple[str, FramePose]] = []
    for tags in (("predecessor", "link1", "parent"), ("successor", "link2", "child")):
        end = next((each for each in element if each.tag in tags), None)
        if end is None:
            raise file.problem(element, f"loop {name!r} has no <{tags[0]}>, <{tags[1]}> or <{tags[2]}>")
        origin = end.find("origin")
        ends.append((file.text(end, "link"), file.pose(end if origin is None else origin)))
    axis = element.find("axis")
    closure = SourceClosure(
        name,
        _LOOPS[kind.lower()],
        *ends[0],
        *ends[1],
        file.line(element),
        np.array([1.0, 0.0, 0.0]) if axis is None else file.numbers(axis, "xyz", 3, "1 0 0"),
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
    ends = [(f"closure {each.name!r}", each.line, each.a, each.b) for each in robot.closures]
    ends += [(f"spring {each.name!r}", each.line, each.a, each.b) for each in robot.springs]
    for title, line, *links in ends:
        for name in links:
            if name not in robot.links:
                text = f"{title} names the link {name!r}, which does not exist"
                remedy = "--no-closures imports the tree alone" if title.startswith("closure") else ""
                raise ImportProblem(robot.file, line, text, remedy)
