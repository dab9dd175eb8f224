"""The path parameter over time: how fast a goal goes along its path, and how that changes."""

import ruckig


class PathRate:
    """The path parameter s(t) with a jerk-limited rate; `aim` changes it from the present state."""

    def __init__(self, time_s: float, rate: float = 0.0) -> None:
        self._otg = ruckig.Ruckig(1)
        self._trajectory = ruckig.Trajectory(1)
        self._input = ruckig.InputParameter(1)
        self._input.control_interface = ruckig.ControlInterface.Velocity
        self.target = rate
        self._time = self._since = time_s
        self._s0 = 0.0
        self._changing_s = 0.0
        """How long the change of rate takes; zero when there is none."""
        self._change_end = 0.0
        self._here: tuple[float, float, float] | None = None

    def aim(self, target: float, max_acceleration: float, max_jerk: float) -> None:
        """Bring the rate to `target`, from the rate and acceleration of this instant."""
        self._aim_from(self.here(), target, max_acceleration, max_jerk)

    def restate(self, ratio: float, target: float, max_acceleration: float, max_jerk: float) -> None:
        """Count the path parameter in seconds `ratio` times as long from now on, and aims as `aim`, in
        these.
        """
        s, rate, acceleration = self.here()
        self._aim_from((s / ratio, rate / ratio, acceleration / ratio), target, max_acceleration, max_jerk)

    def _aim_from(
        self, state: tuple[float, float, float], target: float, max_acceleration: float, max_jerk: float
    ) -> None:
        s, rate, acceleration = state
        given = self._input
        given.current_position, given.current_velocity, given.current_acceleration = (
            [0.0],
            [rate],
            [acceleration],
        )
        given.target_velocity, given.target_acceleration = [target], [0.0]
        given.max_acceleration, given.max_jerk = [max(max_acceleration, abs(acceleration))], [max_jerk]
        self._otg.calculate(given, self._trajectory)
        self._since, self._s0, self.target, self._here = self._time, s, target, None
        self._changing_s = float(self._trajectory.duration)
        self._change_end = s + float(self._trajectory.at_time(self._changing_s)[0][0])

    def start(self, time_s: float, rate: float) -> None:
        """Set s = 0 at this instant, at full rate: for paths that begin at rest by themselves."""
        self._time = self._since = time_s
        self._s0, self.target, self._changing_s, self._here = 0.0, rate, 0.0, None

    @property
    def time_s(self) -> float:
        """Device time of the present state."""
        return self._time

    def advance(self, time_s: float) -> None:
        """Move to this device time."""
        self._time, self._here = time_s, None

    def here(self) -> tuple[float, float, float]:
        """`at` this instant; a tick asks several times."""
        found = self._here
        if found is None:
            found = self._here = self.rate_at(0.0)
        return found

    def rate_at(self, ahead_s: float) -> tuple[float, float, float]:
        """(s, ds/dt, d²s/dt²) that much later."""
        elapsed = self._time - self._since + ahead_s
        if elapsed < self._changing_s:
            s, rate, acceleration = self._trajectory.at_time(elapsed)
            return self._s0 + s[0], rate[0], acceleration[0]
        if self._changing_s:
            return self._change_end + self.target * (elapsed - self._changing_s), self.target, 0.0
        return self._s0 + self.target * elapsed, self.target, 0.0

    @property
    def steady(self) -> bool:
        """Whether the rate has reached its target."""
        return self._time - self._since >= self._changing_s


FALL_S, RISE_S, QUIET_S = 0.1, 1.0, 0.1
LEAST = 0.05
_STEP = 0.01
"""Smallest change of the factor that is passed to the path rate."""


class TimeScaling:
    """Slow a goal down on its path while the motors cannot follow, then speed it up again.

    While something limits the motion, the factor on the goal's speed decays with the time constant `FALL_S`,
    to `LEAST` at least; after `QUIET_S` without a limit it rises again, in `RISE_S` from zero to one. The
    path parameter follows it within the limits that the goal was admitted for, so the machine stays on its
    path. `told`: the value last passed to the path rate.
    """

    def __init__(self) -> None:
        self.told = self._factor = 1.0
        self._quiet_s = 0.0

    @property
    def active(self) -> bool:
        """Whether the goal is slower than it was asked for."""
        return self.told < 1.0

    @property
    def idle(self) -> bool:
        """Whether the motion has not been limited for a while."""
        return self.told == 1.0 and self._factor == 1.0

    def update(self, dt: float, *, limited: bool) -> bool:
        """Advance by one tick of dt seconds. True when `told` has changed."""
        if limited:
            self._quiet_s = 0.0
            self._factor = max(LEAST, self._factor * (1.0 - dt / FALL_S))
        elif self._factor < 1.0:
            self._quiet_s += dt
            if self._quiet_s >= QUIET_S:
                self._factor = min(1.0, self._factor + dt / RISE_S)
        else:
            return False
        if abs(self._factor - self.told) < _STEP and self._factor not in (LEAST, 1.0):
            return False
        changed = self._factor != self.told
        self.told = self._factor
        return changed
