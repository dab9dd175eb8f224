"""Figures from the log of a demo: errors and efforts of its measured parts, signals and grips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.recordings.log_file import Ticks
from linkwork.recordings.tracking import Tracking, follow, rms

if TYPE_CHECKING:
    from linkwork.client.goal import Goal
    from linkwork.demos.demo import DemoStep
    from linkwork.demos.demo_options import DemoOptions


@dataclass(frozen=True)
class MeasuredStep:
    """A measured step: its text, its goal's number and report (as `accepted`), and its ticks."""

    text: str
    goal: int
    report: Mapping[str, Any]
    tracking: Tracking


@dataclass(frozen=True, eq=False)
class DemoRun:
    """A demo that has run. `parts` are the measured steps that were reached, `ticks` the whole log.

    `units` has "rad" or "m" of every coordinate.
    """

    options: DemoOptions
    units: Mapping[str, str]
    seconds: float
    ticks: Ticks
    parts: tuple[MeasuredStep, ...]
    plant: Mapping[str, Any] | None = None
    """Figures from the plant's record (`demos.demo_run.plant_figures`), where there is one."""
    beside: DemoRun | None = None
    """The same steps by the demo's second machine, where it has one."""
    leader: Ticks | None = None
    """Log of the machine that led, where there was one."""

    @property
    def lying(self) -> Mapping[str, Floats]:
        """Places of the loose parts at the end (3; m), by name."""
        parts = (self.plant or {}).get("parts_m", {})
        return {name: np.array(at) for name, at in parts.items()}


def recorded(
    options: DemoOptions,
    seconds: float,
    units: Mapping[str, str],
    ticks: Ticks,
    reached: Sequence[tuple[DemoStep, Goal]],
) -> DemoRun:
    """Return the recording of a demo.

    seconds: measured length. units: rad or m by coordinate. ticks: the whole log. reached: the measured steps
    that were begun, with their goals' numbers. Raises ValueError when none was, or a tick of one is missing
    in the log.
    """
    parts = []
    for step, goal in reached:
        assert step.measured is not None, "only measured steps are kept"
        measured = step.measured
        tracking = follow(ticks, goal.number, measured.coordinates, measured.begin_s, measured.end_s)
        parts.append(MeasuredStep(step.text, goal.number, goal.accepted["report"], tracking))
    if not parts:
        raise ValueError("no measured part of the demo was reached")
    return DemoRun(options, units, seconds, ticks, tuple(parts))


def tracking_figures(recording: DemoRun) -> dict[str, Any]:
    """Largest and rms error by coordinate (rad or m), peak effort by joint, jerk of the reference, ticks.

    Over all measured parts; `parts` holds the same for each.
    """
    each = [_of(part) for part in recording.parts]
    coordinates = [name for part in each for name in part["error_max"]]
    over = {name: _all(recording, name) for name in dict.fromkeys(coordinates)}
    return {
        "error_max": {name: float(np.abs(errors).max()) for name, errors in over.items()},
        "error_rms": {name: rms(errors) for name, errors in over.items()},
        "units": {name: recording.units[name] for name in over},
        "tracking_error_max": max(max(part["error_max"].values()) for part in each),
        "reference_jerk_max": max(part["reference_jerk_max"] for part in each),
        "peak_effort": {
            joint: max(part["peak_effort"][joint] for part in each) for joint in each[0]["peak_effort"]
        },
        "measured_ticks": sum(part["measured_ticks"] for part in each),
        "parts": each,
        **({} if recording.plant is None else {"plant": dict(recording.plant)}),
    }


def tool_figures(recording: DemoRun) -> dict[str, Any]:
    """Largest and rms errors of a tool that followed x, y, z (m), and of its angle (rad)."""
    tracking = recording.parts[0].tracking
    tool, angle = tracking.distance(("x", "y", "z")), tracking.error("angle")
    return {
        "tool_error_max_m": float(tool.max()),
        "tool_error_rms_m": rms(tool),
        "angle_error_max_rad": float(abs(angle).max()),
        "angle_error_rms_rad": rms(angle),
    }


def _of(part: MeasuredStep) -> dict[str, Any]:
    tracking = part.tracking
    errors = {name: tracking.error(name) for name in tracking.coordinates}
    return {
        "name": part.text,
        "goal": part.goal,
        "error_max": {name: float(np.abs(error).max()) for name, error in errors.items()},
        "error_rms": {name: rms(error) for name, error in errors.items()},
        "reference_jerk_max": tracking.reference_jerk(),
        "peak_effort": tracking.peak_effort(),
        "measured_ticks": int(tracking.measured.sum()),
    }


def _all(recording: DemoRun, coordinate: str) -> Any:
    parts = [part.tracking for part in recording.parts if coordinate in part.tracking.coordinates]
    return np.concatenate([tracking.error(coordinate) for tracking in parts])


def closing_times(recording: DemoRun) -> Floats:
    """Return the times (closings; s) at which the gripper closed."""
    return np.asarray(recording.ticks.table["time_s"][_closings(recording)])


def grip_figures(
    recording: DemoRun, held: str, errors: Mapping[str, Floats], near_m: float
) -> dict[str, Any]:
    """Return `placed`, parts that lie near their places; `misses`, closings without a part; `cycle_s`, mean
    time between two closings, None of one.

    held: the input that is on while a part is in the gripper. errors: from its place to each part (2; m).
    """
    present, times = recording.ticks.column("input", held) > 0.5, closing_times(recording)
    return {
        "placed": sum(bool(np.hypot(*error) < near_m) for error in errors.values()),
        "misses": int(np.count_nonzero(~present[_closings(recording)])),
        "cycle_s": float(np.mean(np.diff(times))) if len(times) > 1 else None,
    }


def handling_text(found: dict[str, Any]) -> str:
    """Return parts placed, misses, and the cycle time where at least two parts were gripped."""
    text = f"{found['placed']} parts placed, {found['misses']} misses"
    return text if found["cycle_s"] is None else f"{text}, cycle {found['cycle_s']:.2f} s"


def _closings(recording: DemoRun) -> Any:
    closed = recording.ticks.column("output", "gripper") > 0.5
    return np.flatnonzero(closed[1:] & ~closed[:-1]) + 1
