"""kill -9 in the middle of the helix: who notices, what stands still, and how one goes on."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork import GoalFailed, NobodyThere, RequestError, Robot
from linkwork.demos.demo_motions import helix
from linkwork.demos.waypoints import begin
from linkwork.launch.daemons import Rig
from linkwork.machine import shipped_path
from linkwork.protocol.codes import ResultCode
from tests.system.running import COMMAND_TIMEOUT_PERIODS, patient_machine
from tests.waiting import wait_for

SCARA_TIMEOUT_PERIODS = 20
STOPPING_DISTANCE = {"shoulder": 0.0083, "elbow": 0.0106, "wrist": 0.0056, "lift": 0.00041}
"""rad or m after the last fresh command on the helix, as docs/plant.md says."""


def onto_the_helix(robot: Robot) -> Any:
    """Enables and sends the helix; returns the goal once the tool moves at full speed."""
    robot.enable()
    robot.move(begin(helix(5.0)))
    goal = robot.send(helix(9.0))
    wait_for(lambda: (under_way := robot.state["goal"]) and under_way["path_s"] > 1.5, "the helix")
    return goal


def kill_controller(rig: Rig, robot: Robot) -> None:
    """Gateway, loop and planner, none of which can say a word."""
    status: Any = robot.status
    pids = [status["loop_pid"], status["gateway_pid"], status["planner_pid"]]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    rig.children["controller"].wait(30.0)


def told(rig: Rig, event: str) -> Any:
    """What the plant has said of this kind last."""
    found = [each for each in rig.said("plant") if each["event"] == event]
    return found[-1] if found else None


@pytest.mark.slow
@pytest.mark.parametrize("pace", ["lockstep", "device", "host"])
def test_the_controller_is_killed(pace: str, folder: Path, tmp_path: Path) -> None:
    runtime = folder / pace
    runtime.mkdir()
    config = "scara" if pace == "lockstep" else str(patient_machine(tmp_path))
    allowed = SCARA_TIMEOUT_PERIODS if pace == "lockstep" else COMMAND_TIMEOUT_PERIODS
    plant = [config, "--realtime", "ignore"]
    controller = [config, "--realtime", "ignore", "--pace", pace, "--no-log"]
    with Rig("scara", plant, controller, runtime) as rig:
        rig.wait_ready(lambda _: None)
        with suppress(NobodyThere), Robot(endpoint=rig.requests) as robot:
            onto_the_helix(robot)
            kill_controller(rig, robot)
        braking = wait_for(lambda: told(rig, "watchdog"), "the watchdog")
        assert 0 <= braking["tick"] - braking["last_fresh_tick"] <= allowed
        standstill = wait_for(lambda: told(rig, "standstill"), "the standstill")
        if pace == "lockstep":
            for joint, travel in standstill["travel"].items():
                assert abs(travel) <= STOPPING_DISTANCE[joint]

        rig.start("controller", controller)
        rig.wait_ready(lambda _: None)
        with Robot(endpoint=rig.requests) as robot:
            after = robot.state
            assert (after["state"], after["mode"]) == ("inactive", "brake")
            assert np.allclose(list(after["v"].values()), 0.0, atol=0.0)
            robot.enable()
            robot.move(begin(helix(5.0)))
            assert robot.state["state"] == "active"
            robot.disable()


@pytest.mark.slow
def test_the_plant_is_killed(patient: Rig, tmp_path: Path) -> None:
    with Robot(endpoint=patient.requests) as robot:
        goal = onto_the_helix(robot)
        patient.children["plant"].kill()
        with pytest.raises(GoalFailed) as caught:
            goal.wait(60.0)
        assert caught.value.code == ResultCode.FAULT
        state = robot.state
        assert state["state"] == "fault"
        assert state["fault"] is not None
        assert state["fault"]["name"] == "LINK_LOST"
        status: Any = robot.status
        assert not status["device"]["connected"]
        assert status["fault"]["name"] == "LINK_LOST"
        with pytest.raises(RequestError, match="plant"):
            robot.recover()

        gateway, loop = status["gateway_pid"], status["loop_pid"]
        patient.children["plant"].stop(5.0)
        patient.start("plant", [str(tmp_path / "scara.yaml"), "--realtime", "ignore"])
        wait_for(lambda: _recovered(robot), "the plant")
        status = robot.status
        assert (status["gateway_pid"], status["loop_pid"]) == (gateway, loop)
        before = robot.state["q"]
        robot.enable()
        after = robot.state
        assert after["state"] == "active"
        assert after["q"] == pytest.approx(before, abs=1e-6)
        robot.move(begin(helix(5.0)))
        robot.disable()


@pytest.mark.parametrize("moving", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_in_lockstep_the_end_of_the_plant_is_noticed_without_waiting(
    moving: bool, folder: Path, tmp_path: Path
) -> None:
    """No silence would be long enough here: the plant may be silent for an hour."""
    config = tmp_path / "scara.yaml"
    patient = "plant:\n  peer_timeout_s: 3600\n"
    config.write_text(shipped_path("scara").read_text().replace("plant:\n", patient))
    runtime = folder / f"dead plant, {moving}"
    runtime.mkdir()
    arguments = [str(config), "--pace", "lockstep", "--realtime", "ignore"]
    with Rig("scara", arguments, [*arguments, "--no-log"], runtime) as rig:
        rig.wait_ready(lambda _: None)
        with Robot(endpoint=rig.requests) as robot:
            if moving:
                onto_the_helix(robot)
            else:
                wait_for(lambda: robot.state["time_stands"], "rest")
            os.kill(rig.children["plant"].pid, signal.SIGKILL)
            wait_for(lambda: robot.state["state"] == "fault", "the fault")
            fault, device = robot.state["fault"], robot.status["device"]
            assert fault is not None
            assert fault["name"] == "LINK_LOST"
            assert fault["text"] == "the connection to the plant ended"
            assert "the plant closed the connection" in device["text"]
            rig.start("plant", arguments)
            wait_for(lambda: _recovered(robot), "the plant")
            robot.enable()
            robot.move(begin(helix(5.0)))
            robot.disable()


@pytest.mark.slow
def test_in_lockstep_a_gateway_may_be_suspended_for_longer_than_the_plant_is_patient(
    folder: Path, tmp_path: Path
) -> None:
    """With a digital twin the loop waits for the gateway after ten ticks."""
    config = tmp_path / "scara.yaml"
    patience = "plant:\n  peer_timeout_s: 0.4\n"
    config.write_text(shipped_path("scara").read_text().replace("plant:\n", patience))
    runtime = folder / "suspended gateway"
    runtime.mkdir()
    arguments = [str(config), "--pace", "lockstep", "--realtime", "ignore"]
    with Rig("scara", arguments, [*arguments, "--no-log", "--twin"], runtime) as rig:
        rig.wait_ready(lambda _: None)
        with Robot(endpoint=rig.requests) as robot:
            robot.enable()
            goal = robot.move(lift=0.1, speed=0.2, wait=False)
            os.kill(gateway := robot.status["gateway_pid"], signal.SIGSTOP)
            time.sleep(3 * 0.4)  # the suspension itself
            os.kill(gateway, signal.SIGCONT)
            goal.wait(60.0)
            assert told(rig, "watchdog") is None


def _recovered(robot: Robot) -> bool:
    try:
        return robot.recover()["state"] == "inactive"
    except RequestError:
        return False


@pytest.mark.slow
def test_the_gateway_is_killed_in_the_middle_of_the_helix(patient: Rig, tmp_path: Path) -> None:
    with suppress(NobodyThere), Robot(endpoint=patient.requests) as robot:
        onto_the_helix(robot)
        loop = robot.status["loop_pid"]
        patient.children["controller"].kill()
        patient.children["controller"].stop(5.0)
    patient.start("controller", [str(tmp_path / "scara.yaml"), "--realtime", "ignore", "--no-log"])
    patient.wait_ready(lambda _: None)
    with Robot(endpoint=patient.requests) as robot:
        wait_for(lambda: robot.state["state"] == "active", "the end of the stop")
        assert robot.status["loop_pid"] == loop
        held = robot.state
        assert held["mode"] == "effort"
        assert np.allclose(list(held["v"].values()), 0.0, atol=1e-4)
        robot.move(begin(helix(5.0)))
        robot.disable()


@pytest.mark.slow
def test_the_loop_is_killed(patient: Rig) -> None:
    with Robot(endpoint=patient.requests) as robot:
        goal = onto_the_helix(robot)
        loop = robot.status["loop_pid"]
        assert loop is not None
        os.kill(loop, signal.SIGKILL)
        with pytest.raises(GoalFailed):
            goal.wait(60.0)
        wait_for(lambda: robot.status["loop_pid"] not in (None, loop), "a new loop")
        wait_for(lambda: _recovered(robot) or robot.state["state"] == "inactive", "the plant")
        robot.enable()
        assert robot.state["state"] == "active"
        robot.disable()
