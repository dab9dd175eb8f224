"""Trajectories: way-points or a curve, with tolerances. Shared by files, clients and the planner.

This module checks syntax and consistency only; the controller's admission decides whether a machine can
follow it. Units: rad or m per coordinate, s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from linkwork.protocol.codes import NAME_LENGTH, TRAJECTORY_POINTS, ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.validation import RequestModel, validated

MOST_COORDINATES = 256
Name = Annotated[str, Field(min_length=1, max_length=NAME_LENGTH)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, gt=0.0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(strict=True, ge=0.0, allow_inf_nan=False)]
Numbers = Annotated[list[Number], Field(min_length=1, max_length=MOST_COORDINATES)]
Vector = Annotated[list[Number], Field(min_length=3, max_length=3)]
NONE_ABOVE_S = 1.0e7
Duration = Annotated[float, Field(strict=True, gt=0.0, le=NONE_ABOVE_S, allow_inf_nan=False)]


class Waypoint(RequestModel):
    """One way-point. Positions only: C2 spline; with velocities: cubic; with accelerations too: quintic."""

    time_from_start_s: Annotated[float, Field(strict=True, ge=0.0, le=NONE_ABOVE_S, allow_inf_nan=False)]
    positions: Numbers
    velocities: Numbers | None = None
    accelerations: Numbers | None = None


class LineCurve(RequestModel):
    """From `from_m` straight to `to_m` at constant speed, in `duration_s`."""

    from_m: Vector
    to_m: Vector
    duration_s: Duration


class Circle(RequestModel):
    """x = cx + r sin(rate t + phase), y = cy + r cos(rate t + phase), z = cz."""

    center_m: Vector
    radius_m: Positive
    rate_rad_s: Number
    phase_rad: Number = 0.0
    duration_s: Duration


class Helix(RequestModel):
    """x = cx + r sin(rate t + phase), y = cy + r cos(rate t + phase), z = cz + pitch_speed t."""

    center_m: Vector
    radius_m: Positive
    rate_rad_s: Number
    phase_rad: Number = 0.0
    pitch_speed_m_s: Number
    duration_s: Duration


class Curve(RequestModel):
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
        """The one curve that is given."""
        found = self.line or self.circle or self.helix
        assert found is not None, "read_trajectory has made sure"
        return found

    @property
    def leaves_plane(self) -> bool:
        """Whether it moves along the third axis."""
        shape = self.shape
        if isinstance(shape, LineCurve):
            return shape.from_m[2] != shape.to_m[2]
        return isinstance(shape, Helix) and shape.pitch_speed_m_s != 0.0


class ToleranceParams(RequestModel):
    """Largest distance from the goal's path under way, and from its end (rad or m; of a force N or N m)."""

    path: Positive | None = None
    goal: Positive | None = None


class ForcePoint(RequestModel):
    """A force (N or N m) at a time; straight lines lead from one to the next."""

    time_from_start_s: Annotated[float, Field(strict=True, ge=0.0, le=NONE_ABOVE_S, allow_inf_nan=False)]
    force: Number


Force = Number | Annotated[list[ForcePoint], Field(min_length=1, max_length=10_000)]


class CurveEntry(RequestModel):
    """Lead-in and lead-out: the path parameter is ramped, jerk-limited, along the extension of the curve."""

    ramp_s: Annotated[float, Field(strict=True, gt=0.0, le=60.0, allow_inf_nan=False)]


class Trajectory(RequestModel):
    """A motion in named coordinates: `points`, or a `curve`. Made by `read_trajectory`.

    When the first way-point's time is above 0, the motion begins at time 0 where the machine is.
    Coordinates that a curve's three axes do not mean are held, at `hold` or where they are.
    """

    coordinates: Annotated[list[Name], Field(max_length=MOST_COORDINATES)] = Field(default_factory=list)
    """Joints or task coordinates, any order. Left out with a curve: `curve.of`, then the keys of `hold`."""
    points: Annotated[list[Waypoint], Field(min_length=1, max_length=TRAJECTORY_POINTS)] | None = None
    curve: Curve | None = None
    hold: dict[Name, Number] = Field(default_factory=dict, max_length=MOST_COORDINATES)
    tolerances: dict[Name, ToleranceParams] = Field(default_factory=dict, max_length=MOST_COORDINATES)
    goal_time_s: NotNegative | None = None
    """How long after the end the goal tolerances may take to be met."""
    entry: CurveEntry | None = None
    force: dict[Name, Force] = Field(default_factory=dict, max_length=MOST_COORDINATES)
    """Contact or constraint → its wanted force (N or N m), the same all along or over time."""
    guard: dict[Name, Positive] = Field(default_factory=dict, max_length=1)
    """Contact → force (N): the motion ends where the contact is felt, and it is pressed with this force."""


def read_trajectory(content: object, path: Sequence[str | int] = ("trajectory",)) -> Trajectory:
    """The trajectory in plain data (a map as read from YAML, JSON or MessagePack).

    `path` is where `content` lies, put before the path of an error. Raises RequestError: INVALID_PARAMS for a
    wrong type or number, INVALID_COORDINATES for names, INVALID_GOAL for parts that do not fit together.
    """
    trajectory = validated(Trajectory, content, path)
    if (trajectory.points is None) == (trajectory.curve is None):
        raise RequestError(ResultCode.INVALID_GOAL, "give either `points` or a `curve`", path)
    if trajectory.curve is not None:
        trajectory = _with_curve(trajectory, trajectory.curve, path)
    names = trajectory.coordinates
    if not names:
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
    _check_forces(trajectory, path)
    return trajectory


def _check_forces(trajectory: Trajectory, path: Sequence[str | int]) -> None:
    if trajectory.force and trajectory.guard:
        text = "a goal has either `force` (keep contact) or `guard` (make contact), not both: send two goals"
        raise RequestError(ResultCode.INVALID_GOAL, text, (*path, "guard"))
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


def _check_points(points: list[Waypoint], trajectory: Trajectory, path: Sequence[str | int]) -> None:
    if trajectory.entry is not None:
        raise RequestError(ResultCode.INVALID_GOAL, "`entry` is allowed only with a curve", (*path, "entry"))
    if trajectory.hold:
        raise RequestError(ResultCode.INVALID_GOAL, "`hold` is allowed only with a curve", (*path, "hold"))
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
    if before == 0.0:
        text = "a single way-point needs a time greater than 0"
        raise RequestError(ResultCode.INVALID_GOAL, text, (*path, "points", 0, "time_from_start_s"))
