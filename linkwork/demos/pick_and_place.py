"""`linkwork demo pick_and_place`: a SCARA with a gripper picks parts from a table and places them in a row.

The gripper of the simulated plant holds what lies in it; the model carries the part's load while the signals
`gripper` and `part_present` are on (docs/signals.md).
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import atan2
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.demos.demo import Demo, DemoStep, MeasuredPart, home, move, request
from linkwork.demos.demo_figures import DemoRun, grip_figures, handling_text, tracking_figures
from linkwork.demos.demo_picture import DemoPicture, draw_part
from linkwork.machine import load
from linkwork.machine.sections.scene_section import ScenePart
from linkwork.recordings.path_plot import ACCENT, HUES, INK, dress
from linkwork.reports.quantities import amount

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


def handling(recording: DemoRun) -> dict[str, Any]:
    """Place error of each part (m), parts placed and closings without a part, mean cycle time (s).

    A part counts as placed if it lies within a tenth of its size of its place. A cycle is the time between
    two closings.
    """
    errors = {
        part.name: recording.lying[part.name][:2] - place
        for part, place in zip(_parts(), PLACES_M, strict=True)
        if part.name in recording.lying
    }
    near_m = 0.1 * min(float(part.size_m[0]) for part in _parts())
    found = grip_figures(recording, "part_present", errors, near_m)
    distances = {name: float(np.hypot(*error)) for name, error in errors.items()}
    return {"handling": {"place_error_m": distances, **found}}


def caption(recording: DemoRun) -> str:
    """Return the law, the parts placed, and the largest place error."""
    found = handling(recording)["handling"]
    worst = amount(max(found["place_error_m"].values(), default=None), "m")
    return f"{recording.options.law_text}; {handling_text(found)}, largest place error {worst}"


def table_from_above(add: Callable[..., Any], recording: DemoRun) -> None:
    """Draw the tool's path, and the parts where they were and where they lie."""
    axes = add()
    x, y = (1e3 * recording.ticks.column("coordinate", name) for name in "xy")
    axes.plot(x, y, color=HUES[0], linewidth=1.2, alpha=0.6, label="tool")
    for part in _parts():
        turn = atan2(part.rotation[1, 0], part.rotation[0, 0])
        draw_part(axes, part, part.at_m, turn, linestyle="--", edgecolor=INK, linewidth=1.4)
        if part.name in recording.lying:
            draw_part(axes, part, recording.lying[part.name], edgecolor=ACCENT, linewidth=1.4)
    axes.set_aspect("equal")
    dress(axes, "the table from above", x="x / mm", y="y / mm")


def _time_s(recording: DemoRun) -> Floats:
    """Return the device's times (ticks; s): before the connection the loop has its own time."""
    table = recording.ticks.table
    return np.where(table["connected"], table["time_s"], np.nan)


def height_and_signals(add: Callable[..., Any], recording: DemoRun) -> None:
    """Draw the tool's height over time, and when the signals are on."""
    axes, ticks, time_s = add(), recording.ticks, _time_s(recording)
    axes.plot(time_s, 1e3 * ticks.column("coordinate", "z"), color=HUES[0], linewidth=1.2, label="tool / mm")
    for level, channel, name, hue in (
        (104.0, "output", "gripper", ACCENT),
        (98.0, "input", "part_present", HUES[2]),
    ):
        on = np.where(ticks.column(channel, name) > 0.5, level, np.nan)
        axes.plot(time_s, on, color=hue, linewidth=4.0, solid_capstyle="butt", label=name)
    axes.set_ylim(0.0, 125.0)
    dress(axes, "height and signals")


def lift(add: Callable[..., Any], recording: DemoRun) -> None:
    """Draw the effort of the lift over time."""
    axes = add()
    effort = recording.ticks.column("effort", "lift")
    axes.plot(_time_s(recording), effort, color=HUES[1], linewidth=1.0, label="lift")
    dress(axes, "effort of the lift / N", x="time / s")


DEMO = Demo(
    MACHINE, "A SCARA with a gripper picks and places", 6.0, steps, (tracking_figures, handling),
    DemoPicture(caption, table_from_above, (height_and_signals, lift)), truth=True,
)  # fmt: skip
