"""Proof of an import: the tree as it was read, against MuJoCo or Pinocchio on random states.

Compared are mass matrix, bias, poses of the links, and the residuals of closures computed from the library's
poses. A simplified machine is not compared; tests compare the motion of simplified and literal machines.
"""

import math
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.convert.robots.limited_child import SECONDS, MissingLibrary, call
from linkwork.convert.robots.machine_writing import MachineWriter
from linkwork.convert.robots.robot_model import ImportProblem, RobotModel, SourceJoint
from linkwork.machine import MachineError
from linkwork.machine.loading import mechanism_of
from linkwork.multibody.constraints.constraint import Closure
from linkwork.multibody.formulations.evaluation import constraint_evaluation
from linkwork.multibody.functions import bias, mass_matrix
from linkwork.multibody.kernels.layout import ALONG, DISTANCE, PERPENDICULAR
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import WORLD, ModelError, Point
from linkwork.multibody.tree.joint_dof import onto_z
from linkwork.multibody.tree.kinematics import kinematics

STATES = 5
_AGREES = 1e-9
_NO_MASS_KG = 1e-12
"""Mass of links that have inertia only: the least that machine files allow."""
_POSITIONS = {"spherical": 4, "floating": 7}


@dataclass(frozen=True)
class Proof:
    """Largest relative differences on `states` random states; `without`: why nothing was compared.

    `library` says what was compared with, `of_source` whether it read the source itself; poses and closures
    relative to the robot's size. `whole` is the difference with all forces of the source, also those that the
    import leaves out; NaN where the library gives none.
    """

    library: str = ""
    states: int = 0
    mass_matrix: float = math.nan
    bias: float = math.nan
    poses: float = math.nan
    closures: float | None = None
    without: str = ""
    of_source: bool = True
    whole: float = math.nan

    @property
    def agrees(self) -> bool | None:
        """Whether all that was compared agrees; None where nothing was."""
        worst = max(self.mass_matrix, self.bias, self.poses, self.closures or 0.0)
        return None if self.without else worst <= _AGREES

    @property
    def complete(self) -> bool:
        """Whether the machine has all forces of the source."""
        return not self.whole > _AGREES

    def lines(self) -> list[str]:
        """Return what to show."""
        if self.without:
            return [f"not compared with another library: {self.without}"]
        parts = [
            f"{title} to {digits(value)} digits"
            for title, value in (
                ("mass matrix", self.mass_matrix),
                ("bias forces", self.bias),
                ("poses of links", self.poses),
                ("residuals of closures", self.closures),
            )
            if value is not None
        ]
        more = "" if self.agrees else ": THIS IS NOT THE ROBOT OF THE FILE; what has few digits is wrong"
        return [f"with {self.library} on {self.states} random states: {', '.join(parts)}{more}"]


def digits(difference: float) -> int:
    """Return the number of digits that agree at a relative difference, at most 16."""
    return max(0, min(16, math.floor(-math.log10(max(difference, 1e-16)))))


def prove(source: RobotModel, seconds: float = SECONDS, seed: int = 1) -> Proof:
    """Compare a robot as it was read, in a child process that may last `seconds`."""
    source = with_any_inertias(source)
    writer = MachineWriter(source)
    try:
        own = _OwnModel(source, writer, built(writer.text()))
    except (MachineError, ModelError) as error:
        return Proof(without=f"the unchanged model is no machine: {str(error).splitlines()[0]}")
    rng = np.random.default_rng(seed)
    states = [own.random_state(rng) for _ in range(STATES)]
    request: dict[str, Any] = {"states": states, "gravity": source.gravity.tolist()}
    library, worker, of_source = "Pinocchio", "pinocchio_worker:states", True
    if source.format == "mjcf":
        library, worker = "MuJoCo", "mujoco_worker:states"
        request["file"] = source.absolute_file
    elif source.format == "urdf" and _all_in_urdf(source):
        request |= {"file": source.absolute_file, "text": source.expanded}
        request["retyped"] = {name: _chain(source.joints[name]) for name in source.retyped}
        if "base" in source.joints and source.joints["base"].parent == WORLD:
            request["base"] = "base"
    else:
        library, of_source = "Pinocchio, which was given the tree as it was read,", False
        request |= _parts(source)
    try:
        found = call(worker, request, source.file, seconds)
    except MissingLibrary as missing:
        return Proof(without=f"{missing} is not installed")
    except ImportProblem as problem:
        return Proof(without=problem.message)
    differences = np.array([own.differences(*pair) for pair in zip(states, found, strict=True)])
    worst = differences.max(axis=0)
    closures = float(worst[3]) if own.mechanism.constraints else None
    mass, bias_forces, poses, _, whole = (float(each) for each in worst)
    return Proof(library, STATES, mass, bias_forces, poses, closures, "", of_source, whole)


def with_any_inertias(source: RobotModel) -> RobotModel:
    """Return a copy of a robot for comparisons of numbers, where links may have inertias that no body has."""
    copy = deepcopy(source)
    for link in copy.links.values():
        link.unphysical = True
        if link.mass == 0.0 and link.inertia.any():
            link.mass = _NO_MASS_KG
    return copy


@lru_cache(maxsize=1)
def built(text: str) -> Mechanism:
    """Return the mechanism of a machine file's text; the last one is kept, as two comparisons need it."""
    return mechanism_of(text)


def _all_in_urdf(source: RobotModel) -> bool:
    """Whether Pinocchio's URDF reader has the joints that were read, but for those that a sheet retypes."""
    known = {"revolute", "continuous", "prismatic", "fixed", "floating"}
    types = (joint.type for joint in source.joints.values() if joint.name not in source.retyped)
    return source.tree_from_file and known.issuperset(types)


def _parts(source: RobotModel) -> dict[str, Any]:
    (root,) = source.roots()
    joints, waiting = [], source.children(root)
    while waiting:  # depth first, as Pinocchio needs them
        joint = waiting.pop()
        joints.append(
            {
                "name": joint.name,
                "parent": joint.parent,
                "child": joint.child,
                "at": joint.pose.at.tolist(),
                "rotation": joint.pose.rotation.tolist(),
                "chain": _chain(joint),
            }
        )
        waiting += source.children(joint.child)
    return {
        "root": root,
        "joints": joints,
        "links": {
            link.name: [link.mass, link.com.tolist(), link.inertia.tolist()] for link in source.links.values()
        },
    }


def _chain(joint: SourceJoint) -> list[tuple[str, list[float], float, int]]:
    """Return elementary joints from the parent on: kind, axis, pitch, degree of freedom."""
    axis = joint.axis / np.linalg.norm(joint.axis)
    own = axis.tolist()
    match joint.type:
        case "fixed":
            return []
        case "spherical":
            return [("ball", own, 0.0, 0)]
        case "floating":
            return [("free", own, 0.0, 0)]
        case "prismatic":
            return [("slide", own, 0.0, 0)]
        case "universal":
            assert joint.second_axis is not None
            second = joint.second_axis / np.linalg.norm(joint.second_axis)
            return [("hinge", second.tolist(), 0.0, 1), ("hinge", own, 0.0, 0)]
        case "cylindrical":
            return [("slide", own, 0.0, 1), ("hinge", own, 0.0, 0)]
        case "planar":
            x, y, _ = onto_z(axis).T.tolist()
            return [("slide", x, 0.0, 0), ("slide", y, 0.0, 1), ("hinge", own, 0.0, 2)]
    return [("hinge", own, joint.pitch, 0)]


class _OwnModel:
    """linkwork's mechanism of a robot as it was read, with points that show the poses of its links."""

    def __init__(self, source: RobotModel, writer: MachineWriter, mechanism: Mechanism) -> None:
        self._source, self._names, self.mechanism = source, writer.names, mechanism
        (self._root,) = source.roots()
        self._bodies = {name: writer.names.of("link", name) for name in source.links if name != self._root}
        corners = np.vstack([np.zeros(3), np.eye(3)])
        points = [
            Point(f"{body}/{k}", body, corner)
            for body in self._bodies.values()
            for k, corner in enumerate(corners)
        ]
        self._posed = Mechanism.build(
            mechanism.bodies, mechanism.joints, mechanism.gravity_m_s2, points=points
        )
        self._moving = [joint for joint in source.joints.values() if joint.type != "fixed"]
        self._size = max([1e-3, *(float(np.abs(j.pose.at).max()) for j in source.joints.values())])

    def _places(self, joint: SourceJoint) -> list[int]:
        own = self._names.of("joint", joint.name)
        names = self.mechanism.joint_names
        return [k for k, name in enumerate(names) if name.partition(".")[0] == own]

    def random_state(self, rng: np.random.Generator) -> dict[str, dict[str, list[float]]]:
        """Return q and v by the source's joints."""
        q, v = {}, {}
        for joint in self._moving:
            count = len(self._places(joint))
            v[joint.name] = rng.normal(size=count).tolist()
            if joint.type in _POSITIONS:
                quaternion = rng.normal(size=4)
                before = rng.uniform(-1.0, 1.0, _POSITIONS[joint.type] - 4)
                q[joint.name] = [*before.tolist(), *(quaternion / np.linalg.norm(quaternion)).tolist()]
            else:
                q[joint.name] = rng.uniform(-1.0, 1.0, count).tolist()
        return {"q": q, "v": v}

    def differences(self, state: dict[str, Any], found: dict[str, Any]) -> tuple[float, ...]:
        """Return the relative differences of mass matrix, bias, poses, closures, and of the whole source."""
        mechanism = self.mechanism
        q, v = np.zeros(mechanism.nq), np.zeros(mechanism.nv)
        for joint in self._moving:
            places, values = self._places(joint), state["q"][joint.name]
            v[places] = state["v"][joint.name]
            if joint.type in _POSITIONS:
                *before, w, x, y, z = values
                q[places] = [*before, x, y, z]
                own = self._names.of("joint", joint.name)
                q[mechanism.position_names.index(f"{own}.quaternion")] = w
            else:
                q[places] = values
        by_name = {joint.name: self._places(joint) for joint in self._moving}
        order = [by_name[name][k] for name, k in found["dofs"]]
        wanted, terms = np.array(found["mass"]), np.array(found["bias"])
        mass = mass_matrix(mechanism, q)
        terms_of = bias(mechanism, q, v)
        for joint in self._moving:
            places = self._places(joint)
            if not found["springs"] and (joint.stiffness or joint.armature):
                mass[places, places] -= joint.armature
                terms_of[places] -= joint.stiffness * (q[places] - joint.rest)
            elif found["springs"] and joint.type != "floating":
                terms_of[places] += joint.damping * v[places]
        mass = mass[np.ix_(order, order)]
        own_bias, largest = terms_of[order], float(np.abs(wanted).max(initial=0.0))
        whole = math.nan
        if "whole_mass" in found:
            whole = max(
                _relative(mass, np.array(found["whole_mass"])),
                _relative(own_bias, np.array(found["whole_bias"]), largest),
            )
        return (
            _relative(mass, wanted),
            _relative(own_bias, terms, largest),
            self._poses_differ(q, found["bodies"]) / self._size,
            self._closures_differ(q, v, found["bodies"]) / self._size,
            whole,
        )

    def _poses_differ(self, q: Floats, poses: dict[str, Any]) -> float:
        work = self._posed.workspace(q)
        kinematics(*work.arguments)
        worst = 0.0
        for number, name in enumerate(self._bodies):
            if name not in poses:
                continue
            at, axes = np.array(poses[name][0]), np.array(poses[name][1]).reshape(3, 3)
            found = work.point_position[4 * number : 4 * number + 4]
            anchor = axes @ self._source.anchors.get(name, np.zeros(3))
            worst = max(worst, float(np.abs(found[0] - at - anchor).max()))
            worst = max(worst, float(np.abs((found[1:] - found[0]).T - axes).max()))
        return worst

    def _closures_differ(self, q: Floats, v: Floats, poses: dict[str, Any]) -> float:
        """Compare the residuals of closures with those of the library's poses."""
        phi = constraint_evaluation(self.mechanism, q, v).phi
        known = {own: name for name, own in self._bodies.items()}
        worst, row = 0.0, 0
        for constraint in self.mechanism.constraints:
            for each in constraint.rows:
                if isinstance(constraint, Closure):
                    (p, a), (r, b) = (
                        self._frame(frame.body, known, poses, frame) for frame in (constraint.a, constraint.b)
                    )
                    d = r - p
                    wanted = None
                    if each.kind == ALONG:
                        wanted = float(a[:, each.i] @ d) - each.offset
                    elif each.kind == PERPENDICULAR:
                        wanted = float(a[:, each.i] @ b[:, each.j])
                    elif each.kind == DISTANCE:
                        wanted = float(np.linalg.norm(d)) - getattr(constraint, "distance_m", 0.0)
                    if wanted is not None:
                        worst = max(worst, abs(float(phi[row]) - wanted))
                row += 1
        return worst

    def _frame(
        self, body: str, known: dict[str, str], poses: dict[str, Any], frame: Any
    ) -> tuple[Floats, Floats]:
        if body == WORLD:
            return np.asarray(frame.at_m), np.asarray(frame.rotation)
        name = known[body]
        at, axes = np.array(poses[name][0]), np.array(poses[name][1]).reshape(3, 3)
        anchor = self._source.anchors.get(name, np.zeros(3))
        return at + axes @ (anchor + np.asarray(frame.at_m)), axes @ np.asarray(frame.rotation)


def _relative(found: Floats, wanted: Floats, least: float = 1e-12) -> float:
    """Return the difference relative to the largest number, which counts as `least` or more."""
    return float(np.abs(found - wanted).max(initial=0.0) / max(np.abs(wanted).max(initial=0.0), least))
