"""Joint map matrices, after Kwatny & Blankenship 1995: from constant twists to poses and twist maps.

A column h = (h1; h2) is the constant twist (angular; linear) of an elementary joint, in its own axes:

    λ(e) = [[exp(ĥ1 e), ∫ exp(ĥ1 s) h2 ds], [0, 1]]
    X(e) = λ_r(e_r) … λ_1(e_1)                   column 1 lies next to the carried body
    (ω; u) = Bm(e) ė                             twist of the body in its own axes, X⁻¹ Ẋ = [[ω̂, u], [0, 0]]

*Compound* joints take ė as velocities. *Simple* joints take β with (ω; u) = H β and ė = Γ(e) β, Γ = Bm⁺ H;
that is a joint only where the columns of H span a space that is closed under the bracket of twists: otherwise
Bm Γ = H has no solution, and a constant H would be a nonholonomic constraint.

Columns are given as an r × 6 array, one column of H in each row. rad and m.
"""

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody.tree.orientations import hat

_ZERO = np.zeros(3)


def bracket(a: Floats, b: Floats) -> Floats:
    """Return the bracket (6) of two twists (6): [(w1, u1), (w2, u2)] = (w1 × w2, w1 × u2 - w2 × u1)."""
    return np.concatenate([np.cross(a[:3], b[:3]), np.cross(a[:3], b[3:]) - np.cross(b[:3], a[3:])])


def unclosed_pair(columns: Floats) -> tuple[int, int] | None:
    """Return the first two of `columns` (r × 6) whose bracket leaves the span of all; None where it is
    closed.
    """
    for i in range(len(columns)):
        for j in range(i):
            twist = bracket(columns[j], columns[i])
            inside = np.linalg.lstsq(columns.T, twist, rcond=None)[0]
            if np.abs(columns.T @ inside - twist).max() > 1e-9 * max(1.0, float(np.abs(columns).max()) ** 2):
                return j, i
    return None


def screw_of(column: Floats) -> tuple[Floats, Floats, float, float]:
    """Return direction (3, unit) and a point (3, m) of a column's (6) axis; turn (rad) and travel (m) per
    unit of e.
    """
    angular, linear = column[:3], column[3:]
    turn = _near_one(float(np.linalg.norm(angular)))
    if turn == 0.0:
        travel = _near_one(float(np.linalg.norm(linear)))
        return linear / travel, _ZERO, 0.0, travel
    direction = angular / turn
    point = np.cross(direction, linear) / turn
    return direction, point, turn, float(direction @ linear)


def _near_one(length: float) -> float:
    return 1.0 if abs(length - 1.0) < 1e-12 else length


def elementary(column: Floats, e: float) -> tuple[Floats, Floats]:
    """Return λ(e) of a column (6): rotation (3 × 3) and translation (3, m)."""
    direction, point, turn, travel = screw_of(column)
    k = hat(direction)
    rotation = np.eye(3) + np.sin(turn * e) * k + (1.0 - np.cos(turn * e)) * k @ k
    return rotation, point - rotation @ point + travel * e * direction


def configuration(columns: Floats, e: Floats) -> tuple[Floats, Floats]:
    """Return X(e) of `columns` (r × 6) at e (r): rotation (3 × 3) and translation (3, m) in the joint's
    frame.
    """
    rotation, translation = np.eye(3), np.zeros(3)
    for column, value in zip(columns, e, strict=True):
        turned, moved = elementary(column, float(value))
        rotation, translation = turned @ rotation, turned @ translation + moved
    return rotation, translation


def twist_map(columns: Floats, e: Floats) -> Floats:
    """Return Bm(e) (6 × r): column i is the i-th twist seen through the factors between it and the body."""
    result = np.empty((6, len(columns)))
    for i, column in enumerate(columns):
        rotation, translation = configuration(columns[:i], e[:i])
        result[:3, i] = rotation.T @ column[:3]
        result[3:, i] = rotation.T @ (np.cross(column[:3], translation) + column[3:])
    return result


def gamma(columns: Floats, e: Floats) -> Floats:
    """Return Γ(e) = Bm⁺ H (r × r), with ė = Γ β for a simple joint. Raises ValueError where Bm loses rank."""
    twists = twist_map(columns, e)
    values = np.linalg.svd(twists, compute_uv=False)
    if values[-1] < 1e-9 * values[0]:
        raise ValueError(f"the coordinates {e.tolist()} are singular for this joint: use quaternions")
    return np.asarray(np.linalg.pinv(twists) @ columns.T)
