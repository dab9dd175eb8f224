"""A tree in MuJoCo, several joints to a body: M and h. Screws, and bodies without size, it does not have."""

import mujoco
import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody import Mechanism
from tests.verification.elements import NotExpressible, elements_of, first_dof, scalars

_KINDS = {
    "turn": mujoco.mjtJoint.mjJNT_HINGE,
    "slide": mujoco.mjtJoint.mjJNT_SLIDE,
    "ball": mujoco.mjtJoint.mjJNT_BALL,
}


class InMujoco:
    """Mass matrix and bias force in this project's order of coordinates; constraints are left out."""

    def __init__(self, mechanism: Mechanism) -> None:
        spec = mujoco.MjSpec()
        spec.compiler.balanceinertia = False
        spec.compiler.boundmass = 0.0
        spec.option.gravity = np.asarray(mechanism.gravity_m_s2)
        bodies = {body.name: body for body in mechanism.bodies}
        starts, scalar_parts = first_dof(mechanism), scalars(mechanism)
        places = {"world": spec.worldbody}
        waiting = list(mechanism.joints)
        names: list[tuple[str, int, int]] = []
        while waiting:
            joint = waiting.pop(0)
            if joint.parent not in places:
                waiting.append(joint)
                continue
            body, quaternion = bodies[joint.child], np.zeros(4)
            mujoco.mju_mat2Quat(quaternion, np.asarray(joint.rotation).ravel())
            inertia = np.asarray(body.inertia_kg_m2)
            if np.linalg.eigvalsh(inertia)[0] <= 0.0:
                raise NotExpressible(f"{body.name}: a body without inertia about some axis")
            place = places[body.name] = places[joint.parent].add_body(
                name=body.name, pos=np.asarray(joint.at_m), quat=quaternion, mass=body.mass_kg,
                ipos=np.asarray(body.com_m), explicitinertial=True,
                fullinertia=[*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]],
            )  # fmt: skip
            for element in elements_of(joint):
                if element.kind not in _KINDS:
                    raise NotExpressible(f"{joint.name}: {element.kind}")
                name = f"{joint.name}.{element.place}"
                place.add_joint(
                    name=name, type=_KINDS[element.kind], axis=element.axis, armature=joint.armature
                )
                scalar = scalar_parts[joint.name] if element.kind == "ball" else -1
                names.append((name, starts[joint.name] + element.place, scalar))
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.order = np.zeros(mechanism.nv, dtype=int)
        self._joints: list[tuple[int, int, int]] = []
        for name, first, scalar in names:
            theirs = self.model.joint(name)
            for k in range(3 if scalar >= 0 else 1):
                self.order[first + k] = theirs.dofadr[0] + k
            self._joints.append((int(theirs.qposadr[0]), first, scalar))

    def dynamics(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """M and h."""
        for at, first, scalar in self._joints:
            if scalar >= 0:
                self.data.qpos[at], self.data.qpos[at + 1 : at + 4] = q[scalar], q[first : first + 3]
            else:
                self.data.qpos[at] = q[first]
        self.data.qvel[self.order] = v
        mujoco.mj_forward(self.model, self.data)
        full = np.zeros((self.model.nv, self.model.nv))
        for column, unit in zip(full, np.eye(self.model.nv), strict=True):
            mujoco.mj_mulM(self.model, self.data, column, unit)
        return full[np.ix_(self.order, self.order)], self.data.qfrc_bias[self.order].copy()
