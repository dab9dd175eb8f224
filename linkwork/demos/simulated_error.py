"""True error of a demo: the plant's exact motion, from its own record, against the reference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.demos.demo_figures import DemoRun
from linkwork.machine import Machine
from linkwork.recordings.log_file import Ticks
from linkwork.recordings.tracking import Tracking
from linkwork.recordings.truth_file import Truth


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
