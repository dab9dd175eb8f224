"""Goals in linear combinations of coordinates, planned and followed in one process."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import judge, plan
from linkwork.machine import load
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from tests.controller.loop.goals_in_process import Planned
from tests.controller.loop.in_process import InProcess

ENDED = (GoalStatus.SUCCEEDED, GoalStatus.ENDED)


def combined(rig: InProcess, row: dict[str, float]) -> float:
    """Value of a combination where the machine is."""
    names, here = rig.machine.mechanism.coordinate_names, rig.controller._now.theta
    return sum(factor * float(here[names.index(name)]) for name, factor in row.items())


def run(rig: InProcess, method: str, **asked: Any) -> ResultCode:
    planned = Planned(rig)
    first = planned.order(planned.plan(method, **asked))
    samples = [first, *rig.until(lambda sample: sample["goal_status"] in ENDED)]
    rig.run(0.1)
    return ResultCode(int(samples[-1]["goal_code"]))


@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    st.sampled_from(["scara", "five_bar"]),
    st.sampled_from(["hold", "damp"]),
    st.floats(-3.0, 3.0).filter(lambda factor: abs(factor) > 0.1),
    st.floats(-3.0, 3.0),
)
def test_a_move_brings_a_combination_to_its_target(machine, rest, one, other):
    rig = InProcess(load(machine))
    rig.enable()
    row = {"x": one, "y": other}
    target = combined(rig, row) + 0.02 * one
    assert run(rig, "move", target={"row": target}, rows={"row": row}, rest=rest) is ResultCode.SUCCESSFUL
    assert combined(rig, row) == pytest.approx(target, abs=1e-3 * (abs(one) + abs(other)))


def test_a_combination_is_a_row_like_others_in_a_trajectory():
    rig = InProcess(load("scara"))
    rig.enable()
    rows = {"diagonal": {"x": 1.0, "y": -2.0}, "sum": {"shoulder": 1.0, "elbow": 0.5}}
    begin = [combined(rig, row) for row in rows.values()]
    end = [begin[0] + 0.03, begin[1] + 0.05]
    trajectory = {
        "rows": rows,
        "coordinates": ["sum", "z", "diagonal"],
        "points": [{"time_from_start_s": 1.0, "positions": [end[1], -0.01, end[0]]}],
        "tolerances": {"diagonal": {"path": 0.002, "goal": 0.0005}},
        "conflict": {"priority": [["diagonal", "z"], ["sum"]]},
        "rest": "damp",
    }
    assert run(rig, "send", trajectory=trajectory) is ResultCode.SUCCESSFUL
    assert [combined(rig, row) for row in rows.values()] == pytest.approx(end, abs=1e-3)
    again = {"turn": {"wrist": 2.0, "elbow": -1.0}}  # other coefficients in the same place
    target = combined(rig, again["turn"]) + 0.1
    assert run(rig, "move", target={"turn": target}, rows=again) is ResultCode.SUCCESSFUL
    assert combined(rig, again["turn"]) == pytest.approx(target, abs=2e-3)


def test_combinations_that_contradict_are_refused_and_named():
    machine = load("scara")
    start = Start.at_pose(machine, machine.initial_q)
    x, y = (float(start.theta[machine.mechanism.coordinate_names.index(name)]) for name in "xy")
    target = {"x": x, "y": y, "sum": x + y + 0.02}
    with pytest.raises(RequestError, match=r"x, y, sum contradict each other.*`conflict`"):
        plan("move", {"target": target, "rows": {"sum": {"x": 1.0, "y": 1.0}}}, machine, start)


@pytest.mark.parametrize(
    ("row", "said", "where"),
    [
        ({}, "row combines no coordinates", ("row",)),
        ({"x": 0.0}, "row combines no coordinates", ("row",)),
        ({"unit": "m"}, "row combines no coordinates", ("row",)),
        ({"x": 1.0, "elbow": 1.0}, "row combines .*elbow in rad.*`unit: rad`", ("row",)),
        ({"elbw": 1.0}, "no coordinate 'elbw', did you mean 'elbow'", ("row", "elbw")),
        ({"x": "m"}, "coefficient of x must be a number", ("row", "x")),
        ({"x": 1.0, "angle": 1.0}, "angle jumps by a whole turn", ("row", "angle")),
        ({"x": 1.0, "unit": "mm"}, "'rad' or 'm'", ("row", "unit")),
    ],
)
@pytest.mark.parametrize("request_", ["move", "check", "send"])
def test_rows_that_are_none_are_refused(row, said, where, request_):
    machine = load("scara")
    start = Start.at_pose(machine, machine.initial_q)
    rows = {"rows": {"row": row}}
    points = [{"time_from_start_s": 1.0, "positions": [0.0]}]
    asked: dict[str, Any] = {"target": {"row": 0.0}} | rows
    if request_ == "send":
        asked = {"trajectory": {"coordinates": ["row"], "points": points} | rows}
    with pytest.raises(RequestError, match=said) as refused:
        judge(asked, machine, start) if request_ == "check" else plan(request_, asked, machine, start)
    assert tuple(refused.value.path) == (*(["trajectory"] if request_ == "send" else []), "rows", *where)


def test_mixed_units_are_converted_where_the_row_says_its_unit():
    rig = InProcess(load("scara"))
    rig.enable()
    row = {"x": 1.0, "elbow": 0.2}
    target = combined(rig, row) + 0.02
    rows = {"arc": row | {"unit": "m"}}
    assert run(rig, "move", target={"arc": target}, rows=rows, rest="damp") is ResultCode.SUCCESSFUL
    assert combined(rig, row) == pytest.approx(target, abs=1e-3)


def test_the_name_of_a_coordinate_is_no_name_of_a_combination():
    machine = load("scara")
    start = Start.at_pose(machine, machine.initial_q)
    with pytest.raises(RequestError, match="x is a coordinate of the machine"):
        plan("move", {"target": {"x": 0.0}, "rows": {"x": {"y": 1.0}}}, machine, start)


def test_a_goal_under_way_is_planned_again_with_its_combinations():
    rig = InProcess(load("scara"))
    rig.enable()
    planned, row = Planned(rig), {"x": 1.0, "y": -2.0}
    target = {"row": combined(rig, row) + 0.05}
    planned.order(planned.plan("move", target=target, rows={"row": row}, rest="damp", speed=0.5))
    rig.run(0.1)
    assert planned.plan("rewalk", 0.1).duration_s > 0.0
    with pytest.raises(RequestError, match="cancel it"):
        planned.plan("move", 0.1, target=target, rows={"row": row})


def test_a_goal_of_a_combination_does_not_take_over_in_motion():
    rig = InProcess(load("scara"))
    rig.enable()
    planned, row = Planned(rig), {"x": 1.0, "y": -2.0}
    planned.order(planned.plan("move", target={"shoulder": 0.9}))
    rig.run(0.2)
    with pytest.raises(RequestError, match="begins at rest"):
        planned.plan("move", 0.1, target={"row": 0.0}, rows={"row": row})


def test_a_goal_with_forces_has_no_combinations():
    machine = load("scara_polish")
    start = Start.at_pose(machine, machine.initial_q)
    points = [{"time_from_start_s": 1.0, "positions": [0.0, 0.3, 0.0]}]
    asked = {"coordinates": ["row", "y", "angle"], "points": points, "force": {"table": 20.0}}
    with pytest.raises(RequestError, match="a goal with `force` has no `rows`"):
        plan("send", {"trajectory": asked | {"rows": {"row": {"x": 1.0}}}}, machine, start)


def test_a_goal_in_a_moving_frame_has_no_combinations():
    machine = load("delta_gripper")
    start = replace(Start.at_pose(machine, machine.initial_q), inputs=tuple(0.0 for _ in machine.inputs))
    frame = machine.frames[0].name
    points = [{"time_from_start_s": 1.0, "positions": [0.0], "in": frame}]
    points.append({"time_from_start_s": 2.0, "positions": [0.0]})
    asked = {"coordinates": ["row"], "points": points, "rows": {"row": {"x": 1.0, "y": 1.0}}}
    with pytest.raises(RequestError, match="a goal with `in` has no `rows`"):
        plan("send", {"trajectory": asked}, machine, start)
