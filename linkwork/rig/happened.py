"""Events of a run: its ticks, and quantities derived from them alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.exchange.faults import FaultCode
from linkwork.controller.gateway.records.logged_orders import GoalWords
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.machine import Machine
from linkwork.recordings.log_file import Ticks
from linkwork.rig.collected import KILL, TestFindings
from linkwork.rig.tap import AT_REST, PlantTruth

VIOLATIONS = (
    "PATH_TOLERANCE_VIOLATED",
    "GOAL_TOLERANCE_VIOLATED",
    "FORCE_TOLERANCE_VIOLATED",
    "CONTACT_LOST",
)
"""Results of goals that also count as detection of an injected fault."""


@dataclass(frozen=True, eq=False)
class Happened:
    """The ticks from a run's beginning to its end.

    ticks: as logged, all channels (`log_file.Ticks`). result: how the goal ended, None for a record without a
    goal. events: as logged. injected: the faults reported by the plant, newest last. truth: exact motion of
    the simulated machine, None where unknown. `goal`: the goal's block.
    """

    machine: Machine
    ticks: Ticks
    result: Mapping[str, Any] | None = None
    events: Sequence[Mapping[str, Any]] = ()
    injected: Sequence[Mapping[str, Any]] = ()
    truth: PlantTruth | None = None
    goal: GoalWords | None = None
    real_time: bool = False
    findings: TestFindings | None = None
    tracked: dict[str, float | None] = field(default_factory=dict)
    """Coordinates whose errors were asked for, with the limits they were held against."""

    def __len__(self) -> int:
        return len(self.table)

    @property
    def table(self) -> NDArray[Any]:
        """One row a tick, by channel (docs/log.md)."""
        return self.ticks.table

    @property
    def time_s(self) -> Floats:
        """Device time of each tick (n,)."""
        times: Floats = self.table["time_s"]
        return times

    @property
    def period_s(self) -> float:
        """The period that was asked for."""
        return self.machine.period_s

    @cached_property
    def device_tick(self) -> NDArray[np.int64]:
        """The device's tick of every row (n,): counted on where its state was lost."""
        ticks = self.table["device_tick"].copy()
        for row in np.flatnonzero(self.table["fresh"] == 0):
            if row:
                ticks[row] = ticks[row - 1] + 1
        return ticks

    def until_rest(self, begin_s: float) -> slice:
        """The instants of `motion` from a device time to rest. Raises AssertionError where it ends before."""
        time_s, speeds, _ = self.motion
        first = int(np.searchsorted(time_s, begin_s - 0.5 * self.machine.plant.period_s))
        at_rest = np.flatnonzero(np.max(np.abs(speeds[first:]), axis=1, initial=0.0) <= AT_REST)
        if not len(at_rest):
            dead = any(one["of"] == "plant" for one in self.kills)
            why = ": a simulated machine ends with its plant" if dead else ""
            raise AssertionError(f"the record ends before the machine is at rest{why}")
        return slice(first, first + int(at_rest[0]) + 1)

    def ways(self, part: slice) -> Floats:
        """Return the way of each joint in this part of `motion` (nv,), rad or m."""
        time_s, speeds, _ = self.motion
        steps = np.abs(speeds[part][:-1]) * np.diff(time_s[part])[:, None]
        way: Floats = steps.sum(axis=0)
        return way

    @property
    def kills(self) -> list[Mapping[str, Any]]:
        """Deaths of daemons, as `injected` has them."""
        return [one for one in self.injected if one.get("kind") == KILL]

    @property
    def fault_names(self) -> list[str]:
        """Codes that were latched during the record, in order."""
        codes = self.table["fault"][self._now]
        return [FaultCode(int(code)).name for code in dict.fromkeys(codes.tolist()) if code]

    @cached_property
    def incidents(self) -> list[tuple[int, str]]:
        """Rows in which a fault was latched, or a tolerance violated, with the code's name, in order."""
        codes = self.table["fault"]
        found = [(int(row), FaultCode(int(codes[row])).name) for row in _changes(codes) if codes[row]]
        name = "" if self.result is None else str(self.result["name"])
        if name in VIOLATIONS:
            over = np.isin(self.table["goal_status"], (GoalStatus.STOPPING, GoalStatus.ENDED)) & self._now
            found.append((int(np.argmax(over)), name))
        return sorted(found)

    @cached_property
    def _now(self) -> NDArray[np.bool_]:
        """The rows of this run, without the rest of the goal before."""
        if self.goal is None:
            return np.ones(len(self.table), np.bool_)
        mine: NDArray[np.bool_] = self.table["goal_id"] == self.goal.goal
        return mine

    @cached_property
    def motion(self) -> tuple[Floats, Floats, Floats]:
        """Times (n,), joint velocities (n, nv) and coordinates (n, nc): true ones where they are known."""
        if self.truth is not None:
            return self.truth.time_s, self.truth.v, self.truth.coordinates
        return self.time_s, self.table["v"], self.table["coordinate"]

    def _true(self, what: str) -> Floats:
        """An array of the truth at the times of the ticks; NaN where there is none."""
        values: Floats = getattr(self._known_truth, what)
        rows = np.round((self.time_s - self._known_truth.time_s[0]) / self.machine.plant.period_s)
        there = (rows >= 0) & (rows < len(values))
        found = np.full((len(self), *values.shape[1:]), np.nan)
        found[there] = values[rows[there].astype(np.int64)]
        return found

    @property
    def _known_truth(self) -> PlantTruth:
        if self.truth is None:
            raise AssertionError("the true state is unknown here; check `rig.can('truth')`")
        return self.truth


def _changes(values: NDArray[Any]) -> NDArray[np.intp]:
    """Rows whose value differs from that of the row before; the first too."""
    return np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
