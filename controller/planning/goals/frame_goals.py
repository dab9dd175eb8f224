"""Goals in a moving frame: conversion of their way-points, and admission over the frame's range of speeds.

The path is planned as if the frame stood still where it is now. Admission walks it with the frame's motion
added, for several motions of the frame: the smallest and the largest speed, each from the begin of the goal
on, at once or as late as it may begin, and a change from one speed to the other at the largest
acceleration in the middle of the part in the frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.exchange.goal_block import evaluate
from linkwork.controller.exchange.goal_frame_part import FramePart, Turn
from linkwork.controller.limit_tolerance import passes
from linkwork.controller.planning.goals.admission import Admitted, admit
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.path import Path
from linkwork.machine import Machine
from linkwork.machine.frames import MovingFrame
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError, spelled
from linkwork.protocol.trajectory import FrameRange, Trajectory, Waypoint

LATEST_BEGIN_S = 0.25
"""Unless a goal states less, its begin may be this much later than its planning."""
LEAST_GAIN = 0.999
"""Share of the frame's motion that the coordinates of a goal have to follow."""


def in_world(
    machine: Machine, trajectory: Trajectory, named: Sequence[int], start: Start
) -> tuple[Trajectory, FramePart | None]:
    """Return the trajectory with all positions in the world, for the frame where it is now, and its frame.

    named: indices of the trajectory's coordinates. The frame part has the gains of these; None without a
    frame. Raises RequestError: INVALID_GOAL, INVALID_COORDINATES.
    """
    points = trajectory.points or []
    within = [index for index, point in enumerate(points) if point.frame is not None]
    if not within:
        return trajectory, None
    number, frame = _frame_of(machine, points, within[0])
    gains, turn = _gains(machine, frame, trajectory, named), _turn(machine, frame, trajectory, named)
    if trajectory.force or trajectory.guard:
        text = "a goal with a force cannot be in a moving frame"
        raise RequestError(ResultCode.INVALID_GOAL, text, ("trajectory", "points", within[0], "in"))
    given = trajectory.frame or FrameRange()
    speed, window = _range(frame, given, "speed"), _range(frame, given, "window")
    late_s = LATEST_BEGIN_S if given.begin_within_s is None else given.begin_within_s
    begins_s = start.ahead_s, start.ahead_s + late_s
    origin = start.inputs[frame.input] * frame.per_unit if start.inputs else 0.0
    times = [0.0, *(point.time_from_start_s for point in points)]
    first, last = within[0], within[-1]
    enters, leaves = (times[first], times[first + 1]), (times[last + 1], times[last + 2])
    part = FramePart(number, enters, leaves, origin, speed, window, begins_s, gains, turn)
    moved = [point if point.frame is None else _moved(point, part) for point in points]
    return trajectory.model_copy(update={"points": moved}), part


def _moved(point: Waypoint, part: FramePart) -> Waypoint:
    """Return a way-point of the frame in the world, for the displacement of the part."""
    given = {
        "positions": point.positions,
        "velocities": point.velocities,
        "accelerations": point.accelerations,
    }
    rows = [np.zeros(len(part.gains)) if row is None else np.array(row) for row in given.values()]
    part.carry((part.origin, 0.0, 0.0), *rows)
    told = {key: row.tolist() for (key, old), row in zip(given.items(), rows, strict=True) if old is not None}
    return point.model_copy(update=told)


def _frame_of(machine: Machine, points: Sequence[Waypoint], at: int) -> tuple[int, MovingFrame]:
    for number, frame in enumerate(machine.frames):
        if frame.name == points[at].frame:
            return number, frame
    known = ", ".join(frame.name for frame in machine.frames) or "none"
    text = f"there is no moving frame {points[at].frame!r}; there are {known}"
    raise RequestError(ResultCode.INVALID_GOAL, text, ("trajectory", "points", at, "in"))


def refuse_behind_waiting(trajectory: Trajectory) -> None:
    """Refuse a goal in a frame behind a goal that waits: when it begins is not known."""
    within = [index for index, point in enumerate(trajectory.points or ()) if point.frame is not None]
    if within:
        text = (
            "a goal in a moving frame follows the active goal, or none: how far the frame has moved when a"
            " goal that waits has ended is not known; send it when the active goal has ended"
        )
        raise RequestError(ResultCode.INVALID_GOAL, text, ("trajectory", "points", within[0], "in"))


def _range(frame: MovingFrame, given: FrameRange, what: str) -> tuple[float, float]:
    """Return speed or window of a goal (what), which has to be within that of the machine file."""
    keys = {"speed": ("speed_m_s", "speed_rad_s"), "window": ("window_m", "window_rad")}[what]
    own, other = reversed(keys) if frame.turns else keys
    if getattr(given, other) is not None:
        where = ("trajectory", "frame", other)
        text = f"{spelled(where)}: the frame {frame.name} {'turns' if frame.turns else 'slides'}; give {own}"
        raise RequestError(ResultCode.INVALID_GOAL, text, where)
    pair, (low, high) = getattr(given, own), getattr(frame, what)
    if pair is None:
        return low, high
    if not low <= pair[0] < pair[1] <= high:
        where = ("trajectory", "frame", own)
        text = (
            f"{spelled(where)}: {pair[0]:g} to {pair[1]:g} is not within the range of the frame"
            f" {frame.name}, {low:g} to {high:g}"
        )
        raise RequestError(
            ResultCode.INVALID_GOAL, text, where, {"value": list(pair), "allowed": [low, high]}
        )
    return pair[0], pair[1]


def _gains(machine: Machine, frame: MovingFrame, trajectory: Trajectory, named: Sequence[int]) -> Floats:
    gains = frame.gains_of(tuple(named))
    where = ("trajectory", "coordinates")
    for name, gain in zip(trajectory.coordinates, gains, strict=True):
        if not np.isfinite(gain):
            text = f"{name} has no meaning in the moving frame {frame.name}: it is measured in the world"
            raise RequestError(ResultCode.INVALID_COORDINATES, text, where)
    if not frame.turns and float(np.linalg.norm(gains)) < LEAST_GAIN:
        task = [
            name
            for name, gain in zip(machine.mechanism.coordinate_names, frame.gains, strict=True)
            if np.isfinite(gain) and gain != 0.0
        ]
        text = (
            f"{', '.join(trajectory.coordinates)} cannot follow the moving frame {frame.name}: name the"
            f" coordinates along its direction; {', '.join(task) or 'no coordinate'} change with it"
        )
        raise RequestError(ResultCode.INVALID_COORDINATES, text, where)
    return gains


def _turn(machine: Machine, frame: MovingFrame, trajectory: Trajectory, named: Sequence[int]) -> Turn | None:
    """Return the line about which a frame turns, and the coordinates that turn with it.

    They have to be all those of one point. Raises RequestError (INVALID_COORDINATES).
    """
    if frame.center_m is None:
        return None
    found: dict[tuple[str, int], int] = {}
    for number, index in enumerate(named):
        place = frame.places[index]
        if place is not None:
            found[place] = number
    needed = len(frame.turning_axes)
    points = {point for point, _ in found}
    if len(points) != 1 or len(found) != needed:
        sets: dict[str, list[str]] = {}
        for name, place in zip(machine.mechanism.coordinate_names, frame.places, strict=True):
            if place is not None:
                sets.setdefault(place[0], []).append(name)
        whole = [", ".join(names) for names in sets.values() if len(names) == needed]
        text = (
            f"{', '.join(trajectory.coordinates)} cannot turn with the moving frame {frame.name}: name all"
            f" coordinates of one point that turn with it: {' or '.join(whole) or 'the machine has none'}"
        )
        raise RequestError(ResultCode.INVALID_COORDINATES, text, ("trajectory", "coordinates"))
    (point,) = points
    x, y, z = (found.get((point, axis), -1) for axis in range(3))
    return Turn((x, y, z), frame.axis, frame.center_m)


def with_frame(path: Path, part: FramePart, named: Sequence[int]) -> Path:
    """Return the path with its frame part; coordinates beside the named ones stay in the world."""
    gains, number = np.zeros(len(path.coordinates)), [path.coordinates.index(index) for index in named]
    gains[number] = part.gains
    turn = part.turn
    if turn is not None:
        x, y, z = (number[place] if place >= 0 else -1 for place in turn.places)
        turn = replace(turn, places=(x, y, z))
    return replace(path, frame=replace(part, gains=gains, turn=turn))


def frame_motions(frame: MovingFrame, part: FramePart) -> Iterator[FrameMotion]:
    """Yield the motions of the frame for which a goal is admitted."""
    (low, high), end, unit = part.speed, part.leaves_s[1], frame.unit
    for speed in (low, high):
        for late_s in sorted(set(part.begins_s)):
            late = late_s > part.begins_s[0]
            yield FrameMotion(speed, speed, end, end + 1.0, speed * late_s, late, unit)
    length = 1.875 * (high - low) / frame.acceleration
    middle = 0.5 * (part.enters_s[1] + part.leaves_s[0])
    for first, last in ((low, high), (high, low)):
        moved = first * part.begins_s[0]
        begin_s, end_s = middle - 0.5 * length, middle + 0.5 * length
        yield FrameMotion(first, last, begin_s, end_s, moved, unit=unit)


def admit_in_frame(machine: Machine, path: Path, start: Start) -> Admitted:
    """Admit a path with a frame for all motions of the frame (`frame_motions`), or refuse it.

    The stop table is the least of all, the report that of the largest demand, the walk that of the first
    motion. Raises RequestError (INFEASIBLE) as `admit`, with `frame_motion` in its data.
    """
    part = path.frame
    assert part is not None, "the path has a frame"
    frame, admitted, latest_s = machine.frames[part.frame], [], np.inf
    for motion in frame_motions(frame, part):
        world = path_with(path, motion)
        latest_s = min(latest_s, _latest_begin(frame, world, part, motion))
        try:
            admitted.append(admit(machine, world, start))
        except RequestError as error:
            data = {**error.data, "frame_motion": motion.about}
            if "time_s" in data:
                data["piece"] = int(np.searchsorted(path.knots, data["time_s"], "right")) - 1
            raise RequestError(error.code, f"{motion.about}: {error.message}", (), data) from None
    stopping = np.min([each.stopping for each in admitted], axis=0)
    report = max((each.report for each in admitted), key=_most_used)
    told = {**report, "frame": {"name": frame.name, "latest_begin_s": latest_s}}
    return Admitted(path, stopping, told, admitted[0].walk)


def _most_used(report: dict[str, object]) -> float:
    limits = report["limits"]
    assert isinstance(limits, dict)
    return max((each["used"] for names in limits.values() for each in names.values()), default=0.0)


def _latest_begin(frame: MovingFrame, world: Path, part: FramePart, motion: FrameMotion) -> float:
    """Return how long the begin may wait until the frame leaves its window (s). Raises INFEASIBLE."""
    inside = np.flatnonzero((world.knots >= part.enters_s[1]) & (world.knots <= part.leaves_s[0]))
    places = np.array([part.position(theta) for theta in world.values[inside, 0]])
    (low, high), unit = part.window, frame.unit
    worst = int(np.argmax(np.maximum(low - places, places - high)))
    if passes(places[worst], high) or passes(-places[worst], -low):
        value, limit = float(places[worst]), low if places[worst] < low else high
        time_s = float(world.knots[inside[worst]])
        where = "about" if frame.turns else "along"
        text = (
            f"{motion.about}: the goal is {value:.4g} {unit} {where} the frame {frame.name} at {time_s:.3f}"
            f" s, its window ends at {limit:g} {unit}; begin earlier, or at another place"
        )
        data = {
            "quantity": "frame window", "coordinate": frame.name, "value": value, "limit": limit,
            "unit": unit, "time_s": time_s, "min_time_stretch": None, "frame_motion": motion.about,
        }  # fmt: skip
        raise RequestError(ResultCode.INFEASIBLE, text, (), data)
    fastest = max(abs(part.speed[0]), abs(part.speed[1]))
    ahead = high - places if part.speed[1] > 0.0 else places - low
    return float(ahead.min()) / fastest + part.begins_s[1 if motion.late else 0]


STEP_S = 0.01
"""Length of the pieces by which the path with the frame's motion is approximated."""


@dataclass(frozen=True)
class FrameMotion:
    """A motion of the frame (`unit`: m or rad) from where it was at planning: speed `first`, later `last`.

    The speed changes between `begin_s` and `end_s` as 10 x³ - 15 x⁴ + 6 x⁵. `moved`: before the goal
    began. `late`: the goal begins as late as it may.
    """

    first: float
    last: float
    begin_s: float
    end_s: float
    moved: float
    late: bool = False
    unit: str = "m"

    @property
    def about(self) -> str:
        """The motion in words."""
        late = " and a late begin" if self.late else ""
        if self.first == self.last:
            return f"at {self.first:g} {self.unit}/s of the frame{late}"
        return f"while the frame changes from {self.first:g} to {self.last:g} {self.unit}/s"

    def at(self, t: float) -> tuple[float, float, float]:
        """Return displacement, speed and acceleration at the time t (s) of the goal."""
        length, change = self.end_s - self.begin_s, self.last - self.first
        way = self.moved + self.first * t
        if t <= self.begin_s:
            return way, self.first, 0.0
        x = min((t - self.begin_s) / length, 1.0)
        way += change * length * x**4 * (2.5 - 3.0 * x + x * x)
        if t >= self.end_s:
            return way + change * (t - self.end_s), self.last, 0.0
        speed = x**3 * (10.0 - 15.0 * x + 6.0 * x * x)
        slope = 30.0 * x * x * (1.0 - x) ** 2 / length
        return way, self.first + change * speed, change * slope


def path_with(path: Path, motion: FrameMotion) -> Path:
    """Return the path in the world for this motion of its frame, in short pieces of the same order."""
    part = path.frame
    assert part is not None, "the path has a frame"
    begin, end = part.enters_s[0], part.leaves_s[1]
    count = max(2, int(np.ceil((end - begin) / STEP_S)) + 1)
    marks = [*part.enters_s, *part.leaves_s, *np.linspace(begin, end, count)]
    knots = np.unique(np.concatenate([path.knots, [mark for mark in marks if mark < path.duration_s]]))
    kept = np.concatenate([[True], np.diff(knots) > 1e-4])
    kept[np.isin(knots, path.knots)] = True
    near = np.flatnonzero(np.diff(knots) <= 1e-4)
    kept[[index for index in near if not np.isin(knots[index], path.knots)]] = False
    knots = knots[kept]
    values, words = np.empty((len(knots), 3, len(path.coordinates))), path.packed()
    for place, s in enumerate(knots):
        evaluate(words, min(s, path.duration_s), *values[place])
        w, w1, w2 = part.weight(s)
        d, v, a = motion.at(s)
        part.carry((w * d, w1 * d + w * v, w2 * d + 2.0 * w1 * v + w * a), *values[place])
    rows = path.values.shape[1]  # cubics keep the steps of their acceleration between pieces
    return replace(path, knots=knots, values=np.ascontiguousarray(values[:, :rows]), frame=None)


def expected(machine: Machine, path: Path, part: FramePart, at_s: float, inputs: tuple[float, ...]) -> Path:
    """Return the path in the world for the middle of the speeds of its frame, from where the frame is now.

    at_s: path parameter now; inputs: values of the input signals, empty before the goal has begun.
    """
    frame, speed = machine.frames[part.frame], 0.5 * sum(part.speed)
    moved = speed * 0.5 * sum(part.begins_s)
    if inputs:
        moved = frame.nearest(inputs[frame.input] * frame.per_unit - part.origin - speed * at_s)
    end = path.duration_s
    return path_with(path, FrameMotion(speed, speed, end, end + 1.0, moved))
