"""Parts that feeders put on planes: when each one comes, and where, drawn from the plant's seed."""

from __future__ import annotations

import math

import numpy as np

from linkwork.machine.scene import PartFeeder
from linkwork.plant.loose_part import LoosePart
from linkwork.plant.moving_planes import MovingPlane

_STREAM = 2
"""Keeps these random numbers apart from those of sensors and signals, which have the same seed."""


class PartSupply:
    """The parts of one feeder, `parts` in their order; those that are still to come are `away`."""

    def __init__(
        self, feeder: PartFeeder, plane: MovingPlane, parts: list[LoosePart], seed: list[int]
    ) -> None:
        self._feeder, self._plane, self._parts = feeder, plane, parts
        random, count = np.random.default_rng([*seed, _STREAM]), len(parts)
        pauses = random.uniform(*feeder.every_s, count)
        self._times_s = feeder.first_s + np.concatenate([[0.0], np.cumsum(pauses[1:])])
        self._across_m = random.uniform(*feeder.across_m, count)
        self._turns_rad = random.uniform(*feeder.turn_rad, count)
        self._next = 0
        for part in parts:
            part.remove()

    def supply(self, time_s: float) -> None:
        """Put the parts on the plane whose time has come."""
        while self._next < len(self._parts) and time_s >= self._times_s[self._next]:
            number = self._next
            part, plane = self._parts[number], self._plane.plane
            across = np.cross(plane.normal, plane.along)
            c, s = math.cos(self._turns_rad[number]), math.sin(self._turns_rad[number])
            turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
            centre = part.part.at_m + self._across_m[number] * across
            velocity, spin = self._plane.velocity_at(centre), self._plane.spin
            part.put(centre, part.part.rotation @ turn, velocity, spin)
            self._next += 1
