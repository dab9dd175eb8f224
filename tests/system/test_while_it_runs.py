"""What may be changed while a machine runs, over real sockets: gains, payloads, pre-load, goals, force."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linkwork import GoalFailed, RequestError, Robot
from linkwork.launch.daemons import Rig
from linkwork.machine.catalogue import shipped_path
from linkwork.protocol.codes import ResultCode
from linkwork.trajectories.teach import TeachList, finished, lesson_text
from linkwork.trajectories.trajectory_file import read_trajectory_file
from tests.system.running import answer
from tests.waiting import wait_for

MORE = """\
  payloads: {tool: {max_mass_kg: 200, max_com_m: 0.05, max_inertia_kg_m2: 0.002}}
  gain_bounds: {bandwidth_rad_s: [10, 60], damping_ratio: [0.5, 1.5]}
"""
WALL = """\
contacts:
  wall:
    point: tool
    plane: {at_m: [0, 0.27, 0], normal: [0, 1, 0]}
    stiffness_N_m: 2.0e+4
    damping_ratio: 0.3
    friction: 0.2
    slip_speed_m_s: 0.01

force_sensors:
  tool: {contact: wall}
  hinge: {constraint: tip}

motors:"""
HERE = {"left": 2.0943951023931953, "right": 1.0471975511965976}


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    """The five-bar with a third motor, in lockstep: tilted, with a wall and a load cell; it may carry."""
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        path = Path(made) / "five_bar_redundant.yaml"
        text = shipped_path("five_bar_redundant").read_text() + MORE
        text = text.replace("gravity_m_s2: [0, 0, -9.81]", "gravity_m_s2: [0, -1, -9.76]")
        path.write_text(text.replace("motors:", WALL, 1))
        arguments = [str(path), "--pace", "lockstep", "--realtime", "ignore"]
        with Rig("five_bar_redundant", arguments, [*arguments, "--no-log"], Path(made)) as rig:
            rig.wait_ready(lambda _: None)
            yield rig


@pytest.fixture
def robot(rig: Rig) -> Iterator[Robot]:
    """Enabled in the initial pose, carrying nothing."""
    with Robot(endpoint=rig.requests, owner="anna") as robot:
        robot.enable()
        robot.move(HERE)
        yield robot
        robot.cancel()
        wait_for(lambda: robot.state["goal"] is None, "the end of the goal")
        robot.payload("tool", 0.0)
        robot.disable()


def way(left: float, seconds: float) -> dict[str, Any]:
    points = [{"time_from_start_s": seconds, "positions": [left]}]
    return {"coordinates": ["left"], "points": points}


def paused(robot: Robot, trajectory: dict[str, Any]) -> Any:
    """A goal under way that stands still, so that lockstep time does."""
    goal = robot.send(trajectory)
    robot.pause()
    wait_for(lambda: robot.state["goal"]["status"] == "paused", "the pause")
    return goal


def test_gains_and_the_pre_load(rig: Rig, robot: Robot) -> None:
    assert "bandwidth 40 rad/s" in robot.set_gain(bandwidth_rad_s=40)["text"]
    done = answer(rig.runtime, "gain", "--damping", "0.8", "--as", "anna")
    assert done["text"] == "bandwidth 40 rad/s, damping ratio 0.8"
    with pytest.raises(RequestError, match="not between 10 and 60"):
        robot.set_gain(bandwidth_rad_s=90)
    own = answer(rig.runtime, "gain", "--bandwidth", "50", "--of", "left", "--as", "anna")
    assert own["text"] == "bandwidth_rad_s 50 of left"
    entries = ["--gp", "x=900", "--gp", "x:y=120", "--gp", "y=400", "--gd", "x=60", "--gd", "y=40"]
    assert answer(rig.runtime, "gain", *entries, "--as", "anna")["text"] == "gain matrices of x, y"
    for position, where in (
        ({"x": {"x": 900, "y": 999}, "y": {"y": 900}}, "definite"),
        ({"q": {"q": 1}}, "no coordinate"),
    ):
        with pytest.raises(RequestError, match=where):
            robot.set_gain(position_per_s2=position, rate_per_s={"x": {"x": 60}})
    with pytest.raises(RequestError, match="name a gain"):
        robot.set_gain(coordinates=["x"])
    robot.set_gain(bandwidth_rad_s=20, damping_ratio=1.0)
    before = robot.state["effort"]
    assert answer(rig.runtime, "preload", "left_elbow=1.5", "--as", "anna")["state"] == "active"
    robot.advance(700)
    strained = robot.state["effort"]
    assert abs(strained["left_elbow"] - before["left_elbow"]) > 0.2
    with pytest.raises(RequestError, match="pre-loaded by at most 2"):
        robot.preload(left_elbow=3.0)
    robot.preload(left_elbow=0.0)


def test_what_limits_a_goal_in_the_fastest_time_is_known_to_every_client(robot: Robot) -> None:
    there = {"left": robot.state["q"]["left"] - 0.5, "right": robot.state["q"]["right"]}
    points = [{"positions": list(there.values())}]
    goal = paused(robot, {"coordinates": ["left", "right"], "timing": "fastest", "points": points})
    found = robot.path()
    assert found["goal"] == goal.number
    limits = found["timing"]["limits"]
    assert sum(each["share"] for each in limits) == pytest.approx(1.0)
    assert found["timing"]["stretches"][-1]["to_s"] == pytest.approx(found["duration_s"])
    robot.cancel()
    wait_for(lambda: robot.state["goal"] is None, "the end of the goal")


def test_a_payload_while_a_goal_runs_slows_it_down_or_changes_nothing(robot: Robot) -> None:
    assert robot.payload("tool", 0.2)["text"] == "0.2 kg at tool"
    trajectory = {
        "coordinates": ["left", "right"],
        "points": [{"time_from_start_s": 0.45, "positions": [1.2, HERE["right"]]}],
        "tolerances": {name: {"path": 1.0} for name in HERE},  # a wrong payload moves the machine
    }
    goal = paused(robot, trajectory)
    assert robot.payload("tool", 0.3)["text"] == "0.3 kg at tool"
    told = robot.payload("tool", 20.0, com_m=(0.0, 0.05, 0.0))["text"]
    assert f"goal {goal.number} continues at 0." in told
    assert "would need effort" in told
    with pytest.raises(RequestError, match="at most") as caught:
        robot.speed(1.0)
    assert 0.0 < caught.value.data["largest_speed"] < 1.0
    assert robot.payload("tool", 0.0)["text"] == "0 kg at tool"
    assert robot.speed(1.0)["fraction"] == 1.0
    robot.advance(1000)  # a wrong payload has moved the machine; it returns to where it holds
    robot.resume()
    assert goal.wait()["code"] == ResultCode.SUCCESSFUL


def test_a_payload_that_no_speed_makes_feasible_ends_the_goal_under_way(robot: Robot) -> None:
    goal = paused(robot, way(1.5, 1.0))
    told = robot.payload("tool", 200.0)["text"]
    assert f"goal {goal.number} stops on its path" in told
    assert "would need effort" in told
    with pytest.raises(GoalFailed, match="INFEASIBLE") as caught:
        goal.wait()
    assert caught.value.result["code"] == ResultCode.INFEASIBLE
    state = robot.state
    assert (state["state"], state["fault"]) == ("active", None)
    assert state["q"]["left"] > 1.6, "on its path, before its end"
    assert robot.payload("tool", 0.0)["text"] == "0 kg at tool"


def test_a_wall_is_pressed_and_let_go(rig: Rig, robot: Robot) -> None:
    robot.move({"x": 0.0, "y": 0.28})
    done = answer(rig.runtime, "move", "x=0", "y=0.26", "--until-force", "10", "--as", "anna")
    assert done["name"] == "SUCCESSFUL"
    assert robot.state["forces"]["wall"]["felt"] == pytest.approx(10.0, abs=0.5)
    points = [{"time_from_start_s": 0.5, "positions": [0.02]}]
    trajectory = {"coordinates": ["x"], "points": points, "force": {"wall": 15.0}}
    assert robot.send(trajectory).wait()["code"] == ResultCode.SUCCESSFUL
    state = robot.state
    cell = robot.describe()["force_sensors"][1]
    assert (cell["name"], cell["components"]) == ("hinge", ["x", "y", "z"])
    assert state["forces"]["tip.y"]["felt"] != 0.0
    assert state["forces"]["wall"] == pytest.approx({"felt": 15.0, "wanted": 15.0}, abs=0.5)
    assert state["coordinates"]["x"] == pytest.approx(0.02, abs=1e-3)
    robot.move({"x": 0.0, "y": 0.3})
    assert robot.state["forces"]["wall"]["felt"] == pytest.approx(0.0, abs=1e-6)


def test_goals_are_replaced_and_followed(rig: Rig, robot: Robot) -> None:
    first = paused(robot, way(1.9, 2.0))
    second = robot.append(way(2.0, 1.0))
    robot.resume()
    assert first.wait()["code"] == ResultCode.SUCCESSFUL
    assert second.wait()["code"] == ResultCode.SUCCESSFUL
    first = paused(robot, way(1.8, 2.0))
    done = answer(rig.runtime, "move", "left=2.1", "--replace", "--as", "anna")
    assert done["name"] == "SUCCESSFUL"
    with pytest.raises(GoalFailed, match="took over"):
        first.wait()


def test_taught_points_are_followed(rig: Rig, robot: Robot, tmp_path: Path) -> None:
    lesson = TeachList.from_description(robot.describe())
    for place in ({"left": 1.95}, {"right": 1.15}):
        robot.move(place)
        robot.law("float")
        robot.advance(50)
        assert lesson.capture(robot.state, 0.0)
        robot.law("hold")
    path = tmp_path / "taught.yaml"
    made, _ = finished(robot, lesson, as_shown=False)
    path.write_text(lesson_text(made, "five_bar_redundant"), encoding="utf-8")
    assert robot.send(read_trajectory_file(path).trajectory).wait()["code"] == ResultCode.SUCCESSFUL
    assert robot.state["q"]["right"] == pytest.approx(1.15, abs=1e-3)
    again = tmp_path / "again.yaml"
    taught = answer(rig.runtime, "teach", str(again), "--every", "0.02", "--for", "0.05", "--as", "anna")
    assert len(taught["points"]) == 1
    assert answer(rig.runtime, "send", str(again), "--as", "anna")["name"] == "SUCCESSFUL"
