"""The explicit equation of constrained motion of Udwadia and Kalaba, after Xu & Liu 2017.

    M v̇ = r + Fc,  A v̇ = b,    v̇ = a + M^(-1/2) B⁺ (b - A a),  a = M⁻¹ r,  B = A M^(-1/2)          (9)
    Fc = M^(1/2) B⁺ (b - A a)                      (8), whose leading exponent is misprinted as -1/2

Any L with M = L L' does in place of the symmetric root: B = A L'⁻¹, Fc = L B⁺ (b - A a), and v̇ is the same.
"""

import numpy as np

from linkwork.arrays import Floats, Matrix
from linkwork.multibody.kernels.compiling import block, kernel
from linkwork.multibody.kernels.views import copy
from linkwork.multibody.linalg.linear import cholesky, lower_solve, upper_solve
from linkwork.multibody.linalg.orthogonal import least_squares


def scratch_size(m: int, n: int) -> int:
    """Return the size of the scratch of `constrained_acceleration`, for m rows and n velocities."""
    return n * n + m * n + m + n + 3 * min(m, n)


@kernel
def constrained_acceleration(
    mass: Matrix,
    r: Floats,
    a: Matrix,
    b: Floats,
    tolerance: float,
    scratch: Floats,
    vdot: Floats,
    force: Floats,
) -> int:
    """v̇ and Fc (n each) from M (n × n), r = applied forces - h (n), A (m × n), b (m). Returns the rank of A.

    Rows may be redundant; rows that contradict each other are met in the least-squares sense of Gauss.
    Directions of B shorter than `tolerance` count as no constraint: give a small multiple (1e-9, say) of the
    size that B has in ordinary poses. `scratch` holds `scratch_size(m, n)` numbers. Where M is not positive
    definite, -1 is returned and both results are not numbers.
    """
    m, n = a.shape
    factor, scaled = block(scratch, 0, n, n), block(scratch, n * n, m, n)
    start = n * n + m * n
    missing, pull = scratch[start : start + m], scratch[start + m : start + m + n]
    positive = cholesky(mass, factor) > 0.0

    # in coordinates L' v̇ the free motion is L⁻¹ r, and the constraint asks for the shortest change of it
    copy(r, vdot)
    lower_solve(factor, vdot)
    for i in range(m):
        copy(a[i], scaled[i])
        lower_solve(factor, scaled[i])
        missing[i] = b[i]
        for k in range(n):
            missing[i] -= scaled[i, k] * vdot[k]
    rank = least_squares(scaled, missing, tolerance, scratch[start + m + n :], pull)
    for i in range(n):
        force[i] = 0.0
        for k in range(i + 1):
            force[i] += factor[i, k] * pull[k]
        vdot[i] += pull[i]
    upper_solve(factor, vdot)
    return rank if positive else -1


class UdwadiaKalabaAcceleration:
    """`constrained_acceleration` with its memory, for m rows and n velocities, so that a call does not
    allocate.

    After a call, `acceleration` and `constraint_force` (n each) hold the results.
    """

    def __init__(self, m: int, n: int, tolerance: float = 1e-9) -> None:
        """Set memory aside. `tolerance` as in the kernel; the default suits machines of 1e-6 to 1e6 kg."""
        self.acceleration: Floats = np.zeros(n)
        self.constraint_force: Floats = np.zeros(n)
        self._tolerance = tolerance
        self._scratch = np.zeros(scratch_size(m, n))

    def __call__(self, mass: Floats, r: Floats, a: Floats, b: Floats) -> int:
        """Solve for M (n × n), r (n), A (m × n), b (m), all C-contiguous float64; return the rank of A."""
        return constrained_acceleration(
            mass, r, a, b, self._tolerance, self._scratch, self.acceleration, self.constraint_force
        )
