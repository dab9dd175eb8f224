"""Paths of straight lines with blended corners: within the radius, without a step of acceleration."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.interpolate import BPoly

from linkwork.controller.planning.goals.fastest_goals import in_fastest_time
from linkwork.controller.planning.messages.planner_start import Present, Start
from linkwork.controller.planning.paths.corners import CornerMetric, path_with_corners
from linkwork.controller.planning.process.planner import judge, plan
from linkwork.machine import load
from linkwork.protocol.errors import RequestError
from linkwork.protocol.trajectory import read_trajectory

NAMES = ("x", "y", "turn")
METRIC = CornerMetric(np.array([False, False, True]), np.ones(3))
PLACE = st.tuples(*[st.floats(-1.0, 1.0)] * 3)


def present_at(theta, **motion):
    theta = np.array(theta, np.float64)
    return Present(
        tuple(range(len(theta))), NAMES[: len(theta)], theta, np.zeros(len(theta)),
        np.zeros(len(theta), bool), np.full(len(theta), 1e-3), **motion,
    )  # fmt: skip


def path_of(places, radii, steps, timing):
    times = np.cumsum(steps).tolist()
    points = [
        {"time_from_start_s": time_s, "positions": list(place)} | ({"corner": radius} if radius else {})
        for time_s, place, radius in zip(times, places[1:], [*radii, None], strict=True)
    ]
    given = read_trajectory({"coordinates": list(NAMES), "points": points, "timing": timing})
    return path_with_corners(given, range(3), present_at(places[0]), METRIC)


def beside(place, ends):
    """Distance of places (n × k) to the line between two ends."""
    first, last = ends
    along = np.clip((place - first) @ (last - first) / ((last - first) @ (last - first)), 0.0, 1.0)
    return np.linalg.norm(place - first - along[:, None] * (last - first), axis=1)


@settings(max_examples=40, deadline=None)
@given(
    data=st.data(),
    places=st.lists(PLACE, min_size=3, max_size=6),
    timing=st.sampled_from(["given", "fastest"]),
)
def test_a_blend_stays_within_its_radius_and_has_no_step_of_acceleration(data, places, timing):
    places = np.array(places)
    assume(np.abs(np.diff(places, axis=0)).min() > 0.01)
    corners = len(places) - 2
    radii = [
        {"radius_m": data.draw(st.floats(0.005, 0.5)), "radius_rad": data.draw(st.floats(0.005, 0.5))}
        for _ in range(corners)
    ]
    steps = [data.draw(st.floats(0.2, 3.0)) for _ in range(corners + 1)]
    path = path_of(places, radii, steps, timing)
    curve = BPoly.from_derivatives(path.knots, path.values)
    s = np.concatenate([np.linspace(a, b, 60) for a, b in pairwise(path.knots)])
    theta, rate, bend = (curve(s, nu) for nu in range(3))
    assert theta[0] == pytest.approx(places[0])
    assert theta[-1] == pytest.approx(places[-1])
    assert np.abs([rate[0], rate[-1], bend[0], bend[-1]]).max() < 1e-9
    off = np.min([beside(theta, ends) for ends in pairwise(places)], axis=0)
    near = np.zeros(len(s), bool)
    for corner, radius in zip(places[1:-1], radii, strict=True):
        away_m = np.linalg.norm(theta[:, :2] - corner[:2], axis=1)
        away_rad = np.abs(theta[:, 2] - corner[2])
        near |= (away_m <= radius["radius_m"] + 1e-9) & (away_rad <= radius["radius_rad"] + 1e-9)
    assert off[~near].max(initial=0.0) < 1e-6, "away from the corners it is on the lines"
    jumps = [
        np.abs(curve(path.knots[1:-1] + eps, 2) - curve(path.knots[1:-1] - eps, 2)).max()
        for eps in (1e-7, 1e-9)
    ]
    assert jumps[1] <= 0.02 * jumps[0] + 1e-6 * np.abs(bend).max()


def test_a_path_that_takes_over_in_motion_begins_with_its_velocity_and_acceleration():
    given = read_trajectory(
        {"coordinates": list(NAMES), "corner": {"radius_m": 0.1},
         "points": [{"time_from_start_s": 1.0, "positions": [0.3, 0.1, 0.2]},
                    {"time_from_start_s": 2.0, "positions": [0.3, 0.5, 0.2]}]}
    )  # fmt: skip
    present = present_at([0.0, 0.0, 0.0], acceleration=np.array([0.1, -0.2, 0.3]), moving=True)
    present.rate[:] = 0.2, -0.1, 0.05
    path = path_with_corners(given, range(3), present, METRIC)
    assert path.values[0] == pytest.approx(np.array([present.theta, present.rate, present.acceleration]))


def five_bar(**more):
    points = [{"positions": list(place)} for place in ((0.05, 0.35), (0.05, 0.29), (-0.03, 0.29))]
    return {
        "coordinates": ["x", "y"],
        "timing": "fastest",
        "corner": {"radius_m": 0.01},
        "points": points,
        **more,
    }


def changed(**by_point):
    """The trajectory with other way-points: points_1={...}."""
    asked = five_bar()
    for key, more in by_point.items():
        asked["points"][int(key.removeprefix("point_"))] |= more
    return asked


def timed(first=1.0, **more):
    points = [{**point, "time_from_start_s": first + k} for k, point in enumerate(five_bar()["points"])]
    return five_bar(points=points, timing="given", **more)


LINE = {"from_m": [0, 0, 0], "to_m": [1, 0, 0], "duration_s": 1}
WRONG = {
    "no radius": (five_bar(corner={}), ("corner",)),
    "no radius at a way-point": (changed(point_1={"corner": {}}), ("points", 1, "corner")),
    "zero": (five_bar(corner={"radius_m": 0.0}), ("corner", "radius_m")),
    "negative": (changed(point_1={"corner": {"radius_m": -0.1}}), ("points", 1, "corner", "radius_m")),
    "infinite": (five_bar(corner={"radius_m": float("inf")}), ("corner", "radius_m")),
    "not a number": (five_bar(corner={"radius_m": float("nan")}), ("corner", "radius_m")),
    "text": (five_bar(corner="round"), ("corner",)),
    "no value": (five_bar(corner=None), ("corner",)),
    "no value at a way-point": (changed(point_1={"corner": None}), ("points", 1, "corner")),
    "no unit": (five_bar(corner=0.01), ("corner",)),
    "nearly doubled": (changed(point_1={"positions": [0.05, 0.350001]}), ("points", 1, "positions")),
    "an angle": (five_bar(corner={"radius_rad": 0.1}), ("corner",)),
    "an angle at a way-point": (changed(point_1={"corner": {"radius_rad": 0.1}}), ("points", 1, "corner")),
    "too small": (five_bar(corner={"radius_m": 1e-9}), ("corner", "radius_m")),
    "last": (changed(point_2={"corner": {"radius_m": 0.1}}), ("points", 2, "corner")),
    "doubled": (changed(point_1={"positions": [0.05, 0.35]}), ("points", 1, "positions")),
    "curve": ({"curve": {"line": LINE}, "corner": {"radius_m": 1}}, ("corner",)),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_corner_that_is_none_is_refused_by_its_field(name):
    asked, where = WRONG[name]
    machine = load("five_bar")
    start = Start.at_pose(machine, machine.initial_q)
    with pytest.raises(RequestError) as caught:
        plan("send", {"trajectory": asked}, machine, start)
    assert tuple(caught.value.path) == ("trajectory", *where)


def test_corners_are_for_all_way_points_between_and_straight_lines_have_no_rates():
    asked = timed()
    asked["points"][1]["velocities"] = [0.0, 0.0]
    with pytest.raises(RequestError, match="straight") as caught:
        read_trajectory(asked)
    assert caught.value.path == ("trajectory", "points", 1, "velocities")
    asked = timed()
    del asked["corner"]
    asked["points"][0]["corner"] = {"radius_m": 0.01}
    with pytest.raises(RequestError, match="way-point 1 has no corner") as caught:
        read_trajectory(asked)
    assert caught.value.path == ("trajectory", "points", 1, "corner")
    asked = timed(0.0)
    asked["points"][0]["corner"] = {"radius_m": 0.01}
    with pytest.raises(RequestError, match="begins at way-point 0"):
        read_trajectory(asked)


@pytest.mark.parametrize("timing", ["given", "fastest"])
def test_a_radius_that_the_lines_do_not_allow_is_cut_and_reported(timing):
    machine = load("five_bar")
    start = Start.at_pose(machine, machine.initial_q)
    asked = timed(corner={"radius_m": 0.05}) | {"timing": timing}
    made = plan("send", {"trajectory": asked}, machine, start)
    found = judge({"trajectory": asked}, machine, start)
    for report in (made.report, found["report"]):
        assert any("way-point 1 is cut from 0.05 m to" in text for text in report["warnings"])
    narrow = plan("send", {"trajectory": asked | {"corner": {"radius_m": 0.01}}}, machine, start)
    assert "warnings" not in narrow.report
    assert timing == "given" or made.duration_s < narrow.duration_s, "rounder is faster"


def test_violations_and_places_are_at_their_way_points():
    machine = load("five_bar")
    start = Start.at_pose(machine, machine.initial_q)
    asked = timed()
    asked["points"][1]["time_from_start_s"] = 1.02
    found = judge({"trajectory": asked}, machine, start)
    assert {each["point"] for each in found["violations"]} <= {0, 1, 2}
    with pytest.raises(RequestError) as caught:
        plan("send", {"trajectory": asked}, machine, start)
    assert caught.value.path == ("trajectory", "points", found["violations"][0]["point"])
    present = start.present(machine, [machine.coordinate_index(name) for name in ("x", "y")])
    metric = CornerMetric(np.zeros(2, bool), np.ones(2))
    path = path_with_corners(read_trajectory(five_bar()), range(2), present, metric)
    quick = in_fastest_time(machine, path, start, 1.0).path
    for here, mark in zip(path.way_points_s, quick.way_points_s, strict=True):
        assert quick.evaluate(float(mark))[0] == pytest.approx(path.evaluate(float(here))[0], abs=1e-6)
