"""`linkwork demo slot_arm`: the pin of an arm enters a slot, moves back and forth in it, and leaves it again.

While the slot holds the pin, the machine has one degree of freedom instead of two; the controller goes over
to that model and back (docs/switching.md).
"""

from __future__ import annotations

from math import cos, pi, sin
from typing import Any

from linkwork.demos.demo import Demo
from linkwork.demos.demo_steps import follow, home, move
from linkwork.demos.stage import DemoStep, MeasuredPart, Stage
from linkwork.demos.waypoints import along, begin

HEIGHT_M = 0.3
MIDDLE_M, SWING_M = 0.55, 0.07
SWINGS_PER_S = 0.5
RAMP_S = 0.5


def strokes(seconds: float, speed: float) -> dict[str, Any]:
    """reach = MIDDLE - SWING cos ωu, along the slot."""
    rate = 2.0 * pi * SWINGS_PER_S * speed

    def motion(u: float) -> dict[str, tuple[float, float, float]]:
        angle, size = rate * u, SWING_M
        at = MIDDLE_M - size * cos(angle)
        return {"reach": (at, size * rate * sin(angle), size * rate**2 * cos(angle))}

    return along(motion, seconds, RAMP_S)


def switch(constraint: str, on: bool) -> DemoStep:
    """The constraint closes or opens, while the machine holds."""

    def begin(stage: Stage) -> None:
        stage.robot.switch(constraint, on)

    to = "on" if on else "off"
    return DemoStep(f"{constraint} {to}", 0.0, begin, command=f"linkwork switch {constraint} {to}")


def steps(seconds: float, speed: float) -> list[DemoStep]:
    """Move into the slot, back and forth, out of it and back to the start."""
    path = strokes(seconds, speed)
    measured = MeasuredPart(("reach",), RAMP_S, RAMP_S + seconds)
    return [
        move("to the slot", {**begin(path), "height": HEIGHT_M}),
        switch("slot", True),
        follow("in the slot", path, measured),
        switch("slot", False),
        home(),
    ]


DEMO = Demo("slot_arm", "The pin of an arm enters a slot, runs in it, and leaves it", 6.0, steps)
