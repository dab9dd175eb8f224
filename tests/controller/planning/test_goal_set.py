"""Which coordinates a goal moves in: what it names, completed to a full independent set."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.controller.planning.checks.singularity import independent, smallest_singular_value
from linkwork.controller.planning.goals.goal_set import complete, index_of
from linkwork.controller.planning.messages.planner_messages import MachineState
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import plan
from linkwork.machine import load
from linkwork.protocol.codes import RequestCode, ResultCode
from linkwork.protocol.errors import RequestError

REST = (0.0,) * 4
NAMES = ["shoulder", "elbow", "wrist", "lift", "x", "y", "z", "angle"]


def names_of(machine, named, start):
    found = complete(machine, [index_of(machine, name, ()) for name in named], start, ("here",))
    return [machine.mechanism.coordinate_names[index] for index in found]


@pytest.mark.parametrize(
    ("named", "full"),
    [
        (["elbow"], ["shoulder", "elbow", "wrist", "lift"]),
        (["lift", "shoulder"], ["shoulder", "elbow", "wrist", "lift"]),
        (["z"], ["x", "y", "z", "angle"]),
        (["angle", "x", "y"], ["x", "y", "z", "angle"]),
        (["x", "y", "wrist", "lift"], ["wrist", "lift", "x", "y"]),
        (["x", "y", "z", "wrist"], ["wrist", "x", "y", "z"]),
    ],
)
def test_a_set_is_completed(scara, start, named, full):
    assert names_of(scara, named, start) == full


@pytest.mark.parametrize(
    ("named", "says"),
    [
        (["x", "y", "z", "angle", "elbow"], "5 coordinates, but the machine has 4"),
        (
            ["x", "elbow"],
            "leave 2 of 4 degrees of freedom undetermined; name 2 more of wrist, lift, z, angle",
        ),
        (["x", "y", "lift"], "name 1 more of wrist, angle"),
        (
            ["x", "y", "lift", "z"],
            "lift and z depend on each other; replace one of them by one of wrist, angle",
        ),
        (
            ["shoulder", "elbow", "wrist", "angle"],
            "shoulder, elbow, wrist and angle depend on each other; replace one of them by one of .*lift, z",
        ),
    ],
)
def test_a_set_that_cannot_be_completed_is_refused_with_what_is_missing(scara, start, named, says):
    with pytest.raises(RequestError, match=says) as caught:
        names_of(scara, named, start)
    assert caught.value.code == ResultCode.INVALID_COORDINATES
    assert caught.value.path == ("here",)


def test_more_task_coordinates_than_degrees_of_freedom_must_be_chosen(vertical):
    start = Start.at_pose(vertical, vertical.initial_q)
    with pytest.raises(RequestError, match="name 1 more of lower_hinge, upper_hinge, x, tilt"):
        names_of(vertical, ["z"], start)
    assert names_of(vertical, ["z", "tilt"], start) == ["z", "tilt"]
    with pytest.raises(RequestError, match="has 2 degrees of freedom"):
        names_of(vertical, ["x", "z", "tilt"], start)


@pytest.mark.parametrize(
    ("machine", "named", "full"),
    [
        ("five_bar", ["left_elbow", "right_elbow"], ["left_elbow", "right_elbow"]),
        ("five_bar", ["x", "left"], ["left", "x"]),
        ("five_bar", ["right"], ["left", "right"]),
        ("four_bar", ["a2"], ["a2"]),
        ("slider_crank", ["slider"], ["slider"]),
        ("delta", ["y", "motor_1", "x"], ["motor_1", "x", "y"]),
        ("delta", ["elbow_1", "motor_2", "z"], ["elbow_1", "motor_2", "z"]),
        ("platform_3rrs", ["motor_1", "roll", "pitch"], ["motor_1", "roll", "pitch"]),
    ],
)
def test_closed_machines_take_any_independent_set(machine, named, full):
    closed = load(machine)
    assert names_of(closed, named, Start.at_pose(closed, closed.initial_q)) == full


@pytest.mark.parametrize(
    ("machine", "named", "says"),
    [
        (
            "five_bar",
            ["left_elbow"],
            "1 of 2 degrees of freedom undetermined; name 1 more of left, right, right_elbow, x, y",
        ),
        ("five_bar", ["left", "right", "x"], "has 2 degrees of freedom"),
        ("delta", ["wrist_1", "x", "z"], "wrist_1.* replace one of them by one of .*y"),
    ],
)
def test_closed_machines_refuse_with_what_would_complete_the_set(machine, named, says):
    closed = load(machine)
    with pytest.raises(RequestError, match=says):
        names_of(closed, named, Start.at_pose(closed, closed.initial_q))


def test_an_unknown_name_is_answered_with_the_known_ones(scara):
    with pytest.raises(RequestError, match="'elbw', did you mean 'elbow'\\?") as caught:
        index_of(scara, "elbw", ("trajectory", "coordinates", 2))
    assert caught.value.data["allowed"] == NAMES
    assert caught.value.path == ("trajectory", "coordinates", 2)


@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=6, unique=True))
def test_whatever_is_named_the_answer_is_a_full_independent_set_or_a_refusal(scara, start, named):
    try:
        full = names_of(scara, named, start)
    except RequestError as error:
        if error.code != ResultCode.INVALID_COORDINATES:
            raise
        return
    assert set(named) <= set(full)
    assert len(full) == 4
    assert independent(scara.mechanism, [NAMES.index(name) for name in full], start.q)


def test_the_order_is_that_of_the_reference_held(scara):
    held = {"z": 0.0, "y": 0.3, "angle": 0.1, "x": 0.0}
    start = Start.at_pose(scara, scara.initial_q, None, held)
    assert names_of(scara, ["x"], start) == ["z", "y", "angle", "x"]
    present = start.present(scara, complete(scara, [4], start, ()))
    assert present.theta.tolist() == [0.0, 0.3, 0.1, 0.0]


def test_another_set_begins_at_the_state(scara, start):
    held = Start.at_pose(scara, scara.initial_q, None, {"z": 0.0, "y": 0.3, "angle": 0.1, "x": 0.0})
    present = held.present(scara, (0, 1, 2, 3))
    np.testing.assert_array_equal(present.theta, scara.initial_q)


def test_slow_drift_counts_as_rest_and_motion_does_not(scara):
    present = Start.at_pose(scara, scara.initial_q, [5e-4, 0.2, 0.0, 0.0]).present(scara, (0, 1, 2, 3))
    assert present.rate.tolist() == [0.0, 0.2, 0.0, 0.0]


def test_singular_values_see_the_stretched_arm(scara):
    straight, bent = np.array([0.3, 0.0, 0.0, 0.0]), np.array([0.3, -1.0, 0.0, 0.0])
    assert smallest_singular_value(scara.mechanism, (4, 5, 6, 7), straight) < 1e-12
    assert smallest_singular_value(scara.mechanism, (4, 5, 6, 7), bent) > 0.1
    assert smallest_singular_value(scara.mechanism, (0, 1, 2, 3), straight) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "state",
    [
        MachineState((), REST),
        MachineState((0.0,), REST),
        MachineState((0.0,) * 4, REST, ("x",), ()),
        MachineState((0.0,) * 4, REST, ("nowhere",), (0.0,)),
        MachineState((math.nan,) * 4, REST),
        MachineState((0.0,) * 4, (math.inf,) * 4),
    ],
    ids=str,
)
def test_an_unreadable_start_is_a_defect_that_is_told(scara, state):
    with pytest.raises(RequestError) as caught:
        Start.from_message(scara, state)
    assert caught.value.code == RequestCode.INTERNAL


def test_a_reference_that_is_given_stands_still(scara):
    names = ("shoulder", "elbow", "wrist", "lift")
    start = Start.from_message(scara, MachineState((0.1,) * 4, (0.2,) * 4, names, REST))
    np.testing.assert_array_equal(start.rate, 0.0)
    np.testing.assert_array_equal(start.q, 0.1)
    without = Start.from_message(scara, MachineState((0.1,) * 4, (0.2,) * 4))
    np.testing.assert_array_equal(without.v, 0.2)


@pytest.mark.parametrize(
    ("name", "goal_coordinates", "named", "full"),
    [
        ("five_bar", ("x", "y"), ["left"], ["left", "right"]),
        ("five_bar", ("left", "right_elbow"), ["left"], ["left", "right"]),
        ("five_bar_redundant", ("x", "y"), ["left_elbow"], ["left", "left_elbow"]),
        ("platform_3rrs", ("height", "roll", "pitch"), ["motor_2"], ["motor_1", "motor_2", "motor_3"]),
        ("delta", ("x", "y", "z"), ["motor_3", "motor_1"], ["motor_1", "motor_2", "motor_3"]),
        ("delta", ("x", "y", "z"), ["z"], ["x", "y", "z"]),
    ],
)
def test_where_some_motors_are_named_the_other_motors_hold(name, goal_coordinates, named, full):
    machine = load(name)
    machine = replace(machine, goal_coordinates=goal_coordinates)
    start = Start.at_pose(machine, machine.initial_q)
    assert names_of(machine, named, start) == full
    here = dict(zip(machine.mechanism.coordinate_names, start.theta.tolist(), strict=True))
    made = plan("move", {"target": {one: here[one] + 0.01 for one in named}}, machine, start)
    assert list(made.coordinates) == full
