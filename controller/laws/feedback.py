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

from typing import Annotated

import numpy as np

from linkwork.arrays import Flags, Floats, Integers, Matrix
from linkwork.machine import Machine
from linkwork.machine.gains import gain_matrices
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.tree.rotations import wrapped

UNCORRECTED = 0.2
"""Part of c that a coordinate can do without: without any, the loop begins to swing at c = 0.475."""


def lag(omega: float, zeta: float, period_s: float) -> float:
    """c, for a command that acts over one period. `limit_effort` makes use of it."""
    return zeta * omega * period_s + (omega * period_s) ** 2 / 8.0


class Feedback(Struct):
    """Gains of the error dynamics by coordinate, G_P (1/s²) and G_D (1/s), and coordinates that wrap."""

    position: Annotated[Floats, "nc, nc"]
    rate: Annotated[Floats, "nc, nc"]
    wraps: Annotated[Flags, "nc"]


class PositionFeedback:
    """The feedback of a law of positions."""

    def __init__(self, machine: Machine) -> None:
        mechanism = machine.mechanism
        position, rate = gain_matrices(machine.controller, mechanism.coordinate_names)
        wraps = np.array(mechanism.coordinate_wraps, np.bool_)
        self._feedback = Feedback(position=position, rate=rate, wraps=wraps)
        self.used: Integers = np.arange(len(wraps))
        """Coordinates of the last reference."""

    def lag(self, period_s: float) -> float:
        """Share by which the feedback corrects for its own command's effect up to the middle of the hold.

        One for all coordinates in use: the smallest c, or `UNCORRECTED` below the largest. A c too large
        delays the efforts by the difference, in periods; one too small costs the faster coordinates little.
        """
        share = 0.5 * period_s * self._feedback.rate + period_s**2 / 8.0 * self._feedback.position
        each = np.abs(share[np.ix_(self.used, self.used)]).sum(axis=1)
        return float(max(each.min(), each.max() - UNCORRECTED)) if len(each) else 0.0

    def tune(self, position: Floats, rate: Floats) -> None:
        """Set G_P (1/s²) and G_D (1/s) of the error dynamics, by coordinate (nc × nc)."""
        self._feedback.position[:], self._feedback.rate[:] = position, rate


@kernel
def wanted_acceleration(
    theta: Floats,
    J: Matrix,
    Jdv: Floats,
    v: Floats,
    feedback: Feedback,
    index: Integers,
    reference: Floats,
    velocity: Floats,
    acceleration: Floats,
    task: Floats,
) -> None:
    """task = θ̈_d + G_D ė + G_P e − J̇ v on the rows `index`, e taken the short way round where a coordinate
    wraps.

    theta, Jdv (c) and J (c, n) are for all coordinates; reference, its rates and task (k) for those in use.
    """
    for i in range(len(index)):
        task[i] = acceleration[i]
    for k in range(len(index)):
        row = index[k]
        rate = 0.0
        for j in range(len(v)):
            rate += J[row, j] * v[j]
        error, slip = reference[k] - theta[row], velocity[k] - rate
        if feedback.wraps[row]:
            error = wrapped(error)
        for i in range(len(index)):
            task[i] += feedback.rate[index[i], row] * slip
            task[i] += feedback.position[index[i], row] * error
    for i in range(len(index)):
        task[i] -= Jdv[index[i]]
