"""One tick: estimate → supervise → law → limit. Pure: it knows no clock, no socket and no file.

The very object that the loop process runs is what tests and the offline simulator call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.estimation.disturbance_observer import DisturbanceObserver
from linkwork.controller.estimation.estimate_quality import Quality
from linkwork.controller.estimation.loop_model import LoopModel
from linkwork.controller.estimation.sensor_estimate import Estimator
from linkwork.controller.exchange.faults import FaultCode
from linkwork.controller.exchange.records import Record, RecordLayout
from linkwork.controller.exchange.tick_io import Inputs, Outputs
from linkwork.controller.laws import Law, LawReport, Reference, laws_of
from linkwork.controller.laws.force_reference import ForceReference
from linkwork.controller.laws.law_motors import Motors
from linkwork.controller.loop.motor_lag import MotorLag
from linkwork.controller.loop.overruns import TickPhase
from linkwork.controller.loop.tick_record import TickRecord
from linkwork.controller.motion.limits.effort_limits import EffortLimits, Limited, filter_share, limit_effort
from linkwork.controller.motion.references.drive_references import DriveReferences
from linkwork.controller.motion.references.reference import Follow, ReferenceMotion
from linkwork.controller.supervision.brakes import BRAKED, RELEASED
from linkwork.controller.supervision.closure_loads import BearingLoads
from linkwork.controller.supervision.live_tuning import Tuning
from linkwork.controller.supervision.supervisor import Supervisor
from linkwork.machine import Machine
from linkwork.machine.checks.controllability import WEAK_LEVERAGE
from linkwork.machine.motor_heat import ThermalModel, correct, warm
from linkwork.machine.payloads import Loads, with_own_model
from linkwork.multibody import Workspace
from linkwork.multibody.assembly.switching import fixed_coordinates
from linkwork.multibody.dynamics.kept_rows import DISPLACES
from linkwork.protocol.laws import LawKind
from linkwork.protocol.trajectory import MOST_COMBINATIONS

AHEAD = 1.5
"""Periods from a state to the middle of the hold of the command computed from it, which acts over [t_{k+1},
t_{k+2}).
"""
SAME = 1e-6
"""Relative tolerance for comparing periods, to absorb timestamp rounding."""
LEAST_PIVOT = 1e-6
"""Pivot ratio of the goal coordinates' Jacobian below which the pose counts as singular."""
LAST, FORESEEN, HERE, NONE = range(4)
"""Prior of an estimate: the last one, to be predicted from; the state that the last tick has foreseen; one
that is predicted already; none, near a state of other constraints or of another assembly mode."""
_NO_LAW = LawKind.NONE
EFFORT, LEVERAGE, KEEP = int(Limited.EFFORT), int(Limited.LEVERAGE), int(Limited.KEEP)


def no_slots(_: int) -> Floats:
    """Raise, in place of a goal slot (flat array): this tick has none."""
    return np.empty(0)


class EffortCommand:
    """The efforts that are sent to the motors, and what acts of them.

    `force`: the law's generalized force per joint (nv, N m or N), written by the law. `acted`: effort per
    motor that acts over the period which begins with this tick; while the state is estimated, what acted
    until now. `clipped`: whether the last command had a motor at its largest effort.
    disturbance: effort per motor that the disturbance observer believes in. wanted: where the effort per
    motor that the law wants is published.
    """

    def __init__(self, machine: Machine, disturbance: Floats, wanted: Floats) -> None:
        motors, period_s = machine.motors, machine.period_s
        self.force = np.zeros(machine.mechanism.nv)
        self._sent, self._last = np.zeros((2, len(motors)))
        """The command of this tick, and the one before, which acts over the period that begins with it."""
        self.acted = self._last
        self.clipped = False
        self._wanted = wanted
        self._drives = MotorLag(motors, period_s) if MotorLag.lag(motors) else None
        self._filter = filter_share(machine.controller.effort_filter_hz, period_s)
        index = np.array([motor.index for motor in motors], np.int64)
        self.most = np.array([motor.max_effort for motor in motors])
        """Largest effort per motor (N m or N) now."""
        step = np.array([motor.max_effort_rate * period_s for motor in motors])
        level, lead = np.zeros(len(motors)), np.ones(len(motors))
        if self._drives is not None:
            level, lead = self._drives.level, self._drives.lead
        self._limits = EffortLimits(
            force=self.force, motor=index, most=self.most, step=step, disturbance=disturbance,
            level=level, lead=lead, wanted=wanted,
        )  # fmt: skip

    def deliver(self) -> None:
        """The command of the last tick begins to act."""
        self._last, self._sent = self._sent, self._last
        if self._drives is None:
            self.acted = self._last
        else:
            self._drives.deliver(self._last)
            self.acted = self._drives.mean

    def limit(self, share: float, lag: float, out: Floats) -> int:
        """Write the command to `out` (motors; N m or N); arguments and result are those of `limit_effort`.

        Where an effort is not finite the command is zero.
        """
        limited = limit_effort(
            self._limits, share, lag, self._filter, self.acted, self._last, self._sent, out
        )
        if limited < 0:
            self._sent[:] = out[:] = 0.0
        self.clipped = limited > 0 and bool(limited & EFFORT)
        return limited

    def heat(self, heat: ThermalModel, inputs: Inputs, dt: float) -> None:
        """Step the motors' temperatures by dt (s), and let hot motors give less.

        Call it before `deliver`. Where the device measures a temperature, it corrects the estimate.
        """
        warm(heat, self.acted, dt)
        if inputs.fresh:
            correct(heat, inputs.temperature, dt)
        self.most[heat.motor] = heat.limit

    def clear(self, out: Floats) -> None:
        """Write a command of no effort to `out` (motors)."""
        self._sent[:] = out[:] = self._wanted[:] = 0.0

    def adopt(self, other: EffortCommand) -> None:
        """Copy the command and the state of the drives from the tick of another constraint set."""
        self.clipped = False
        self._last[:], self._sent[:] = other._last, other._sent
        if self._drives is not None and other._drives is not None:
            self._drives.adopt(other._drives)
        self.acted = self._last if self._drives is None else self._drives.mean


class ActiveLaw:
    """The control law in use: evaluates the reference ahead of time, and the law at the predicted state.

    preload: internal force of redundant motors. forces: the force reference of the hybrid law. most: largest
    effort per motor (N m or N), as it is at the moment. rows: see `LawReport`.
    """

    def __init__(
        self, machine: Machine, preload: Floats, forces: ForceReference, most: Floats, rows: Floats
    ) -> None:
        self.report = LawReport(rows=rows)
        """The law's diagnostics of this tick, beside the force."""
        self._motors = Motors(machine, self.report, preload, most)
        self._laws = laws_of(machine, self._motors)
        self._kind, self._law = LawKind.NONE, self._laws[LawKind.NONE]
        self.drives = DriveReferences(machine) if machine.driver.follows_positions else None
        """References of drives that close the position loop."""
        self.lag = 0.0
        """Share by which the law corrects for its own command's effect (`Law.lag`)."""
        self._period_s = machine.period_s
        self._reference = Reference.sized(machine.dof)
        self._reference.forces = forces

    @property
    def laws(self) -> Collection[Law]:
        """All laws of the machine."""
        return self._laws.values()

    def release(self) -> None:
        """Choose the law again in the next tick: its gains have changed."""
        self._kind = _NO_LAW

    def rest(self) -> None:
        """Report no rows, and choose the law again in the next tick."""
        if self._kind != _NO_LAW:
            self.release()
            self.report.rows[:] = 0.0

    def compute(self, kind: LawKind, motion: ReferenceMotion, ahead: Workspace, force: Floats) -> float:
        """Write the law's generalized force (nv, N m or N) to `force`; return the pivot ratio (`Law`).

        ahead: the predicted state, in the middle of the hold of the command.
        """
        reference, report = self._reference, self.report
        fits = reference.index is motion.index and kind is self._kind
        if not fits:
            reference.fit(motion.index)
        reference.task, reference.rest = motion.task, motion.rest
        motion.evaluate(AHEAD * self._period_s, reference.theta, reference.velocity, reference.acceleration)
        if self._motors.fades:
            own = motion if isinstance(motion, Follow) else None
            self._motors.fade(*((0, np.inf) if own is None else own.opening_ahead(2.0 * self._period_s)))
        report.leverage = report.share = 1.0
        report.programs = report.binding = 0
        if not fits:
            self._kind, self._law = kind, self._laws[kind]
            report.rows[:] = 0.0
            report.rows[0] = len(reference.index) if kind.spec.follows != "nothing" else 0
            report.rows[1] = 1.0
        if self.drives is not None and kind.spec.follows == "position":
            self.drives.follow(self._law, ahead, reference)
        elif self.drives is not None:
            self.drives.rest()
        ratio = self._law(ahead, reference, force)
        if not fits:
            self.lag = self._law.lag(self._period_s)
        return ratio


class Tick:
    """The controller of one machine, called once a period.

    `slot` gives a goal slot's words; `record` is where the tick publishes, a new one by default. A tick is
    `step`, then `note`; after that `record` holds its record.
    """

    def __init__(
        self,
        machine: Machine,
        layout: RecordLayout,
        slot: Callable[[int], Floats] = no_slots,
        record: Record | None = None,
    ) -> None:
        self._period_s = machine.period_s
        names, none = [f".{i}" for i in range(MOST_COMBINATIONS)], np.zeros(len(machine.coordinates))
        machine = machine.combining(dict.fromkeys(names, none), [False] * len(names), writable=True)
        loads = None
        if machine.payloads:
            empty = machine.mechanism
            machine = with_own_model(machine)
            loads = Loads(empty.model, machine.mechanism.model)
        self._loads = loads
        self._estimator = Estimator(machine)
        self._model = LoopModel(machine, self._estimator)
        self._now, self._ahead = self._model.now, self._model.ahead
        self._disturbance = DisturbanceObserver(machine, self._model)
        self.quality: Quality = self._model.quality
        self._writer = TickRecord(Record(layout) if record is None else record, self._now)
        self.record = self._writer.record
        self.quality.bind(self.record)
        self.quality.write()
        self._efforts = EffortCommand(machine, self._disturbance.effort, self._writer.wanted_effort)
        self._presses = bool(machine.force_rows)
        self._feels = bool(machine.force_sensors)
        self._signals = bool(machine.signals)
        self._bearings = None
        if machine.load_limits:
            self._bearings = BearingLoads(machine)
        self.supervisor = Supervisor(machine, self._now, self.quality, slot)
        self.supervisor.executor.recorded = self.record.floats
        self._force_control = self.supervisor.executor.pressing.control
        self._law = ActiveLaw(
            machine, self.supervisor.preload.now, self._force_control.forces, self._efforts.most,
            self._writer.rows,
        )  # fmt: skip
        self._tuning = Tuning(machine, self._law.laws, loads)
        self._carries = bool(self._tuning.by_signal)
        self.supervisor.tune = self._tuning.ask
        self.supervisor.estimates_by(lambda q: self.estimate_afresh(q, np.zeros(len(self._now.v))))
        self._count = 0
        self._bad_sensor = -1
        self._since_reading_s = 0.0
        self._prior = LAST
        """What the next estimate begins with."""

    def step(
        self, inputs: Inputs, outputs: Outputs, dt: float, mark: Callable[[int], object] | None = None
    ) -> None:
        """One tick. `dt` is the device time since the last one; `outputs` is filled in place.

        mark: called with each `TickPhase` as it ends, for measurements outside the tick.
        """
        if self._tuning.changing:
            self._tuning.advance(dt)
            self._law.release()
        if self._carries and inputs.fresh and self._tuning.by_signal.follow(inputs.input, inputs.output):
            self._law.release()
        self._estimate(inputs, dt)
        if mark is not None:
            mark(TickPhase.ESTIMATE)
        if self._prior == NONE:
            self.supervisor.executor.hold_here()
            self._prior = LAST
        self.supervisor.update(inputs, self._count, self._bad_sensor)
        if mark is not None:
            mark(TickPhase.SUPERVISE)
        self._act()
        if mark is not None:
            mark(TickPhase.LAW)
        self._limit(outputs)
        if mark is not None:
            mark(TickPhase.LIMIT)

    def estimate_again(self) -> None:
        """Let the next step estimate without a prediction, near the last state, and hold there."""
        self.estimate_afresh(self._now.q, self._now.v)

    def estimate_afresh(self, q: Floats, v: Floats) -> None:
        """Let the next step estimate without a prediction, near q (nq) and v (nv), and hold there."""
        self._model.begin_at(q, v)
        self._estimator.first, self._prior = True, NONE
        self._disturbance.reset()

    def adopt(self, other: Tick) -> None:
        """Take over the machine, at rest, from the tick of another constraint set.

        The next step estimates afresh, near the state that the other tick estimated last.
        """
        self.estimate_afresh(other._now.q, other._now.v)
        self._share(other)

    def carry_on(self, other: Tick, dt: float) -> None:
        """Take over the machine in motion, with its goal, from the tick of another constraint set.

        The state that the other tick predicts for this one, dt (s) after its last, goes through the impulse
        of the constraints that close. Coordinates that these fix stay where they are.
        """
        expected = other._expected(dt)
        before = fixed_coordinates(expected)
        fixed = self._model.meet(expected.q, expected.v)
        self._estimator.adopt(other._estimator, self._now.v - expected.v)
        self._disturbance.adopt(other._disturbance)
        self._prior = HERE
        self._share(other)
        self.supervisor.executor.carry_on(other.supervisor.executor, before, fixed)

    def _share(self, other: Tick) -> None:
        """Take over commands, orders, gains and loads from the tick of another constraint set."""
        self._efforts.adopt(other._efforts)
        self._count, self._bad_sensor = other._count, other._bad_sensor
        self._since_reading_s = other._since_reading_s
        self._law.release()
        self._tuning.adopt(other._tuning)
        self.supervisor.adopt(other.supervisor)

    @property
    def iterations(self) -> float:
        """Newton steps of the estimate and quadratic programs of the law, in this tick."""
        return self.quality.newton_iterations + self._law.report.programs

    def note(self, inputs: Inputs, outputs: Outputs) -> None:
        """End the tick: write inputs and decisions to `record`. The loop sends its command before."""
        self._write(inputs, outputs)
        self._count += 1

    def _estimate(self, inputs: Inputs, dt: float) -> None:
        estimator, disturbance, model = self._estimator, self._disturbance, self._model
        supervisor = self.supervisor
        predicted = supervisor.brakes.phase is RELEASED and self._prior != NONE
        predicted = predicted and (estimator.predicts or disturbance.on or not inputs.fresh)
        if predicted:
            expected = self._expected(dt)
            if disturbance.on:
                disturbance.expect(expected.v)
        if self._prior != NONE:
            self._prior = LAST
        self._since_reading_s += dt
        self._now.clock[0] = inputs.time_s
        bad = model.observe(inputs, self._since_reading_s, predicted)
        if inputs.fresh:
            self._bad_sensor, self._since_reading_s = bad, 0.0
            if bad < 0:
                estimator.first = False
                if model.compares:
                    model.compare(inputs.q_measured)
        if not inputs.connected:
            estimator.first = True
            model.forget()
        if supervisor.heat is not None and dt > 0.0:
            self._efforts.heat(supervisor.heat, inputs, dt)
        self._efforts.deliver()
        if not predicted:
            disturbance.reset()
        elif disturbance.on and inputs.fresh:
            disturbance.update(supervisor.executor.law, self._now.v, dt)
        if self._presses:
            self._force_control.sense(inputs, dt)
        if (frames := supervisor.executor.frames) is not None:
            frames.update(inputs.input, dt, fresh=inputs.fresh, connected=inputs.connected)
        if self._bearings is not None and self._bearings.gauged:
            self._bearings.read(inputs.force_measured)

    def _expected(self, dt: float) -> Workspace:
        """Return the workspace with the state that is predicted for this tick, dt (s) after the last one."""
        if self._prior == FORESEEN and abs(dt - self._period_s) < SAME * self._period_s:
            return self._model.use_prediction()
        seconds = 0.0 if self._prior == HERE else dt
        return self._model.predict(self._disturbance.with_it(self._efforts.acted), seconds)

    def _act(self) -> None:
        """Compute the law's generalized force from the predicted state."""
        supervisor, model, quality = self.supervisor, self._model, self.quality
        executor, phase, bits = supervisor.executor, supervisor.brakes.phase, 0
        quality.constraint_force = quality.unknown
        if phase is BRAKED:
            self._law.rest()
            return
        if self._presses:
            self._force_control.felt_by_joints(model.felt)
        if phase is RELEASED:
            acting = self._disturbance.with_it(self._efforts.acted)
            foreseen = model.foresee(acting, self._period_s, (AHEAD - 1.0) * self._period_s)
            if foreseen and self._prior != NONE:
                self._prior = FORESEEN
            quality.constraint_force = model.multipliers
            if self._bearings is not None and self._bearings.check(model.multipliers):
                bits |= self._overloaded(self._bearings)
            if self._presses:
                self._force_control.react(model.multipliers)
        else:
            self._ahead.q[:], self._ahead.v[:] = self._now.q, self._now.v
            self._ahead.clock[0] = self._now.clock[0]
            model.evaluate()
        law, efforts = self._law, self._efforts
        ratio = law.compute(executor.law, executor.motion, self._ahead, efforts.force)
        report = law.report
        if ratio < LEAST_PIVOT:
            supervisor.raise_fault(FaultCode.SINGULAR_POSE, -1, ratio, LEAST_PIVOT)
        quality.sigma_motors = report.leverage
        if report.share < 1.0:
            bits |= EFFORT
        if report.leverage < WEAK_LEVERAGE:
            bits |= LEVERAGE
        slow = bits != 0 or efforts.clipped
        if report.binding:
            bits |= KEEP
            slow = slow or report.binding == DISPLACES
        if bits or slow or executor.slowed:
            executor.limit(bits, slow=slow)

    def _overloaded(self, bearings: BearingLoads) -> int:
        """Handle an overloaded constraint: latch a fault, or limit the motion."""
        fault = bearings.fault()
        if fault is not None and self.supervisor.moving:
            self.supervisor.raise_fault(*fault)
        return int(Limited.CONSTRAINT_FORCE)

    def _limit(self, outputs: Outputs) -> None:
        supervisor, brakes = self.supervisor, self.supervisor.brakes
        drives = self._law.drives
        if brakes.phase is BRAKED:
            self._efforts.clear(outputs.effort)
            if drives is not None:
                drives.rest()
                drives.write(self._now, 0.0, outputs.references)
        else:
            lag = self._law.lag if brakes.phase is RELEASED else 0.0
            limited = self._efforts.limit(brakes.share, lag, outputs.effort)
            if limited < 0:
                supervisor.raise_fault(FaultCode.EFFORT_NOT_FINITE, -1 - limited)
            elif limited:
                supervisor.executor.limited |= limited
            if drives is not None:
                drives.write(self._ahead, brakes.share, outputs.references)
        outputs.mode = brakes.mode
        if supervisor.outputs is not None:
            outputs.signals[:] = supervisor.outputs.value

    def _write(self, inputs: Inputs, outputs: Outputs) -> None:
        writer = self._writer
        writer.write(self._count, inputs, outputs, self.supervisor, self._tuning.gains)
        if self._disturbance.on:
            writer.disturbance[:] = self._disturbance.effort
        if self._presses:
            self._force_control.write(*writer.forces)
        if self._feels:
            writer.force_measured[:] = inputs.force_measured
        if inputs.motors_told:
            writer.motors[:] = inputs.motors
            inputs.motors_told = False
        if (heat := self.supervisor.heat) is not None:
            writer.heat[:] = heat.winding, heat.body, heat.limit
        if self._signals:
            writer.input[:], writer.output[:] = inputs.input, inputs.output
            writer.output_command[:] = outputs.signals
            if self.supervisor.outputs is not None:
                path = self.supervisor.outputs.path
                writer.output_events[:], writer.output_followed[:] = path.set_by_events, path.followed
        if self.quality.closes:
            self.quality.write()
