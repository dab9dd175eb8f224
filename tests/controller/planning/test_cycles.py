"""Goals with `cycle: true`: repeated without end, the motors stay cool; as fast as that allows."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from linkwork.controller.planning.goals.admission import walk_through
from linkwork.controller.planning.goals.fastest_goals import in_fastest_time
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.process.planner import judge, plan
from linkwork.controller.planning.timing.stations import Stations, grid_of
from linkwork.machine import load
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from tests.controller.planning.test_fastest import FIVE_BAR, check_within, request_of, spline_of, without_jerk


def rated(machine, share, **more):
    """The machine whose motors have this share of their largest efforts without end."""
    motors = tuple(
        one.with_values(continuous_effort=share * one.max_effort, **more) for one in machine.motors
    )
    return replace(machine, motors=motors)


@pytest.mark.parametrize(
    "jerk", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["third order", "second order"]
)
@pytest.mark.parametrize(
    "thermal",
    [pytest.param({}, marks=pytest.mark.slow), {"thermal_time_s": 60.0, "winding_time_s": 2.0}],
    ids=["efforts", "temperatures"],
)
def test_a_cycle_uses_the_whole_continuous_effort_and_is_faster_than_a_stretched_one(jerk, thermal):
    machine = rated(load("five_bar") if jerk else without_jerk(load("five_bar")), 0.05, **thermal)
    once, start = request_of(machine, *FIVE_BAR)
    request, _ = request_of(machine, *FIVE_BAR, cycle=True)
    made = plan("send", request, machine, start)
    check_within(machine, replace(Path.of_block(made.words), cycle=True), start)
    found = walk_through(machine, replace(Path.of_block(made.words), cycle=True), start)
    used = [each.used for each in found.demands if each.quantity == "continuous effort"]
    assert 0.998 < max(used) <= 1.0 + 1e-6
    assert "warnings" not in made.report
    assert made.report["timing"]["limits"][0]["quantity"] == "continuous effort"
    hot = plan("send", once, machine, start)
    stretches = [each["min_time_stretch"] for each in hot.report["heat"].values()]
    assert "warnings" in hot.report
    assert made.duration_s < 0.99 * max(stretches) * hot.duration_s


@pytest.mark.slow
def test_a_larger_continuous_effort_saves_what_the_report_says():
    machine = rated(load("five_bar"), 0.08)
    params, start = request_of(machine, *FIVE_BAR, cycle=True)
    timing = judge(params, machine, start)["report"]["timing"]
    first = timing["savings"][0]
    assert first["quantity"] == "continuous effort"
    motors = tuple(
        one.with_values(continuous_effort=1.1 * one.continuous_effort) if one.joint == first["name"] else one
        for one in machine.motors
    )
    again = plan("send", params, replace(machine, motors=motors), start).duration_s
    assert timing["duration_s"] - again == pytest.approx(first["saves_s"], rel=0.05)


@pytest.mark.slow
def test_a_convex_program_finds_no_cooler_motion_in_less_time():
    cvxpy = pytest.importorskip("cvxpy")
    machine = rated(without_jerk(load("five_bar")), 0.05)
    path, start = spline_of(machine, *FIVE_BAR)
    path = replace(path, cycle=True)
    found = in_fastest_time(machine, path, start, 1.0)
    grid = grid_of(machine, path, 2, in_motion=False, intervals=40)
    stations = Stations.along(machine, path, start.q, 0.0, grid, 1.0)
    n, count = grid.at.shape
    about = np.interp(grid.at.ravel(), found.stations.grid.r, found.x)
    x = cvxpy.Variable(n + 1, nonneg=True)
    step = scipy.sparse.diags_array([-np.ones(n), np.ones(n)], offsets=[0, 1], shape=(n, n + 1))
    change = scipy.sparse.diags_array(0.5 / grid.width) @ step
    left, right = (scipy.sparse.eye_array(n, n + 1, k=k) for k in (0, 1))
    a, b, c = (part.reshape(n, count, -1) for part in stations.rows(about).sides())
    limits = [
        cvxpy.multiply(a[:, side, row], change @ x) + cvxpy.multiply(b[:, side, row], at @ x)
        <= 1.0 - c[:, side, row]
        for row in range(a.shape[2])
        for side, at in ((0, left), (-1, right))
    ]
    roots = cvxpy.sqrt(x)
    both = roots[1:] + roots[:-1]
    time = cvxpy.sum(cvxpy.multiply(2.0 * grid.width, cvxpy.inv_pos(both)))
    hottest = cvxpy.Variable()
    for parts in zip(*stations.heating(about), strict=True):
        of_u, of_x, rest = (part[count // 2 :: count] for part in parts)
        effort = cvxpy.multiply(of_u, change @ x) + cvxpy.multiply(of_x, 0.5 * (left + right) @ x) + rest
        squares = [2.0 * h * cvxpy.quad_over_lin(effort[i], both[i]) for i, h in enumerate(grid.width)]
        limits.append(cvxpy.sum(squares) <= hottest)
    less = 0.995 * found.path.duration_s
    problem = cvxpy.Problem(cvxpy.Minimize(hottest), [*limits, time <= less])
    problem.solve(solver="CLARABEL")
    assert hottest.value > less


def refusal(machine, params, start):
    with pytest.raises(RequestError) as caught:
        plan("send", params, machine, start)
    return caught.value


@pytest.mark.parametrize("timing", ["fastest", "given"])
def test_a_cycle_of_motors_whose_continuous_effort_is_unknown_is_refused_by_name(timing):
    machine = load("five_bar")
    first, second = machine.motors
    machine = replace(machine, motors=(first, second.with_values(continuous_effort=1.0)))
    params, start = request_of(machine, *FIVE_BAR, cycle=True, timing=timing)
    error = refusal(machine, params, start)
    assert (error.code, tuple(error.path)) == (ResultCode.INVALID_GOAL, ("trajectory", "cycle"))
    assert "left" in error.message
    assert "continuous_torque_N_m" in error.message
    assert "right" not in error.message


def test_a_cycle_that_does_not_end_where_it_begins_is_refused():
    machine = rated(load("five_bar"), 0.5)
    params, start = request_of(machine, ("x", "y"), [(0.05, 0.03), (0.02, 0.0)], cycle=True)
    error = refusal(machine, params, start)
    assert tuple(error.path) == ("trajectory", "cycle")
    assert "x ends 0.02 m away" in error.message


def test_a_given_cycle_that_is_too_hot_is_refused_with_the_stretch_that_helps():
    machine = rated(load("five_bar"), 0.002)
    params, start = request_of(machine, *FIVE_BAR, cycle=True, timing="given")
    error = refusal(machine, params, start)
    assert error.code == ResultCode.INFEASIBLE
    assert error.data["quantity"] == "continuous effort"
    slower = {**params["trajectory"]}
    for point in slower["points"]:
        point["time_from_start_s"] *= error.data["min_time_stretch"]
    plan("send", {"trajectory": slower}, machine, start)


def test_a_cycle_whose_load_alone_is_too_hot_is_refused_with_motor_and_share(vertical):
    machine = rated(without_jerk(vertical), 0.01)
    names = ("lower_hinge", "upper_hinge")
    params, start = request_of(machine, names, [(0.5, -0.4), (0.2, 0.5), (0.0, 0.0)], cycle=True)
    error = refusal(machine, params, start)
    assert error.code == ResultCode.INFEASIBLE
    assert "continuous effort" in error.message
    assert "_hinge" in error.message
