"""Simulation to a given accuracy: refined until a run and the one before it agree.

Fixed steps are halved; an adaptive integrator gets a tolerance that is a hundred times smaller. The
difference of two runs estimates the error of the coarser one, and the finer one is returned.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine.building.contact_parameters import ContactTooStiff
from linkwork.offline.methods import ADAPTIVE, LEAST_RELATIVE
from linkwork.plant.simulator.simulator import SimulationDiverged

if TYPE_CHECKING:
    from linkwork.offline.run import Motion

MOST_REFINED_STEPS: Final = 5_000_000
"""Longest run, in steps."""
LEAST_ACCURACY: Final = 1e-13
_FINER: Final = 0.01
"""Ratio of an adaptive integrator's tolerances in successive runs, and of the first to the accuracy."""

Simulated = Callable[[float, int, float | None, float | None], "Motion"]
"""Simulate with a step (s), `every`, and relative and absolute tolerance."""


class AccuracyNotReached(ValueError):
    """Two runs do not agree as closely as wanted; the text gives the best that was found."""


def refined(
    simulated: Simulated,
    accuracy: float,
    method: str,
    duration_s: float,
    dt: float,
    every: int,
    *,
    held: bool,
) -> Motion:
    """Return the motion with an error of at most `accuracy`, see `Motion.error`.

    simulated: makes the motion with a step. method: the integrator; duration_s, dt (s), every: length, first
    step, and steps from sample to sample. held: whether efforts are held over a sample, so that samples must
    become denser too. Raises ValueError for an accuracy out of bounds, and AccuracyNotReached.
    """
    if not LEAST_ACCURACY <= accuracy < 1.0:
        raise ValueError(f"the accuracy must be between {LEAST_ACCURACY:g} and 1, not {accuracy}")
    adaptive = method in ADAPTIVE
    least = LEAST_RELATIVE.get(method, 0.0)
    rtol, before, best, failed = _FINER * accuracy, None, math.inf, ""
    while duration_s / dt <= MOST_REFINED_STEPS and (held or rtol > _FINER * least):
        motion, bound = None, max(rtol, least)
        try:
            motion = simulated(dt, every, *((bound, _FINER * bound) if adaptive else (None, None)))
        except (SimulationDiverged, ContactTooStiff) as error:
            if adaptive:
                raise
            failed = f"; {error}" if not isinstance(error, ContactTooStiff) else ""
        if motion is not None and before is not None:
            found = max(_difference(before.q, motion.q), _difference(before.v, motion.v))
            if found <= accuracy:
                return replace(motion, error=found, dt_s=dt)
            best = min(best, found)
        before = motion
        rtol *= _FINER
        if held or not adaptive:
            dt, every = 0.5 * dt, 2 * every
    reached = (
        f"the best two runs differ by {best:.2g}" if math.isfinite(best) else f"no two runs agree{failed}"
    )
    remedy = (
        "a lower accuracy, a shorter duration" if adaptive else "integrator dop853, or lsoda if it is stiff"
    )
    raise AccuracyNotReached(
        f"an accuracy of {accuracy:g} is not reached with {method}, down to "
        + (f"a tolerance of {max(least, rtol / _FINER):.2g}" if adaptive else f"steps of {2.0 * dt:.3g} s")
        + f": {reached}. Try {remedy}, or an accuracy that the motion allows"
    )


def _difference(coarse: Floats, fine: Floats) -> float:
    """Return the largest difference; of values whose column exceeds 1, as a fraction of its largest."""
    size = np.maximum(1.0, np.abs(fine).max(axis=0))
    return float((np.abs(coarse - fine) / size).max(initial=0.0))
