"""A running controller recorded by command, and what its recordings say when they are replayed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from linkwork import Robot
from linkwork.launch.daemons import Rig
from linkwork.recordings.recording import read_recording
from tests.system.running import answer, command_line, environment
from tests.waiting import wait_for


@pytest.mark.slow
def test_a_run_is_recorded_and_replayed_and_a_killed_recorder_leaves_a_file(
    lockstep: Rig, tmp_path: Path
) -> None:
    killed, whole = tmp_path / "killed.mcap", tmp_path / "whole.mcap"
    recorder = subprocess.Popen(
        command_line("record", str(killed)),
        env=environment(lockstep.runtime),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with Robot(endpoint=lockstep.requests, owner="anna") as robot:
            robot.enable()
            robot.move(shoulder=robot.state["q"]["shoulder"] + 0.2).wait()
            robot.disable()
        wait_for(lambda: killed.exists() and killed.stat().st_size > 20_000, "the recorder")
    finally:
        recorder.kill()
        recorder.wait()
    table = read_recording(killed).table
    assert table["tick"][0] == 0
    assert len(table) > 50
    told = answer(lockstep.runtime, "record", str(whole), "--seconds", "0")
    assert told["ticks"] >= len(table)
    assert told["goals"] == 1
    for file in (killed, whole):
        assert answer(lockstep.runtime, "replay", str(file))["identical"]
    assert "exists already" in answer(lockstep.runtime, "record", str(whole), status=2)["error"]["message"]
