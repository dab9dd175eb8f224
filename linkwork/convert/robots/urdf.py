"""URDF: links, joints, mimic joints, transmissions, <loop> and <coupling> as of URDF+, <gazebo>, and Drake's.

<loop_joint> is that of Isaac Sim and of old versions of Drake. Joints in <gazebo> are those of SDF.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import cast, get_args

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
from linkwork.convert.robots.source_elements import (
    LINK_EFFECTS,
    DrakeElements,
    ElementTable,
    add_inertial,
    add_visual,
    mimic_coupling,
    rotor_inertia,
)
from linkwork.convert.robots.xml_reading import NOTHING, XmlElement, frame_pose
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


def read_urdf(root: XmlElement, packages: PackagePaths, *, as_tree: bool = False) -> RobotModel:
    """Read a robot from URDF. Raises ImportProblem with file and line.

    root: the element <robot>. packages: where meshes are. as_tree: leave closures out.
    """
    links = [_link(element) for element in root.all("link")]
    remarks = _add_shapes(root, packages, links)
    elements = [each for each in root if each.tag in ("joint", "drake:joint")]
    joints = [_joint(element) for element in elements]
    mimics = [
        mimic_coupling(mimic, joint.name)
        for joint, element in zip(joints, elements, strict=True)
        if (mimic := element.child("mimic")) is not None
    ]
    if not links:
        raise root.problem("the robot has no <link>")
    name = root.get("name") or Path(root.file).stem
    robot = RobotModel(name, root.file, {}, {}, remarks=remarks, as_tree=as_tree)
    for link in links:
        if link.name in robot.links:
            raise ImportProblem(root.file, link.line, f"two links are called {link.name!r}")
        robot.links[link.name] = link
    for joint in joints:
        if joint.name in robot.joints:
            raise ImportProblem(root.file, joint.line, f"two joints are called {joint.name!r}")
        robot.joints[joint.name] = joint
    robot.couplings = [each for each in mimics if _couples(robot, each)]
    if not as_tree:
        robot.closures = [_loop(each) for each in root if each.tag in ("loop", "loop_joint")]
    _add_controls(root, robot)
    robot.motors = _driven(root) or _independent(elements) or None
    _add_rotors(root, robot)
    _add_world(robot)
    drake = DrakeElements(robot, lambda name, _: (name, FramePose()))
    for element in root:
        drake.add(element)
    check_tree(robot)
    for element in root.all("coupling"):
        robot.couplings.append(_coupling(robot, element))
    if not as_tree:
        add_closing_joints(robot, root, packages)
    _add_gazebo(root, robot)
    _TABLE.check(robot, root)
    shapes = len(root.all("link/collision"))
    if shapes:
        robot.remarks.append(f"contacts are not modelled: {counted(shapes, 'collision shape')}")
    return robot


def _add_controls(root: XmlElement, robot: RobotModel) -> None:
    """Add couplings of simulated joints in ros2_control; leave out transmissions that couple joints."""
    for joint in root.all("ros2_control/joint"):
        given = {each.get("name"): each.text.strip() for each in joint.all("param")}
        name, other = joint.get("name"), given.get("mimic")
        if other and not robot.coupled(name):
            factor, offset = (
                float(joint.parsed(f"param {key!r}", given.get(key, default), 1)[0])
                for key, default in (("multiplier", "1"), ("offset", "0"))
            )
            rule = (offset, factor)
            robot.couplings.append(SourceCoupling(f"{name}_mimic", name, other, rule, joint.line))
    for each in root.walk():
        if each.tag == "transmission" and len(each.all("joint")) > 1:
            name = each.get("name")
            robot.leave_out(f"the transmission {name} couples joints, which get a motor each")


def _add_gazebo(root: XmlElement, robot: RobotModel) -> None:
    """Add springs of joints, and take gravity from links, as <gazebo reference="…"> has them."""
    weightless: dict[str, float] = {}
    for element in root.all("gazebo"):
        name = element.get("reference")
        for tag, off in (("gravity", ("0", "false")), ("turnGravityOff", ("1", "true"))):
            given = element.words(tag, "").lower()
            if given and name in robot.links:
                weightless[name] = float(given in off)
        for tag, key in (("springStiffness", "stiffness"), ("springReference", "rest")):
            if element.child(tag) is None or name not in robot.joints:
                continue
            number = element.number(tag)
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


def _driven(root: XmlElement) -> list[str]:
    """Return joints with transmissions, or with command interfaces of ros2_control."""
    found = [joint.get("name") for joint in root.all("transmission/joint")]
    controlled = root.all("ros2_control/joint")
    commanded = [each.get("name") for each in controlled if each.child("command_interface") is not None]
    return list(dict.fromkeys(found or commanded))


def _independent(joints: list[XmlElement]) -> list[str]:
    """Return the joints that are not said to be dependent, where a file says so of any joint (URDF+)."""
    if not any("independent" in each.attributes for each in joints):
        return []
    moving = [each for each in joints if each.get("type") in ("revolute", "continuous", "prismatic")]
    return [each.get("name") for each in moving if each.get("independent", "true") == "true"]


def _coupling(robot: RobotModel, element: XmlElement) -> SourceCoupling:
    """Read a coupling of URDF+: ratio × Σ q to the predecessor = Σ q to the successor.

    The sums are of the joints from the nearest link that carries both.
    """
    name = element.get("name") or "coupling"
    ratio = element.number("ratio", 1.0)
    chains: list[list[SourceJoint]] = []
    for tag in ("predecessor", "successor"):
        end = element.one(tag)
        link = end.words("link")
        if link not in robot.links:
            raise end.problem(f"coupling {name!r} names the link {link!r}, which does not exist")
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
                raise element.problem(text)
            if joint.type != "fixed" and factor:
                factors[joint.name] = factor
    if not factors:
        raise element.problem(f"coupling {name!r} couples no joints")
    return SourceCoupling.of_sum(name, factors, 0.0, element.line)


def _add_rotors(root: XmlElement, robot: RobotModel) -> None:
    """Add the inertia of rotors at joints."""
    for transmission in root:
        if transmission.local != "transmission":
            continue
        inertia = rotor_inertia(transmission)
        for joint in transmission.all("joint"):
            if joint.get("name") in robot.joints:
                robot.joints[joint.get("name")].armature += inertia


def _link(element: XmlElement) -> SourceLink:
    link = SourceLink(element.words("name"), element.line)
    inertial = element.child("inertial")
    if inertial is not None:
        add_inertial(link, inertial, frame_pose(inertial.child("origin")), None)
    return link


def _add_shapes(root: XmlElement, packages: PackagePaths, links: list[SourceLink]) -> list[str]:
    """Add what shows the links; return remarks."""
    shapes = LinkShapes(packages)
    materials = {each.get("name"): each for each in root.all("material")}
    for link, element in zip(links, root.all("link"), strict=True):
        for visual in element.all("visual"):
            with shapes.without_wrong():
                rgba = _rgba(visual.child("material"), materials)
                add_visual(shapes, link, visual, frame_pose(visual.child("origin")), rgba)
    return shapes.remarks()


def _rgba(material: XmlElement | None, materials: Mapping[str, XmlElement]) -> list[float] | None:
    for each in () if material is None else (material, materials.get(material.get("name"))):
        color = None if each is None else each.child("color")
        if color is not None:
            return list(color.numbers("rgba", 4, [0.6, 0.6, 0.6, 1.0]).tolist())
    return None


def _joint(element: XmlElement) -> SourceJoint:
    """Read a joint of URDF, or one with the further types of Drake's."""
    name, kind = element.words("name"), element.words("type")
    kind = _DRAKE_JOINTS.get(kind, kind) if element.is_drakes else kind
    if kind not in get_args(JointType):
        allowed = ", ".join(get_args(JointType))
        raise element.problem(f"joint {name!r} has the unknown type {kind!r}; known: {allowed}")
    parent, child = (element.one(tag).words("link") for tag in ("parent", "child"))
    origin = frame_pose(element.child("origin"))
    joint = SourceJoint(name, cast(JointType, kind), parent, child, element.line, origin)
    joint.axis = (element.child("axis") or NOTHING).numbers("xyz", 3, [1.0, 0.0, 0.0])
    if kind in ("revolute", "continuous", "prismatic", "planar") and not np.linalg.norm(joint.axis) > 1e-9:
        raise element.problem(f"the axis of joint {name!r} has no direction")
    if element.is_drakes and kind == "universal":  # the axes are x of the parent, y of the child
        joint.axis, joint.second_axis = np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])
    if element.is_drakes and kind == "screw":
        joint.pitch = element.number("screw_thread_pitch") / math.tau
    limit, dynamics = (element.child(tag) or NOTHING for tag in ("limit", "dynamics"))
    joint.lower, joint.upper, joint.effort, joint.velocity = (
        limit.limit(key) for key in ("lower", "upper", "effort", "velocity")
    )
    joint.damping, joint.friction = (dynamics.number(key, 0.0) for key in ("damping", "friction"))
    return joint


def _couples(robot: RobotModel, mimic: SourceCoupling) -> bool:
    """Whether a mimic joint moves; one that follows a fixed joint stays at its offset."""
    other = robot.joints.get(mimic.other or "")
    if other is not None and other.type == "fixed":
        mimic.other, mimic.coefficients = None, mimic.coefficients[:1]
    return robot.joints[mimic.joint].type != "fixed"


def _loop(element: XmlElement) -> SourceClosure:
    name, kind = element.get("name") or "loop", element.words("type")
    if kind.lower() not in _LOOPS:
        text = f"loop {name!r} has the unknown type {kind!r}; known: {', '.join(_LOOPS)}"
        raise element.problem(text, "--no-closures imports the tree alone")
    ends: list[tuple[str, FramePose]] = []
    for tags in (("predecessor", "link1", "parent"), ("successor", "link2", "child")):
        end = next((each for each in element if each.tag in tags), None)
        if end is None:
            raise element.problem(f"loop {name!r} has no <{tags[0]}>, <{tags[1]}> or <{tags[2]}>")
        ends.append((end.words("link"), frame_pose(end.child("origin") or end)))
    axis = (element.child("axis") or NOTHING).numbers("xyz", 3, [1.0, 0.0, 0.0])
    closure = SourceClosure(name, _LOOPS[kind.lower()], *ends[0], *ends[1], element.line, axis)
    if kind == "universal":
        closure.b_axis = closure.axis
    if kind == "distance":
        closure.distance = element.number("distance")
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
