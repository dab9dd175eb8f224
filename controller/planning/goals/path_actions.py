"""Actions on the path: events, followers of the speed, captures and the condition of a goal, at admission.

The length of a point's path is the integral of its speed over the path parameter: Simpson's rule between the
samples of the walk, with the speed in the middle from the cubic through both ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.exchange.goal_action_part import (
    EVENT_NUMBERS,
    FOLLOWER_NUMBERS,
    NEAREST_PERIODS,
    NO_BOUND,
    ActionPart,
)
from linkwork.controller.exchange.named_signals import (
    digital_input,
    output_named,
    output_value,
    quantities,
    read_condition,
)
from linkwork.controller.exchange.orders import GoalBegin, Splice
from linkwork.controller.exchange.records import layout_for
from linkwork.controller.limit_tolerance import passes
from linkwork.controller.planning.checks.workspace_check import points_along
from linkwork.controller.planning.walk.walk import STEP_S, Walk
from linkwork.machine import Machine
from linkwork.machine.nearest_name import no_such
from linkwork.machine.sections.signal_section import Signal
from linkwork.multibody.expressions.condition_program import Span, can_hold, program_rows
from linkwork.protocol.codes import RequestCode, ResultCode
from linkwork.protocol.errors import RequestError, spelled
from linkwork.protocol.trajectory import CaptureParams, PathEvent, SpeedFollower, Trajectory

MOST_SPEEDS, MOST_LENGTHS = 20_001, 20_001
"""Samples of a follower's speed in the block, and of the path length for captures."""
_BISECTIONS = 60
_ROUND_OFF = 1e-9
Where = tuple[str | int, ...]


@dataclass(frozen=True)
class PlannedActions:
    """The actions of a goal: the part of its block, the report of its events, and the plan of its captures.

    events: for people, in their order in the request. captures: name → signal, edge, point and, over the path
    parameter, its length (`lengths`: bytes of float64, 3 × n: s, m, m/s). until: the condition's text.
    """

    part: ActionPart
    events: list[dict[str, Any]] = field(default_factory=list)
    captures: dict[str, dict[str, Any]] = field(default_factory=dict)
    lengths: dict[str, bytes] = field(default_factory=dict)
    until: str | None = None

    def as_map(self, duration_s: float) -> dict[str, Any]:
        """Return plain data for the gateway."""
        return {
            "duration_s": duration_s,
            "events": self.events,
            "captures": self.captures,
            "lengths": self.lengths,
            "until": self.until,
            "pauses": self.part.pauses,
            "uses_signals": bool(self.events or self.captures or len(self.part.followers)),
        }


class PointPath:
    """Path of a point along a walk: its length and speed over the path parameter s.

    Raises RequestError where the machine has no such point.
    """

    def __init__(self, machine: Machine, walk: Walk, index: int) -> None:
        out = np.zeros((len(walk.s), 6))
        work = machine.workspace()
        points_along(*work.arguments, walk.q, walk.q1, np.array([index], np.int64), out)
        place, velocity = out[:, :3], out[:, 3:]
        self.s, self.speed = walk.s, np.linalg.norm(velocity, axis=1)
        step = np.diff(walk.s)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(step[:, None] > 0.0, np.diff(place, axis=0) / step[:, None], 0.0)
        middle = 1.5 * slope - 0.25 * (velocity[:-1] + velocity[1:])
        self._middle = np.linalg.norm(middle, axis=1)
        parts = step * (self.speed[:-1] + 4.0 * self._middle + self.speed[1:]) / 6.0
        self.length = np.concatenate([[0.0], np.cumsum(parts)])

    def s_at(self, length_m: float) -> float:
        """Return the first s at which the point has travelled this length, from 0 to the whole."""
        right = int(np.searchsorted(self.length, length_m, "left"))
        if right == 0:
            return float(self.s[0])
        left = min(right, len(self.s) - 1) - 1
        h, want = float(self.s[left + 1] - self.s[left]), length_m - float(self.length[left])
        v0, v1, middle = self.speed[left], self.speed[left + 1], self._middle[left]
        low, high = 0.0, 1.0
        for _ in range(_BISECTIONS):  # of the cubic whose slope is the parabola through the three speeds
            x = 0.5 * (low + high)
            a, b = -3.0 * v0 + 4.0 * middle - v1, 2.0 * v0 - 4.0 * middle + 2.0 * v1
            travelled = h * x * (v0 + x * (a / 2.0 + x * b / 3.0))
            low, high = (x, high) if travelled < want else (low, x)
        return float(self.s[left] + high * h)

    def thinned(self) -> bytes:
        """s, length and speed (3 × n) at MOST_LENGTHS samples at most, as bytes."""
        keep = np.unique(np.linspace(0, len(self.s) - 1, MOST_LENGTHS).round().astype(np.int64))
        return np.stack([self.s[keep], self.length[keep], self.speed[keep]]).astype(np.float64).tobytes()


class Actions:
    """The actions of one trajectory, read for one walk along its path."""

    def __init__(self, machine: Machine, trajectory: Trajectory, walk: Walk, path_times: Floats) -> None:
        self._machine, self._given, self._walk = machine, trajectory, walk
        self._period_s = machine.period_s
        self._duration_s = float(walk.s[-1])
        self._times = path_times
        """Path parameter of each way-point; empty of a curve."""
        self._paths: dict[str, PointPath] = {}
        self._in_frame = any(point.frame is not None for point in trajectory.points or ())

    def planned(self, begin: GoalBegin) -> PlannedActions:
        """Check events, followers, condition and captures of a trajectory, and return them as planned.

        begin: the machine where the goal begins. Raises RequestError with the field that is wrong, and what
        is allowed.
        """
        given = self._given
        followers, speeds = self._followers(given.follow)
        rows, numbers, report = self._events(given.events, begin)
        part = ActionPart(rows, followers, speeds, self._condition(given.until), given.then == "pause")
        check_order(part, self._period_s, numbers)
        captures = {name: self._capture(name, one) for name, one in given.capture.items()}
        lengths = {one["of"]: self._path(one["of"]).thinned() for one in captures.values() if one["of"]}
        return PlannedActions(part, report, captures, lengths, given.until)

    # Events.

    def _events(
        self, events: Sequence[PathEvent], begin: GoalBegin
    ) -> tuple[Floats, list[int], list[dict[str, Any]]]:
        """Rows of the block, the event of each, and the report."""
        rows: list[tuple[float, ...]] = []
        report = []
        for number, event in enumerate(events):
            where: Where = ("trajectory", "events", number)
            s = self._place(event, where)
            self._check_lead(event, s, begin, where)
            for name, value in event.set.items():
                field_at = (*where, "set", name)
                output, number_set = output_value(self._machine, name, value, field_at)
                if name in self._given.follow:
                    text = (
                        f"{spelled(field_at)}: {name} follows the speed of this goal, an event cannot set it"
                    )
                    raise RequestError(ResultCode.INVALID_GOAL, text, field_at)
                rows.append((s, event.lead_s, output, number_set, number))
            values = {name: self._plain(name, value) for name, value in event.set.items()}
            told = {"event": number, "time_s": s, "fires_s": s - event.lead_s, "set": values}
            report.append(told | {"path_m": event.at.path_m, "point": event.at.point})
        rows.sort(key=lambda row: (row[2], row[0], row[4]))
        table = np.array(rows, np.float64).reshape(-1, EVENT_NUMBERS + 1)
        return table[:, :EVENT_NUMBERS].copy(), [int(row[4]) for row in rows], report

    def _plain(self, name: str, value: Any) -> bool | float:
        signal = output_named(self._machine, name, ())
        return signal.plain(signal.read(value))

    def _place(self, event: PathEvent, where: Where) -> float:
        """The path parameter of an event."""
        at, where = event.at, (*where, "at")
        if at.point is not None:
            where = (*where, "point")
            if not len(self._times):
                text = f"{spelled(where)}: a curve has no way-points; use time_s or path_m"
                raise RequestError(ResultCode.INVALID_GOAL, text, where)
            if not 0 <= at.point < len(self._times):
                _outside(where, at.point, 0, len(self._times) - 1, "")
            return float(self._times[at.point])
        if at.time_s is not None:
            if not -_ROUND_OFF <= at.time_s <= self._duration_s + _ROUND_OFF:
                _outside((*where, "time_s"), at.time_s, 0.0, self._duration_s, " s")
            return min(max(at.time_s, 0.0), self._duration_s)
        assert at.path_m is not None, "read_trajectory has made sure"
        self._refuse_in_frame((*where, "path_m"), "use time_s or point")
        point = self._point(at.of, (*where, "of"), (*where, "path_m"))
        path = self._path(point)
        if not -_ROUND_OFF <= at.path_m <= path.length[-1] + _ROUND_OFF:
            _outside((*where, "path_m"), at.path_m, 0.0, float(path.length[-1]), f" m, the path of {point}")
        return path.s_at(at.path_m)

    def _check_lead(self, event: PathEvent, s: float, begin: GoalBegin, where: Where) -> None:
        """Refuse an event that would have to fire before the goal begins."""
        least = event.lead_s
        if isinstance(begin, Splice):  # it begins in motion
            least += NEAREST_PERIODS * self._period_s
        if s < least - _ROUND_OFF:
            where = (*where, "lead_s") if event.lead_s else (*where, "at")
            why = "before the goal begins" if event.lead_s else "before the goal has taken over in motion"
            text = (
                f"{spelled(where)}: the event at {s:.6g} s would have to fire {why}; allowed are places from"
                f" {least:.6g} s of this goal on"
            )
            raise RequestError(ResultCode.INVALID_GOAL, text, where, {"time_s": s, "allowed": least})

    # Points.

    def _point(self, name: str | None, where: Where, without: Where) -> str:
        names = list(self._machine.mechanism.point_names)
        if name is None and len(names) == 1:
            return names[0]
        if name is None:
            which = f"of {' or '.join(names)}" if names else "and this machine has no points"
            text = f"{spelled(without)}: the path of which point? Add `of`: {which}"
            raise RequestError(RequestCode.INVALID_PARAMS, text, without, {"allowed": names})
        if name not in names:
            text = f"{spelled(where)}: {no_such('point', name, names)}"
            raise RequestError(RequestCode.INVALID_PARAMS, text, where, {"allowed": names})
        return name

    def _refuse_in_frame(self, where: Where, remedy: str) -> None:
        if self._in_frame:
            text = (
                f"{spelled(where)}: the path of a goal in a moving frame depends on the motion of the frame;"
                f" {remedy}"
            )
            raise RequestError(ResultCode.INVALID_GOAL, text, where)

    def _path(self, point: str) -> PointPath:
        if point not in self._paths:
            index = list(self._machine.mechanism.point_names).index(point)
            self._paths[point] = PointPath(self._machine, self._walk, index)
        return self._paths[point]

    # Followers.

    def _followers(self, given: dict[str, SpeedFollower]) -> tuple[Floats, Floats]:
        count = int(np.clip(np.ceil(self._duration_s / STEP_S) + 1, 2, MOST_SPEEDS))
        grid = np.linspace(0.0, self._duration_s, count)
        rows, speeds = [], []
        for name, one in given.items():
            where: Where = ("trajectory", "follow", name)
            signal = output_named(self._machine, name, where)
            if signal.is_digital:
                text = f"{spelled(where)}: a digital output cannot follow a speed; use events"
                raise RequestError(RequestCode.INVALID_PARAMS, text, where)
            self._refuse_in_frame(where, "leave it out")
            for key, bound in (("min", one.min), ("max", one.max)):
                if bound is not None:
                    output_value(self._machine, name, bound, (*where, key))
            path = self._path(self._point(one.speed_of, (*where, "speed_of"), where))
            bounds = -NO_BOUND if one.min is None else one.min, NO_BOUND if one.max is None else one.max
            row = (self._machine.outputs.index(signal), one.per_m_s, one.offset, *bounds, one.lead_s)
            speeds.append(np.interp(grid, path.s, path.speed))
            check_range(row, speeds[-1], signal, where)
            rows.append(row)
        return (
            np.array(rows, np.float64).reshape(-1, FOLLOWER_NUMBERS),
            np.array(speeds, np.float64).reshape(len(rows), count),
        )

    # Captures and the condition.

    def _capture(self, name: str, given: str | CaptureParams) -> dict[str, Any]:
        where: Where = ("trajectory", "capture", name)
        one = CaptureParams(input=given) if isinstance(given, str) else given
        at = where if isinstance(given, str) else (*where, "input")
        signal, names = digital_input(self._machine, one.input, at), self._machine.mechanism.point_names
        point = one.of
        if point is None and self._in_frame:
            return {"input": signal.name, "edge": one.edge, "of": None}
        if point is not None:
            self._refuse_in_frame((*where, "of"), "leave it out")
        if point is None and len(names) == 1:
            point = names[0]
        elif point is not None:
            point = self._point(point, (*where, "of"), where)
        return {"input": signal.name, "edge": one.edge, "of": point}

    def _condition(self, text: str | None) -> Floats:
        if text is None:
            return np.zeros((0, 2))
        where, layout = ("trajectory", "until"), layout_for(self._machine)
        condition = read_condition(self._machine, layout, text, where)
        spans: dict[str, Span] = {signal.name: (signal.low, signal.high) for signal in self._machine.signals}
        if not can_hold(condition, spans | {"time_s": (0.0, np.inf), "tick": (0.0, np.inf)}):
            ranges = ", ".join(
                f"{name} is {signal.allowed}"
                for name, signal in ((each.name, each) for each in self._machine.signals)
                if name in condition.names
            )
            text = f"{spelled(where)}: {text!r} can never hold" + (f": {ranges}" if ranges else "")
            raise RequestError(ResultCode.INVALID_GOAL, text, where)
        words = quantities(layout)
        return program_rows(condition, {name: words[name] for name in condition.names})


def _outside(where: Where, value: float, low: float, high: float, unit: str) -> NoReturn:
    text = f"{spelled(where)}: {value:g} is not on the path; allowed: {low:g} to {high:.9g}{unit}"
    data = {"value": value, "allowed": [low, high]}
    raise RequestError(ResultCode.INVALID_GOAL, text, where, data)


def check_order(part: ActionPart, period_s: float, numbers: Sequence[int] = ()) -> None:
    """Refuse events that contradict each other: one output, and values that cannot follow in this order.

    Values of one output must come in the order of their places, a period apart at least where they differ: at
    the path's own speed, and so at every lower one. numbers: the event of each row, for the field that is
    named. Raises RequestError.
    """
    for at, (one, after) in enumerate(pairwise(part.events.tolist())):
        if one[2] != after[2]:
            continue
        gap_s = (after[0] - after[1]) - (one[0] - one[1])
        if gap_s >= (0.0 if one[3] == after[3] else period_s) - _ROUND_OFF:
            continue
        where: Where = ("trajectory", "events", numbers[at + 1]) if numbers else ("fraction",)
        other = f"events[{numbers[at]}]" if numbers else "the event before it"
        text = (
            f"{spelled(where)}: contradicts {other}: with the leads, the same output would be set to"
            f" {one[3]:g} at {one[0] - one[1]:.6g} s and to {after[3]:g} at {after[0] - after[1]:.6g} s;"
            f" different values must follow in the order of their places, {period_s:g} s apart at least"
        )
        raise RequestError(ResultCode.INVALID_GOAL, text, where, {"gap_s": gap_s, "period_s": period_s})


def check_range(row: Sequence[float], speeds: Floats, signal: Signal, where: Where) -> None:
    """Refuse a follower whose output leaves its range. row (6): see goal_action_part; speeds (m), m/s."""
    low, high, unit = signal.low, signal.high, f" {signal.unit}" if signal.unit else ""
    _, slope, offset, least, most, _ = row
    worst = int(np.argmax(speeds))
    for speed, key in ((0.0, "offset"), (float(speeds[worst]), "per_m_s")):
        value = min(max(offset + slope * speed, least), most)
        if not (passes(value, high) or passes(-value, -low)):
            continue
        field_at = (*where, key) if where[0] == "trajectory" else where
        when = "at rest" if key == "offset" else f"at {speed:.4g} m/s"
        text = (
            f"{spelled(field_at)}: {when} the output would be {value:.6g}{unit}, allowed: {low:g} to"
            f" {high:g}{unit}; change it, go slower, or give min and max"
        )
        raise RequestError(ResultCode.INVALID_GOAL, text, field_at, {"value": value, "allowed": [low, high]})


def check_retimed(machine: Machine, part: ActionPart) -> None:
    """Check the actions of a goal at another speed. Raises RequestError."""
    check_order(part, machine.period_s)
    for row, speeds in zip(part.followers.tolist(), part.speeds, strict=True):
        check_range(row, speeds, machine.outputs[int(row[0])], ("fraction",))
