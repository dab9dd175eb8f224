"""Signals over real sockets: set, wait, events, reactions, the plant's watchdog, the log, replay."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

from linkwork import RequestError, Robot
from linkwork.launch.daemons import Rig
from linkwork.machine import load
from linkwork.protocol.codes import RequestCode
from linkwork.recordings.recording import read_recording
from linkwork.recordings.replay import replay
from tests.signal_machine import write_signal_machine
from tests.system.running import answer, linkwork
from tests.waiting import wait_for


@contextmanager
def signal_rig(folder: Path) -> Iterator[Rig]:
    """The machine in lockstep."""
    config = write_signal_machine(folder)
    still = "part_present: {type: digital, direction: input"
    config.write_text(config.read_text().replace(still, still + ", simulated: lift > 0.03"))
    arguments = [str(config), "--pace", "lockstep", "--realtime", "ignore"]
    with Rig("scara", arguments, [*arguments, "--log", str(folder / "log")], folder) as rig:
        rig.wait_ready(lambda _: None)
        yield rig


def log_in(folder: Path) -> Path:
    return min((folder / "log").glob("*-[0-9][0-9][0-9][0-9].mcap"))


def test_signals_over_sockets(folder: Path) -> None:
    with signal_rig(folder) as rig, Robot(endpoint=rig.requests, owner="anna") as robot:
        told = {each["name"]: each for each in robot.describe()["signals"]}
        assert (told["flow"]["unit"], told["flow"]["on_fault"]) == ("l/min", 0.0)
        assert told["gripper"]["on_fault"] is None
        wait_for(lambda: robot.status["device"]["features"] == ["signals"], "the plant")
        assert robot.status["device"]["lacks"] == ["motor_status"]

        robot.set(gripper=True, flow=1.5)  # while inactive
        assert robot.state["signals"] == {
            "gripper": True, "lamp": False, "flow": 1.5, "part_present": False, "pressure": 1.0,
        }  # fmt: skip
        assert "gripper on; lamp off; flow 1.5" in linkwork(rig.runtime, "state").stdout
        answer(rig.runtime, "set", "cell 4/stack lamp=on", "flow=0.25", "--as", "anna")
        assert robot.wait("flow < 0.3 and (lamp or part_present)")["signals"]["lamp"] is True
        met_at = answer(rig.runtime, "wait", "lamp=on", "--timeout", "1", "--as", "bert")
        assert met_at["signals"]["flow"] == 0.25
        for wrong, why in (
            ({"griper": True}, "did you mean 'gripper'"),
            ({"part_present": True}, "an input is set by the device"),
            ({"flow": 3.0}, "allowed: 0 to 2.5 l/min"),
            ({"gripper": 2.0, "flow": 1.0}, "allowed: on or off"),
        ):
            with pytest.raises(RequestError, match=why) as refused:
                robot.set(wrong)
            assert refused.value.path[0] == "signals"
        assert robot.state["signals"]["flow"] == 0.25
        other = answer(rig.runtime, "set", "lamp=off", "--as", "bert", status=3)
        assert other["error"]["name"] == "NOT_OWNER"
        with pytest.raises(RequestError, match="lockstep time stands") as refused:
            robot.wait(part_present=True)
        assert refused.value.code == RequestCode.NOT_MET
        with pytest.raises(RequestError, match="no quantity 'lifft', did you mean 'lift'"):
            robot.wait("lifft > 0")

        assert "while time stands" in linkwork(rig.runtime, "watch", "--for", "0.1").stderr
        robot.enable()
        met: list[float] = []
        waiting = threading.Thread(
            target=lambda: met.append(robot.wait("lift > 0.02", within_s=60.0)["time_s"])
        )
        points = [{"time_from_start_s": 1.0, "positions": [0.05]}]
        goal = robot.send({"coordinates": ["lift"], "points": points})
        waiting.start()
        goal.wait(120.0)
        waiting.join()
        assert met
        (edge,) = robot.edges("part_present")
        assert (edge["number"], edge["value"], edge["signals"]) == (1, True, {"pressure": 1.0})
        assert "1: on at tick" in linkwork(rig.runtime, "edges", "part_present").stdout
        assert answer(rig.runtime, "edges", "part_present", "--after", "1") == {"edges": []}
        with pytest.raises(RequestError, match="an analog signal has no edges"):
            robot.edges("pressure")
        later = robot.state["tick"] + 30
        robot.set(lamp=False, at_tick=later)
        robot.advance(100)
        assert robot.state["signals"]["lamp"] is False
        robot.estop()
        assert robot.wait("flow < 0.1")["signals"] == {
            "gripper": True, "lamp": True, "flow": 0.0, "part_present": True, "pressure": 1.0,
        }  # fmt: skip
        robot.reset()
    recording = read_recording(log_in(folder))
    with log_in(folder).open("rb") as stream:  # by a reader that knows nothing of linkwork
        decoded = make_reader(stream, decoder_factories=[DecoderFactory()])
        ticks = [value for *_, value in decoded.iter_decoded_messages(topics=["tick"])]
    rows = np.searchsorted(recording.table["tick"], [tick.tick for tick in ticks])  # idle ticks are packed
    assert len(rows) > 1000
    for name in ("input", "output", "output_command"):
        read = [[getattr(part, key) for key in part.__slots__] for part in (getattr(t, name) for t in ticks)]
        np.testing.assert_array_equal(read, recording.table[name][rows])
    changed = [(one["signal"], one["value"]) for one in recording.events if one["event"] == "signal.changed"]
    assert changed[:4] == [("gripper", True), ("flow", 1.5), ("lamp", True), ("flow", 0.25)]
    assert changed[4:] == [("part_present", True), ("lamp", False), ("lamp", True), ("flow", 0.0)]
    raised = recording.ticks.column("input", "part_present") > 0.5
    assert recording.table["tick"][raised.argmax()] == edge["tick"]
    at = recording.table["tick"].tolist().index(later)
    assert recording.ticks.column("output_command", "lamp")[at - 1 : at + 1].tolist() == [1.0, 0.0]
    found = replay(recording, load(folder / "scara.yaml"))
    assert (found.difference, found.ended, found.ticks) == (None, "", len(recording.table))
