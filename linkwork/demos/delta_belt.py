"""`linkwork demo delta_belt`: a delta robot picks parts from a running belt and places them in a tray.

A light barrier sees each part; two edges and the belt's encoder give its place in the frame of the belt. One
goal meets the part there, grips it by an event on the path, lifts it, leaves the frame, and releases it over
the tray (docs/moving_frames.md).
"""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.client.goal import Goal
from linkwork.client.passing_parts import PassedPart, PassingParts
from linkwork.demos.demo import Demo, DemoStep, MeasuredPart, Stage, home, move
from linkwork.demos.demo_figures import (
    DemoRun,
    closing_times,
    grip_figures,
    handling_text,
    signal_values,
    tracking_figures,
)
from linkwork.protocol.codes import Pace, ResultCode
from linkwork.protocol.errors import RequestError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COORDINATES = ("x", "y", "z")
EYE_M = -0.3
"""Place of the light barrier along the belt."""
PART_M, TRAY_M, ABOVE_M = -0.49, -0.48, 0.03
"""Heights of a part's centre on the belt and in the tray, and clearance on the way."""
DROP_M = 0.0005
"""Height over the tray at which a part is released."""
READY = {"x": -0.05, "y": -0.02, "z": TRAY_M + 0.04}
MEETS_M, MEETS_S = -0.1, 0.29
"""Where the tool is to meet a part, along the belt, or further down where it is late; time of a pick then."""
SPEED_SHARE = (0.8, 1.2)
"""Speed of the belt for which a pick is admitted, relative to that before."""
BEGINS_S = {Pace.LOCKSTEP: 0.05, Pace.DEVICE: 0.15, Pace.HOST: 0.15}
"""How long after its planning a pick may begin: in lockstep no time runs while it is planned."""
FASTEST_M_S = 0.6
"""Speed of the belt, on average, at the demo's full speed."""
COLUMNS, PITCH_M = 8, 0.025
"""Columns of the tray, and distance between its places."""
CYCLE_S = 0.95
"""Mean time from a part to the next one, as the feeder of the machine has it."""


def place(number: int) -> tuple[float, float]:
    """Return where the centre of a part is to lie in the tray, x and y (m)."""
    row, column = divmod(number, COLUMNS)
    return (column - 0.5 * (COLUMNS - 1)) * PITCH_M, 0.02 + row * PITCH_M


def pick(
    part: PassedPart, there: tuple[float, float], speed_m_s: float, begin_within_s: float
) -> dict[str, Any]:
    """Return the goal: meet the part in the frame of the belt, grip, lift, carry, release, rise.

    there: place in the tray (m). speed_m_s: of the belt, now.
    """
    here, in_belt = (part.centre_m, part.signals["part_across"]), {"in": "belt"}
    rest = {"velocities": [0.0] * 3, "accelerations": [0.0] * 3}

    def way(time_s: float, xy: tuple[float, float], z: float, **frame: str) -> dict[str, Any]:
        return {"time_from_start_s": time_s, "positions": [*xy, z], **rest, **frame}

    return {
        "coordinates": list(COORDINATES),
        "points": [
            way(0.21, here, PART_M + ABOVE_M, **in_belt),
            way(MEETS_S, here, PART_M, **in_belt),
            way(0.32, here, PART_M, **in_belt),
            way(0.4, here, PART_M + ABOVE_M, **in_belt),
            way(0.62, there, TRAY_M + ABOVE_M),
            way(0.7, there, TRAY_M + DROP_M),
            way(0.74, there, TRAY_M + DROP_M),
            way(0.82, there, TRAY_M + ABOVE_M),
        ],
        "events": [
            {"at": {"time_s": 0.305}, "set": {"gripper": True}},
            {"at": {"time_s": 0.725}, "set": {"gripper": False}},
        ],
        "frame": {
            "speed_m_s": [share * speed_m_s for share in SPEED_SHARE],
            "begin_within_s": begin_within_s,
        },
    }


class BeltPicker:
    """Picks the parts of the belt, one after the other. belt_m_s: mean speed of the belt."""

    def __init__(self, belt_m_s: float) -> None:
        self._belt_m_s = belt_m_s
        self._parts: PassingParts | None = None
        self._begin_within_s = 0.0

    def prepare(self, stage: Stage) -> None:
        """Let the belt run, and look for parts from now on."""
        stage.robot.set(belt_speed=self._belt_m_s)
        self._parts = PassingParts(stage.robot, "part_seen", "belt_position", at_m=EYE_M)
        self._begin_within_s = BEGINS_S[Pace(stage.robot.describe()["pace"])]

    def pick_next(self, stage: Stage, number: int) -> Goal | None:
        """Send the pick of the next part that can be met; None when no part comes any more."""
        assert self._parts is not None, "prepare comes first"
        while True:
            try:
                part = self._parts.next(within_s=10.0)
            except TimeoutError:
                return None
            try:
                return self._meet(stage, part, number)
            except RequestError as refused:  # it passes by: too far down, or the goal began too late
                if refused.code not in (ResultCode.INFEASIBLE, ResultCode.INVALID_GOAL):
                    raise

    def _meet(self, stage: Stage, part: PassedPart, number: int) -> Goal:
        """Wait until the part is where it can be met; then send its pick."""
        robot = stage.robot
        while True:
            state = robot.state
            belt_m = state["signals"]["belt_position"]
            speed = part.speed_since(belt_m, state["time_s"])
            if part.centre_m + belt_m >= MEETS_M - MEETS_S * speed:
                return robot.send(pick(part, place(number), speed, self._begin_within_s))
            robot.pass_time(0.005)


def steps(seconds: float, speed: float) -> list[DemoStep]:
    """To the belt, one pick for each part, back. speed: share of the belt's largest mean speed."""
    picker = BeltPicker(FASTEST_M_S * speed)
    measured = MeasuredPart(COORDINATES)

    def picking(number: int) -> DemoStep:
        text = f"part {number + 1}"
        return DemoStep(text, 0.1, lambda stage: picker.pick_next(stage, number), measured)

    command = f"linkwork set belt_speed={FASTEST_M_S * speed:g}"
    run = DemoStep("belt", 0.0, picker.prepare, command=command)
    return [move("to the belt", READY), run, *map(picking, range(ceil(seconds / CYCLE_S))), home()]


def belt_figures(recording: DemoRun) -> dict[str, Any]:
    """Parts placed, place errors (m), misses, parts that passed by, mean cycle (s), speeds of the belt (m/s).

    A part counts as placed if its centre lies within a tenth of its size of its place. A cycle is the time
    between two closings.
    """
    errors = _place_errors(recording)
    distances = np.linalg.norm(errors, axis=1)
    speeds = _belt_speed(recording)[_picking(recording)]
    grips = grip_figures(recording, "part_held")
    return {
        "placed": int(np.count_nonzero(distances < 0.002)),
        "place_error_rms_m": float(np.sqrt(np.mean(distances**2))) if len(distances) else None,
        "place_error_max_m": float(distances.max()) if len(distances) else None,
        **grips,
        "passed_by": _passed_by(recording),
        "belt_speed_m_s": [float(speeds.min()), float(speeds.max())] if len(speeds) else None,
    }


def _place_errors(recording: DemoRun) -> Floats:
    """Return the distance (n × 2, m) of each part in the tray from the nearest place."""
    lies = (recording.plant or {}).get("parts_m", {})
    centres = [np.array(at[:2]) for at in lies.values() if at[2] > 0.5 * (PART_M + TRAY_M) and at[1] > 0.0]
    places = np.array([place(number) for number in range(len(recording.parts))])
    return np.array([centre - places[_nearest(places, centre)] for centre in centres]).reshape(-1, 2)


def _nearest(places: Floats, centre: Floats) -> int:
    return int(np.argmin(np.linalg.norm(places - centre, axis=1)))


def _belt_speed(recording: DemoRun) -> Floats:
    """Return the speed of the belt (n; m/s): the mean over a tenth of a second."""
    table = recording.ticks.table
    way, width = signal_values(recording, "input", "belt_position"), 50
    speed = np.zeros(len(way))
    with np.errstate(invalid="ignore", divide="ignore"):
        speed[width:-width] = (way[2 * width :] - way[: -2 * width]) / (
            table["time_s"][2 * width :] - table["time_s"][: -2 * width]
        )
    return speed


def _picking(recording: DemoRun) -> Any:
    """Return the ticks (mask) from the first closing of the gripper to the last one."""
    times, closings = recording.ticks.table["time_s"], closing_times(recording)
    if not len(closings):
        return np.zeros(len(times), bool)
    return (times >= closings[0]) & (times <= closings[-1]) & (recording.ticks.table["connected"] > 0)


def _passed_by(recording: DemoRun) -> int:
    """Return how many parts passed the light barrier before the last one that was gripped, and were not."""
    table, names = recording.ticks.table, list(recording.ticks.names["coordinate"])
    closings = closing_times(recording)
    if not len(closings):
        return 0
    belt = signal_values(recording, "input", "belt_position")
    seen = signal_values(recording, "input", "part_seen") > 0.5
    rows = np.flatnonzero(seen[1:] & ~seen[:-1]) + 1
    last = int(np.searchsorted(table["time_s"], closings[-1]))
    gripped_m = table["coordinate"][last, names.index("x")] - belt[last]
    before = np.count_nonzero(EYE_M - belt[rows] > gripped_m - PITCH_M / 2.0)
    return int(before) - len(closings)


def report(recording: DemoRun) -> dict[str, Any]:
    """The figures of any demo during the picks, and those of the parts."""
    return {**tracking_figures(recording), "belt": belt_figures(recording)}


def draw(recording: DemoRun, path: Path, title: str) -> None:
    """Write a PNG: belt and tray from above, the belt's speed with the picks, the place errors."""
    from linkwork.demos.demo_picture import sheet
    from linkwork.recordings.path_plot import ACCENT, HUES, INK, amount, dress, save_figure

    figure, grid = sheet((1.15, 1.0), 0.45, 0.18)
    _draw_above(figure.add_subplot(grid[:, 0]), recording)
    table = recording.ticks.table
    speed = figure.add_subplot(grid[0, 1])
    inside, closings = _picking(recording), closing_times(recording)
    found = np.where(inside, _belt_speed(recording), np.nan)
    speed.plot(table["time_s"], found, color=HUES[0], linewidth=1.4, label="belt")
    at = np.interp(closings, table["time_s"], np.nan_to_num(_belt_speed(recording)))
    speed.plot(closings, at, "o", color=ACCENT, markersize=4.0, label="part gripped")
    speed.set_ylim(0.0, None)
    dress(speed, "speed of the belt / m/s")
    speed.set_xlabel("time / s", color=INK, fontsize=9)
    errors = 1e3 * _place_errors(recording)
    off = figure.add_subplot(grid[1, 1])
    for column, (name, hue) in enumerate((("along the belt", HUES[0]), ("across", HUES[1]))):
        off.plot(1 + np.arange(len(errors)), errors[:, column], "o", color=hue, markersize=3.5, label=name)
    off.axhline(0.0, color=INK, linewidth=0.6)
    dress(off, "place error / mm")
    off.set_xlabel("part", color=INK, fontsize=9)
    figures = belt_figures(recording)
    rms = amount(figures["place_error_rms_m"] or float("nan"), "m")
    caption = f"{recording.options.law_text}; {handling_text(figures)}, place error {rms} rms"
    save_figure(figure, path, title, caption)


def _draw_above(axes: Axes, recording: DemoRun) -> None:
    """Draw belt, light barrier, tray, the tool's path, and the parts where they lie."""
    from matplotlib.patches import Rectangle

    from linkwork.machine import load
    from linkwork.recordings.path_plot import ACCENT, HUES, INK, QUIET, dress

    scene = load(DEMO.machine).scene
    assert scene is not None, "the machine has a scene"
    for plane in scene.planes:
        length, width = plane.size_m or (0.0, 0.0)
        corner = 1e3 * (plane.at_m[0] - length / 2.0), 1e3 * (plane.at_m[1] - width / 2.0)
        shade = "0.9" if plane.speed else "0.96"
        axes.add_patch(Rectangle(corner, 1e3 * length, 1e3 * width, facecolor=shade, edgecolor=QUIET))
    for beam in scene.beams:
        ends = 1e3 * np.array([beam.at_m, beam.at_m + beam.length_m * beam.along])
        axes.plot(ends[:, 0], ends[:, 1], color=ACCENT, linewidth=1.2, linestyle=(0, (4, 3)))
    names, inside = list(recording.ticks.names["coordinate"]), _picking(recording)
    x, y = (1e3 * recording.ticks.table["coordinate"][inside, names.index(name)] for name in "xy")
    axes.plot(x, y, color=HUES[0], linewidth=0.7, alpha=0.5, label="tool")
    width, depth = 1e3 * scene.feeders[0].parts[0].size_m[:2]
    for at in (recording.plant or {}).get("parts_m", {}).values():
        corner = 1e3 * at[0] - width / 2.0, 1e3 * at[1] - depth / 2.0
        axes.add_patch(Rectangle(corner, width, depth, fill=False, edgecolor=INK, linewidth=1.0))
    axes.set_xlim(-350.0, 350.0)
    axes.set_ylim(-200.0, 210.0)
    axes.set_aspect("equal")
    dress(axes, "belt (grey), light barrier (dashed) and tray from above / mm")


DEMO = Demo(
    "delta_gripper", "A delta robot picks parts from a running belt", 15.0, steps, report, draw, truth=True
)
