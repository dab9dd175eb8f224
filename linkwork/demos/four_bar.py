"""`linkwork demo four_bar`: the coupler swings between two angles, by the motor of the first link.

It turns at 0.4 to 2 times the speed of the first link.
"""

from __future__ import annotations

from math import cos, pi, radians, sin
from typing import Any

from linkwork.demos.demo import Demo
from linkwork.demos.demo_steps import follow, home, move
from linkwork.demos.stage import DemoStep, MeasuredPart
from linkwork.demos.waypoints import along, begin

MIDDLE_RAD, SWING_RAD = radians(5.0), radians(25.0)
SWINGS_PER_S = 0.5
RAMP_S = 0.5


def swings(seconds: float, speed: float) -> dict[str, Any]:
    """coupler = MIDDLE + SWING cos ωu."""
    rate = 2.0 * pi * SWINGS_PER_S * speed

    def motion(u: float) -> dict[str, tuple[float, float, float]]:
        angle, size = rate * u, SWING_RAD
        swung = (MIDDLE_RAD - size * cos(angle), size * rate * sin(angle), size * rate**2 * cos(angle))
        return {"coupler": swung}

    return along(motion, seconds, RAMP_S)


def steps(seconds: float, speed: float) -> list[DemoStep]:
    """Move to the start, swing back and forth, return."""
    path = swings(seconds, speed)
    measured = MeasuredPart(("coupler",), RAMP_S, RAMP_S + seconds)
    return [move("to the start", begin(path)), follow("swings", path, measured), home()]


DEMO = Demo("four_bar", "The coupler of a four-bar swings, driven at the first link", 8.0, steps, truth=True)
