"""`linkwork demo delta`: pick and place, up, over and down with the corners rounded, in tool coordinates."""

from __future__ import annotations

from math import ceil
from typing import Any

from linkwork.demos.demo import Demo
from linkwork.demos.demo_steps import follow, home, move
from linkwork.demos.stage import DemoStep, MeasuredPart

PICK_M = {"x": -0.13, "y": -0.05, "z": -0.47}
PLACE_M = {"x": 0.13, "y": 0.05, "z": -0.47}
LIFT_M = 0.07
WAY_S = 0.8
UP, OVER, DOWN = (0.0, 0.4), (0.2, 0.8), (0.6, 1.0)
"""Parts of the way, as fractions of its time: they overlap, which rounds the corners."""
STAY = 0.125
"""At either place, as a fraction of the time of a way."""
_KNOTS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
Blend = tuple[float, float, float]


def rounds(seconds: float, speed: float) -> dict[str, Any]:
    """Motion there and back for at least a given time (s). A part is one smooth step of six way-points."""
    way_s = WAY_S / speed
    ways = 2 * max(1, ceil(seconds / (2.0 * way_s * (1.0 + STAY)) - 1e-9))
    points = [_point(0.0, PICK_M, PLACE_M, 0.0, way_s)]
    for way in range(ways):
        here, there = (PICK_M, PLACE_M) if way % 2 == 0 else (PLACE_M, PICK_M)
        began = way * way_s * (1.0 + STAY)
        points += [_point(began + way_s * x, here, there, x, way_s) for x in _KNOTS[1:]]
        points.append(_point(began + way_s * (1.0 + STAY), there, here, 0.0, way_s))
    return {"coordinates": list(PICK_M), "points": points}


def _point(
    time_s: float, here: dict[str, float], there: dict[str, float], x: float, way_s: float
) -> dict[str, Any]:
    """The way-point at a fraction x of the way from here to there."""
    over, up, down = (_blend(x, *part, way_s) for part in (OVER, UP, DOWN))
    rows = []
    for order, key in enumerate(("positions", "velocities", "accelerations")):
        place = [(there[name] - here[name]) * over[order] for name in here]
        place[2] += LIFT_M * (up[order] - down[order])
        if key == "positions":
            place = [there_is + moved for there_is, moved in zip(here.values(), place, strict=True)]
        rows.append((key, place))
    return {"time_from_start_s": time_s, **dict(rows)}


def _blend(x: float, begin: float, end: float, way_s: float) -> Blend:
    """From 0 to 1 between two fractions of the way, at rest at both: 10 y³ - 15 y⁴ + 6 y⁵, and its rates."""
    y, width_s = min(max((x - begin) / (end - begin), 0.0), 1.0), (end - begin) * way_s
    return (
        y**3 * (10.0 - 15.0 * y + 6.0 * y**2),
        30.0 * y**2 * (1.0 - y) ** 2 / width_s,
        60.0 * y * (1.0 - y) * (1.0 - 2.0 * y) / width_s**2,
    )


def steps(seconds: float, speed: float) -> list[DemoStep]:
    """To where it picks, the rounds, back."""
    measured = MeasuredPart(("x", "y", "z"), 0.0, seconds)
    path = rounds(seconds, speed)
    return [move("to the pick", PICK_M), follow("pick and place", path, measured), home()]


DEMO = Demo("delta", "A delta robot picks and places", 7.2, steps, truth=True)
