"""A pin enters a slot and leaves it over real sockets: request, event, state, planner, twin, replay."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from linkwork import GoalFailed, RequestError, Robot
from linkwork.launch.daemons import Rig
from linkwork.machine import load, shipped_path
from linkwork.protocol.codes import RequestCode
from linkwork.recordings.recording import read_recording
from linkwork.recordings.replay import replay
from tests.system.running import answer, linkwork
from tests.waiting import wait_for

TWIN = "twin: {on_exceeded: tell, effort_share: 0.02, energy_threshold_J: 0.05}\n"


@contextmanager
def slot_arm(folder: Path, *more: str) -> Iterator[Rig]:
    """The arm in lockstep; more: for the controller."""
    config = folder / "slot_arm.yaml"
    config.write_text(shipped_path("slot_arm").read_text() + TWIN)
    arguments = [str(config), "--pace", "lockstep", "--realtime", "ignore"]
    with Rig("slot_arm", arguments, [*arguments, "--log", str(folder / "log"), *more], folder) as rig:
        rig.wait_ready(lambda _: None)
        yield rig


def log_in(folder: Path) -> Path:
    return min((folder / "log").glob("*-[0-9][0-9][0-9][0-9].mcap"))


def run(rig: Rig) -> None:
    """In and out of the slot, the same each time."""
    with Robot(endpoint=rig.requests, owner="anna") as robot:
        robot.enable()
        robot.move(reach=0.5, height=0.3)
        robot.advance(200)
        robot.switch("slot", True)
        robot.move(reach=0.6)
        robot.advance(100)
        robot.switch("slot", False)
        robot.advance(200)
        robot.move(reach=0.45, height=0.4)
        robot.disable()


def test_in_and_out_of_the_slot_over_sockets(folder: Path) -> None:
    with slot_arm(folder) as rig, Robot(endpoint=rig.requests, owner="anna") as robot:
        sets = {tuple(one["closed"]): one for one in robot.describe()["constraint_sets"]}
        assert {names: one["degrees_of_freedom"] for names, one in sets.items()} == {
            (): 2, ("slot",): 1, ("carriage",): 1, ("slot", "carriage"): None,
        }  # fmt: skip
        assert "no degree of freedom" in sets["slot", "carriage"]["refused"]
        robot.enable()
        with pytest.raises(RequestError, match="its gap is") as refused:
            robot.switch("slot", True)
        assert refused.value.code == RequestCode.NOT_SWITCHED
        assert refused.value.data["residual"] > 1e-3
        with pytest.raises(RequestError, match="did you mean 'slot'"):
            robot.switch("slott", True)
        robot.move(reach=0.5, height=0.3)
        robot.advance(200)

        done = answer(rig.runtime, "switch", "slot", "on", "--as", "anna")
        assert (done["constraint"], done["on"], done["closed"]) == ("slot", True, ["slot"])
        assert 0.0 <= done["energy_loss_J"] < 1e-3
        assert robot.state["closed"] == {"slot": True, "carriage": False}
        assert "slot on; carriage off" in linkwork(rig.runtime, "state").stdout
        assert robot.switch("slot", True)["text"] == "slot is on already"
        with pytest.raises(RequestError, match="no degree of freedom to control") as refused:
            robot.switch("carriage", True)
        assert refused.value.code == RequestCode.UNSUPPORTED
        with pytest.raises(RequestError, match=r"the constraints hold height .* is missed by 0\.1 m"):
            robot.move(reach=0.6, height=0.4)

        goal = robot.send(
            {"coordinates": ["reach"], "points": [{"time_from_start_s": 1.0, "positions": [0.6]}]}
        )
        robot.pause()
        wait_for(lambda: robot.state["goal"]["status"] == "paused", "the pause")
        with pytest.raises(RequestError, match="is active") as refused:
            robot.switch("slot", False)
        assert refused.value.code == RequestCode.BUSY
        robot.resume()
        goal.wait(60.0)
        assert abs(robot.state["coordinates"]["height"] - 0.3) < 1e-5
        other = answer(rig.runtime, "switch", "slot", "off", "--as", "bert", status=3)
        assert other["error"]["name"] == "NOT_OWNER", other
        then = {"coordinates": ["reach"], "points": [{"time_from_start_s": 1.0, "positions": [0.5]}]}
        planned = robot.send(then, at_tick=robot.state["tick"] + 5000)
        later = robot.state["tick"] + 50
        assert robot.switch("slot", False, at_tick=later)["tick"] == later
        robot.advance(100)
        assert robot.state["closed"] == {"slot": False, "carriage": False}
        with pytest.raises(GoalFailed, match="a constraint was switched before it"):
            planned.wait(60.0)
        robot.advance(200)
        robot.move(reach=0.45, height=0.4)
        robot.disable()
        assert robot.faults()["faults"] == []
    recording = read_recording(log_in(folder))
    told = [event for event in recording.events if event["event"] == "switched"]
    assert [(one["constraint"], one["on"], one["switched"]) for one in told] == [
        ("slot", False, False), ("slot", True, True), ("slot", False, True),
    ]  # fmt: skip


@pytest.mark.slow
def test_a_lockstep_run_leaves_the_same_bytes_replays_and_surprises_no_twin(folder: Path) -> None:
    logs = []
    for name in ("one", "two"):
        (folder / name).mkdir()
        with slot_arm(folder / name, "--twin") as rig:
            run(rig)
        logs.append(log_in(folder / name))
    assert logs[0].read_bytes() == logs[1].read_bytes()
    recording = read_recording(logs[0])
    assert [one["switched"] for one in recording.events if one["event"] == "switched"] == [True, True]
    assert not [one for one in recording.events if one["event"].startswith("twin")]
    found = replay(recording, load(folder / "one" / "slot_arm.yaml"))
    assert (found.difference, found.ended, found.ticks) == (None, "", len(recording.table))
