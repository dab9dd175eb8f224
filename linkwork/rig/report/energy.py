"""Energy balance: motors' work, kinetic and potential energy, friction, and remainder.

By the controller's own estimate and model: dE = W − L + R, with stored energy E = T + V, the motors' work W,
the work L lost to the model's friction, and the remainder R: brakes, contacts, closures that a tick leaves
open, differences between plant and model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.multibody.functions import friction, kinetic_energy, potential_energy
from linkwork.recordings.log_file import Ticks

SAMPLES = 400


@dataclass(frozen=True, eq=False)
class Energy:
    """Joules at time_s (n,), all zero at the first: stored, work of the motors, lost to friction."""

    time_s: Floats
    stored: Floats
    work: Floats
    lost: Floats

    @property
    def left_over(self) -> Floats:
        """R, what neither explains (n,)."""
        return self.stored - self.work + self.lost

    @property
    def exchanged(self) -> float:
        """Total absolute work."""
        return float(np.abs(np.diff(self.work)).sum())


def balance(machine: Machine, ticks: Ticks) -> Energy:
    """The balance over these ticks, at no more than SAMPLES of them."""
    table, mechanism = ticks.table, machine.mechanism
    rows = np.unique(np.linspace(0, len(table) - 1, min(SAMPLES, len(table))).astype(np.intp))
    q, v = table["q"], table["v"]
    time_s = table["time_s"] - table["time_s"][0]
    stored = [kinetic_energy(mechanism, q[row], v[row]) + potential_energy(mechanism, q[row]) for row in rows]
    power = [-float(friction(mechanism, q[row], v[row]) @ v[row]) for row in rows]
    return Energy(
        time_s[rows],
        np.array(stored) - stored[0],
        _work(machine, ticks)[rows],
        _summed(np.array(power), time_s[rows]),
    )


def _work(machine: Machine, ticks: Ticks) -> Floats:
    """Cumulative work of the motors: a state has the effort that has acted since the state before it."""
    table = ticks.table
    at = [machine.mechanism.position_names.index(motor.joint) for motor in machine.motors]
    travel = np.diff(table["q"][:, at], axis=0)
    steps = np.sum(table["device_effort"][1:] * travel, axis=1)
    return np.concatenate([[0.0], np.cumsum(steps)])


def _summed(rate: Floats, time_s: Floats) -> Floats:
    parts = 0.5 * (rate[1:] + rate[:-1]) * np.diff(time_s)
    return np.concatenate([[0.0], np.cumsum(parts)])
