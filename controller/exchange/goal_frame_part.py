"""The frame part of a goal, as words behind its path: which moving frame, when in it, from where on.

    word 0            version
    word 1            number of the frame in the machine
    words 2 … 5       path parameters (s): it enters from … to, and leaves from … to
    word 6            displacement of the frame (m or rad) for which the path is
    words 7, 8        smallest and largest speed of the frame for which the goal is admitted
    words 9, 10       smallest and largest position along it, or angle about it, in the frame
    words 11, 12      how long after its planning the goal begins at the earliest, and at the latest (s)
    words 13 … 15     numbers of the goal's coordinates x, y, z that turn with the frame, -1: none
    words 16 … 21     axis (unit vector) and a point (m) of the line about which the frame turns
    k                 change of each coordinate of the goal per metre or radian of the frame's motion

The path holds the goal coordinates as if the frame stood at that displacement. Of the frame's motion since
then, the share `weight(s)` is added: 0 before entering, 1 in the frame, 0 after leaving. A frame that slides
has zeros in words 16 … 21.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from linkwork.arrays import Floats

VERSION = 4
_HEADER = 22
_NO_TURN = (-1.0, -1.0, -1.0, *[0.0] * 6)


@dataclass(frozen=True)
class Turn:
    """The line about which a frame turns, and the coordinates that turn with it.

    places: numbers of the goal's coordinates that are x, y and z of one point, -1 where the goal has none
    and none is needed, because the line is parallel to that axis. axis (3): unit vector; center_m (3).
    """

    places: tuple[int, int, int]
    axis: tuple[float, float, float]
    center_m: tuple[float, float, float]

    @cached_property
    def _cross(self) -> Floats:
        """The matrix K (3 × 3) with K p = axis × p."""
        x, y, z = self.axis
        return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])

    @cached_property
    def _twice(self) -> Floats:
        return np.asarray(self._cross @ self._cross)

    @cached_property
    def _from(self) -> tuple[Floats, Floats]:
        """Directions (3) of the angles 0 and π/2: x, or y where the axis is parallel to x, in the plane."""
        axis = np.array(self.axis)
        ahead = np.eye(3)[1 if abs(axis[0]) > 0.9 else 0]
        ahead = ahead - (ahead @ axis) * axis
        ahead /= np.linalg.norm(ahead)
        return ahead, np.cross(axis, ahead)

    @cached_property
    def _given(self) -> list[tuple[int, int]]:
        """Axis of the world and number of the coordinate, of those that the goal has."""
        return [(axis, place) for axis, place in enumerate(self.places) if place >= 0]

    def _vector(self, values: Floats) -> Floats:
        found = np.zeros(3)
        for axis, place in self._given:
            found[axis] = values[place]
        return found

    def carry(
        self, angle: float, rate: float, change: float, theta: Floats, velocity: Floats, acceleration: Floats
    ) -> None:
        """Turn the point's place by the frame's motion, in place: theta, velocity, acceleration (k each).

        With p the place from the centre and R the rotation by `angle` (rad; rate and change per second):
        R p, R ṗ + rate K R p, and R p̈ + 2 rate K R ṗ + change K R p + rate² K² R p.
        """
        center, cross, twice = self.center_m, self._cross, self._twice
        rotation = np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * twice
        place = rotation @ (self._vector(theta) - self._vector_of(center))
        speed, change_of_speed = rotation @ self._vector(velocity), rotation @ self._vector(acceleration)
        change_of_speed += 2.0 * rate * (cross @ speed) + change * (cross @ place) + rate**2 * (twice @ place)
        speed += rate * (cross @ place)
        for axis, number in self._given:
            theta[number] = center[axis] + place[axis]
            velocity[number], acceleration[number] = speed[axis], change_of_speed[axis]

    def _vector_of(self, center: tuple[float, float, float]) -> Floats:
        found = np.zeros(3)
        for axis, _ in self._given:
            found[axis] = center[axis]
        return found

    def angle_of(self, theta: Floats) -> float:
        """Return the angle of the point about the line, -π to π, of a reference theta (k)."""
        place = self._vector(theta) - self._vector_of(self.center_m)
        ahead, beside = self._from
        return math.atan2(float(place @ beside), float(place @ ahead))


@dataclass(frozen=True)
class FramePart:
    """The moving frame of a goal; see above. gains (k): change per metre or radian of the frame's motion."""

    frame: int
    enters_s: tuple[float, float]
    leaves_s: tuple[float, float]
    origin: float
    speed: tuple[float, float]
    window: tuple[float, float]
    begins_s: tuple[float, float]
    gains: Floats
    turn: Turn | None = None

    def carry(
        self, motion: tuple[float, float, float], theta: Floats, velocity: Floats, acceleration: Floats
    ) -> None:
        """Add a motion of the frame to a reference, in place (k each).

        motion: displacement (m or rad), speed and acceleration, of which only the share counts that the goal
        has of them.
        """
        way, speed, change = motion
        theta += self.gains * way
        velocity += self.gains * speed
        acceleration += self.gains * change
        if self.turn is not None:
            self.turn.carry(way, speed, change, theta, velocity, acceleration)

    def position(self, theta: Floats) -> float:
        """Return the position along the frame's direction (m), or the angle about its line.

        theta (k): a reference. The angle is the one nearest to the middle of the window.
        """
        if self.turn is None:
            return float(self.gains @ theta)
        middle = 0.5 * (self.window[0] + self.window[1])
        return middle + math.remainder(self.turn.angle_of(theta) - middle, 2.0 * math.pi)

    def weight(self, s: float) -> tuple[float, float, float]:
        """Return the share of the frame's motion at s, and its first two derivatives with respect to s.

        Between 0 and 1 it is 10 x³ - 15 x⁴ + 6 x⁵, with x the share of the way.
        """
        for (begin, end), sign in ((self.enters_s, 1.0), (self.leaves_s, -1.0)):
            if s < end:
                if s <= begin:
                    return (0.0 if sign > 0.0 else 1.0), 0.0, 0.0
                length = end - begin
                x = (s - begin) / length
                value = x * x * x * (10.0 - 15.0 * x + 6.0 * x * x)
                first = 30.0 * x * x * (1.0 - x) * (1.0 - x) / length
                second = 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / (length * length)
                return (value if sign > 0.0 else 1.0 - value), sign * first, sign * second
        return 0.0, 0.0, 0.0

    def inside(self, s: float) -> bool:
        """Whether the goal is wholly in the frame at s."""
        return self.enters_s[1] <= s <= self.leaves_s[0]

    def stretched(self, factor: float) -> FramePart:
        """Return the frame part along a path that is followed `factor` times as slow."""
        enters, leaves = ((begin * factor, end * factor) for begin, end in (self.enters_s, self.leaves_s))
        return replace(self, enters_s=enters, leaves_s=leaves)

    def words(self) -> Floats:
        """Return the part as a flat array, to be read by `from_words`."""
        times, ranges = (*self.enters_s, *self.leaves_s), (*self.speed, *self.window)
        turn = self.turn
        turning = _NO_TURN if turn is None else (*turn.places, *turn.axis, *turn.center_m)
        head = (VERSION, self.frame, *times, self.origin, *ranges, *self.begins_s, *turning)
        return np.array([*head, *self.gains])

    @classmethod
    def from_words(cls, words: Floats) -> FramePart:
        """Return the part in a flat array. Raises ValueError when it holds none."""
        if len(words) <= _HEADER or words[0] != VERSION or not np.all(np.isfinite(words)):
            raise ValueError("the frame part of the goal has another version")
        a, b, c, d, origin, slow, fast, low, high, after, within, *turning = words[2:_HEADER].tolist()
        if not 0.0 <= a < b <= c < d:
            raise ValueError(f"the goal enters its frame at {a} … {b} s and leaves it at {c} … {d} s")
        gains, turn = words[_HEADER:].copy(), None
        if any(turning[3:6]):
            x, y, z = (int(place) for place in turning[:3])
            if not all(-1 <= place < len(gains) for place in (x, y, z)):
                raise ValueError(f"coordinates {x}, {y}, {z} of {len(gains)} turn with the frame")
            turn = Turn((x, y, z), (turning[3], turning[4], turning[5]), (turning[6], turning[7], turning[8]))
        number, begins = int(words[1]), (after, within)
        return cls(number, (a, b), (c, d), origin, (slow, fast), (low, high), begins, gains, turn)
