"""A machine in Pinocchio: joints as chains of elements, closures as contacts between points.

A hinge that closes a loop is two points that coincide, both on its axis: six rows of rank five, which allow
the same motions. The row of a slider along a line is a body on a slide, which takes half of the mass there.
"""

from typing import Any

import numpy as np
import pinocchio as pin

from linkwork.arrays import Floats
from linkwork.multibody import Joint, Mechanism
from linkwork.multibody.constraints import (
    Closure,
    CoordinateConstraint,
    PointClosure,
    RevoluteClosure,
    WeldClosure,
)
from linkwork.multibody.constraints.constraint import Frame
from linkwork.multibody.tree.kinematics import kinematics
from tests.verification.elements import Element, NotExpressible, elements_of, first_dof, scalars

_MAKERS = {
    "turn": lambda e: pin.JointModelRevoluteUnaligned(e.axis),
    "slide": lambda e: pin.JointModelPrismaticUnaligned(e.axis),
    "screw": lambda e: pin.JointModelHelicalUnaligned(e.axis, e.pitch),
    "ball": lambda e: pin.JointModelSpherical(),
}


class InPinocchio:
    """M, h and the constrained acceleration, in this project's order of coordinates."""

    function = staticmethod(pin.constraintDynamics)

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.asarray(mechanism.gravity_m_s2), np.zeros(3))
        self._bodies = {body.name: body for body in mechanism.bodies}
        self._places = {"world": (0, pin.SE3.Identity())}
        self._joints: list[tuple[int, int, int]] = []  # joint number; first place in v, scalar part or -1
        self._starts, self._scalars = first_dof(mechanism), scalars(mechanism)
        self._slides: list[tuple[int, int]] = []
        self._grow("world")
        self._contacts: list[pin.RigidConstraintModel] = []
        self._close()
        armature = np.zeros(self.model.nv)
        owners = [joint for joint in mechanism.joints for _ in range(_width(joint))]
        self.viscous = np.array([joint.viscous for joint in owners])
        self.order = np.zeros(mechanism.nv, dtype=int)
        for number, first, _ in self._joints:
            theirs = self.model.joints[number]
            for k in range(theirs.nv):
                self.order[first + k] = theirs.idx_v + k
                armature[theirs.idx_v + k] = owners[first + k].armature
        self.model.armature = armature
        self.data = self.model.createData()
        self.datas = pin.StdVec_RigidConstraintData()
        self.models = pin.StdVec_RigidConstraintModel()
        for contact in self._contacts:
            self.models.append(contact)
            self.datas.append(contact.createData())
        pin.initConstraintDynamics(self.model, self.data, self.models, self.datas)
        self.settings = pin.ProximalSettings(1e-14, 1e-8, 200)

    def _grow(self, parent: str) -> None:
        for joint in self.mechanism.joints:  # depth first: else Pinocchio's numbers are wrong
            if joint.parent == parent:
                self._add(joint)
                self._grow(joint.child)

    def _add(self, joint: Joint) -> None:
        number, placement = self._places[joint.parent]
        placement = placement * pin.SE3(np.asarray(joint.rotation), np.asarray(joint.at_m))
        for element in elements_of(joint):
            number = self._join(number, element, placement, f"{joint.name}.{element.place}")
            first = self._starts[joint.name] + element.place
            scalar = self._scalars[joint.name] if element.kind == "ball" else -1
            self._joints.append((number, first, scalar))
            placement = pin.SE3.Identity()
        self._places[joint.child] = (number, placement)
        body = self._bodies[joint.child]
        inertia = pin.Inertia(body.mass_kg, np.asarray(body.com_m), np.asarray(body.inertia_kg_m2))
        self.model.appendBodyToJoint(number, inertia, placement)

    def _join(self, parent: int, element: Element, placement: pin.SE3, name: str) -> int:
        return self.model.addJoint(parent, _MAKERS[element.kind](element), placement, name)

    def _close(self) -> None:
        for constraint in (each for each in self.mechanism.constraints if each.on):
            if isinstance(constraint, PointClosure):
                self._contact(constraint, [np.zeros(3)])
            elif isinstance(constraint, RevoluteClosure):
                self._contact(constraint, [np.zeros(3), np.array([0.0, 0.0, 0.1])])
            elif isinstance(constraint, WeldClosure):
                self._contact(constraint, [np.zeros(3)], pin.ContactType.CONTACT_6D)
            elif isinstance(constraint, CoordinateConstraint):
                self._slider(constraint)
            else:
                raise NotExpressible(f"{constraint.name}: {type(constraint).__name__}")

    def _seat(self, frame: Frame, at: Floats) -> tuple[int, pin.SE3]:
        number, offset = self._places[frame.body]
        own = pin.SE3(np.asarray(frame.rotation), np.asarray(frame.at_m))
        return number, offset * own * pin.SE3(np.eye(3), at)

    def _contact(
        self, closure: Closure, points: list[Floats], kind: pin.ContactType = pin.ContactType.CONTACT_3D
    ) -> None:
        for at in points:
            a, b = self._seat(closure.a, at), self._seat(closure.b, at)
            self._contacts.append(
                pin.RigidConstraintModel(kind, self.model, *a, *b, pin.ReferenceFrame.LOCAL)
            )

    def _slider(self, constraint: CoordinateConstraint) -> None:
        """y of a point is prescribed: it sits on a body that slides along x, half of the mass there."""
        coordinate = next(c for c in self.mechanism.coordinates if c.name == constraint.of)
        point = next((p for p in self.mechanism.points if p.name == coordinate.of), None)
        body = self._bodies[point.body] if point is not None else None
        if coordinate.kind != "y" or point is None or body is None:
            raise NotExpressible(f"{constraint.name}: {coordinate.kind}")
        if np.asarray(body.inertia_kg_m2).any() or not np.array_equal(body.com_m, point.at_m):
            raise NotExpressible(f"{constraint.name}: the mass does not lie at the point")
        number, offset = self._places[point.body]
        half = pin.Inertia(0.5 * body.mass_kg, np.asarray(body.com_m), np.zeros((3, 3)))
        self.model.inertias[number] = half
        slide = self.model.addJoint(
            0, pin.JointModelPX(), pin.SE3(np.eye(3), np.array([0.0, constraint.value, 0.0])), constraint.name
        )
        alone = pin.Inertia(0.5 * body.mass_kg, np.zeros(3), np.zeros((3, 3)))
        self.model.appendBodyToJoint(slide, alone, pin.SE3.Identity())
        self._slides.append((slide, self.mechanism.point_index(point.name)))
        seat = offset * pin.SE3(np.eye(3), np.asarray(point.at_m))
        self._contacts.append(
            pin.RigidConstraintModel(
                pin.ContactType.CONTACT_3D, self.model, slide, pin.SE3.Identity(), number, seat,
                pin.ReferenceFrame.LOCAL,
            )
        )  # fmt: skip

    def positions(self, q: Floats) -> Floats:
        """q in their order; quaternions are (vector, scalar) in place."""
        theirs = np.zeros(self.model.nq)
        for number, first, scalar in self._joints:
            joint = self.model.joints[number]
            theirs[joint.idx_q : joint.idx_q + joint.nv] = q[first : first + joint.nv]
            if scalar >= 0:
                theirs[joint.idx_q + 3] = q[scalar]
        return theirs

    def theirs(self, ours: Floats) -> Floats:
        """Velocities or efforts in their order."""
        found = np.zeros(self.model.nv)
        found[self.order] = ours
        return found

    def mass_matrix(self, q: Floats) -> Floats:
        """M."""
        pin.crba(self.model, self.data, self.positions(q))
        upper = np.triu(self.data.M)
        full: Floats = upper + np.triu(upper, 1).T
        return full[np.ix_(self.order, self.order)]

    def bias(self, q: Floats, v: Floats) -> Floats:
        """h."""
        h: Floats = pin.nonLinearEffects(self.model, self.data, self.positions(q), self.theirs(v))
        return h[self.order]

    def state(self, q: Floats, v: Floats, effort: Floats) -> tuple[Floats, Floats, Floats]:
        """Arguments of `constraintDynamics`; sliders go where their points are."""
        positions, velocities = self.positions(q), self.theirs(v)
        if self._slides:
            w = self.mechanism.workspace()
            w.q[:], w.v[:] = q, v
            kinematics(*w.arguments)
            for number, point in self._slides:
                joint = self.model.joints[number]
                positions[joint.idx_q] = w.point_position[point, 0]
                velocities[joint.idx_v] = w.point_velocity[point, 0]
        return positions, velocities, self.theirs(effort)

    def lcaba(self, q: Floats, v: Floats, effort: Floats) -> tuple[Any, ...]:
        """Arguments of `pin.lcaba`, with an order of joints that is computed here.

        A larger mu converges to smaller differences in more iterations.
        """
        pin.computeJointMinimalOrdering(self.model, self.data, self.models)
        settings = pin.ProximalSettings(1e-12, 1e-4, 30)
        return self.model, self.data, *self.state(q, v, effort), self.models, self.datas, settings

    def acceleration(self, q: Floats, v: Floats, effort: Floats) -> Floats:
        """v̇ under the constraints."""
        given = (self.model, self.data, *self.state(q, v, effort - self.viscous * v), self.models, self.datas)
        found: Floats = self.function(*given, self.settings)
        return found[self.order].copy()


def _width(joint: Joint) -> int:
    return sum(3 if element.kind == "ball" else 1 for element in elements_of(joint))
