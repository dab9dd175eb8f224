"""A streamed reference: set-points played back with a delay, limited online, brought to rest where they end.

Set-points come in by `offer`, at most one a tick. The target is their interpolation at the present stamp
(stream_playback.py); the reference follows it within all limits (planned_reference.py, stream_steps.py).

Without set-points, at the end, and when it is stopped, the target leaves the playback: it slows to rest on
the straight line along which the reference, or at the end the last set-point, was going.
"""

from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.exchange.orders import StartStream
from linkwork.controller.exchange.set_points import SetPoint, StreamState
from linkwork.controller.motion.streams.planned_reference import PlannedReference
from linkwork.controller.motion.streams.stream_limiter import StreamLimiter
from linkwork.controller.motion.streams.stream_playback import SetPoints, StreamClock
from linkwork.machine import Machine

BRAKING_SHARE = 0.6
"""Share of the acceleration and jerk limits with which the target comes to rest."""
SETTLE_S = 0.3
"""Time after the target has come to rest in which the reference does too. A limit of the pose may keep it
from the target for good, moving back and forth beside it: then it stops where it is."""


@dataclass(slots=True)
class Braking:
    """The target's way to rest from `start` (k) with the velocity `rate` (k), within `seconds`."""

    start: Floats
    rate: Floats
    seconds: float
    elapsed: float = 0.0

    def target(self, after: float, out: Floats) -> None:
        """Write the target (k × 3) that many seconds later.

        The speed is the rate times 1 - 3 x² + 2 x³, with x the elapsed share of the time.
        """
        x = min((self.elapsed + after) / self.seconds, 1.0)
        out[:, 0] = self.start + self.rate * (self.seconds * x * (1.0 - x * x * (1.0 - 0.5 * x)))
        out[:, 1] = self.rate * (1.0 - x * x * (3.0 - 2.0 * x))
        out[:, 2] = self.rate * (6.0 * x * (x - 1.0) / self.seconds)


class StreamedReference(PlannedReference):
    """The streamed reference of one machine, used by one stream after another (`begin`)."""

    follows = True

    def __init__(self, machine: Machine, limiter: StreamLimiter) -> None:
        super().__init__(limiter)
        self._tolerance = np.array([each.start for each in machine.tolerances])
        self._wraps = np.array(machine.mechanism.coordinate_wraps, np.bool_)
        self._order = StartStream(0, (), 0, 0, 0.0, 0.0)
        self.next_number = 0
        """Number of the set-point that is due."""
        self.state = StreamState.NONE
        self._points, self._clock = SetPoints(machine.dof), StreamClock()
        self._braking: Braking | None = None
        self._latest, self._held = np.zeros(0), np.zeros(0)

    # Begin and end.

    def begin(self, order: StartStream, theta: Floats, time_s: float) -> bool:
        """Begin at rest at theta (k; rad or m) of the order's coordinates.

        Returns False where they are not independent at the machine's pose, or singular there.
        """
        index = np.array(order.coordinates, np.int64)
        if not self.rest_at(index, theta, time_s):
            return False
        self._order, self.next_number = order, order.first
        self._points, self._clock = SetPoints(len(index)), StreamClock()
        self.state, self._braking = StreamState.WAITING, self._rest_here()
        return True

    def _rest_here(self) -> Braking:
        state = self.limiter.state
        return Braking(state[:, 0].copy(), np.zeros(len(state)), self.period_s)

    def _brake(self, start: Floats, rate: Floats) -> Braking:
        """The target's way to rest from here, within a share of the limits of every coordinate."""
        limits, share = self.limiter.limits, BRAKING_SHARE
        speed = np.abs(rate)
        by_acceleration = float(np.max(1.5 * speed / (share * limits[:, 1])))
        by_jerk = float(np.sqrt(np.max(6.0 * speed / (share * limits[:, 2]))))
        return Braking(start.copy(), rate.copy(), max(by_acceleration, by_jerk, self.period_s))

    def stop(self) -> None:
        """Come to rest on the way it is going."""
        if self.state is not StreamState.STOPPING:
            self.state = StreamState.STOPPING
            self._brake_from_state()

    def _brake_from_state(self) -> None:
        state = self.limiter.state
        self._braking = self._brake(state[:, 0], state[:, 1])

    def finish(self) -> None:
        """Play the last set-points back, then come to rest."""
        if self.state is not StreamState.STOPPING:
            if self.state is not StreamState.RUNNING:
                self.stop()
            else:
                self.state = StreamState.ENDING

    # Set-points.

    def offer(self, point: SetPoint, time_s: float) -> None:
        """Take in a set-point that has arrived at this device time; one that makes no sense has no effect."""
        self.next_number = point.number + 1
        taken = self.state not in (StreamState.NONE, StreamState.STOPPING)
        count = self._order.streamed
        if not taken or point.goal != self._order.goal or len(point.positions) != count:
            return
        positions = self.limiter.state[:, 0].copy()
        first = self._points.empty
        before = positions[:count] if first else self._latest
        given = np.asarray(point.positions)
        turns = np.round((before - given) / (2.0 * np.pi)) if np.all(np.isfinite(given)) else 0.0
        given = given + np.where(self._wraps[self.index[:count]], 2.0 * np.pi * turns, 0.0)
        if first and not np.all(np.abs(given - before) <= self._tolerance[self.index[:count]]):
            return
        positions[:count] = given
        velocities = None
        if len(point.velocities):
            velocities = np.zeros(len(positions))
            velocities[:count] = point.velocities
        if first:
            positions[count:] = self.limiter.state[count:, 0]
        else:
            positions[count:] = self._held
        if not self._points.add(point.stamp_s, positions, velocities):
            return
        self._latest, self._held = positions[:count].copy(), positions[count:].copy()
        if self.state is StreamState.STALE:
            self._clock.restart()
        self._clock.arrive(time_s, point.stamp_s)
        if self.state is not StreamState.ENDING:  # those on their way when it was finished count too
            self.state, self._braking = StreamState.RUNNING, None

    # Time.

    def aim(self) -> bool:
        """Write the set-points' target now and a period later; return whether they determine it."""
        self._target()
        return self.state in (StreamState.RUNNING, StreamState.ENDING)

    def _target(self) -> None:
        limiter, period = self.limiter, self.period_s
        if self._braking is None:
            self._clock.advance(period)
            stamp = self.planned_s - self._clock.offset_s - self._order.delay_s - period
            newest = self._points.newest_s
            if self.state is StreamState.ENDING and stamp + period >= newest:
                self._points.target(newest, self._out)
                speed = np.abs(limiter.state[:, 1])
                top = np.where(self._out[:, 1] * limiter.state[:, 1] > 0.0, speed, 0.0)
                self._braking = self._brake(self._out[:, 0], np.clip(self._out[:, 1], -top, top))
                self.state = StreamState.STOPPING
            elif stamp + period > newest + self._order.interval_s:
                self.state = StreamState.STALE
                self._brake_from_state()
            else:
                self._points.target(stamp, limiter.now)
                self._points.target(stamp + period, limiter.then)
                return
        braking = self._braking
        assert braking is not None
        braking.target(0.0, limiter.now)
        braking.target(period, limiter.then)
        braking.elapsed += period
        if braking.elapsed > braking.seconds + SETTLE_S and not self.resting:
            self._brake_from_state()

    @property
    def playback_s(self) -> float:
        """The sender's time that is played back now."""
        return self.time_s - self._clock.offset_s - self._order.delay_s

    @property
    def clock_offset_s(self) -> float:
        """Device time minus the sender's, as estimated; 0 before the first set-point."""
        return self._clock.offset_s

    @property
    def buffered_s(self) -> float:
        """Time for which there are set-points ahead of the playback; negative while they are missing."""
        return 0.0 if self._points.empty else self._points.newest_s - self.playback_s

    @property
    def resting(self) -> bool:
        """Whether the reference has come to rest and no set-point asks for more."""
        braking = self._braking
        return braking is not None and braking.elapsed >= braking.seconds and self.still

    @property
    def gives_up(self) -> bool:
        """Whether the stream has come to rest for want of set-points, and is to end then."""
        return self.state is StreamState.STALE and self._order.ends and self.resting
