"""`check`: every limit that stands in the way is told, with what would mend it."""

import numpy as np
import pytest

from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import judge, plan
from linkwork.machine import load
from linkwork.protocol.errors import RequestError
from tests.controller.planning.conftest import limited


def swing(machine, names, way, seconds):
    """There in the named coordinates, in so much time."""
    start = Start.at_pose(machine, machine.initial_q)
    here = [start.theta[machine.coordinate_index(name)] for name in names]
    points = [{"time_from_start_s": seconds, "positions": [a + b for a, b in zip(here, way, strict=True)]}]
    return {"trajectory": {"coordinates": names, "points": points}}


def judged(machine, params):
    return judge(params, machine, Start.at_pose(machine, machine.initial_q))


def test_a_feasible_trajectory_has_peaks_and_a_largest_speed(scara):
    found = judged(scara, swing(scara, ["shoulder", "elbow"], [0.2, -0.2], 2.0))
    assert found["feasible"]
    assert found["violations"] == []
    assert found["min_time_stretch"] == 1.0
    assert 1.0 < found["largest_speed"] <= 2.0
    assert found["report"]["limits"]["effort"]["shoulder"]["limit"] == 60.0


def test_passive_joints_have_no_effort_limit_in_the_report():
    machine = load("five_bar")
    efforts = judged(machine, swing(machine, ["left", "right"], [0.1, -0.1], 2.0))["report"]["limits"][
        "effort"
    ]
    assert set(efforts) == {motor.joint for motor in machine.motors}


def test_the_share_of_a_range_that_is_not_symmetric_counts_from_its_middle(scara):
    """The lift moves in the middle of its range, from -0.05 to 0.45 m."""
    limits = judged(scara, swing(scara, ["lift"], [0.25], 4.0))["report"]["limits"]["position"]["lift"]
    assert limits["used"] == pytest.approx(0.8)  # at its beginning, 0.05 m above the lower end
    assert limits["value"] == pytest.approx(0.0, abs=1e-9)


def test_every_violation_is_told_and_the_stretch_mends_all_of_them(scara):
    machine = limited(limited(scara, "elbow", velocity=0.3), "shoulder", acceleration=0.5)
    params = swing(machine, ["shoulder", "elbow"], [0.4, -0.4], 1.0)
    found = judged(machine, params)
    assert not found["feasible"]
    told = {(one["coordinate"], one["quantity"]) for one in found["violations"]}
    assert told >= {("elbow", "velocity"), ("shoulder", "acceleration")}
    for one in found["violations"]:
        assert one["from_s"] <= one["time_s"] <= one["to_s"]
        assert one["point"] == 0
        assert abs(one["value"]) > abs(one["limit"])
    stretched = swing(machine, ["shoulder", "elbow"], [0.4, -0.4], found["min_time_stretch"])
    assert judged(machine, stretched)["feasible"]


def test_the_stretch_of_a_much_too_hasty_motion_mends_it():
    """Some milliseconds long, it is sampled as finely as when it is slowed down."""
    machine = load("five_bar")

    def out_and_back(seconds):
        start = Start.at_pose(machine, machine.initial_q)
        back = [start.theta[machine.coordinate_index(name)] for name in ("left", "right")]
        there = [back[0] + 0.3, back[1] - 0.3]
        rest = {"velocities": [0.0, 0.0], "accelerations": [0.0, 0.0]}
        places = ((0.0, back), (0.5 * seconds, there), (seconds, back))
        points = [{"time_from_start_s": at, "positions": place, **rest} for at, place in places]
        return {"trajectory": {"coordinates": ["left", "right"], "points": points}}

    found = judged(machine, out_and_back(0.02))
    assert not found["feasible"]
    assert judged(machine, out_and_back(0.02 * found["min_time_stretch"]))["feasible"]


@pytest.mark.parametrize(
    ("name", "named", "way"),
    [
        ("scara", ["shoulder", "elbow"], [0.3, 0.2]),
        ("five_bar", ["left", "right_elbow"], [0.2, 0.1]),
        ("five_bar", ["x", "left"], [0.02, 0.1]),
        ("four_bar", ["a2"], [0.2]),
        ("delta", ["motor_1", "x", "y"], [0.1, 0.02, 0.01]),
    ],
)
def test_the_largest_speed_is_feasible_and_a_little_more_is_not(name, named, way):
    machine = load(name)
    slow = judged(machine, swing(machine, named, way, 0.8))
    speed = slow["largest_speed"]
    assert slow["feasible"]
    assert judged(machine, swing(machine, named, way, 0.8 / speed))["feasible"]
    if speed < 2.0:
        assert not judged(machine, swing(machine, named, way, 0.8 / (1.02 * speed)))["feasible"]


def test_what_cannot_be_reached_is_a_violation_too(scara):
    found = judged(scara, swing(scara, ["x", "y", "z", "angle"], [0.0, 0.5, 0.0, 0.0], 4.0))
    (violation,) = found["violations"]
    assert (found["feasible"], violation["quantity"], found["min_time_stretch"]) == (False, "reach", None)


def test_what_is_no_trajectory_is_refused(scara):
    point = {"time_from_start_s": 1.0, "positions": [0.0]}
    with pytest.raises(RequestError, match="there is no coordinate 'nobody'"):
        judged(scara, {"trajectory": {"coordinates": ["nobody"], "points": [point]}})


def test_check_agrees_with_send(scara):
    start = Start.at_pose(scara, scara.initial_q)
    rng = np.random.default_rng(3)
    for seconds in rng.uniform(0.2, 1.0, 12):
        params = swing(scara, ["shoulder", "elbow"], [0.3, -0.3], float(seconds))
        feasible = judge(params, scara, start)["feasible"]
        if feasible:
            plan("send", params, scara, start)
        else:
            with pytest.raises(RequestError):
                plan("send", params, scara, start)


def test_poses_lie_on_the_path_from_its_begin_to_its_end(scara):
    params = swing(scara, ["shoulder", "elbow"], [0.2, -0.2], 2.0)
    assert "poses" not in judged(scara, params)
    poses = judged(scara, params | {"poses": 40})["poses"]
    assert 30 <= len(poses["q"]) <= 40
    assert (poses["time_s"][0], poses["time_s"][-1], poses["refused"]) == (0.0, 2.0, None)
    np.testing.assert_allclose(poses["q"][0], scara.initial_q, atol=1e-9)
    moved = np.array(poses["q"][-1]) - scara.initial_q
    np.testing.assert_allclose(moved, [0.2, -0.2, *moved[2:]], atol=1e-9)


def test_a_refused_pose_is_that_of_the_worst_sample(scara):
    machine = limited(scara, "elbow", velocity=0.3)
    found = judged(machine, swing(machine, ["elbow"], [-0.4], 1.0) | {"poses": 10})
    poses, worst = found["poses"], found["violations"][0]
    assert poses["time_s"][poses["refused"]] == worst["time_s"]


def test_a_path_that_leaves_the_reach_has_poses_up_to_there():
    machine = load("five_bar")
    found = judged(machine, swing(machine, ["x", "y"], [0.0, 2.0], 2.0) | {"poses": 20})
    poses = found["poses"]
    assert not found["feasible"]
    assert poses["refused"] == len(poses["q"]) - 1
    assert 0.0 < poses["time_s"][-1] < 2.0


def test_a_move_is_judged_as_it_would_be_made(scara):
    target = {"elbow": scara.initial_q[1] - 0.4}
    found = judged(scara, {"target": target, "speed": 0.5, "poses": 10})
    start = Start.at_pose(scara, scara.initial_q)
    assert found["feasible"]
    assert found["duration_s"] == plan("move", {"target": target, "speed": 0.5}, scara, start).duration_s
    far = load("five_bar")
    refused = judged(far, {"target": {"x": 0.1, "y": 3.0}, "poses": 10})
    assert refused["violations"][0]["quantity"] == "reach"
    assert refused["poses"]["q"]
    with pytest.raises(RequestError, match="either a trajectory or the target"):
        judged(scara, swing(scara, ["elbow"], [-0.1], 1.0) | {"target": target})


def test_a_plan_keeps_the_poses_of_its_walk(scara):
    made = plan("move", {"target": {"elbow": -1.0}}, scara, Start.at_pose(scara, scara.initial_q))
    assert made.poses.shape[1] == 1 + len(scara.initial_q)
    assert made.poses[-1, 0] == pytest.approx(made.duration_s)
    assert made.poses[-1, 2] == pytest.approx(-1.0)
