"""Text of URDF, MJCF and SDF for a robot, in the dialects that the importer reads."""

import os
from collections.abc import Iterable
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from linkwork.arrays import Floats
from linkwork.convert.robots.examination import mended_moments
from linkwork.convert.robots.exporting import CLOSED_BY_SDF_JOINTS, Exported, exported
from linkwork.convert.robots.robot_model import (
    FramePose,
    SourceClosure,
    SourceCoupling,
    SourceFormat,
    SourceJoint,
    SourceLink,
    SourceShape,
    SourceSpring,
)
from linkwork.machine import Machine
from linkwork.multibody.model import WORLD
from linkwork.multibody.tree.orientations import to_angles_321
from linkwork.multibody.tree.quaternions import from_matrix, to_matrix

_DRAKE = "drake.mit.edu"
_LOOPS = {"point": "spherical", "weld": "fixed"}
_LEAST = 2e-14
"""MuJoCo's bodies need a mass (kg) above 1e-15 and moments (kg m²) above 1e-14."""
_THIN = 1e-13
"""Share of the largest moment that is added to those of a flat body, whose triangle inequality is sharp."""
_ARM = 1.0
"""Distance (m) of the points that hold a hinge or a weld."""


def written(machine: Machine, to: SourceFormat, folder: Path | None = None) -> tuple[str, Exported]:
    """Return the text of a machine in a format, and what was exported. Raises UnwritableMachine.

    folder: that of the file, to which the paths of meshes are relative; default: the working directory.
    """
    found = exported(machine, to)
    texts = {"urdf": urdf_text, "mjcf": mjcf_text, "sdf": sdf_text}
    return texts[to](found, (folder or Path()).resolve()), found


def _file(shape: SourceShape, folder: Path | None) -> str:
    if folder is None:
        return Path(shape.file or "").absolute().as_uri()
    return Path(os.path.relpath(shape.file or "", folder)).as_posix()


def _rgba(color: str) -> str:
    """Return four shares from 0 to 1 of #rrggbb or #rrggbbaa."""
    parts = bytes.fromhex(color.removeprefix("#").ljust(8, "f"))
    return _numbers(round(part / 255, 4) for part in parts)


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)).removesuffix(".0") for value in values)


def _text(root: Element, machine: str) -> str:
    indent(root)
    return f"<!-- {machine}, written by linkwork convert -->\n{tostring(root, encoding='unicode')}\n"


def _origin(parent: Element, pose: FramePose) -> None:
    SubElement(parent, "origin", xyz=_numbers(pose.at), rpy=_numbers(to_angles_321(pose.rotation)[::-1]))


_ELEMENTS = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}


def urdf_text(found: Exported, folder: Path | None) -> str:
    """Return URDF; closures are <loop> elements with the types of linkwork's closures.

    folder: to which the paths of meshes are relative; None: their addresses (file:///…) instead.
    """
    robot = found.robot
    root = Element("robot", {"name": robot.name, "xmlns:drake": _DRAKE})
    for link in robot.links.values():
        element = SubElement(root, "link", name=link.name)
        if link.mass > 0.0:
            inertial = SubElement(element, "inertial")
            _origin(inertial, FramePose(link.com))
            SubElement(inertial, "mass", value=_numbers([link.mass]))
            inertia = {key: _numbers([link.inertia[at]]) for key, at in _ELEMENTS.items()}
            SubElement(inertial, "inertia", inertia)
        for shape in link.shapes:
            _urdf_shape(element, shape, folder)
    mimics = {each.joint: each for each in robot.couplings}
    for joint in robot.joints.values():
        element = _urdf_joint(root, joint)
        mimic = mimics.get(joint.name)
        if mimic is not None and mimic.other is not None:
            offset, factor = mimic.coefficients
            words = {"multiplier": _numbers([factor]), "offset": _numbers([offset])}
            SubElement(element, "mimic", words, joint=mimic.other)
    for joint in robot.joints.values():
        if joint.name in (robot.motors or ()) or joint.armature:
            _transmission(root, joint, driven=joint.name in (robot.motors or ()))
    for closure in robot.closures:
        loop = SubElement(root, "loop", name=closure.name, type=_LOOPS.get(closure.type, closure.type))
        for tag, link_name, pose in (
            ("predecessor", closure.a, closure.a_pose),
            ("successor", closure.b, closure.b_pose),
        ):
            _origin(SubElement(loop, tag, link=link_name), pose)
        SubElement(loop, "axis", xyz=_numbers(closure.axis))
        if closure.type == "distance":
            loop.set("distance", _numbers([closure.distance]))
    return _text(root, robot.name)


def _urdf_shape(link: Element, shape: SourceShape, folder: Path | None) -> None:
    visual = SubElement(link, "visual")
    _origin(visual, shape.pose)
    geometry = SubElement(visual, "geometry")
    if shape.kind == "mesh":
        SubElement(geometry, "mesh", filename=_file(shape, folder), scale=_numbers(shape.sizes))
    elif shape.kind == "box":
        SubElement(geometry, "box", size=_numbers(shape.sizes))
    else:
        values = zip(("radius", "length"), shape.sizes, strict=False)
        SubElement(geometry, shape.kind, {key: _numbers([value]) for key, value in values})
    if shape.color is not None:
        color = SubElement(visual, "material", name=shape.color)
        SubElement(color, "color", rgba=_rgba(shape.color))


def _urdf_joint(root: Element, joint: SourceJoint) -> Element:
    element = SubElement(root, "joint", name=joint.name, type=joint.type)
    SubElement(element, "parent", link=joint.parent)
    SubElement(element, "child", link=joint.child)
    _origin(element, joint.pose)
    if joint.type in ("revolute", "continuous", "prismatic"):
        SubElement(element, "axis", xyz=_numbers(joint.axis))
        keys = ("lower", "upper", "effort", "velocity")
        limit = {key: _numbers([value]) for key in keys if (value := getattr(joint, key)) is not None}
        if joint.type != "continuous" or limit:
            SubElement(element, "limit", {"effort": "0", "velocity": "0"} | limit)
        if joint.damping or joint.friction:
            values = {"damping": _numbers([joint.damping]), "friction": _numbers([joint.friction])}
            SubElement(element, "dynamics", values)
    return element


def _transmission(root: Element, joint: SourceJoint, *, driven: bool) -> None:
    """Write a motor, and with it the rotor's inertia; without a motor the inertia alone."""
    name = f"{joint.name}_{'motor' if driven else 'armature'}"
    tag = "transmission" if driven else "drake:passive_transmission"
    element = SubElement(root, tag, name=name)
    SubElement(element, "type").text = "transmission_interface/SimpleTransmission"
    SubElement(element, "joint", name=joint.name)
    actuator = SubElement(element, "actuator", name=name)
    if joint.armature:
        SubElement(actuator, "drake:rotor_inertia", value=_numbers([joint.armature]))
        SubElement(actuator, "drake:gear_ratio", value="1")


def mjcf_text(found: Exported, folder: Path) -> str:
    """Return MJCF; closures are `connect` and `weld` on sites, a hinge is two of them."""
    robot = found.robot
    root = Element("mujoco", model=robot.name)
    SubElement(root, "compiler", angle="radian", autolimits="true")
    SubElement(root, "option", gravity=_numbers(robot.gravity))
    assets = Element("asset")
    world = SubElement(root, "worldbody")
    bodies, start = {WORLD: world}, []
    waiting = list(reversed(robot.children(WORLD)))
    while waiting:
        joint = waiting.pop()
        chain = [joint]
        while chain[-1].child in found.between:
            (after,) = robot.children(chain[-1].child)
            chain.append(after)
        link = robot.links[chain[-1].child]
        pose = joint.pose
        body = SubElement(
            bodies[joint.parent],
            "body",
            name=link.name,
            pos=_numbers(pose.at),
            quat=_numbers(from_matrix(pose.rotation)),
        )
        bodies[link.name] = body
        for each in chain:
            start += _mjcf_joint(body, each, found.start[each.name])
        _mjcf_inertial(body, link)
        for shape in link.shapes:
            _mjcf_shape(body, assets, shape, folder)
        waiting += reversed(robot.children(link.name))
    equality = Element("equality")
    for closure in robot.closures:
        _mjcf_closure(equality, bodies, closure)
    tendons = Element("tendon")
    for coupling in robot.couplings:
        _mjcf_coupling(equality, tendons, coupling)
    for spring in robot.springs:
        _mjcf_spring(tendons, bodies, spring)
    root.extend(each for each in (assets, tendons, equality) if len(each))
    if robot.motors:
        actuators = SubElement(root, "actuator")
        for name in robot.motors:
            effort = robot.joints[name].effort
            words = {"forcerange": _numbers([-effort, effort])} if effort else {}
            SubElement(actuators, "motor", words, name=f"{name}_motor", joint=name)
    if start:
        SubElement(SubElement(root, "keyframe"), "key", name="start", qpos=_numbers(start))
    return _text(root, robot.name)


def _mjcf_joint(body: Element, joint: SourceJoint, start: Floats) -> list[float]:
    """Write a joint; return its positions in the key frame."""
    if joint.type == "fixed":
        return []
    if joint.type == "floating":
        SubElement(body, "freejoint", name=joint.name)
        at = joint.pose.at + joint.pose.rotation @ start[:3]
        return [*at.tolist(), *from_matrix(joint.pose.rotation @ to_matrix(start[3:])).tolist()]
    kind = {"prismatic": "slide", "spherical": "ball"}.get(joint.type, "hinge")
    words = {"name": joint.name, "type": kind}
    if kind != "ball":
        words["axis"] = _numbers(joint.axis)
    if joint.lower is not None and joint.upper is not None:
        words["range"] = _numbers([joint.lower, joint.upper])
    for key, value in (
        ("stiffness", joint.stiffness),
        ("springref", joint.rest),
        ("damping", joint.damping),
        ("frictionloss", joint.friction),
        ("armature", joint.armature),
    ):
        if value:
            words[key] = _numbers([value])
    SubElement(body, "joint", words)
    return [float(each) for each in start]


def _mjcf_shape(body: Element, assets: Element, shape: SourceShape, folder: Path) -> None:
    """Write a geom without mass that touches nothing; sizes are halves of lengths."""
    words = {"type": shape.kind, "group": "2", "contype": "0", "conaffinity": "0", "mass": "0"}
    words |= {"pos": _numbers(shape.pose.at), "quat": _numbers(from_matrix(shape.pose.rotation))}
    if shape.color is not None:
        words["rgba"] = _rgba(shape.color)
    if shape.kind == "mesh":
        words["mesh"] = f"mesh_{len(assets) + 1}"
        SubElement(assets, "mesh", name=words["mesh"], file=_file(shape, folder), scale=_numbers(shape.sizes))
    else:
        first, *rest = shape.sizes
        own = 0.5 * first if shape.kind == "box" else first
        words["size"] = _numbers([own, *(0.5 * each for each in rest)])
    SubElement(body, "geom", words)


def _mjcf_inertial(body: Element, link: SourceLink) -> None:
    inertia = 0.5 * (link.inertia + link.inertia.T)
    given, axes = np.linalg.eigh(inertia)
    moments = np.maximum(mended_moments(given) if link.unphysical else given, _LEAST)
    if moments[0] + moments[1] - moments[2] < 1e-12 * moments[2]:
        moments = moments + _THIN * moments[2]
    if np.any(moments != given):
        inertia = axes @ np.diag(moments) @ axes.T
    order = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]
    SubElement(
        body, "inertial", pos=_numbers(link.com), mass=_numbers([max(link.mass, _LEAST)]),
        fullinertia=_numbers(inertia[at] for at in order),
    )  # fmt: skip


def _mjcf_closure(equality: Element, bodies: dict[str, Element], closure: SourceClosure) -> None:
    points = [np.zeros(3)] if closure.type == "weld" else _points(closure)
    for number, along in enumerate(points):
        suffix = "" if number == 0 else f"_{number + 1}"
        sites = {}
        for end, body, pose in (("1", closure.a, closure.a_pose), ("2", closure.b, closure.b_pose)):
            name = f"{closure.name}{suffix}_{end}"
            words = {"name": name, "pos": _numbers(pose.at + pose.rotation @ along)}
            if closure.type == "weld":
                words["quat"] = _numbers(from_matrix(pose.rotation))
            SubElement(bodies[body], "site", words)
            sites[f"site{end}"] = name
        tag = "weld" if closure.type == "weld" else "connect"
        SubElement(equality, tag, sites, name=f"{closure.name}{suffix}")


def _mjcf_coupling(equality: Element, tendons: Element, coupling: SourceCoupling) -> None:
    """Write a coupling of two joints as an equality of joints, of more as one of a tendon of joints."""
    offset, *powers = coupling.coefficients
    polynomial = [offset, *powers, *[0.0] * (4 - len(powers))]
    if not coupling.more:
        words = {"joint1": coupling.joint} | ({"joint2": coupling.other} if coupling.other else {})
        SubElement(equality, "joint", words, name=coupling.name, polycoef=_numbers(polynomial))
        return
    tendon = SubElement(tendons, "fixed", name=f"{coupling.name}_sum")
    factors = {coupling.joint: -1.0, str(coupling.other): powers[0]} | coupling.more
    for joint, factor in factors.items():
        SubElement(tendon, "joint", joint=joint, coef=_numbers([-factor]))
    constant = _numbers([offset, 0.0, 0.0, 0.0, 0.0])
    SubElement(equality, "tendon", name=coupling.name, tendon1=f"{coupling.name}_sum", polycoef=constant)


def _mjcf_spring(tendons: Element, bodies: dict[str, Element], spring: SourceSpring) -> None:
    words = {key: _numbers([value]) for key, value in (
        ("stiffness", spring.stiffness), ("damping", spring.damping), ("springlength", spring.rest),
    )}  # fmt: skip
    tendon = SubElement(tendons, "spatial", words, name=spring.name)
    for end, link, at in (("a", spring.a, spring.a_at), ("b", spring.b, spring.b_at)):
        site = f"{spring.name}_end_{end}"
        SubElement(bodies[link], "site", name=site, pos=_numbers(at))
        SubElement(tendon, "site", site=site)


def _points(closure: SourceClosure) -> list[Floats]:
    """Return places (3, m), in the closure's frames, of the points that hold it."""
    more = {"revolute": [closure.axis], "weld": [np.eye(3)[0], np.eye(3)[1]]}.get(closure.type, [])
    return [np.zeros(3), *(_ARM * each for each in more)]


def sdf_text(found: Exported, folder: Path) -> str:
    """Return SDF; closures are Drake's ball constraints: a hinge is two, a weld three of them.

    Slides and universal joints that close loops are joints, as SDF describes a graph.
    """
    robot = found.robot
    root = Element("sdf", {"version": "1.11", "xmlns:drake": _DRAKE})
    world = SubElement(root, "world", name=f"{robot.name}_world")
    SubElement(world, "gravity").text = _numbers(robot.gravity)
    model = SubElement(world, "model", name=robot.name)
    carriers = {joint.child: joint for joint in robot.joints.values()}
    for link in robot.links.values():
        if link.name == WORLD:
            continue
        element = SubElement(model, "link", name=link.name)
        joint = carriers[link.name]
        if joint.type == "floating":
            _sdf_pose(element, joint.pose, "")
        else:
            SubElement(element, "pose", relative_to=joint.name).text = "0 0 0 0 0 0"
        inertial = SubElement(element, "inertial")
        _sdf_pose(inertial, FramePose(link.com), "")
        SubElement(inertial, "mass").text = _numbers([link.mass])
        inertia = SubElement(inertial, "inertia")
        for key, place in _ELEMENTS.items():
            SubElement(inertia, key).text = _numbers([link.inertia[place]])
        for number, shape in enumerate(link.shapes, 1):
            _sdf_shape(element, f"{link.name}_visual_{number}", shape, folder)
    mimics = {each.joint: each for each in robot.couplings}
    for joint in robot.joints.values():
        if joint.type != "floating":
            _sdf_joint(model, joint, mimics)
    for closure in robot.closures:
        if closure.type in CLOSED_BY_SDF_JOINTS:
            _sdf_closing_joint(model, closure)
            continue
        for number, along in enumerate(_points(closure)):
            ball = SubElement(model, "drake:ball_constraint")
            ball.set("name", closure.name if number == 0 else f"{closure.name}_{number + 1}")
            for key, body in (("body_A", closure.a), ("body_B", closure.b)):
                SubElement(ball, f"drake:ball_constraint_{key}").text = body
            for key, pose in (("p_AP", closure.a_pose), ("p_BQ", closure.b_pose)):
                at = pose.at + pose.rotation @ along
                SubElement(ball, f"drake:ball_constraint_{key}").text = _numbers(at)
    return _text(root, robot.name)


def _sdf_shape(link: Element, name: str, shape: SourceShape, folder: Path) -> None:
    visual = SubElement(link, "visual", name=name)
    _sdf_pose(visual, shape.pose, "")
    element = SubElement(SubElement(visual, "geometry"), shape.kind)
    if shape.kind == "mesh":
        SubElement(element, "uri").text = _file(shape, folder)
        SubElement(element, "scale").text = _numbers(shape.sizes)
    elif shape.kind == "box":
        SubElement(element, "size").text = _numbers(shape.sizes)
    else:
        for key, value in zip(("radius", "length"), shape.sizes, strict=False):
            SubElement(element, key).text = _numbers([value])
    if shape.color is not None:
        SubElement(SubElement(visual, "material"), "diffuse").text = _rgba(shape.color)


def _sdf_pose(parent: Element, pose: FramePose, relative_to: str) -> None:
    element = SubElement(parent, "pose", {"relative_to": relative_to} if relative_to else {})
    element.text = _numbers([*pose.at, *to_angles_321(pose.rotation)[::-1]])


def _sdf_joint(model: Element, joint: SourceJoint, mimics: dict[str, SourceCoupling]) -> None:
    kind = {"spherical": "ball"}.get(joint.type, joint.type)
    element = SubElement(model, "joint", name=joint.name, type=kind)
    SubElement(element, "parent").text = joint.parent
    SubElement(element, "child").text = joint.child
    _sdf_pose(element, joint.pose, "__model__" if joint.parent == WORLD else joint.parent)
    axes = [joint.axis] if joint.type not in ("fixed", "spherical") else []
    if joint.type == "universal" and joint.second_axis is not None:
        axes = [joint.second_axis, joint.axis]
    for number, direction in enumerate(axes):
        axis = SubElement(element, "axis" if number == 0 else "axis2")
        SubElement(axis, "xyz").text = _numbers(direction)
        mimic = mimics.get(joint.name)
        if number == 0 and mimic is not None and mimic.other is not None:
            inner = SubElement(axis, "mimic", joint=mimic.other)
            for key, value in (("multiplier", mimic.coefficients[1]), ("offset", mimic.coefficients[0])):
                SubElement(inner, key).text = _numbers([value])
        limits = {"effort": 0.0 if joint.effort is None else joint.effort, "velocity": joint.velocity}
        limits |= {"lower": joint.lower, "upper": joint.upper}
        _values(axis, "limit", limits)
        dynamics = {"damping": joint.damping, "friction": joint.friction}
        dynamics |= {"spring_stiffness": joint.stiffness, "spring_reference": joint.rest}
        _values(axis, "dynamics", {key: value or None for key, value in dynamics.items()})
    if joint.type == "screw":
        SubElement(element, "screw_thread_pitch").text = _numbers([joint.pitch * 2.0 * np.pi])
    if joint.armature:
        SubElement(element, "drake:rotor_inertia").text = _numbers([joint.armature])
        SubElement(element, "drake:gear_ratio").text = "1"


def _sdf_closing_joint(model: Element, closure: SourceClosure) -> None:
    """Write a joint at b's frame: in a's it is displaced along a slide, which changes no residual."""
    element = SubElement(model, "joint", name=closure.name, type=closure.type)
    SubElement(element, "parent").text = closure.a
    SubElement(element, "child").text = closure.b
    _sdf_pose(element, closure.b_pose, "__model__" if closure.b == WORLD else closure.b)
    axes = [("axis", closure.a, closure.a_pose, closure.axis)]
    if closure.b_axis is not None:
        axes.append(("axis2", closure.b, closure.b_pose, closure.b_axis))
    for tag, link, pose, axis in axes:
        frame = "__model__" if link == WORLD else link
        direction = SubElement(SubElement(element, tag), "xyz", expressed_in=frame)
        direction.text = _numbers(pose.rotation @ axis)


def _values(axis: Element, tag: str, values: dict[str, float | None]) -> None:
    given = {key: value for key, value in values.items() if value is not None}
    if given:
        element = SubElement(axis, tag)
        for key, value in given.items():
            SubElement(element, key).text = _numbers([value])
