"""Reactions of joints and constraints, by the recursion of Newton and Euler on solved accelerations.

Every body needs the wrench

    F = m (a_c - g),    N = c × F + I ω˙ + ω × I ω          about the world's origin, c: its centre of mass

A joint transmits what the bodies beyond it need and do not get from constraints and contacts. The *reaction*
is the part of this wrench that belongs to the joint itself: what motors, friction, stops, rotors and
constraints on the joint's own coordinate do along its freedoms is left out, so that it has no power in any
motion of the joint. (A screw keeps its force along the axis.) Of a closure it is the wrench that its
multipliers stand for.

Where rows depend on others, only their sum is determined; the shortest multipliers (in scaled rows) then
share it out, and the reactions of the joints within the loop follow from these. `taylor` (multibody/taylor)
finds the same reactions from its own unknowns, where nothing is redundant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from multibody import layout
from multibody.acceleration import Formulation, accelerate
from multibody.functions import _set
from multibody.mechanism import Mechanism
from multibody.model import WORLD, Array
from multibody.row_wrenches import row_wrenches
from multibody.tree import links_of
from multibody.workspace import Workspace


@dataclass(frozen=True, eq=False)
class Reaction:
    """What a joint or a constraint does to `on_body`, and in opposition to `from_body`.

    World axes; `force_N` (3) acts at `at_m` (3, world) and `moment_N_m` (3) is about it: of a joint the
    origin of its child's frame, of a closure that of frame b, of a prescribed coordinate the point it
    belongs to.
    """

    joint: str
    on_body: str
    from_body: str
    at_m: Array
    force_N: Array
    moment_N_m: Array


def joint_reactions(
    mechanism: Mechanism,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    effort: npt.ArrayLike | None = None,
    formulation: Formulation = "projected",
    ordinary_rank: int = 0,
) -> tuple[Reaction, ...]:
    """Of all joints, in their order, then of all constraints that act on bodies; arguments of `acceleration`.

    Raises RedundantRows for `lagrange` and `kkt` where rows depend on others, ValueError for wrong lengths.
    """
    w = mechanism.workspace()
    _set("q", w.q, q)
    _set("v", w.v, v)
    if effort is not None:
        _set("effort", w.effort, effort)
    w.ranking[layout.ORDINARY] = ordinary_rank
    accelerate(mechanism, w, formulation)
    return ReactionTable(mechanism).reactions(w)


class ReactionTable:
    """Which bodies each joint carries, worked out once; then reactions of any state of a mechanism.

    `names`, `on_bodies`, `from_bodies`: of all reactions, joints first.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        """Look up where bodies sit, what joints carry, and between what the constraints act."""
        links, seats, _ = links_of(mechanism.bodies, mechanism.joints)
        bodies = mechanism.body_names
        self._gravity = np.asarray(mechanism.gravity_m_s2)
        self._mass = np.array([body.mass_kg for body in mechanism.bodies])
        self._com = np.array([np.asarray(body.com_m) for body in mechanism.bodies])
        self._inertia = np.array([np.asarray(body.inertia_kg_m2) for body in mechanism.bodies])
        self._link = np.array([seats[name].link for name in bodies])
        self._axes = np.array([seats[name].axes for name in bodies])
        self._origin = np.array([seats[name].origin for name in bodies])
        self._child = np.array([bodies.index(joint.child) for joint in mechanism.joints], dtype=np.int64)
        self._carries = _carried(mechanism)
        touching = [(mechanism.point_index(contact.point), contact) for contact in mechanism.contacts]
        self._touched = [(bodies.index(mechanism.points[k].body), k, contact) for k, contact in touching]
        self._place = np.array([link.place for link in links])
        self._above = np.zeros((len(links), len(links)))
        for i, link in enumerate(links):
            if link.parent >= 0:
                self._above[i] = self._above[link.parent]
            self._above[i, i] = 1.0
        self._own = [
            (joint.kind, np.flatnonzero([link.joint is joint for link in links]))
            for joint in mechanism.joints
        ]
        self._wrenches = row_wrenches(mechanism)
        self.names = (*(joint.name for joint in mechanism.joints), *(each.name for each in self._wrenches))
        self.on_bodies = (*(j.child for j in mechanism.joints), *(each.on_body for each in self._wrenches))
        self.from_bodies = (
            *(j.parent for j in mechanism.joints),
            *(each.from_body for each in self._wrenches),
        )
        self._ends = [
            tuple(-1 if name == WORLD else bodies.index(name) for name in (each.on_body, each.from_body))
            for each in self._wrenches
        ]

    def reactions(self, w: Workspace) -> tuple[Reaction, ...]:
        """Of the state, the v̇ and the multipliers in a workspace, whose kinematics are those of its state."""
        table = self.evaluate(w)
        return tuple(
            Reaction(name, on, by, *row.reshape(3, 3))
            for name, on, by, row in zip(self.names, self.on_bodies, self.from_bodies, table, strict=True)
        )

    def evaluate(self, w: Workspace) -> Array:
        """The same as an array: place, force and moment (9 numbers) in each row."""
        constraints = self._of_constraints(w)
        table = np.vstack([self._of_joints(w, constraints), constraints])
        reference = self._field(w, layout.REFERENCE)
        screws = np.hstack([self._field(w, field).reshape(-1, 3) for field in _SCREWS])
        for j, (kind, own) in enumerate(self._own):
            if len(own):
                here = screws[own].copy()
                here[:, 3:] += np.cross(here[:, :3], table[j, :3] - reference)
                wrench = np.concatenate([table[j, 6:], table[j, 3:6]])
                wrench -= _along_freedoms(kind, here, wrench)
                table[j, 3:] = np.concatenate([wrench[3:], wrench[:3]])
        return table

    def transmitted(self, w: Workspace) -> Array:
        """Place, and all force and moment that passes through each joint, motors and friction included.

        Along the joint's freedoms it is effort + friction - armature times acceleration.
        """
        return self._of_joints(w, self._of_constraints(w))

    def _of_constraints(self, w: Workspace) -> Array:
        rows = [np.concatenate(each.evaluate(w)) for each in self._wrenches]
        return np.array(rows).reshape(-1, 9)

    def _of_joints(self, w: Workspace, constraints: Array) -> Array:
        axes = self._field(w, layout.AXES).reshape(-1, 3, 3)
        needed, origin = self._needed(w, axes, self._field(w, layout.REFERENCE))
        for (on, by), row in zip(self._ends, constraints, strict=True):
            at, force, moment = row.reshape(3, 3)
            total = np.concatenate([moment + np.cross(at, force), force])
            if on >= 0:
                needed[on] -= total
            if by >= 0:
                needed[by] += total
        for (body, k, contact), force in zip(self._touched, w.contact_force, strict=True):
            needed[body] -= np.concatenate([np.cross(contact.place(w.point_position[k]), force), force])
        wrenches, at = self._carries @ needed, origin[self._child]
        return np.hstack([at, wrenches[:, 3:], wrenches[:, :3] - np.cross(at, wrenches[:, 3:])])

    @staticmethod
    def _field(w: Workspace, field: int) -> Array:
        return w.buffer[w.topology[field] : w.topology[field + 1]]

    def _needed(self, w: Workspace, axes: Array, reference: Array) -> tuple[Array, Array]:
        """Wrench (moment about the world's origin; force) that each body needs, and where its origin is."""
        vdot, screws = w.vdot[self._place], [self._field(w, field).reshape(-1, 3) for field in _SCREWS]
        turn, shift = (self._field(w, field).reshape(-1, 3) for field in (layout.ANGULAR, layout.LINEAR))
        bias = [self._field(w, f).reshape(-1, 3) for f in (layout.ANGULAR_BIAS, layout.LINEAR_BIAS)]
        turn_rate, shift_rate = (
            b + self._above @ (s * vdot[:, None]) for b, s in zip(bias, screws, strict=True)
        )
        moves, k = (self._link >= 0)[:, None], np.maximum(self._link, 0)
        linked = np.where(moves[:, :, None], axes[k].transpose(0, 2, 1), np.eye(3))
        own = linked @ self._axes
        origin = np.einsum("bij,bj->bi", linked, self._origin)
        origin += np.where(moves, self._field(w, layout.ORIGIN).reshape(-1, 3)[k], 0.0)
        centre = origin + np.einsum("bij,bj->bi", own, self._com)
        inertia = own @ self._inertia @ own.transpose(0, 2, 1)
        omega, alpha = np.where(moves, turn[k], 0.0), np.where(moves, turn_rate[k], 0.0)
        r = centre - reference
        speed = shift[k] + np.cross(omega, r)
        acceleration = np.where(moves, shift_rate[k] + np.cross(alpha, r) + np.cross(omega, speed), 0.0)
        force = self._mass[:, None] * (acceleration - self._gravity)
        spin = np.einsum("bij,bj->bi", inertia, omega)
        moment = np.cross(centre, force) + np.einsum("bij,bj->bi", inertia, alpha) + np.cross(omega, spin)
        return np.hstack([moment, force]), origin


_SCREWS = (layout.SCREW_ANGULAR, layout.SCREW_LINEAR)


def _carried(mechanism: Mechanism) -> Array:
    """1 where a joint (row) carries a body (column), directly or through other joints."""
    bodies, by_child = mechanism.body_names, {joint.child: k for k, joint in enumerate(mechanism.joints)}
    carries = np.zeros((len(mechanism.joints), len(bodies)))
    for i, name in enumerate(bodies):
        while name != WORLD:
            carries[by_child[name], i] = 1.0
            name = mechanism.joints[by_child[name]].parent
    return carries


def _along_freedoms(kind: str, screws: Array, wrench: Array) -> Array:
    """The part of a wrench that acts along the freedoms (screws r × 6 at the same place): E (S'E)⁺ S'w."""
    acting = screws.copy()
    if kind == "screw":
        acting[:, 3:] = 0.0
    part: Array = acting.T @ np.linalg.lstsq(screws @ acting.T, screws @ wrench, rcond=None)[0]
    return part
