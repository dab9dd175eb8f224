"""MJCF, read by MuJoCo's compiler in a child process: bodies, joints, equalities, springs and actuators.

A link's frame has the axes of MuJoCo's body, and its origin at the body's last joint. Joint coordinates are
those of MuJoCo less their values in the reference pose (`ref`). Bodies with several joints become chains of
links without mass.
"""

from pathlib import Path
from typing import Any, cast

import numpy as np

from linkwork.arrays import Floats
from linkwork.convert.robots.limited_child import SECONDS, MissingLibrary, call
from linkwork.convert.robots.link_shapes import LinkShapes, PackagePaths
from linkwork.convert.robots.mujoco_worker import is_taken
from linkwork.convert.robots.robot_model import (
    FramePose,
    ImportProblem,
    JointType,
    RobotModel,
    SourceClosure,
    SourceCoupling,
    SourceJoint,
    SourceLink,
    SourceSpring,
)
from linkwork.convert.robots.xml_reading import LARGEST, XmlElement, read_xml
from linkwork.machine.problems import counted
from linkwork.multibody.tree.quaternions import to_matrix

_TYPES: dict[str, JointType] = {
    "hinge": "revolute", "slide": "prismatic", "ball": "spherical", "free": "floating",
}  # fmt: skip
_LIGHTEST_KG = 1e-12
_MOST_INCLUDES = 200
_FOLDERS = {"mesh": "meshdir", "hfield": "meshdir", "skin": "meshdir", "texture": "texturedir"}


def read_mjcf(
    main: XmlElement, packages: PackagePaths, seconds: float = SECONDS, *, as_tree: bool = False
) -> RobotModel:
    """Read a robot from MJCF, as MuJoCo compiles it in a child process. Raises ImportProblem.

    packages: where meshes are. seconds: time that compiling may take. as_tree: leave `connect` and `weld`
    out.
    """
    path = Path(main.file)
    lines = _checked_lines(main, packages)
    try:
        source = call("mujoco_worker:compiled", {"file": str(path.resolve())}, str(path), seconds)
    except MissingLibrary:
        text, remedy = "MJCF is read with MuJoCo, which is not installed", "pip install 'linkwork[import]'"
        raise ImportProblem(str(path), 0, text, remedy) from None
    if source["flexes"]:
        text = "the file has deformable bodies (flex), which would become loose point masses"
        found = next((each for each in main.walk() if each.tag in ("flexcomp", "flex")), main)
        raise found.problem(text, "only rigid bodies are read: remove <flexcomp> and <flex>")
    for body in source["bodies"]:
        if not _finite(body):
            text = f"the body {body['name']!r} has numbers that are not finite, or larger than {LARGEST:g}"
            raise ImportProblem(str(path), lines.get(("body", body["name"]), 0), text)
    if not _finite(
        [source[key] for key in ("gravity", "equalities", "sites", "tendons", "actuators", "start", "shapes")]
    ):
        raise ImportProblem(str(path), 0, f"numbers are not finite, or larger than {LARGEST:g}")
    robot = _Reader(path, source, lines, as_tree=as_tree).robot
    _add_shapes(robot, source, packages)
    return robot


def _finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_finite, value.values()))
    if isinstance(value, list):
        return all(map(_finite, value))
    return not isinstance(value, float) or abs(value) <= LARGEST


def _checked_lines(main: XmlElement, packages: PackagePaths) -> dict[tuple[str, str], int]:
    """Check the files that the XML names; return lines of named elements of the main file."""
    lines: dict[tuple[str, str], int] = {}
    roots, done = [main], 0
    while roots:
        root = roots.pop()
        folders = {
            key: each.get(key, each.get("assetdir"))
            for each in root.walk()
            for key in ("meshdir", "texturedir")
            if each.tag == "compiler"
        }
        for element in root.walk():
            name = element.get("name")
            if root is main and name:
                lines.setdefault((element.tag, name), element.line)
            if "file" not in element.attributes:
                continue
            target, folder = element.get("file"), folders.get(_FOLDERS.get(element.tag, ""), "")
            beside = Path(root.file).parent / folder / target
            if not beside.exists():
                beside = packages.home / folder / target
            found = packages.within(beside, root.file, element.line)
            if found.exists() and not found.is_file():
                raise element.problem(f"{target!r} is not a file")
            if element.tag == "include":
                done += 1
                if done > _MOST_INCLUDES:
                    raise element.problem(f"more than {_MOST_INCLUDES} files are included")
                roots.append(read_xml(found))
        _refuse_large(root)
    return lines


def _refuse_large(root: XmlElement) -> None:
    """Refuse counts that make a file of a few bytes expand beyond any machine."""
    for element in root.walk():
        if element.tag in ("replicate", "composite", "flexcomp"):
            numbers = [int(each) for each in element.get("count", "1").split() if each.isdigit()]
            if np.prod([float(each) for each in numbers] or [1.0]) > 1000:
                raise element.problem(f"<{element.tag}> makes more than 1000 copies")


def _add_shapes(robot: RobotModel, source: dict[str, Any], packages: PackagePaths) -> None:
    """Add what shows the bodies: geoms in the groups that MuJoCo's viewer shows."""
    shapes = LinkShapes(packages)
    for shape in source["shapes"]:
        name = source["bodies"][shape["body"]]["name"]
        link, rgba = robot.links[name], shape["rgba"]
        pose = FramePose(np.array(shape["at"]) - robot.anchors[name], np.array(shape["axes"]))
        mesh, (x, y, z) = shape["mesh"], shape["size"]
        if mesh is not None and mesh["moved"]:
            shapes.leave_out("meshes with a reference pose")
        elif mesh is not None:
            path = packages.home / mesh["folder"] / mesh["file"]
            shapes.add_mesh(link, path, mesh["scale"], pose, rgba)
        else:
            sizes = {"box": (2 * x, 2 * y, 2 * z), "sphere": (x,)}.get(shape["kind"], (x, 2 * y))
            shapes.add(link, shape["kind"], sizes, pose, rgba)
    robot.remarks += shapes.remarks()


class _Reader:
    """Makes the robot from the compiled model."""

    def __init__(
        self, path: Path, source: dict[str, Any], lines: dict[tuple[str, str], int], *, as_tree: bool
    ) -> None:
        name = source["name"] if source["name"] not in ("", "MuJoCo Model") else path.stem
        self.robot = RobotModel(name, str(path), {}, {}, gravity=np.array(source["gravity"]), format="mjcf")
        self.robot.as_tree = as_tree
        self._source, self._lines = source, lines
        self._bodies = source["bodies"]
        self._anchor: list[Floats] = []
        for body in self._bodies:
            self._add_body(body)
        for equality in source["equalities"]:
            self._add_equality(equality)
        for tendon in source["tendons"]:
            self._add_tendon(tendon)
        self._add_motors()
        self.robot.start = source["start"]
        if source["fluid"]:
            self.robot.leave_out("forces of a fluid (density, viscosity) are left out")
        if source["unactuated"]:
            self.robot.remarks.append("actuators that the file switches off are no motors")
        if source["contacts"]:
            text = f"contacts are not modelled: {counted(source['contacts'], 'geom')} that may collide"
            self.robot.remarks.append(text)
        moved = [body["name"] for body in self._bodies if body["moved"]]
        if moved:
            self.robot.leave_out(f"bodies that a program moves (mocap) stay in place: {_few(moved)}")
        lifted = {body["name"]: body["gravity_compensation"] for body in self._bodies}
        if any(lifted.values()):
            self.robot.lessen_gravity(lifted)

    def _line(self, tag: str, name: str) -> int:
        return self._lines.get((tag, name), 0)

    def _add_body(self, body: dict[str, Any]) -> None:
        robot, name = self.robot, self._name(body)
        anchor = np.array(body["joints"][-1]["at"]) if body["joints"] else np.zeros(3)
        self._anchor.append(anchor)
        principal = to_matrix(body["principal_quat"])
        mass = body["mass"] if body["mass"] > _LIGHTEST_KG else 0.0
        inertia = principal @ np.diag(body["moments"]) @ principal.T if mass else np.zeros((3, 3))
        if mass == 0.0 or (not body["joints"] and name == "world"):
            inertia = np.zeros((3, 3))
        link = SourceLink(name, self._line("body", name), mass, np.array(body["com"]) - anchor, inertia)
        robot.links[name] = link
        robot.anchors[name] = anchor
        if len(robot.links) == 1:
            return
        parent, number = self._name(self._bodies[body["parent"]]), body["parent"]
        pose = FramePose(np.array(body["at"]) - self._anchor[number], to_matrix(body["quat"]))
        if not body["joints"]:
            robot.joints[f"{name}_fixed"] = SourceJoint(
                f"{name}_fixed", "fixed", parent, name, self._line("body", name), pose
            )
            return
        last = np.zeros(3)
        for k, joint in enumerate(body["joints"]):
            own = joint["name"]
            child = name
            if k + 1 < len(body["joints"]):
                child = f"{name}_{own}"
                robot.links[child] = SourceLink(child, self._line("body", name))
            at = np.array(joint["at"])
            pose = pose @ FramePose(at - last)
            robot.joints[own] = self._joint(joint, parent, child, pose)
            pose, parent, last = FramePose(), child, at
        # the body comes after the links between, so that the file reads from the ground outwards
        robot.links[name] = robot.links.pop(name)

    def _name(self, body: dict[str, Any]) -> str:
        return str(body["name"])

    def _joint(self, joint: dict[str, Any], parent: str, child: str, pose: FramePose) -> SourceJoint:
        name = joint["name"]
        kind = _TYPES[joint["type"]]
        line = self._line("joint", name) or self._line("freejoint", name)
        made = SourceJoint(name, kind, parent, child, line, pose, np.array(joint["axis"]))
        if kind in ("revolute", "prismatic"):
            if joint["limits"]:
                made.lower, made.upper = joint["limits"]
            elif kind == "revolute":
                made.type = "continuous"
            made.stiffness, made.rest, made.effort = joint["stiffness"], joint["rest"], joint["effort"]
        elif joint["stiffness"]:
            self.robot.leave_out(f"the spring of {name}, a {kind} joint, is left out")
        if kind == "spherical" and joint["limited"]:
            self.robot.remarks.append(f"the limit of {name}, a ball joint, is left out")
        if joint["nonlinear"]:
            self.robot.leave_out(f"nonlinear terms of the spring or damper of {name} are left out")
        if kind == "floating":
            if joint["damping"] or joint["armature"] or joint["friction"]:
                self.robot.leave_out(f"damping, friction and armature of {name}, a free joint, are left out")
        else:
            made.damping, made.armature, made.friction = (
                joint[key] for key in ("damping", "armature", "friction")
            )
        return made

    def _add_equality(self, equality: dict[str, Any]) -> None:
        robot, name, kind, data = self.robot, equality["name"], equality["type"], equality["data"]
        line = self._line(kind, name)
        if not equality["active"]:
            robot.remarks.append(f"{name} is not active at the start, and left out")
            return
        if equality["soft"]:
            robot.leave_out(f"{name} is rigid here, and soft in the source (solref)")
        if kind == "joint":
            ours, other = (self._source["joint_names"][k] if k >= 0 else None for k in equality["ends"])
            coefficients = tuple(data[:5]) if other is not None else (data[0],)
            robot.couplings.append(SourceCoupling(name, cast(str, ours), other, coefficients, line))
            return
        if kind == "tendon":
            robot.couplings.append(self._tendon_coupling(equality, line))
            return
        if robot.as_tree:
            return
        if kind not in ("connect", "weld"):
            text = f"the equality {name!r} is of type {kind}, which is not read"
            remedy = "known: connect, weld, joint, tendon; --no-closures imports the tree alone"
            raise ImportProblem(robot.file, line, text, remedy)
        if equality["on_sites"]:
            (body_a, at_a, quat_a), (body_b, at_b, quat_b) = (
                self._source["sites"][k] for k in equality["ends"]
            )
        else:
            body_a, body_b = equality["ends"]
            at_a, at_b, quat_a, quat_b = data[:3], data[3:6], [1, 0, 0, 0], [1, 0, 0, 0]
            if kind == "weld":
                at_a, at_b, quat_a = data[3:6], data[:3], data[6:10]
        a, b = (
            (self._name(self._bodies[body]), FramePose(np.array(at) - self._anchor[body], turn))
            for body, at, turn in (
                (body_a, at_a, to_matrix(quat_a)),
                (body_b, at_b, to_matrix(quat_b)),
            )
        )
        if a[0] == b[0]:
            raise ImportProblem(robot.file, line, f"the equality {name!r} joins {a[0]!r} to itself")
        is_weld = kind == "weld" and data[10] != 0.0  # without `torquescale` it holds a point
        robot.closures.append(SourceClosure(name, "weld" if is_weld else "point", *a, *b, line=line))

    def _tendon_coupling(self, equality: dict[str, Any], line: int) -> SourceCoupling:
        """L₁ = Σ c_k L₂^k of two fixed tendons, or L₁ = c₀, with lengths less those in the reference pose."""
        name, data = equality["name"], equality["data"]
        first, second = (self._source["tendons"][k]["joints"] if k >= 0 else {} for k in equality["ends"])
        if not first or (equality["ends"][1] >= 0 and not second):
            text = f"the equality {name!r} couples a spatial tendon, which is not read"
            raise ImportProblem(self.robot.file, line, text, "known: tendons of joints (fixed)")
        if any(data[2:5]) and second:
            if len(first) > 1 or len(second) > 1:
                text = f"the equality {name!r} has powers above 1 of a tendon with several joints"
                raise ImportProblem(
                    self.robot.file, line, text, "known: one joint for each tendon, or a line"
                )
            ((joint, own),), ((other, factor),) = first.items(), second.items()
            return SourceCoupling(
                name, joint, other, tuple(data[k] * factor**k / own for k in range(5)), line
            )
        factors = dict(first)
        for joint, factor in second.items():
            factors[joint] = factors.get(joint, 0.0) - data[1] * factor
        kept = {joint: factor for joint, factor in factors.items() if factor != 0.0}
        if not kept:
            raise ImportProblem(self.robot.file, line, f"the equality {name!r} couples nothing")
        return SourceCoupling.of_sum(name, kept, data[0], line)

    def _add_tendon(self, tendon: dict[str, Any]) -> None:
        """Add the spring and damper of a tendon of one joint, or of one that joins two sites."""
        robot, name = self.robot, tendon["name"]
        line = self._line("fixed", name) or self._line("spatial", name)
        left_out = [key for key in ("friction", "limited", "armature", "nonlinear") if tendon[key]]
        least, most = tendon["rest"]
        if tendon["stiffness"] or tendon["damping"]:
            if least != most and tendon["stiffness"]:
                left_out.append("spring, which is slack over a range")
            elif not is_taken(tendon):
                left_out.append("spring and damper, of several joints or with bends")
            elif tendon["joints"]:
                ((joint, factor),) = tendon["joints"].items()
                self._stiffen(robot.joints[joint], tendon, factor, (least - tendon["at_zero"]) / factor)
            else:
                (a, a_at), (b, b_at) = map(self._site, tendon["sites"])
                values = tendon["stiffness"], tendon["damping"], least
                robot.springs.append(SourceSpring(name, a, a_at, b, b_at, *values, line))
        if left_out:
            words = {"limited": "limits", "nonlinear": "nonlinear terms of spring and damper"}
            listed = " and ".join(words.get(each, each) for each in left_out)
            robot.leave_out(f"of the tendon {name} these are left out: {listed}")

    def _site(self, number: int) -> tuple[str, Floats]:
        """Return the link of a site, and the site's place in it."""
        body, at, _ = self._source["sites"][number]
        return self._name(self._bodies[body]), np.array(at) - self._anchor[body]

    def _stiffen(self, joint: SourceJoint, tendon: dict[str, Any], factor: float, rest: float) -> None:
        """Add a spring and a damper to those of a joint; rest in its coordinate (rad or m)."""
        stiffness = tendon["stiffness"] * factor**2
        total = joint.stiffness + stiffness
        if total:
            joint.rest = (joint.stiffness * joint.rest + stiffness * rest) / total
        joint.stiffness, joint.damping = total, joint.damping + tendon["damping"] * factor**2

    def _driven_by(self, actuator: dict[str, Any]) -> tuple[str | None, float]:
        """Return the joint that an actuator drives, and the joint's effort for one of the actuator.

        A tendon of joints drives its first joint, where couplings make the other ones follow it.
        """
        if actuator["tendon"] is None:
            return actuator["joint"], 1.0
        factors = self._source["tendons"][actuator["tendon"]]["joints"]
        first = next(iter(factors), None)
        total = 0.0
        for joint, factor in factors.items():
            ratio = 1.0 if joint == first else self._ratio(joint, first)
            if ratio is None:
                return None, 1.0
            total += factor * ratio
        return first, abs(total)

    def _ratio(self, joint: str, first: str | None) -> float | None:
        """Return the rate of a joint for one of the first, by a linear coupling of the two."""
        for each in self.robot.couplings:
            if {joint, first} == {each.joint, each.other} and not each.more and len(each.coefficients) > 1:
                factor = each.coefficients[1]
                if any(each.coefficients[2:]) or factor == 0.0:
                    continue
                return factor if each.joint == joint else 1.0 / factor
        return None

    def _add_motors(self) -> None:
        robot = self.robot
        efforts: dict[str, list[float]] = {}
        servos: list[str] = []
        for actuator in self._source["actuators"]:
            name, ratio = self._driven_by(actuator)
            joint = robot.joints.get(name or "")
            if joint is None or joint.type not in ("revolute", "continuous", "prismatic"):
                robot.leave_out(
                    f"the actuator {actuator['name']} does not drive one hinge or slide, and is left out"
                )
                continue
            if actuator["controlled"]:
                servos.append(actuator["name"])
            if actuator["joint"] is not None:
                armature, damping = actuator["rotor"]
                joint.armature, joint.damping = joint.armature + armature, joint.damping + damping
            elif any(actuator["rotor"]):
                robot.leave_out(f"armature and damping of the actuator {actuator['name']} are left out")
            found = efforts.setdefault(joint.name, [])
            if actuator["effort"] is not None:
                found.append(actuator["effort"] * ratio)
        if servos:
            robot.remarks.append(
                f"motors take efforts: the servo or activation in {_few(servos)} is not modelled"
            )
        robot.motors = list(efforts)
        for name, found in efforts.items():
            joint = robot.joints[name]
            limits = [*([sum(found)] if found else []), *([joint.effort] if joint.effort else [])]
            joint.effort = min(limits, default=None)


def _few(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
