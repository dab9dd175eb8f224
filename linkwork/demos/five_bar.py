"""`linkwork demo five_bar`: circles of the tool, by the two motors alone."""

from __future__ import annotations

from math import cos, pi, sin
from typing import Any

from linkwork.demos.demo import Demo
from linkwork.demos.demo_steps import follow, home, move
from linkwork.demos.stage import DemoStep, MeasuredPart

CENTER_M = (0.0, 0.33)
RADIUS_M = 0.06
TURNS_PER_S = 1.5
RAMP_S = 0.5


def circles(seconds: float, speed: float) -> dict[str, Any]:
    """A repeated path for a given time (s), entered and left by a ramp."""
    shape = {
        "center_m": [*CENTER_M, 0.0],
        "radius_m": RADIUS_M,
        "rate_rad_s": 2.0 * pi * TURNS_PER_S * speed,
        "duration_s": float(seconds),
    }
    return {"curve": {"circle": shape, "of": ["x", "y"]}, "entry": {"ramp_s": RAMP_S}}


def begin(speed: float) -> dict[str, float]:
    """Return the start of the extended circle: half a ramp before it."""
    angle = -2.0 * pi * TURNS_PER_S * speed * RAMP_S / 2.0
    return {"x": CENTER_M[0] + RADIUS_M * sin(angle), "y": CENTER_M[1] + RADIUS_M * cos(angle)}


def steps(seconds: float, speed: float) -> list[DemoStep]:
    """To the start, round and round, back."""
    measured = MeasuredPart(("x", "y"), RAMP_S, RAMP_S + seconds)
    path = circles(seconds, speed)
    return [move("to the start", begin(speed)), follow("circles", path, measured), home()]


DEMO = Demo("five_bar", "A five-bar draws circles, driven and measured at two joints", 4.0, steps, truth=True)
