"""Way-points in boxes: the fastest timing bends the path within them, if that saves time."""

import numpy as np
import pytest

from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.process.planner import judge, plan
from linkwork.machine import load
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.trajectory import read_trajectory
from tests.controller.planning.test_fastest import without_jerk

BOX = [[0.07, 0.34], [0.03, 0.36]]


def asked(*first, **more):
    points = [*first, {"positions": [0.08, 0.29]}, {"positions": [-0.03, 0.30]}]
    return {"coordinates": ["x", "y"], "timing": "fastest", "points": points, **more}


@pytest.mark.parametrize("corner", [pytest.param({}, marks=pytest.mark.slow), {"corner": {"radius_m": 0.01}}])
def test_the_path_bends_within_its_box_and_is_faster(corner):
    machine = without_jerk(load("five_bar"), 0.3)
    start = Start.at_pose(machine, machine.initial_q)
    straight = plan("send", {"trajectory": asked({"positions": [0.05, 0.35]}, **corner)}, machine, start)
    given = {"trajectory": asked({"between": BOX}, **corner)}
    made = plan("send", given, machine, start)
    found = made.report["timing"]["corridor"]
    assert found["straight_s"] == pytest.approx(straight.duration_s, rel=1e-3)
    assert made.duration_s == pytest.approx(found["straight_s"] - found["saves_s"], rel=1e-3)
    assert found["saves_s"] > 0.01
    assert found["solves"] <= 36
    (chosen,) = found["points"]
    assert chosen["point"] == 0
    assert np.all(np.min(BOX, axis=0) <= chosen["positions"])
    assert np.all(chosen["positions"] <= np.max(BOX, axis=0))
    again = plan("send", given, machine, start)
    assert again.words == pytest.approx(made.words, abs=0.0)
    path = Path.of_block(made.words)
    if not corner:
        mark = path.knots[np.argmin(np.linalg.norm(path.values[:, 0] - chosen["positions"], axis=1))]
        assert path.evaluate(float(mark))[0] == pytest.approx(chosen["positions"], abs=1e-3)
    else:
        low, high = path.values[:, 0].min(axis=0), path.values[:, 0].max(axis=0)
        assert high[0] <= 0.08 + 1e-9, "with corners the path stays in the hull of its places"
        assert low[1] >= 0.29 - 1e-9
        assert high[1] <= 0.36 + 1e-9


def test_a_box_that_saves_nothing_keeps_the_path_as_given():
    machine = without_jerk(load("five_bar"), 0.3)
    start = Start.at_pose(machine, machine.initial_q)
    place = [0.05, 0.35]
    tiny = [place, (np.array(place) + 1e-9).tolist()]
    answer = judge({"trajectory": asked({"between": tiny, "positions": place})}, machine, start)
    found = answer["report"]["timing"]["corridor"]
    assert 0.0 <= found["saves_s"] < 1e-4
    assert answer["duration_s"] <= found["straight_s"]


def test_one_that_takes_over_in_motion_is_refused_by_its_field():
    machine = without_jerk(load("five_bar"))
    start = Start.at_pose(machine, machine.initial_q)
    moving = Start(**{**vars(start), "moving": True})
    with pytest.raises(RequestError, match="in motion") as caught:
        plan("send", {"trajectory": asked({"between": BOX})}, machine, moving)
    assert caught.value.path == ("trajectory", "points", 0, "between")


WRONG = {
    "one place": asked({"between": [[0.0, 0.3]]}),
    "three coordinates": asked({"between": [[0.0, 0.3, 0.0], [0.1, 0.3, 0.0]]}),
    "unequal": asked({"between": [[0.0, 0.3], [0.1]], "positions": [0.0, 0.3]}),
    "no free number": asked({"between": [[0.0, 0.3], [0.0, 0.3]]}),
    "outside": asked({"between": BOX, "positions": [0.1, 0.35]}),
    "begin": asked({"between": BOX, "time_from_start_s": 0.0}),
    "given times": asked({"between": BOX}, timing="given"),
    "rates": asked({"between": BOX, "velocities": [0.1, 0.1]}),
    "text": asked({"between": "left and right", "positions": [0.0, 0.3]}),
    "infinite": asked({"between": [[0.0, 0.3], [0.1, float("inf")]], "positions": [0.0, 0.3]}),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_box_that_is_none_is_refused_by_its_field(name):
    given = WRONG[name]
    points = given["points"]
    if any(key in points[0] for key in ("time_from_start_s", "velocities")) or given["timing"] == "given":
        for index, point in enumerate(points):
            point.setdefault("time_from_start_s", 1.0 + index)
    with pytest.raises(RequestError) as caught:
        read_trajectory(given, ())
    assert caught.value.path[:3] == ("points", 0, "between")


def test_the_last_way_point_is_a_place_and_few_numbers_are_free():
    given = asked()
    given["points"][-1] = {"between": BOX}
    with pytest.raises(RequestError, match="ends at way-point 1"):
        read_trajectory(given)
    with pytest.raises(RequestError, match="at most 12") as caught:
        read_trajectory(asked(*[{"between": BOX}] * 7))
    assert caught.value.path == ("trajectory", "points", 6, "between")
    with pytest.raises(RequestError) as caught:
        read_trajectory(asked({}))
    assert (caught.value.code, caught.value.path[-1]) == (RequestCode.INVALID_PARAMS, "positions")


def test_a_path_as_given_that_is_out_of_reach_is_refused():
    machine = without_jerk(load("five_bar"))
    start = Start.at_pose(machine, machine.initial_q)
    far = asked({"between": [[0.05, 0.35], [0.05, 2.0]]})
    with pytest.raises(RequestError, match="cannot reach"):
        plan("send", {"trajectory": far}, machine, start)
