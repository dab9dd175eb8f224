"""`linkwork demo scara_polish`: a SCARA feels for a tilted table, presses, polishes in circles, and lets
go.
"""

from __future__ import annotations

from math import cos, sin
from pathlib import Path
from typing import Any

from linkwork.client.goal import Goal
from linkwork.demos.demo import Demo
from linkwork.demos.demo_figures import DemoRun, tracking_figures
from linkwork.demos.demo_steps import follow, home, move
from linkwork.demos.force_figures import draw_forces, force_figures
from linkwork.demos.stage import DemoStep, MeasuredPart, Stage

CONTACT = "table"
FORCE_N = 20.0
SPEED_M_S = 0.2
RADIUS_M = 0.06
RATE_RAD_S = SPEED_M_S / RADIUS_M
RAMP_S = 1.0
ABOVE_M, BELOW_M = 0.01, -0.01
"""Off the table: where the approach begins, and where it would end if there were no table."""
COORDINATES = ("s", "t", "angle")


def circle(seconds: float, speed: float) -> dict[str, Any]:
    """The circle on the table, entered and left by a ramp, and the force all along; tolerances of both."""
    shape = {
        "center_m": [0.0, 0.0, 0.0],
        "radius_m": RADIUS_M,
        "rate_rad_s": RATE_RAD_S * speed,
        "duration_s": float(seconds),
    }
    return {
        "curve": {"circle": shape, "of": ["s", "t"]},
        "hold": {"angle": 0.0},
        "entry": {"ramp_s": RAMP_S},
        "force": {CONTACT: FORCE_N},
        "tolerances": {CONTACT: {"path": 5.0, "goal": 2.0}},
    }


def begin(speed: float) -> dict[str, float]:
    """Above the place where the extended circle begins: half a ramp before it."""
    angle = -RATE_RAD_S * speed * RAMP_S / 2.0
    return {"s": RADIUS_M * sin(angle), "t": RADIUS_M * cos(angle), "n": ABOVE_M, "angle": 0.0}


def _approach(stage: Stage) -> Goal:
    return stage.robot.move({"n": BELOW_M}, wait=False, until_force={CONTACT: FORCE_N})


def _retract(stage: Stage) -> Goal:
    return stage.robot.move({"n": 3.0 * ABOVE_M}, wait=False)


def steps(seconds: float, speed: float) -> list[DemoStep]:
    """Above the table, down until it is felt, round and round, off again, back."""
    measured = MeasuredPart(COORDINATES, RAMP_S, RAMP_S + seconds)
    return [
        move("to the start", begin(speed), share=0.1, speed=1.0),
        DemoStep("approach", 0.1, _approach, command=f"linkwork move n={BELOW_M} --until-force {FORCE_N:g}"),
        follow("polish", circle(seconds, speed), measured, share=0.6),
        DemoStep("retract", 0.1, _retract, command=f"linkwork move n={3.0 * ABOVE_M}"),
        home(share=0.1, speed=1.0),
    ]


def figures(recording: DemoRun) -> dict[str, Any]:
    """Tracking of the motion, and the force while circling and while contact was made and broken."""
    return {**tracking_figures(recording), **force_figures(recording, CONTACT)}


def draw(recording: DemoRun, path: Path, title: str) -> None:
    """The circle, the errors of motion, the force from touch to release."""
    draw_forces(recording, path, title, CONTACT)


DEMO = Demo("scara_polish", "A SCARA polishes a tilted table", 6.0, steps, figures, draw)
