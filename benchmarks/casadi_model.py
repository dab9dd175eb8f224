"""A mechanism's M, h and A in CasADi, by the customary recursions, for comparison with generated code.

Written for CasADi as its users do: 3-vectors and 3 × 3 matrices of SX, Newton-Euler and composite inertias in
link frames, A from the Jacobian of the closures' residuals or from screws; CasADi removes zeros and shares
what occurs twice (`cse`). Point closures alone.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from linkwork.multibody import Mechanism
from linkwork.multibody.constraints import Frame, PointClosure
from linkwork.multibody.tree.link_tree import FOLLOWS, SCREW, links_of


class CasadiModel:
    """M (nv × nv), h (nv), Φ (nr) and A (nr × nv) as functions of the SX vectors q and v."""

    def __init__(self, mechanism: Mechanism) -> None:
        """Name the inputs and run the recursions outwards."""
        self.mechanism = mechanism
        self.links, self.seats, _ = links_of(mechanism.bodies, mechanism.joints)
        self.q, self.v = ca.SX.sym("q", mechanism.nq), ca.SX.sym("v", mechanism.nv)
        self.R: list[Any] = []  # child axes in the parent's
        self.p: list[Any] = []  # child origin in the parent
        for link in self.links:
            fixed, z = _tidy(link.axes), _tidy(link.axes[:, 2])
            slide = link.travel * self.q[link.coordinate] if link.scalar == SCREW else 0
            self.p.append(_tidy(link.origin) + slide * z)
            self.R.append(fixed @ self._turn(link))

    def _turn(self, link: Any) -> Any:
        if link.scalar == FOLLOWS or (link.scalar == SCREW and link.turn == 0.0):
            return ca.SX.eye(3)
        if link.scalar == SCREW:
            c, s = ca.cos(link.turn * self.q[link.coordinate]), ca.sin(link.turn * self.q[link.coordinate])
            return ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, 1))
        s, (x, y, z) = self.q[link.scalar], ca.vertsplit(self.q[link.coordinate : link.coordinate + 3])
        return ca.vertcat(
            ca.horzcat(1 - 2 * (y * y + z * z), 2 * (x * y - s * z), 2 * (x * z + s * y)),
            ca.horzcat(2 * (x * y + s * z), 1 - 2 * (x * x + z * z), 2 * (y * z - s * x)),
            ca.horzcat(2 * (x * z - s * y), 2 * (y * z + s * x), 1 - 2 * (x * x + y * y)),
        )

    def bias(self) -> Any:
        """h by recursive Newton-Euler."""
        w: list[Any] = []
        wd: list[Any] = []
        a: list[Any] = []
        base: list[Any] = []
        wrench: list[Any] = []
        zero = ca.SX(3, 1)
        for i, link in enumerate(self.links):
            k = link.parent
            wp, wdp, ap = (w[k], wd[k], a[k]) if k >= 0 else (zero, zero, _tidy(-self.mechanism.gravity_m_s2))
            back, p = self.R[i].T, self.p[i]
            turn = ca.vertcat(0, 0, link.turn * self.v[link.place])
            slide = ca.vertcat(0, 0, link.travel * self.v[link.place])
            inner = back @ wp
            carrier = back @ base[k] if link.scalar == FOLLOWS else inner
            base.append(carrier)
            w.append(inner + turn)
            wd.append(back @ wdp + ca.cross(carrier, turn))
            at = back @ (ap + ca.cross(wdp, p) + ca.cross(wp, ca.cross(wp, p)))
            a.append(at + 2 * ca.cross(inner, slide))
            first, second = _tidy(link.first), _tidy(link.second)
            force = link.mass * a[i] + ca.cross(wd[i], first) + ca.cross(w[i], ca.cross(w[i], first))
            moment = second @ wd[i] + ca.cross(w[i], second @ w[i]) + ca.cross(first, a[i])
            wrench.append((force, moment))
        h = ca.SX(self.mechanism.nv, 1)
        for i in reversed(range(len(self.links))):
            link, (force, moment) = self.links[i], wrench[i]
            h[link.place] = link.turn * moment[2] + link.travel * force[2]
            if link.parent >= 0:
                force, moment = self.R[i] @ force, self.R[i] @ moment
                f, n = wrench[link.parent]
                wrench[link.parent] = f + force, n + moment + ca.cross(self.p[i], force)
        return h

    def mass_matrix(self) -> Any:
        """M by composite inertias."""
        n = self.mechanism.nv
        M = ca.SX(n, n)
        mass = [link.mass for link in self.links]
        first = [_tidy(link.first) for link in self.links]
        second = [_tidy(link.second) for link in self.links]
        for i in reversed(range(len(self.links))):
            link = self.links[i]
            z = ca.SX([0, 0, 1])
            force = link.travel * mass[i] * z + link.turn * ca.cross(z, first[i])
            moment = link.turn * second[i][:, 2] + link.travel * ca.cross(first[i], z)
            k = link.place
            M[k, k] = link.turn * moment[2] + link.travel * force[2] + link.joint.armature
            at = i
            while self.links[at].parent >= 0:
                force, moment = self.R[at] @ force, self.R[at] @ moment
                moment += ca.cross(self.p[at], force)
                at = self.links[at].parent
                j = self.links[at].place
                M[j, k] = M[k, j] = self.links[at].turn * moment[2] + self.links[at].travel * force[2]
            if link.parent >= 0:
                R, p = self.R[i], self.p[i]
                turned, c = R @ second[i] @ R.T, R @ first[i]
                moved = 2 * ca.dot(p, c) * ca.SX.eye(3) - p @ c.T - c @ p.T
                moved += mass[i] * (ca.dot(p, p) * ca.SX.eye(3) - p @ p.T)
                second[link.parent] += turned + moved
                first[link.parent] += c + mass[i] * p
                mass[link.parent] += mass[i]
        return M

    def _poses(self) -> list[tuple[Any, Any]]:
        found: list[tuple[Any, Any]] = []
        for i, link in enumerate(self.links):
            if link.parent < 0:
                found.append((self.R[i], self.p[i]))
            else:
                R, p = found[link.parent]
                found.append((R @ self.R[i], p + R @ self.p[i]))
        return found

    def residuals(self) -> Any:
        """Φ of the point closures."""
        return ca.vertcat(*[row for _, _, row, _ in self._closures()])

    def _closures(self) -> list[tuple[Any, Any, Any, Any]]:
        poses, found = self._poses(), []

        def place(frame: Frame) -> tuple[int, Any, Any]:
            seat = self.seats[frame.body]
            at = _tidy(seat.origin + seat.axes @ np.asarray(frame.at_m))
            axes = _tidy(seat.axes @ np.asarray(frame.rotation))
            if seat.link < 0:
                return -1, axes, at
            R, p = poses[seat.link]
            return seat.link, R @ axes, p + R @ at

        for closure in self.mechanism.constraints:
            assert isinstance(closure, PointClosure)
            a, b = place(closure.a), place(closure.b)
            found.append((a, b, a[1].T @ (b[2] - a[2]), poses))
        return found

    def screws(self) -> Any:
        """A by screws: a row is the wrench of its force against the joints between the two bodies."""
        rows = []
        for (a, axes, _), (b, _, at), _, poses in self._closures():
            block = ca.SX(3, self.mechanism.nv)
            while a != b:
                i, sign = (b, 1) if b > a else (a, -1)
                R, origin = poses[i]
                z = R[:, 2]
                speed = self.links[i].travel * z + self.links[i].turn * ca.cross(z, at - origin)
                block[:, self.links[i].place] = sign * (axes.T @ speed)
                a, b = (a, self.links[b].parent) if b > a else (self.links[a].parent, b)
            rows.append(block)
        return ca.vertcat(*rows)

    def gradient(self) -> Any:
        """A as CasADi's Jacobian of Φ, with q̇ = E v."""
        E = ca.SX(self.mechanism.nq, self.mechanism.nv)
        for k in range(self.mechanism.nv):
            E[k, k] = 1
        for link in self.links:
            if link.scalar >= 0:
                k, s = link.coordinate, self.q[link.scalar]
                x, y, z = ca.vertsplit(self.q[k : k + 3])
                E[link.scalar, k : k + 3] = -0.5 * ca.horzcat(x, y, z)
                rates = ca.vertcat(ca.horzcat(s, -z, y), ca.horzcat(z, s, -x), ca.horzcat(-y, x, s))
                E[k : k + 3, k : k + 3] = 0.5 * rates
        return ca.jacobian(self.residuals(), self.q) @ E


def _tidy(values: Any) -> Any:
    """Numbers with the round-off near 0 and ±1 taken away, so that CasADi can drop what is zero."""
    array = np.array(values, dtype=np.float64)
    for whole in (0.0, 1.0, -1.0):
        array[np.abs(array - whole) < 1e-15] = whole
    return ca.sparsify(ca.SX(array))
