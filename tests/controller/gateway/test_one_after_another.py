"""Goals that replace, follow and speed up one another, with the real loop, planner and plant behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from linkwork.protocol.codes import ResultCode

Make = Callable[[str], Any]


def swing(lift: float, seconds: float, at: float = 0.0, rate: float | None = None) -> dict[str, Any]:
    """To a height in so many seconds, from a way-point at time 0 if it has a velocity."""
    points: list[dict[str, Any]] = [{"time_from_start_s": seconds, "positions": [lift]}]
    if rate is not None:
        points.insert(0, {"time_from_start_s": 0.0, "positions": [at], "velocities": [rate]})
    return {"coordinates": ["lift"], "points": points}


@pytest.fixture(scope="module")
def rig(rigs: Make) -> Any:
    return rigs("lockstep")


@pytest.fixture(autouse=True)
def at_rest(rig: Any) -> None:
    rig.enabled()
    rig.ask("stop")
    rig.ask("move", target={"lift": 0.0, "shoulder": 0.5, "elbow": -0.9})
    rig.result()


def results(rig: Any, goals: list[int]) -> dict[int, str]:
    """How these goals ended, once all have."""
    found: dict[int, str] = {}
    while set(goals) - set(found):
        told = rig.events("goal.result")[-1].params
        found[told["goal"]] = told["name"]
    return {goal: found[goal] for goal in goals}


def test_a_move_replaces_a_trajectory_on_the_way(rig: Any) -> None:
    tick = rig.ask("state")["tick"]
    first = rig.ask("send", trajectory=swing(0.1, 2.0), at_tick=tick + 10)["goal"]
    second = rig.ask("move", target={"lift": 0.02}, replace=True, at_tick=tick + 810)
    assert second["tick"] == tick + 810
    rig.ask("advance", ticks=20)
    told = results(rig, [first, second["goal"]])
    assert told == {first: "REPLACED", second["goal"]: "SUCCESSFUL"}
    assert rig.ask("state")["q"]["lift"] == pytest.approx(0.02, abs=1e-3)


def test_replacing_at_once_is_planned_from_ahead(rig: Any) -> None:
    first = rig.ask("send", trajectory=swing(0.1, 60.0))["goal"]
    second = rig.ask("send", trajectory=swing(0.0, 1.0), replace=True)["goal"]
    told = results(rig, [first, second])
    assert told == {first: "REPLACED", second: "SUCCESSFUL"}


def test_replace_where_nothing_is_under_way_begins_as_ever(rig: Any) -> None:
    goal = rig.ask("move", target={"lift": 0.01}, replace=True)["goal"]
    assert results(rig, [goal]) == {goal: "SUCCESSFUL"}


def test_appended_goals_follow_one_after_another(rig: Any) -> None:
    tick = rig.ask("state")["tick"]
    first = rig.ask("send", trajectory=swing(0.1, 2.0), at_tick=tick + 10)["goal"]
    rig.ask("advance", ticks=50)
    goals = [first]
    for height in (0.05, 0.02):
        answer = rig.ask("append", trajectory=swing(height, 1.0))
        goals.append(answer["goal"])
    assert results(rig, goals) == dict.fromkeys(goals, "SUCCESSFUL")
    assert rig.ask("state")["q"]["lift"] == pytest.approx(0.02, abs=1e-3)


def test_an_appended_goal_is_refused_when_the_one_before_is_cancelled(rig: Any) -> None:
    first = rig.ask("send", trajectory=swing(0.1, 100.0))["goal"]
    second = rig.ask("append", trajectory=swing(0.0, 1.0))["goal"]
    rig.ask("cancel")
    assert results(rig, [first, second]) == {first: "CANCELLED", second: "INVALID_GOAL"}


def test_a_goal_is_sped_up_and_told_why_not_more(rig: Any) -> None:
    tick = rig.ask("state")["tick"]
    goal = rig.ask("send", trajectory=swing(0.1, 0.8), at_tick=tick + 5)["goal"]
    sped = rig.ask("speed", fraction=2.0, limit=True, at_tick=tick + 205)
    assert 1.0 < sped["fraction"] < 2.0
    assert sped["limited"]["coordinate"] == "lift"
    error = rig.refused("speed", fraction=2.0, at_tick=tick + 210)
    assert error.code == ResultCode.INFEASIBLE
    assert list(error.path) == ["fraction"]
    rig.ask("advance", ticks=5)
    assert results(rig, [goal]) == {goal: "SUCCESSFUL"}
    ended = rig.ask("state")["results"][-1]["tick"]
    assert ended - (tick + 5) < 790


def test_speed_without_a_goal_changes_nothing(rig: Any) -> None:
    assert rig.ask("speed", fraction=1.8)["text"] == "no active goal"
