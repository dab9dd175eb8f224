"""Admission: each limit refuses by name, with the sample, the value and the stretch that would do."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BPoly

from linkwork.controller.planning.goals.admission import admit
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.process.planner import plan
from linkwork.controller.planning.walk.walk import samples, walk
from linkwork.machine import load
from linkwork.multibody.functions import inverse_dynamics
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from tests.controller.planning.conftest import joints_at, limited, motored

JOINTS = ["shoulder", "elbow", "wrist", "lift"]
TASK = ["x", "y", "z", "angle"]


def way_points(coordinates, times, positions, stretch=1.0):
    return {
        "trajectory": {
            "coordinates": coordinates,
            "points": [
                {"time_from_start_s": float(t) * stretch, "positions": [float(x) for x in row]}
                for t, row in zip(times, positions, strict=True)
            ],
        }
    }


def swing(machine, size=0.4, stretch=1.0, seconds=1.0):
    """There and back in the first joint, half as far in the second."""
    q = machine.initial_q
    way = np.zeros(len(q))
    way[:2] = size, -size / 2.0
    times = np.array([0.5, 1.0]) * seconds
    names = list(machine.mechanism.joint_names)
    return way_points(names, times, [q + way, q], stretch)


def refused(machine, params, start=None):
    with pytest.raises(RequestError) as caught:
        plan("send", params, machine, start or Start.at_pose(machine, machine.initial_q))
    return caught.value


@pytest.mark.parametrize(
    ("name", "limits", "quantity", "limit"),
    [
        ("elbow", {"velocity": 0.3}, "velocity", 0.3),
        ("elbow", {"acceleration": 1.5}, "acceleration", 1.5),
        ("shoulder", {"jerk": 15.0}, "jerk", 15.0),
    ],
)
def test_a_joint_limit_refuses_and_the_stretch_is_the_smallest(scara, name, limits, quantity, limit):
    open_limits = {"velocity": np.inf, "acceleration": np.inf, "jerk": np.inf}
    machine = scara
    for joint in JOINTS:
        machine = limited(machine, joint, **open_limits)
    machine = limited(machine, name, **limits)
    check_refusal(machine, swing, name, quantity, limit)


def check_refusal(machine, made, name, quantity, limit):
    error = refused(machine, made(machine))
    data = error.data
    assert error.code == ResultCode.INFEASIBLE
    assert error.path[:2] == ("trajectory", "points")
    assert (data["coordinate"], data["quantity"], abs(data["limit"])) == (name, quantity, limit)
    assert abs(data["value"]) > limit
    for word in (name, quantity, f"{data['value']:.6g}", f"sample {data['sample']}", "stretch"):
        assert word in error.message
    stretch = data["min_time_stretch"]
    accepted = plan(
        "send", made(machine, stretch=stretch), machine, Start.at_pose(machine, machine.initial_q)
    )
    assert accepted.report["limits"][quantity][name]["used"] <= 1.0 + 1e-6
    again = refused(machine, made(machine, stretch=stretch * 0.95))
    assert again.data["quantity"] == quantity


def test_the_value_and_the_sample_are_where_they_are_said_to_be(scara):
    machine = limited(scara, "elbow", velocity=0.3)
    error = refused(machine, swing(machine))
    path = path_of(machine, swing(machine))
    pieces = BPoly.from_derivatives(path.knots, path.values)
    at = error.data["time_s"]
    assert pieces(at, 1)[1] == pytest.approx(error.data["value"], abs=1e-12)
    assert abs(pieces(at, 1)[1]) == pytest.approx(
        np.abs(pieces(np.linspace(0, 1, 4001), 1)[:, 1]).max(), rel=1e-4
    )
    piece, offset = samples(path.knots)
    way_point = error.path[2]
    assert way_point == piece[error.data["sample"]]  # the machine's place is put before the first one
    assert (0.0, 0.5)[way_point] <= at <= (0.5, 1.0)[way_point]
    assert at == path.knots[piece[error.data["sample"]]] + offset[error.data["sample"]]


def path_of(machine, params):
    """The path of way-points in all joints, by the splines themselves."""
    from linkwork.controller.planning.paths.splines import path_through
    from linkwork.protocol.trajectory import read_trajectory

    present = Start.at_pose(machine, machine.initial_q).present(machine, range(machine.mechanism.nv))
    return path_through(read_trajectory(params["trajectory"]).points, range(machine.mechanism.nv), present)


def test_effort_refuses_with_the_motor_and_its_stretch(scara):
    machine = motored(scara, "elbow", max_effort=4.0)
    for joint in JOINTS:
        machine = limited(machine, joint, jerk=np.inf, acceleration=np.inf)
    check_refusal(machine, swing, "elbow", "effort", 4.0)


def test_effort_with_friction_and_gravity_refuses_with_its_stretch(vertical):
    def fast(machine, stretch=1.0):
        return swing(machine, size=0.8, seconds=0.6, stretch=stretch)

    open_limits = {"velocity": np.inf, "acceleration": np.inf, "jerk": np.inf}
    machine = limited(limited(vertical, "lower_hinge", **open_limits), "upper_hinge", **open_limits)
    machine = motored(
        motored(machine, "lower_hinge", max_effort_rate=np.inf), "upper_hinge", max_effort_rate=np.inf
    )
    check_refusal(machine, fast, "lower_hinge", "effort", 32.0)


def test_the_rate_of_effort_refuses(scara):
    machine = motored(scara, "shoulder", max_effort_rate=30.0)
    for joint in JOINTS:
        machine = limited(machine, joint, jerk=np.inf, acceleration=np.inf)
    check_refusal(machine, swing, "shoulder", "effort rate", 30.0)


def test_the_speed_of_a_motor_refuses(scara):
    check_refusal(motored(scara, "shoulder", max_speed=0.5), swing, "shoulder", "motor speed", 0.5)


def test_gravity_alone_cannot_be_stretched_away(vertical):
    machine = motored(vertical, "upper_hinge", max_effort=2.0)
    flat = way_points(["lower_hinge", "upper_hinge"], [3.0], [[1.0, -1.0]])
    error = refused(machine, flat)
    assert error.data["quantity"] == "effort"
    assert error.data["coordinate"] == "upper_hinge"
    assert error.data["min_time_stretch"] is None
    assert "a slower motion does not help" in error.message


def test_room_to_stop_is_kept(vertical):
    """Just enough effort for the path itself is not enough to slow down on it."""
    params = way_points(["lower_hinge", "upper_hinge"], [0.6], [vertical.initial_q + np.array([0.8, 0.4])])
    open_limits = {"acceleration": np.inf, "jerk": np.inf}
    machine = limited(limited(vertical, "lower_hinge", **open_limits), "upper_hinge", **open_limits)
    machine = motored(machine, "lower_hinge", max_effort=500.0, max_effort_rate=np.inf)
    machine = motored(machine, "upper_hinge", max_effort=500.0, max_effort_rate=np.inf)
    start = Start.at_pose(machine, machine.initial_q)
    peak = plan("send", params, machine, start).report["limits"]["effort"]["lower_hinge"]["value"]
    tight = motored(machine, "lower_hinge", max_effort=peak * 1.0001)
    error = refused(tight, params)
    assert error.data["quantity"] == "effort with room to stop"
    stretch = error.data["min_time_stretch"]
    assert 1.0 < stretch < 1.2


def test_a_joint_without_a_motor_must_need_none(scara):
    machine = replace(scara, motors=tuple(motor for motor in scara.motors if motor.joint != "elbow"))
    error = refused(machine, swing(machine))
    assert error.data["coordinate"] == "elbow"
    assert error.data["min_time_stretch"] is None


def test_a_position_limit_refuses_and_slower_does_not_help(scara):
    machine = limited(scara, "shoulder", position=(-1.0, 0.8))
    error = refused(machine, swing(machine))
    assert error.code == ResultCode.INFEASIBLE
    assert (error.data["quantity"], error.data["coordinate"], error.data["limit"]) == (
        "position",
        "shoulder",
        0.8,
    )
    assert error.data["value"] > 0.8
    assert error.data["time_s"] == pytest.approx(0.5)
    assert error.data["min_time_stretch"] is None


def test_from_outside_its_range_a_joint_may_come_back(scara):
    machine = limited(scara, "shoulder", position=(-1.0, 0.4))  # it stands at 0.52
    start = Start.at_pose(machine, machine.initial_q)
    plan("move", {"target": {"shoulder": 0.3}}, machine, start)
    with pytest.raises(RequestError) as caught:
        plan("move", {"target": {"shoulder": 0.6}}, machine, start)
    assert caught.value.data["quantity"] == "position"
    assert caught.value.path == ("target",)


def test_a_task_limit_counts_for_goals_in_that_coordinate_only(scara, start):
    machine = limited(scara, "x", velocity=0.05)
    params = way_points(["x"], [1.0], [[start.theta[4] - 0.06]])
    error = refused(machine, params)
    assert (error.data["coordinate"], error.data["quantity"], error.data["unit"]) == ("x", "velocity", "m/s")
    plan("send", swing(machine, stretch=2.0), limited(scara, "x", velocity=1e-6), start)


def test_joint_limits_hold_for_goals_in_task_coordinates(scara, start):
    machine = limited(scara, "elbow", velocity=0.1)
    error = refused(machine, way_points(["y"], [1.0], [[start.theta[5] - 0.1]]))
    assert (error.data["coordinate"], error.data["quantity"]) == ("elbow", "velocity")
    machine = limited(scara, "elbow", jerk=1.0)
    error = refused(machine, way_points(["y"], [1.0], [[start.theta[5] - 0.1]]))
    assert (error.data["coordinate"], error.data["quantity"]) == ("elbow", "jerk")


def test_what_cannot_be_reached_is_refused_at_its_sample(scara, start):
    x, y = start.theta[4], start.theta[5]
    error = refused(scara, way_points(["x", "y"], [10.0], [[x, 0.6]]))
    assert error.data["quantity"] == "reach"
    assert error.data["min_time_stretch"] is None
    assert y < error.data["position"]["y"] < 0.6
    assert np.hypot(error.data["position"]["x"], error.data["position"]["y"]) >= 0.4499
    assert "cannot reach" in error.message


@pytest.mark.parametrize(
    ("name", "target", "stretched"),
    [
        ("delta", {"x": 0.9, "y": 0.0}, "closed by wrist_2 and by wrist_3"),  # away from these two legs
        ("delta", {"x": -0.9, "y": 0.0}, "chain of motor_1, elbow_1"),
        ("five_bar", {"x": -0.6, "y": 0.1}, "chain of right, right_elbow"),
        ("five_bar", {"x": 0.6, "y": 0.1}, "closed by tip"),
        ("scara", {"x": 0.0, "y": 0.6}, "chain of shoulder, elbow"),
    ],
)
def test_what_cannot_be_reached_names_the_leg_that_is_stretched(name, target, stretched):
    machine = load(name)
    begin = Start.at_pose(machine, machine.initial_q)
    here = [float(begin.theta[machine.coordinate_index(each)]) for each in target]
    error = refused(machine, way_points(list(target), [5.0, 10.0], [here, list(target.values())]), begin)
    assert "cannot reach" in str(error)
    assert stretched in str(error)


def test_a_pose_too_close_to_singular_is_refused(scara, start):
    error = refused(scara, way_points(["x", "y"], [10.0], [[0.0, 0.4499]]))
    assert error.data["quantity"] == "singularity"
    assert error.data["value"] < error.data["limit"] == 0.01
    assert error.data["time_s"] == pytest.approx(10.0, abs=0.2)


def test_joints_may_pass_where_task_coordinates_may_not(scara, start):
    done = plan("send", way_points(["elbow"], [4.0], [[0.0]]), scara, start)
    assert done.report["singularity"] is None


@settings(max_examples=25)
@given(st.floats(-0.5, 0.5), st.floats(-0.5, 0.5), st.floats(0.8, 4.0))
def test_the_walk_agrees_with_inverse_dynamics(vertical, one, other, seconds):
    """Poses, rates and efforts of a goal in task coordinates, against a solver and the model's functions."""
    machine = vertical
    q0 = machine.initial_q
    start = Start.at_pose(machine, q0)
    index = (2, 3)
    values = np.zeros((2, 3, 2))
    values[0, 0] = start.theta[list(index)]
    values[1, 0] = Start.at_pose(machine, q0 + np.array([one, other])).theta[list(index)]
    path = Path(index, np.array([0.0, seconds]), values, (0.0, seconds))
    walked = walk(machine, path, q0)
    if walked.reached < len(walked.s):
        return  # the straight line leaves the reach
    if walked.hold.min() < 0.02:
        return
    pieces = BPoly.from_derivatives(path.knots, path.values)
    near = q0
    for n in range(0, len(walked.s), 37):
        near = joints_at(machine, ["x", "z"], pieces(walked.s[n]), walked.q[n])
        np.testing.assert_allclose(walked.q[n], near, atol=1e-9)
    inner = slice(2, -2)
    rates = np.gradient(walked.q, walked.s, axis=0, edge_order=2)[inner]
    np.testing.assert_allclose(walked.q1[inner], rates, atol=5e-3 * (1.0 + np.abs(walked.q2).max()))
    for rate, change in ((1.0, 0.0), (0.6, -0.8), (0.0, 0.0)):
        n = len(walked.s) // 3
        effort = inverse_dynamics(
            machine.mechanism,
            walked.q[n],
            rate * walked.q1[n],
            rate**2 * walked.q2[n] + change * walked.q1[n],
        )
        moving = walked.rest[n] + walked.motion[n] * rate**2 + walked.inertia[n] * change
        v = rate * walked.q1[n]
        friction = [0.4, 0.1] * v + [1.5, 0.4] * np.tanh(v / coulomb_speed(machine))
        np.testing.assert_allclose(moving + friction, effort, atol=1e-9)


def coulomb_speed(machine):
    return np.array([joint.coulomb_speed for joint in machine.mechanism.joints])


def test_accelerations_of_the_walk_are_the_derivative_of_its_rates(scara, start):
    there = start.theta[4:] + np.array([-0.1, 0.03, 0.05, 0.4])
    done = plan("send", way_points(TASK, [2.0], [there]), scara, start)
    values = np.zeros((2, 2, 4))
    values[0, 0], values[1, 0] = start.theta[4:], there
    walked = walk(scara, Path((4, 5, 6, 7), np.array([0.0, 2.0]), values, (0.0, 2.0)), start.q)
    np.testing.assert_allclose(
        np.gradient(walked.q1, walked.s, axis=0, edge_order=2)[2:-2], walked.q2[2:-2], atol=2e-4
    )
    assert done.report["samples"] == len(walked.s)


def test_a_move_that_asks_too_much_is_slowed_down_instead(scara, start):
    target = {"target": {"x": 0.1, "y": 0.3}}
    quick = plan("move", target, scara, start)
    assert quick.report["time_stretch"] > 1.0
    worst = max(entry["used"] for kind in quick.report["limits"].values() for entry in kind.values())
    assert 0.97 < worst <= 1.0 + 1e-6
    slow = plan("move", {**target, "speed": 0.5}, scara, start)
    assert slow.duration_s == pytest.approx(2.0 * quick.duration_s)


def test_speed_is_a_fraction_of_the_fastest(scara, start):
    full = plan("move", {"target": {"elbow": -1.5}}, scara, start)
    half = plan("move", {"target": {"elbow": -1.5}, "speed": 0.5}, scara, start)
    assert half.duration_s == pytest.approx(2.0 * full.duration_s)


def test_an_admitted_path_is_not_stretched_unless_that_is_allowed(scara, start):
    values = np.zeros((2, 2, 4))
    values[:, 0] = start.q
    values[1, 0, 0] += 1.0
    path = Path((0, 1, 2, 3), np.array([0.0, 0.1]), values, (0.0, 0.1))
    with pytest.raises(RequestError):
        admit(scara, path, start)
    admitted = admit(scara, path, start, may_stretch=True)
    assert admitted.path.duration_s == pytest.approx(0.1 * admitted.report["time_stretch"])
    assert admit(scara, admitted.path, start).report["time_stretch"] == 1.0


@given(st.lists(st.floats(1e-4, 50.0), min_size=1, max_size=30))
def test_samples_cover_every_piece_with_both_ends(gaps):
    knots = np.concatenate([[0.0], np.cumsum(gaps)])
    piece, offset = samples(knots)
    s = knots[piece] + offset
    assert np.all(np.diff(s) >= -1e-12)
    assert np.all(np.diff(s) <= 0.005 + 1e-9)
    assert set(piece) == set(range(len(gaps)))
    for number, length in enumerate(np.diff(knots)):
        own = offset[piece == number]
        assert own[0] == 0.0
        assert own[-1] == length


def test_a_very_long_path_has_a_bounded_number_of_samples():
    piece, _ = samples(np.array([0.0, 1e7]))
    assert len(piece) <= 400_002
