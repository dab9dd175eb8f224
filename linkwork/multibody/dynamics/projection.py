"""Back onto the manifold: corrections of position and velocity that are shortest in the mass metric.

    q := q - A⁺ Φ,   v := v - A⁺ (A v + Φ_t),   A⁺ = M⁻¹ A' (A M⁻¹ A')⁺

The mass metric does not mix metres and radians, and makes the correction of velocity the impulse that acts
when a constraint is switched on. Directions that are lost at a branch pose are left alone by both.
"""

from linkwork.multibody.closure.rank import factor, scaled_right_side
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.constrained_dynamics import least_motion
from linkwork.multibody.dynamics.tree_dynamics import dynamics, mass_times
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.kernels.views import fill
from linkwork.multibody.tree.rotations import move
from linkwork.multibody.workspace import Model, Workspace

TOLERANCE = 1e-13
"""Of the largest scaled |Φ|, above which a step ends with a correction of position."""


@kernel
def position_residual(m: Model, w: Workspace) -> float:
    """After `constraint_rows`: the largest |Φ|, in scaled rows (a typical length, or radians)."""
    worst = 0.0
    for i in range(m.n_rows):
        size: float = abs(m.row_scale[i] * w.phi[i])
        if size != size:  # not a number is the worst of all
            return size
        worst = max(worst, size)
    return worst


@kernel
def correct_position(m: Model, w: Workspace, tolerance: float, most: int) -> int:
    """Correct q until no scaled |Φ| exceeds the tolerance, with a limit on the iterations; return their
    number.

    Afterwards M, the rows and their factors are those of the new q.
    """
    dynamics(m, w)
    constraint_rows(m, w)
    factor(m, w)
    for count in range(most):
        if position_residual(m, w) <= tolerance:
            return count
        scaled_right_side(m, w, -1.0, w.phi)
        fill(w.sum_v, 0.0)
        least_motion(m, w, w.sum_v, w.shift)
        move(m, w.q, w.shift, 1.0)
        dynamics(m, w)
        constraint_rows(m, w)
        factor(m, w)
    return most


@kernel
def correct_velocity(m: Model, w: Workspace) -> float:
    """After `correct_position`: correct v; return the kinetic energy (J) that this takes away.

    It is (v⁻ - v⁺)' M (v⁻ - v⁺) / 2, which is the loss where no prescribed value moves.
    """
    scaled_right_side(m, w, -1.0, w.phi_rate)
    fill(w.sum_v, 0.0)
    least_motion(m, w, w.sum_v, w.shift)
    mass_times(m, w, w.shift, w.sum_v)
    lost = 0.0
    for i in range(m.nv):
        w.v[i] += w.shift[i]
        lost += 0.5 * w.shift[i] * w.sum_v[i]
    return lost


@kernel
def onto_manifold(m: Model, w: Workspace) -> None:
    """Correct position (to `TOLERANCE`, at most five times) and velocity."""
    correct_position(m, w, TOLERANCE, 5)
    correct_velocity(m, w)
