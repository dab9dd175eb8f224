"""Serial chains by products of exponentials as Xu & Liu 2017 write them, with what the print gets wrong.

Twists are ordered (linear; angular). `M'_l` carries link l's inertia to the world's axes at the zero pose;
(26) prints the pose g(q) in it. The derivative of M, (30), has the bracket [A_ki ξ_i, ξ_k] first; the print
has A_li.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats
from linkwork.multibody import Mechanism
from linkwork.multibody.tree.joint_map import bracket as ordered_bracket
from linkwork.multibody.tree.joint_map import configuration
from linkwork.multibody.tree.orientations import hat


def _pose(rotation: Floats, translation: Floats) -> Floats:
    g = np.eye(4)
    g[:3, :3], g[:3, 3] = rotation, translation
    return g


def _adjoint(g: npt.NDArray[np.floating[Any]]) -> Floats:
    r = g[:3, :3]
    return np.block([[r, hat(np.asarray(g[:3, 3], np.float64)) @ r], [np.zeros((3, 3)), r]])


def _bracket(a: Floats, b: Floats) -> Floats:
    return np.roll(ordered_bracket(np.roll(a, 3), np.roll(b, 3)), 3)


@dataclass(frozen=True)
class ExponentialChain:
    """Twists, frames of the centres of mass at zero, and inertias diag(m, m, m, I), link after link."""

    twists: list[Floats]
    centres: list[Floats]
    inertias: list[Floats]

    @staticmethod
    def of(mechanism: Mechanism) -> ExponentialChain:
        """A chain of revolute and prismatic joints whose frames are all parallel at zero."""
        twists, centres, inertias, origin = [], [], [], np.zeros(3)
        for body, joint in zip(mechanism.bodies, mechanism.joints, strict=True):
            origin = origin + np.asarray(joint.at_m)
            axis = np.asarray(joint.axis)
            turn = joint.kind == "revolute"
            twists.append(
                np.concatenate([-np.cross(axis, origin) if turn else axis, axis if turn else 0.0 * axis])
            )
            centres.append(_pose(np.eye(3), origin + np.asarray(body.com_m)))
            inertia = np.zeros((6, 6))
            inertia[:3, :3], inertia[3:, 3:] = body.mass_kg * np.eye(3), body.inertia_kg_m2
            inertias.append(inertia)
        return ExponentialChain(twists, centres, inertias)

    def _motion(self, q: Floats, first: int, last: int) -> Floats:
        g = np.eye(4)
        for k in range(first, last + 1):
            g = g @ _pose(*configuration(np.roll(self.twists[k], 3)[None], q[k : k + 1]))
        return g

    def _carried(self, q: Floats) -> list[list[Floats]]:
        """A[l][j] carries twist j to link l."""
        n = len(q)
        return [
            [
                _adjoint(np.linalg.inv(self._motion(q, j + 1, i))) if i >= j else np.zeros((6, 6))
                for j in range(n)
            ]
            for i in range(n)
        ]

    def _referred(self, q: Floats, as_printed: bool) -> list[Floats]:
        """M'_l, with the pose at zero, or as printed at q."""
        result = []
        for k, (centre, inertia) in enumerate(zip(self.centres, self.inertias, strict=True)):
            place = self._motion(q, 0, k) @ centre if as_printed else centre
            back = _adjoint(np.linalg.inv(place))
            result.append(back.T @ inertia @ back)
        return result

    def mass_matrix(self, q: Floats, as_printed: bool = False) -> Floats:
        """M(q) by (26) and (27)."""
        a, xi, own, n = self._carried(q), self.twists, self._referred(q, as_printed), len(q)
        m = np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                for k in range(max(i, j), n):
                    m[i, j] += xi[i] @ a[k][i].T @ own[k] @ a[k][j] @ xi[j]
        return m

    def mass_derivative(self, q: Floats, k: int, as_printed: bool = False) -> Floats:
        """dM/dq_k by (30)."""
        a, xi, own, n = self._carried(q), self.twists, self._referred(q, False), len(q)
        d = np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                for link in range(max(i, j, k), n):
                    first = a[link][i] if as_printed else a[k][i]
                    left, right = _bracket(first @ xi[i], xi[k]), _bracket(a[k][j] @ xi[j], xi[k])
                    d[i, j] += left @ a[link][k].T @ own[link] @ a[link][j] @ xi[j]
                    d[i, j] += xi[i] @ a[link][i].T @ own[link] @ a[link][k] @ right
        return d
