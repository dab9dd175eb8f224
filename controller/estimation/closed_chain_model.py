"""The model that a tick uses for a machine whose joints close on each other.

The state that was foreseen for this tick (foresight.py) is brought to the sensors and onto the closures
(meeting.py); from there the next one is foreseen, and where the law looks at the machine. What both need of
the dynamics is evaluated once, in the workspace `near`.
"""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.controller.actuation.motor_allocation import motor_forces
from linkwork.controller.actuation.motor_conditioning import FADING
from linkwork.controller.estimation.assembly_mode import AssemblyModeMemory
from linkwork.controller.estimation.closure_observer import TOLD, observation, observe_closed
from linkwork.controller.estimation.contact_free import without_touch
from linkwork.controller.estimation.estimate_quality import Quality
from linkwork.controller.estimation.prediction import ClosedPrediction, foresee_closed, predict_closed
from linkwork.controller.estimation.redundant_sensors import RedundantSensors, weights
from linkwork.controller.estimation.sensor_estimate import WEIGHT, Estimator
from linkwork.controller.exchange.tick_io import Inputs
from linkwork.controller.laws.closed_chain import evaluate_motion
from linkwork.machine import Machine
from linkwork.multibody import Workspace
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.kernels.layout import RANK
from linkwork.multibody.kernels.views import fill
from linkwork.multibody.workspace import Model

FAR = 0.2
"""rad or typical lengths that the sensors may be from the last estimate when the machine is seen again;
beyond it the search begins in the initial pose.
"""
STEPS, FIRST_STEPS = 5, 40
"""Most Newton steps of a tick, and of the first one, which may begin far away."""


@kernel
def forces_for(
    m: Model,
    w: Workspace,
    motor: Integers,
    weight: Floats,
    acceleration: Floats,
    square: Floats,
    needed: Floats,
    force: Floats,
) -> None:
    """force (nv) of the motors whose share along the admitted motions is Λ' M acceleration.

    After `evaluate_closed`; arguments as of `motor_allocation.motor_forces`. Zero at a pose with more
    degrees of freedom than `needed` has numbers.
    """
    nv = m.nv
    free = nv - int(w.ranking[RANK])
    fill(force, 0.0)
    if free > len(needed):
        return
    basis = w.basis[:free]
    fill(needed, 0.0)
    for c in range(nv):
        momentum = 0.0
        for d in range(nv):
            momentum += w.M[c, d] * acceleration[d]
        for i in range(free):
            needed[i] += basis[i, c] * momentum
    motor_forces(basis, motor, weight, square, needed[:free], force)


class ClosedChainModel:
    """Closed-chain `controller.estimation.loop_model.LoopModel`."""

    def __init__(self, machine: Machine, estimator: Estimator) -> None:
        self.now, self.ahead = without_touch(machine.workspace()), without_touch(machine.workspace())
        self._near = without_touch(machine.workspace())
        self.now.choice[1] = 0.0  # a step leaves the closures by 1e-12; each estimate closes them
        self.multipliers = self._near.multipliers
        self._stands = False
        """Whether `near` has the terms of the motion next to the state in `now`."""
        self.felt = np.zeros(machine.mechanism.nv)
        nv, rows = machine.mechanism.nv, len(machine.mechanism.row_names)
        self.quality = Quality(rows)
        self.quality.branch = 1.0
        self._estimator, self._branch = estimator, AssemblyModeMemory(machine)
        estimator.table[WEIGHT] = weights(machine)
        self._told = np.zeros(len(TOLD))
        self._observation = observation(self.now, self._near, estimator, self._branch, self._told)
        self._machine, self._seen = machine, False
        self._redundancy = RedundantSensors(machine)
        self.compares = self._redundancy.extra > 0
        self._believed = machine.controller.estimator.closure_residual_max
        self._joint = np.array([sensor.index for sensor in machine.sensors], np.int64)
        self._far = FAR * machine.mechanism.model.column_scale[self._joint]
        self._motor = np.array([motor.index for motor in machine.motors], np.int64)
        self._outlook = ClosedPrediction(
            m=self.now.model,
            now=self.now,
            near=self._near,
            ahead=self.ahead,
            motor=self._motor,
            felt=self.felt,
        )
        self._motor_weight = machine.effort_weights
        free = machine.dof
        self._square, self._needed, self._force = np.zeros(free**2), np.zeros(free), np.zeros(nv)

    def predict(self, sent: Floats, seconds: float) -> Workspace:
        """Advance `now` by a time (s) with `sent` acting (motors; N m or N), on the constraints."""
        predict_closed(*self.now.arguments, self._motor, sent, self.felt, seconds)
        self._stands = False
        return self.now

    def foresee(self, sent: Floats, period: float, beyond: float) -> bool:
        """Write the states one period and `period + beyond` (s) later, under `sent` (motors; N m or N)."""
        foresee_closed(self._outlook, sent, self._stands, period, beyond)
        self._stands = False
        return True

    def use_prediction(self) -> Workspace:
        """Use the state predicted one period ahead as the prediction; return its workspace."""
        self._stands = True
        return self._near

    def observe(self, inputs: Inputs, dt: float, predicted: bool) -> int:
        """Make `now` a state on the closures: the joints that are not measured follow those that are."""
        if not self._seen:
            self._look_around(inputs)
        quality, given, told = self.quality, self._estimator, self._told
        bad: int = observe_closed(
            self._observation, inputs.q_measured, inputs.v_measured,
            dt, given.cut_off_hz, given.bandwidth, self._believed,
            given.first, predicted, inputs.fresh, self._stands, STEPS if self._seen else FIRST_STEPS,
        )  # fmt: skip
        steps, quality.closure_residual, quality.rank, lost, smallest, quality.branch = told.tolist()
        quality.newton_iterations = steps
        found = smallest if quality.rank else 1.0
        quality.sigma_closures = 0.0 if lost else found
        self._stands, self._seen = self._stands and steps == 1.0 and not lost, True
        return bad

    def _look_around(self, inputs: Inputs) -> None:
        """Far from where the machine was seen last the search begins in its initial pose."""
        now = self.now
        off = self._redundancy.differences(inputs.q_measured, now)
        if inputs.fresh and np.any(np.abs(off) > self._far):
            now.q[:], now.v[:] = self._machine.initial_q, 0.0
            self._stands = False

    def forget(self) -> None:
        """Forget the estimate and the assembly mode."""
        self._seen = False
        self._branch.forget()

    def begin_at(self, q: Floats, v: Floats) -> None:
        """Begin the next estimate at q (nq; rad or m) and v (nv), of another model of the machine."""
        self.forget()
        self.now.q[:], self.now.v[:], self._stands = q, v, False

    def compare(self, readings: Floats) -> None:
        """Write to `quality` whether the readings (sensors) contradict the closures."""
        redundancy, quality = self._redundancy, self.quality
        redundancy.check(readings, self.now)
        quality.group, quality.suspect = redundancy.group, redundancy.suspect
        quality.error, quality.error_limit = redundancy.error, redundancy.limit

    def evaluate(self) -> None:
        """Evaluate dynamics, constraints and coordinates at `ahead`."""
        evaluate_motion(*self.ahead.arguments)

    def effort_for(self, acceleration: Floats, effort: Floats) -> bool:
        """Write the least effort (motors; N m or N) for an acceleration (nv); False where none makes it."""
        if self.quality.sigma_motors < FADING:
            return False
        forces_for(
            *self.ahead.arguments, self._motor, self._motor_weight, acceleration,
            self._square, self._needed, self._force,
        )  # fmt: skip
        effort[:] = self._force[self._motor]
        return True
