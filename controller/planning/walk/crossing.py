"""Changes of constraints on a path: the state on both sides, impulse and energy lost."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.machine.constraint_sets import names_of
from linkwork.multibody.assembly.switching import SWITCH_TOLERANCE, fixed_coordinates
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.constrained_dynamics import multipliers_of
from linkwork.multibody.dynamics.projection import (
    TOLERANCE,
    correct_position,
    correct_velocity,
    position_residual,
)
from linkwork.multibody.tree.kinematics import kinematics

_MOST_STEPS = 20


@dataclass(frozen=True)
class Crossing:
    """A change of constraints at the path parameter `s` (s), before the walk's sample `sample`.

    `machine`: under the constraints that hold afterwards. `closed`, `opened`: their names. `gap`: how far
    open those that close are (typical lengths or rad). `q` (nq), `v` (nv): afterwards, at the path's own
    speed; `theta`, `rate` (nc): positions and velocities of the coordinates there. `before`, `fixed` (nc):
    which coordinates constraints fix before and afterwards. `energy_loss_J`, `impulse` (N s, N m s).
    """

    machine: Machine
    s: float
    sample: int
    closed: tuple[str, ...]
    opened: tuple[str, ...]
    gap: float
    q: Floats
    v: Floats
    theta: Floats
    rate: Floats
    before: NDArray[np.bool_]
    fixed: NDArray[np.bool_]
    energy_loss_J: float
    impulse: float

    @property
    def possible(self) -> bool:
        """Whether the plant closes what is to be closed."""
        return self.gap <= SWITCH_TOLERANCE

    def as_map(self) -> dict[str, object]:
        """Return plain data for the report."""
        return {
            "time_s": self.s,
            "closed": list(self.closed),
            "opened": list(self.opened),
            "gap": self.gap,
            "energy_loss_J": self.energy_loss_J,
            "impulse": self.impulse,
        }


def cross(before: Machine, after: Machine, q: Floats, v: Floats, s: float, sample: int) -> Crossing:
    """Return the change between two sets of constraints at q (nq) and v (nv) before it.

    The impulse acts in the metric of the mass, as in `multibody.assembly.switching`.
    """
    old, work = before.workspace(), after.workspace()
    for each in (old, work):
        each.q[:], each.v[:] = q, v
    kinematics(*work.arguments)
    constraint_rows(*work.arguments)
    gap = float(position_residual(*work.arguments))
    lost, impulse = 0.0, 0.0
    if gap <= SWITCH_TOLERANCE:
        correct_position(*work.arguments, TOLERANCE, _MOST_STEPS)
        lost = float(correct_velocity(*work.arguments))
        work.constraint_force[:] = work.M @ (work.v - v)
        multipliers_of(*work.arguments)
        impulse = float(np.linalg.norm(work.multipliers))
    fixed = fixed_coordinates(work)
    held = [set(names_of(each, each.closed_at_start)) for each in (before, after)]
    closed, opened = (tuple(sorted(names)) for names in (held[1] - held[0], held[0] - held[1]))
    return Crossing(
        after, s, sample, closed, opened, gap, work.q.copy(), work.v.copy(), work.theta.copy(),
        work.J @ work.v, fixed_coordinates(old), fixed, lost, impulse,
    )  # fmt: skip
