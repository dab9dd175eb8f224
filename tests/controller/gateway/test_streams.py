"""Streams through the gateway, with the real loop and plant behind it, in lockstep."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.client.goal import GoalFailed
from linkwork.client.robot import Robot
from linkwork.machine import load
from linkwork.protocol.codes import RequestCode, ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.recordings.recording import read_recording
from linkwork.recordings.replay import replay

Make = Callable[[str], Any]


@pytest.fixture(scope="module")
def rig(rigs: Make) -> Any:
    return rigs("lockstep")


@pytest.fixture
def robot(rig: Any) -> Any:
    rig.enabled()
    rig.ask("stop")
    rig.ask("release")
    with Robot(endpoint=rig.seat.requests) as robot:
        robot.enable()
        yield robot


def refused(rig: Any, robot: Robot, method: str, **params: Any) -> tuple[int, tuple[str | int, ...], str]:
    error = rig.refused(method, **{"as": robot.owner, **params})
    return error.code, tuple(error.path), error.message


def test_wrong_streams_are_refused_by_field(rig: Any, robot: Robot) -> None:
    code, path, text = refused(rig, robot, "stream", coordinates=["lift", "knee"])
    assert (code, path) == (ResultCode.INVALID_COORDINATES, ("coordinates", 1))
    assert "knee" in text
    code, path, text = refused(rig, robot, "stream", coordinates=["lift"], rate_hz=2000.0)
    assert (code, path) == (RequestCode.INVALID_PARAMS, ("rate_hz",))
    assert "20 to 1000 Hz" in text
    code, path, text = refused(rig, robot, "stream", coordinates=["lift", "z"])
    assert (code, path) == (ResultCode.INVALID_COORDINATES, ("coordinates",))


def test_wrong_set_points_are_refused_by_field_and_the_machine_stays(rig: Any, robot: Robot) -> None:
    before = robot.state["q"]
    lift = before["lift"]
    with robot.stream("lift") as stream:
        goal = stream.goal.number
        wrong = [
            ([[0.0, lift + 0.1]], ResultCode.INVALID_GOAL, ("points", 0, 1)),
            ([[0.0, lift, 0.0, 0.0]], RequestCode.INVALID_PARAMS, ("points", 0)),
            ([[0.0, float("nan")]], RequestCode.INVALID_PARAMS, ("points", 0, 1)),
            ([[0.0, lift], [0.0, lift]], ResultCode.OLD_TIMESTAMP, ("points", 1, 0)),
        ]
        for points, code, path in wrong:
            assert refused(rig, robot, "set_points", goal=goal, points=points)[:2] == (code, path)
        robot.advance(50)
        assert robot.state["stream"]["status"] == "waiting"  # type: ignore[index]
        stream.put(lift)
        robot.advance(50)
    assert robot.state["q"]["lift"] == pytest.approx(lift, abs=1e-6)
    assert refused(rig, robot, "set_points", goal=goal, points=[[9.0, lift]])[1] == ("goal",)


def test_a_refusal_is_raised_by_a_later_put(robot: Robot) -> None:
    lift = robot.state["q"]["lift"]
    with robot.stream("lift") as stream:
        stream.put(lift, time_s=5.0)
        stream.put(lift, time_s=4.0)
        robot.advance(1)
        with pytest.raises(Exception, match="not later than"):
            stream.put(lift, time_s=6.0)
        with pytest.raises(ValueError, match="needed are lift"):
            stream.put(elbow=0.0)


def test_a_refusal_is_raised_at_the_end_where_no_put_follows(robot: Robot) -> None:
    lift = robot.state["q"]["lift"]
    with (
        pytest.raises(RequestError, match="the first set-point is") as refused,
        robot.stream("lift") as stream,
    ):
        stream.put(lift + 0.1)
    assert refused.value.path == ("points", 0, 1)
    assert robot.state["q"]["lift"] == pytest.approx(lift, abs=1e-6)


def test_set_points_move_the_machine_and_missing_ones_end_the_stream(robot: Robot) -> None:
    lift = robot.state["q"]["lift"]
    stream = robot.stream("lift", on_stale="end")
    for step in range(30):
        stream.put(lift=lift + 0.0004 * step)
        robot.advance(10)
    assert stream.status is not None
    assert stream.status["status"] == "running"
    robot.advance(600)
    with pytest.raises(GoalFailed, match="STREAM_STALE"):
        stream.goal.wait(10.0)
    assert robot.state["q"]["lift"] > lift + 0.011


def test_a_streamed_run_is_replayed_to_the_last_bit(rig: Any, robot: Robot) -> None:
    with robot.stream("x", "y") as stream:
        x, y = (robot.state["coordinates"][name] for name in "xy")
        for step in range(20):
            stream.put(x + 1e-4 * step, y, velocities=[0.01, 0.0])
            robot.advance(10)
    robot.disable()
    log = min(Path(rig.log).glob("*.mcap"))
    recording = read_recording(log)
    assert len(recording.set_points) >= 20
    found = replay(recording, load(str(rig.config)))
    assert found.difference is None
    assert found.ticks == len(recording.table)
    assert np.count_nonzero(recording.table["set_point"]) == len(recording.set_points)
