"""The fastest timing of a path: as fast as a convex program, within every limit, refused where it must be."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BPoly

from linkwork.controller.planning.goals.admission import judge_walk, walk_through
from linkwork.controller.planning.goals.fastest_goals import in_fastest_time
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.paths.splines import path_through
from linkwork.controller.planning.process.planner import judge, plan
from linkwork.controller.planning.timing.fastest import along, fastest
from linkwork.controller.planning.timing.stations import Stations, grid_of
from linkwork.controller.planning.walk.walk import walk
from linkwork.machine import load
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.trajectory import Waypoint

FIVE_BAR = (("x", "y"), [(0.05, 0.03), (0.08, -0.03), (-0.04, -0.02), (0.0, 0.0)])
CASES = {
    "five_bar": FIVE_BAR,
    "five_bar_redundant": FIVE_BAR,
    "delta": (("x", "y", "z"), [(0.0, 0.05, 0.06), (0.1, 0.08, 0.05), (0.1, -0.05, 0.0)]),
    "scara": (
        ("x", "y", "z", "angle"),
        [(-0.1, -0.05, 0.03, 0.3), (-0.2, -0.1, 0.06, 0.5), (0.0, -0.1, 0, 0)],
    ),
    "platform_3rrs": (("motor_1", "motor_2", "motor_3"), [(0.2, -0.1, 0.1), (-0.1, 0.2, 0.15), (0, 0, 0)]),
}
WEAK = {"five_bar": 0.15, "five_bar_redundant": 0.15, "delta": 0.15, "scara": 0.15, "platform_3rrs": 0.7}
"""Share of the motors' efforts with which efforts limit the motion."""


def without_jerk(machine, strength=1.0):
    """The machine with limits of second order alone, and motors of this share of their efforts."""
    coordinates = tuple(one.with_values(jerk=np.inf) for one in machine.coordinates)
    motors = tuple(
        one.with_values(max_effort_rate=np.inf, max_effort=strength * one.max_effort)
        for one in machine.motors
    )
    joints = coordinates[: machine.mechanism.nv]
    return replace(machine, coordinates=coordinates, joints=joints, motors=motors)


def spline_of(machine, names, ways):
    """The spline through way-points relative to where the machine is, one a second."""
    start = Start.at_pose(machine, machine.initial_q)
    index = [machine.coordinate_index(name) for name in names]
    present = start.present(machine, index)
    points = [
        Waypoint(time_from_start_s=float(n), positions=(present.theta + np.array(way)).tolist())
        for n, way in enumerate(ways, 1)
    ]
    return path_through(points, range(len(index)), present), start


def request_of(machine, names, ways, **more):
    start = Start.at_pose(machine, machine.initial_q)
    here = start.theta[[machine.coordinate_index(name) for name in names]]
    points = [
        {"time_from_start_s": float(n), "positions": (here + np.array(way)).tolist()}
        for n, way in enumerate(ways, 1)
    ]
    return {"trajectory": {"timing": "fastest", "coordinates": list(names), "points": points} | more}, start


def convex_duration(machine, path, start):
    """Time of the convex program on 200 intervals, limits at both ends of each: cvxpy and clarabel."""
    cvxpy = pytest.importorskip("cvxpy")
    grid = grid_of(machine, path, 2, in_motion=False, intervals=200)
    stations = Stations.along(machine, path, start.q, 0.0, grid, 1.0)
    about = None
    for _ in range(2):
        rows = stations.rows(about)
        n, count = grid.at.shape
        a, b, c = (part.reshape(n, count, -1) for part in rows.sides())
        x = cvxpy.Variable(n + 1, nonneg=True)
        step = scipy.sparse.diags_array([-np.ones(n), np.ones(n)], offsets=[0, 1], shape=(n, n + 1))
        change = scipy.sparse.diags_array(0.5 / grid.width) @ step
        left, right = (scipy.sparse.eye_array(n, n + 1, k=k) for k in (0, 1))
        limits = [
            scipy.sparse.diags_array(a[:, side, row]) @ change
            + scipy.sparse.diags_array(b[:, side, row]) @ at
            for row in range(a.shape[2])
            for side, at in ((0, left), (-1, right))
        ]
        most = [1.0 - c[:, side, row] for row in range(a.shape[2]) for side in (0, -1)]
        limits = [scipy.sparse.vstack(limits) @ x <= np.concatenate(most)]
        root = cvxpy.sqrt(x)
        times = cvxpy.multiply(2.0 * grid.width, cvxpy.inv_pos(root[1:] + root[:-1]))
        problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(times)), limits)
        problem.solve(solver="CLARABEL")
        about, _ = stations.at_samples(x.value)
    return problem.value


def check_within(machine, path: Path, start):
    """Nothing is beyond a limit at 20 points of each interval."""
    found = walk_through(machine, path, start)
    assert found.worst.stretch == 1.0, found.worst
    for demand in found.demands:
        assert demand.used <= 1.0 + 1e-6 or demand.stretch == 1.0, demand
    shares = np.linspace(0.0, 1.0, 21)
    at = path.knots[:-1, None] + np.diff(path.knots)[:, None] * shares
    q = found.walk.q[0]
    pieces = np.repeat(np.arange(len(path.knots) - 1), len(shares))
    dense = walk(machine, path, q, 0.0, (pieces, (at - path.knots[:-1, None]).ravel()))
    judged = judge_walk(machine, path, dense)
    over = [demand for demand in judged.demands if demand.stretch > 1.0]
    assert not over, over


@pytest.mark.parametrize("strong", [pytest.param(True, marks=pytest.mark.slow), False])
@pytest.mark.parametrize(
    "name", [name if "five" in name else pytest.param(name, marks=pytest.mark.slow) for name in CASES]
)
def test_second_order_is_as_fast_as_a_convex_program(name, strong):
    names, ways = CASES[name]
    machine = without_jerk(load(name), 1.0 if strong else WEAK[name])
    path, start = spline_of(machine, names, ways)
    timed = in_fastest_time(machine, path, start, 1.0).path
    assert timed.duration_s <= 1.002 * convex_duration(machine, path, start)
    check_within(machine, timed, start)


@pytest.mark.parametrize(
    "name",
    [name if name == "platform_3rrs" else pytest.param(name, marks=pytest.mark.slow) for name in CASES],
)
def test_third_order_keeps_every_limit_of_the_machine(name):
    names, ways = CASES[name]
    machine = load(name)
    path, start = spline_of(machine, names, ways)
    timing = in_fastest_time(machine, path, start, 1.0)
    check_within(machine, timing.path, start)
    second = in_fastest_time(without_jerk(machine), path, start, 1.0)
    assert second.path.duration_s < timing.path.duration_s < path.duration_s


def test_a_straight_line_takes_the_time_of_the_jerk_limited_move():
    machine = load("five_bar")
    start = Start.at_pose(machine, machine.initial_q)
    quick = plan("move", {"target": {"x": 0.1}}, machine, start)
    found = plan("move", {"target": {"x": 0.1}, "timing": "fastest"}, machine, start)
    assert found.duration_s == pytest.approx(quick.duration_s, rel=1e-3)


@pytest.mark.slow
def test_loose_limits_of_third_order_cost_little():
    machine = load("five_bar")
    coordinates = tuple(one.with_values(jerk=100.0 * one.jerk) for one in machine.coordinates)
    loose = replace(machine, coordinates=coordinates, joints=coordinates[: machine.mechanism.nv])
    path, start = spline_of(machine, *FIVE_BAR)
    second = in_fastest_time(without_jerk(machine), path, start, 1.0)
    third = in_fastest_time(loose, path, start, 1.0)
    assert third.path.duration_s <= 1.03 * second.path.duration_s


@settings(max_examples=4, deadline=None)
@given(
    ways=st.lists(st.tuples(*[st.floats(-0.07, 0.07)] * 2), min_size=1, max_size=4),
    strength=st.floats(0.1, 1.0),
    margin=st.floats(0.5, 1.0),
)
def test_any_path_stays_and_keeps_a_share_of_each_limit(ways, strength, margin):
    machine = without_jerk(load("five_bar"), strength)
    places = [(0.0, 0.0), *ways]
    if min(np.abs(np.subtract(a, b)).max() for a, b in pairwise(places)) < 1e-3:
        return
    path, start = spline_of(machine, ("x", "y"), ways)
    timed = in_fastest_time(machine, path, start, margin).path
    found = walk_through(machine, timed, start)
    speeds = [each for each in found.demands if each.quantity in ("effort", "velocity", "acceleration")]
    assert max(each.used for each in speeds) <= margin * (1.0 + 1e-5)
    assert timed.marks is not None
    for knot, mark in zip(path.knots, timed.marks, strict=True):
        assert timed.evaluate(float(mark))[0] == pytest.approx(path.evaluate(float(knot))[0], abs=1e-9)


def test_the_report_sums_to_the_whole_time_and_predicts_a_new_solve():
    machine = without_jerk(load("five_bar"), 0.15)
    params, start = request_of(machine, *FIVE_BAR)
    timing = judge(params, machine, start)["report"]["timing"]
    assert sum(each["share"] for each in timing["limits"]) == pytest.approx(1.0)
    assert timing["stretches"][0]["from_s"] == 0.0
    assert timing["stretches"][-1]["to_s"] == pytest.approx(timing["duration_s"], rel=1e-3)
    first = timing["savings"][0]
    motors = tuple(
        one.with_values(max_effort=1.1 * one.max_effort) if one.joint == first["name"] else one
        for one in machine.motors
    )
    path, _ = spline_of(machine, *FIVE_BAR)
    again = in_fastest_time(replace(machine, motors=motors), path, start, 1.0).path.duration_s
    assert first["quantity"] == "effort"
    assert timing["duration_s"] - again == pytest.approx(first["saves_s"], rel=0.02)


def test_way_points_have_times_on_the_timed_path():
    machine = without_jerk(load("five_bar"))
    path, start = spline_of(machine, *FIVE_BAR)
    timing = fastest(machine, along(machine, path, start.q, 0.0, 1.0, in_motion=False), 0.0, 1.0)
    marks = timing.path.marks
    assert marks is not None
    assert marks[[0, -1]] == pytest.approx([0.0, timing.path.duration_s])
    assert np.all(np.diff(marks) > 0.0)
    assert timing.path.stretched(2.0).marks == pytest.approx(2.0 * marks)


@pytest.mark.parametrize(
    ("change", "path", "code"),
    [
        ({1: {"velocities": [0.0, 0.0]}}, ("trajectory", "points", 1, "velocities"), ResultCode.INVALID_GOAL),
        ({2: {"positions": None}}, ("trajectory", "points", 2, "positions"), ResultCode.INVALID_GOAL),
    ],
)
def test_paths_that_stand_still_are_refused_by_their_field(change, path, code):
    machine = load("five_bar")
    params, start = request_of(machine, *FIVE_BAR)
    points = params["trajectory"]["points"]
    for index, more in change.items():
        points[index] |= {
            key: points[index - 1][key] if value is None else value for key, value in more.items()
        }
    with pytest.raises(RequestError) as caught:
        plan("send", params, machine, start)
    assert (caught.value.code, tuple(caught.value.path)) == (code, path)


def test_a_load_that_the_motors_cannot_hold_is_refused_with_sample_and_cause(vertical):
    weak = without_jerk(vertical, 0.15)
    params, start = request_of(weak, ("lower_hinge", "upper_hinge"), [(0.5, -0.4), (0.2, 0.5)])
    with pytest.raises(RequestError) as caught:
        plan("send", params, weak, start)
    assert caught.value.code == ResultCode.INFEASIBLE
    assert caught.value.data["quantity"] == "effort"
    assert caught.value.data["sample"] >= 0
    assert caught.value.data["min_time_stretch"] is None


@pytest.mark.parametrize("margin", [0.0, 1.5, -1])
def test_a_margin_outside_its_range_is_refused_by_name(margin):
    machine = load("five_bar")
    params, start = request_of(machine, *FIVE_BAR, margin=margin)
    with pytest.raises(RequestError) as caught:
        plan("send", params, machine, start)
    assert tuple(caught.value.path) == ("trajectory", "margin")


SEVEN = """
name: seven
gravity_m_s2: [0, 0, 0]
bodies:
{bodies}
joints:
{joints}
motors:
{motors}
"""


def seven_hinges(folder):
    """An open chain of seven hinges whose velocities and accelerations alone are limited."""
    body = "{mass_kg: 1, com_m: [0.1, 0, 0], inertia_kg_m2: {xx: 0.01, yy: 0.01, zz: 0.01}}"
    bodies = [f"  b{i}: {body}" for i in range(7)]
    joints = [
        f"  j{i}: {{type: revolute, parent: {f'b{i - 1}' if i else 'world'}, child: b{i},"
        f" at_m: [{0.2 if i else 0.0}, 0, 0], axis: [0, {i % 2}, {1 - i % 2}],"
        f" limits: {{velocity_rad_s: {2.0 + 0.2 * i}, acceleration_rad_s2: {8.0 + i}}}}}"
        for i in range(7)
    ]
    motors = [f"  j{i}: {{max_torque_N_m: 1.0e+5, max_speed_rad_s: 100}}" for i in range(7)]
    parts = (chr(10).join(lines) for lines in (bodies, joints, motors))
    (folder / "seven.yaml").write_text(
        SEVEN.format(**dict(zip(("bodies", "joints", "motors"), parts, strict=True)))
    )
    return load(folder / "seven.yaml")


@pytest.mark.parametrize("stations", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_an_open_chain_is_as_fast_as_toppra_and_keeps_its_limits(stations, tmp_path):
    toppra = pytest.importorskip("toppra")
    toppra.setup_logging("ERROR")
    machine = seven_hinges(tmp_path)
    ways = np.cumsum(np.random.default_rng(3).normal(0.0, 0.5, (4, 7)), axis=0)
    path, start = spline_of(machine, machine.mechanism.joint_names, [tuple(way) for way in ways])
    pieces = BPoly.from_derivatives(path.knots, path.values)

    class Given(toppra.interpolator.AbstractGeometricPath):
        dof, waypoints = 7, None
        path_interval = np.array([0.0, path.duration_s])

        def __call__(self, s, order=0):
            return pieces(s, order)

    limits = [
        of(np.stack([-most, most], axis=1))
        for of, most in (
            (toppra.constraint.JointVelocityConstraint, np.array([one.velocity for one in machine.joints])),
            (
                toppra.constraint.JointAccelerationConstraint,
                np.array([one.acceleration for one in machine.joints]),
            ),
        )
    ]
    points = np.linspace(0.0, path.duration_s, stations + 1)
    other = toppra.algorithm.TOPPRA(
        limits, Given(), gridpoints=points, solver_wrapper="seidel", parametrizer="ParametrizeConstAccel"
    ).compute_trajectory()
    timed = in_fastest_time(machine, path, start, 1.0).path
    assert timed.duration_s <= 1.001 * other.duration
    check_within(machine, timed, start)


SPINDLE = """
name: spindle
bodies: {wheel: {mass_kg: 2, inertia_kg_m2: {xx: 0.02, yy: 0.02, zz: 0.04}}}
joints:
  wheel:
    {type: revolute, parent: world, child: wheel, axis: [0, 0, 1], coulomb_N_m: FRICTION, viscous_N_m_s: 0.5}
motors: {wheel: {max_torque_N_m: 10, max_speed_rad_s: 20, brake_torque_N_m: 5}}
"""


@pytest.mark.parametrize("friction", [3.0, 6.0])
@pytest.mark.parametrize("ways", [[1.0, 0.4, 0.9], [1.0, 1.00000001, 2.0]])
def test_dry_friction_changes_its_sign_within_the_effort_where_a_joint_reverses(tmp_path, friction, ways):
    (tmp_path / "spindle.yaml").write_text(SPINDLE.replace("FRICTION", str(friction)))
    machine = load(tmp_path / "spindle.yaml")
    path, start = spline_of(machine, ["wheel"], [(way,) for way in ways])
    timed = in_fastest_time(machine, path, start, 1.0).path
    check_within(machine, timed, start)
    assert timed.duration_s < 0.5 * path.duration_s


STAGE = """
name: stage
bodies: {cart: {mass_kg: 3, inertia_kg_m2: {xx: 0.01, yy: 0.01, zz: 0.01}}}
joints:
  x: {type: prismatic, parent: world, child: cart, axis: [1, 0, 0], limits: LIMITS}
motors: {x: {max_force_N: 50, max_speed_m_s: 1}}
"""


@pytest.mark.slow
def test_a_long_way_at_a_tiny_speed_keeps_it_between_stations(tmp_path):
    (tmp_path / "stage.yaml").write_text(
        STAGE.replace("LIMITS", "{velocity_m_s: 1.0e-4, acceleration_m_s2: 0.01}")
    )
    machine = load(tmp_path / "stage.yaml")
    path, start = spline_of(machine, ["x"], [(0.5,)])
    timed = in_fastest_time(machine, path, start, 1.0).path
    check_within(machine, timed, start)
    assert timed.duration_s < 1.01 * 5000.0


@pytest.mark.parametrize("name", ["five_bar", "scara"])
def test_a_move_to_where_the_machine_is_has_nothing_to_time(name):
    machine = load(name)
    start = Start.at_pose(machine, machine.initial_q)
    joint = machine.motors[0].joint
    here = float(start.theta[machine.coordinate_index(joint)])
    params = {"target": {joint: here}, "timing": "fastest"}
    made = plan("move", params, machine, start)
    assert "timing" not in made.report
    assert judge(params, machine, start)["feasible"]
