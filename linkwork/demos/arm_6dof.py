"""`linkwork demo arm_6dof`: the arm of Kwatny & Blankenship (1995), with its compound and its simple wrist.

Both arms are one machine in other velocities. With v' = T v between those of the simple (') and the compound
wrist, their models are congruent and efforts do the same work:

    M = T' M' T,      f = T' f'.

Each arm is controlled by its own model, along the same motion; so their efforts must agree in this way.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.demos.demo import Demo, DemoStep, MeasuredPart, follow, home, move
from linkwork.demos.demo_figures import DemoRun, tracking_figures
from linkwork.demos.waypoints import QUARTER, along, begin, waves

TOOL = ("x", "y", "z", "roll", "pitch", "yaw")
COMPOUND, SIMPLE = "arm_6dof", "arm_6dof_simple"
RAMP_S = 1.0
_SWINGS = {
    "shoulder.1": (0.4, 0.15, 0.25, 0.0),
    "shoulder.2": (0.0, 0.3, 0.25, QUARTER),
    "elbow": (0.5, 0.2, 0.25, 0.5 * QUARTER),
    "roll": (0.0, 0.4, 0.5, 0.0),
    "pitch": (0.9, 0.2, 0.25, 1.0),
    "yaw": (0.0, 0.35, 0.5, QUARTER),
}
"""Mean and amplitude (rad), cycles a second, phase (rad) of each coordinate."""
_AHEAD = 2
"""Ticks from a command to the pose near the middle of its hold, at which its model was evaluated."""


def steps(seconds: float, speed: float) -> list[DemoStep]:
    """Away from the initial pose, to the start, the motion, back."""
    path = along(waves(speed, **_SWINGS), seconds, RAMP_S)
    return [
        move("arm to the start", {"shoulder.1": begin(path)["shoulder.1"], "elbow": begin(path)["elbow"]}),
        move("to the start", begin(path)),
        follow("motion", path, MeasuredPart(tuple(_SWINGS), RAMP_S, RAMP_S + seconds)),
        home(),
    ]


def compared(recording: DemoRun) -> dict[str, Floats]:
    """Both arms tick by tick: `time_s` (n), efforts `compound` and `mapped`, `tool` differences (n, 6).

    `mapped`: those of the simple wrist, as T' f'. Empty where the second arm has not got that far.
    """
    if recording.beside is None:
        return {}
    one, other = _states(COMPOUND, recording), _states(SIMPLE, recording.beside)
    ticks = sorted(one.keys() & other.keys())
    maps = [np.linalg.solve(other[tick][1], one[tick][1]) for tick in ticks]  # v' = T v
    return {
        "time_s": np.array(ticks) * recording.parts[0].tracking.time_s[1],
        "compound": np.array([one[tick][2] for tick in ticks]),
        "mapped": np.array([map_.T @ other[tick][2] for map_, tick in zip(maps, ticks, strict=True)]),
        "tool": np.array([other[tick][0] - one[tick][0] for tick in ticks]),
    }


def _states(name: str, recording: DemoRun) -> dict[int, tuple[Floats, Floats, Floats]]:
    """By tick of the path: place of the tool, its Jacobian where the law looked, efforts."""
    from linkwork.machine import load
    from linkwork.multibody.functions import coordinate_jacobian

    machine, tracking, table = load(name), recording.parts[0].tracking, recording.ticks.table
    at = [machine.mechanism.coordinate_index(each) for each in TOOL]
    found = {}
    for row in tracking.rows[tracking.measured].tolist():
        tick = round(float(table["path_s"][row]) / machine.controller.period_s)
        jacobian = coordinate_jacobian(machine.mechanism, table["q"][row + _AHEAD])[at]
        found[tick] = (table["coordinate"][row][at], jacobian, table["law_effort"][row])
    return found


def report(recording: DemoRun) -> dict[str, Any]:
    """The figures of any demo for the compound wrist, and how far the simple one differs from it."""
    found = compared(recording)
    if not found:
        return tracking_figures(recording)
    off = np.abs(found["mapped"] - found["compound"])
    return {
        **tracking_figures(recording),
        "simple": tracking_figures(recording.beside) if recording.beside else {},
        "congruence": {
            "effort_difference_max_N_m": float(off.max()),
            "effort_max_N_m": float(np.abs(found["compound"]).max()),
            "place_difference_max_m": float(np.abs(found["tool"][:, :3]).max()),
            "angle_difference_max_rad": float(np.abs(found["tool"][:, 3:]).max()),
            "ticks": len(found["time_s"]),
        },
    }


def draw(recording: DemoRun, path: Path, title: str) -> None:
    """The motion, the efforts of both wrists, and their difference after the map."""
    found = compared(recording)
    if not found:
        from linkwork.demos.demo_picture import draw_recording

        draw_recording(recording, path, title)
        return
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from linkwork.demos.demo_picture import motion_panel
    from linkwork.recordings.path_plot import HUES, INK, QUIET, amount, dress

    figure = Figure(figsize=(11.0, 7.4), dpi=100, facecolor="white")
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(
        3, 2, width_ratios=(1.0, 1.25), left=0.06, right=0.98, bottom=0.09, top=0.87, hspace=0.42, wspace=0.2
    )
    motion_panel(figure, grid[:, 0], grid[0, 1], recording)
    efforts, rest = figure.add_subplot(grid[1, 1]), figure.add_subplot(grid[2, 1])
    assert recording.beside is not None
    own = recording.beside.parts[0].tracking
    left = found["mapped"] - found["compound"]
    for number, hue in zip(range(3), HUES, strict=False):
        wrist = found["compound"][:, 3 + number]
        efforts.plot(found["time_s"], wrist, color=hue, linewidth=1.4, label=f"wrist.{number + 1}")
        simple = own.effort[:, 3 + number]
        efforts.plot(own.time_s, simple, color=hue, linewidth=1.0, linestyle=(0, (4, 3)))
    dress(efforts, "wrist motors / N m (dashed: simple wrist, about the gripper's axes)")
    rest.plot(found["time_s"], 1e3 * left, linewidth=1.0, label=list(recording.parts[0].tracking.motors))
    dress(rest, "T' f (simple) - f (compound), all motors / mN m")
    rest.set_xlabel("time / s", color=INK, fontsize=9)
    for axes in figure.axes:  # inside: more entries than fit beside the titles
        if axes.get_legend() is not None:
            axes.legend(loc="best", fontsize=7, ncols=2, framealpha=0.8, edgecolor="none")
    off = float(np.abs(left).max())
    most = float(np.abs(found["compound"]).max())
    caption = f"one motion, two wrists: efforts agree to {amount(off, 'N m')} of {most:.0f} N m"
    figure.text(0.03, 0.955, title, fontsize=15, fontweight="bold", color=INK)
    figure.text(0.03, 0.92, caption, fontsize=9.5, color=QUIET)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Software": None})


DEMO = Demo(COMPOUND, "Kwatny's arm: two wrists, one motion", 4.0, steps, report, draw, beside=SIMPLE)
