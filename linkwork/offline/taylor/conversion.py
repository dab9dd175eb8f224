"""A mechanism (tree and closures) as a maximal model, and the model's state in the tree's coordinates."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats
from linkwork.multibody.constraints import (
    Closure,
    Constraint,
    CylindricalClosure,
    PinClosure,
    PointClosure,
    PrismaticClosure,
    RevoluteClosure,
)
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.forces import OnJoint, pushed_bodies
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import Joint, ModelError
from linkwork.multibody.tree import orientations, quaternions
from linkwork.multibody.workspace import Workspace
from linkwork.offline.taylor.independent_closures import without_redundancy
from linkwork.offline.taylor.stepper import TaylorStepper
from linkwork.offline.taylor.taylor_model import Connection, JointFrame, MaximalModel

_CLOSURES: dict[type[Constraint], str] = {
    PointClosure: "spherical",
    PinClosure: "pin",
    RevoluteClosure: "revolute",
    CylindricalClosure: "cylindrical",
    PrismaticClosure: "prismatic",
}
_REMEDY = 'use formulation "projected", which takes all of them'


def maximal_model_of(mechanism: Mechanism, q: npt.ArrayLike | None = None) -> MaximalModel:
    """The maximal model of a tree and its closures, near the assembled pose q (nq) where it is given.

    With q, rows that repeat others are left out (independent_closures.py): of planar loops of hinges, which
    the stepper could not solve otherwise.

    Raises ModelError, whose `where` names the part, for joints other than spherical, revolute,
    cylindrical, prismatic and fixed ones, for closures other than point, pin, revolute, cylindrical and
    prismatic ones, for redundant rows that cannot be left out, for bodies without inertia,
    and for stops and contacts. Constraints that begin switched off are left out.
    """
    closures = [_closure(constraint) for constraint in mechanism.constraints if constraint.on]
    model = MaximalModel.from_mechanism(mechanism, closures)
    if q is None:
        return model
    closures = [_closure(constraint) for constraint in without_redundancy(mechanism, q)]
    return MaximalModel.from_mechanism(mechanism, closures)


def _closure(constraint: Constraint) -> Connection:
    kind = _CLOSURES.get(type(constraint))
    if kind is None or not isinstance(constraint, Closure):
        name = type(constraint).__name__.removesuffix("Closure").removesuffix("Constraint").lower()
        raise ModelError(
            "the Taylor stepper has closures of the kinds point, pin, revolute, cylindrical and prismatic, "
            f"but none of kind {name}: close the loop by one of these, or {_REMEDY}",
            ("constraints", constraint.name),
        )
    if any(constraint.baumgarte):
        raise ModelError(
            f"the Taylor stepper has no stabilisation: leave out alpha and beta, or {_REMEDY}",
            ("constraints", constraint.name),
        )
    a, b = (JointFrame(end.body, end.at_m, end.rotation) for end in (constraint.a, constraint.b))
    return Connection(constraint.name, kind, a, b)


class TreeConversion:
    """Reads q and v of a tree from the bodies of a stepper; angles are counted on through whole turns.

    Where closures have opened by the error of the steps, q and v are those of the tree's own joints.
    """

    def __init__(self, mechanism: Mechanism, stepper: TaylorStepper, q: npt.ArrayLike) -> None:
        """Begin at a q that fits the stepper's state: it chooses whole turns and signs of quaternions."""
        self._mechanism, self._stepper = mechanism, stepper
        self._bodies = {point.name: point.body for point in mechanism.points}
        self._q = np.array(q, dtype=np.float64)
        dofs = stepper.model.dof_names
        own = [name for name in mechanism.joint_names if name in dofs]
        self._places = [mechanism.joint_index(name) for name in own]
        self._dof = [dofs.index(name) for name in own]
        self._balls = [
            (joint, self._ball_places(joint)) for joint in mechanism.joints if joint.kind == "spherical"
        ]

    def _ball_places(self, joint: Joint) -> list[int]:
        names = self._mechanism.position_names
        suffixes = ["rx", "ry", "rz", *(["quaternion"] if joint.coordinates == "quaternion" else [])]
        return [names.index(f"{joint.name}.{suffix}") for suffix in suffixes]

    def push(self, work: Workspace) -> None:
        """Give the stepper the loads of a state: springs, applied forces and efforts, held until the next.

        work: q, v, clock and effort (nv) of the tree. Raises ModelError for an effort that has no place.
        """
        stepper, mechanism, effort = self._stepper, self._mechanism, work.effort.copy()
        stepper.release()
        if mechanism.elements:
            dynamics(*work.arguments)
        for i, element in enumerate(mechanism.elements):
            if isinstance(element.line, OnJoint):
                effort[mechanism.joint_index(element.line.dof)] += work.element_force[i, 2]
            for end, body in enumerate(pushed_bodies(element.line, self._bodies)):
                moment, force = work.element_wrench[2 * (2 * i + end) :][:2]
                arm = stepper.pose(body).origin - work.reference[0]
                stepper.apply(body, force, torque_N_m=moment - np.cross(arm, force))
        stepper.effort[:] = efforts_of(stepper.model, mechanism, effort)

    def read(self) -> tuple[Floats, Floats]:
        """q (nq) and v (nv) now."""
        v = np.zeros(self._mechanism.nv)
        self._q[self._places] = self._stepper.coordinate[self._dof]
        v[self._places] = self._stepper.rate[self._dof]
        for joint, places in self._balls:
            parent, child = self._stepper.pose(joint.parent), self._stepper.pose(joint.child)
            turned = (parent.axes @ np.asarray(joint.rotation)).T @ child.axes
            omega = child.axes.T @ (child.angular_velocity - parent.angular_velocity)
            if len(places) == 4:
                now = quaternions.from_matrix(turned)[[1, 2, 3, 0]]
                self._q[places] = now if now @ self._q[places] >= 0.0 else -now
                v[places[:3]] = omega
            else:
                angles, near = orientations.to_angles_321(turned)[::-1], self._q[places]
                self._q[places] = angles + 2.0 * np.pi * np.round((near - angles) / (2.0 * np.pi))
                if abs(np.cos(angles[1])) < 1e-9:
                    text = "the angles of a spherical joint are singular here; give it quaternion coordinates"
                    raise ModelError(text)
                rates = orientations.angles_321_rates(angles[::-1])
                v[places] = np.linalg.solve(rates, turned @ omega)[::-1]
        return self._q.copy(), v


def efforts_of(model: MaximalModel, mechanism: Mechanism, effort: Sequence[float] | Floats) -> Floats:
    """Efforts (nf) along the model's degrees of freedom from those on the tree's (nv).

    Raises ModelError for an effort on a degree of freedom that the model has not (those of spherical joints).
    """
    found = np.zeros(len(model.dof_names))
    for name, value in zip(mechanism.joint_names, effort, strict=True):
        if name in model.dof_names:
            found[model.dof_names.index(name)] = value
        elif value != 0.0:
            raise ModelError(
                f"the Taylor stepper has no motor on {name}: leave its effort 0, or {_REMEDY}",
                ("joints", name),
            )
    return found
