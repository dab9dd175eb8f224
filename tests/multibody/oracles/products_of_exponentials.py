"""Serial chains by products of exponentials, as in Xu & Liu 2017 with their misprints corrected.

Twists are ordered (linear; angular). Everything is stated at the zero pose; the mass matrix and its
derivatives come from adjoint transformations, the Coriolis matrix from Christoffel's symbols.
"""

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody import Mechanism


def hat(a: Floats) -> Floats:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def exponential(xi: Floats, q: float) -> Floats:
    """The motion (4 × 4) of a unit twist through q."""
    v, w = xi[:3], xi[3:]
    g = np.eye(4)
    if not w.any():
        g[:3, 3] = v * q
        return g
    k = hat(w)
    g[:3, :3] = np.eye(3) + np.sin(q) * k + (1.0 - np.cos(q)) * k @ k
    g[:3, 3] = (np.eye(3) - g[:3, :3]) @ np.cross(w, v) + w * (w @ v) * q
    return g


def adjoint(g: Floats) -> Floats:
    r = g[:3, :3]
    return np.block([[r, hat(g[:3, 3]) @ r], [np.zeros((3, 3)), r]])


def bracket(a: Floats, b: Floats) -> Floats:
    return np.concatenate([np.cross(a[3:], b[:3]) - np.cross(b[3:], a[:3]), np.cross(a[3:], b[3:])])


class ExponentialChain:
    """A serial chain of one-DOF joints, each body carried by the one before it."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.gravity = np.asarray(mechanism.gravity_m_s2)
        self.n = len(mechanism.joints)
        self.twists: list[Floats] = []
        self.frames: list[Floats] = []  # of the bodies, at zero
        self.centres: list[Floats] = []  # of mass, at zero
        self.masses: list[float] = []
        self.inertias: list[Floats] = []  # M'_l, at the zero pose
        self.armature = np.array([joint.armature for joint in mechanism.joints])
        g = np.eye(4)
        for body, joint in zip(mechanism.bodies, mechanism.joints, strict=True):
            step = np.eye(4)
            step[:3, :3], step[:3, 3] = joint.rotation, joint.at_m
            g = g @ step
            axis = g[:3, :3] @ np.asarray(joint.axis)
            if joint.kind == "prismatic":
                self.twists.append(np.concatenate([axis, np.zeros(3)]))
            else:
                along = joint.pitch_m_per_rad * axis
                self.twists.append(np.concatenate([along - np.cross(axis, g[:3, 3]), axis]))
            centre = np.eye(4)
            centre[:3, 3] = body.com_m
            centre = g @ centre
            self.frames.append(g.copy())
            self.centres.append(centre)
            self.masses.append(body.mass_kg)
            back = adjoint(np.linalg.inv(centre))
            own = np.zeros((6, 6))
            own[:3, :3], own[3:, 3:] = body.mass_kg * np.eye(3), body.inertia_kg_m2
            self.inertias.append(back.T @ own @ back)

    def _motion(self, q: Floats, first: int, last: int) -> Floats:
        g = np.eye(4)
        for k in range(first, last + 1):
            g = g @ exponential(self.twists[k], q[k])
        return g

    def pose(self, q: Floats, body: int) -> Floats:
        return self._motion(q, 0, body) @ self.frames[body]

    def _adjoints(self, q: Floats) -> list[list[Floats]]:
        """A[i][j] carries twist j to link i; zero for i < j."""
        n = self.n
        a = [[np.zeros((6, 6)) for _ in range(n)] for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                a[i][j] = adjoint(np.linalg.inv(self._motion(q, j + 1, i)))
        return a

    def mass_matrix(self, q: Floats) -> Floats:
        a, xi, n = self._adjoints(q), self.twists, self.n
        m = np.diag(self.armature)
        for i in range(n):
            for j in range(n):
                for k in range(max(i, j), n):
                    m[i, j] += xi[i] @ a[k][i].T @ self.inertias[k] @ a[k][j] @ xi[j]
        return m

    def coriolis(self, q: Floats, v: Floats) -> Floats:
        a, xi, n = self._adjoints(q), self.twists, self.n
        d = np.zeros((n, n, n))  # dM_ij / dq_k
        for i in range(n):
            for j in range(n):
                for k in range(n):
                    left, right = bracket(a[k][i] @ xi[i], xi[k]), bracket(a[k][j] @ xi[j], xi[k])
                    for link in range(max(i, j, k), n):
                        inertia = self.inertias[link]
                        d[i, j, k] += left @ a[link][k].T @ inertia @ a[link][j] @ xi[j]
                        d[i, j, k] += xi[i] @ a[link][i].T @ inertia @ a[link][k] @ right
        c: Floats = 0.5 * (
            np.einsum("ijk,k->ij", d, v) + np.einsum("ikj,k->ij", d, v) - np.einsum("kji,k->ij", d, v)
        )
        return c

    def body_jacobian(self, q: Floats, body: int, frame: Floats) -> Floats:
        """(linear; angular) in the axes of a frame fixed to a body, given by its place at the zero pose."""
        columns = np.zeros((6, self.n))
        for j in range(body + 1):
            g = self._motion(q, j, body) @ frame
            columns[:, j] = adjoint(np.linalg.inv(g)) @ self.twists[j]
        return columns

    def gravity_force(self, q: Floats) -> Floats:
        """dU/dq."""
        total = np.zeros(self.n)
        for k, (mass, centre) in enumerate(zip(self.masses, self.centres, strict=True)):
            rotation = (self._motion(q, 0, k) @ centre)[:3, :3]
            total -= mass * self.gravity @ rotation @ self.body_jacobian(q, k, centre)[:3]
        return total

    def bias(self, q: Floats, v: Floats) -> Floats:
        h: Floats = self.coriolis(q, v) @ v + self.gravity_force(q)
        return h
