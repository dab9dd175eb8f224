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
    from linkwork.demos.demo import DemoOptions, DemoStep


@dataclass(frozen=True)
class MeasuredStep:
    """A measured step: its text, its goal's number, and its ticks."""

    text: str
    goal: int
    tracking: Tracking


@dataclass(frozen=True)
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


def recorded(
    options: DemoOptions,
    seconds: float,
    units: Mapping[str, str],
    ticks: Ticks,
    reached: Sequence[tuple[DemoStep, int]],
) -> DemoRun:
    """The recording of a demo: `reached` are the measured steps that were begun, with their goals' numbers.

    Raises ValueError when none was, or a tick of one is missing in the log.
    """
    parts = []
    for step, goal in reached:
        assert step.measured is not None, "only measured steps are kept"
        measured = step.measured
        tracking = follow(ticks, goal, measured.coordinates, measured.begin_s, measured.end_s)
        parts.append(MeasuredStep(step.text, goal, tracking))
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
    """The same, and largest and rms errors of a tool that followed x, y, z (m), and of its angle (rad)."""
    tracking = recording.parts[0].tracking
    tool, angle = tracking.distance(("x", "y", "z")), tracking.error("angle")
    return {
        "tool_error_max_m": float(tool.max()),
        "tool_error_rms_m": rms(tool),
        "angle_error_max_rad": float(abs(angle).max()),
        "angle_error_rms_rad": rms(angle),
        **tracking_figures(recording),
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


def signal_values(recording: DemoRun, channel: str, name: str) -> Floats:
    """Return the values (n) of a signal, of the channel `input` or `output`, in every tick."""
    ticks = recording.ticks
    return np.asarray(ticks.table[channel][:, list(ticks.names[channel]).index(name)])


def closing_times(recording: DemoRun) -> Floats:
    """Return the times (closings; s) at which the gripper closed."""
    return np.asarray(recording.ticks.table["time_s"][_closings(recording)])


def grip_figures(recording: DemoRun, held: str) -> dict[str, Any]:
    """Return `misses`, closings without a part, and `cycle_s`, mean time between two closings; None of one.

    held: the input that is on while a part is in the gripper.
    """
    present, times = signal_values(recording, "input", held) > 0.5, closing_times(recording)
    return {
        "misses": int(np.count_nonzero(~present[_closings(recording)])),
        "cycle_s": float(np.mean(np.diff(times))) if len(times) > 1 else None,
    }


def handling_text(found: dict[str, Any]) -> str:
    """Return parts placed, misses, and the cycle time where at least two parts were gripped."""
    text = f"{found['placed']} parts placed, {found['misses']} misses"
    return text if found["cycle_s"] is None else f"{text}, cycle {found['cycle_s']:.2f} s"


def _closings(recording: DemoRun) -> Any:
    closed = signal_values(recording, "output", "gripper") > 0.5
    return np.flatnonzero(closed[1:] & ~closed[:-1]) + 1
