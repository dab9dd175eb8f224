"""Distance of a path from singularities of the goal's coordinates, the closures and the motors."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.planning.walk.walk import Walk
from linkwork.machine.checks.controllability import LEAST_LEVERAGE

Closest = dict[str, float | int] | None


def closest(walked: Walk, values: Floats | None, limit: float | None = None) -> Closest:
    """Return the smallest of these values (samples), its `sample`, `time_s` and, where given, the `limit`."""
    if values is None or not len(values):
        return None
    sample = int(np.argmin(values))
    found: dict[str, float | int] = {"smallest": float(values[sample]), "sample": sample}
    found["time_s"] = float(walked.s[sample])
    return found if limit is None else {**found, "limit": limit}


def singularities(walked: Walk, goal: Closest) -> dict[str, Any]:
    """The report's entry of this name: `goal`, `closures` and `motors`, each None where it does not apply.

    `goal`: the scaled Jacobian of the goal's coordinates, as found before. `closures`: smallest singular
    value of the closures' scaled rows, of their ordinary size; 0 at a pose where branches meet. `motors`: the
    motors' leverage.
    """
    return {
        "goal": goal,
        "closures": closest(walked, walked.closures),
        "motors": closest(walked, walked.leverage, LEAST_LEVERAGE),
    }
