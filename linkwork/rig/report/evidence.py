"""Evidence from the logs of a machine's tests, beside the tests' own measurements.

It has tracking of goals, energy, closures, timing, and the time around injected faults.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.supervision.state_machine import State
from linkwork.machine import Machine
from linkwork.multibody.functions import friction, kinetic_energy, potential_energy
from linkwork.recordings.log_file import Ticks
from linkwork.recordings.tracking import rms
from linkwork.rig.collected import KILL, FaultSeen, Span, TestFindings
from linkwork.rig.happened import Happened
from linkwork.rig.report.logs import Logs, has_clock, latencies_us, overruns, periods_us, phases_us
from linkwork.rig.report.signals_over_time import SignalRun, signal_runs

BEFORE_S: Final = 0.1
AFTER_REST_S: Final = 0.05
LEAST_S: Final = 0.15
MOST_S: Final = 1.5
"""Of a window: before the injection, after the machine came to rest, and how long after the injection."""


@dataclass(frozen=True, eq=False)
class FaultWindow:
    """The ticks around one injected fault. Times (s) count from the injection, NaN for what did not happen.

    injected: the injected entry as text. joint: the one concerned, or the fastest one, with its velocity (n,)
    in `unit`: estimated from received states, predicted for lost ones. found: the code that was latched; ""
    where the fault is tolerated by design.
    """

    injected: Mapping[str, Any]
    requirement: str
    joint: str
    unit: str
    time_s: Floats
    velocity: Floats
    predicted: Floats
    found: str
    detected_s: float
    at_rest_s: float


def fault_windows(machine: Machine, tests: Sequence[TestFindings], logs: Logs) -> list[FaultWindow]:
    """Return a window for each fault that a test judges, where its log exists."""
    return [
        window
        for test in tests
        for injected, seen in _judged(test)
        if (window := _window(machine, test, injected, seen, logs)) is not None
    ]


def _judged(test: TestFindings) -> Iterator[tuple[Mapping[str, Any], FaultSeen | None]]:
    for fault in test.faults:
        yield fault.injected, fault
    for each in test.tolerated:
        yield each.injected, None


def _window(
    machine: Machine, test: TestFindings, injected: Mapping[str, Any], seen: FaultSeen | None, logs: Logs
) -> FaultWindow | None:
    begin = injected.get("from_tick")
    if begin is None or (injected.get("kind") == KILL and injected.get("of") != "plant"):
        return None
    for span in test.spans:
        ticks = logs.span(span)
        if ticks is None:
            continue
        happened = Happened(machine, ticks)
        rows = np.flatnonzero(happened.device_tick == begin)
        if len(rows):
            return _cut(happened, test, injected, seen, int(rows[0]))
    return None


def _cut(
    happened: Happened, test: TestFindings, injected: Mapping[str, Any], seen: FaultSeen | None, row: int
) -> FaultWindow:
    machine, time_s = happened.machine, happened.time_s - happened.time_s[row]
    detected_s = at_rest_s = np.nan
    if seen is not None and seen.delay_ticks is not None:
        detected_s = seen.delay_ticks * happened.period_s
        if seen.stopping_s is not None:
            at_rest_s = detected_s + seen.stopping_s
    ends_s = np.nanmax([LEAST_S, detected_s + AFTER_REST_S, at_rest_s + AFTER_REST_S])
    rows = np.flatnonzero((time_s >= -BEFORE_S) & (time_s <= min(ends_s, MOST_S)))
    table = happened.table[rows]
    velocity, fresh = table["v"], table["fresh"] == 1
    names = [joint.name for joint in machine.joints]
    largest = np.array([joint.velocity for joint in machine.joints])
    shares = np.abs(velocity[:, : len(names)]).max(axis=0) / np.where(np.isfinite(largest), largest, 1.0)
    joint = injected.get("of") if injected.get("of") in names else names[int(np.argmax(shares))]
    at = names.index(str(joint))
    guessed = ~fresh & (table["connected"] == 1) & (table["state"] != State.FAULT)
    return FaultWindow(
        injected,
        test.requirement,
        str(joint),
        f"{machine.joints[at].unit}/s",
        time_s[rows],
        np.where(fresh, velocity[:, at], np.nan),
        np.where(guessed, velocity[:, at], np.nan),
        "" if seen is None else seen.found or "nothing",
        float(detected_s),
        float(at_rest_s),
    )


_ERROR = re.compile(r"tracking_error\((?P<name>[^)]+)\)\.max")
_WORST = "tracking_error over tolerance.max"
"""Of all coordinates that have a reference, each in its own path tolerances."""


@dataclass(frozen=True, eq=False)
class FollowedCoordinate:
    """One coordinate over n ticks: reference and actual in rad or m; limit of its error, or none."""

    name: str
    unit: str
    reference: Floats
    actual: Floats
    limit: float | None

    @property
    def error(self) -> Floats:
        """Reference less actual (n,), NaN without a reference."""
        return self.reference - self.actual

    @property
    def worst(self) -> float:
        """Largest magnitude of the error."""
        return float(np.nanmax(np.abs(self.error)))

    @property
    def rms(self) -> float:
        """Root of the error's mean square."""
        return rms(self.error[np.isfinite(self.error)])


@dataclass(frozen=True, eq=False)
class Followed:
    """One test's motion. effort: (n, motors) in parts of each motor's largest."""

    title: str
    node: str
    ticks: Ticks
    time_s: Floats
    coordinates: tuple[FollowedCoordinate, ...]
    effort: Floats


def tracked_by(machine: Machine, test: TestFindings) -> dict[str, float | None]:
    """Coordinates whose error a test asked for, with its limit."""
    found: dict[str, float | None] = {}
    names = machine.mechanism.coordinate_names
    for span in test.spans:
        found |= {name: limit for name, limit in span.tracked.items() if name in names}
    for number in test.numbers:
        match = _ERROR.fullmatch(number.name)
        if match is not None and match["name"] in names:
            found[match["name"]] = number.limit
        if number.name == _WORST:
            for name, tolerance in zip(names, machine.tolerances, strict=True):
                if found.get(name, None) is None:
                    found[name] = number.limit * tolerance.path
    return found


def followed(machine: Machine, test: TestFindings, span: Span, ticks: Ticks) -> Followed | None:
    """Return the reference of a test within these ticks; None without one that the test requested."""
    names = machine.mechanism.coordinate_names
    limits = tracked_by(machine, test)
    if not limits:
        return None
    table = ticks.table
    at = [names.index(name) for name in limits]
    given = np.isfinite(table["reference"][:, at])
    if not given.any():
        return None
    angles = machine.mechanism.coordinate_is_angle
    coordinates = tuple(
        FollowedCoordinate(
            name,
            "rad" if angles[column] else "m",
            table["reference"][:, column],
            table["coordinate"][:, column],
            limits[name],
        )
        for name, column, known in zip(limits, at, given.T, strict=True)
        if known.any()
    )
    largest = np.array([motor.max_effort for motor in machine.motors])
    time_s = table["time_s"] - table["time_s"][0]
    return Followed(test.title_of(span), test.node, ticks, time_s, coordinates, table["effort"] / largest)


SAMPLES = 400


@dataclass(frozen=True, eq=False)
class Energy:
    """Joules at time_s (n,), all zero at the first: stored, work of the motors, lost to friction.

    By the controller's own estimate and model: dE = W − L + R, with stored energy E = T + V, the motors'
    work W, the work L lost to the model's friction, and the remainder R: brakes, contacts, closures that a
    tick leaves open, differences between plant and model.
    """

    time_s: Floats
    stored: Floats
    work: Floats
    lost: Floats

    @property
    def left_over(self) -> Floats:
        """R, what neither explains (n,)."""
        return self.stored - self.work + self.lost

    @property
    def exchanged(self) -> float:
        """Total absolute work."""
        return float(np.abs(np.diff(self.work)).sum())


def balance(machine: Machine, ticks: Ticks) -> Energy:
    """The balance over these ticks, at no more than SAMPLES of them."""
    table, mechanism = ticks.table, machine.mechanism
    rows = np.unique(np.linspace(0, len(table) - 1, min(SAMPLES, len(table))).astype(np.intp))
    q, v = table["q"], table["v"]
    time_s = table["time_s"] - table["time_s"][0]
    stored = [kinetic_energy(mechanism, q[row], v[row]) + potential_energy(mechanism, q[row]) for row in rows]
    power = [-float(friction(mechanism, q[row], v[row]) @ v[row]) for row in rows]
    return Energy(
        time_s[rows],
        np.array(stored) - stored[0],
        _work(machine, ticks)[rows],
        _summed(np.array(power), time_s[rows]),
    )


def _work(machine: Machine, ticks: Ticks) -> Floats:
    """Cumulative work of the motors: a state has the effort that has acted since the state before it."""
    table = ticks.table
    at = [machine.mechanism.position_names.index(motor.joint) for motor in machine.motors]
    travel = np.diff(table["q"][:, at], axis=0)
    steps = np.sum(table["device_effort"][1:] * travel, axis=1)
    return np.concatenate([[0.0], np.cumsum(steps)])


def _summed(rate: Floats, time_s: Floats) -> Floats:
    parts = 0.5 * (rate[1:] + rate[:-1]) * np.diff(time_s)
    return np.concatenate([[0.0], np.cumsum(parts)])


@dataclass(frozen=True, eq=False)
class TimingEvidence:
    """Real time: microseconds between states, and from a state to its command; ticks without a state.

    phases_us: microseconds per phase of the loop's period, empty for logs of earlier versions. overruns: how
    many ticks overran their period, by cause, the most frequent first.
    """

    period_us: Floats
    latency_us: Floats
    ticks: int
    lost: int
    missed: int
    phases_us: Mapping[str, Floats] = field(default_factory=dict)
    overruns: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Closures:
    """Residual of the closures over all ticks of all runs, one run after another, also between the tests."""

    time_s: Floats
    residual: Floats
    limit: float
    recorded: Floats
    """Those of the tests' records: the same in two runs of the tests."""
    moved: Floats
    """Evidence from tests without injected faults."""


@dataclass
class Evidence:
    """Evidence of one machine: `energies` has one entry for each of `motions`; timing is None in lockstep."""

    motions: list[Followed] = field(default_factory=list)
    energies: list[Energy] = field(default_factory=list)
    fault_windows: list[FaultWindow] = field(default_factory=list)
    closures: Closures | None = None
    timing: TimingEvidence | None = None
    signals: list[SignalRun] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """The numbers as plain data, independent of the wall clock."""
        figures: dict[str, Any] = {
            "motions": [
                {
                    "test": motion.node,
                    "ticks": len(motion.time_s),
                    "errors": {
                        each.name: {
                            "max": each.worst,
                            "rms": each.rms,
                            "unit": each.unit,
                            "limit": each.limit,
                        }
                        for each in motion.coordinates
                    },
                    "peak_effort_share": float(np.abs(motion.effort).max()),
                    "work_exchanged_J": energy.exchanged,
                    "friction_J": float(energy.lost[-1]),
                    "energy_left_over_J": float(np.abs(energy.left_over).max()),
                }
                for motion, energy in zip(self.motions, self.energies, strict=True)
            ]
        }
        if self.closures is not None:
            figures["closure_residual"] = {
                "max_without_injection": float(self.closures.moved.max(initial=0.0)),
                "max": float(np.nanmax(self.closures.recorded, initial=0.0)),
                "limit": self.closures.limit,
            }
        if self.signals:
            figures["signals"] = [run.figures() for run in self.signals]
        return figures


def evidence(machine: Machine, tests: Sequence[TestFindings], logs: Logs) -> Evidence:
    """Read the logs that the tests name. Missing ones are left out."""
    found = Evidence(
        fault_windows=fault_windows(machine, tests, logs), signals=signal_runs(machine, tests, logs)
    )
    for test in tests:
        if test.injected or test.faults:
            continue
        for span in test.spans:
            ticks = logs.span(span)
            motion = None if ticks is None else followed(machine, test, span, ticks)
            if motion is not None:
                found.motions.append(motion)
                found.energies.append(balance(machine, motion.ticks))
    named = dict.fromkeys(span.log for test in tests for span in test.spans)
    runs = [run for log in named if (run := logs.whole(log)) is not None]
    if not runs:
        return found
    if machine.is_constrained:
        found.closures = _closures(machine, tests, logs, runs)
    if all(has_clock(run) for run in runs):
        found.timing = _timing(runs)
    return found


def _closures(machine: Machine, tests: Sequence[TestFindings], logs: Logs, runs: Sequence[Ticks]) -> Closures:
    residual = np.concatenate([run.table["closure_residual"] for run in runs])
    time_s = machine.period_s * np.arange(len(residual), dtype=np.float64)
    residuals = [
        (ticks.table["closure_residual"], not test.injected and not test.faults)
        for test in tests
        for span in test.spans
        if (ticks := logs.span(span)) is not None
    ]
    recorded = np.concatenate([np.zeros(0), *(values for values, _ in residuals)])
    moved = np.concatenate([np.zeros(0), *(values for values, calm in residuals if calm)])
    return Closures(time_s, residual, machine.controller.estimator.closure_residual_max, recorded, moved)


def _timing(runs: Sequence[Ticks]) -> TimingEvidence:
    tables = [run.table for run in runs]
    return TimingEvidence(
        np.concatenate([periods_us(run) for run in runs]),
        np.concatenate([latencies_us(run) for run in runs]),
        sum(len(table) for table in tables),
        sum(int(((table["fresh"] == 0) & (table["connected"] == 1)).sum()) for table in tables),
        sum(int(table["missed"].sum()) for table in tables),
        phases_us(runs),
        overruns(runs),
    )
