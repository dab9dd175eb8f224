"""The walk along a path: at every sample the machine's pose, speeds, accelerations and efforts, at full
speed.

At the path parameter s, with rate r = ds/dt and its change s¨, the motors must give

    effort = rest + motion r² + drag r + friction(r) + inertia s¨

    rest = h(q, 0),   motion = M q'' + h₂(q, q'),   drag = h₁(q, q'),   inertia = M q'

where ' is d/ds, h₂ the part of h(q, q') - h(q, 0) that is even in the speed (Coriolis) and h₁ the odd one
(dampers and applied forces). So one walk at r = 1 gives the efforts at every speed. Applied forces that
depend on time are taken at the times of this walk.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats, Integers

STEP_S = 0.005
MOST_SAMPLES = 400_000
FEWEST_SAMPLES = 200
"""Also of the shortest path: a peak of its jerk is met within a thousandth, slowed down or not."""
NEWTON_STEPS = 40
LONGEST_STEP = 0.5
"""Longest Newton step, rad or machine lengths."""
CLOSE = 1e-9
"""Scaled residual below which one more Newton step reaches round-off."""


@dataclass(frozen=True)
class Walk:
    """Results at n samples; derivatives are with respect to s.

    `s`, `piece` (n). `q` (n × nq), `q1`, `q2` (n × nv): joints and their derivatives; `inertia`, `rest`,
    `motion`, `drag` (None without springs and applied forces): efforts at the joints, see above; `d0` …
    `d3`: the goal coordinates and their derivatives (n × k). `motors` (n × motors × nv): takes forces on all
    joints to efforts of the motors that move the machine alike, None where every joint has its own.
    `determined`: whether these efforts are the only ones, because forces of constraints are wanted too.
    `ends_at_branch`: whether branches of the closures meet at the path's end. `hold` (n): a lower bound of
    the smallest singular value of the scaled Jacobian. `closures` (n): smallest singular value of the
    closures' scaled rows, of their ordinary size; `leverage` (n): that of the motors' map
    (`laws.motor_conditioning`); both None without closures.
    `reached`: samples that could be reached, n when all of them.
    """

    s: Floats
    piece: Integers
    q: Floats
    q1: Floats
    q2: Floats
    inertia: Floats
    rest: Floats
    motion: Floats
    d0: Floats
    d1: Floats
    d2: Floats
    d3: Floats
    hold: Floats
    reached: int
    motors: Floats | None = None
    drag: Floats | None = None
    determined: bool = False
    ends_at_branch: bool = False
    closures: Floats | None = None
    leverage: Floats | None = None

    def since(self, s: float) -> Walk:
        """The samples from the last one before s on."""
        first = max(int(np.searchsorted(self.s, s, "right")) - 1, 0)
        if first == 0:
            return self
        changed: dict[str, Any] = {"reached": self.reached - first}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                changed[field.name] = value[first:]
        return replace(self, **changed)

    @property
    def joined(self) -> NDArray[np.bool_]:
        """Whether sample i and the next one lie on the same piece, one behind the other (n - 1)."""
        return np.asarray((np.diff(self.piece) == 0) & (np.diff(self.s) > 0.0))


def samples(knots: Floats) -> tuple[Integers, Floats]:
    """Return piece and offset (n each) of the samples: both ends of every piece, and at most 5 ms apart
    between them.

    On paths above half an hour they are farther apart, on paths below a second closer.
    """
    lengths = np.diff(knots)
    step = min(max(STEP_S, float(knots[-1]) / MOST_SAMPLES), float(knots[-1]) / FEWEST_SAMPLES)
    parts = np.ceil(lengths / step - 1e-9).astype(np.int64).clip(1)
    piece = np.repeat(np.arange(len(lengths)), parts + 1)
    first = np.concatenate([[0], np.cumsum(parts + 1)[:-1]])
    number = np.arange(len(piece)) - first[piece]
    return piece, lengths[piece] * (number / parts[piece])
