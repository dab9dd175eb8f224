"""The same mechanism in MuJoCo: mass matrix and bias force."""

import mujoco
import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody import Mechanism


class MujocoModel:
    """Mass matrix and bias force in this project's order of coordinates."""

    def __init__(self, mechanism: Mechanism) -> None:
        spec = mujoco.MjSpec()
        spec.compiler.balanceinertia = False
        spec.compiler.boundmass = 0.0
        spec.option.gravity = np.asarray(mechanism.gravity_m_s2)
        bodies = {body.name: body for body in mechanism.bodies}
        places = {"world": spec.worldbody}
        waiting = list(mechanism.joints)
        while waiting:
            joint = waiting.pop(0)
            if joint.parent not in places:
                waiting.append(joint)
                continue
            body = bodies[joint.child]
            quaternion = np.zeros(4)
            mujoco.mju_mat2Quat(quaternion, np.asarray(joint.rotation).ravel())
            inertia = np.asarray(body.inertia_kg_m2)
            place = places[joint.parent].add_body(
                name=body.name,
                pos=np.asarray(joint.at_m),
                quat=quaternion,
                mass=body.mass_kg,
                ipos=np.asarray(body.com_m),
                fullinertia=[*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]],
                explicitinertial=True,
            )
            places[body.name] = place
            kinds = {"revolute": mujoco.mjtJoint.mjJNT_HINGE, "prismatic": mujoco.mjtJoint.mjJNT_SLIDE}
            if joint.kind != "fixed":
                place.add_joint(
                    name=joint.name,
                    type=kinds[joint.kind],
                    axis=np.asarray(joint.axis),
                    armature=joint.armature,
                )
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.order = [self.model.joint(name).dofadr[0] for name in mechanism.joint_names]

    def dynamics(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """M and h."""
        self.data.qpos[self.order], self.data.qvel[self.order] = q, v
        mujoco.mj_forward(self.model, self.data)
        full = np.zeros((self.model.nv, self.model.nv))
        for column, unit in zip(full, np.eye(self.model.nv), strict=True):
            mujoco.mj_mulM(self.model, self.data, column, unit)
        return full[np.ix_(self.order, self.order)], self.data.qfrc_bias[self.order].copy()
