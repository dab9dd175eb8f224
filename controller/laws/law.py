"""Interface of laws: a pure map from a workspace and a reference to one generalized force per joint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.exchange.goal_task_part import HOLD, ONE_LEVEL, TaskPart
from linkwork.controller.laws.force_reference import ForceReference
from linkwork.multibody import Workspace


@dataclass(slots=True)
class Reference:
    """Reference for the goal coordinates `index`: position, velocity, acceleration (k each; rad or m, and per
    s, s²).

    `task`: how these coordinates share the motion; `rest`: what motions do that they leave free, now.
    `forces`: the force reference, for laws that control forces.
    """

    index: NDArray[np.int64]
    theta: Floats
    velocity: Floats
    acceleration: Floats
    forces: ForceReference = field(default_factory=lambda: ForceReference.sized(0))
    task: TaskPart = ONE_LEVEL
    rest: int = HOLD

    def fit(self, index: NDArray[np.int64]) -> None:
        """Use these coordinates (k), with arrays of the same length."""
        self.index = index
        if len(index) != len(self.theta):
            self.theta, self.velocity, self.acceleration = np.zeros((3, len(index)))

    @classmethod
    def sized(cls, count: int) -> Reference:
        """Return a reference for a number of coordinates, at zero."""
        return cls(np.arange(count), np.zeros(count), np.zeros(count), np.zeros(count))


@dataclass(slots=True)
class LawReport:
    """Diagnostics of a machine's laws in a tick, beside the force. All laws share one; each tick resets it.

    `leverage`: the smallest singular value of the motors' map (`motor_conditioning`), 1 where every
    joint has its motor. `share`: how much of the wanted acceleration the motors can give, 1 when all of it;
    0 when they cannot even hold the present load. `programs`: quadratic programs
    that were solved to bound the efforts. `binding`: whether bounds of a goal bind, see `keep_between`.
    `rows`: what became of the rows of goal coordinates: their rank, their smallest singular value, and of
    each coordinate the acceleration given up (per s²); not of combinations. A law that says nothing of it has
    full rank.
    """

    leverage: float = 1.0
    share: float = 1.0
    programs: int = 0
    binding: int = 0
    rows: Floats = field(default_factory=lambda: np.zeros(2))


class Law(Protocol):
    """A law. It keeps no state between calls and allocates nothing."""

    def __call__(self, ahead: Workspace, reference: Reference, force: Floats) -> float:
        """Write the generalized force (nv; N m or N) that the motors should apply.

        `ahead` holds the predicted state with kinematics, dynamics and coordinates evaluated. Returns how
        well the coordinates determine the motion: the smallest pivot ratio of their Jacobian, 1 for laws that
        need none.
        """
        ...

    def lag(self, period_s: float) -> float:
        """Share by which the feedback corrects for its own command's effect up to the middle of the hold.

        See `controller.laws.feedback.lag`; 0 without feedback of position.
        """
        ...


@runtime_checkable
class Tunable(Protocol):
    """A law with error dynamics that may be changed between two calls."""

    def tune(self, position: Floats, rate: Floats) -> None:
        """Set G_P (1/s²) and G_D (1/s) of the error dynamics, by coordinate (nc × nc)."""
        ...
