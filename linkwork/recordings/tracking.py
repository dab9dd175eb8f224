"""Tracking figures of a goal: errors and efforts over the ticks of its measured part."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.recordings.log_file import Ticks


@dataclass(frozen=True)
class Tracking:
    """One goal's ticks, n of them; `measured` marks those in which the error counts.

    `reference`, `actual` and `velocity` (of the reference) are (n, coordinates), metres or radians, and per
    second; `effort` is (n, motors), N m or N.
    """

    time_s: Floats
    measured: NDArray[np.bool_]
    coordinates: tuple[str, ...]
    reference: Floats
    velocity: Floats
    actual: Floats
    motors: tuple[str, ...]
    effort: Floats
    rows: NDArray[np.intp]
    """Row of each tick in the log (n,)."""

    def error(self, coordinate: str) -> Floats:
        """Reference minus actual in the measured ticks (n,)."""
        at = self.coordinates.index(coordinate)
        difference: Floats = (self.reference[:, at] - self.actual[:, at])[self.measured]
        return difference

    def reference_jerk(self) -> float:
        """Largest jerk of any coordinate's reference between the measured ticks (rad/s³ or m/s³)."""
        step = float(np.median(np.diff(self.time_s)))
        inside = self.measured[2:] & self.measured[:-2]
        jerk = np.diff(self.velocity, 2, axis=0)[inside] / step**2
        return float(np.abs(jerk).max(initial=0.0))

    def distance(self, coordinates: Sequence[str]) -> Floats:
        """Length of the error over several coordinates, per measured tick (n,)."""
        length: Floats = np.linalg.norm([self.error(name) for name in coordinates], axis=0)
        return length

    def peak_effort(self) -> dict[str, float]:
        """Largest magnitude of each motor's effort in the measured ticks, by joint."""
        peaks = np.abs(self.effort[self.measured]).max(axis=0)
        return dict(zip(self.motors, peaks.tolist(), strict=True))


def follow(ticks: Ticks, goal_id: int, coordinates: Sequence[str], begin_s: float, end_s: float) -> Tracking:
    """The ticks of one goal; those whose path parameter lies in [begin_s, end_s] are measured.

    The path parameter of a stream is the time since its begin. Raises ValueError when the log holds no such
    tick.
    """
    table = ticks.table
    under_way = (table["path_length_s"] > 0) | (table["stream_state"] > 0)
    rows = np.flatnonzero((table["goal_id"] == goal_id) & under_way)
    mine = table[rows]
    columns = [ticks.names["coordinate"].index(name) for name in coordinates]
    reference = mine["reference"][:, columns]
    given = np.isfinite(reference).all(axis=1)
    rows, mine, reference = rows[given], mine[given], reference[given]
    along = np.where(mine["path_length_s"] > 0, mine["path_s"], mine["time_s"] - mine["time_s"][:1])
    measured = (along >= begin_s) & (along <= end_s)
    if not measured.any():
        raise ValueError(
            f"the log holds no tick of goal {goal_id} between {begin_s:g} s and {end_s:g} s of its path"
        )
    return Tracking(
        mine["time_s"] - mine["time_s"][0],
        measured,
        tuple(coordinates),
        reference,
        mine["reference_velocity"][:, columns],
        mine["coordinate"][:, columns],
        ticks.names["effort"],
        mine["effort"],
        rows,
    )


def rms(values: Floats) -> float:
    """Return the root mean square of values (n)."""
    return float(np.sqrt(np.mean(np.square(values))))
