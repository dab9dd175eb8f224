"""Records around injected faults: a window of the log for each, with its moments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.supervision.state_machine import State
from linkwork.machine import Machine
from linkwork.rig.collected import KILL, FaultSeen, TestFindings
from linkwork.rig.happened import Happened
from linkwork.rig.report.logs import Logs

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
        "rad/s" if machine.joints[at].is_angle else "m/s",
        time_s[rows],
        np.where(fresh, velocity[:, at], np.nan),
        np.where(guessed, velocity[:, at], np.nan),
        "" if seen is None else seen.found or "nothing",
        float(detected_s),
        float(at_rest_s),
    )
