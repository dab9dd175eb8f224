"""Disturbance observer: estimates unmodelled forces as an effort of the motors.

The model predicts each tick's velocities under the efforts that acted and the present disturbance estimate d.
A difference to the estimate is a missing acceleration (v - v⁻) / T. The least effort Δ of the motors that
produces it, along the independent motions, corrects d:

    d := d + (1 - exp(-ω_d T)) Δ,

a first-order estimate of bandwidth ω_d. The law's efforts are sent less d, and every prediction adds it. As
the prediction uses the efforts actually sent, the observer does not wind up at limits (anti-windup). It acts
only where the law controls position: neither hand guiding nor a commanded force is a disturbance.
"""

import math
from typing import Self

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.estimation.loop_model import LoopModel
from linkwork.machine import Machine
from linkwork.protocol.laws import POSITION_LAWS, LawKind


class DisturbanceObserver:
    """`effort` (motors): the disturbance, N m or N at the joint; zero until it has an estimate."""

    def __init__(self, machine: Machine, model: LoopModel) -> None:
        self._model = model
        self._bandwidth = machine.controller.disturbance_bandwidth_rad_s
        motors, nv = len(machine.motors), machine.mechanism.nv
        self.effort = np.zeros(motors)
        self._missing, self._acceleration = np.zeros(motors), np.zeros(nv)
        self._predicted, self._acting = np.zeros(nv), np.zeros(motors)
        self.on = self._bandwidth > 0.0

    def with_it(self, sent: Floats) -> Floats:
        """The efforts (motors) that a prediction uses: those sent plus the disturbance."""
        return np.add(sent, self.effort, out=self._acting) if self.on else sent

    def expect(self, v: Floats) -> None:
        """The predicted velocities (nv), before the sensors correct them."""
        if self.on:
            self._predicted[:] = v

    def update(self, law: LawKind, v: Floats, dt: float) -> None:
        """After the estimate v (nv) of a tick that was predicted, dt seconds after the last one."""
        if law not in POSITION_LAWS:
            self.reset()
        elif dt > 0.0:
            np.subtract(v, self._predicted, out=self._acceleration)
            self._acceleration /= dt
            if self._model.effort_for(self._acceleration, self._missing):
                self._missing *= -math.expm1(-self._bandwidth * dt)
                self.effort += self._missing

    def adopt(self, other: Self) -> None:
        """Continue with the disturbance that the observer under other constraints believes in."""
        self.effort[:] = other.effort

    def reset(self) -> None:
        """Start with a disturbance of zero."""
        if self.on:
            self.effort.fill(0.0)
