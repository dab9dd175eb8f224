"""Events on the path over real sockets: results, text for people, refusals with lines, the log, replay."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkwork import RequestError, Robot
from linkwork.launch.daemons import Rig
from linkwork.machine import load
from linkwork.recordings.recording import read_recording
from linkwork.recordings.replay import replay
from tests.signal_machine import write_signal_machine
from tests.system.running import linkwork

SEEN = '  seen: {type: digital, direction: input, simulated: "lift > 0.03"}\n'
LINE = """
coordinates: [lift]
points: [{time_from_start_s: 1.0, positions: [0.05]}]
events:
  - {at: {time_s: 0.3}, set: {gripper: on, lamp: on}, lead_s: 0.02}
  - {at: {path_m: 0.04, of: tool}, set: {gripper: off}}
follow: {flow: {speed_of: tool, per_m_s: 10.0}}
capture: {camera: seen}
until: lift > 0.049
"""


def run_line(folder: Path) -> Path:
    """Follow the line once, in lockstep; return the log."""
    config = write_signal_machine(folder, more=SEEN)
    arguments = [str(config), "--pace", "lockstep", "--realtime", "ignore"]
    (folder / "line.yaml").write_text(LINE)
    with Rig("scara", arguments, [*arguments, "--log", str(folder / "log")], folder) as rig:
        rig.wait_ready(lambda _: None)
        with Robot(endpoint=rig.requests, owner="anna") as robot:
            robot.enable()
            checked = linkwork(rig.runtime, "send", str(folder / "line.yaml"), "--check", "--as", "anna")
            assert "event 0 at 0.3 s, set at 0.28 s: gripper on, lamp on" in checked.stdout
            (folder / "bad.yaml").write_text(LINE.replace("0.04, of", "0.06, of"))
            refused = linkwork(rig.runtime, "send", str(folder / "bad.yaml"), "--as", "anna")
            assert "bad.yaml:6:" in refused.stderr
            assert "events[1].at.path_m: 0.06 is not on the path; allowed: 0 to 0.05 m" in refused.stderr
            points = [{"time_from_start_s": 1.0, "positions": [0.05]}]
            with pytest.raises(
                RequestError, match="until: there is no quantity 'seeen', did you mean 'seen'"
            ):
                robot.send({"coordinates": ["lift"], "points": points, "until": "seeen > 1"})
            sent = linkwork(rig.runtime, "send", str(folder / "line.yaml"), "--as", "anna")
            assert "SUCCESSFUL: its condition was met" in sent.stdout
            result = robot.state["results"][-1]
            assert [told["tick"] is not None for told in result["events"]] == [True, True]
            (edge,) = result["captures"]
            assert (edge["capture"], edge["input"], edge["value"]) == ("camera", "seen", True)
            assert edge["path_m"] == pytest.approx(0.03, abs=2e-4)
            assert edge["coordinates"]["lift"] == pytest.approx(edge["path_m"], abs=2e-4)
            assert result["until"]["met"] == 1
            assert "event 1: tick" in sent.stdout
            assert "camera: tick" in sent.stdout
    return min((folder / "log").glob("*-[0-9][0-9][0-9][0-9].mcap"))


def test_a_line_with_events_is_in_the_result_and_replays(folder: Path) -> None:
    recording = read_recording(run_line(folder))
    (result,) = (one for one in recording.events if one["event"] == "goal.result")
    ticks = recording.table["tick"].tolist()
    command = recording.ticks.column("output_command", "gripper")
    for told, value in zip(result["events"], (1.0, 0.0), strict=True):
        at = ticks.index(told["tick"])
        assert command[at - 1 : at + 1].tolist() == [1.0 - value, value]
        assert recording.table["time_s"][at + 1] == pytest.approx(told["time_s"], abs=1e-9)
    changes = [one["signal"] for one in recording.events if one["event"] == "signal.changed"]
    assert changes.count("flow") <= 1, "the follower's changes are no events"
    found = replay(recording, load(folder / "scara.yaml"))
    assert (found.difference, found.ended, found.ticks) == (None, "", len(recording.table))


@pytest.mark.slow
def test_two_lockstep_runs_with_events_write_the_same_bytes(tmp_path: Path) -> None:
    logs = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        logs.append(run_line(tmp_path / name))
    first, second = (read_recording(log) for log in logs)
    assert first.table.tobytes() == second.table.tobytes()
    assert first.events == second.events
