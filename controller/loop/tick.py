"""One tick: estimate → supervise → law → limit. Pure: it knows no clock, no socket and no file.

The very object that the loop process runs is what tests and the offline simulator call.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.estimation.disturbance_observer import DisturbanceObserver
from linkwork.controller.estimation.estimate_quality import Quality
from linkwork.controller.estimation.loop_model import model_of
from linkwork.controller.estimation.sensor_estimate import Estimator
from linkwork.controller.faults import FaultCode
from linkwork.controller.laws import LawReport, Reference, laws_of
from linkwork.controller.loop.motor_lag import Drives
from linkwork.controller.motion.effort_limits import Limited, filter_share, limit_effort
from linkwork.controller.motion.reference import Follow
from linkwork.controller.records import Record, RecordLayout
from linkwork.controller.supervision.brakes import BRAKED, RELEASED
from linkwork.controller.supervision.live_tuning import Tuning
from linkwork.controller.supervision.supervisor import Supervisor
from linkwork.controller.tick_io import Inputs, Outputs
from linkwork.machine import Machine
from linkwork.machine.checks.controllability import WEAK_LEVERAGE
from linkwork.machine.payloads import Loads, own_parameters
from linkwork.multibody.kernels.bundles import BUNDLE, Bundle, reals
from linkwork.multibody.kernels.compiling import INTEGERS, VECTOR, boolean, kernel, part, void
from linkwork.protocol.laws import LawKind

if TYPE_CHECKING:
    from linkwork.controller.supervision.closure_loads import BearingLoads

AHEAD = 1.5
"""Periods from a state to the middle of the hold of the command computed from it, which acts over [t_{k+1},
t_{k+2}).
"""
SAME = 1e-6
"""Of a period: so little does one differ from another by the rounding of times."""
LEAST_PIVOT = 1e-6
"""Pivot ratio of the goal coordinates' Jacobian below which the pose counts as singular."""
_NO_LAW = LawKind.NONE
EFFORT, LEVERAGE = int(Limited.EFFORT), int(Limited.LEVERAGE)
_INTEGERS = struct.Struct("=27q")
_SCALARS = struct.Struct("=11d")


@part
def _append(values: Floats, out: Floats, at: int) -> int:
    """Writes values to out from `at` on; returns where they end."""
    for i in range(len(values)):
        out[at + i] = values[i]
    return at + len(values)


@kernel(void(VECTOR, BUNDLE, *(VECTOR,) * 5, INTEGERS, VECTOR, VECTOR, boolean))
def publish(
    out: Floats, bundle: NDArray[np.int64], q_measured: Floats, v_measured: Floats, effort: Floats,
    device_effort: Floats, temperature: Floats, index: NDArray[np.int64], reference: Floats,
    velocity: Floats, moving: bool,
) -> None:  # fmt: skip
    """Writes the record's channels from `q_measured` to `temperature` in their order, but not `law_effort`.

    bundle: the estimate (q, v, theta). The reference goes to its coordinates; the others are NaN.
    """
    theta = reals(bundle, 2)
    at = _append(q_measured, out, 0)
    at = _append(v_measured, out, at)
    at = _append(reals(bundle, 0), out, at)
    at = _append(reals(bundle, 1), out, at)
    at = _append(theta, out, at)
    for i in range(2 * len(theta)):
        out[at + i] = np.nan
    if moving:
        for i in range(len(index)):
            out[at + index[i]] = reference[i]
            out[at + len(theta) + index[i]] = velocity[i]
    at = _append(effort, out, at + 2 * len(theta) + len(effort))
    at = _append(device_effort, out, at)
    _append(temperature, out, at)


def no_slots(_: int) -> Floats:
    """The goal slots of a tick that is given none."""
    return np.empty(0)


class Tick:
    """The controller of one machine, one call a period.

    `slot` gives a goal slot's words and `sound` the ids of goal orders whose block was verified (both from
    the loop process); `record` is where it publishes, a new one by default. A tick is `step`, then `note`;
    after that its record stands in `record`.
    """

    def __init__(
        self,
        machine: Machine,
        layout: RecordLayout,
        slot: Callable[[int], Floats] = no_slots,
        sound: set[int] | None = None,
        record: Record | None = None,
    ) -> None:
        self._period_s = machine.controller.period_s
        loads = None
        if machine.controller.payloads:
            empty = machine.mechanism
            machine, parameters = own_parameters(machine)
            loads = Loads(empty, parameters)
        self._loads = loads
        self._estimator = Estimator(machine)
        self._model = model_of(machine, self._estimator)
        self._now, self._ahead = self._model.now, self._model.ahead
        self._estimate_read = Bundle(self._now.q, self._now.v, self._now.theta)
        self._motor = np.array([motor.index for motor in machine.motors], np.int64)
        self._filter = filter_share(machine.controller.effort_filter_hz, self._period_s)
        self._report = LawReport()
        self._disturbance = DisturbanceObserver(machine, self._model)
        self._reference = Reference.sized(machine.freedoms)
        self._force = np.zeros(machine.mechanism.nv)
        self._sent, self._last = np.zeros((2, len(machine.motors)))
        """The command of this tick, and the one before, which acts over the period that begins with it."""
        self._acted = self._last
        """What acts over that period; while the state is estimated, what acted until now."""
        self._drives = Drives(machine.motors, self._period_s) if Drives.lag(machine.motors) else None
        self._lag = 0.0
        self._clipped = self._foreseen = False
        self.quality: Quality = self._model.quality
        self._closed, self._presses = self.quality.closes, bool(machine.force_rows)
        self._feels = bool(machine.force_sensors)
        self._bearings = None
        if machine.load_limits:
            from linkwork.controller.supervision.closure_loads import BearingLoads

            self._bearings = BearingLoads(machine)
        self._gauged = self._bearings is not None and self._bearings.gauged
        self.record = Record(layout) if record is None else record
        self._bind(self.record)
        self._limits = self._limits_of(machine)
        self.supervisor = Supervisor(
            machine, self._now, self.quality, slot, set() if sound is None else sound
        )
        self._laws = laws_of(machine, self._report, self.supervisor.preload.now)
        self._kind, self._law_now = LawKind.NONE, self._laws[LawKind.NONE]
        self._force_control = self.supervisor.course.pressing.control
        self._reference.forces = self._force_control.forces
        self._tuning = Tuning(machine, self._laws.values(), loads)
        self.supervisor.tune = self._tuning.ask
        self._count = 0
        self._bad_sensor = -1
        self._since_reading_s = 0.0
        self._adopted = False
        """Whether other constraints hold than those under which the machine was estimated last."""

    def _bind(self, record: Record) -> None:
        self._published = record.floats[record.layout.offsets["q_measured"] :]
        self._r_law_effort = record.view("law_effort")
        self._r_disturbance = record.view("disturbance")
        self._r_forces = [record.view(name) for name in ("force", "force_reference", "force_push")]
        self._r_force_measured = record.view("force_measured")
        self.quality.bind(record)
        self.quality.write()
        words = record.floats.data.cast("B")
        self._integer_words = words[: _INTEGERS.size]
        at = 8 * record.layout.offsets["time_s"]
        self._scalar_words = words[at : at + _SCALARS.size]

    def _limits_of(self, machine: Machine) -> Bundle:
        """What `limit_effort` works on."""
        motors, drives = machine.motors, self._drives
        most = np.array([motor.max_effort for motor in motors])
        step = np.array([motor.max_effort_rate * self._period_s for motor in motors])
        level, lead = (np.zeros(len(motors)), np.ones(len(motors)))
        if drives is not None:
            level, lead = drives.level, drives.lead
        disturbance, wanted = self._disturbance.effort, self._r_law_effort
        return Bundle(self._force, self._motor, most, step, disturbance, level, lead, wanted)

    def step(self, inputs: Inputs, outputs: Outputs, dt: float) -> None:
        """One tick. `dt` is the device time since the last one; `outputs` is filled in place."""
        if self._tuning.changing:
            self._tuning.advance(dt)
            self._kind = _NO_LAW
        self._estimate(inputs, dt)
        if self._adopted:
            self.supervisor.course.hold_here()
            self._adopted = False
        self.supervisor.update(inputs, self._count, self._bad_sensor)
        self._law()
        self._limit(outputs)

    def estimate_afresh(self, near: Tick) -> None:
        """Let the next step estimate without what was foreseen, near a tick's last state, and hold there."""
        self._model.begin_at(near._now.q, near._now.v)
        self._estimator.first, self._adopted, self._foreseen = True, True, False
        self._disturbance.reset()

    def adopt(self, other: Tick) -> None:
        """Takes over the machine, at rest, from the tick of another constraint set.

        The next step estimates afresh, near the state that the other tick estimated last.
        """
        self.estimate_afresh(other)
        self._clipped = False
        self._last[:], self._sent[:] = other._last, other._sent
        if self._drives is not None and other._drives is not None:
            self._drives.adopt(other._drives)
        self._acted = self._last if self._drives is None else self._drives.mean
        self._count, self._bad_sensor = other._count, other._bad_sensor
        self._since_reading_s = other._since_reading_s
        self._kind = _NO_LAW
        self._tuning.adopt(other._tuning)
        self.supervisor.adopt(other.supervisor)

    def note(self, inputs: Inputs, outputs: Outputs) -> None:
        """Ends the tick: writes what was read and decided to `record`. The loop sends its command before."""
        self._write(inputs, outputs)
        self._count += 1

    def _estimate(self, inputs: Inputs, dt: float) -> None:
        estimator, disturbance, model = self._estimator, self._disturbance, self._model
        predicted = self.supervisor.brakes.phase is RELEASED and not self._adopted
        predicted = predicted and (estimator.predicts or disturbance.on or not inputs.fresh)
        if predicted:
            if self._foreseen and abs(dt - self._period_s) < SAME * self._period_s:
                expected = model.come()
            else:
                expected = model.predict(disturbance.with_it(self._acted), dt)
            if disturbance.on:
                disturbance.expect(expected.v)
        self._foreseen = False
        self._since_reading_s += dt
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
        self._last, self._sent = self._sent, self._last
        if self._drives is None:
            self._acted = self._last
        else:
            self._drives.deliver(self._last)
            self._acted = self._drives.mean
        if not predicted:
            disturbance.reset()
        elif disturbance.on and inputs.fresh:
            disturbance.update(self.supervisor.course.law, self._now.v, dt)
        if self._presses:
            self._force_control.sense(inputs, dt)
        if self._gauged and self._bearings is not None:
            self._bearings.read(inputs.force_measured)

    def _law(self) -> None:
        supervisor, model, quality = self.supervisor, self._model, self.quality
        course, phase, bits = supervisor.course, supervisor.brakes.phase, 0
        quality.constraint_force = quality.unknown
        if phase is BRAKED:
            return
        if self._presses:
            self._force_control.felt_by_joints(model.felt)
        if phase is RELEASED:
            acting = self._disturbance.with_it(self._acted)
            self._foreseen = model.foresee(acting, self._period_s, (AHEAD - 1.0) * self._period_s)
            quality.constraint_force = model.multipliers
            if self._bearings is not None and self._bearings.look(model.multipliers):
                bits |= self._overloaded(self._bearings)
            if self._presses:
                self._force_control.react(model.multipliers)
        else:
            self._ahead.q[:], self._ahead.v[:] = self._now.q, self._now.v
            model.evaluate()
        motion, reference, report = course.motion, self._reference, self._report
        if reference.index is not motion.index:
            reference.fit(motion.index)
        motion.at(AHEAD * self._period_s, reference.theta, reference.velocity, reference.acceleration)
        report.leverage = report.share = 1.0
        if course.law is not self._kind:
            self._kind, self._law_now = course.law, self._laws[course.law]
            self._lag = self._law_now.lag(self._period_s)
        ratio = self._law_now(self._ahead, reference, self._force)
        if ratio < LEAST_PIVOT:
            supervisor.raise_fault(FaultCode.SINGULAR_POSE, -1, ratio, LEAST_PIVOT)
        quality.sigma_motors = report.leverage
        if report.share < 1.0:
            bits |= EFFORT
        if report.leverage < WEAK_LEVERAGE:
            bits |= LEVERAGE
        if bits or self._clipped or course.slowed:
            course.limit(bits, slow=bits != 0 or self._clipped)

    def _overloaded(self, bearings: BearingLoads) -> int:
        """A constraint bears more than it may: a fault, or what limits the motion."""
        fault = bearings.fault()
        if fault is not None and self.supervisor.moving:
            self.supervisor.raise_fault(*fault)
        return int(Limited.CONSTRAINT_FORCE)

    def _limit(self, outputs: Outputs) -> None:
        supervisor, brakes = self.supervisor, self.supervisor.brakes
        if brakes.phase is BRAKED:
            self._sent[:] = outputs.effort[:] = self._r_law_effort[:] = 0.0
        else:
            lag = self._lag if brakes.phase is RELEASED else 0.0
            limited = limit_effort(
                self._limits.words, brakes.share, lag, self._filter,
                self._acted, self._last, self._sent, outputs.effort,
            )  # fmt: skip
            if limited < 0:
                supervisor.raise_fault(FaultCode.EFFORT_NOT_FINITE, -1 - limited)
                self._sent[:] = outputs.effort[:] = 0.0
            elif limited:
                supervisor.course.limited |= limited
            self._clipped = limited > 0 and bool(limited & EFFORT)
        outputs.mode = brakes.mode

    def _write(self, inputs: Inputs, outputs: Outputs) -> None:
        s, course = self.supervisor, self.supervisor.course
        motion = course.motion
        path_s = path_rate = path_length = 0.0
        if isinstance(motion, Follow):
            path_s, path_rate, _ = motion.path.here()
            path_length = motion.block.duration_s
        moving = s.moving
        _INTEGERS.pack_into(
            self._integer_words, 0,
            self._count, inputs.device_tick, s.state, s.brakes.phase, outputs.mode,
            course.law if moving else _NO_LAW,
            course.goal_id, course.goal_status, course.goal_code, course.goal_coordinate, course.slots_in_use,
            course.replaced_goal, course.replaced_code,
            s.order_id, s.order_outcome, s.authority, s.authority_end,
            s.fault.code, s.fault.index, s.fault.tick, course.limited,
            inputs.device_status, inputs.device_fault,
            inputs.lost_in_a_row, inputs.lost_total, inputs.connected, inputs.fresh,
        )  # fmt: skip
        _SCALARS.pack_into(
            self._scalar_words, 0,
            inputs.time_s, path_s, path_rate, path_length,
            course.goal_value, course.goal_limit, s.fault.value, s.fault.limit, inputs.loss_ratio,
            *self._tuning.gains,
        )  # fmt: skip
        reference = course.now
        publish(
            self._published, self._estimate_read.words, inputs.q_measured, inputs.v_measured, outputs.effort,
            inputs.device_effort, inputs.temperature, reference.index, reference.theta, reference.velocity,
            moving,
        )  # fmt: skip
        if self._disturbance.on:
            self._r_disturbance[:] = self._disturbance.effort
        if self._presses:
            self._force_control.write(*self._r_forces)
        if self._feels:
            self._r_force_measured[:] = inputs.force_measured
        if self._closed:
            self.quality.write()
