"""Reports of goals: duration and errors, events that were reached, captured edges, the condition.

From the records and the plan of each goal alone, so that a lockstep run gives the same reports each time.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Flags, Floats
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.machine import Machine
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.results import CapturedEdge, EventReport, UntilReport

MOST_EDGES = 200
"""Edges that the result of a goal lists; further ones are counted."""
MOST_GOALS = 8
GIVEN_UP = 0.01
"""Acceleration, rad/s² or m/s², from which on a row counts as not followed; rows that agree as well as
way-points tell are below it.
"""
_UNDER_WAY = (GoalStatus.RUNNING, GoalStatus.SETTLING, GoalStatus.PAUSED, GoalStatus.STOPPING)


class GoalReport:
    """The report of one goal. plan: see `PlannedActions.as_map`."""

    def __init__(self, plan: Mapping[str, Any], outputs: list[str]) -> None:
        self._plan = plan
        events = plan["events"]
        order = sorted(range(len(events)), key=lambda number: (events[number]["time_s"], number))
        self._by_output = [[n for n in order if name in events[n]["set"]] for name in outputs]
        self._done = [0] * len(outputs)
        self._reached: dict[int, tuple[int, float]] = {}
        self._met, self._until = 0, UntilReport(met=0, tick=None, time_s=None)
        self._lengths = {
            point: np.frombuffer(data, np.float64).reshape(3, -1) for point, data in plan["lengths"].items()
        }
        self._edges: list[CapturedEdge] = []
        self._more = 0

    def events_reached(self, record: np.void, in_force_s: float) -> None:
        """Note the events that have set outputs up to this record; they are in force at `in_force_s`."""
        counts = record["output_events"].tolist()
        for output, count in enumerate(counts):
            for number in self._by_output[output][self._done[output] : int(count)]:
                self._reached.setdefault(number, (int(record["tick"]), in_force_s))
            self._done[output] = int(count)

    def condition_met(self, record: np.void) -> None:
        """Note that the condition has begun to hold."""
        if int(record["until_met"]) != self._met:
            self._met = int(record["until_met"])
            self._until = UntilReport(met=self._met, tick=int(record["tick"]), time_s=float(record["time_s"]))

    def edge(
        self,
        name: str,
        record: np.void,
        coordinates: dict[str, float],
        analog: dict[str, float],
        *,
        value: bool,
    ) -> None:
        """Note an edge of the input of this name. analog: the analog inputs."""
        for capture, one in self._plan["captures"].items():
            if one["input"] != name or one["edge"] not in ("both", "rising" if value else "falling"):
                continue
            if len(self._edges) >= MOST_EDGES:
                self._more += 1
                continue
            path_s = float(record["path_s"])
            length_s = float(record["path_length_s"])
            own_s = path_s * self._plan["duration_s"] / length_s if length_s > 0.0 else path_s
            self._edges.append(
                {
                    "capture": capture,
                    "input": name,
                    "value": value,
                    "tick": int(record["tick"]),
                    "time_s": float(record["time_s"]),
                    "path_time_s": own_s,
                    "path_m": self._length(one["of"], own_s),
                    "coordinates": coordinates,
                    "signals": analog,
                }
            )

    def _length(self, point: str | None, s: float) -> float | None:
        """Length of the point's path at s: the cubic through the lengths and speeds of the samples."""
        if point is None:
            return None
        times, lengths, speeds = self._lengths[point]
        right = int(np.clip(np.searchsorted(times, s, "right"), 1, len(times) - 1))
        left, h = right - 1, float(times[right] - times[right - 1])
        if h <= 0.0:
            return float(lengths[right])
        x = min(max((s - float(times[left])) / h, 0.0), 1.0)
        rise = float(lengths[right] - lengths[left])
        a, b = h * float(speeds[left]), h * float(speeds[right])
        return float(lengths[left]) + x * (a + x * (3.0 * rise - 2.0 * a - b + x * (a + b - 2.0 * rise)))

    def as_map(self, code: int) -> dict[str, Any]:
        """Return the parts of the goal's result; code: how it ended."""
        content: dict[str, Any] = {}
        if self._plan["events"]:
            content["events"] = [self._event(told) for told in self._plan["events"]]
        if self._plan["captures"]:
            content["captures"], content["captures_more"] = self._edges, self._more
        if self._plan["until"] is not None:
            content["until"] = self._until
            if code == ResultCode.SUCCESSFUL and self._met and not self._plan["pauses"]:
                content["text"] = "its condition was met; the machine stopped on its path"
        return content

    def _event(self, told: Mapping[str, Any]) -> EventReport:
        tick, time_s = self._reached.get(told["event"], (None, None))
        return {"event": told["event"], "set": told["set"], "tick": tick, "time_s": time_s}


class PathReports:
    """The reports of the latest goals."""

    def __init__(self, machine: Machine, known: np.void | None = None) -> None:
        self._unseen = 0 if known is None else int(known["goal_id"])
        """Goal whose begin another gateway saw: its duration and errors are not known."""
        self._period_s = machine.period_s
        self._outputs = [signal.name for signal in machine.outputs]
        self._inputs = [(at, each.name) for at, each in enumerate(machine.inputs) if each.is_digital]
        self._analog = [(at, each.name) for at, each in enumerate(machine.inputs) if not each.is_digital]
        self._coordinates = list(machine.mechanism.coordinate_names)
        self._angles = np.array(machine.mechanism.coordinate_is_angle, dtype=bool)
        self._tracked: dict[int, tuple[float, Floats]] = {}
        """Of goals under way: when they began; largest errors and residuals of all coordinates (2 × n)."""
        self._reports: dict[int, GoalReport] = {}
        self._before: np.void | None = None

    def plan(self, goal: int, actions: Mapping[str, Any]) -> None:
        """A goal with these actions (`PlannedActions.as_map`) is handed to the loop."""
        self._reports[goal] = GoalReport(actions, self._outputs)
        while len(self._reports) > MOST_GOALS:
            del self._reports[next(iter(self._reports))]

    def track(self, table: NDArray[Any]) -> None:
        """Take all records (n) of a batch, for the durations and largest errors of goals."""
        status = table["goal_status"]
        active = (status >= min(_UNDER_WAY)) & (status <= max(_UNDER_WAY))
        if not active.any():
            return
        for goal in sorted({*table["goal_id"][active].tolist()} - {self._unseen}):
            rows = table[active & (table["goal_id"] == goal)]
            error = np.abs(rows["reference"] - rows["coordinate"])
            error[:, self._angles] = np.minimum(error, 2.0 * np.pi - error)[:, self._angles]
            found = np.array([np.fmax.reduce(error), np.abs(rows["given_up"]).max(axis=0)])
            began_s, largest = self._tracked.get(goal, (float(rows["time_s"][0]), found))
            self._tracked[goal] = (began_s, np.fmax(largest, found))
        while len(self._tracked) > MOST_GOALS:
            del self._tracked[next(iter(self._tracked))]

    def observe(self, record: np.void) -> None:
        """Take a record in which something has changed."""
        if not self._reports:
            return
        goal, before = int(record["goal_id"]), self._before
        self._before = record.copy()
        report = self._reports.get(goal)
        if report is None:
            return
        if self._outputs:
            report.events_reached(record, float(record["time_s"]) + self._period_s)
        report.condition_met(record)
        if before is not None and int(before["goal_id"]) == goal and int(record["goal_status"]) in _UNDER_WAY:
            for at, name in self._inputs:
                value = bool(record["input"][at] > 0.5)
                if value != bool(before["input"][at] > 0.5):
                    where = dict(zip(self._coordinates, record["coordinate"].tolist(), strict=True))
                    analog = {each: float(record["input"][place]) for place, each in self._analog}
                    report.edge(name, record, where, analog, value=value)

    def complete(self, content: dict[str, Any]) -> None:
        """Add its report to the result of a goal (`protocol.results.PathReport`)."""
        began_s, largest = self._tracked.pop(content["goal"], (None, None))
        if began_s is not None and largest is not None:
            content["took_s"] = content["time_s"] - began_s
            errors, residuals = largest
            content["largest_errors"] = self._told(errors, "", np.isfinite(errors))
            if (lost := residuals > GIVEN_UP).any():
                content["given_up"] = self._told(residuals, "/s²", lost)
        report = self._reports.pop(content["goal"], None)
        if report is not None:
            content |= report.as_map(content["code"])

    def _told(self, values: Floats, per: str, chosen: Flags) -> list[dict[str, Any]]:
        return [
            {"coordinate": name, "value": value, "unit": ("rad" if angle else "m") + per}
            for name, angle, value, told in zip(
                self._coordinates, self._angles, values.tolist(), chosen, strict=True
            )
            if told
        ]
