"""`linkwork demo delta_belt`: a delta robot picks parts from a running belt and places them in a tray.

A light barrier sees each part; two edges and the belt's encoder give its place in the frame of the belt. One
goal meets the part there, grips it by an event on the path, lifts it, leaves the frame, and releases it over
the tray (docs/moving_frames.md).
"""

from collections.abc import Callable
from math import ceil
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.client.goal import Goal
from linkwork.client.passing_parts import PassedPart, PassingParts
from linkwork.demos.demo import Demo, DemoStep, MeasuredPart, Stage, home, move
from linkwork.demos.demo_figures import DemoRun, closing_times, grip_figures, handling_text, tracking_figures
from linkwork.demos.demo_picture import DemoPicture, draw_part
from linkwork.machine import load
from linkwork.machine.sections.orientation import unit
from linkwork.protocol.codes import Pace, ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.recordings.path_plot import ACCENT, HUES, INK, QUIET, dress
from linkwork.recordings.tracking import rms
from linkwork.reports.quantities import amount

MACHINE = "delta_gripper"
COORDINATES = ("x", "y", "z")
EYE_M = -0.3
"""Place of the light barrier along the belt."""
PART_M, TRAY_M, ABOVE_M = -0.49, -0.48, 0.03
"""Heights of a part's centre on the belt and in the tray, and clearance on the way."""
NEAR_M = 0.002
"""Largest distance from its place at which a part counts as placed: a tenth of its size."""
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


def steps(seconds: float, speed: float) -> list[DemoStep]:
    """To the belt, one pick for each part, back. speed: share of the belt's largest mean speed."""
    belt_m_s, measured = FASTEST_M_S * speed, MeasuredPart(COORDINATES)
    seen: list[PassingParts] = []

    def run(stage: Stage) -> None:
        stage.robot.set(belt_speed=belt_m_s)
        seen.append(PassingParts(stage.robot, "part_seen", "belt_position", at_m=EYE_M))

    def picking(number: int) -> DemoStep:
        text = f"part {number + 1}"
        return DemoStep(text, 0.1, lambda stage: pick_next(stage, seen[-1], number), measured)

    start = DemoStep("belt", 0.0, run, command=f"linkwork set belt_speed={belt_m_s:g}")
    return [move("to the belt", READY), start, *map(picking, range(ceil(seconds / CYCLE_S))), home()]


def pick_next(stage: Stage, parts: PassingParts, number: int) -> Goal | None:
    """Send the pick of the next part that can be met; None when no part comes any more."""
    begin_within_s = BEGINS_S[Pace(stage.robot.describe()["pace"])]
    while True:
        try:
            part = parts.next(within_s=10.0)
            speed_m_s = _meet(stage, part)
            return stage.robot.send(pick(part, place(number), speed_m_s, begin_within_s))
        except TimeoutError:
            return None
        except RequestError as refused:  # it passes by: too far down, or the goal began too late
            if refused.code not in (ResultCode.INFEASIBLE, ResultCode.INVALID_GOAL):
                raise


def _meet(stage: Stage, part: PassedPart) -> float:
    """Wait until the part is where it can be met; return the belt's speed (m/s)."""
    while True:
        state = stage.robot.state
        belt_m = state["signals"]["belt_position"]
        speed = part.speed_since(belt_m, state["time_s"])
        if part.centre_m + belt_m >= MEETS_M - MEETS_S * speed:
            return speed
        stage.robot.pass_time(0.005)


def belt(recording: DemoRun) -> dict[str, Any]:
    """Parts placed, place errors (m), misses, parts that passed by, mean cycle (s), speeds of the belt (m/s).

    A part counts as placed if its centre lies within a tenth of its size of its place. A cycle is the time
    between two closings.
    """
    errors = _place_errors(recording)
    distances = np.array([np.hypot(*error) for error in errors.values()])
    speeds = _belt_speed(recording)[_picking(recording)]
    return {
        "belt": {
            **grip_figures(recording, "part_held", errors, NEAR_M),
            "place_error_rms_m": rms(distances) if len(distances) else None,
            "place_error_max_m": float(distances.max()) if len(distances) else None,
            "passed_by": _passed_by(recording),
            "belt_speed_m_s": [float(speeds.min()), float(speeds.max())] if len(speeds) else None,
        }
    }


def _place_errors(recording: DemoRun) -> dict[str, Floats]:
    """Return the distance (2; m) of each part in the tray from the nearest place."""
    places = np.array([place(number) for number in range(len(recording.parts))])
    return {
        name: min(at[:2] - places, key=lambda error: float(np.hypot(*error)))
        for name, at in recording.lying.items()
        if at[2] > 0.5 * (PART_M + TRAY_M) and at[1] > 0.0
    }


def _belt_speed(recording: DemoRun) -> Floats:
    """Return the speed of the belt (n; m/s): the mean over a tenth of a second."""
    time_s, way, width = recording.ticks.table["time_s"], recording.ticks.column("input", "belt_position"), 50
    speed = np.zeros(len(way))
    with np.errstate(invalid="ignore", divide="ignore"):
        speed[width:-width] = (way[2 * width :] - way[: -2 * width]) / (
            time_s[2 * width :] - time_s[: -2 * width]
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
    ticks, closings = recording.ticks, closing_times(recording)
    if not len(closings):
        return 0
    way, seen = ticks.column("input", "belt_position"), ticks.column("input", "part_seen") > 0.5
    rows = np.flatnonzero(seen[1:] & ~seen[:-1]) + 1
    last = int(np.searchsorted(ticks.table["time_s"], closings[-1]))
    gripped_m = ticks.column("coordinate", "x")[last] - way[last]
    before = np.count_nonzero(EYE_M - way[rows] > gripped_m - PITCH_M / 2.0)
    return int(before) - len(closings)


def caption(recording: DemoRun) -> str:
    """Return the law, the parts placed, and the place error."""
    found = belt(recording)["belt"]
    error = amount(found["place_error_rms_m"], "m")
    return f"{recording.options.law_text}; {handling_text(found)}, place error {error} rms"


def from_above(add: Callable[..., Any], recording: DemoRun) -> None:
    """Draw belt, light barrier, tray, the tool's path, and the parts where they lie."""
    from matplotlib.patches import Rectangle

    axes, scene = add(), load(MACHINE).scene
    assert scene is not None, "the machine has a scene"
    for plane in scene.planes:
        length, width = plane.size_m or (0.0, 0.0)
        corner = 1e3 * (plane.at_m[0] - length / 2.0), 1e3 * (plane.at_m[1] - width / 2.0)
        shade = "0.9" if plane.speed else "0.96"
        axes.add_patch(Rectangle(corner, 1e3 * length, 1e3 * width, facecolor=shade, edgecolor=QUIET))
    for beam in scene.beams:
        begin = np.array(beam.at_m)
        ends = 1e3 * np.array([begin, begin + beam.length_m * unit(beam.along)])
        axes.plot(ends[:, 0], ends[:, 1], color=ACCENT, linewidth=1.2, linestyle=(0, (4, 3)))
    x, y = (1e3 * recording.ticks.column("coordinate", name)[_picking(recording)] for name in "xy")
    axes.plot(x, y, color=HUES[0], linewidth=0.7, alpha=0.5)
    for at in recording.lying.values():
        draw_part(axes, scene.feeders[0].parts[0], at, edgecolor=INK, linewidth=1.0)
    axes.set(xlim=(-350.0, 350.0), ylim=(-200.0, 210.0), aspect="equal")
    dress(axes, "belt (grey), light barrier (dashed), tray, path of the tool / mm", legend=False)


def speed(add: Callable[..., Any], recording: DemoRun) -> None:
    """Draw the speed of the belt, and the moments at which parts were gripped."""
    axes, time_s, closings = add(), recording.ticks.table["time_s"], closing_times(recording)
    found = _belt_speed(recording)
    shown = np.where(_picking(recording), found, np.nan)
    axes.plot(time_s, shown, color=HUES[0], linewidth=1.4, label="belt")
    gripped = np.interp(closings, time_s, np.nan_to_num(found))
    axes.plot(closings, gripped, "o", color=ACCENT, markersize=4.0, label="part gripped")
    axes.set_ylim(0.0, None)
    dress(axes, "speed of the belt / m/s", x="time / s")


def place_errors(add: Callable[..., Any], recording: DemoRun) -> None:
    """Draw the place error of each part."""
    axes, found = add(), 1e3 * np.array([*_place_errors(recording).values()]).reshape(-1, 2)
    for column, (name, hue) in enumerate((("along the belt", HUES[0]), ("across", HUES[1]))):
        axes.plot(1 + np.arange(len(found)), found[:, column], "o", color=hue, markersize=3.5, label=name)
    axes.axhline(0.0, color=INK, linewidth=0.6)
    dress(axes, "place error / mm", x="part")


DEMO = Demo(
    MACHINE, "A delta robot picks parts from a running belt", 15.0, steps, (tracking_figures, belt),
    DemoPicture(caption, from_above, (speed, place_errors), same_time=False), truth=True,
)  # fmt: skip
