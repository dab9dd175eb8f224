"""`linkwork demo five_bar`: circles of the tool, by the two motors alone."""

from __future__ import annotations

from math import pi
from typing import Any

from station.demos.demo import Demo, Measured, Step
from station.demos.steps import follow, home, move

CENTER_M = (0.0, 0.33)
RADIUS_M = 0.06
TURNS = 4
RAMP_S = 0.5


def circles(seconds: float) -> dict[str, Any]:
    """So many turns in so many seconds, entered and left by a ramp."""
    shape = {
        "center_m": [*CENTER_M, 0.0],
        "radius_m": RADIUS_M,
        "rate_rad_s": 2.0 * pi * TURNS / seconds,
        "duration_s": float(seconds),
    }
    return {"curve": {"circle": shape, "of": ["x", "y"]}, "entry": {"ramp_s": RAMP_S}}


def begin(seconds: float) -> dict[str, float]:
    """Where the extended circle begins: half a ramp before it."""
    from math import cos, sin

    angle = -2.0 * pi * TURNS / seconds * RAMP_S / 2.0
    return {"x": CENTER_M[0] + RADIUS_M * sin(angle), "y": CENTER_M[1] + RADIUS_M * cos(angle)}


def steps(seconds: float) -> list[Step]:
    """To the start, round and round, back."""
    measured = Measured(("x", "y"), RAMP_S, RAMP_S + seconds)
    return [move("to the start", begin(seconds)), follow("circles", circles(seconds), measured), home()]


DEMO = Demo("five_bar", "A five-bar draws circles, driven and measured at two joints", 4.0, steps)
