"""Requests to blocks: what is in the words, and the helix of the SCARA."""

import time
import zlib

import numpy as np
import pytest

from linkwork.controller.exchange.goal_block import GoalBlock, check_block
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import CAPACITY, plan
from linkwork.protocol.codes import RequestCode, ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.requests import check_params
from tests.controller.planning.conftest import joints_at

TASK = ["x", "y", "z", "angle"]
HELIX = {
    "curve": {
        "helix": {
            "center_m": [0.0, 0.35, 0.0],
            "radius_m": 0.05,
            "rate_rad_s": 0.4 * np.pi,
            "pitch_speed_m_s": 0.02,
            "duration_s": 5.0,
        }
    },
    "hold": {"angle": 0.0},
    "entry": {"ramp_s": 1.0},
}
BEGIN = [-0.05 * np.sin(0.2 * np.pi), 0.35 + 0.05 * np.cos(0.2 * np.pi), -0.01, 0.0]


@pytest.fixture(scope="module")
def at_helix(scara):
    return Start.at_pose(scara, joints_at(scara, TASK, BEGIN, scara.initial_q))


def test_the_helix_of_the_scara_is_admitted_from_where_its_lead_in_begins(scara, at_helix):
    done = plan("send", {"trajectory": HELIX}, scara, at_helix)
    block = GoalBlock(done.words)
    assert check_block(done.words) is None
    assert (block.duration_s, block.full_speed) == (7.0, (1.0, 6.0))
    assert block.coordinates.tolist() == [4, 5, 6, 7]
    assert done.coordinates == ("x", "y", "z", "angle")
    assert done.checksum == zlib.crc32(done.words.tobytes())
    found = np.empty((3, 4))
    for t in np.linspace(0.0, 5.0, 101):
        block.evaluate(1.0 + t, *found)
        x, y = 0.05 * np.sin(0.4 * np.pi * t), 0.35 + 0.05 * np.cos(0.4 * np.pi * t)
        np.testing.assert_allclose(found[0], [x, y, 0.02 * t, 0.0], atol=1e-12)
    assert done.report["singularity"]["smallest"] > 0.1
    assert done.report["limits"]["effort"]["shoulder"]["used"] < 0.1


def test_a_move_leads_to_the_helix(scara):
    """What the refusal says about the beginning can be moved to."""
    start = Start.at_pose(scara, scara.initial_q)
    with pytest.raises(RequestError) as caught:
        plan("send", {"trajectory": HELIX}, scara, start)
    begin = caught.value.data["begin"]
    move = plan("move", {"target": begin}, scara, start)
    block = GoalBlock(move.words)
    found = np.empty((3, 4))
    block.evaluate(block.duration_s, *found)
    np.testing.assert_allclose(found[0], BEGIN, atol=1e-12)
    there = Start.at_pose(scara, joints_at(scara, TASK, found[0], start.q))
    assert plan("send", {"trajectory": HELIX}, scara, there).duration_s == 7.0


def test_a_held_reference_is_where_the_goal_begins(scara, at_helix):
    """The machine lags behind a little; the reference does not jump."""
    held = dict(zip(TASK, np.array(BEGIN) + 2e-4, strict=True))
    start = Start.at_pose(scara, at_helix.q, None, held)
    done = plan("move", {"target": {"z": 0.05}}, scara, start)
    found = np.empty((3, 4))
    GoalBlock(done.words).evaluate(0.0, *found)
    np.testing.assert_array_equal(found[0], list(held.values()))


def test_a_held_angle_is_taken_the_short_way(scara):
    q = np.array([2.0, -1.2, 2.2, 0.0])  # the tool's angle is 3.0
    start = Start.at_pose(scara, q)
    done = plan("move", {"target": {"angle": -3.0}}, scara, start)
    found = np.empty((3, 4))
    GoalBlock(done.words).evaluate(done.duration_s, *found)
    assert found[0, 3] == pytest.approx(2.0 * np.pi - 3.0)
    held = {**HELIX, "hold": {"angle": 2.0 * np.pi}}
    near = Start.at_pose(scara, joints_at(scara, TASK, BEGIN, scara.initial_q))
    GoalBlock(plan("send", {"trajectory": held}, scara, near).words).evaluate(3.0, *found)
    assert found[0, 3] == 0.0


def test_tolerances_are_the_goals_own_or_the_files(scara, start):
    request = {
        "coordinates": ["elbow"],
        "points": [{"time_from_start_s": 2.0, "positions": [-1.1]}],
        "tolerances": {"elbow": {"path": 0.5, "goal": 0.25}},
        "goal_time_s": 3.0,
    }
    block = GoalBlock(plan("send", {"trajectory": request}, scara, start).words)
    assert block.path_tolerance.tolist() == [0.01, 0.5, 0.01, 0.01]
    assert block.goal_tolerance.tolist() == [0.001, 0.25, 0.001, 0.001]
    assert block.goal_time_s == 3.0
    del request["tolerances"], request["goal_time_s"]
    block = GoalBlock(plan("send", {"trajectory": request}, scara, start).words)
    assert block.path_tolerance.tolist() == [0.01] * 4
    assert block.goal_time_s == scara.controller.tolerances.goal_time_s


def test_accelerations_make_quintic_pieces_and_positions_cubic_ones(scara, start):
    q = scara.initial_q.tolist()
    still = {"positions": q, "velocities": [0.0] * 4, "accelerations": [0.0] * 4}
    request = {
        "coordinates": ["shoulder", "elbow", "wrist", "lift"],
        "points": [{"time_from_start_s": t, **still} for t in (0.0, 1.0)],
    }
    assert plan("send", {"trajectory": request}, scara, start).words[3] == 3
    for point in request["points"]:
        del point["velocities"], point["accelerations"]
    assert plan("send", {"trajectory": request}, scara, start).words[3] == 2


@pytest.mark.parametrize(
    ("method", "params", "code", "path"),
    [
        ("move", {"target": {"elbw": 1.0}}, ResultCode.INVALID_COORDINATES, ("target", "elbw")),
        ("move", {"target": {"x": 0.0, "elbow": 1.0}}, ResultCode.INVALID_COORDINATES, ("target",)),
        ("move", {"target": {"lift": 5.0}}, ResultCode.INFEASIBLE, ("target",)),
        ("move", {}, RequestCode.INVALID_PARAMS, ("target",)),
        ("send", {}, RequestCode.INVALID_PARAMS, ("trajectory",)),
        (
            "send",
            {
                "trajectory": {
                    "coordinates": ["x", "knee"],
                    "points": [{"time_from_start_s": 1.0, "positions": [0.0, 0.0]}],
                }
            },
            ResultCode.INVALID_COORDINATES,
            ("trajectory", "coordinates", 1),
        ),
        ("stop", {}, RequestCode.UNSUPPORTED, ()),
    ],
)
def test_refusals_lead_to_the_field(scara, start, method, params, code, path):
    with pytest.raises(RequestError) as caught:
        plan(method, params, scara, start)
    assert caught.value.code == code
    assert path is None or caught.value.path == path


def _many(count, rows, scara):
    times = np.linspace(0.0, 2.0 * np.pi / 0.3, count + 1)[1:]
    way = 0.2 * np.array([1.0, -1.0, 0.5, 0.1])
    parts = [
        scara.initial_q + np.outer(1.0 - np.cos(0.3 * times), way),
        0.3 * np.outer(np.sin(0.3 * times), way),
        0.09 * np.outer(np.cos(0.3 * times), way),
    ]
    parts[1][-1] = 0.0
    names = ["positions", "velocities", "accelerations"][:rows]
    rows_of = [
        dict(zip(names, row, strict=True))
        for row in zip(*(part.tolist() for part in parts[:rows]), strict=True)
    ]
    points = [{"time_from_start_s": t, **row} for t, row in zip(times.tolist(), rows_of, strict=True)]
    return {"trajectory": {"coordinates": ["shoulder", "elbow", "wrist", "lift"], "points": points}}


@pytest.mark.slow
def test_a_hundred_thousand_way_points_fit(scara, start):
    began = time.perf_counter()
    done = plan("send", check_params("send", _many(100_000, 1, scara)), scara, start)
    print(f"100,000 way-points read, planned and admitted in {time.perf_counter() - began:.2f} s")
    assert len(done.words) <= CAPACITY
    found = np.empty((3, 4))
    GoalBlock(done.words).evaluate(7.0, *found)
    expected = scara.initial_q + 0.2 * (1.0 - np.cos(2.1)) * np.array([1.0, -1.0, 0.5, 0.1])
    np.testing.assert_allclose(found[0], expected, atol=1e-9)


@pytest.mark.slow
def test_more_than_fit_are_refused_with_the_number_that_does(scara, start):
    with pytest.raises(RequestError, match="do not fit; at most") as caught:
        plan("send", check_params("send", _many(120_000, 1, scara)), scara, start)
    assert caught.value.path == ("trajectory", "points")
    most = caught.value.data["limit"]
    assert 90_000 < most < 120_000


@pytest.mark.slow
def test_quintic_pieces_need_more_room(scara, start):
    with pytest.raises(RequestError, match="do not fit; at most") as caught:
        plan("send", check_params("send", _many(90_000, 3, scara)), scara, start)
    assert 70_000 < caught.value.data["limit"] < 90_000
