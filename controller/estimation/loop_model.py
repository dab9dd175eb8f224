"""The machine's model as a tick uses it: now, a little ahead, and everything that laws read there."""

from __future__ import annotations

from typing import Annotated, Protocol

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.controller.estimation.applied_forces import act
from linkwork.controller.estimation.contact_free import without_touch
from linkwork.controller.estimation.estimate_quality import Quality
from linkwork.controller.estimation.sensor_estimate import (
    MISSING,
    TO_Q,
    TO_V,
    Estimator,
    read_sensors,
    take_positions,
)
from linkwork.controller.exchange.tick_io import Inputs
from linkwork.machine import Machine
from linkwork.machine.chains import resolved
from linkwork.multibody import Workspace
from linkwork.multibody.dynamics.tree_dynamics import dynamics, forward_dynamics
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.kernels.views import copy
from linkwork.multibody.steps.integrate import rk4
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.rotations import go
from linkwork.multibody.workspace import Model


class LoopModel(Protocol):
    """`now` holds the estimate, `ahead` the state at which the law is evaluated, `quality` their quality."""

    now: Workspace
    ahead: Workspace
    felt: Floats
    """Generalized force (nv) of the measured contacts: the prediction models no contacts."""
    quality: Quality
    multipliers: Floats
    """Multiplier of each constraint row in the predicted motion."""

    compares: bool
    """Whether there are more sensors than it takes, so that `compare` has something to say."""

    def predict(self, sent: Floats, seconds: float) -> Workspace:
        """Advance `now` by a time (s) under the efforts `sent` (motors; N m or N).

        Returns the workspace that holds the predicted state.
        """
        ...

    def foresee(self, sent: Floats, period: float, beyond: float) -> bool:
        """Write to `ahead` the state `period` + `beyond` (s) later, evaluated as by `evaluate`.

        `sent` (motors; N m or N) acts meanwhile. Returns whether `use_prediction` has the state one period
        later.
        """
        ...

    def use_prediction(self) -> Workspace:
        """Use the state predicted one period ahead as the prediction; return its workspace."""
        ...

    def observe(self, inputs: Inputs, dt: float, predicted: bool) -> int:
        """Make `now` a state of the machine, with coordinates, from the readings dt after the last ones.

        Without fresh readings, or where one is not finite, from what there is: the prediction, or if not
        `predicted` the last estimate. Says in `quality` how well that went. Returns the first sensor without
        a finite reading, or −1.
        """
        ...

    def forget(self) -> None:
        """Forget the estimate, because the connection was lost: the next position may be anywhere."""
        ...

    def begin_at(self, q: Floats, v: Floats) -> None:
        """Begin the next estimate at q (nq; rad or m) and v (nv), of another model of the machine."""
        ...

    def compare(self, readings: Floats) -> None:
        """After `observe`: write to `quality` whether the readings (sensors) contradict each other."""
        ...

    def evaluate(self) -> None:
        """Evaluate at `ahead` what laws read."""
        ...

    def effort_for(self, acceleration: Floats, effort: Floats) -> bool:
        """Write the least effort (motors; N m or N) for an admissible acceleration (nv), without other
        forces.

        At the last state evaluated. Returns False, without output, where the motors cannot produce it.
        """
        ...


def model_of(machine: Machine, estimator: Estimator) -> LoopModel:
    """The model for this kind of machine."""
    model: LoopModel = resolved(machine.chain.loop_model)(machine, estimator)
    return model


@kernel
def evaluate_dynamics(m: Model, w: Workspace) -> None:
    """Mass matrix, bias, friction and coordinates at the workspace's state."""
    dynamics(m, w)
    coordinates(m, w)


@kernel
def predict_tree(
    m: Model, now: Workspace, motor: Integers, sent: Floats, felt: Floats, seconds: float
) -> None:
    """Advance `now` by a time (s) under the efforts sent and the measured contact forces (nv)."""
    act(now, motor, sent, felt)
    rk4(m, now, seconds)


class TreeOutlook(Struct):
    """The arrays of `foresee_tree`: the model, the workspaces, the motors' joints, the forces felt (nv)."""

    m: Model
    now: Workspace
    ahead: Workspace
    motor: Integers
    felt: Floats


@kernel
def foresee_tree(given: TreeOutlook, sent: Floats, seconds: float) -> None:
    """Write the state that time after `now` to `ahead`, evaluated.

    The efforts sent and the forces felt (nv) act meanwhile. With h = 2/3 of the way,
    the accelerations a₀ at (q, v) and

        a₁ at (q + h v + h²/2 a₀ + h³/6 j, v + h a₀ + h²/2 j),    j = (a₁ - a₀) / h of the tick before,

    the mean acceleration is (a₀ + 3 a₁) / 4 (Radau's rule), and for the way (a₀ + a₁) / 2. j, which `ahead`
    keeps, replaces a third evaluation.
    """
    m, now, ahead, motor, felt = given.m, given.now, given.ahead, given.motor, given.felt
    h = seconds / 1.5
    act(now, motor, sent, felt)
    copy(now.effort, ahead.effort)
    forward_dynamics(m, now)
    copy(now.q, ahead.q)
    ahead.clock[0] = now.clock[0] + h
    for c in range(m.nv):
        now.sum_v[c] = now.v[c] + h * (now.vdot[c] / 2.0 + h * ahead.second[c] / 6.0)
        ahead.v[c] = now.v[c] + h * (now.vdot[c] + h * ahead.second[c] / 2.0)
    go(m, ahead.q, now.v, now.vdot, now.sum_v, h)
    forward_dynamics(m, ahead)
    copy(now.q, ahead.q)
    for c in range(m.nv):
        now.sum_v[c] = now.v[c] + seconds * (now.vdot[c] + ahead.vdot[c]) / 4.0
        ahead.v[c] = now.v[c] + seconds * (now.vdot[c] + 3.0 * ahead.vdot[c]) / 4.0
        ahead.second[c] = (ahead.vdot[c] - now.vdot[c]) / h
    go(m, ahead.q, now.v, now.vdot, now.sum_v, seconds)
    ahead.clock[0] = now.clock[0] + seconds
    evaluate_dynamics(m, ahead)


class TreeObservation(Struct):
    """The arrays of `observe_tree`: the model, the workspace, and `Estimator.wiring`."""

    m: Model
    now: Workspace
    joint: Annotated[Integers, "sensors"]
    has_velocity: Annotated[Integers, "sensors"]
    table: Annotated[Floats, "targets, sensors"]
    balls: Integers


@kernel
def observe_tree(
    given: TreeObservation,
    q_measured: Floats,
    v_measured: Floats,
    dt: float,
    cut_off_hz: float,
    bandwidth: float,
    first: bool,
    predicted: bool,
    fresh: bool,
) -> int:
    """Correct `now`, the prediction or the last estimate, by the readings (sensors); see `read_sensors`."""
    m, now, joint = given.m, given.now, given.joint
    has_velocity, table, balls = given.has_velocity, given.table, given.balls
    bad: int = read_sensors(
        q_measured, v_measured, joint, has_velocity, table, balls, dt, cut_off_hz, bandwidth,
        first, predicted, fresh, now.q, now.v,
    )  # fmt: skip
    take_positions(joint, balls, table[TO_Q], table[MISSING], now.q)
    for i in range(len(joint)):
        now.v[joint[i]] = table[TO_V, i]
    kinematics(m, now)
    coordinates(m, now)
    return bad


class OpenChainModel:
    """The model of a machine without constraints: every joint is measured."""

    compares = False

    def __init__(self, machine: Machine, estimator: Estimator) -> None:
        self.now, self.ahead = without_touch(machine.workspace()), without_touch(machine.workspace())
        self.felt = np.zeros(machine.mechanism.nv)
        self.quality, self.multipliers = Quality(0), np.zeros(0)
        self._estimator = estimator
        self._motor = np.array([motor.index for motor in machine.motors], np.int64)
        m, now = self.now.arguments
        joint, has_velocity, table, balls = estimator.wiring
        self._observation = TreeObservation(
            m=m, now=now, joint=joint, has_velocity=has_velocity, table=table, balls=balls
        )
        self._outlook = TreeOutlook(m=m, now=now, ahead=self.ahead, motor=self._motor, felt=self.felt)

    def predict(self, sent: Floats, seconds: float) -> Workspace:
        """Advance `now` by a time (s) with `sent` acting (motors; N m or N); return it."""
        predict_tree(*self.now.arguments, self._motor, sent, self.felt, seconds)
        return self.now

    def foresee(self, sent: Floats, period: float, beyond: float) -> bool:
        """Write the state `period + beyond` (s) later, under `sent` (motors; N m or N); return False."""
        foresee_tree(self._outlook, sent, period + beyond)
        return False

    def use_prediction(self) -> Workspace:
        """Return `now`: no prediction is kept."""
        return self.now

    def observe(self, inputs: Inputs, dt: float, predicted: bool) -> int:
        """Make `now` the state that the readings determine; return the sensor without a reading, or −1."""
        given = self._estimator
        bad: int = observe_tree(
            self._observation, inputs.q_measured, inputs.v_measured, dt,
            given.cut_off_hz, given.bandwidth, given.first, predicted, inputs.fresh,
        )  # fmt: skip
        return bad

    def forget(self) -> None:
        """Do nothing: the sensors determine the whole state."""

    def begin_at(self, q: Floats, v: Floats) -> None:
        """Begin the next estimate at q (nq; rad or m) and v (nv), of another model of the machine."""
        self.now.q[:], self.now.v[:] = q, v

    def compare(self, readings: Floats) -> None:
        """Do nothing: of the readings (sensors) no two are of one joint."""

    def evaluate(self) -> None:
        """Evaluate dynamics and coordinates at `ahead`."""
        evaluate_dynamics(*self.ahead.arguments)

    def effort_for(self, acceleration: Floats, effort: Floats) -> bool:
        """Write the effort (motors; N m or N) of an acceleration (nv); False where a joint has no motor."""
        effort[:] = (self.ahead.M @ acceleration)[self._motor]
        return True
