"""Forces along a sampled path as functions of its speed, mapped to the motors or closures that carry them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.planning.checks.stopping import AT_LEAST
from linkwork.controller.planning.walk.walk import Walk
from linkwork.machine import Machine

ALL = slice(None)


class ForceTerms:
    """`rest`, `inertia`, `motion` (n × k), as in the walk, and friction and drag beside them.

    through (n × m × nv): what takes the forces on all joints (n × nv) to m of the columns; None: each joint
    provides its own. places (m): these columns among the joints, all others are zero; None: there are no
    others.
    """

    def __init__(
        self, machine: Machine, walk: Walk, through: Floats | None, places: Sequence[int] | None = None
    ) -> None:
        self._walk, self._through, self._places = walk, through, places
        model = machine.mechanism.model
        self._viscous, self._coulomb, self._coulomb_speed = model.viscous, model.coulomb, model.coulomb_speed
        self.rest, self.inertia, self.motion = (
            self._taken(part) for part in (walk.rest, walk.inertia, walk.motion)
        )

    def _taken(self, force: Floats, j: int | slice = ALL) -> Floats:
        """Return the columns (n × k; of column j: n) for forces on all joints (n × nv)."""
        if self._through is None:
            return force
        if isinstance(j, int):
            if self._places is not None and j not in self._places:
                return np.zeros(len(force))
            row = j if self._places is None else self._places.index(j)
            return np.asarray(np.einsum("nj,nj->n", self._through[:, row], force))
        taken = np.matmul(self._through, force[:, :, None])[:, :, 0]
        if self._places is None:
            return np.asarray(taken)
        columns = np.zeros_like(force)
        columns[:, self._places] = taken
        return columns

    def joint_friction(self, slower: float = 1.0, j: int | slice = ALL) -> Floats:
        """n × nv (of joint j: n): forces against friction and drag on the joints, `slower` times as slow."""
        v, coulomb = self._walk.q1[:, j] / slower, self._coulomb[j]
        force = np.asarray(self._viscous[j] * v)
        if np.any(coulomb):
            force = np.asarray(force + coulomb * np.tanh(v / self._coulomb_speed[j]))
        return force if self._walk.drag is None else force + self._walk.drag[:, j] / slower

    def friction(self, slower: float = 1.0, j: int | slice = ALL) -> Floats:
        """Return the effort (n × k; of column j: n) against friction and drag, `slower` times as slow."""
        if self._through is None:
            return self.joint_friction(slower, j)
        return self._taken(self.joint_friction(slower), j)

    def efforts(self, slower: float = 1.0, j: int | slice = ALL) -> Floats:
        """Return the efforts (n × k; of column j: n) when the path is followed `slower` times as slow."""
        moving = self.motion[:, j] / slower**2
        return np.asarray(self.rest[:, j] + moving + self.friction(slower, j))

    def with_reserve(self, slower: float = 1.0, j: int | slice = ALL) -> Floats:
        """As `efforts`: largest magnitudes up to that speed, with room to change the rate by AT_LEAST."""
        rest, friction = self.rest[:, j], self.friction(slower, j)
        moving = rest + friction + self.motion[:, j] / slower**2
        largest = np.maximum(np.maximum(np.abs(rest), np.abs(rest + friction)), np.abs(moving))
        return np.asarray(largest + np.abs(self.inertia[:, j]) * (AT_LEAST / slower))
