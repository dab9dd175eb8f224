"""Bounds on the efforts of redundant motors: the small quadratic program behind the closed formula.

With more motors than degrees of freedom many efforts make the same motion. The nearest to the pre-load is
tried first (motor_allocation.py); only where that is beyond a motor's limit the program here
is asked, in x = effort / limit:

    min Σ p (x − x_p)²          with G x = f,  |x| ≤ 1                    the whole motion, if possible
    min Σ p (x − x_p)² − c α    with G x = f₀ + α (f − f₀),  |x| ≤ 1      else its direction
    min |G x − f₀|²             with |x| ≤ 1                              else the nearest to coasting

The prices p are limit² / W, all 1 where the metric W is that of the limits.
The second has the largest share α of the motion. They are solved by daqp (Arnström, Bemporad & Axehill
2022, a dual active-set method).
"""

import daqp
import numpy as np

from linkwork.arrays import Floats

_EQUAL = 5
_SOLVED = 1
_SHARE_FIRST = 1e4
"""c: how much more the share counts than small efforts; their sizes are at most 1."""
_LIGHT = 1e-6


def prices(most: Floats, weight: Floats) -> Floats:
    """Return the price p of each motor (motors), the largest 1.

    most (motors; N m or N): limits; weight (motors): W's diagonal, the squares of the scales.
    """
    price = most * most / weight
    return np.asarray(price / price.max())


def allocate(
    rows: Floats,
    needed: Floats,
    coasting: Floats,
    preload: Floats,
    effort: Floats,
    price: Floats | None = None,
) -> float:
    """Efforts over their limits (motors, into `effort`) for `needed`, or for the largest share of it.

    rows (k × motors): G; needed, coasting (k): f and f₀ in the same rows; preload (motors): x_p; price
    (motors): p, see `prices`; none: all 1. All within -1 … 1 in the end. Returns α; 0 where even coasting is
    beyond the motors.
    """
    motors = rows.shape[1]
    cost = np.ones(motors) if price is None else price
    found = _solve(np.diag(cost), -cost * preload, rows, needed, np.ones(motors), -np.ones(motors))
    if found is not None:
        effort[:] = found
        return 1.0
    quadratic = np.diag(np.append(cost, _LIGHT))
    wide = np.hstack([rows, (coasting - needed)[:, None]])
    upper, lower = np.ones(motors + 1), np.append(-np.ones(motors), 0.0)
    found = _solve(quadratic, np.append(-cost * preload, -_SHARE_FIRST), wide, coasting, upper, lower)
    if found is not None:
        effort[:] = found[:-1]
        return float(min(max(found[-1], 0.0), 1.0))
    quadratic = rows.T @ rows + _LIGHT * np.eye(motors)
    none = np.zeros((0, motors))
    found = _solve(quadratic, -rows.T @ coasting, none, np.zeros(0), np.ones(motors), -np.ones(motors))
    effort[:] = 0.0 if found is None else found
    return 0.0


def _solve(
    quadratic: Floats, linear: Floats, rows: Floats, right: Floats, upper: Floats, lower: Floats
) -> Floats | None:
    """min ½ x' Q x + c' x with rows x = right and lower ≤ x ≤ upper; None where there is no such x.

    daqp does not check its arguments: shapes and finite numbers are checked here, before and after.
    """
    n, k = len(linear), len(right)
    if rows.shape != (k, n) or quadratic.shape != (n, n) or not (len(upper) == len(lower) == n):
        raise ValueError("the sizes of the program do not match")
    arrays = (
        np.ascontiguousarray(quadratic, np.float64),
        np.ascontiguousarray(linear, np.float64),
        np.ascontiguousarray(rows, np.float64),
        np.concatenate([upper, right]),
        np.concatenate([lower, right]),
    )
    if not all(np.all(np.isfinite(array)) for array in arrays):
        return None
    sense = np.zeros(n + k, np.int32)
    sense[n:] = _EQUAL
    x, _, flag, _ = daqp.solve(*arrays, sense)
    found = np.asarray(x, np.float64)
    if flag != _SOLVED or not np.all(np.isfinite(found)):
        return None
    if k and np.max(np.abs(rows @ found - right)) > 1e-7 * max(1.0, float(np.max(np.abs(right)))):
        return None
    return np.asarray(np.clip(found, lower, upper))
