"""The section `workspace` of a machine file: for every goal, and while jogging."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from linkwork.controller.exchange.orders import JogCoordinates
from linkwork.controller.motion.limits.effort_limits import Limited
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import judge, plan
from linkwork.machine import Machine, load
from linkwork.machine.sections.bounds import Region
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from tests.controller.loop.in_process import InProcess

INF = float("inf")


def fenced(name: str, axis: int, room: float, speed: float = INF) -> Machine:
    """The machine whose tool may go so far up along an axis from where it starts, at this speed."""
    machine = load(name)
    point = "tool"
    index = machine.mechanism.point_index(point)
    start = Start.at_pose(machine, machine.initial_q)
    here = [start.theta[machine.coordinate_index(each)] for each in ("x", "y")]  # type: ignore[index]
    high = [INF, INF, INF]
    high[axis] = float(here[axis]) + room
    bounds = {f"{axis}_m": [-1e9, value] for axis, value in zip("xyz", high, strict=True) if value < INF}
    region = Region.model_validate(bounds | ({"speed_m_s": speed} if speed < INF else {}))
    return replace(machine, regions=(region.at(point, index),))


@pytest.mark.parametrize("name", ["scara", "five_bar"])
def test_a_goal_that_leaves_the_box_is_refused_with_place_and_sample(name: str) -> None:
    machine = fenced(name, 1, 0.01)
    start = Start.at_pose(machine, machine.initial_q)
    y = start.theta[machine.coordinate_index("y")]  # type: ignore[index]
    target = {"x": float(start.theta[machine.coordinate_index("x")]), "y": float(y) + 0.02}  # type: ignore[index]
    with pytest.raises(
        RequestError, match=r"tool\.y would need workspace .* a slower motion does not help"
    ) as caught:
        plan("move", {"target": target}, machine, start)
    assert caught.value.code == ResultCode.INFEASIBLE
    assert caught.value.data["limit"] == pytest.approx(y + 0.01)
    plan("move", {"target": {**target, "y": float(y) + 0.009}}, machine, start)


@pytest.mark.parametrize("name", ["scara", "five_bar"])
def test_the_tool_speed_slows_moves_and_refuses_trajectories(name: str) -> None:
    machine = fenced(name, 1, 1.0, speed=0.05)
    start = Start.at_pose(machine, machine.initial_q)
    home = machine.goal_coordinates[0]
    place = float(start.theta[machine.coordinate_index(home)])  # type: ignore[index]
    moved = plan("move", {"target": {home: place + 0.3}}, machine, start)
    speeds = moved.report["limits"]["tool speed"]["tool"]
    assert 0.9 < speeds["used"] <= 1.0 + 1e-6
    points = [{"time_from_start_s": 0.5, "positions": [place + 0.3]}]
    found = judge({"trajectory": {"coordinates": [home], "points": points}}, machine, start)
    assert "tool speed" in [violation["quantity"] for violation in found["violations"]]


@pytest.mark.parametrize("name", ["scara", "five_bar"])
def test_a_jog_stops_inside_the_box_and_keeps_the_speed(name: str) -> None:
    machine = fenced(name, 1, 0.02, speed=0.05)
    rig = InProcess(machine)
    rig.enable()
    y = machine.coordinate_index("y")
    assert y is not None
    limit = machine.regions[0].high[1]
    limited, places = 0, []
    for n in range(1200):
        jogs = n % 100 == 0
        asked = JogCoordinates(((y, 0.4),))
        sample = rig.order(asked) if jogs else rig.tick()
        limited |= int(sample["limited"])
        places.append(sample["coordinate"][[y - 1, y]])
    places = np.array(places)
    assert limited & Limited.JOG_VELOCITY
    assert limited & Limited.JOG_POSITION
    assert np.linalg.norm(np.diff(places, axis=0), axis=1).max() < 0.0505e-3
    assert limit - 2e-3 < places[:, 1].max() < limit + 1e-5
