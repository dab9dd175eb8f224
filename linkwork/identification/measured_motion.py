"""A recorded motion on a uniform grid: measured joint positions and motor efforts, from any source."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from linkwork.arrays import Floats

_GAP = 2.5
"""Periods from one row to the next above which there is a gap."""
_JITTER = 0.2
"""Share of the period by which rows may be early or late without a remark."""


class RefusedData(ValueError):
    """A recording that cannot answer: `reason` is a short name, the text says what was found."""

    def __init__(self, reason: str, text: str) -> None:
        """Keep the reason."""
        super().__init__(text)
        self.reason = reason


@dataclass(frozen=True, eq=False)
class MeasuredMotion:
    """n rows: times (s, rising), positions (n each; rad or m) by joint and efforts (n each; N m or N) by
    motor.

    hold_s: how much later than its row's time the recorded effort acts, in the middle of its hold. digest:
    hex SHA-256 of the file. start: the pose (nq) of the first row, if the file has it. remarks: for people.
    """

    name: str
    digest: str
    time_s: Floats
    positions: Mapping[str, Floats]
    efforts: Mapping[str, Floats]
    hold_s: float = 0.0
    start: Floats | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class UniformMotion:
    """A motion on a grid: `segments` are the parts (first, end) without gaps; NaN between them."""

    period_s: float
    time_s: Floats
    positions: Floats
    efforts: Floats
    hold_s: float
    segments: tuple[tuple[int, int], ...]
    remarks: tuple[str, ...] = field(default=())


def on_a_grid(motion: MeasuredMotion, joints: list[str], motors: list[str]) -> UniformMotion:
    """Return the joints' positions (n × joints) and motors' efforts (n × motors) at equal steps of time.

    Raises RefusedData for fewer than 50 rows.
    """
    time_s = motion.time_s
    if len(time_s) < 50:
        raise RefusedData("too short", f"{motion.name} has {len(time_s)} rows; 50 is the least")
    steps = np.diff(time_s)
    period = float(np.median(steps))
    remarks = list(motion.remarks)
    wide = steps > _GAP * period
    late = np.abs(steps[~wide] - period) > _JITTER * period
    if late.any():
        worst = 1e3 * float(np.abs(steps[~wide] - period).max())
        remarks.append(
            f"{100.0 * float(late.mean()):.1f} % of the rows are not evenly spaced, by up to {worst:.3g} ms"
        )
    if wide.any():
        longest = int(np.argmax(steps))
        remarks.append(
            f"gaps: {int(wide.sum())}, the longest of {steps[longest]:.3g} s at {time_s[longest]:.6g} s"
        )
    count = int(np.floor((time_s[-1] - time_s[0]) / period + 1e-6)) + 1
    grid = time_s[0] + period * np.arange(count)
    even = bool(np.abs(time_s - grid[: len(time_s)]).max() < 1e-3 * period) if len(time_s) == count else False
    if even:
        positions = np.column_stack([motion.positions[name] for name in joints])
        efforts = np.column_stack([motion.efforts[name] for name in motors])
    else:
        positions = np.column_stack([_smooth(grid, time_s, motion.positions[name]) for name in joints])
        efforts = np.column_stack([np.interp(grid, time_s, motion.efforts[name]) for name in motors])
    edges = [0, *(np.flatnonzero(wide) + 1).tolist(), len(time_s)]
    segments = []
    for first, end in pairwise(edges):
        inside = np.flatnonzero(
            (grid >= time_s[first] - 0.1 * period) & (grid <= time_s[end - 1] + 0.1 * period)
        )
        if len(inside):
            segments.append((int(inside[0]), int(inside[-1]) + 1))
    return UniformMotion(period, grid, positions, efforts, motion.hold_s, tuple(segments), tuple(remarks))


def _smooth(grid: Floats, time_s: Floats, values: Floats) -> Floats:
    """Return values between rows, by a cubic spline through them."""
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(time_s, values)(grid))
