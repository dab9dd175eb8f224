"""Back onto the manifold: corrections of position and velocity that are shortest in the mass metric.

    q := q - A⁺ Φ,   v := v - A⁺ (A v + Φ_t),   A⁺ = M⁻¹ A' (A M⁻¹ A')⁺

The mass metric does not mix metres and radians, and makes the correction of velocity the impulse that acts
when a constraint is switched on. Directions that are lost at a branch pose are left alone by both.
"""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.formulations.constrained_dynamics import least_motion
from linkwork.multibody.formulations.rank import factor, scaled_right_side
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    ON_MECHANISM,
    PARAMETERS,
    TOPOLOGY,
    float64,
    int64,
    kernel,
)
from linkwork.multibody.kernels.layout import N_ROWS, NV, PHI, PHI_RATE, ROW_SCALE, SHIFT, SUM_V, Q, V
from linkwork.multibody.kernels.views import fill, vector
from linkwork.multibody.tree.dynamics import dynamics, mass_times
from linkwork.multibody.tree.rotations import move

TOLERANCE = 1e-13
"""Of the largest scaled |Φ|, above which a step ends with a correction of position."""


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER))
def position_residual(p: Floats, t: Integers, w: Floats) -> float:
    """After `constraint_rows`: the largest |Φ|, in scaled rows (a typical length, or radians)."""
    phi, rows = vector(t, w, PHI), vector(t, p, ROW_SCALE)
    worst = 0.0
    for i in range(t[N_ROWS]):
        size: float = abs(rows[i] * phi[i])
        if size != size:  # not a number is the worst of all
            return size
        worst = max(worst, size)
    return worst


@kernel(int64(PARAMETERS, TOPOLOGY, BUFFER, float64, int64))
def correct_position(p: Floats, t: Integers, w: Floats, tolerance: float, most: int) -> int:
    """Correct q until no scaled |Φ| exceeds the tolerance, with a limit on the iterations; return their
    number.

    Afterwards M, the rows and their factors are those of the new q.
    """
    shift, zero, q = vector(t, w, SHIFT), vector(t, w, SUM_V), vector(t, w, Q)
    dynamics(p, t, w)
    constraint_rows(p, t, w)
    factor(p, t, w)
    for count in range(most):
        if position_residual(p, t, w) <= tolerance:
            return count
        scaled_right_side(t, p, w, -1.0, PHI)
        fill(zero, 0.0)
        least_motion(p, t, w, zero, shift)
        move(t, q, shift, 1.0)
        dynamics(p, t, w)
        constraint_rows(p, t, w)
        factor(p, t, w)
    return most


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER))
def correct_velocity(p: Floats, t: Integers, w: Floats) -> float:
    """After `correct_position`: correct v; return the kinetic energy (J) that this takes away.

    It is (v⁻ - v⁺)' M (v⁻ - v⁺) / 2, which is the loss where no prescribed value moves.
    """
    shift, zero, v = vector(t, w, SHIFT), vector(t, w, SUM_V), vector(t, w, V)
    scaled_right_side(t, p, w, -1.0, PHI_RATE)
    fill(zero, 0.0)
    least_motion(p, t, w, zero, shift)
    mass_times(t, w, shift, zero)
    lost = 0.0
    for i in range(t[NV]):
        v[i] += shift[i]
        lost += 0.5 * shift[i] * zero[i]
    return lost


@kernel(ON_MECHANISM)
def onto_manifold(p: Floats, t: Integers, w: Floats) -> None:
    """Correct position (to `TOLERANCE`, at most five times) and velocity."""
    correct_position(p, t, w, TOLERANCE, 5)
    correct_velocity(p, t, w)
