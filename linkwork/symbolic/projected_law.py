"""The control law of generated programs in numpy: source of their test vectors, and text in Python modules.

The law of controller/laws/pidc.py with one bandwidth and damping ratio and without limits: u = free + basis z
obeys the closures A u = -Adot_v and the task, see c_source.py.
"""

import math

import numpy as np

Array = np.ndarray
Terms = tuple[Array, Array, Array, Array, Array, Array, Array]
Reference = tuple[Array, Array, Array]
Motors = tuple[Array, Array, Array, Array, Array]


def projected_law(
    v: Array, terms: Terms, reference: Reference, omega: float, zeta: float, motors: Motors, effort: Array
) -> float:
    """Write the efforts of the motors; return how well they hold the goals, 0 without a solution.

    terms: M, load, A, Adot_v, theta, J, Jdot_v. reference: of the goal coordinates, and its two derivatives.
    motors: whether each goal wraps, places of the motors in v, their weights, scales of A's rows and columns.
    """
    M, load, A, Adot_v, theta, J, Jdot_v = terms
    goal, goal_rate, goal_acceleration = reference
    wraps, places, weight, row_scale, column_scale = motors
    effort[:] = 0.0
    error = goal - theta
    error -= np.where(wraps, 2.0 * math.pi * np.floor(error / (2.0 * math.pi) + 0.5), 0.0)
    task = goal_acceleration + 2.0 * zeta * omega * (goal_rate - J @ v) + omega * omega * error - Jdot_v
    free, basis, rank = np.zeros(len(v)), np.eye(len(v)), len(v) - len(theta)
    if rank > 0:
        left, sizes, right = np.linalg.svd(row_scale.reshape(-1, 1) * A * column_scale)
        if not sizes[rank - 1] > 1e-12:
            return 0.0
        known = left[:, :rank].T @ (-row_scale * Adot_v) / sizes[:rank]
        free = column_scale * (right[:rank].T @ known)
        basis = column_scale.reshape(-1, 1) * right[rank:].T
    rows, share = J @ basis, basis[places]
    held = share.T * weight @ share
    quality = 1.0 / np.linalg.cond(rows)
    if rank > 0:
        quality = min(quality, 1.0 / np.linalg.cond(held))
    if not quality > 1e-12:
        return 0.0
    u = free + basis @ np.linalg.solve(rows, task - J @ free)
    effort[:] = weight * (share @ np.linalg.solve(held, basis.T @ (load + M @ u)))
    return float(quality)
