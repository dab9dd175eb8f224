"""The machine's model as a tick uses it: now, a little ahead, and everything that laws read there."""

from __future__ import annotations

from importlib import import_module
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from controller.loop.quality import Quality
from controller.loop.untouched import without_touch
from machine import Machine
from multibody import Workspace
from multibody.compiling import (
    BUFFER,
    INTEGERS,
    ON_MECHANISM,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    float64,
    kernel,
    void,
)
from multibody.coordinates import coordinates
from multibody.dynamics import dynamics
from multibody.integrate import rk4
from multibody.kinematics import kinematics
from multibody.layout import EFFORT, Q, V
from multibody.views import copy, vector

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Model(Protocol):
    """`now` holds the estimate, `ahead` the state at which the law is evaluated, `quality` what is thought
    of both.
    """

    now: Workspace
    ahead: Workspace
    felt: Floats
    """Generalized force (nv) of what the machine touches, as it is felt: the prediction knows no contacts."""
    quality: Quality

    def predict(self, motor: Integers, sent: Floats, seconds: float) -> None:
        """Writes to `ahead` the state that much later, under the efforts `sent` to the joints `motor`."""
        ...

    def foresee(self, motor: Integers, sent: Floats, period: float, beyond: float) -> bool:
        """Writes to `ahead` the state a period and `beyond` later.

        Returns whether `come` knows the one a period later.
        """
        ...

    def come(self) -> None:
        """Writes to `ahead` the state that was foreseen for a period later."""
        ...

    def settle(self, q: Floats, v: Floats) -> None:
        """Makes `now` a state of the machine, with coordinates, in which the measured joints have q and v.

        One number a sensor. Says in `quality` how well that went.
        """
        ...

    def forget(self) -> None:
        """The machine is out of sight: where it is seen next may be anywhere."""
        ...

    def compare(self, readings: Floats) -> None:
        """After `settle`: says in `quality` whether the sensors (one reading each) contradict each other."""
        ...

    def evaluate(self) -> None:
        """Evaluates at `ahead` what laws read."""
        ...

    def effort_for(self, acceleration: Floats, effort: Floats) -> bool:
        """Writes the motors' least effort for an admissible acceleration (nv) alone, without other forces.

        At the last state evaluated. False, with nothing written, where the motors cannot make it.
        """
        ...


def model_of(machine: Machine) -> Model:
    """The model for this kind of machine."""
    if not machine.is_constrained:
        return Tree(machine)
    from controller.loop.closed import Closed

    return Closed(machine)


def declare(machine: Machine) -> None:
    """Declares the kernels of this kind of machine, the laws' too: before `warm`."""
    if machine.is_constrained:
        import_module("controller.loop.closed")
        import_module("controller.loop.bearing_loads")
    if machine.mechanism.contacts and machine.force_rows:
        import_module("controller.laws.hybrid")
        import_module("controller.loop.senses")


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, BUFFER, INTEGERS, VECTOR, VECTOR, float64))
def predict(
    p: Floats, t: Integers, now: Floats, ahead: Floats,
    motor: Integers, sent: Floats, felt: Floats, seconds: float,
) -> None:  # fmt: skip
    """Writes to `ahead` the state so many seconds later, under the efforts sent and the forces felt (nv)."""
    copy(vector(t, now, Q), vector(t, ahead, Q))
    copy(vector(t, now, V), vector(t, ahead, V))
    effort = vector(t, ahead, EFFORT)
    copy(felt, effort)
    for i in range(len(motor)):
        effort[motor[i]] += sent[i]
    rk4(p, t, ahead, seconds)


@kernel(ON_MECHANISM)
def evaluate_dynamics(p: Floats, t: Integers, w: Floats) -> None:
    """Mass matrix, bias, friction and coordinates at the workspace's state."""
    dynamics(p, t, w)
    coordinates(p, t, w)


@kernel(ON_MECHANISM)
def evaluate_kinematics(p: Floats, t: Integers, w: Floats) -> None:
    """Frames and coordinates at the workspace's state."""
    kinematics(p, t, w)
    coordinates(p, t, w)


class Tree:
    """The model of a machine without constraints: every joint is measured."""

    def __init__(self, machine: Machine) -> None:
        self.now, self.ahead = without_touch(machine.workspace()), without_touch(machine.workspace())
        self.felt = np.zeros(machine.mechanism.nv)
        self.quality = Quality(0)
        self._joint = np.array([sensor.index for sensor in machine.sensors], np.int64)
        self._motor = np.array([motor.index for motor in machine.motors], np.int64)
        self._mechanism = (machine.mechanism.parameters, machine.mechanism.topology)

    def predict(self, motor: Integers, sent: Floats, seconds: float) -> None:
        """See `Model`."""
        predict(*self._mechanism, self.now.buffer, self.ahead.buffer, motor, sent, self.felt, seconds)

    def foresee(self, motor: Integers, sent: Floats, period: float, beyond: float) -> bool:
        """See `Model`."""
        self.predict(motor, sent, period + beyond)
        return False

    def come(self) -> None:
        """See `Model`: nothing was kept."""

    def settle(self, q: Floats, v: Floats) -> None:
        """See `Model`."""
        self.now.q[self._joint], self.now.v[self._joint] = q, v
        evaluate_kinematics(*self._mechanism, self.now.buffer)

    def forget(self) -> None:
        """See `Model`: the sensors tell all."""

    def compare(self, readings: Floats) -> None:
        """See `Model`: no joint has two sensors."""

    def evaluate(self) -> None:
        """See `Model`."""
        evaluate_dynamics(*self._mechanism, self.ahead.buffer)

    def effort_for(self, acceleration: Floats, effort: Floats) -> bool:
        """See `Model`."""
        effort[:] = (self.ahead.M @ acceleration)[self._motor]
        return True
