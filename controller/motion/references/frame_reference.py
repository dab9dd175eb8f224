"""A goal that is in a moving frame for a part of its path.

The reference is that of the path, plus the weighted motion of the frame (goal_frame_part.py):

    θ = path(s) + w(s) c (d - d₀)

with d the frame's displacement, d₀ that for which the path is, and c the change of each coordinate per metre.
In a frame that turns, the point's place is turned about the frame's line by w(s) (d - d₀).
"""

import ruckig

from linkwork.arrays import Floats
from linkwork.controller.estimation.frame_tracker import FrameTracker
from linkwork.controller.exchange.goal_block import GoalBlock
from linkwork.controller.exchange.goal_frame_part import FramePart
from linkwork.controller.motion.references.reference import Follow

SPARE_S = 0.005
"""A goal may begin so much later than it states: the ticks that an order takes."""
SLACK = 5e-4
"""Difference between signal and filtered displacement that the begin allows for (m or rad)."""
JERK_PER_ACCELERATION_1_S = 20.0
"""Jerk of a stop in the frame, relative to the frame's acceleration: it is reached within 50 ms."""
SPEED_SLACK = 0.05
"""Share of the frame's range of speeds by which the estimated speed may leave it, for its noise."""


class FollowInFrame(Follow):
    """A goal under way whose block has a frame part."""

    def __init__(
        self,
        goal_id: int,
        block: GoalBlock,
        time_s: float,
        speed: float,
        part: FramePart,
        track: FrameTracker,
    ) -> None:
        super().__init__(goal_id, block, time_s, speed)
        self._part, self._track, self._frame = part, track, track.frame
        self._braking: ruckig.Trajectory | None = None
        self._braking_since_s = self._braking_from = 0.0
        off = track.displacement - part.origin
        self._turns = off - self._frame.nearest(off)
        """Whole turns of the signal since the goal was planned, of a frame that turns (rad)."""

    @staticmethod
    def may_begin(part: FramePart, track: FrameTracker) -> bool:
        """Whether the frame is where admission expected it at the begin."""
        (low, high), (early_s, late_s) = part.speed, part.begins_s
        moved, late_s = track.frame.nearest(track.displacement - part.origin), late_s + SPARE_S
        slack = SLACK + 0.01 * max(abs(low), abs(high)) * late_s
        least, most = min(low * early_s, low * late_s), max(high * early_s, high * late_s)
        return track.known and least - slack <= moved <= most + slack

    def evaluate(self, ahead_s: float, theta: Floats, velocity: Floats, acceleration: Floats) -> None:
        """Write the goal's motion (k each; rad or m, per s, per s²) `ahead_s` from now, frame included.

        The motion of the frame counts by its weight, which rises and falls where the goal enters and leaves
        the frame.
        """
        super().evaluate(ahead_s, theta, velocity, acceleration)
        s, rate, change = self.path.rate_at(ahead_s) if ahead_s else self.path.here()
        w, w1, w2 = self._part.weight(s)
        if w == 0.0 and w1 == 0.0:
            return
        d, v, a = self._motion(ahead_s)
        d -= self._part.origin + self._turns
        first, second = w1 * rate, w2 * rate * rate + w1 * change
        weighted = w * d, first * d + w * v, second * d + 2.0 * first * v + w * a
        self._part.carry(weighted, theta, velocity, acceleration)

    def _motion(self, ahead_s: float) -> tuple[float, float, float]:
        """Displacement, speed and acceleration of the frame, or of its motion while it is brought to rest."""
        braking = self._braking
        if braking is None:
            return self._track.ahead(ahead_s)
        since = self.path.time_s - self._braking_since_s + ahead_s
        way, speed, acceleration = braking.at_time(since)
        return self._braking_from + way[0], speed[0], acceleration[0]

    def stop(self) -> None:
        """Slow the path parameter to rest, and the share of the frame's motion too."""
        super().stop()
        if self._braking is not None:
            return
        d, v, a = self._track.ahead(0.0)
        most = self._frame.acceleration
        given = ruckig.InputParameter(1)
        given.control_interface = ruckig.ControlInterface.Velocity
        given.current_position, given.current_velocity, given.current_acceleration = [0.0], [v], [a]
        given.target_velocity, given.target_acceleration = [0.0], [0.0]
        given.max_acceleration, given.max_jerk = [most], [JERK_PER_ACCELERATION_1_S * most]
        self._braking = ruckig.Trajectory(1)
        ruckig.Ruckig(1).calculate(given, self._braking)
        self._braking_since_s, self._braking_from = self.path.time_s, d

    @property
    def resting(self) -> bool:
        """Whether the reference stands still from here on."""
        if not super().resting:
            return False
        if self._braking is None:
            return True
        return bool(self.path.time_s - self._braking_since_s >= self._braking.duration)

    def left(self, theta: Floats) -> tuple[float, float] | None:
        """Return speed or position of the frame (m or rad, s) that is out of its range, and the limit.

        None while the goal is not wholly in the frame. theta: the reference now (k).
        """
        if not self._part.inside(self.path.here()[0]):
            return None
        part, widest = self._part, self._frame.speed
        position, speed = part.position(theta), self._track.speed
        slack = SPEED_SLACK * (widest[1] - widest[0])
        for value, (low, high), beyond in ((position, part.window, 0.0), (speed, part.speed, slack)):
            if value < low - beyond:
                return value, low
            if value > high + beyond:
                return value, high
        return None
