"""`linkwork demo arm_6dof`: the arm of Kwatny & Blankenship (1995), with its compound and its simple wrist.

Both arms are one machine in other velocities. With v' = T v between those of the simple (') and the compound
wrist, their models are congruent and efforts do the same work:

    M = T' M' T,      f = T' f'.

Each arm is controlled by its own model, along the same motion; so their efforts must agree in this way.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.demos.demo import Demo, DemoStep, MeasuredPart, follow, home, move
from linkwork.demos.demo_figures import DemoRun, tracking_figures
from linkwork.demos.demo_picture import DemoPicture, errors, largest_error_caption
from linkwork.demos.waypoints import QUARTER, along, begin, waves
from linkwork.machine import load
from linkwork.multibody.functions import coordinate_jacobian
from linkwork.recordings.path_plot import HUES, dress
from linkwork.reports.quantities import amount

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


@lru_cache(1)
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
    machine, tracking, table = load(name), recording.parts[0].tracking, recording.ticks.table
    at = [machine.mechanism.coordinate_index(each) for each in TOOL]
    found = {}
    for row in tracking.rows[tracking.measured].tolist():
        tick = round(float(table["path_s"][row]) / machine.period_s)
        jacobian = coordinate_jacobian(machine.mechanism, table["q"][row + _AHEAD])[at]
        found[tick] = (table["coordinate"][row][at], jacobian, table["law_effort"][row])
    return found


def congruence(recording: DemoRun) -> dict[str, Any]:
    """Largest differences of the simple wrist from the compound one, in motion and efforts; its figures."""
    found = compared(recording)
    if not found or recording.beside is None:
        return {}
    off = np.abs(found["mapped"] - found["compound"])
    return {
        "simple": tracking_figures(recording.beside),
        "congruence": {
            "effort_difference_max_N_m": float(off.max()),
            "effort_max_N_m": float(np.abs(found["compound"]).max()),
            "place_difference_max_m": float(np.abs(found["tool"][:, :3]).max()),
            "angle_difference_max_rad": float(np.abs(found["tool"][:, 3:]).max()),
            "ticks": len(found["time_s"]),
        },
    }


def caption(recording: DemoRun) -> str:
    """Return how well the efforts of both wrists agree."""
    if recording.beside is None:
        return largest_error_caption(recording)
    same = congruence(recording)["congruence"]
    off = amount(same["effort_difference_max_N_m"], "N m")
    return f"one motion, two wrists: efforts agree to {off} of {same['effort_max_N_m']:.0f} N m"


def both_efforts(add: Callable[..., Any], recording: DemoRun) -> None:
    """Draw the efforts of both wrists."""
    axes, arms = add(), [recording, *([recording.beside] if recording.beside else [])]
    for arm, style in zip(arms, ("-", "--"), strict=False):
        tracking = arm.parts[0].tracking
        for number, hue in zip((1, 2, 3), HUES, strict=False):
            label = f"wrist.{number}" if arm is recording else None
            axes.plot(
                tracking.time_s, tracking.effort[:, 2 + number], style, color=hue, linewidth=1.2, label=label
            )
    dress(axes, "wrist motors / N m (dashed: simple wrist, about the gripper's axes)", legend=False)
    axes.legend(loc="best", fontsize=7, ncols=2, framealpha=0.8, edgecolor="none")


def difference(add: Callable[..., Any], recording: DemoRun) -> None:
    """Draw by how much the efforts of all motors differ after the map."""
    axes, found = add(), compared(recording)
    if found:
        left = found["mapped"] - found["compound"]
        axes.plot(found["time_s"], 1e3 * left, linewidth=1.0, label=list(recording.parts[0].tracking.motors))
    dress(axes, "T' f (simple) - f (compound), all motors / mN m", x="time / s")


DEMO = Demo(
    COMPOUND, "Kwatny's arm: two wrists, one motion", 4.0, steps, (tracking_figures, congruence),
    DemoPicture(caption, right=(errors, both_efforts, difference), same_time=False), beside=SIMPLE,
)  # fmt: skip
