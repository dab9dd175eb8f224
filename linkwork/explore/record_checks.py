"""Checks of the loop's records: states, faults, brakes, and limits of effort, position and velocity.

The numbers and the table of transitions are those of `docs/states.md`, not imported from the controller: a
defect there must not change what is checked.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.estimation.sensor_estimate import Estimator
from linkwork.controller.exchange.faults import FaultCode
from linkwork.controller.exchange.records import layout_for
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.supervision.brakes import Phase
from linkwork.controller.supervision.state_machine import State
from linkwork.machine import Machine
from linkwork.protocol.codes import DeviceStatus, Mode
from linkwork.protocol.laws import FREE_LAWS

MOST_RESIDUAL: Final = 1e-3
"""Largest residual of the closures of an enabled machine, in typical lengths or rad."""
REFERENCE_SLACK: Final = 1.02
"""Largest share of a velocity limit at which a reference may move."""
ACCELERATION_SLACK: Final = 1.5
"""Largest share of an acceleration limit at which a reference may change its velocity, stops included."""
OVERSPEED: Final = 1.25
LIMIT_SLACK: Final = 1e-3
"""Share of a velocity limit, and distance beyond a position limit (rad or m), at which a fault is raised."""
_TEMPERATURES: Final = ("winding_temperature", "body_temperature", "effort_limit")
_ROUND_OFF: Final = 1e-9
ENABLED: Final = np.array([state in (State.ACTIVE, State.STOPPING) for state in State])
"""By state."""
RATE_SLACK: Final = 0.01
"""Largest error of the rate of a goal on its path."""
GAINS: Final = {"bandwidth": "bandwidth_rad_s", "damping_ratio": "damping_ratio"}
"""Keys of gains, by their channels."""
MOST_GAIN_RATE: Final = 15.0
"""Largest share of the range of a gain by which it changes in a second."""
RAMP_S: Final = 0.05
"""Time in which the holding effort rises and falls under the brakes."""
_BRAKE_PHASES: Final = {
    Phase.ENGAGING: Phase.RELEASING,
    Phase.RELEASING: Phase.RELEASED,
    Phase.SETTING: Phase.UNLOADING,
    Phase.UNLOADING: Phase.BRAKED,
}
"""Phases of the brakes that last a given time, and the next ones."""
_BRAKES_BEGIN: Final = {
    (Phase.BRAKED, Phase.ENGAGING), (Phase.RELEASED, Phase.SETTING), (Phase.RELEASING, Phase.SETTING),
}  # fmt: skip
STEADY_TICKS: Final = 32
"""Ticks of a steady rate after which a goal is not changing its speed."""
TRANSITIONS: Final = {
    "unconfigured": "inactive fault estop",
    "inactive": "active fault estop",
    "active": "stopping fault estop",
    "stopping": "active inactive fault estop",
    "fault": "inactive estop",
    "estop": "inactive",
}
"""States by the state before."""
_CAUSES: Final = {
    (State.INACTIVE, State.ACTIVE): "enable",
    (State.FAULT, State.INACTIVE): "recover",
    (State.ESTOP, State.INACTIVE): "reset",
}


class RecordLimits:
    """Limits that the records of a machine keep; arrays by motor, joint or coordinate."""

    def __init__(self, machine: Machine) -> None:
        joints, motors, coordinates = machine.joints, machine.motors, machine.coordinates
        self.loss, self.loss_ratio = machine.controller.loss_limit, machine.controller.loss_ratio_per_s
        self.effort = np.array([motor.max_effort for motor in motors]) * (1.0 + _ROUND_OFF)
        self.heated = [at for at, motor in enumerate(motors) if motor.thermal_time_s is not None]
        rates = np.array([motor.max_effort_rate for motor in motors])
        self.effort_step = rates * machine.period_s * (1.0 + _ROUND_OFF) + _ROUND_OFF
        self.faulty_speed = OVERSPEED * np.array([joint.velocity for joint in joints])
        for motor in motors:
            self.faulty_speed[motor.index] = min(self.faulty_speed[motor.index], OVERSPEED * motor.max_speed)
        self.speed = self.faulty_speed.copy()
        self.range = np.array([joint.position for joint in joints])
        self.slack = np.full(len(joints), LIMIT_SLACK + _ROUND_OFF)
        self.speed_uncertainty = Estimator(machine).speed_uncertainty
        for sensor, speed in zip(machine.sensors, self.speed_uncertainty, strict=True):
            self.slack[sensor.index] += sensor.uncertainty
            self.speed[sensor.index] += speed
        self.rate = np.array([each.velocity for each in coordinates]) * REFERENCE_SLACK + _ROUND_OFF
        self.acceleration = ACCELERATION_SLACK * np.array([each.acceleration for each in coordinates])
        self.angles = np.array([each.is_angle for each in coordinates])
        self.places = np.array([each.position for each in coordinates])
        ranges = (machine.controller.bounds_of(key) for key in GAINS.values())
        self.gain_rates = [MOST_GAIN_RATE * (high - low) for low, high in ranges]
        self.period_s, self.dof = machine.period_s, machine.dof
        self.plain = machine.mechanism.nq == machine.mechanism.nv and not machine.is_constrained
        release_s = max((motor.brake_release_s for motor in motors), default=0.0)
        ramps = (Phase.ENGAGING, Phase.UNLOADING)
        self.phase_s = {phase: RAMP_S if phase in ramps else release_s for phase in _BRAKE_PHASES}


class RecordChecks:
    """Checks batches of records; `fail` is called with the rule and what was seen.

    asked: requests of each method that may still be the cause of a transition; seen: transitions and faults.
    """

    def __init__(self, machine: Machine, fail: Callable[[str, str], None]) -> None:
        self._dtype = layout_for(machine).dtype
        self._fail, self.limits = fail, RecordLimits(machine)
        self.asked: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()
        self.now_ns = 0
        self._was_free = False
        self.unsettled = False
        """Whether the speed of a goal may change at a tick that is not known."""
        self.changing = False
        """Whether a request to change it has no answer yet."""
        self._happened: list[tuple[str, int, int]] = []
        self.asked_until_ns: dict[str, int] = {}
        """Latest instant at which a request of a method may still cause a transition."""
        self.due: dict[int, int] = {}
        """Ticks at which orders are to take effect, by number."""
        self._last: NDArray[np.float64] | None = None
        self._outside = self.limits.range.copy()
        self._phase_since_s: float | None = None
        self.speeds: dict[int, float | None] = {}
        """Requested fraction of the planned speed, by goal; None where unknown."""

    def begin(self) -> None:
        """The records of another loop come next."""
        self._last = self._phase_since_s = None
        self.due.clear()
        self.speeds.clear()

    def take_happened(self) -> list[tuple[str, int, int]]:
        """Return transitions and faults since the last call: ticks, and states or faults."""
        happened, self._happened = sorted(self._happened, key=lambda one: (one[1], one[0] == "fault")), []
        return happened

    def check(self, words: NDArray[np.float64]) -> NDArray[Any]:
        """Check a batch of records (n, words), which follow those of the last call; return both."""
        if self._last is None and (state := int(words[:1].view(self._dtype)["state"][0, 0])):
            first = int(words[:1].view(self._dtype)["tick"][0, 0])
            self._happened.append(("state", first, state))
        both = words if self._last is None else np.concatenate([self._last, words])
        self._last = words[-1:]
        table, whole = (rows.view(self._dtype)[:, 0] for rows in (words, both))
        self._check_transitions(whole)
        self._check_faults(whole)
        enabled = ENABLED[table["state"]]
        self._first("log", whole[1:], np.diff(whole["tick"]) != 1, "tick")
        self._check_brakes(whole, table, enabled)
        self._check_speed(table)
        self._first("loss", table, enabled & (table["lost_in_a_row"] >= self.limits.loss), "lost_in_a_row")
        for name in ("effort", "q", "v", "device_effort", *_TEMPERATURES):
            self._first("finite", table, ~np.isfinite(table[name]).all(axis=1), name)
        self._first("finite", table, np.isinf(table["temperature"]).any(axis=1), "temperature")
        self._check_causes(table, enabled)
        self._check_references(whole)
        self._check_orders(table)
        passed_s = np.maximum(np.diff(whole["time_s"]), self.limits.period_s)
        for name, most in zip(GAINS, self.limits.gain_rates, strict=True):
            fast = np.abs(np.diff(whole[name])) > most * passed_s + _ROUND_OFF
            self._first("effort", whole[1:], fast, name)
        self._first("effort", table, (np.abs(table["effort"]) > self.limits.effort).any(axis=1), "effort")
        hot = np.abs(table["effort"][:, self.limits.heated]) > table["effort_limit"] * (1.0 + _ROUND_OFF)
        self._first("effort", table, hot.any(axis=1), "effort_limit")
        released = whole["phase"] == Phase.RELEASED
        steps = (np.abs(np.diff(whole["effort"], axis=0)) > self.limits.effort_step).any(axis=1)
        self._first("effort", whole[:-1], steps & released[1:] & released[:-1], "effort")
        measured = enabled & (table["fresh"] != 0)
        fast = (np.abs(table["v"]) > self.limits.speed).any(axis=1)
        self._first("velocity", table, fast & measured, "v")
        if self.limits.plain:
            self._check_positions(table, enabled)
        loose = enabled & (table["closure_residual"] > MOST_RESIDUAL)
        self._first("closure", table, loose, "closure_residual")
        return whole

    def _first(self, rule: str, table: NDArray[Any], wrong: NDArray[np.bool_], name: str) -> None:
        """Report the first of the rows that break a rule, with the channel that shows it."""
        for row in np.flatnonzero(wrong)[:1]:
            record = table[row]
            where = f"{State(int(record['state'])).name.lower()}, tick {int(record['tick'])}"
            self._fail(rule, f"{name} {record[name]} ({where})")

    def _check_transitions(self, table: NDArray[Any]) -> None:
        states = table["state"]
        for row in np.flatnonzero(np.diff(states)):
            before, after = State(int(states[row])), State(int(states[row + 1]))
            name = f"{before.name.lower()} → {after.name.lower()}"
            text = f"{name} at tick {int(table['tick'][row + 1])}"
            self.seen[name] += 1
            self._happened.append(("state", int(table["tick"][row + 1]), int(after)))
            if after.name.lower() not in TRANSITIONS[before.name.lower()].split():
                self._fail("transition", text)
            cause = _CAUSES.get((before, after))
            if cause is not None:
                self.asked[cause] -= 1
                if self.asked[cause] < 0 or self.now_ns > self.asked_until_ns.get(cause, 0):
                    self._fail("asked", f"{text} without a request `{cause}`")

    def _check_brakes(self, whole: NDArray[Any], table: NDArray[Any], enabled: NDArray[np.bool_]) -> None:
        """Check what the brakes do in each phase, and that the phases last as long as they should."""
        phase = table["phase"]
        open_now = (phase == Phase.RELEASED) | (phase == Phase.RELEASING)
        self._first("braked", table, ~enabled & (table["mode"] != Mode.BRAKE), "mode")
        self._first("braked", table, open_now == (table["mode"] == Mode.BRAKE), "mode")
        self._first("braked", table, open_now & ~enabled, "phase")
        loaded = (np.abs(table["effort"]) > 0.0).any(axis=1)
        self._first("braked", table, (phase == Phase.BRAKED) & loaded, "effort")
        for row in np.flatnonzero(np.diff(whole["phase"])):
            before, after = Phase(int(whole["phase"][row])), Phase(int(whole["phase"][row + 1]))
            last_s, now_s = whole["time_s"][row : row + 2].tolist()
            since_s, lasts_s = self._phase_since_s, self.limits.phase_s.get(before)
            braked = int(whole["state"][row + 1]) in (State.FAULT, State.ESTOP)
            if braked:
                self._phase_since_s = None
            elif lasts_s is not None and since_s is not None and after is _BRAKE_PHASES[before]:
                self._phase_since_s = since_s + lasts_s
                if not last_s - since_s < lasts_s <= now_s - since_s:  # to the tick, so to the bit
                    text = (
                        f"{before.name.lower()} ended {now_s - since_s:.6f} s after it began, not {lasts_s:g}"
                    )
                    self._fail("braked", f"{text} (tick {int(whole['tick'][row + 1])})")
            elif (before, after) in _BRAKES_BEGIN:
                self._phase_since_s = now_s
            else:
                self._phase_since_s = None

    def _check_speed(self, table: NDArray[Any]) -> None:
        """Check the rate of a goal that nothing limits, where it is steady: it is the speed asked for."""
        rate, goals, status = table["path_rate"], table["goal_id"], table["goal_status"]
        moves = (status == GoalStatus.RUNNING) | (status == GoalStatus.PAUSED)
        if not moves.any():
            return
        breaks = ~moves | (table["limited"] != 0) | (table["stream_state"] != 0)
        for channel in (rate, goals, status):
            breaks[1:] |= channel[1:] != channel[:-1]
        rows = np.arange(len(table))
        steady = rows - np.maximum.accumulate(np.where(breaks, rows, 0)) >= STEADY_TICKS
        known = {goal: self.speeds.get(goal, 1.0) for goal in set(goals.tolist())}
        if self.unsettled or self.changing:
            known = {}
        asked = np.array([np.nan if (speed := known.get(goal)) is None else speed for goal in goals.tolist()])
        asked[status == GoalStatus.PAUSED] = 0.0
        self._first("speed", table, steady & (np.abs(rate - asked) > _ROUND_OFF), "path_rate")

    def _check_causes(self, table: NDArray[Any], enabled: NDArray[np.bool_]) -> None:
        """Check that what must brake the machine has done so in the tick that has found it."""
        fresh = enabled & (table["fresh"] != 0)
        for name in ("q_measured", "v_measured"):
            self._first("cause", table, fresh & ~np.isfinite(table[name]).all(axis=1), name)
        self._first("cause", table, fresh & (table["device_fault"] != 0), "device_fault")
        stopped = (table["device_status"] & int(DeviceStatus.STO)) != 0
        self._first("cause", table, fresh & stopped, "device_status")
        self._first("cause", table, enabled & (table["connected"] == 0), "connected")

    def _check_references(self, whole: NDArray[Any]) -> None:
        """Check that no reference is faster than its limit, or jumps, also where motions begin and end.

        The coordinates of a goal that gives some of them up contradict each other: the reference that is held
        after it is another one. An order may let the machine hold where it is. Under laws without a reference
        the records show the last one, also in the tick that ends it.
        """
        enabled = ENABLED[whole["state"]]
        reference = whole["reference"]
        fast = (np.abs(whole["reference_velocity"]) > self.limits.rate).any(axis=1)
        self._first("reference", whole, enabled & fast, "reference_velocity")
        steps = np.abs(np.diff(reference, axis=0))
        steps[:, self.limits.angles] = np.minimum(steps, np.abs(2.0 * np.pi - steps))[:, self.limits.angles]
        passed_s = np.diff(whole["time_s"])  # more than a period where states come late
        allowed = self.limits.rate * np.maximum(passed_s, self.limits.period_s)[:, None]
        far = (steps > allowed + _ROUND_OFF).any(axis=1)
        held = np.isfinite(reference)
        contradicts = held.sum(axis=1) > self.limits.dof
        others = (held[1:] != held[:-1]).any(axis=1) & (contradicts[1:] | contradicts[:-1])
        here = np.nan_to_num(np.abs(reference - whole["coordinate"])).max(axis=1) <= _ROUND_OFF
        others |= here[1:] & (whole["order_outcome"][1:] > 0)
        free = np.isin(whole["law"], FREE_LAWS)
        others |= free[:-1] | np.concatenate([[self._was_free], free[:-2]])[: len(others)]
        self._was_free = bool(free[-2:][0])
        self._first("reference", whole[1:], far & ~others & enabled[1:] & enabled[:-1], "reference")
        even = np.abs(passed_s - self.limits.period_s) < 0.5 * self.limits.period_s
        changes = np.abs(np.diff(whole["reference_velocity"], axis=0))
        hard = (changes > self.limits.acceleration * self.limits.period_s + _ROUND_OFF).any(axis=1)
        unlike = (held[1:] != held[:-1]).any(axis=1)
        follows = even & ~unlike & ~others & enabled[1:] & enabled[:-1]
        self._first("reference", whole[1:], follows & hard, "reference_velocity")
        self._check_integral(whole, follows)
        low, high = self.limits.places.T
        beyond = np.fmax(np.fmax(reference - high, low - reference), 0.0)
        went = (np.diff(beyond, axis=0) > _ROUND_OFF).any(axis=1)
        self._first("position", whole[1:], follows & went, "reference")

    def _check_integral(self, whole: NDArray[Any], follows: NDArray[np.bool_]) -> None:
        """Check that references move at their velocities, and goals on their paths at their rates."""
        period_s = self.limits.period_s
        velocity, rate, goal = whole["reference_velocity"], whole["path_rate"], whole["goal_id"]
        steps = np.diff(whole["reference"], axis=0)
        steps[:, self.limits.angles] -= 2.0 * np.pi * np.round(steps / (2.0 * np.pi))[:, self.limits.angles]
        slack = 0.5 * period_s * (np.abs(np.diff(velocity, axis=0)) + period_s * self.limits.acceleration)
        off = np.abs(steps - 0.5 * period_s * (velocity[1:] + velocity[:-1])) > slack + _ROUND_OFF
        self._first("reference", whole[1:], follows & off.any(axis=1), "reference_velocity")
        length, runs = whole["path_length_s"], whole["goal_status"] == GoalStatus.RUNNING
        along = follows & runs[1:] & runs[:-1] & (goal[1:] == goal[:-1]) & (length[1:] == length[:-1])
        slack = period_s * (0.5 * np.abs(np.diff(rate)) + RATE_SLACK)
        off = np.abs(np.diff(whole["path_s"]) - 0.5 * period_s * (rate[1:] + rate[:-1])) > slack
        self._first("speed", whole[1:], along & (length[1:] > 0.0) & off, "path_rate")

    def _check_orders(self, table: NDArray[Any]) -> None:
        """Check that orders for a tick have taken effect in it."""
        if not self.due:
            return
        carried_out = table["order_outcome"] >= 0
        for row in np.flatnonzero((table["order_id"] != 0) & carried_out):
            due, tick = self.due.pop(int(table["order_id"][row]), None), int(table["tick"][row])
            if due is not None and due != tick:
                self._fail("timed", f"an order for tick {due} took effect in tick {tick}")

    def _check_faults(self, table: NDArray[Any]) -> None:
        states, faults, ticks = table["state"], table["fault"], table["fault_tick"]
        latched = (states[:-1] == State.FAULT) & (states[1:] == State.FAULT)
        changed = (faults[1:] != faults[:-1]) | (ticks[1:] != ticks[:-1])
        self._first("latched", table[1:], latched & changed, "fault")
        for row in np.flatnonzero((np.diff(faults) != 0) & (faults[1:] > 0)):
            self.seen[f"fault {int(faults[row + 1])}"] += 1
            record = table[row + 1]
            self._happened.append(("fault", int(record["tick"]), int(record["fault"])))
            if int(record["fault_tick"]) == int(record["tick"]) and not self._has_cause(record):
                name = FaultCode(int(record["fault"])).name
                self._fail("cause", f"{name} at tick {int(record['tick'])} without its cause")

    def _has_cause(self, record: np.void) -> bool:
        """Whether the record of a fault shows what it is raised for."""
        status, device_fault = int(record["device_status"]), int(record["device_fault"])
        match FaultCode(int(record["fault"])):
            case FaultCode.LINK_LOST:
                return not record["connected"] or int(record["lost_in_a_row"]) == self.limits.loss
            case FaultCode.LINK_LOSS_RATIO:
                return bool(record["loss_ratio"] > self.limits.loss_ratio)
            case FaultCode.DEVICE_FAULT | FaultCode.DEVICE_WATCHDOG:
                return device_fault != 0 and bool(status & DeviceStatus.FAULT)
            case FaultCode.DEVICE_STO:
                return bool(status & DeviceStatus.STO)
            case FaultCode.NOT_HOMED:
                return not status & DeviceStatus.HOMED
            case FaultCode.MEASUREMENT_NOT_FINITE:
                return not all(np.isfinite(record[name]).all() for name in ("q_measured", "v_measured"))
            case FaultCode.POSITION_LIMIT:
                q, at = record["q"], int(record["fault_index"])
                low, high = self.limits.range[at]
                return not self.limits.plain or bool(not low <= q[at] <= high)
            case FaultCode.VELOCITY_LIMIT:
                at = int(record["fault_index"])
                return bool(abs(record["v"][at]) > self.limits.faulty_speed[at])
            case FaultCode.FOLLOWING_ERROR | FaultCode.CLOSURE_RESIDUAL | FaultCode.MOTOR_TEMPERATURE:
                return bool(record["fault_value"] >= record["fault_limit"])
        return True

    def _check_positions(self, table: NDArray[Any], enabled: NDArray[np.bool_]) -> None:
        q, resting = table["q"], np.flatnonzero(~enabled)
        if len(resting):  # where it is enabled from, perhaps outside of its limits
            last = q[resting[-1]]
            self._outside[:, 0] = np.minimum(self.limits.range[:, 0], last)
            self._outside[:, 1] = np.maximum(self.limits.range[:, 1], last)
        begins = resting[-1] + 1 if len(resting) else 0
        out = (q < self._outside[:, 0] - self.limits.slack) | (q > self._outside[:, 1] + self.limits.slack)
        wrong = out.any(axis=1) & enabled & (table["fresh"] != 0)
        wrong[:begins] = False
        self._first("position", table, wrong, "q")
