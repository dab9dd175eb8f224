"""Trajectories as data: what fits together, and what is refused with which code and path."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.protocol.codes import TRAJECTORY_POINTS, RequestCode, ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.trajectory import Circle, Helix, LineCurve, read_trajectory

nan = float("nan")
HELIX = {
    "center_m": [0, 0.35, 0], "radius_m": 0.05, "rate_rad_s": 1.2566,
    "pitch_speed_m_s": 0.02, "duration_s": 5,
}  # fmt: skip
LINE = {"from_m": [0, 0, 0], "to_m": [1, 0, 0], "duration_s": 2}
CIRCLE = {"center_m": [0, 0, 0], "radius_m": 1, "rate_rad_s": -2.0, "duration_s": 5}


def points(*rows, **more):
    keys = ("time_from_start_s", "positions", "velocities", "accelerations")
    return {"coordinates": ["a", "b"], "points": [dict(zip(keys, row, strict=False)) for row in rows], **more}


def test_way_points_with_what_they_carry():
    found = read_trajectory(points((0, [1, 2]), (1.5, [2, 3], [0, 0]), (2.0, [2, 3], [0, 0], [0, 0])))
    assert found.coordinates == ["a", "b"]
    assert [point.time_from_start_s for point in found.points] == [0.0, 1.5, 2.0]
    assert found.points[0].velocities is None
    assert found.points[2].accelerations == [0.0, 0.0]


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2), min_size=1, max_size=8))
def test_the_fastest_timing_needs_no_times(rows: list[list[float]]):
    content = {"coordinates": ["a", "b"], "points": [{"positions": row} for row in rows], "timing": "fastest"}
    found = read_trajectory(content)
    times = [point.time_from_start_s for point in found.points]
    assert [point.positions for point in found.points] == rows
    assert times[0] > 0.0
    assert all(np.diff(times) > 0.0)


def test_distances_are_the_times_that_are_left_out():
    rows = [{"positions": [0.0, 5.0]}, {"positions": [1.0, 5.0]}, {"positions": [3.0, 5.0]}]
    found = read_trajectory({"coordinates": ["a", "b"], "points": rows, "timing": "fastest"})
    one, two = np.diff([point.time_from_start_s for point in found.points])
    assert two == pytest.approx(2.0 * one)
    assert found.points[0].time_from_start_s == pytest.approx(0.5 * (one + two))


@pytest.mark.parametrize(
    ("rows", "more", "path"),
    [
        ([{"positions": [1, 2]}], {}, ("points", 0, "time_from_start_s")),
        (
            [{"positions": [1, 2], "velocities": [0, 0]}], {"timing": "fastest"},
            ("points", 0, "time_from_start_s"),
        ),
        (
            [{"positions": [1, 2]}, {"positions": [1, 2], "time_from_start_s": 1.0}], {"timing": "fastest"},
            ("points", 0, "time_from_start_s"),
        ),
        ([{"positions": [1, "b"]}], {"timing": "fastest"}, ("points", 0, "positions", 1)),
        ([{"positions": [1, 2]}, {"positions": [1]}], {"timing": "fastest"}, ("points", 1, "positions")),
        ([{}, {}], {"timing": "fastest"}, ("points", 0, "positions")),
    ],
)  # fmt: skip
def test_times_are_left_out_at_all_way_points_or_at_none(rows, more, path):
    with pytest.raises(RequestError) as caught:
        read_trajectory({"coordinates": ["a", "b"], "points": rows, **more}, ())
    assert caught.value.path == path


def test_a_combination_among_the_names_is_refused_with_its_place():
    with pytest.raises(RequestError, match=r"^coordinates\[1\]: a combination is written as ") as caught:
        read_trajectory({"coordinates": ["a", {"row": {"x": 1, "y": -2}}]}, ())
    assert caught.value.path == ("coordinates", 1)


def test_tolerances_goal_time_and_unknown_fields():
    found = read_trajectory(
        points(
            (1, [1, 2]), tolerances={"a": {"path": 0.1, "colour": 1}}, goal_time_s=0.5, force={"guide": 20.0}
        )
    )
    assert found.tolerances["a"].path == 0.1
    assert found.tolerances["a"].goal is None
    assert found.goal_time_s == 0.5


@pytest.mark.parametrize(
    ("name", "shape", "kind"),
    [("line", LINE, LineCurve), ("circle", CIRCLE, Circle), ("helix", HELIX, Helix)],
)
def test_the_named_curves(name, shape, kind):
    found = read_trajectory({"coordinates": ["x", "y", "z"], "curve": {name: shape}, "entry": {"ramp_s": 1}})
    assert isinstance(found.curve.shape, kind)
    assert found.entry.ramp_s == 1.0
    assert found.curve.of == ["x", "y", "z"]


def test_the_coordinates_of_a_curve_may_be_left_out():
    found = read_trajectory({"curve": {"helix": HELIX, "of": ["u", "v", "w"]}, "hold": {"angle": 0}})
    assert found.coordinates == ["u", "v", "w", "angle"]


def test_a_path_prefix_stands_before_every_path():
    with pytest.raises(RequestError) as caught:
        read_trajectory(points((0, [1, 2]), (0, [1, 2])), path=("file", 0))
    assert caught.value.path == ("file", 0, "points", 1, "time_from_start_s")


CURVE = {"helix": HELIX}
WRONG = [
    (points((0, [1, 2]), (1, [1])), ResultCode.INVALID_GOAL, ("points", 1, "positions")),
    (points((0, [1, 2], [1]), (1, [1, 2])), ResultCode.INVALID_GOAL, ("points", 0, "velocities")),
    (points((0, [1, 2]), (1, [1, 2], [0, 0], [1])), ResultCode.INVALID_GOAL, ("points", 1, "accelerations")),
    (points((0, [1, 2]), (1, [1, 2], None, [1, 1])), ResultCode.INVALID_GOAL, ("points", 1, "accelerations")),
    (points((0, [1, 2]), (1, [1, 2]),
    (1, [1, 2])), ResultCode.INVALID_GOAL, ("points", 2, "time_from_start_s")),
    (points((0, [1, 2])), ResultCode.INVALID_GOAL, ("points", 0, "time_from_start_s")),
    (points((-1, [1, 2])), RequestCode.INVALID_PARAMS, ("points", 0, "time_from_start_s")),
    (points((nan, [1, 2])), RequestCode.INVALID_PARAMS, ("points", 0, "time_from_start_s")),
    (points((0, [1, nan]), (1, [1, 2])), RequestCode.INVALID_PARAMS, ("points", 0, "positions", 1)),
    (points((0, ["1", 2])), RequestCode.INVALID_PARAMS, ("points", 0, "positions", 0)),
    (points((0, [True, 2])), RequestCode.INVALID_PARAMS, ("points", 0, "positions", 0)),
    (points(), RequestCode.INVALID_PARAMS, ("points",)),
    (points((1, [1, 2]), coordinates=["a", "a"]), ResultCode.INVALID_COORDINATES, ("coordinates", 1)),
    (points((1, [1, 2]), coordinates=[]), ResultCode.INVALID_COORDINATES, ("coordinates",)),
    (points((1, [1, 2]), coordinates=["a", ""]), RequestCode.INVALID_PARAMS, ("coordinates", 1)),
    (points((1, [1, 2]), coordinates=["a", "x" * 129]), RequestCode.INVALID_PARAMS, ("coordinates", 1)),
    (points((1, [1, 2]), tolerances={"c": {"path": 1}}), ResultCode.INVALID_COORDINATES, ("tolerances", "c")),
    (points((1, [1, 2]), tolerances={"a": {"path": 0}}), RequestCode.INVALID_PARAMS,
     ("tolerances", "a", "path")),
    (points((1, [1, 2]), goal_time_s=-1), RequestCode.INVALID_PARAMS, ("goal_time_s",)),
    (points((1, [1, 2]), curve=CURVE), ResultCode.INVALID_GOAL, ()),
    (points((1, [1, 2]), entry={"ramp_s": 1}), ResultCode.INVALID_GOAL, ("entry",)),
    (points((1, [1, 2]), hold={"a": 1}), ResultCode.INVALID_GOAL, ("hold",)),
    ({"coordinates": ["a"]}, ResultCode.INVALID_GOAL, ()),
    ({"curve": {}}, ResultCode.INVALID_GOAL, ("curve",)),
    ({"curve": {"helix": HELIX, "line": LINE}}, ResultCode.INVALID_GOAL, ("curve",)),
    ({"curve": {"helix": {**HELIX, "radius_m": 0}}}, RequestCode.INVALID_PARAMS,
     ("curve", "helix", "radius_m")),
    ({"curve": {"helix": {**HELIX, "center_m": [0, 1]}}}, RequestCode.INVALID_PARAMS,
     ("curve", "helix", "center_m")),
    ({"curve": {"line": {**LINE, "to_m": [0, 0, 0]}}}, ResultCode.INVALID_GOAL, ("curve", "line", "to_m")),
    ({"curve": CURVE, "coordinates": ["x", "y"]}, ResultCode.INVALID_COORDINATES, ("curve", "of", 2)),
    ({"curve": {**CURVE, "of": ["x", "y", "y"]}}, ResultCode.INVALID_COORDINATES, ("curve", "of")),
    ({"curve": CURVE, "hold": {"x": 1}}, ResultCode.INVALID_COORDINATES, ("hold", "x")),
    ({"curve": CURVE, "coordinates": ["x", "y", "z"], "hold": {"a": 1}}, ResultCode.INVALID_COORDINATES,
     ("hold", "a")),
    ({"curve": CURVE, "entry": {"ramp_s": 0}}, RequestCode.INVALID_PARAMS, ("entry", "ramp_s")),
    ("a circle", RequestCode.INVALID_PARAMS, ()),
    (None, RequestCode.INVALID_PARAMS, ()),
]  # fmt: skip


@pytest.mark.parametrize(("content", "code", "path"), WRONG)
def test_what_does_not_fit_is_refused_with_its_path(content, code, path):
    with pytest.raises(RequestError) as caught:
        read_trajectory(content, path=())
    assert (caught.value.code, caught.value.path) == (code, path)
    assert caught.value.message


@pytest.mark.slow
def test_more_points_than_allowed_are_refused():
    row = {"time_from_start_s": 0.0, "positions": [0.0, 0.0]}
    with pytest.raises(RequestError) as caught:
        read_trajectory({"coordinates": ["a", "b"], "points": [row] * (TRAJECTORY_POINTS + 1)})
    assert caught.value.path == ("trajectory", "points")


@pytest.mark.slow
def test_as_many_points_as_allowed_are_read():
    rows = [{"time_from_start_s": 0.001 * k, "positions": [0.0, 1.0]} for k in range(TRAJECTORY_POINTS)]
    assert len(read_trajectory({"coordinates": ["a", "b"], "points": rows}).points) == TRAJECTORY_POINTS


@pytest.mark.parametrize(
    ("capture", "where"),
    [
        ({"c": {"input": "near", "edge": "up"}}, ("c", "edge")),
        ({"c": {"edge": "both"}}, ("c", "input")),
        ({"c": 3}, ("c",)),
    ],
)
def test_the_path_of_a_choice_leads_to_the_key(capture, where):
    with pytest.raises(RequestError) as refused:
        read_trajectory(points((1.0, [0.0, 0.0]), capture=capture))
    assert refused.value.path == ("trajectory", "capture", *where)
