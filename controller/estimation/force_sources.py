"""Source of each measured force of a machine: a sensor of the device, or the model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linkwork.controller.estimation.force_sensing import FeltForce, along_normal, felt_by_model
from linkwork.controller.exchange.tick_io import Inputs
from linkwork.machine import Machine
from linkwork.machine.sections.force_settings import ForceRow
from linkwork.multibody import Workspace

Sense = Callable[[Inputs, float], float]


def senses_of(machine: Machine, now: Workspace) -> list[Sense]:
    """One for each contact among the machine's forces, in order: call it each tick."""
    return [_sense(machine, row, now) for row in machine.force_rows if row.kind == "contact"]


def _sense(machine: Machine, row: ForceRow, now: Workspace) -> Sense:
    if machine.controller.force.source == "sensor":
        for sensor in machine.force_sensors:
            if sensor.contact == row.index:
                return BySensor(row, sensor.numbers, in_body=sensor.frame == "body", now=now)
    return ByModel(machine, row, now)


class BySensor:
    """The normal component of a force sensor's reading."""

    def __init__(self, row: ForceRow, numbers: slice, *, in_body: bool, now: Workspace) -> None:
        self._contact, self._numbers, self._in_body, self._now = row.index, numbers, in_body, now

    def __call__(self, inputs: Inputs, dt: float) -> float:  # noqa: ARG002 - a sensor needs no time
        """Return the normal force (N) that the sensor measures."""
        reading = inputs.force_measured[self._numbers]
        felt: float = along_normal(*self._now.arguments, self._contact, self._in_body, reading)
        return felt


class ByModel:
    """The residual force of the last period beyond the motors' efforts, through a first-order low-pass."""

    def __init__(self, machine: Machine, row: ForceRow, now: Workspace) -> None:
        nv, probe = machine.mechanism.nv, machine.workspace()
        self._now = now
        self._given = FeltForce(
            m=probe.model, w=probe, motor=np.array([motor.index for motor in machine.motors], np.int64),
            contact=row.index, gap=row.gap, rest=np.zeros(nv), one=np.zeros(nv), motion=np.zeros(nv),
        )  # fmt: skip
        self._effort = np.zeros(len(machine.motors))
        self._q, self._v = now.q.copy(), now.v.copy()
        self._cut_off = 2.0 * np.pi * machine.controller.force.estimate_Hz
        self._felt, self._known = 0.0, False

    def __call__(self, inputs: Inputs, dt: float) -> float:
        """Return the normal force (N) that explains the last change of the velocities."""
        if not inputs.fresh or dt <= 0.0:
            self._known = self._known and inputs.fresh
            return self._felt
        now = self._now
        if self._known:
            value: float = felt_by_model(self._given, self._q, self._v, now.q, now.v, dt, self._effort)
            self._felt += (1.0 - np.exp(-self._cut_off * dt)) * (value - self._felt)
        self._q[:], self._v[:], self._effort[:] = now.q, now.v, inputs.device_effort
        self._known = True
        return self._felt
