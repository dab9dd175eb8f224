"""Figures of demos with a gripper, from the log: signals, closings, misses, cycle time."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.demos.demo_figures import DemoRun


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
