"""Position, speed and acceleration of moving frames, from the signals that measure their displacement.

A fading-memory filter of third order (Brookner, Tracking and Kalman Filtering Made Easy, 1998, section 1.3)
with three equal poles θ = exp(-ω T), and the gains g = 1 - θ³, h = 1.5 (1 - θ)² (1 + θ), k = (1 - θ)³ / 2.
It follows a constant acceleration without lag.
"""

import math
from typing import Self

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.machine.frames import MovingFrame


class FrameTracker:
    """The motion of one frame: displacement (m or rad), speed and acceleration at the present tick."""

    def __init__(self, frame: MovingFrame, period_s: float) -> None:
        self.frame = frame
        pole = math.exp(-frame.bandwidth_rad_s * period_s)
        self._g = 1.0 - pole**3
        self._h = 1.5 * (1.0 - pole) ** 2 * (1.0 + pole) / period_s
        self._k = (1.0 - pole) ** 3 / period_s**2
        self.displacement = self.speed = self.acceleration = 0.0
        self.known = False
        """Whether the signal has been read since the device connected."""

    def update(self, value: float, elapsed_s: float, *, fresh: bool) -> None:
        """Move on by a tick, with the value of the signal if it is fresh."""
        if not self.known:
            if fresh:
                self.displacement = value * self.frame.per_unit
                self.speed = self.acceleration = 0.0
                self.known = True
            return
        self.displacement, self.speed, self.acceleration = self.ahead(elapsed_s)
        if fresh:
            off = self.frame.nearest(value * self.frame.per_unit - self.displacement)
            self.displacement += self._g * off
            self.speed += self._h * off
            most = self.frame.acceleration
            self.acceleration = min(max(self.acceleration + self._k * off, -most), most)

    def ahead(self, seconds: float) -> tuple[float, float, float]:
        """Return displacement, speed and acceleration that much later, if the acceleration stays."""
        a = self.acceleration
        speed = self.speed + a * seconds
        return self.displacement + 0.5 * (self.speed + speed) * seconds, speed, a


class FrameTrackers:
    """The trackers of all frames of a machine, in the order of the file."""

    def __init__(self, machine: Machine) -> None:
        period_s = machine.period_s
        self.all = tuple(FrameTracker(frame, period_s) for frame in machine.frames)

    def update(self, inputs: Floats, elapsed_s: float, *, fresh: bool, connected: bool) -> None:
        """Move all frames on by a tick of elapsed_s.

        inputs (inputs): values of the machine's input signals; fresh: whether they are of this tick;
        connected: whether the plant is.
        """
        for tracker in self.all:
            if connected:
                tracker.update(float(inputs[tracker.frame.input]), elapsed_s, fresh=fresh)
            else:
                tracker.known = False

    def adopt(self, other: Self) -> None:
        """Copy the motions from the trackers of another constraint set."""
        for mine, its in zip(self.all, other.all, strict=True):
            mine.displacement, mine.speed = its.displacement, its.speed
            mine.acceleration, mine.known = its.acceleration, its.known
