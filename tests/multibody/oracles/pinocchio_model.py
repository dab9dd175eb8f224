"""The same mechanism in Pinocchio, whose joints must be numbered depth first: else its numbers are wrong."""

import numpy as np
import pinocchio as pin

from linkwork.arrays import Floats
from linkwork.multibody import Body, Joint, Mechanism


class PinocchioModel:
    """Mass matrix, bias force, and kinematics of points, in this project's order of coordinates."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.asarray(mechanism.gravity_m_s2), np.zeros(3))
        self._bodies = {body.name: body for body in mechanism.bodies}
        self._places = {"world": (0, pin.SE3.Identity())}
        self._grow("world")
        moving = [joint for joint in mechanism.joints if joint.kind != "fixed"]
        numbers = [self.model.joints[self.model.getJointId(joint.name)] for joint in moving]
        self.order = [number.idx_v + k for number in numbers for k in range(number.nv)]
        self.model.armature = np.zeros(self.model.nv)
        for joint, number in zip(moving, numbers, strict=True):
            self.model.armature[number.idx_v : number.idx_v + number.nv] = joint.armature
        for point in mechanism.points:
            parent, offset = self._places[point.body]
            placement = offset * pin.SE3(np.eye(3), np.asarray(point.at_m))
            self.model.addFrame(pin.Frame(point.name, parent, placement, pin.FrameType.OP_FRAME))
        self.data = self.model.createData()

    def _grow(self, parent: str) -> None:
        for joint in self.mechanism.joints:
            if joint.parent == parent:
                self._add(joint, self._bodies[joint.child])
                self._grow(joint.child)

    def _add(self, joint: Joint, body: Body) -> None:
        parent, offset = self._places[joint.parent]
        placement = offset * pin.SE3(np.asarray(joint.rotation), np.asarray(joint.at_m))
        if joint.kind == "fixed":
            self._places[body.name] = (parent, placement)
        else:
            makers = {
                "revolute": pin.JointModelRevoluteUnaligned,
                "prismatic": pin.JointModelPrismaticUnaligned,
                "spherical": lambda axis: pin.JointModelSpherical(),
            }
            number = self.model.addJoint(
                parent, makers[joint.kind](np.asarray(joint.axis)), placement, joint.name
            )
            self._places[body.name] = (number, pin.SE3.Identity())
        inertia = pin.Inertia(body.mass_kg, np.asarray(body.com_m), np.asarray(body.inertia_kg_m2))
        self.model.appendBodyToJoint(*self._places[body.name][:1], inertia, self._places[body.name][1])

    def _positions(self, q: Floats) -> Floats:
        """q in their order; quaternions are (vector, scalar) in place."""
        theirs = np.zeros(self.model.nq)
        k, scalar = 0, self.mechanism.nv
        for joint in self.mechanism.joints:
            if joint.kind == "fixed":
                continue
            number = self.model.joints[self.model.getJointId(joint.name)]
            theirs[number.idx_q : number.idx_q + number.nv] = q[k : k + number.nv]
            if number.nq > number.nv:
                theirs[number.idx_q + number.nv] = q[scalar]
                scalar += 1
            k += number.nv
        return theirs

    def _theirs(self, ours: Floats) -> Floats:
        theirs = np.zeros(len(ours))
        theirs[self.order] = ours
        return theirs

    def mass_matrix(self, q: Floats) -> Floats:
        pin.crba(self.model, self.data, self._positions(q))
        upper = np.triu(self.data.M)
        full: Floats = upper + np.triu(upper, 1).T
        return full[np.ix_(self.order, self.order)]

    def bias(self, q: Floats, v: Floats) -> Floats:
        h: Floats = pin.nonLinearEffects(self.model, self.data, self._positions(q), self._theirs(v))
        return h[self.order]

    def point(self, name: str, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
        """Position, Jacobian (angular; linear) in world axes at the point, and J̇ v."""
        frame, axes = self.model.getFrameId(name), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        theirs = self._positions(q), self._theirs(v), np.zeros(len(v))
        pin.forwardKinematics(self.model, self.data, *theirs)
        pin.updateFramePlacements(self.model, self.data)
        j = pin.computeFrameJacobian(self.model, self.data, theirs[0], frame, axes)
        j = j.reshape(6, -1)[:, self.order]
        bias = pin.getFrameClassicalAcceleration(self.model, self.data, frame, axes)
        position = self.data.oMf[frame].translation.copy()
        return position, np.vstack([j[3:], j[:3]]), np.concatenate([bias.angular, bias.linear])

    def joint_wrenches(
        self, q: Floats, v: Floats, effort: Floats
    ) -> dict[str, tuple[Floats, Floats, Floats, Floats]]:
        """Of each joint: place and axes (world) of its child's frame, force and moment that it transmits."""
        theirs = self._positions(q), self._theirs(v)
        acceleration = pin.aba(self.model, self.data, *theirs, self._theirs(effort))
        pin.rnea(self.model, self.data, *theirs, acceleration)
        pin.forwardKinematics(self.model, self.data, *theirs)
        found = {}
        for joint in self.mechanism.joints:
            number = self.model.getJointId(joint.name)
            pose, wrench = self.data.oMi[number], self.data.f[number]
            axes = pose.rotation.copy()
            found[joint.name] = pose.translation.copy(), axes, axes @ wrench.linear, axes @ wrench.angular
        return found
