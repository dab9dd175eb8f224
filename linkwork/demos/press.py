"""`linkwork demo press`: a press with one degree of freedom touches a workpiece, presses it, and opens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from linkwork.client.goal import Goal
from linkwork.demos.demo import Demo
from linkwork.demos.demo_figures import DemoRun
from linkwork.demos.demo_steps import follow, home, move
from linkwork.demos.force_figures import draw_force_alone, force_figures
from linkwork.demos.stage import DemoStep, MeasuredPart, Stage

CONTACT = "workpiece"
TOUCH_N, FORCE_N = 50.0, 400.0
ABOVE_M, BELOW_M = 0.005, -0.005
"""Above the workpiece: where the approach begins, and where it would end if there were none."""
SETTLED_S = 0.5
"""Time at the end of the profile in which its force stays the same."""


def profile(seconds: float, speed: float) -> dict[str, Any]:
    """A goal of force alone: from touch up to the full force, held for a while, and down again."""
    rise = 1.0 / speed
    times = (0.0, rise, rise + seconds, 2.0 * rise + seconds, 2.0 * rise + seconds + SETTLED_S)
    forces = (TOUCH_N, FORCE_N, FORCE_N, TOUCH_N, TOUCH_N)
    points = [{"time_from_start_s": t, "force": f} for t, f in zip(times, forces, strict=True)]
    return {"force": {CONTACT: points}, "tolerances": {CONTACT: {"path": 20.0, "goal": 5.0}}}


def _approach(stage: Stage) -> Goal:
    return stage.robot.move({"ram": BELOW_M}, wait=False, until_force={CONTACT: TOUCH_N})


def steps(seconds: float, speed: float) -> list[DemoStep]:
    """Close above the workpiece, down until it is felt, press, open."""
    measured = MeasuredPart((), 0.0, 2.0 / speed + seconds)
    return [
        move("to the workpiece", {"ram": ABOVE_M}, share=0.1, speed=1.0),
        DemoStep("touch", 0.2, _approach, command=f"linkwork move ram={BELOW_M} --until-force {TOUCH_N:g}"),
        follow("press", profile(seconds, speed), measured, share=0.6),
        home(share=0.1, speed=1.0),
    ]


def figures(recording: DemoRun) -> dict[str, Any]:
    """Errors of the force during its profile, touch and bounces, and the largest effort."""
    tracking = recording.parts[0].tracking
    return {
        "error_max": {},
        "error_rms": {},
        "units": {},
        "peak_effort": tracking.peak_effort(),
        "measured_ticks": int(tracking.measured.sum()),
        **force_figures(recording, CONTACT),
    }


def draw(recording: DemoRun, path: Path, title: str) -> None:
    """The force from touch to release."""
    draw_force_alone(recording, path, title, CONTACT)


DEMO = Demo("press", "A press touches a workpiece and presses it", 2.0, steps, figures, draw)
