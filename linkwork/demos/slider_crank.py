"""`linkwork demo slider_crank`: the crank is timed so that the slider moves as a sine, through branch poses.

With links of 1 m the slider is at s = 2 cos crank. Where the crank is an odd multiple of a right angle
both ends of the mechanism meet and a second branch of motion begins: the crank could turn on with the slider
at rest.
"""

from __future__ import annotations

from math import acos, cos, pi, sin, sqrt
from typing import Any

from linkwork.demos.demo import Demo
from linkwork.demos.demo_steps import follow, home, move
from linkwork.demos.stage import DemoStep, MeasuredPart
from linkwork.demos.waypoints import along, begin

STROKE_M = 1.6
"""Amplitude of the first part; 2 m, that of the second, takes full turns."""
SWINGS_PER_S = TURNS_PER_S = 0.4
RAMP_S = 0.5
FROM_RAD = 0.6
"""Where the turns begin, before their ramp."""


def swing(seconds: float, speed: float) -> dict[str, Any]:
    """s = STROKE cos ωu, by crank = acos(s/2): twice a period through the crank upright."""
    rate = 2.0 * pi * SWINGS_PER_S * speed

    def motion(u: float) -> dict[str, tuple[float, float, float]]:
        half, phase = STROKE_M / 2.0, rate * u
        c, c1, c2 = half * cos(phase), -half * rate * sin(phase), -half * rate**2 * cos(phase)
        root = sqrt(1.0 - c * c)
        return {"crank": (acos(c), -c1 / root, -(c2 + c * c1**2 / root**2) / root)}

    return along(motion, seconds, RAMP_S)


def turn(seconds: float, speed: float) -> dict[str, Any]:
    """The crank turns steadily, so s = 2 cos (ωu + φ): upright up and down, twice a turn."""
    rate = 2.0 * pi * TURNS_PER_S * speed

    def motion(u: float) -> dict[str, tuple[float, float, float]]:
        return {"crank": (FROM_RAD + rate * u, rate, 0.0)}

    return along(motion, seconds, RAMP_S)


def steps(seconds: float, speed: float) -> list[DemoStep]:
    """Each part takes half of the measured time."""
    half = seconds / 2.0
    swinging, turning = swing(half, speed), turn(half, speed)
    measured = MeasuredPart(("crank",), RAMP_S, RAMP_S + half)
    return [
        move("to the start", begin(swinging), 0.05),
        follow("swings", swinging, measured, 0.4),
        move("to the start", begin(turning), 0.05),
        follow("turns", turning, measured, 0.4),
        home(0.1, speed=1.0),
    ]


DEMO = Demo(
    "slider_crank", "A slider moves as a sine, its crank through the branch poses", 10.0, steps, truth=True
)
