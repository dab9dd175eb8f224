"""Measured and predicted efforts over time, in few enough points to draw."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.identification.filtered_equations import Equations
from linkwork.machine import Machine


def effort_unit(machine: Machine, joint: str) -> str:
    """Return the unit of a joint's effort."""
    mechanism = machine.mechanism
    return "N m" if mechanism.joint_is_angle[mechanism.joint_index(joint)] else "N"


def effort_series(
    equations: Equations, places: Integers, measured: Floats, predicted: Floats, most: int
) -> tuple[Floats, Floats, Floats]:
    """Return time and both efforts of these equations, in at most `most` evenly spaced ones.

    measured, predicted (n): efforts, rows of `equations`. NaN between pieces without gaps.
    """
    step = max(1, -(-len(places) // most))
    kept = places[::step]
    ends = np.flatnonzero(np.diff(equations.block[kept])) + 1
    time_s, *efforts = (
        np.insert(values[kept], ends, np.nan) for values in (equations.time_s, measured, predicted)
    )
    return time_s, efforts[0], efforts[1]


def plain_curves(
    machine: Machine, equations: Equations, measured: Floats, predicted: Floats, most: int
) -> list[dict[str, Any]]:
    """Return joint, unit, time_s, measured and predicted of each independent joint as plain data.

    measured, predicted (n): efforts, rows of `equations`. most: points of a curve.
    """

    def curves() -> Iterator[dict[str, Any]]:
        for row, joint in enumerate(equations.joints):
            places = np.flatnonzero(equations.row == row)
            series = effort_series(equations, places, measured, predicted, most)
            named = zip(("time_s", "measured", "predicted"), (each.tolist() for each in series), strict=True)
            yield {"joint": joint, "unit": effort_unit(machine, joint), **dict(named)}

    return list(curves())
