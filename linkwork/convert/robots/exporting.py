"""A machine as a robot of links, joints and closures, for the formats of other programs.

What the formats have no words for is listed: `losses` change the motion, `notes` do not.
"""

from dataclasses import dataclass, field

import numpy as np

from linkwork.arrays import Floats
from linkwork.convert.robots.robot_model import (
    ClosureType,
    FramePose,
    JointType,
    RobotModel,
    SourceClosure,
    SourceCoupling,
    SourceFormat,
    SourceJoint,
    SourceLink,
    SourceShape,
    SourceSpring,
)
from linkwork.machine import Machine
from linkwork.machine.building.initial_assembly import admitted_velocities
from linkwork.machine.visuals import MESH_FORMATS, mesh_path
from linkwork.multibody.constraints import Constraint
from linkwork.multibody.constraints.closures import PinClosure, PointClosure
from linkwork.multibody.constraints.constraint import Closure
from linkwork.multibody.constraints.coordinate_constraints import CoordinateConstraint, CouplingConstraint
from linkwork.multibody.forces import Spring
from linkwork.multibody.forces.elements import BetweenPoints
from linkwork.multibody.formulations.evaluation import constraint_evaluation
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import WORLD, Joint, Point
from linkwork.multibody.tree.joint_dof import BALL, dof_of

_CLOSURES: dict[str, ClosureType] = {
    "PointClosure": "point", "PinClosure": "pin", "RevoluteClosure": "revolute", "WeldClosure": "weld",
    "CylindricalClosure": "cylindrical", "PrismaticClosure": "prismatic", "UniversalClosure": "universal",
    "DistanceClosure": "distance",
}  # fmt: skip
_KNOWN: dict[SourceFormat, frozenset[ClosureType]] = {
    "urdf": frozenset(
        {"point", "pin", "revolute", "weld", "cylindrical", "prismatic", "universal", "distance"}
    ),
    "mjcf": frozenset({"point", "revolute", "weld"}),
    "sdf": frozenset({"point", "revolute", "weld", "prismatic", "universal"}),
}
CLOSED_BY_SDF_JOINTS: frozenset[ClosureType] = frozenset({"prismatic", "universal"})
"""Closures that SDF has as joints, in the pose that the file describes, and not as ball constraints."""
_CLOSED = 1e-12
"""Largest gap (m, rad) of a loop that counts as closed."""
_TITLES: dict[SourceFormat, str] = {"urdf": "URDF", "mjcf": "MJCF", "sdf": "SDF"}
_MESHES: dict[SourceFormat, tuple[str, ...]] = {
    "urdf": MESH_FORMATS, "mjcf": (".stl", ".obj"), "sdf": MESH_FORMATS,
}  # fmt: skip
_SMOOTH = 1e-3
_SEVERAL = ("spherical", "floating", "universal")
_Z = np.array([0.0, 0.0, 1.0])


class UnwritableMachine(ValueError):
    """A machine that a format cannot describe, not even in part."""


@dataclass
class Exported:
    """A robot for a format.

    `dofs`: for each velocity of the machine, the joint in the robot and the place in it; `between`: links
    without mass that were added; `start`: positions at the machine's start, by joints.
    """

    robot: RobotModel
    dofs: list[tuple[str, int]] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    between: set[str] = field(default_factory=set)
    start: dict[str, Floats] = field(default_factory=dict)


def exported(machine: Machine, to: SourceFormat, *, own_names: bool = False) -> Exported:
    """Return a machine as a robot for a format. Raises UnwritableMachine.

    own_names: joints in a chain of joints have the machine's names of their coordinates, as `wrist.1`.
    """
    return _Exporter(machine, to, own_names).found


class _Exporter:
    def __init__(self, machine: Machine, to: SourceFormat, own_names: bool) -> None:
        self._machine, self._to, self._mechanism = machine, to, machine.mechanism
        self._own_names = own_names
        mechanism = self._mechanism
        self._idle_damping = {motion.joint: motion.damping for motion in machine.assembly.idle}
        robot = RobotModel(machine.name, machine.path, {WORLD: SourceLink(WORLD, 0)}, {}, format=to)
        robot.gravity = np.asarray(mechanism.gravity_m_s2)
        self.found = Exported(robot, [("", 0)] * mechanism.nv)
        for body in mechanism.bodies:
            robot.links[body.name] = SourceLink(
                body.name, 0, body.mass_kg, np.asarray(body.com_m), np.asarray(body.inertia_kg_m2),
                body.unphysical,
            )  # fmt: skip
        self._add_shapes()
        for joint in mechanism.joints:
            self._add_joint(joint)
        idle = {motion.row.name for motion in machine.assembly.idle}
        for constraint in mechanism.constraints:
            if constraint.name not in idle:
                self._add_constraint(constraint)
        self._add_elements()
        robot.motors = [
            self.found.dofs[motor.index][0]
            for motor in machine.motors
            if robot.joints[self.found.dofs[motor.index][0]].type
            not in ("spherical", "floating", "universal")
        ]
        self._list_losses()

    def _loses(self, text: str) -> None:
        self.found.losses.append(text)

    def _add_shapes(self) -> None:
        left_out = []
        for shape in self._machine.visuals:
            file = mesh_path(self._machine.path, shape).resolve() if shape.kind == "mesh" else None
            if file is not None and (file.suffix.lower() not in _MESHES[self._to] or not file.is_file()):
                left_out.append(str(shape.file))
                continue
            pose = FramePose(shape.at_m, shape.rotation)
            made = SourceShape(shape.kind, shape.sizes, pose, shape.color, file)
            self.found.robot.links[shape.body].shapes.append(made)
        if left_out:
            listed = ", ".join(dict.fromkeys(left_out))
            self.found.notes.append(f"meshes that are missing, or that {_TITLES[self._to]} lacks: {listed}")

    # -- joints

    def _add_joint(self, joint: Joint) -> None:
        """Add a joint, or a chain of joints with massless links between."""
        found, names = self.found, list(self._mechanism.joint_names)
        dof = dof_of(joint)
        places = [names.index(name) for name in dof.names]
        parts = self._parts(joint)
        parent, pose = joint.parent, FramePose(np.asarray(joint.at_m), np.asarray(joint.rotation))
        for number, (kind, own, axis, pitch) in enumerate(parts):
            last = number + 1 == len(parts)
            name = joint.name if len(parts) == 1 else f"{joint.name}_{_suffix(dof.names[own[0]])}"
            if self._own_names and len(own) == 1:
                name = dof.names[own[0]]
            child = joint.child if last else f"{joint.name}_between_{number + 1}"
            if not last:
                found.robot.links[child] = SourceLink(child, 0)
                found.between.add(child)
            if kind == "floating" and self._to == "sdf":
                name = f"{child}_floats"
                if parent != WORLD:
                    raise UnwritableMachine(f"SDF has no free joint between two bodies, as {joint.name} is")
            if self._to == "sdf" and name in found.robot.links:
                name = f"{name}_joint"  # SDF has one set of names for links and joints
            made = SourceJoint(name, kind, parent, child, 0, pose, axis, pitch=pitch)
            if joint.kind == "universal" and kind == "universal":
                made.axis, made.second_axis = np.asarray(joint.axis), np.asarray(joint.second_axis)
            made.friction, made.armature = joint.coulomb, joint.armature
            added = joint.viscous == self._idle_damping.get(joint.name)  # by the plant, not by the file
            made.damping = 0.0 if added else joint.viscous
            if joint.coulomb and joint.coulomb_speed != _SMOOTH:
                self._loses(f"{joint.name}: the speed {joint.coulomb_speed:g} of its dry friction")
            for k, index in enumerate(own):
                found.dofs[places[index]] = (name, k)
            if len(own) == 1:
                self._add_limits(made, places[own[0]])
            found.robot.joints[name] = made
            found.start[name] = self._start(kind, [places[index] for index in own], joint.name)
            parent, pose = child, FramePose()

    def _parts(self, joint: Joint) -> list[tuple[JointType, list[int], Floats, float]]:
        """Return type, degrees of freedom, axis and pitch of each joint, from the parent on."""
        dof = dof_of(joint)
        if joint.kind == "fixed":
            return [("fixed", [], _Z, 0.0)]
        if joint.kind == "universal" and self._to == "sdf":
            return [("universal", [0, 1], np.asarray(joint.axis), 0.0)]
        if joint.kind == "free" and dof.ball:
            return [("floating", list(range(6)), _Z, 0.0)]
        found: list[tuple[JointType, list[int], Floats, float]] = []
        for member in dof.chain:
            if member.kind == BALL:
                if not np.array_equal(member.column, np.eye(6)[:3]):
                    raise UnwritableMachine(f"{joint.name} has other columns than rotations about x, y and z")
                found.append(("spherical", [member.place + k for k in range(3)], _Z, 0.0))
                continue
            turn, slide = member.column[:3], member.column[3:]
            length = float(np.linalg.norm(turn)) or float(np.linalg.norm(slide))
            if abs(length - 1.0) > 1e-12:
                raise UnwritableMachine(f"{joint.name} has a column of length {length:g}, not 1")
            if not turn.any():
                found.append(("prismatic", [member.place], slide, 0.0))
                continue
            pitch = float(turn @ slide)
            if np.abs(slide - pitch * turn).max() > 1e-12:
                raise UnwritableMachine(f"an axis of {joint.name} does not pass through its origin")
            kind: JointType = "revolute" if pitch == 0.0 else "screw"
            if kind == "screw" and self._to != "sdf":
                raise UnwritableMachine(f"{_TITLES[self._to]} has no screws, as {joint.name} is")
            found.append((kind, [member.place], turn, pitch))
        return found

    def _add_limits(self, made: SourceJoint, place: int) -> None:
        name = self._mechanism.joint_names[place]
        limits = next(each for each in self._machine.joints if each.name == name)
        if np.all(np.isfinite(limits.position)):
            made.lower, made.upper = limits.position
        elif made.type == "revolute":
            made.type = "continuous"
        motor = next((each for each in self._machine.motors if each.joint == name), None)
        speeds = [
            each for each in (limits.velocity, motor.max_speed if motor else np.inf) if np.isfinite(each)
        ]
        made.velocity = min(speeds, default=None)
        made.effort = motor.max_effort if motor is not None else None

    def _start(self, kind: JointType, places: list[int], joint: str) -> Floats:
        """Return the joint's positions at the machine's start, quaternions with the scalar part first."""
        q, names = self._machine.initial_q, self._mechanism.position_names
        own = q[places]
        if kind in ("spherical", "floating"):
            return np.concatenate([own[:-3], [q[names.index(f"{joint}.quaternion")]], own[-3:]])
        return np.asarray(own)

    # -- constraints, springs

    def _add_constraint(self, constraint: Constraint) -> None:
        name, title = constraint.name, _TITLES[self._to]
        if not constraint.on:
            self._loses(f"the constraint {name}, which is off at the start")
            return
        if isinstance(constraint, CouplingConstraint | CoordinateConstraint):
            coupling = self._coupling(constraint)
            if coupling is None:
                mimic = "a joint only to one other, which it follows"
                known = "hinges and slides only" if self._to == "mjcf" else mimic
                self._loses(f"the constraint {name}: {title} couples {known}")
            else:
                self.found.robot.couplings.append(coupling)
            return
        kind = _CLOSURES.get(type(constraint).__name__)
        if not isinstance(constraint, Closure) or kind is None:
            self._loses(f"the constraint {name}, of a type that {title} does not have")
            return
        if (
            isinstance(constraint, PinClosure)
            and kind not in _KNOWN[self._to]
            and self._is_planar(constraint)
        ):
            kind = "point"
            self.found.notes.append(
                f"{name}, a pin, is written as a ball joint: the same motion, one row more"
            )
        if kind not in _KNOWN[self._to]:
            self._loses(f"the closure {name}: {title} has no {kind} closures")
            return
        a, b = (
            FramePose(np.asarray(frame.at_m), np.asarray(frame.rotation))
            for frame in (constraint.a, constraint.b)
        )
        closure = SourceClosure(name, kind, constraint.a.body, a, constraint.b.body, b)
        if kind == "universal":
            closure.b_axis = _Z
        closure.distance = getattr(constraint, "distance_m", 0.0)
        if self._to == "sdf" and kind in CLOSED_BY_SDF_JOINTS and not self._is_closed_at_zero(closure):
            self._loses(
                f"the closure {name}: a {kind} joint of SDF closes a loop in the pose of the file, where all "
                "joints are at zero, and there this loop is open"
            )
            return
        taken = {*self.found.robot.links, *self.found.robot.joints}
        if self._to == "sdf" and name in taken:
            closure.name = f"{name}_closure"  # SDF has one set of names for links and joints
        self.found.robot.closures.append(closure)

    def _coupling(self, constraint: CouplingConstraint | CoordinateConstraint) -> SourceCoupling | None:
        """Return a coupling of joints as a polynomial; None where the format has none."""
        factors: dict[str, float] = (
            {constraint.of: 1.0} if isinstance(constraint, CoordinateConstraint) else dict(constraint.factors)
        )
        names = list(self._mechanism.joint_names)
        if not set(factors) <= set(names):
            return None
        of_joint = {self.found.dofs[names.index(name)][0]: factor for name, factor in factors.items()}
        if len(of_joint) < len(factors) or any(
            self.found.robot.joints[joint].type in _SEVERAL for joint in of_joint
        ):
            return None
        if self._to != "mjcf":
            followers = {each.joint for each in self.found.robot.couplings}
            leading = [joint for joint in of_joint if joint in followers]
            if len(of_joint) != 2 or len(leading) == 2:
                return None
            of_joint = dict(sorted(of_joint.items(), key=lambda item: item[0] in leading))
        return SourceCoupling.of_sum(constraint.name, of_joint, constraint.value)

    def _is_closed_at_zero(self, closure: SourceClosure) -> bool:
        """Whether a slide or a universal joint is closed where all joints are at zero."""
        at_a, at_b = self._at_zero(closure.a) @ closure.a_pose, self._at_zero(closure.b) @ closure.b_pose
        gap = at_a.inverse() @ at_b
        if closure.type == "prismatic":
            off = [*gap.at[:2], *(gap.rotation - np.eye(3)).ravel()]
        else:
            off = [*gap.at, gap.rotation[2, 2]]
        return bool(np.abs(off).max() < _CLOSED)

    def _at_zero(self, link: str) -> FramePose:
        """Return a link's frame in the world with all joints at zero."""
        joint = self.found.robot.carrier(link)
        return FramePose() if joint is None else self._at_zero(joint.parent) @ joint.pose

    def _is_planar(self, constraint: PinClosure) -> bool:
        """Whether the joints keep the points of a pin in its plane, at the start."""
        mechanism, q = self._mechanism, self._machine.initial_q
        point = PointClosure(constraint.name, a=constraint.a, b=constraint.b)
        others = [each for each in mechanism.constraints if each.name != constraint.name]
        full = Mechanism.build(
            mechanism.bodies, mechanism.joints, mechanism.gravity_m_s2, mechanism.points,
            mechanism.coordinates, [*others, point],
        )  # fmt: skip
        evaluation = constraint_evaluation(full, q, np.zeros(full.nv))
        normal, offset = evaluation.A[-1], float(evaluation.phi[-1])
        ways = admitted_velocities(mechanism, q)
        return bool(abs(offset) < 1e-9 and np.abs(normal @ ways).max(initial=0.0) < 1e-9)

    def _add_elements(self) -> None:
        names, found = list(self._mechanism.joint_names), self.found
        points = {point.name: point for point in self._mechanism.points}
        for element in self._mechanism.elements:
            if not isinstance(element, Spring):
                self._loses(f"the force {element.name}")
                continue
            if isinstance(element.line, BetweenPoints):
                if self._to != "mjcf" or element.preload or element.progressive:
                    self._loses(f"the spring {element.name}: {_TITLES[self._to]} has no such springs")
                    continue
                a, b = points[element.line.a], points[element.line.b]
                values = element.stiffness, element.damping, element.rest
                spring = SourceSpring(element.name, a.body, _at(a), b.body, _at(b), *values)
                found.robot.springs.append(spring)
                continue
            joint = found.robot.joints[found.dofs[names.index(element.line.dof)][0]]
            if self._to == "urdf" or element.preload or element.progressive or joint.stiffness:
                self._loses(f"the spring {element.name}: {_TITLES[self._to]} has no such springs")
                continue
            joint.stiffness, joint.rest = element.stiffness, element.rest
            joint.damping += element.damping

    def _list_losses(self) -> None:
        machine, robot, title = self._machine, self.found.robot, _TITLES[self._to]
        for contact in self._mechanism.contacts:
            self._loses(f"the contact {contact.name}")
        for stop in self._mechanism.stops:
            self._loses(f"the stop of {stop.dof}")
        for joint in robot.joints.values():
            if (
                joint.type in ("spherical", "floating")
                and self._to != "mjcf"
                and joint.damping + joint.friction
            ):
                self._loses(f"the friction of {joint.name}")
            if joint.type in _SEVERAL and self._to != "mjcf" and joint.armature:
                self._loses(f"the armature of {joint.name}")
        if self._to == "urdf" and not np.allclose(robot.gravity, [0.0, 0.0, -9.81], rtol=0.0, atol=1e-12):
            self._loses(
                f"gravity {robot.gravity.tolist()} m/s²: URDF has none, and 9.81 m/s² along -z is meant"
            )
        if self._to == "mjcf":
            for link in robot.links.values():
                if link.unphysical:
                    self._loses(f"the inertia of {link.name}, which no body has: the nearest one is written")
        if len(robot.motors or ()) < len(machine.motors):
            self.found.notes.append("motors of joints with several degrees of freedom are not written")
        notes = ["brakes, sensors, points, task coordinates, settings of plant and controller"]
        if self._to != "mjcf" and machine.assembly.rows:
            notes.append("the initial pose")
        self.found.notes.append(f"{title} has no place for {' and '.join(notes)}")


def _at(point: Point) -> Floats:
    return np.asarray(point.at_m)


def _suffix(name: str) -> str:
    return name.partition(".")[2] or name
