"""The machine's model as a tick uses it: now, a little ahead, and everything that laws read there.

The state that was predicted for this tick (prediction.py) is brought to the sensors and onto the closures
(state_observer.py); from there the next one is predicted, and the one at which the law is evaluated. What
both need of the dynamics of a machine with constraints is evaluated once, in the workspace `near`. Without
constraints the sensors determine the whole state: it has no assembly mode, and no sensor is redundant.
"""

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats, Integers
from linkwork.controller.actuation.motor_allocation import motor_forces
from linkwork.controller.actuation.motor_conditioning import FADING
from linkwork.controller.estimation.assembly_mode import AssemblyModeMemory
from linkwork.controller.estimation.estimate_quality import Quality
from linkwork.controller.estimation.prediction import Prediction, foresee, predict
from linkwork.controller.estimation.redundant_sensors import RedundantSensors, weights
from linkwork.controller.estimation.sensor_estimate import TO_Q, WEIGHT, Estimator
from linkwork.controller.estimation.state_observer import TOLD, obey_speeds, observation, observe
from linkwork.controller.exchange.tick_io import Inputs
from linkwork.machine import Machine
from linkwork.machine.checks.controllability import without_velocity_rows
from linkwork.multibody import Workspace
from linkwork.multibody.assembly.switching import fixed_coordinates
from linkwork.multibody.dynamics.motion_basis import evaluate_motion
from linkwork.multibody.dynamics.projection import onto_manifold
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.kernels.layout import LOST, RANK, SMALLEST
from linkwork.multibody.kernels.views import fill
from linkwork.multibody.workspace import Model, touches

FAR = 0.2
"""rad or typical lengths that the sensors may be from the last estimate when the machine is seen again;
beyond it the search begins in the initial pose.
"""
STEPS, FIRST_STEPS = 5, 40
"""Most Newton steps of a tick, and of the first one, which may begin far away."""


def without_touch(work: Workspace) -> Workspace:
    """The workspace, in which stops and contacts do not push: where they are is not known so exactly."""
    if touches(work):
        work.held[0] = 1.0
    return work


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

    After `evaluate_motion`; arguments as of `motor_allocation.motor_forces`. Zero at a pose with more
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


class LoopModel:
    """`now` holds the estimate, `ahead` the state at which the law is evaluated.

    `felt`: generalized force (nv; N m or N) of the measured contacts, which the prediction does not model.
    `quality`: of the estimate. `multipliers`: of each constraint row in the predicted motion. `compares`:
    whether there are closures, which the readings may contradict (`compare`).
    """

    def __init__(self, machine: Machine, estimator: Estimator) -> None:
        nv, rows, free = machine.mechanism.nv, len(machine.mechanism.row_names), machine.dof
        self.now, self.ahead = without_touch(machine.workspace()), without_touch(machine.workspace())
        self._near = without_touch(machine.workspace()) if rows else self.now
        self.now.choice[1] = 0.0  # a step leaves the closures by 1e-12; each estimate closes them
        self.felt, self.multipliers = np.zeros(nv), self._near.multipliers
        self._stands = False
        """Whether `near` has the terms of the motion next to the state in `now`."""
        self.quality = Quality(rows)
        self.quality.branch = 1.0 if rows else 0.0
        seen = without_velocity_rows(machine)
        self._placed, placed_near = self.now, self._near
        """Of a machine with constraints on velocities: the estimate without these, which hold no position."""
        if seen is not machine:
            self._placed, placed_near = without_touch(seen.workspace()), without_touch(seen.workspace())
            self._placed.q[:] = self.now.q
        self._estimator, self._branch = estimator, AssemblyModeMemory(seen)
        estimator.table[WEIGHT] = weights(machine)
        self._told = np.zeros(len(TOLD))
        self._observation = observation(self._placed, placed_near, estimator, self._branch, self._told)
        self._machine, self._seen = machine, False
        self._redundancy = RedundantSensors(seen)
        self.compares = rows > 0
        self._believed = machine.controller.estimator.closure_residual_max
        joint = np.array([sensor.index for sensor in machine.sensors], np.int64)
        self._far = FAR * machine.mechanism.model.column_scale[joint]
        self._motor = np.array([motor.index for motor in machine.motors], np.int64)
        self._prediction = Prediction(
            m=self.now.model, now=self.now, near=self._near, ahead=self.ahead, motor=self._motor,
            felt=self.felt,
        )  # fmt: skip
        self._motor_weight = machine.effort_weights
        self._square, self._needed, self._force = np.zeros(free**2), np.zeros(free), np.zeros(nv)

    def predict(self, sent: Floats, seconds: float) -> Workspace:
        """Advance `now` by a time (s), on the constraints, under `sent` (motors; N m or N); return it."""
        predict(*self.now.arguments, self._motor, sent, self.felt, seconds)
        self._stands = False
        return self.now

    def foresee(self, sent: Floats, period: float, beyond: float) -> bool:
        """Write to `ahead` the state `period` + `beyond` (s) later, evaluated as by `evaluate`.

        `sent` (motors; N m or N) acts meanwhile. Returns whether `use_prediction` has the state one period
        later; without constraints it has none.
        """
        foresee(self._prediction, sent, self._stands, period, beyond)
        self._stands = False
        return self.quality.closes

    def use_prediction(self) -> Workspace:
        """Use the state predicted one period ahead as the prediction; return its workspace."""
        self._stands = True
        return self._near

    def observe(self, inputs: Inputs, dt: float, predicted: bool) -> int:
        """Make `now` a state of the machine, with coordinates, from the readings dt after the last ones.

        Joints that are not measured follow, on the closures, those that are. Without fresh readings, or where
        one is not finite, from what there is: the prediction, or if not `predicted` the last estimate. Says
        in `quality` how well that went. Returns the first sensor without a finite reading, or −1.
        """
        if not self._seen:
            self._look_around(inputs)
        quality, given, told = self.quality, self._estimator, self._told
        self._stands = self._stands and predicted
        placed = self._placed
        if placed is not self.now:
            source = self._near if self._stands else self.now
            placed.q[:], placed.v[:], placed.clock[0] = source.q, source.v, self.now.clock[0]
            self._stands = False
        bad: int = observe(
            self._observation, inputs.q_measured, inputs.v_measured,
            dt, given.cut_off_hz, given.bandwidth, self._believed,
            given.first, predicted, inputs.fresh, self._stands, STEPS if self._seen else FIRST_STEPS,
        )  # fmt: skip
        self._seen = True
        if placed is not self.now:
            self.now.q[:], self.now.v[:] = placed.q, placed.v
            obey_speeds(self._observation, *self.now.arguments)
            self._told[2:5] = self.now.ranking[[RANK, LOST, SMALLEST]]
        if not quality.closes:
            return bad
        steps, quality.closure_residual, quality.rank, lost, smallest, quality.branch = told.tolist()
        quality.newton_iterations = steps
        found = smallest if quality.rank else 1.0
        quality.sigma_closures = 0.0 if lost else found
        self._stands = self._stands and steps == 1.0 and not lost
        return bad

    def _look_around(self, inputs: Inputs) -> None:
        """Far from where the machine was seen last the search begins in its initial pose."""
        if not (self.quality.closes and inputs.fresh):
            return
        now = self.now
        if np.any(np.abs(self._redundancy.differences(inputs.q_measured, now)) > self._far):
            now.q[:], now.v[:] = self._machine.initial_q, 0.0
            self._stands = False

    def forget(self) -> None:
        """Forget estimate and assembly mode, because the connection was lost: the next may be anywhere."""
        self._seen = False
        self._branch.forget()

    def begin_at(self, q: Floats, v: Floats) -> None:
        """Begin the next estimate at q (nq; rad or m) and v (nv), of another model of the machine."""
        self.forget()
        self.now.q[:], self.now.v[:], self._stands = q, v, False

    def meet(self, q: Floats, v: Floats) -> NDArray[np.bool_]:
        """Begin the next estimate at q (nq), v (nv) predicted under other constraints, after the impulse.

        The impulse stops the velocities that these constraints forbid. `now` is evaluated there. Returns
        which coordinates (nc) are fixed.
        """
        self.begin_at(q, v)
        onto_manifold(*self.now.arguments)
        return fixed_coordinates(self.now)

    def compare(self, readings: Floats) -> None:
        """After `observe`: write to `quality` whether the readings (sensors) contradict the closures."""
        redundancy, quality = self._redundancy, self.quality
        redundancy.check(readings, self._estimator.table[TO_Q], self._placed)
        quality.group, quality.suspect = redundancy.group, redundancy.suspect
        quality.error, quality.error_limit = redundancy.error, redundancy.limit

    def evaluate(self) -> None:
        """Evaluate at `ahead` what laws read: dynamics, constraints and coordinates."""
        evaluate_motion(*self.ahead.arguments)

    def effort_for(self, acceleration: Floats, effort: Floats) -> bool:
        """Write the least effort (motors; N m or N) for an admissible acceleration (nv), and no other forces.

        At the last state evaluated. Returns False, without output, where the motors cannot produce it.
        """
        if self.quality.sigma_motors < FADING:
            return False
        forces_for(
            *self.ahead.arguments, self._motor, self._motor_weight, acceleration,
            self._square, self._needed, self._force,
        )  # fmt: skip
        effort[:] = self._force[self._motor]
        return True
