"""The machine's model as a tick uses it: now, a little ahead, and everything that laws read there."""

from __future__ import annotations

from importlib import import_module
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from controller.loop.estimator import TO_Q, TO_V, Estimator, read_sensors
from controller.loop.exchange import Inputs
from controller.loop.quality import Quality
from controller.loop.untouched import without_touch
from machine import Machine
from multibody import Workspace
from multibody.compiling import (
    BUFFER,
    FLAGS,
    INTEGERS,
    MATRIX,
    ON_MECHANISM,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    boolean,
    float64,
    int64,
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
    multipliers: Floats
    """What each row of the constraints bears in the motion foreseen."""

    compares: bool
    """Whether there are more sensors than it takes, so that `compare` has something to say."""

    def predict(self, motor: Integers, sent: Floats, seconds: float) -> Workspace:
        """Carries `now` on by so many seconds, under the efforts `sent` to the joints `motor`.

        Returns where the state predicted stands.
        """
        ...

    def foresee(self, motor: Integers, sent: Floats, period: float, beyond: float) -> bool:
        """Writes to `ahead` the state a period and `beyond` later, evaluated as by `evaluate`.

        Returns whether `come` knows the one a period later.
        """
        ...

    def come(self) -> Workspace:
        """The state that was foreseen for a period later is the prediction; returns where it stands."""
        ...

    def observe(self, inputs: Inputs, dt: float, predicted: bool) -> int:
        """Makes `now` a state of the machine, with coordinates, from the readings dt after the last ones.

        Without fresh readings, or where one is not finite, from what there is: the prediction, or if not
        `predicted` the last estimate. Says in `quality` how well that went. Returns the first sensor without
        a finite reading, or −1.
        """
        ...

    def forget(self) -> None:
        """The machine is out of sight: where it is seen next may be anywhere."""
        ...

    def compare(self, readings: Floats) -> None:
        """After `observe`: says in `quality` whether the sensors (one reading each) contradict each other."""
        ...

    def evaluate(self) -> None:
        """Evaluates at `ahead` what laws read."""
        ...

    def effort_for(self, acceleration: Floats, effort: Floats) -> bool:
        """Writes the motors' least effort for an admissible acceleration (nv) alone, without other forces.

        At the last state evaluated. False, with nothing written, where the motors cannot make it.
        """
        ...


def model_of(machine: Machine, estimator: Estimator) -> Model:
    """The model for this kind of machine."""
    if not machine.is_constrained:
        return Tree(machine, estimator)
    from controller.loop.closed import Closed

    return Closed(machine, estimator)


def declare(machine: Machine) -> None:
    """Declares the kernels of this kind of machine, the laws' too: before `warm`."""
    if machine.is_constrained:
        import_module("controller.loop.closed")
        import_module("controller.loop.bearing_loads")
    if machine.mechanism.contacts and machine.force_rows:
        import_module("controller.laws.hybrid")
        import_module("controller.loop.senses")


@kernel(ON_MECHANISM)
def evaluate_dynamics(p: Floats, t: Integers, w: Floats) -> None:
    """Mass matrix, bias, friction and coordinates at the workspace's state."""
    dynamics(p, t, w)
    coordinates(p, t, w)


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, BUFFER, INTEGERS, VECTOR, VECTOR, float64))
def predict(
    p: Floats, t: Integers, now: Floats, ahead: Floats,
    motor: Integers, sent: Floats, felt: Floats, seconds: float,
) -> None:  # fmt: skip
    """Writes to `ahead` the state that much later, evaluated, under efforts sent and forces felt (nv)."""
    copy(vector(t, now, Q), vector(t, ahead, Q))  # the two may be the same
    copy(vector(t, now, V), vector(t, ahead, V))
    effort = vector(t, ahead, EFFORT)
    copy(felt, effort)
    for i in range(len(motor)):
        effort[motor[i]] += sent[i]
    rk4(p, t, ahead, seconds)
    evaluate_dynamics(p, t, ahead)


_SENSES = (INTEGERS, FLAGS, MATRIX, VECTOR, VECTOR, *(float64,) * 3, *(boolean,) * 3)


@kernel(int64(PARAMETERS, TOPOLOGY, BUFFER, *_SENSES))
def observe_tree(
    p: Floats, t: Integers, now: Floats, joint: Integers, has_velocity: NDArray[np.bool_], table: Floats,
    q_measured: Floats, v_measured: Floats, dt: float, cut_off_hz: float, bandwidth: float,
    first: bool, predicted: bool, fresh: bool,
) -> int:  # fmt: skip
    """Carries `now`, the prediction or the last estimate, to what the sensors say; see `read_sensors`."""
    q, v = vector(t, now, Q), vector(t, now, V)
    bad: int = read_sensors(
        q_measured, v_measured, joint, has_velocity, table, dt, cut_off_hz, bandwidth,
        first, predicted, fresh, q, v,
    )  # fmt: skip
    for i in range(len(joint)):
        q[joint[i]], v[joint[i]] = table[TO_Q, i], table[TO_V, i]
    kinematics(p, t, now)
    coordinates(p, t, now)
    return bad


class Tree:
    """The model of a machine without constraints: every joint is measured."""

    compares = False

    def __init__(self, machine: Machine, estimator: Estimator) -> None:
        self.now, self.ahead = without_touch(machine.workspace()), without_touch(machine.workspace())
        self.felt = np.zeros(machine.mechanism.nv)
        self.quality, self.multipliers = Quality(0), np.zeros(0)
        self._estimator = estimator
        self._motor = np.array([motor.index for motor in machine.motors], np.int64)

    def predict(self, motor: Integers, sent: Floats, seconds: float) -> Workspace:
        """See `Model`."""
        predict(*self.now.arguments, self.now.buffer, motor, sent, self.felt, seconds)
        return self.now

    def foresee(self, motor: Integers, sent: Floats, period: float, beyond: float) -> bool:
        """See `Model`."""
        predict(*self.now.arguments, self.ahead.buffer, motor, sent, self.felt, period + beyond)
        return False

    def come(self) -> Workspace:
        """See `Model`: nothing was kept."""
        return self.now

    def observe(self, inputs: Inputs, dt: float, predicted: bool) -> int:
        """See `Model`."""
        given = self._estimator
        bad: int = observe_tree(
            *self.now.arguments, *given.wiring, inputs.q_measured, inputs.v_measured, dt,
            given.cut_off_hz, given.bandwidth, given.first, predicted, inputs.fresh,
        )  # fmt: skip
        return bad

    def forget(self) -> None:
        """See `Model`: the sensors tell all."""

    def compare(self, readings: Floats) -> None:
        """See `Model`: no joint has two sensors."""

    def evaluate(self) -> None:
        """See `Model`."""
        evaluate_dynamics(*self.ahead.arguments)

    def effort_for(self, acceleration: Floats, effort: Floats) -> bool:
        """See `Model`."""
        effort[:] = (self.ahead.M @ acceleration)[self._motor]
        return True
