"""The feedback that laws of positions share: the wanted second derivative of the goal coordinates.

The law sees the state predicted to the middle of its command's hold, under the command before it: the
first half of the hold is not yet its own. Were it, with an acceleration a instead of a₀, rate and place there
would be (a − a₀) T/2 and (a − a₀) T²/8 further on, and the feedback would ask for c (a − a₀) less, with
c = ζ ω T + ω² T²/8. So the command that fits its own effect is a = (a* + c a₀) / (1 + c), with a* the
acceleration that the law asks for; efforts are proportional to accelerations, so the same holds for them.
Without it the loop begins to swing at ω T = 0.45, and every change of effort costs an error of its rate times
T²/ω.

Sampled closed form. When a command begins to act, let y = (x, ẋ) be how far two motions along the same
reference are apart, u by how much the command's efforts differ, and u₀ those before. Let the machine alone
make of them Φ y + Γ u in a period and Φ' y + Γ' u₀ = (x̂, ẋ̂) in half of it, and let its efforts there differ
by E (x, ẋ, ẍ). Then, at any gain,

    u = (E (x̂, ẋ̂, -2 ζ ω ẋ̂ - ω² x̂) + c u₀) / (1 + c),        y ← Φ y + Γ u.

Where efforts are accelerations, Φ = (1 T; 0 1), Γ = (T²/2; T), this is u = -(2 ζ ω ẋ + ω² (x + ẋ T/2)) /
(1 + c). A machine whose inertia changes at the relative rate κ is off that by about κ ω T² / 14 of the
initial error. More than half of it is that the command does not allow for its own part in the forces that
depend on velocity. The remainder is unavoidable: a constant effort over the hold does not give a constant
acceleration. An effort that changes the velocity by a T changes the position by a T²/2 (1 + κ T/3). One
effort a period could correct the position as well only with a velocity error of alternating sign (the sampled
double integrator has its zero at -1).
"""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Flags, Floats, Integers, Matrix
from linkwork.machine import Machine
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.tree.rotations import wrapped


def lag(omega: float, zeta: float, period_s: float) -> float:
    """c, for a command that acts over one period. `limit_effort` makes use of it."""
    return zeta * omega * period_s + (omega * period_s) ** 2 / 8.0


class PositionFeedback:
    """Bandwidth and damping ratio of the error, and coordinates that wrap, of a law of positions."""

    def __init__(self, machine: Machine) -> None:
        self._omega = machine.controller.bandwidth_rad_s
        self._zeta = machine.controller.damping_ratio
        self._wraps = np.array(machine.mechanism.coordinate_wraps, np.bool_)

    def lag(self, period_s: float) -> float:
        """Share by which the feedback corrects for its own command's effect up to the middle of the hold."""
        return lag(self._omega, self._zeta, period_s)


@kernel
def wanted_acceleration(
    theta: Floats,
    J: Matrix,
    Jdv: Floats,
    v: Floats,
    wraps: Flags,
    index: Integers,
    reference: Floats,
    velocity: Floats,
    acceleration: Floats,
    omega: float,
    zeta: float,
    task: Floats,
) -> None:
    """task = θ̈_d + 2 ζ ω ė + ω² e − J̇ v on the rows `index`, e taken the short way round where a coordinate
    wraps.

    theta, Jdv (c) and J (c, n) are for all coordinates; reference, its rates and task (k) for those in use.
    """
    for i in range(len(index)):
        row = index[i]
        rate = 0.0
        for j in range(len(v)):
            rate += J[row, j] * v[j]
        error = reference[i] - theta[row]
        if wraps[row]:
            error = wrapped(error)
        task[i] = (
            acceleration[i] + 2.0 * zeta * omega * (velocity[i] - rate) + omega * omega * error - Jdv[row]
        )
