"""SDF: links, joints that close loops, nested and included models, frames, and Drake's elements.

SDF describes a graph: a link may have several joints. A spanning tree of it carries the links; the other
joints become closures. A link's frame lies at the joint that carries it, as in URDF.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from linkwork.arrays import Floats
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
from linkwork.convert.robots.source_elements import (
    LINK_EFFECTS,
    DrakeElements,
    ElementTable,
    add_inertial,
    add_visual,
    mimic_coupling,
    rotor_inertia,
)
from linkwork.convert.robots.xml_reading import NOTHING, XmlElement, frame_pose, read_xml
from linkwork.machine.nearest_name import meant
from linkwork.machine.problems import counted
from linkwork.multibody.model import WORLD

_TYPES: dict[str, JointType] = {
    "revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "ball": "spherical",
    "universal": "universal", "revolute2": "universal", "screw": "screw", "fixed": "fixed",
    "planar": "planar",
}  # fmt: skip
_CLOSING: dict[JointType, ClosureType] = {
    "revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "spherical": "point",
    "universal": "universal", "fixed": "weld",
}  # fmt: skip
_MODEL, _SCOPE = "__model__", "::"
_WATER_KG_M3 = 1000.0
_AXIS = "xyz initial_position limit dynamics mimic"
_DRAKE = "drake:joint drake:ball_constraint drake:linear_spring_damper drake:tendon_constraint"
_TABLE = ElementTable(
    {
        "sdf": "world model include",
        "world": "model include joint frame gravity",
        "model": f"link joint frame model include pose static {_DRAKE}",
        "include": "uri name pose static placement_frame",
        "link": "pose gravity inertial collision",
        "inertial": "mass pose inertia density",
        "joint": "parent child pose axis axis2 thread_pitch screw_thread_pitch gearbox_ratio "
        "gearbox_reference_body drake:rotor_inertia drake:gear_ratio drake:mimic",
        "axis": f"{_AXIS} use_parent_model_frame",
        "axis2": _AXIS,
        "dynamics": "damping friction spring_stiffness spring_reference",
        "limit": "lower upper effort velocity",
    },
    (
        "physics atmosphere magnetic_field wind light scene gui audio spherical_coordinates road "
        "visual sensor self_collide allow_auto_disable must_be_base_link gripper projector audio_sink "
        "audio_source battery particle_emitter auto_inertia_params stiffness dissipation drake:acceleration "
        "use_parent_model_frame drake:collision_filter_group drake:proximity_properties"
    ),
    LINK_EFFECTS
    | {
        "model/enable_wind": "wind pushes its links",
        "population": "it adds models",
        "actor": "it moves by a script",
        "state": "joints start elsewhere",
        "drake:controller_gains": "a controller of the motor holds a set-point",
        "axis2/initial_position": "the joint starts elsewhere",
        "axis2/mimic": "it couples joints",
        "include/params": "it changes the included model",
    },
)
_MOST_MODELS, _DEEPEST = 200, 20


@dataclass
class _Joint:
    """A joint between two links, each with the joint's frame in the link's; axes in the joint's frame."""

    name: str
    type: JointType
    parent: str
    child: str
    in_parent: FramePose
    in_child: FramePose
    line: int
    made: SourceJoint
    axes: list[Floats] = field(default_factory=list)


@dataclass
class _Frame:
    """A frame: the name of the one that its pose is relative to, and what it is attached to."""

    pose: FramePose
    relative_to: str
    attached_to: str
    at: XmlElement


def read_sdf(root: XmlElement, packages: PackagePaths, *, as_tree: bool = False) -> RobotModel:
    """Read the first model, or all models of the first world; `as_tree`: without joints that close loops.

    Raises ImportProblem.
    """
    world = root.child("world")
    models = [each for each in world or root if each.tag in ("model", "include")]
    if not models:
        raise root.problem("there is no <model>")
    reader = _Reader(root, packages, _version(root))
    reader.robot.as_tree = as_tree
    if world is None:
        name = reader.read_model(models[0], "", alone=True)
        if len(models) > 1:
            reader.robot.leave_out(f"only the first of {len(models)} models is read")
    else:
        name = world.get("name") or "world"
        gravity = world.child("gravity") or world.child("physics/gravity")  # the latter before version 1.5
        if gravity is not None:
            reader.robot.gravity = gravity.own_numbers(3)
        joints = world.all("joint")
        if len(models) == 1 and not joints and models[0].tag == "model":
            name = reader.read_model(models[0], "", alone=True)
        else:
            for model in models:
                reader.read_entry(model, "")
        for joint in joints:
            reader.add_joint(joint, "")
    reader.robot.name = name
    reader.finish()
    for each in reader.roots:
        _TABLE.check(reader.robot, each)
    return reader.robot


def add_closing_joints(robot: RobotModel, root: XmlElement, packages: PackagePaths) -> None:
    """Add the joints of SDF that close loops to a tree of another format, as <gazebo> of a URDF has them.

    robot: receives them. root: the element with <gazebo>. packages: where included models are.
    """
    reader = _Reader(root, packages, (1, 6))  # of Gazebo, with `use_parent_model_frame`
    reader.close_tree(robot, root.all("gazebo/joint"))


def _version(root: XmlElement) -> tuple[int, int]:
    text = root.get("version", "1.7")
    parts = text.split(".")
    if len(parts) < 2 or not all(part.isdigit() and len(part) < 4 for part in parts):
        raise root.problem(f"version {text[:40]!r} is not one of SDF, such as 1.9")
    return int(parts[0]), int(parts[1])


class _Reader:
    """Collects frames, links and joints of all models, then makes the tree."""

    def __init__(self, root: XmlElement, packages: PackagePaths, version: tuple[int, int]) -> None:
        self.robot = RobotModel(
            "", root.file, {WORLD: SourceLink(WORLD, 0)}, {}, format="sdf", tree_from_file=False
        )
        self._packages, self._version = packages, version
        self._frames: dict[str, _Frame] = {WORLD: _Frame(FramePose(), "", "", root)}
        self._joints: dict[str, _Joint] = {}
        self._waiting: list[tuple[XmlElement, str]] = []
        self._gearboxes: list[tuple[XmlElement, str]] = []
        self._drake_elements: list[tuple[XmlElement, str]] = []
        self._visuals: list[tuple[XmlElement, str, SourceLink]] = []
        self._poses: dict[str, FramePose] = {}
        self._models = 0
        self._depth = 0
        self._static: list[str] = []
        self._weightless: dict[str, float] = {}
        self._automatic: list[tuple[XmlElement, str, SourceLink]] = []
        self._contacts = 0
        self.roots = [root]

    # -- models

    def read_entry(self, element: XmlElement, scope: str) -> None:
        """Read a <model> or an <include>."""
        self._models += 1
        if self._models > _MOST_MODELS:
            raise element.problem(f"there are more than {_MOST_MODELS} models")
        if element.tag == "model":
            self.read_model(element, scope)
            return
        uri = element.words("uri")
        path = self._packages.resolved(uri, element.file, element.line)
        if path.is_dir():
            path = self._packages.within(_model_in(path), element.file, element.line)
        inner = read_xml(path)
        self.roots.append(inner)
        models = inner.all("model")
        if inner.tag != "sdf" or len(models) != 1:
            raise inner.problem("an included file must be SDF with one <model>")
        self.read_model(models[0], scope, include=element)

    def read_model(
        self, model: XmlElement, scope: str, include: XmlElement | None = None, *, alone: bool = False
    ) -> str:
        """Read a model within a scope ("" or "outer::"); return its name."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise model.problem(f"models nest more than {_DEEPEST} deep; is one included in itself?")
        name = model.words("name")
        placing, merged = include or model, False
        if include is not None:
            name, merged = include.words("name", name), include.get("merge") == "true"
        own = "" if alone or merged else f"{scope}{name}{_SCOPE}"
        inner = scope if merged else own
        frame = f"{inner}{_MODEL}" if not merged else f"{scope}_merged_{name}_{self._models}"
        pose = placing.child("pose") or model.child("pose")
        relative = pose.get("relative_to") if pose is not None else ""
        outer = f"{scope}{relative}" if relative else (f"{scope}{_MODEL}" if scope else WORLD)
        placed = frame_pose(pose)
        self._add_frame(frame, _Frame(placed, outer, "", model))
        if not (alone or merged):
            self._add_frame(f"{scope}{name}", _Frame(FramePose(), frame, frame, model))
        self._read_children(model, inner, frame)
        anchor = placing.words("placement_frame", model.get("placement_frame"))
        if anchor:
            self._frames[frame] = _Frame(placed, outer, f"{inner}{anchor}", model)
        if placing.words("static", model.words("static", "false")) in ("true", "1"):
            self._static += [f"{inner}{each.words('name')}" for each in model.all("link")]
        self._depth -= 1
        return name

    def _read_children(self, model: XmlElement, scope: str, frame: str) -> None:
        for element in model:
            if element.tag == "link":
                self._read_link(element, scope, frame)
            elif element.tag == "frame":
                self._read_frame(element, scope, frame)
            elif element.tag in ("model", "include"):
                self.read_entry(element, scope)
        for element in model:
            if element.local == "joint":
                self.add_joint(element, scope)
            elif element.is_drakes:
                self._drake_elements.append((element, scope))

    def _add_frame(self, name: str, frame: _Frame) -> None:
        if name == WORLD:
            raise frame.at.problem(f"the name {WORLD!r} is reserved for the ground", "rename it")
        if name in self._frames and not name.endswith(_MODEL):
            raise frame.at.problem(f"two elements are called {name!r}")
        self._frames[name] = frame

    def _relative(self, element: XmlElement | None, scope: str, default: str) -> str:
        given = element and (element.get("relative_to") or element.get("frame"))
        return f"{scope}{given}" if given and given != WORLD else (given or default)

    def _read_link(self, element: XmlElement, scope: str, frame: str) -> None:
        name = f"{scope}{element.words('name')}"
        pose = element.child("pose")
        relative = self._relative(pose, scope, frame)
        self._add_frame(name, _Frame(frame_pose(pose), relative, name, element))
        link = SourceLink(name, element.line)
        inertial = element.child("inertial")
        if inertial is None:
            link.mass, link.inertia = 1.0, np.eye(3)  # the defaults of the format
            self.robot.remarks.append(f"{name} has no <inertial>: SDF means 1 kg and 1 kg m²")
        elif inertial.get("auto") in ("true", "1"):
            self._automatic.append((element, scope, link))
        else:
            add_inertial(link, inertial, frame_pose(inertial.child("pose")), 1.0)
        if element.words("gravity", "true") in ("0", "false"):
            self._weightless[name] = 1.0
        self._contacts += len(element.all("collision"))
        self.robot.links[name] = link
        self._visuals += [(visual, scope, link) for visual in element.all("visual")]

    def _add_automatic(self, element: XmlElement, scope: str, link: SourceLink) -> None:
        """Add mass and inertia of a link's collision shapes, scaled to its mass if it has one."""
        inertial = element.one("inertial")
        density = inertial.number("density", _WATER_KG_M3)
        for collision in element.all("collision"):
            for shape in collision.child("geometry") or ():
                solid = _solid(shape, link.name)
                solid.mass *= collision.number("density", density)
                solid.inertia *= solid.mass
                link.lump(solid, self._in_link(collision, scope, link))
        if link.mass <= 0.0:
            text = f"the inertia of {link.name!r} is automatic, and none of its collision shapes has a volume"
            raise element.problem(text, "give it <inertial> with values, or a <collision>")
        scale = inertial.number("mass", link.mass) / link.mass
        link.mass, link.inertia = scale * link.mass, scale * link.inertia

    def _in_link(self, part: XmlElement, scope: str, link: SourceLink) -> FramePose:
        """Return the pose of a part of a link in the link's frame, where all frames are known."""
        pose = part.child("pose")
        outer = self._place(part, self._relative(pose, scope, link.name))
        return self._place(part, link.name).inverse() @ outer @ frame_pose(pose)

    def _add_shapes(self) -> None:
        """Add what shows the links, whose frames are all known."""
        shapes = LinkShapes(self._packages)
        for visual, scope, link in self._visuals:
            with shapes.without_wrong():
                diffuse, rgba = visual.child("material/diffuse"), None
                if diffuse is not None:
                    rgba = [*diffuse.own_numbers(4 if len(diffuse.text.split()) == 4 else 3), 1.0][:4]
                add_visual(shapes, link, visual, self._in_link(visual, scope, link), rgba)
        self.robot.remarks += shapes.remarks()

    def _read_frame(self, element: XmlElement, scope: str, frame: str) -> None:
        name = f"{scope}{element.words('name')}"
        attached = element.get("attached_to")
        anchor = f"{scope}{attached}" if attached and attached != WORLD else (attached or frame)
        pose = element.child("pose")
        relative = self._relative(pose, scope, anchor)
        self._add_frame(name, _Frame(frame_pose(pose), relative, anchor, element))

    # -- joints

    def add_joint(self, element: XmlElement, scope: str) -> None:
        """Keep a joint until all frames are known; its own frame is known at once."""
        name = f"{scope}{element.words('name')}"
        kind = element.words("type")
        if kind == "gearbox":
            self._gearboxes.append((element, scope))
            return
        if kind not in _TYPES:
            known = ", ".join([*_TYPES, "gearbox"])
            raise element.problem(f"joint {name!r} has the unknown type {kind!r}; known: {known}")
        child = self._end(element, "child", scope)
        pose = element.child("pose")
        relative = self._relative(pose, scope, child)
        self._add_frame(name, _Frame(frame_pose(pose), relative, child, element))
        self._waiting.append((element, scope))

    def _end(self, element: XmlElement, tag: str, scope: str) -> str:
        given = element.words(tag)
        return given if given == WORLD else f"{scope}{given}"

    def _place(self, at: XmlElement, name: str, seen: tuple[str, ...] = ()) -> FramePose:
        """Return a frame in the world, in the pose that the file describes."""
        if name in self._poses:
            return self._poses[name]
        if name not in self._frames:
            raise at.problem(f"there is no frame, link or joint {name!r}", meant(name, self._frames))
        if name in seen:
            raise at.problem(f"the poses of {' and '.join(seen[-2:])} form a ring")
        if len(seen) > 500:
            raise at.problem("frames follow each other more than 500 deep")
        frame = self._frames[name]
        if not frame.relative_to:
            found = frame.pose
        elif name.endswith(_MODEL) and frame.attached_to:
            outer = self._place(frame.at, frame.relative_to, (*seen, name))
            found = outer @ frame.pose @ self._inside(frame, name, seen).inverse()
        else:
            found = self._place(frame.at, frame.relative_to, (*seen, name)) @ frame.pose
        self._poses[name] = found
        return found

    def _inside(self, frame: _Frame, model: str, seen: tuple[str, ...]) -> FramePose:
        """Return the placement frame of a model, in the model's own."""
        kept = self._frames[model], dict(self._poses)
        self._frames[model] = _Frame(FramePose(), "", "", frame.at)
        try:
            self._poses.pop(model, None)
            return self._place(frame.at, frame.attached_to, seen)
        finally:
            self._frames[model], self._poses = kept

    def _link_of(self, at: XmlElement, name: str, seen: tuple[str, ...] = ()) -> str:
        """Return the link that a frame is attached to."""
        if name in self.robot.links:
            return name
        if name not in self._frames:
            raise at.problem(f"there is no link or frame {name!r}", meant(name, self._frames))
        if name in seen:
            raise at.problem(f"the frames {' and '.join(seen[-2:])} form a ring")
        attached = self._frames[name].attached_to
        if not attached or attached == name:
            scope = name.removesuffix(_MODEL)
            inner = [each for each in self.robot.links if each != WORLD and each.startswith(scope)]
            if not inner:
                raise at.problem(f"{name!r} is attached to no link")
            return inner[0]  # the model's canonical link
        return self._link_of(at, attached, (*seen, name))

    def finish(self) -> None:
        """Resolve all joints, and make the tree."""
        self._add_shapes()
        for automatic in self._automatic:
            self._add_automatic(*automatic)
        if self._contacts:
            text = f"contacts are not modelled: {counted(self._contacts, 'collision shape')}"
            self.robot.remarks.append(text)
        motors = []
        for element, scope in self._waiting:
            joint = self._joint(element, scope)
            self._joints[joint.name] = joint
            if joint.made.effort:
                motors.append(joint.name)
        held = {joint.child for joint in self._joints.values() if joint.type == "fixed"}
        for name in self._static:
            if name in held:  # to the world, or to a link that does not move either
                continue
            fixed = f"{name}_static"
            place = self._place(self.roots[0], name)
            self._joints[fixed] = _Joint(
                fixed, "fixed", WORLD, name, place, FramePose(), 0,
                SourceJoint(fixed, "fixed", WORLD, name, 0),
            )  # fmt: skip
        for element, scope in self._drake_elements:
            if element.tag == "drake:tendon_constraint":  # couples joints, which must be in the tree
                self._add_drake_element(element, scope)
        self._make_tree()
        for element, scope in self._gearboxes:
            self._add_gearbox(element, scope)
        for element, scope in self._drake_elements:
            if element.tag != "drake:tendon_constraint":
                self._add_drake_element(element, scope)
        self.robot.start = {
            name: value for name, value in self.robot.start.items() if name in self.robot.joints
        }
        self.robot.motors = [name for name in motors if name in self.robot.joints] or None
        if self._weightless:
            self.robot.lessen_gravity(self._weightless)

    def close_tree(self, robot: RobotModel, joints: list[XmlElement]) -> None:
        """Close loops of a tree, whose first root is the ground, with joints of the main file."""
        root, main, self.robot = robot.roots()[0], self.roots[0], robot
        self._frames[WORLD] = self._frames[_MODEL] = _Frame(FramePose(), "", root, main)
        self._frames.setdefault(root, _Frame(FramePose(), WORLD, root, main))
        for joint in robot.joints.values():
            self._frames[joint.child] = _Frame(joint.pose, joint.parent, joint.child, main)
        for element in joints:
            _TABLE.check(robot, element)
            if element.get("type") == "gearbox":
                raise element.problem("a gearbox in <gazebo> is not read", "give its joint a <mimic>")
            ends = {element.words(tag) for tag in ("parent", "child")}
            if ends != {WORLD, root} or element.get("type") != "fixed":
                self.add_joint(element, "")
        for waiting in self._waiting:
            self._close(self._joint(*waiting))

    def _joint(self, element: XmlElement, scope: str) -> _Joint:
        name, kind = f"{scope}{element.words('name')}", _TYPES[element.words("type")]
        ends = [self._end(element, tag, scope) for tag in ("parent", "child")]
        parent, child = (self._link_of(element, each) for each in ends)
        if parent == child:
            raise element.problem(f"joint {name!r} joins {parent!r} to itself")
        place = self._place(element, name)
        in_parent, in_child = (self._place(element, link).inverse() @ place for link in (parent, child))
        made = SourceJoint(name, kind, parent, child, element.line)
        joint = _Joint(name, kind, parent, child, in_parent, in_child, element.line, made)
        if kind not in ("fixed", "spherical"):
            joint.axes.append(self._axis(element, "axis", scope, place))
            if (axis := element.child("axis")) is not None:
                self._read_axis(axis, made)
        if kind == "planar" and element.words("damping", "0 0 0").strip("0. "):
            self.robot.leave_out(f"the damping of {name}, a planar joint, is left out")
        mimics = element.all("drake:mimic")
        if joint.axes:
            mimics = element.all("axis/mimic")[:1] + mimics
        self.robot.couplings += [mimic_coupling(each, name, scope) for each in mimics]
        if kind == "universal":
            if element.child("axis2") is None and not element.is_drakes:
                wrong = f"joint {name!r}, of type {element.words('type')!r}, has no <axis2>"
                raise element.problem(wrong, "give it a second axis, perpendicular to <axis>")
            joint.axes.append(self._axis(element, "axis2", scope, place))
            self._share_friction(element, made)
        made.armature = rotor_inertia(element)
        if kind == "screw":
            made.pitch = _pitch(element)
        return joint

    def _share_friction(self, element: XmlElement, made: SourceJoint) -> None:
        """Leave out damping and friction of a universal joint whose axes do not have the same."""
        second = element.child("axis2/dynamics") or NOTHING
        keys = ("damping", "friction", "stiffness")
        there = [second.number(key, 0.0) for key in (*keys[:2], "spring_stiffness")]
        for key, value in zip(keys, there, strict=True):
            if value != getattr(made, key):
                self.robot.leave_out(f"the {key} of {made.name}, which differs between its axes, is left out")
                setattr(made, key, 0.0)

    def _axis(self, element: XmlElement, tag: str, scope: str, place: FramePose) -> Floats:
        """Return an axis in the joint's frame."""
        axis, xyz = element.child(tag), element.child(f"{tag}/xyz")
        if axis is None or xyz is None:
            return np.array([0.0, 0.0, 1.0])
        direction = xyz.own_numbers(3)
        if not np.linalg.norm(direction) > 1e-9:
            raise axis.problem(f"the axis of joint {element.get('name')!r} has no direction")
        expressed = xyz.get("expressed_in")
        old = self._version < (1, 5) or axis.words("use_parent_model_frame", "0") in ("1", "true")
        if not expressed and old and self._version < (1, 7):
            expressed = _MODEL
        if not expressed:
            return direction
        frame = WORLD if expressed == WORLD else f"{scope}{expressed}"
        turn = self._place(axis, frame).rotation
        return np.asarray(place.rotation.T @ turn @ direction)

    def _read_axis(self, axis: XmlElement, made: SourceJoint) -> None:
        limit, dynamics = (axis.child(tag) or NOTHING for tag in ("limit", "dynamics"))
        lower, upper, effort, speed = (limit.limit(key) for key in ("lower", "upper", "effort", "velocity"))
        if lower is not None and upper is not None:
            made.lower, made.upper = lower, upper
        elif made.type == "revolute":
            made.type = "continuous"
        made.effort, made.velocity = (
            value if value is not None and value >= 0.0 else None for value in (effort, speed)
        )
        if axis.child("initial_position") is not None:
            self.robot.start[made.name] = axis.number("initial_position")
        made.damping, made.friction, stiffness, made.rest = (
            dynamics.number(key, 0.0)
            for key in ("damping", "friction", "spring_stiffness", "spring_reference")
        )
        if made.type in ("revolute", "continuous", "prismatic", "screw"):
            made.stiffness = stiffness
        elif stiffness:
            self.robot.leave_out(f"the spring of {made.name}, a {made.type} joint, is left out")

    # -- tree

    def _make_tree(self) -> None:
        """Choose a spanning tree; joints that are no closures, drive or are coupled come first."""
        robot = self.robot
        coupled = {joint for each in robot.couplings for joint in each.joints}
        seconds: set[str] = set()
        carried: set[str] = set()
        for joint in self._joints.values():
            if joint.child in carried:
                seconds.add(joint.name)
            carried.add(joint.child)

        def rank(joint: _Joint) -> int:
            made = joint.made
            if joint.type not in _CLOSING or joint.name in coupled:
                return 0
            if made.stiffness or (made.effort and joint.type != "fixed"):
                return 1
            return 3 if joint.name in seconds else 2

        group = {name: name for name in robot.links}

        def top(name: str) -> str:
            while group[name] != name:
                group[name] = group[group[name]]
                name = group[name]
            return name

        tree: list[_Joint] = []
        for joint in sorted(self._joints.values(), key=rank):
            a, b = top(joint.parent), top(joint.child)
            if a == b:
                self._close(joint)
            else:
                group[a] = b
                tree.append(joint)
        self._hang(tree, [name for name in robot.links if name != WORLD])
        order = {name: k for k, name in enumerate(self._joints)}
        robot.joints = dict(sorted(robot.joints.items(), key=lambda item: order.get(item[0], -1)))

    def _hang(self, tree: list[_Joint], links: list[str]) -> None:
        """Hang all links on the world: through joints, and free where none leads there."""
        beside: dict[str, list[_Joint]] = {}
        for joint in tree:
            beside.setdefault(joint.parent, []).append(joint)
            beside.setdefault(joint.child, []).append(joint)
        frames = {WORLD: FramePose()}  # of the new link frames, in the source's
        for start in (WORLD, *links):
            if start not in frames:
                name = f"{start}_floats"
                self.robot.joints[name] = SourceJoint(
                    name, "floating", WORLD, start, self.robot.links[start].line,
                    self._place(self.roots[0], start),
                )  # fmt: skip
                frames[start] = FramePose()
            waiting = [start]
            while waiting:
                link = waiting.pop()
                for joint in beside.get(link, []):
                    forward = joint.parent == link
                    outer = joint.child if forward else joint.parent
                    if outer in frames:
                        continue
                    here, there = (
                        (joint.in_parent, joint.in_child) if forward else (joint.in_child, joint.in_parent)
                    )
                    frames[outer] = there
                    self.robot.joints[joint.name] = _hung(joint, link, outer, frames[link].inverse() @ here)
                    waiting.append(outer)
        self._rebase(frames)

    def _rebase(self, frames: dict[str, FramePose]) -> None:
        """Give all links their new frames."""
        robot = self.robot
        for name, frame in frames.items():
            link, back = robot.links[name], frame.inverse()
            link.shapes = [shape.seen_from(back) for shape in link.shapes]
            link.com = back.at + back.rotation @ link.com
            link.inertia = back.rotation @ link.inertia @ back.rotation.T
        for closure in robot.closures:
            closure.a_pose = frames[closure.a].inverse() @ closure.a_pose
            closure.b_pose = frames[closure.b].inverse() @ closure.b_pose
        self._new_frames = frames

    def _close(self, joint: _Joint) -> None:
        """Make a joint that closes a loop a closure."""
        if self.robot.as_tree:
            return
        if joint.type not in _CLOSING:
            text = f"the joint {joint.name!r} closes a loop, which a {joint.type} joint cannot"
            remedy = f"known: {', '.join(_CLOSING)}; --no-closures imports the tree alone"
            raise ImportProblem(self.robot.file, joint.line, text, remedy)
        closure = SourceClosure(
            joint.name, _CLOSING[joint.type], joint.parent, joint.in_parent, joint.child, joint.in_child,
            joint.line,
        )  # fmt: skip
        if joint.axes:
            closure.axis = joint.axes[0]
        if joint.type == "universal":
            closure.b_axis = joint.axes[1]
            if abs(float(joint.axes[0] @ joint.axes[1])) > 1e-6:
                text = f"the axes of {joint.name!r}, which closes a loop, must be perpendicular"
                raise ImportProblem(self.robot.file, joint.line, text)
        made = joint.made
        words = {
            "limits": made.lower is not None, "damping": made.damping, "friction": made.friction,
            "spring": made.stiffness, "rotor": made.armature,
        }  # fmt: skip
        lost = [word for word, value in words.items() if value]
        if lost == ["limits"]:
            self.robot.remarks.append(f"{joint.name} closes a loop: its limits are left out")
        elif lost:
            self.robot.leave_out(f"{joint.name} closes a loop: its {', '.join(lost)} are left out")
        self.robot.closures.append(closure)

    def _add_gearbox(self, element: XmlElement, scope: str) -> None:
        """theta_2 = -ratio theta_1, about `axis` of the parent and `axis2` of the child, on a reference."""
        name = f"{scope}{element.words('name')}"
        ratio = element.number("gearbox_ratio", 1.0)
        reference = self._link_of(element, self._end(element, "gearbox_reference_body", scope))
        found = []
        for tag, key in (("parent", "axis"), ("child", "axis2")):
            link = self._link_of(element, self._end(element, tag, scope))
            between = [
                joint
                for joint in self._joints.values()
                if {joint.parent, joint.child} == {reference, link}
                and joint.type in ("revolute", "continuous")
            ]
            if not between or between[0].name not in self.robot.joints:
                text = f"the gearbox {name!r} needs a revolute joint between {reference!r} and {link!r}"
                raise element.problem(text)
            sign = 1.0 if between[0].child == link else -1.0
            if element.child(key) is not None:
                own = self._place(element, between[0].name).rotation @ between[0].axes[0]
                place = self._place(element, self._end(element, "child", scope))
                given = place.rotation @ self._axis(element, key, scope, place)
                sign *= 1.0 if float(own @ given) >= 0.0 else -1.0
            found.append((between[0].name, sign))
        (first, first_sign), (second, second_sign) = found
        factor = -ratio * first_sign * second_sign
        self.robot.couplings.append(SourceCoupling(name, second, first, (0.0, factor), element.line))

    def _add_drake_element(self, element: XmlElement, scope: str) -> None:
        """Add a ball constraint, a spring or a tendon, whose points are in frames of the source."""

        def place(name: str, at: XmlElement) -> tuple[str, FramePose]:
            scoped = name if name == WORLD else f"{scope}{name}"
            link = self._link_of(at, scoped)
            within = self._place(at, link).inverse() @ self._place(at, scoped)
            return link, self._new_frames[link].inverse() @ within

        DrakeElements(self.robot, place, scope).add(element)


def _pitch(screw: XmlElement) -> float:
    """Return m/rad: screw_thread_pitch is m per turn, the older thread_pitch minus turns in rad per m."""
    pitch = screw.number("screw_thread_pitch", math.nan)
    turns = screw.number("thread_pitch", 1.0)
    if not math.isnan(pitch):
        return pitch / math.tau
    if turns == 0.0:
        raise screw.problem("the pitch of a screw must not be 0")
    return -1.0 / turns


def _solid(shape: XmlElement, name: str) -> SourceLink:
    """Return a shape as a link with its volume (m³) as mass, and its inertia for 1 kg (kg m²)."""
    r, h = (shape.number(key, default) for key, default in (("radius", 1.0), ("length", 1.0)))
    sides = next((each for each in shape if each.tag in ("size", "radii")), None)
    x, y, z = (np.ones(3) if sides is None else sides.own_numbers(3)).tolist()
    tube, ball, box = math.pi * r * r * h, 4.0 / 3.0 * math.pi * r**3, x * y * z
    ends = ball * (h * h / 4.0 + 0.375 * h * r + r * r / 5.0)  # halves of a ball
    shapes = {  # volume and mean squares of x, y, z from the centre of mass
        "box": (box, x * x / 12.0, y * y / 12.0, z * z / 12.0),
        "ellipsoid": (4.0 / 3.0 * math.pi * box, x * x / 5.0, y * y / 5.0, z * z / 5.0),
        "sphere": (ball, *3 * [r * r / 5.0]),
        "cylinder": (tube, *2 * [r * r / 4.0], h * h / 12.0),
        "cone": (tube / 3.0, *2 * [0.15 * r * r], 0.0375 * h * h),
        "capsule": (
            tube + ball,
            *2 * [r * r * (tube / 4.0 + ball / 5.0) / (tube + ball or 1.0)],
            (tube * h * h / 12.0 + ends) / (tube + ball or 1.0),
        ),
        **dict.fromkeys(("empty", "plane"), (0.0, 0.0, 0.0, 0.0)),
    }
    if shape.tag not in shapes:
        text = f"the inertia of {name!r} is automatic, which is not computed of a <{shape.tag}>"
        raise shape.problem(text, "give it <inertial> with values")
    volume, *squares = shapes[shape.tag]
    com = np.array([0.0, 0.0, -0.25 * h if shape.tag == "cone" else 0.0])
    return SourceLink("", 0, volume, com, np.diag(np.sum(squares) - np.array(squares)))


def _hung(joint: _Joint, parent: str, child: str, pose: FramePose) -> SourceJoint:
    """Return a joint of the tree; of one that is passed from child to parent the axes are reversed."""
    made = joint.made
    forward = joint.parent == parent
    made.parent, made.child, made.pose = parent, child, pose
    axes = joint.axes if forward else [-axis for axis in reversed(joint.axes)]
    if joint.type == "universal":
        # the parent holds `axis`, the child `axis2`; linkwork names the child's first
        made.axis, made.second_axis = axes[1], axes[0]
    elif axes:
        made.axis = axes[0]
    return made


def _model_in(folder: Path) -> Path:
    """Return the model file of a model's folder."""
    files: Iterator[Path] = iter(sorted(folder.glob("*.sdf")))
    named = folder / "model.sdf"
    return named if named.exists() else next(files, named)
