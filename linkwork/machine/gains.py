"""Gains of the error dynamics ë + G_D ė + G_P e = 0 of goal coordinates, as matrices by coordinate.

Both are symmetric and positive definite, so that the error decays with each choice of coordinates: a goal
takes the rows and columns of those that it names. An uncoupled coordinate has ω² and 2 ζ ω on the diagonals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine.sections.settings import ControllerSettings

_ROUNDING = 1e-9
"""Relative: a gain at its bound is within it."""

NO_BOUNDS = "give controller.gain_bounds in the machine file"

Rows = Mapping[str, Mapping[str, float]]


class GainProblem(NamedTuple):
    """Gains that are not allowed. name: key of the gain, or of the matrix; rows: its place in the matrix."""

    name: str
    text: str
    found: str
    allowed: str
    rows: tuple[str, ...] = ()


def gain_matrices(settings: ControllerSettings, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Return G_P (1/s²) and G_D (1/s) of coordinates with these names (nc × nc), as the file gives them."""
    position, rate = np.zeros((2, len(names), len(names)))
    for i, name in enumerate(names):
        set_alone(position, rate, i, *settings.gain_of(name))
    for key, matrix in (("position_per_s2", position), ("rate_per_s", rate)):
        rows = {name: getattr(own, key) for name, own in settings.gains.items()}
        write_rows(matrix, rows, names)
    return position, rate


def set_alone(position: Floats, rate: Floats, i: int, omega: float, zeta: float) -> None:
    """Give coordinate i of matrices (nc × nc) omega (rad/s) and the damping ratio zeta, and no coupling."""
    for matrix in (position, rate):
        matrix[i], matrix[:, i] = 0.0, 0.0
    position[i, i], rate[i, i] = omega * omega, 2.0 * zeta * omega


def write_rows(matrix: Floats, rows: Rows, names: Sequence[str]) -> None:
    """Write entries by two coordinates into a symmetric matrix (nc × nc)."""
    for first, row in rows.items():
        for second, value in row.items():
            i, j = names.index(first), names.index(second)
            matrix[i, j] = matrix[j, i] = value


def asymmetry(key: str, rows: Rows) -> GainProblem | None:
    """Return the first entry of rows (of the matrix `key`) that differs from its mirror image."""
    for first, row in rows.items():
        for second, value in row.items():
            mirrored = rows.get(second, {}).get(first, value)
            if mirrored != value:
                text = f"the matrix is not symmetric: {first}, {second} and {second}, {first} differ"
                found = f"{value:g} and {mirrored:g}"
                return GainProblem(key, text, found, "one value, given once or twice", (first, second))
    return None


def not_definite(position: Floats, rate: Floats) -> GainProblem | None:
    """Return a matrix (nc × nc) with which errors would not decay."""
    for key, matrix in (("position_per_s2", position), ("rate_per_s", rate)):
        smallest = float(np.linalg.eigvalsh(matrix)[0]) if len(matrix) else 1.0
        if not smallest > 0.0:
            text = "the matrix is not positive definite, so that errors would grow"
            allowed = "entries beside the diagonal that are smaller, or a larger diagonal"
            return GainProblem(key, text, f"the eigenvalue {smallest:.4g}", allowed)
    return None


def out_of_bounds(settings: ControllerSettings, position: Floats, rate: Floats) -> Iterator[GainProblem]:
    """Yield the gains of definite matrices (nc × nc) that are outside of their bounds.

    ω² are the eigenvalues of G_P, ζ those of G_P^(-1/4) G_D G_P^(-1/4) / 2.
    """
    squares, axes = np.linalg.eigh(position)
    root = (axes * squares**-0.25) @ axes.T
    ratios = np.linalg.eigvalsh(root @ rate @ root) / 2.0
    for key, values in (("bandwidth_rad_s", np.sqrt(squares)), ("damping_ratio", ratios)):
        low, high = settings.bounds_of(key)
        worst = values[0] if values[0] < low * (1.0 - _ROUNDING) else values[-1]
        if not low * (1.0 - _ROUNDING) <= worst <= high * (1.0 + _ROUNDING):
            allowed = f"{low:g} to {high:g}" if low < high else f"{low:g}; {NO_BOUNDS}"
            yield GainProblem(key, "it is outside its bounds", f"{worst:g}", allowed)


def sampled_radius(position: Floats, rate: Floats, period_s: float) -> float:
    """Return the growth of the slowest error in a period of held acceleration; stable below 1.

    position, rate (nc × nc): G_P and G_D.
    """
    one, hold = np.eye(len(position)), 0.5 * period_s**2
    step = [
        [one - hold * position, period_s * one - hold * rate],
        [-period_s * position, one - period_s * rate],
    ]
    return float(np.abs(np.linalg.eigvals(np.block(step))).max(initial=0.0))
