"""A record: every tick of a run, asked in the field's words.

record = rig.run(trajectory)
assert record.tracking_error("x").max < 0.002
record.effort("shoulder").never_exceeds(40.0)
record.no_fault()
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.brief import Brief
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.supervision.state_machine import State
from linkwork.machine import Machine
from linkwork.machine.nearest_name import no_such
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.protocol.codes import ResultCode
from linkwork.rig.collected import Tolerated
from linkwork.rig.detection import FaultDetection
from linkwork.rig.happened import Happened
from linkwork.rig.series import MeasuredValue, Series, SignalRecord


class Names:
    """The names of one machine."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        mechanism = machine.mechanism
        self._coordinates = {name: at for at, name in enumerate(mechanism.coordinate_names)}
        own = len(mechanism.coordinate_names) - len(mechanism.coordinates)
        for at, task in enumerate(mechanism.coordinates, own):
            self._coordinates.setdefault(f"{task.of}.{task.kind}", at)

    def coordinate(self, name: str) -> int:
        """The place of a coordinate: a joint, a task coordinate, or a point's: "tool.x". Raises KeyError."""
        if name not in self._coordinates:
            raise KeyError(no_such("coordinate", name, list(self._coordinates)))
        return self._coordinates[name]

    def joint(self, name: str) -> int:
        """The place of a joint's degree of freedom. Raises KeyError."""
        names = self._machine.mechanism.joint_names
        if name not in names:
            raise KeyError(no_such("joint", name, names))
        return names.index(name)

    def motor(self, name: str) -> tuple[int, str]:
        """The place of a motor, by its joint, and the unit of its effort. Raises KeyError."""
        names = [motor.joint for motor in self._machine.motors]
        if name not in names:
            raise KeyError(no_such("motor", name, names))
        at = names.index(name)
        return at, self._machine.motors[at].effort_unit

    def signal(self, name: str) -> tuple[str, int]:
        """The channel of a signal in the log, and its place there. Raises KeyError."""
        for channel, signals in (("input", self._machine.inputs), ("output", self._machine.outputs)):
            for at, signal in enumerate(signals):
                if signal.name == name:
                    return channel, at
        names = [signal.name for signal in self._machine.signals]
        raise KeyError(no_such("signal", name, names) if names else f"{self._machine.name} has no signals")

    def unit(self, coordinate: int) -> str:
        """rad or m."""
        return self._machine.coordinates[coordinate].unit

    def path_tolerance(self, coordinate: str) -> float:
        """The path tolerance that a goal has by default, rad or m."""
        return self._machine.tolerances[self.coordinate(coordinate)].path


@dataclass(frozen=True, eq=False, repr=False)
class RunQuantities(Happened):
    """The quantities of a run over its ticks: motion, efforts, signals, energy, timing."""

    _names: Names = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_names", Names(self.machine))

    def position(self, coordinate: str) -> Series:
        """A coordinate as the controller knows it: a joint's, a task coordinate's, or "tool.x" of a point."""
        at = self._names.coordinate(coordinate)
        return self._series(f"position({coordinate})", at, self.table["coordinate"][:, at])

    def velocity(self, joint: str) -> Series:
        """A joint's velocity as the controller knows it."""
        at = self._names.joint(joint)
        return self._series(f"velocity({joint})", at, self.table["v"][:, at], "/s")

    def reference(self, coordinate: str) -> Series:
        """The controller's reference, where this coordinate has one."""
        at = self._names.coordinate(coordinate)
        return self._series(f"reference({coordinate})", at, self.table["reference"][:, at])

    def tracking_error(self, coordinate: str) -> Series:
        """Reference minus position, in the ticks in which there is a reference (known to the controller).

        Of a coordinate that the goal does not name, the error that follows from those of the goal's own, to
        the first order.
        """
        error = self._error(coordinate, "tracking_error", self.table["coordinate"])
        self.tracked.setdefault(coordinate, None)
        return replace(error, tracked=(self.tracked, coordinate))

    def true_error(self, coordinate: str) -> Series:
        """Reference minus the true position of a simulated machine, independent of its sensors."""
        return self._error(coordinate, "true_error", self._true("coordinates"))

    @cached_property
    def worst_error(self) -> Series:
        """The largest tracking error of the coordinates that have a reference, over their path tolerances."""
        return self._relative(self.table["coordinate"], "tracking_error over tolerance")

    @cached_property
    def worst_true_error(self) -> Series:
        """See `worst_error`, with the true positions of a simulated machine."""
        return self._relative(self._true("coordinates"), "true_error over tolerance")

    def effort(self, motor: str) -> Series:
        """The effort sent to a motor."""
        at, unit = self._names.motor(motor)
        return Series(f"effort({motor})", unit, self.time_s, self.table["effort"][:, at], self.findings)

    def signal(self, name: str) -> SignalRecord:
        """A signal: an input as reported, an output as it was in force. See `SignalRecord`."""
        channel, at = self._names.signal(name)
        signal = next(each for each in self.machine.signals if each.name == name)
        values = self.table[channel][:, at]
        return SignalRecord(
            signal,
            Series(f"signal({name})", signal.unit, self.time_s, values, self.findings),
            self.device_tick,
        )

    @cached_property
    def closure_residual(self) -> Series:
        """Residual of the closures at the controller's estimate: typical lengths, or rad."""
        values = self.table["closure_residual"]
        return Series("closure_residual", "1", self.time_s, values, self.findings)

    @cached_property
    def true_closure_residual(self) -> Series:
        """Residual of the simulated machine's closures."""
        return Series(
            "true_closure_residual", "1", self.time_s, self._true("closure_residual"), self.findings
        )

    @cached_property
    def energy(self) -> Series:
        """Kinetic and potential energy of the simulated machine, J."""
        return self._energies("energy", self._known_truth.energy.sum(axis=1))

    @cached_property
    def energy_gain(self) -> Series:
        """Energy that the simulated machine has beyond what motors brought since the record began, J."""
        return self._energies("energy_gain", self._known_truth.gain)

    @property
    def lost(self) -> MeasuredValue:
        """States that never came, in this record."""
        lost = int(self.table["lost_total"][-1] - self.table["lost_total"][0]) if len(self) else 0
        return self._measured("lost", max(0, lost), "states")

    @property
    def missed_ticks(self) -> MeasuredValue:
        """Whole periods that were skipped, in real time."""
        return self._measured("missed_ticks", int(self._wall("missed").sum()), "ticks")

    @property
    def period_us(self) -> Series:
        """Wall time from state to state, µs."""
        received = self._wall("received_ns")
        values = np.concatenate([[np.nan], 1e-3 * np.diff(received)])
        return Series("period_us", "µs", self.time_s, values, self.findings)

    @property
    def latency_us(self) -> Series:
        """Wall time from state in hand to command sent, µs."""
        values = (self._wall("sent_ns") - self._wall("received_ns")).astype(np.float64) * 1e-3
        return Series("latency_us", "µs", self.time_s, values, self.findings)

    def _energies(self, name: str, values: Floats) -> Series:
        return Series(name, "J", self._known_truth.time_s, values, self.findings)

    def _error(self, coordinate: str, name: str, actual: Floats) -> Series:
        at = self._names.coordinate(coordinate)
        wraps = np.array(self.machine.mechanism.coordinate_wraps, np.bool_)
        errors = self.table["reference"] - actual
        turns = errors[:, wraps]
        errors[:, wraps] = turns - 2.0 * np.pi * np.round(turns / (2.0 * np.pi))
        values = errors[:, at]
        if not np.isfinite(values).any():
            values = _to_first_order(self.machine, self.table["q"], errors, at)
        return self._series(f"{name}({coordinate})", at, values)

    def _relative(self, actual: Floats, name: str) -> Series:
        worst = np.full(len(self), np.nan)
        for at, coordinate in enumerate(self.machine.mechanism.coordinate_names):
            if np.isfinite(self.table["reference"][:, at]).any():
                error = self._error(coordinate, name, actual).values
                worst = np.fmax(worst, np.abs(error) / self._names.path_tolerance(coordinate))
        return Series(name, "1", self.time_s, worst, self.findings)

    def _series(self, name: str, at: int, values: Floats, per: str = "") -> Series:
        return Series(name, self._names.unit(at) + per, self.time_s, values, self.findings)

    def _measured(self, name: str, value: float, unit: str) -> MeasuredValue:
        return MeasuredValue(float(value), name, unit, self.findings)

    def _wall(self, channel: str) -> NDArray[np.int64]:
        if channel not in (self.table.dtype.names or ()):
            raise AssertionError("lockstep has no clock: run in real time (--pace device)")
        return self.table[channel]


@dataclass(frozen=True, eq=False, repr=False)
class RigRecord(Brief, RunQuantities):
    """Record of a run from its beginning to its end: its quantities, and what a test requires of it."""

    # -- stops -------------------------------------------------------------------------------------------

    @cached_property
    def stopping(self) -> slice:
        """The rows from the first tick of any stop to rest.

        Raises AssertionError when there was no stop, or the record ends before the machine is at rest.
        """
        table = self.table
        stopping = np.isin(table["state"], (State.STOPPING, State.FAULT, State.ESTOP))
        stopping |= np.isin(table["goal_status"], (GoalStatus.STOPPING, GoalStatus.PAUSED))
        where = np.flatnonzero(stopping & self._now)
        if not len(where):
            raise AssertionError("nothing stopped in this record")
        first = int(where[0])
        ends_s = self.motion[0][self.until_rest(float(self.time_s[first])).stop - 1]
        return slice(first, int(np.searchsorted(self.time_s, ends_s - 0.5 * self.period_s)) + 1)

    @property
    def _stop(self) -> slice:
        """The part of `motion` from the first tick of any stop, or a daemon's death, to rest."""
        deaths = [one["time_s"] for one in self.kills if one["of"] != "plant"]
        return self.until_rest(deaths[0] if deaths else float(self.time_s[self.stopping.start]))

    @property
    def stopping_time(self) -> MeasuredValue:
        """From the first tick of the stop, or from the death of a daemon, to rest, s."""
        time_s = self.motion[0][self._stop]
        return self._measured("stopping_time", time_s[-1] - time_s[0], "s")

    def stopping_distance(self, coordinate: str) -> MeasuredValue:
        """Way of a coordinate meanwhile."""
        at = self._names.coordinate(coordinate)
        way = float(np.nansum(np.abs(np.diff(self.motion[2][self._stop, at]))))
        return self._measured(f"stopping_distance({coordinate})", way, self._names.unit(at))

    def stopped_within(self, seconds: float) -> None:
        """Raise AssertionError unless a stop came to rest within so long."""
        took = self.stopping_time
        if not took <= seconds:
            raise AssertionError(f"the stop took {float(took):.4g} s; {seconds:g} s are allowed")

    def stays_on_path(self, tolerance: float = 1.0) -> None:
        """Raise AssertionError where the path error exceeds this number of path tolerances."""
        self.worst_error.never_exceeds(tolerance)

    # -- results and faults ------------------------------------------------------------------------------

    def succeeded(self) -> None:
        """Raise AssertionError unless the goal ended with SUCCESSFUL."""
        self.ended_with("SUCCESSFUL")

    def ended_with(self, name: str) -> None:
        """Raise AssertionError unless the goal ended with this result code."""
        if self.result is None:
            raise AssertionError("this record contains no goal that has ended")
        if self.result["code"] != ResultCode[name]:
            raise AssertionError(
                f"the goal ended with {self.result['name']}: {self.result['text']}; not {name}"
            )

    def detected_or_tolerated(self, *names: str, because: str, seconds: float | None = None) -> None:
        """Require that the last injected fault was detected by one of these codes, or tolerated within
        tolerances.

        seconds: largest delay, None: within the record. because: reason for the toleration; the bound is the
        true error in the goal's coordinates where it is known, else the controller's, at most the path
        tolerance. Raises AssertionError.
        """
        watch = self.fault(*names)
        if watch.came or self.fault_names:
            watch.within(seconds=len(self) * self.period_s if seconds is None else seconds)
        else:
            error = self.worst_error if self.truth is None else self.worst_true_error
            self.tolerates(because, error.max, 1.0)

    def no_fault(self) -> None:
        """Raise AssertionError where a fault was latched."""
        if self.fault_names:
            raise AssertionError(f"there was a fault: {', '.join(self.fault_names)}")

    def fault(self, *names: str) -> FaultDetection:
        """Return the effect of the newest injected fault: `record.fault("SENSOR_DISAGREES").within(ticks=5)`.

        names: codes of which one is expected.
        """
        return FaultDetection(self, names)

    def tolerates(self, because: str, bound: MeasuredValue, limit: float) -> None:
        """Note that the injected fault is tolerated by design, because `bound` is at most `limit`.

        Raises AssertionError for a fault, a goal that did not succeed, or a larger number.
        """
        self.no_fault()
        if self.result is not None:
            self.succeeded()
        judged = bound.judged("<=", limit)
        injected = dict(self.injected[-1]) if self.injected else {}
        if self.findings is not None:
            self.findings.tolerated.append(Tolerated(injected, because, judged))
        assert judged.holds, f"{bound!r}, at most {limit:g} is allowed"

    def noted(self, name: str, value: float, unit: str) -> MeasuredValue:
        """Return a number of a test's own, which the report shows with the limit that it is compared with.

        name, value, unit: as in the report.
        """
        return self._measured(name, value, unit).note()


def _to_first_order(machine: Machine, q: Floats, errors: Floats, wanted: int) -> Floats:
    """The error of coordinate `wanted` (n,) that belongs to the known ones of `errors` (n, nc), NaN else.

    With J the Jacobian of the known coordinates and A that of the constraints, J δ = e and A δ = 0 give the
    displacement δ of the joints, and J_wanted δ the error; least squares where rows depend on each other.
    """
    work = machine.workspace()
    found = np.full(len(q), np.nan)
    for row in np.flatnonzero(np.isfinite(errors).any(axis=1)):
        work.q[:] = q[row]
        kinematics(*work.arguments)
        coordinates(*work.arguments)
        known = np.isfinite(errors[row])
        rows, wished = work.J[known], errors[row, known]
        if machine.is_constrained:
            constraint_rows(*work.arguments)
            rows = np.vstack([rows, work.A])
            wished = np.concatenate([wished, np.zeros(len(work.A))])
        found[row] = work.J[wanted] @ np.linalg.lstsq(rows, wished, rcond=1e-9)[0]
    return found
