"""`linkwork demo pick_and_place`: a SCARA with a gripper picks parts from a table and places them in a row.

The gripper of the simulated plant holds what lies in it; the model carries the part's load while the signals
`gripper` and `part_present` are on (docs/signals.md).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import atan2, degrees, inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.demos.demo import Demo, DemoStep, MeasuredPart, home, move, request
from linkwork.demos.demo_figures import DemoRun, grip_figures, handling_text, signal_values, tracking_figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from linkwork.machine.scene import ScenePart

MACHINE = "scara_gripper"
PLACES_M = ((-0.19, 0.29), (-0.12, 0.33), (-0.05, 0.36))
"""Where the centres of the parts are to lie, x and y, in the order of the machine file."""
CLEAR_M = 0.06
"""Height of the tool over the table on the way."""
DROP_M = 0.001
"""Height over the table at which a part is released."""


@cache
def _parts() -> tuple[ScenePart, ...]:
    """Return the parts of the machine file."""
    from linkwork.machine import load

    scene = load(MACHINE).scene
    return scene.parts if scene else ()


def steps(seconds: float, speed: float) -> list[DemoStep]:  # noqa: ARG001 - three parts take the time they take
    """Each part: over it, down, close, up, over its place, down, open, up; then back."""
    done: list[DemoStep] = []
    for part, (place_x, place_y) in zip(_parts(), PLACES_M, strict=True):
        x, y, z = part.at_m.tolist()
        turn = atan2(part.rotation[1, 0], part.rotation[0, 0])
        here, there = {"x": x, "y": y, "angle": turn}, {"x": place_x, "y": place_y, "angle": 0.0}
        measured = MeasuredPart(("x", "y", "z", "angle"))
        carry = move(f"carry {part.name}", {**there, "z": CLEAR_M}, 0.3, speed)
        done += [
            move(f"over {part.name}", {**here, "z": CLEAR_M}, 0.2, speed),
            move("down", {**here, "z": z}, 0.1, speed),
            request("close", "set", command="set gripper=on", gripper=True),
            move("up", {**here, "z": CLEAR_M}, 0.1, speed),
            replace(carry, measured=measured),
            move("down", {**there, "z": z + DROP_M}, 0.1, speed),
            request("open", "set", command="set gripper=off", gripper=False),
            move("up", {**there, "z": CLEAR_M}, 0.1, speed),
        ]
    return [*done, home(speed=speed)]


def handling_figures(recording: DemoRun) -> dict[str, Any]:
    """Place error of each part (m), parts placed and closings without a part, mean cycle time (s).

    A part counts as placed if it lies within a tenth of its size of its place. A cycle is the time between
    two closings.
    """
    lies = (recording.plant or {}).get("parts_m", {})
    errors = {
        part.name: float(np.hypot(*(np.array(lies[part.name][:2]) - place)))
        for part, place in zip(_parts(), PLACES_M, strict=True)
        if part.name in lies
    }
    return {
        "place_error_m": errors,
        "placed": sum(errors.get(part.name, inf) < 0.1 * float(part.size_m[0]) for part in _parts()),
        **grip_figures(recording, "part_present"),
    }


def report(recording: DemoRun) -> dict[str, Any]:
    """The figures of any demo while a part is carried, and those of the parts."""
    return {**tracking_figures(recording), "handling": handling_figures(recording)}


def draw(recording: DemoRun, path: Path, title: str) -> None:
    """Write a PNG: the table from above, height and signals over time, effort of the lift."""
    from linkwork.demos.demo_picture import sheet
    from linkwork.recordings.path_plot import ACCENT, HUES, INK, amount, dress, save_figure

    figure, grid = sheet(hspace=0.4)
    ticks = recording.ticks
    time_s = np.where(ticks.table["connected"], ticks.table["time_s"], np.nan)  # before: the loop's own time
    names = list(ticks.names["coordinate"])
    x, y, z = (1e3 * ticks.table["coordinate"][:, names.index(name)] for name in "xyz")
    above = figure.add_subplot(grid[:, 0])
    above.plot(x, y, color=HUES[0], linewidth=1.2, alpha=0.6, label="tool")
    _draw_parts(above, recording)
    dress(above, "the table from above")
    above.set_aspect("equal")
    above.set_xlabel("x / mm", color=INK, fontsize=9)
    above.set_ylabel("y / mm", color=INK, fontsize=9)
    height = figure.add_subplot(grid[0, 1])
    height.plot(time_s, z, color=HUES[0], linewidth=1.2, label="tool / mm")
    for level, (channel, name), hue in zip(
        (104.0, 98.0), (("output", "gripper"), ("input", "part_present")), (ACCENT, HUES[2]), strict=True
    ):
        on = np.where(signal_values(recording, channel, name) > 0.5, level, np.nan)
        height.plot(time_s, on, color=hue, linewidth=4.0, solid_capstyle="butt", label=name)
    height.set_ylim(0.0, 125.0)
    dress(height, "height and signals")
    effort = figure.add_subplot(grid[1, 1], sharex=height)
    motors = list(ticks.names["effort"])
    lift = ticks.table["effort"][:, motors.index("lift")]
    effort.plot(time_s, lift, color=HUES[1], linewidth=1.0, label="lift")
    dress(effort, "effort of the lift / N")
    effort.set_xlabel("time / s", color=INK, fontsize=9)
    found = handling_figures(recording)
    worst = amount(max(found["place_error_m"].values(), default=float("nan")), "m")
    caption = f"{recording.options.law_text}; {handling_text(found)}, largest place error {worst}"
    save_figure(figure, path, title, caption)


def _draw_parts(axes: Axes, recording: DemoRun) -> None:
    """Draw the parts where they were, and where they lie."""
    from matplotlib.patches import Rectangle

    from linkwork.recordings.path_plot import ACCENT, INK

    lies = (recording.plant or {}).get("parts_m", {})
    for part in _parts():
        width, depth = 1e3 * part.size_m[:2]
        turn = degrees(atan2(part.rotation[1, 0], part.rotation[0, 0]))
        drawn = [(part.at_m[:2], turn, {"linestyle": "--", "edgecolor": INK})]
        if part.name in lies:
            drawn.append((np.array(lies[part.name][:2]), 0.0, {"edgecolor": ACCENT}))
        for centre, angle, style in drawn:
            corner = 1e3 * centre - np.array([width, depth]) / 2.0
            axes.add_patch(
                Rectangle(
                    (corner[0], corner[1]), width, depth, angle=angle, rotation_point="center",
                    fill=False, linewidth=1.4, **style,
                )
            )  # fmt: skip


DEMO = Demo(MACHINE, "A SCARA with a gripper picks and places", 6.0, steps, report, draw, truth=True)
