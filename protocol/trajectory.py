"""Trajectories: way-points or a curve, with tolerances. Shared by files, clients and the planner.

This module checks syntax and consistency only; the controller's admission decides whether a machine can
follow it. Units: rad or m per coordinate, s.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, pairwise
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, Field

from linkwork.protocol.codes import ALIAS_LENGTH, NAME_LENGTH, TRAJECTORY_POINTS, RequestCode, ResultCode
from linkwork.protocol.decoding import MOST_NUMBER
from linkwork.protocol.errors import RequestError, spelled
from linkwork.protocol.validation import NO_ALIASES, ValidatedRequest, own_name, validated

MOST_COORDINATES = 256
Name = Annotated[str, Field(min_length=1, max_length=ALIAS_LENGTH), BeforeValidator(own_name)]
"""Name of a part of the machine, or an alias of it."""
Number = Annotated[float, Field(strict=True, ge=-MOST_NUMBER, le=MOST_NUMBER, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, gt=0.0, le=MOST_NUMBER, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(strict=True, ge=0.0, le=MOST_NUMBER, allow_inf_nan=False)]
Numbers = Annotated[list[Number], Field(min_length=1, max_length=MOST_COORDINATES)]
Pair = Annotated[list[Number], Field(min_length=2, max_length=2)]
Vector = Annotated[list[Number], Field(min_length=3, max_length=3)]
NONE_ABOVE_S = 1.0e7
_BY_TIME = frozenset(("time_from_start_s", "velocities", "accelerations"))
"""Keys of a way-point that need a time."""
_LEAST_STEP = 1.0e-3
"""Time between two way-points that are the same, for which the planner has words."""
MOST_FREE = 12
"""Numbers that the boxes of a trajectory's way-points leave free."""
SHORTEST_S = 1.0e-9
Duration = Annotated[float, Field(strict=True, ge=SHORTEST_S, le=NONE_ABOVE_S, allow_inf_nan=False)]
SignalValue = (
    Annotated[bool, Field(strict=True)]
    | Annotated[float, Field(strict=True, allow_inf_nan=False)]
    | Annotated[str, Field(strict=True, max_length=NAME_LENGTH)]
)
MOST_EVENTS, MOST_CAPTURES, MOST_FOLLOWERS = 1000, 8, 8
"""Values set by events, captures and outputs that follow the speed, of one goal."""
LONGEST_LEAD_S = 1.0
LONGEST_CONDITION = 1000
Lead = Annotated[float, Field(strict=True, ge=0.0, le=LONGEST_LEAD_S, allow_inf_nan=False)]


class Corner(ValidatedRequest):
    """Distances within which a path of straight lines leaves a way-point aside, so that it need not stop.

    In the goal's lengths together, and in its angles together; both hold where both are given.
    """

    radius_m: Positive | None = None
    radius_rad: Positive | None = None


def _with_radius(value: object) -> object:
    """Refuse a corner without a radius, also one whose key has no value."""
    if isinstance(value, Mapping) and any(value.get(key) is not None for key in Corner.model_fields):
        return value
    if value is None or isinstance(value, Mapping):
        raise ValueError("a corner needs a radius: give radius_m, radius_rad or both")
    if not isinstance(value, Corner):
        raise ValueError("give a radius with its unit, as {radius_m: 0.01}")
    return value


GivenCorner = Annotated[Corner | None, BeforeValidator(_with_radius)]


class Waypoint(ValidatedRequest):
    """One way-point. Positions only: C2 spline; with velocities: cubic; with accelerations too: quintic.

    With a corner, its own or the goal's: lines, blended.
    """

    time_from_start_s: Annotated[float, Field(strict=True, ge=0.0, le=NONE_ABOVE_S, allow_inf_nan=False)]
    positions: Numbers
    velocities: Numbers | None = None
    accelerations: Numbers | None = None
    frame: Name | None = Field(None, alias="in")
    """Moving frame of the positions and their derivatives, `in` on the wire; None: the world."""
    corner: GivenCorner = None
    """Of a path of straight lines; None: that of the trajectory."""
    between: Annotated[list[Numbers], Field(min_length=2, max_length=2)] | None = None
    """Opposite corners of a box in which the fastest timing may move the way-point."""
    name: Annotated[str, Field(max_length=NAME_LENGTH)] | None = None
    """For people."""


class LineCurve(ValidatedRequest):
    """From `from_m` straight to `to_m` at constant speed, in `duration_s`."""

    from_m: Vector
    to_m: Vector
    duration_s: Duration


class Circle(ValidatedRequest):
    """x = cx + r sin(rate t + phase), y = cy + r cos(rate t + phase), z = cz."""

    center_m: Vector
    radius_m: Positive
    rate_rad_s: Number
    phase_rad: Number = 0.0
    duration_s: Duration


class Helix(ValidatedRequest):
    """x = cx + r sin(rate t + phase), y = cy + r cos(rate t + phase), z = cz + pitch_speed t."""

    center_m: Vector
    radius_m: Positive
    rate_rad_s: Number
    phase_rad: Number = 0.0
    pitch_speed_m_s: Number
    duration_s: Duration


class Curve(ValidatedRequest):
    """Exactly one named curve in three task coordinates, or in two, whose plane it must not leave then."""

    line: LineCurve | None = None
    circle: Circle | None = None
    helix: Helix | None = None
    of: Annotated[list[Name], Field(min_length=2, max_length=3)] = Field(
        default_factory=lambda: ["x", "y", "z"]
    )
    """The coordinates that the curve's axes mean: all three, or the first two."""

    @property
    def shape(self) -> LineCurve | Circle | Helix:
        """Return the one curve that is given: a line, a circle or a helix."""
        found = self.line or self.circle or self.helix
        assert found is not None, "read_trajectory has made sure"
        return found

    @property
    def leaves_plane(self) -> bool:
        """Whether the curve moves along the third axis."""
        shape = self.shape
        if isinstance(shape, LineCurve):
            return shape.from_m[2] != shape.to_m[2]
        return isinstance(shape, Helix) and shape.pitch_speed_m_s != 0.0


class ToleranceParams(ValidatedRequest):
    """Largest distance from the goal's path under way, and from its end (rad or m; of a force N or N m)."""

    path: Positive | None = None
    goal: Positive | None = None


class ForcePoint(ValidatedRequest):
    """A force (N or N m) at a time; straight lines lead from one to the next."""

    time_from_start_s: Annotated[float, Field(strict=True, ge=0.0, le=NONE_ABOVE_S, allow_inf_nan=False)]
    force: Number


Force = Number | Annotated[list[ForcePoint], Field(min_length=1, max_length=10_000)]


class CurveEntry(ValidatedRequest):
    """Lead-in and lead-out: the path parameter is ramped, jerk-limited, along the extension of the curve."""

    ramp_s: Annotated[float, Field(strict=True, gt=0.0, le=60.0, allow_inf_nan=False)]


class EventPlace(ValidatedRequest):
    """Place of an event: exactly one of `time_s`, `path_m` and `point`."""

    time_s: Number | None = None
    """Time since the goal's beginning, at its own speed."""
    path_m: Number | None = None
    """Length of the path of the point `of` since the goal's beginning."""
    of: Name | None = None
    """Point of the machine; may be left out where the machine has one point."""
    point: Annotated[int, Field(strict=True)] | None = None
    """Number of a way-point, from 0."""


class PathEvent(ValidatedRequest):
    """Outputs that are set at a place of the path; `lead_s`: so much earlier."""

    at: EventPlace
    set: Annotated[dict[Name, SignalValue], Field(min_length=1, max_length=12)]
    lead_s: Lead = 0.0


class CaptureParams(ValidatedRequest):
    """Edges of a digital input to report; `of`: the point whose path length they get."""

    input: Name
    edge: Literal["rising", "falling", "both"] = "both"
    of: Name | None = None


class SpeedFollower(ValidatedRequest):
    """Analog output that follows the speed of a point: offset + per_m_s × speed, from `min` to `max`.

    Numbers are in the unit of the output. Without `min` and `max`, a value outside its range is refused.
    """

    speed_of: Name
    per_m_s: Number
    offset: Number = 0.0
    min: Number | None = None
    max: Number | None = None
    lead_s: Lead = 0.0


class FrameRange(ValidatedRequest):
    """Motion of the moving frame for which a goal is admitted; parts left out: as in the machine file."""

    speed_m_s: Pair | None = None
    """Smallest and largest speed of the frame."""
    window_m: Pair | None = None
    """Smallest and largest position along the frame's direction while the goal is in the frame."""
    speed_rad_s: Pair | None = None
    """Smallest and largest speed of a frame that turns."""
    window_rad: Pair | None = None
    """Smallest and largest angle about the line of a frame that turns, while the goal is in the frame."""
    begin_within_s: Annotated[float, Field(strict=True, ge=0.0, le=0.25, allow_inf_nan=False)] | None = None
    """How long after its planning the goal may begin. Default: 0.25 s."""


class Priority(ValidatedRequest):
    """Levels of coordinates: each is followed as far as those before it allow."""

    priority: Annotated[
        list[Annotated[list[Name], Field(min_length=1, max_length=MOST_COORDINATES)]],
        Field(min_length=1, max_length=16),
    ]


def _no_combination(name: object) -> object:
    if isinstance(name, dict):
        raise ValueError("a combination is written as `rows: {NAME: {x: 1, y: -2}}`, and NAME stands here")
    return name


MOST_COMBINATIONS = 4
Combination = Annotated[
    dict[Name, Number | Annotated[str, Field(max_length=NAME_LENGTH)]],
    Field(max_length=MOST_COORDINATES),
]
"""Coefficients by coordinate; `unit: rad` or `unit: m` where they convert between angles and lengths."""


MOST_KEPT = 8
Bounds = Pair | Annotated[str, Field(max_length=NAME_LENGTH)]
"""Lower and upper bound (rad or m), or one of them: "> 0.02", "< 0.3"."""
_ONE_SIDE: Final = re.compile(r"\s*([<>])=?\s*(\S+)\s*")


def read_bounds(bounds: Sequence[float] | str) -> tuple[float, float]:
    """Return a lower and an upper bound, infinite where there is none. Raises ValueError."""
    if not isinstance(bounds, str):
        low, high = bounds
        if not low < high:
            raise ValueError(f"the lower bound {low:g} must be below the upper one, {high:g}")
        return low, high
    found = _ONE_SIDE.fullmatch(bounds)
    try:
        value = float(found[2]) if found else math.nan
    except ValueError:
        value = math.nan
    if found is None or not math.isfinite(value):
        raise ValueError(f"{bounds!r} is no bound: write '> 0.02', '< 0.3' or [0.02, 0.3]")
    return (value, math.inf) if found[1] == ">" else (-math.inf, value)


class Preference(ValidatedRequest):
    """Choice among the motions that a goal leaves free."""

    posture: Annotated[dict[Name, Number], Field(min_length=1, max_length=MOST_COORDINATES)]
    """Joint → position (rad or m) that it comes to as far as the goal's coordinates allow."""


class TimingParams(ValidatedRequest):
    """The time law of a goal's path."""

    timing: Literal["given", "fastest"] = "given"
    """`given`: that of the goal's times; `fastest`: the path stays, and is followed as fast as every limit of
    the machine admits.
    """
    margin: Annotated[float, Field(strict=True, ge=0.01, le=1.0, allow_inf_nan=False)] = 1.0
    """Of `fastest`: share of every limit that may be used."""


class TaskParams(TimingParams):
    """Share of the named coordinates in the motion, and treatment of motions that they leave free."""

    rows: Annotated[dict[Name, Combination], Field(max_length=MOST_COMBINATIONS)] = Field(
        default_factory=dict
    )
    """Further coordinates of this goal: linear combinations of the machine's."""
    conflict: Literal["refuse", "least_squares"] | Priority = "refuse"
    """Coordinates that contradict each other: refuse the goal, miss each of them as little as possible, or
    follow the first levels and give up what contradicts them.
    """

    rest: Literal["hold", "least", "damp"] = "hold"
    """`hold`: other coordinates are held, so that all motions are determined; `least`: the motors do not
    drive them (least constraint); `damp`: their speed decays.
    """
    metric: Literal["mass", "motors"] | Annotated[dict[Name, dict[Name, Number]], Field(max_length=256)] = (
        "mass"
    )
    """Of `least` and `damp`: the mass matrix; the motors' efforts; or a symmetric matrix by joint."""
    prefer: Literal["far_from_singular"] | Preference | None = None
    """Of `damp`: what free motions tend to: a posture, or poses far from singular ones of the goal's
    coordinates, the closures and the motors.
    """
    keep: Annotated[dict[Name, Bounds], Field(max_length=MOST_KEPT)] = Field(default_factory=dict)
    """Coordinates that stay between bounds; free motions give way to them first, then lower levels."""


class Trajectory(TaskParams):
    """A motion in named coordinates: `points`, or a `curve`; or `force` alone. Made by `read_trajectory`.

    When the first way-point's time is above 0, the motion begins at time 0 where the machine is.
    Coordinates that a curve's three axes do not mean are held, at `hold` or where they are.
    """

    coordinates: Annotated[
        list[Annotated[Name, BeforeValidator(_no_combination)]], Field(max_length=MOST_COORDINATES)
    ] = Field(default_factory=list)
    """Joints or task coordinates, any order. Left out with a curve: `curve.of`, then the keys of `hold`."""
    points: Annotated[list[Waypoint], Field(min_length=1, max_length=TRAJECTORY_POINTS)] | None = None
    corner: GivenCorner = None
    """Makes the path straight lines between way-points, blended within this distance of each."""
    curve: Curve | None = None
    hold: dict[Name, Number] = Field(default_factory=dict, max_length=MOST_COORDINATES)
    tolerances: dict[Name, ToleranceParams] = Field(default_factory=dict, max_length=MOST_COORDINATES)
    goal_time_s: NotNegative | None = None
    """How long after the end the goal tolerances may take to be met."""
    entry: CurveEntry | None = None
    force: dict[Name, Force] = Field(default_factory=dict, max_length=MOST_COORDINATES)
    """Contact or constraint → its wanted force (N or N m), the same all along or over time."""
    guard: dict[Name, Positive] = Field(default_factory=dict, max_length=1)
    """Contact → force (N): the motion ends where the contact is felt, and it is pressed with this force.
    What `force` names is pressed meanwhile.
    """
    events: Annotated[list[PathEvent], Field(max_length=MOST_EVENTS)] = Field(default_factory=list)
    """Outputs that are set on the path."""
    capture: dict[Name, Name | CaptureParams] = Field(default_factory=dict, max_length=MOST_CAPTURES)
    """Name of a capture → digital input whose edges the result reports."""
    follow: dict[Name, SpeedFollower] = Field(default_factory=dict, max_length=MOST_FOLLOWERS)
    """Analog output → the speed that it follows."""
    cycle: Annotated[bool, Field(strict=True)] = False
    """The path ends where it begins, and will be repeated without a pause: no motor may become too hot."""
    until: Annotated[str, Field(min_length=1, max_length=LONGEST_CONDITION)] | None = None
    """Condition that ends or pauses the goal."""
    then: Literal["end", "pause"] = "end"
    frame: FrameRange | None = None
    """Motion of the moving frame for which the goal is admitted."""

    @property
    def force_alone(self) -> bool:
        """Whether nothing moves: the forces change while the machine holds."""
        return bool(self.force) and self.points is None and self.curve is None

    @property
    def cornered(self) -> bool:
        """Whether the path is made of straight lines with blended corners."""
        return self.corner is not None or any(point.corner for point in self.points or ())

    @property
    def bends(self) -> bool:
        """Whether way-points may move within boxes."""
        return any(point.between for point in self.points or ())

    @property
    def acts(self) -> bool:
        """Whether the trajectory does more than move: events, followers, captures or a condition."""
        return bool(self.events or self.capture or self.follow or self.until)


def unknown_keys(content: object) -> Iterator[tuple[tuple[str | int, ...], list[str]]]:
    """Yield the place of each key that a trajectory does not have, with the keys that are known there.

    The controller ignores them, as it ignores all unknown fields; files and clients refuse them.
    """
    return _keys_unknown_to(Trajectory, content, ())


def read_trajectory(
    content: object,
    path: Sequence[str | int] = ("trajectory",),
    aliases: Mapping[str, str] = NO_ALIASES,
) -> Trajectory:
    """The trajectory in plain data (a map as read from YAML, JSON or MessagePack).

    `path` is where `content` lies, put before the path of an error. `aliases`: see `validated`. Raises
    RequestError: INVALID_PARAMS for a wrong type or number, INVALID_COORDINATES for names, INVALID_GOAL for
    parts that do not fit together.
    """
    trajectory = validated(Trajectory, _with_times(_with_middles(content)), path, aliases)
    alone = trajectory.force_alone and not (trajectory.coordinates or trajectory.guard)
    if (trajectory.points is None) == (trajectory.curve is None) and not alone:
        text = "give either `points` or a `curve`, or `force` alone"
        raise RequestError(ResultCode.INVALID_GOAL, text, path)
    if trajectory.points is None and trajectory.corner is not None:
        text = "`corner` blends the lines between way-points: give `points`, or leave it out"
        raise RequestError(ResultCode.INVALID_GOAL, text, (*path, "corner"))
    if trajectory.curve is not None:
        trajectory = _with_curve(trajectory, trajectory.curve, path)
    names = trajectory.coordinates
    if not names and not alone:
        raise RequestError(
            ResultCode.INVALID_COORDINATES, "name the coordinates that move", (*path, "coordinates")
        )
    for index, name in enumerate(names):
        if name in names[:index]:
            where = (*path, "coordinates", index)
            raise RequestError(ResultCode.INVALID_COORDINATES, f"coordinate {name!r} is given twice", where)
    for part, named in (("hold", trajectory.hold), ("tolerances", trajectory.tolerances)):
        for name in named:
            if name not in names and (part == "hold" or name not in trajectory.force):
                text = f"{name!r} is not among the coordinates {', '.join(names)}"
                raise RequestError(ResultCode.INVALID_COORDINATES, text, (*path, part, name))
    if trajectory.points is not None:
        _check_points(trajectory.points, trajectory, path)
    if trajectory.frame is not None:
        _check_range(trajectory.frame, trajectory, path)
    _check_forces(trajectory, path)
    _check_places(trajectory, path)
    return trajectory


def _check_places(trajectory: Trajectory, path: Sequence[str | int]) -> None:
    where: tuple[str | int, ...]
    for index, event in enumerate(trajectory.events):
        at, where = event.at, (*path, "events", index, "at")
        given = [name for name in ("time_s", "path_m", "point") if getattr(at, name) is not None]
        if len(given) != 1:
            found = ", ".join(given) or "none"
            text = f"{spelled(where)}: give exactly one of time_s, path_m, point; found {found}"
            raise RequestError(RequestCode.INVALID_PARAMS, text, where)
        if at.of is not None and given != ["path_m"]:
            where = (*where, "of")
            text = f"{spelled(where)}: a point belongs to path_m, not to {given[0]}"
            raise RequestError(RequestCode.INVALID_PARAMS, text, where)
    values = sum(len(event.set) for event in trajectory.events)
    if values > MOST_EVENTS:
        where = (*path, "events")
        text = f"{spelled(where)}: the events set {values} values, at most {MOST_EVENTS} are allowed"
        raise RequestError(RequestCode.INVALID_PARAMS, text, where)
    if trajectory.then == "pause" and trajectory.until is None:
        where = (*path, "then")
        text = f"{spelled(where)}: it states what `until` does, and there is no `until`"
        raise RequestError(RequestCode.INVALID_PARAMS, text, where)


def _check_forces(trajectory: Trajectory, path: Sequence[str | int]) -> None:
    for name, given in trajectory.force.items():
        times = [point.time_from_start_s for point in given] if isinstance(given, list) else []
        for index in range(1, len(times)):
            if times[index] <= times[index - 1]:
                text = f"times must increase strictly: {times[index]} s after {times[index - 1]} s"
                where = (*path, "force", name, index, "time_from_start_s")
                raise RequestError(ResultCode.INVALID_GOAL, text, where)


def _with_curve(trajectory: Trajectory, curve: Curve, path: Sequence[str | int]) -> Trajectory:
    if sum(shape is not None for shape in (curve.line, curve.circle, curve.helix)) != 1:
        raise RequestError(
            ResultCode.INVALID_GOAL, "give exactly one of line, circle, helix", (*path, "curve")
        )
    where = (*path, "curve", "of")
    if len(set(curve.of)) != len(curve.of):
        raise RequestError(ResultCode.INVALID_COORDINATES, "`of` must name different coordinates", where)
    if len(curve.of) == 2 and curve.leaves_plane:
        text = f"the curve is not in the plane of {' and '.join(curve.of)}: name a third coordinate"
        raise RequestError(ResultCode.INVALID_COORDINATES, text, where)
    if curve.line is not None and curve.line.from_m == curve.line.to_m:
        raise RequestError(
            ResultCode.INVALID_GOAL, "the line has no length", (*path, "curve", "line", "to_m")
        )
    if not trajectory.coordinates:
        names = [*curve.of, *(name for name in trajectory.hold if name not in curve.of)]
        trajectory = trajectory.model_copy(update={"coordinates": names})
    for index, name in enumerate(curve.of):
        if name not in trajectory.coordinates:
            text = f"the curve moves {name!r}, which is not among the coordinates"
            raise RequestError(ResultCode.INVALID_COORDINATES, text, (*where, index))
        if name in trajectory.hold:
            text = f"{name!r} is moved by the curve; `hold` cannot fix it"
            raise RequestError(ResultCode.INVALID_COORDINATES, text, (*path, "hold", name))
    return trajectory


def _with_times(content: object) -> object:
    """Return a trajectory with times at its way-points, where the fastest timing leaves out all of them.

    They shape the spline alone: distances of the way-points, each coordinate in shares of its range. The way
    from where the machine is counts as a mean one. Invalid values are left to the validation.
    """
    if not isinstance(content, Mapping) or content.get("timing") != "fastest":
        return content
    points = content.get("points")
    if not isinstance(points, list) or not points:
        return content
    if any(not isinstance(point, Mapping) or _BY_TIME.intersection(point) for point in points):
        return content
    rows, steps = [point.get("positions") for point in points], [1.0] * (len(points) - 1)
    if all(isinstance(row, list) and len(row) == len(rows[0]) and all(map(_is_number, row)) for row in rows):
        ranges = [(max(column) - min(column)) or 1.0 for column in zip(*rows, strict=True)]
        shares = [[value / whole for value, whole in zip(row, ranges, strict=True)] for row in rows]
        steps = [max(math.dist(*pair), _LEAST_STEP) for pair in pairwise(shares)]
    times = accumulate([sum(steps) / len(steps) if steps else 1.0, *steps])
    timed = [{**point, "time_from_start_s": time_s} for point, time_s in zip(points, times, strict=True)]
    return {**content, "points": timed}


def _with_middles(content: object) -> object:
    """Return a trajectory with positions at its way-points, in the middle of a box where they are left out.

    A box that is none is left to the checks of `between`.
    """
    points = content.get("points") if isinstance(content, Mapping) else None
    if not isinstance(content, Mapping) or not isinstance(points, list):
        return content
    if not any(isinstance(point, Mapping) and "between" in point for point in points):
        return content
    return {**content, "points": [_with_middle(point) for point in points]}


def _with_middle(point: object) -> object:
    if not isinstance(point, Mapping) or "positions" in point or "between" not in point:
        return point
    box = point["between"]
    rows = [row for row in box if isinstance(row, list)] if isinstance(box, list) else []
    columns = zip(*rows, strict=False)
    numbers = [sum(column) / len(column) for column in columns if all(map(_is_number, column))]
    return {**point, "positions": numbers or [0.0]}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and abs(value) <= MOST_NUMBER


def _check_points(points: list[Waypoint], trajectory: Trajectory, path: Sequence[str | int]) -> None:
    if trajectory.entry is not None:
        raise RequestError(ResultCode.INVALID_GOAL, "`entry` is allowed only with a curve", (*path, "entry"))
    if trajectory.hold:
        raise RequestError(ResultCode.INVALID_GOAL, "`hold` is allowed only with a curve", (*path, "hold"))
    _check_boxes(points, trajectory, path)
    count = len(trajectory.coordinates)
    before = -1.0
    for index, point in enumerate(points):
        where = (*path, "points", index)
        for part, values in (
            ("positions", point.positions),
            ("velocities", point.velocities),
            ("accelerations", point.accelerations),
        ):
            if values is not None and len(values) != count:
                text = f"{len(values)} {part} for {count} coordinates"
                raise RequestError(ResultCode.INVALID_GOAL, text, (*where, part))
        if point.accelerations is not None and point.velocities is None:
            text = "accelerations require velocities"
            raise RequestError(ResultCode.INVALID_GOAL, text, (*where, "accelerations"))
        if point.time_from_start_s <= before:
            text = f"times must increase strictly: {point.time_from_start_s} s after {before} s"
            raise RequestError(ResultCode.INVALID_GOAL, text, (*where, "time_from_start_s"))
        before = point.time_from_start_s
    _check_frames(points, path)
    if trajectory.cornered:
        _check_corners(points, trajectory, path)
    if before == 0.0:
        text = "a single way-point needs a time greater than 0"
        raise RequestError(ResultCode.INVALID_GOAL, text, (*path, "points", 0, "time_from_start_s"))


def _check_corners(points: list[Waypoint], trajectory: Trajectory, path: Sequence[str | int]) -> None:
    """Check that way-points of straight lines have a corner with a radius, and nothing that a line lacks."""
    ends = {len(points) - 1: "ends"} | ({0: "begins"} if points[0].time_from_start_s == 0.0 else {})
    for index, end in ends.items():
        if points[index].corner is not None:
            text = f"the path {end} at way-point {index}, so there is no corner: leave it out"
            raise RequestError(ResultCode.INVALID_GOAL, text, (*path, "points", index, "corner"))
    for index, point in enumerate(points):
        key, text = "corner", ""
        if point.corner is None and trajectory.corner is None and index not in ends:
            text = (
                f"way-point {index} has no corner, and others have one: give it a radius, or give a `corner`"
                " for the whole goal"
            )
        elif point.velocities is not None:
            key, text = "velocities", "with corners the path is straight between way-points: leave rates out"
        if text:
            raise RequestError(ResultCode.INVALID_GOAL, text, (*path, "points", index, key))


def _check_boxes(points: list[Waypoint], trajectory: Trajectory, path: Sequence[str | int]) -> None:
    """Check the boxes of way-points, and that a search in them is small."""
    free, count, last = 0, len(trajectory.coordinates), len(points) - 1
    for index, point in enumerate(points):
        if point.between is None:
            continue
        low, high = ([bound(pair) for pair in zip(*point.between, strict=False)] for bound in (min, max))
        free += sum(a < b for a, b in zip(low, high, strict=True))
        text = ""
        if trajectory.timing != "fastest":
            text = "a way-point moves within a box where that is faster: give `timing: fastest`"
        elif any(len(row) != count for row in point.between):
            text = f"give two places of {count} coordinates each, opposite corners of a box"
        elif index == last or point.time_from_start_s == 0.0:
            end = "ends" if index == last else "begins"
            text = f"the path {end} at way-point {index}, at one place: give its positions"
        elif low == high:
            text = "both places are the same: give positions"
        elif any(not a <= x <= b for a, x, b in zip(low, point.positions, high, strict=False)):
            text = "the positions of the way-point are outside its box"
        elif point.velocities is not None:
            text = "velocities belong to one place: leave them out"
        elif free > MOST_FREE:
            text = f"boxes leave {free} numbers free up to here, at most {MOST_FREE} are allowed"
        if text:
            raise RequestError(ResultCode.INVALID_GOAL, text, (*path, "points", index, "between"))


def _check_range(given: FrameRange, trajectory: Trajectory, path: Sequence[str | int]) -> None:
    """Check the range of a moving frame: that there is a frame, and that no range is empty."""
    if not any(point.frame is not None for point in trajectory.points or ()):
        text = "no way-point is in a moving frame: add `in`, or leave `frame` out"
        raise RequestError(ResultCode.INVALID_GOAL, text, (*path, "frame"))
    for key in ("speed_m_s", "window_m", "speed_rad_s", "window_rad"):
        pair = getattr(given, key)
        if pair is not None and not pair[0] < pair[1]:
            where = (*path, "frame", key)
            text = f"{spelled(where)}: {pair[0]:g} to {pair[1]:g} is empty; give [LOW, HIGH], LOW < HIGH"
            raise RequestError(RequestCode.INVALID_PARAMS, text, where)


def _check_frames(points: list[Waypoint], path: Sequence[str | int]) -> None:
    """Check that the way-points in a moving frame follow each other, between way-points of the world."""
    within = [index for index, point in enumerate(points) if point.frame is not None]
    if not within:
        return
    first, last = within[0], within[-1]
    text, where = "", first
    if last == len(points) - 1:
        text, where = (
            "a goal ends at rest in the world: add a way-point without `in` behind the last one",
            last,
        )
    elif points[first].time_from_start_s == 0.0:
        text = "a goal begins in the world: let the first time be above 0"
    for index in range(first, last + 1):
        if points[index].frame != points[first].frame:
            text, where = "the way-points in a moving frame must follow each other, in one frame", index
            break
    if text:
        raise RequestError(ResultCode.INVALID_GOAL, text, (*path, "points", where, "in"))


def _keys_unknown_to(
    model: type[BaseModel], data: object, place: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], list[str]]]:
    if not isinstance(data, Mapping):
        return
    known = _parts_of(model)
    for key, value in data.items():
        if key not in known:
            yield (*place, key), list(known)
            continue
        inner, kind = known[key]
        if inner is None:
            continue
        if kind is list and isinstance(value, list):
            for index, item in enumerate(value):
                yield from _keys_unknown_to(inner, item, (*place, key, index))
        elif kind is dict and isinstance(value, Mapping):
            for name, item in value.items():
                yield from _keys_unknown_to(inner, item, (*place, key, name))
        elif kind is None:
            yield from _keys_unknown_to(inner, value, (*place, key))


@cache
def _parts_of(model: type[BaseModel]) -> dict[str, tuple[type[BaseModel] | None, type | None]]:
    """Return by key the model that it holds, and whether in a list or a dict (None: by itself)."""
    return {
        field.alias or name: _model_within(field.annotation) for name, field in model.model_fields.items()
    }


def _model_within(annotation: Any) -> tuple[type[BaseModel] | None, type | None]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, None
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (list, dict):
        return _model_within(arguments[-1])[0], origin
    if origin in (Union, UnionType) or arguments:
        for argument in arguments:
            found = _model_within(argument)
            if found[0] is not None:
                return found
    return None, None
