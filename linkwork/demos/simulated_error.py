"""True error of a demo: the plant's exact motion, from its own record, against the reference."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.demos.demo_figures import DemoRun
from linkwork.machine import Machine
from linkwork.recordings.log_file import Ticks
from linkwork.recordings.tracking import Tracking


@dataclass(frozen=True)
class Truth:
    """n periods of the plant: its ticks (n,), q (n, nq), and the effort on every joint (n, nv).

    parts: centres (n, 3; m) of the loose parts, by name.
    """

    period_s: float
    tick: Floats
    q: Floats
    effort: Floats
    parts: dict[str, Floats] = field(default_factory=dict)

    def rows_at(self, time_s: Floats) -> NDArray[np.int64]:
        """Return the rows (n) of the states of these device times (n; s). Raises ValueError when one is
        missing.
        """
        ticks = np.round(time_s / self.period_s)
        rows: NDArray[np.int64] = np.minimum(np.searchsorted(self.tick, ticks), len(self.tick) - 1)
        if not np.array_equal(self.tick[rows], ticks):
            raise ValueError("the plant's record does not hold every state of the log")
        return rows


def read_truth(path: Path) -> Truth:
    """The record written by `linkwork plant --truth`. An incomplete end after a crash is left out."""
    with path.open("rb") as file:
        head = json.loads(file.readline())
        content = file.read()
    numbers = np.frombuffer(content[: len(content) // 8 * 8], "<f8")
    columns = head["columns"]
    rows = numbers[: len(numbers) // len(columns) * len(columns)].reshape(-1, len(columns))
    kinds = np.array([name.partition(".")[0] for name in columns])
    first = {
        name.split(".")[1]: at for at, name in reversed([*enumerate(columns)]) if name.startswith("part.")
    }
    parts = {name: rows[:, at : at + 3] for name, at in reversed(first.items())}
    return Truth(head["period_s"], rows[:, 0], rows[:, kinds == "q"], rows[:, kinds == "effort"], parts)


def as_it_was(tracking: Tracking, truth: Truth, machine: Machine, ticks: Ticks) -> Tracking:
    """The tracking with the plant's own coordinates instead of the controller's estimate of them."""
    from linkwork.multibody.tree.coordinates import coordinates
    from linkwork.multibody.tree.kinematics import kinematics

    mechanism = machine.plant_mechanism
    columns = [mechanism.coordinate_names.index(name) for name in tracking.coordinates]
    work, actual = mechanism.workspace(), np.empty_like(tracking.actual)
    for row, q in enumerate(truth.q[truth.rows_at(ticks.table["time_s"][tracking.rows])]):
        work.q[:] = q
        kinematics(*work.arguments)
        coordinates(*work.arguments)
        actual[row] = work.theta[columns]
    return replace(tracking, actual=actual)


def with_truth(recording: DemoRun, truth: Truth, machine: Machine) -> DemoRun:
    """The recording with every part as the plant did it, and the plant's own figures."""
    parts = tuple(
        replace(part, tracking=as_it_was(part.tracking, truth, machine, recording.ticks))
        for part in recording.parts
    )
    return replace(recording, parts=parts, plant=plant_figures(truth, machine))


def plant_figures(truth: Truth, machine: Machine) -> dict[str, Any]:
    """`closure_residual_max`: how far the plant's closures ever were open (scaled: typical lengths, or rad).

    `passive_effort_max`: largest effort that anything but constraints put on each joint without a motor.
    `parts_m`: where the loose parts were at the end, where there are some.
    """
    from linkwork.multibody.constraints.rows import constraint_rows
    from linkwork.multibody.formulations.projection import position_residual
    from linkwork.multibody.tree.kinematics import kinematics

    mechanism = machine.plant_mechanism
    driven = {motor.index for motor in machine.motors}
    work, worst = mechanism.workspace(), 0.0
    for q in truth.q if machine.is_constrained else ():
        work.q[:] = q
        kinematics(*work.arguments)
        constraint_rows(*work.arguments)
        worst = max(worst, position_residual(*work.arguments))
    efforts = np.abs(truth.effort).max(axis=0)
    passive = {
        name: float(effort)
        for index, (name, effort) in enumerate(zip(mechanism.joint_names, efforts, strict=True))
        if index not in driven
    }
    figures: dict[str, Any] = {"closure_residual_max": worst, "passive_effort_max": passive}
    if truth.parts:
        last = {name: centres[-1] for name, centres in truth.parts.items()}
        figures["parts_m"] = {name: at.tolist() for name, at in last.items() if np.all(np.isfinite(at))}
    return figures
