"""`linkwork demo platform_3rrs`: tilt and yaw about the printed pose, then heave and tilt.

In the printed pose, with the motors near zero, they have no leverage on the platform's height: heave is at a
dead centre there, so that pose is for tilt and yaw. With the motors at 0.6 rad height moves with them.
"""

from __future__ import annotations

from math import cos, pi, sin
from typing import Any

from linkwork.demos.demo import Demo
from linkwork.demos.demo_steps import follow, home, move
from linkwork.demos.stage import DemoStep, MeasuredPart
from linkwork.demos.waypoints import along, begin

MOTORS = ("motor_1", "motor_2", "motor_3")
AWAY_RAD = 0.6
HEIGHT_M = 0.58
TILT_RAD, YAW_RAD, HEAVE_M = 0.12, 0.15, 0.03
TURNS_PER_S = 0.75
"""Of the tilt, in either part; it yaws twice in three turns."""
RAMP_S = 0.5


def tilt_and_yaw(seconds: float, speed: float) -> dict[str, Any]:
    """The platform's normal follows a cone while the platform yaws back and forth."""
    rate = 2.0 * pi * TURNS_PER_S * speed

    def motion(u: float) -> dict[str, tuple[float, float, float]]:
        return {
            "roll": _cosine(TILT_RAD, rate, u),
            "pitch": _sine(TILT_RAD, rate, u),
            "yaw": _sine(YAW_RAD, 2.0 / 3.0 * rate, u),
        }

    return along(motion, seconds, RAMP_S)


def heave_and_tilt(seconds: float, speed: float) -> dict[str, Any]:
    """The platform goes up and down while its normal goes round a cone."""
    rate = 2.0 * pi * TURNS_PER_S * speed

    def motion(u: float) -> dict[str, tuple[float, float, float]]:
        height, velocity, acceleration = _sine(HEAVE_M, rate, u)
        return {
            "height": (HEIGHT_M + height, velocity, acceleration),
            "roll": _cosine(TILT_RAD, rate, u),
            "pitch": _sine(TILT_RAD, rate, u),
        }

    return along(motion, seconds, RAMP_S)


def _sine(size: float, rate: float, u: float) -> tuple[float, float, float]:
    angle = rate * u
    return size * sin(angle), size * rate * cos(angle), -size * rate**2 * sin(angle)


def _cosine(size: float, rate: float, u: float) -> tuple[float, float, float]:
    angle = rate * u
    return size * cos(angle), -size * rate * sin(angle), -size * rate**2 * cos(angle)


def steps(seconds: float, speed: float) -> list[DemoStep]:
    """Each part takes half of the measured time."""
    half = seconds / 2.0
    first, second = tilt_and_yaw(half, speed), heave_and_tilt(half, speed)
    span = (RAMP_S, RAMP_S + half)
    return [
        move("to the start", begin(first), 0.1),
        follow("tilt and yaw", first, MeasuredPart(("roll", "pitch", "yaw"), *span), 0.35),
        move("motors to 0.6", dict.fromkeys(MOTORS, AWAY_RAD), 0.05),
        move("to the start", begin(second), 0.05),
        follow("heave and tilt", second, MeasuredPart(("height", "roll", "pitch"), *span), 0.35),
        move("motors to 0.6", dict.fromkeys(MOTORS, AWAY_RAD), 0.05),
        home(0.1),
    ]


DEMO = Demo("platform_3rrs", "A platform on three legs tilts, yaws and heaves", 8.0, steps, truth=True)
