"""The machine's model as a tick uses it: now, a little ahead, and everything that laws read there."""

from __future__ import annotations

from typing import Annotated, NamedTuple, Protocol

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
from linkwork.controller.tick_io import Inputs
from linkwork.machine import Machine
from linkwork.machine.chains import resolved
from linkwork.multibody import Workspace
from linkwork.multibody.kernels.bundles import BUNDLE, Bundle, reader
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    INTEGERS,
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
from linkwork.multibody.kernels.layout import CLOCK, EFFORT, NV, SECOND, SUM_V, VDOT, Q, V
from linkwork.multibody.kernels.views import copy, vector
from linkwork.multibody.steps.integrate import rk4
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.dynamics import dynamics, forward_dynamics
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.rotations import go


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


@kernel(ON_MECHANISM)
def evaluate_dynamics(p: Floats, t: Integers, w: Floats) -> None:
    """Mass matrix, bias, friction and coordinates at the workspace's state."""
    dynamics(p, t, w)
    coordinates(p, t, w)


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, VECTOR, VECTOR, float64))
def predict_tree(
    p: Floats, t: Integers, now: Floats, motor: Integers, sent: Floats, felt: Floats, seconds: float
) -> None:
    """Advance `now` by a time (s) under the efforts sent and the measured contact forces (nv)."""
    act(t, now, motor, sent, felt)
    rk4(p, t, now, seconds)


class TreeOutlook(NamedTuple):
    """The arrays of `foresee_tree`: the model, the workspaces, the motors' joints, the forces felt (nv)."""

    p: Floats
    t: Integers
    now: Floats
    ahead: Floats
    motor: Integers
    felt: Floats


read_outlook = reader(TreeOutlook)


@kernel(void(BUNDLE, VECTOR, float64))
def foresee_tree(bundle: Integers, sent: Floats, seconds: float) -> None:
    """Write the state that time after `now` to `ahead`, evaluated.

    bundle: `TreeOutlook`; the efforts sent and the forces felt (nv) act meanwhile. With h = 2/3 of the way,
    the accelerations a₀ at (q, v) and

        a₁ at (q + h v + h²/2 a₀ + h³/6 j, v + h a₀ + h²/2 j),    j = (a₁ - a₀) / h of the tick before,

    the mean acceleration is (a₀ + 3 a₁) / 4 (Radau's rule), and for the way (a₀ + a₁) / 2. j, which `ahead`
    keeps, replaces a third evaluation.
    """
    given = read_outlook(bundle)
    p, t, now, ahead, motor, felt = given.p, given.t, given.now, given.ahead, given.motor, given.felt
    q, v, first, mean = vector(t, now, Q), vector(t, now, V), vector(t, now, VDOT), vector(t, now, SUM_V)
    ahead_q, ahead_v, last = vector(t, ahead, Q), vector(t, ahead, V), vector(t, ahead, VDOT)
    jerk, h = vector(t, ahead, SECOND), seconds / 1.5
    act(t, now, motor, sent, felt)
    copy(vector(t, now, EFFORT), vector(t, ahead, EFFORT))
    forward_dynamics(p, t, now)
    copy(q, ahead_q)
    vector(t, ahead, CLOCK)[0] = vector(t, now, CLOCK)[0] + h
    for c in range(t[NV]):
        mean[c] = v[c] + h * (first[c] / 2.0 + h * jerk[c] / 6.0)
        ahead_v[c] = v[c] + h * (first[c] + h * jerk[c] / 2.0)
    go(t, ahead_q, v, first, mean, h)
    forward_dynamics(p, t, ahead)
    copy(q, ahead_q)
    for c in range(t[NV]):
        mean[c] = v[c] + seconds * (first[c] + last[c]) / 4.0
        ahead_v[c] = v[c] + seconds * (first[c] + 3.0 * last[c]) / 4.0
        jerk[c] = (last[c] - first[c]) / h
    go(t, ahead_q, v, first, mean, seconds)
    vector(t, ahead, CLOCK)[0] = vector(t, now, CLOCK)[0] + seconds
    evaluate_dynamics(p, t, ahead)


class TreeObservation(NamedTuple):
    """The arrays of `observe_tree`: the model, the workspace, and `Estimator.wiring`."""

    p: Floats
    t: Integers
    now: Floats
    joint: Annotated[Integers, "sensors"]
    has_velocity: Annotated[Integers, "sensors"]
    table: Annotated[Floats, "targets", "sensors"]
    balls: Integers


read_observation = reader(TreeObservation)


@kernel(int64(BUNDLE, VECTOR, VECTOR, *(float64,) * 3, *(boolean,) * 3))
def observe_tree(
    bundle: Integers, q_measured: Floats, v_measured: Floats, dt: float, cut_off_hz: float, bandwidth: float,
    first: bool, predicted: bool, fresh: bool,
) -> int:  # fmt: skip
    """Correct `now`, the prediction or the last estimate, by the readings (sensors); see `read_sensors`.

    bundle: `TreeObservation`.
    """
    given = read_observation(bundle)
    p, t, now, joint = given.p, given.t, given.now, given.joint
    has_velocity, table, balls = given.has_velocity, given.table, given.balls
    q, v = vector(t, now, Q), vector(t, now, V)
    bad: int = read_sensors(
        q_measured, v_measured, joint, has_velocity, table, balls, dt, cut_off_hz, bandwidth,
        first, predicted, fresh, q, v,
    )  # fmt: skip
    take_positions(joint, balls, table[TO_Q], table[MISSING], q)
    for i in range(len(joint)):
        v[joint[i]] = table[TO_V, i]
    kinematics(p, t, now)
    coordinates(p, t, now)
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
        given = self.now.arguments
        joint, has_velocity, table, balls = estimator.wiring
        self._observation = Bundle(TreeObservation(*given, joint, has_velocity, table, balls))
        self._outlook = Bundle(TreeOutlook(*given, self.ahead.buffer, self._motor, self.felt))

    def predict(self, sent: Floats, seconds: float) -> Workspace:
        """See `LoopModel`."""
        predict_tree(*self.now.arguments, self._motor, sent, self.felt, seconds)
        return self.now

    def foresee(self, sent: Floats, period: float, beyond: float) -> bool:
        """See `LoopModel`."""
        foresee_tree(self._outlook.words, sent, period + beyond)
        return False

    def use_prediction(self) -> Workspace:
        """See `LoopModel`; no prediction is kept."""
        return self.now

    def observe(self, inputs: Inputs, dt: float, predicted: bool) -> int:
        """See `LoopModel`."""
        given = self._estimator
        bad: int = observe_tree(
            self._observation.words, inputs.q_measured, inputs.v_measured, dt,
            given.cut_off_hz, given.bandwidth, given.first, predicted, inputs.fresh,
        )  # fmt: skip
        return bad

    def forget(self) -> None:
        """See `LoopModel`; the sensors determine the whole state."""

    def begin_at(self, q: Floats, v: Floats) -> None:
        """See `LoopModel`."""
        self.now.q[:], self.now.v[:] = q, v

    def compare(self, readings: Floats) -> None:
        """See `LoopModel`: no joint has two sensors."""

    def evaluate(self) -> None:
        """See `LoopModel`."""
        evaluate_dynamics(*self.ahead.arguments)

    def effort_for(self, acceleration: Floats, effort: Floats) -> bool:
        """See `LoopModel`."""
        effort[:] = (self.ahead.M @ acceleration)[self._motor]
        return True
