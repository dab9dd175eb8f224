"""The machine by hand: the commands of the README against daemons in real time, with their exit statuses."""

import os
import pty
import re
import select
import signal
import subprocess
from pathlib import Path

import pytest

from linkwork import Robot
from linkwork.launch.daemons import Rig
from tests.system.running import (
    answer,
    command_line,
    environment,
    linkwork,
    linkwork_process,
    patient_machine,
    processes_naming,
)
from tests.waiting import wait_for

WAYPOINTS = """\
time_from_start_s,lift,shoulder
0,0,0.5235987755982988
1,0.02,0.4
2,0,0.5235987755982988
"""
TOO_FAST = WAYPOINTS.replace("\n1,0.02", "\n0.01,0.2")


def test_a_session(patient: Rig, tmp_path: Path) -> None:
    runtime = patient.runtime
    assert answer(runtime, "status")["state"] == "inactive"
    assert "inactive" in linkwork_process(runtime, "status").stdout
    assert set(answer(runtime, "state")["coordinates"]) == {"x", "y", "z", "angle"}
    assert linkwork(runtime, "state").returncode == 0
    assert answer(runtime, "describe")["machine"] == "scara"
    assert "shoulder" in linkwork(runtime, "describe").stderr
    assert answer(runtime, "robots")["running"]["controllers"] == {
        "scara": patient.children["controller"].pid
    }

    refused = answer(runtime, "move", "shoulder=0.1", status=3)
    assert refused["error"]["name"] == "WRONG_STATE"

    assert answer(runtime, "enable")["state"] == "active"
    done = answer(runtime, "move", "shoulder_deg=20", "lift=0.01")
    assert done["name"] == "SUCCESSFUL"
    assert answer(runtime, "state")["q"]["shoulder"] == pytest.approx(0.349066, abs=1e-3)
    assert answer(runtime, "move", "shoulder=99", status=3)["error"]["name"] in ("INFEASIBLE", "INVALID_GOAL")
    assert linkwork(runtime, "move", "knee=1").returncode == 2
    assert answer(runtime, "move", "shoulder=0.5235987755982988", "lift=0")["code"] == 0

    path, bad = tmp_path / "way.csv", tmp_path / "bad.csv"
    path.write_text(WAYPOINTS)
    bad.write_text(TOO_FAST)
    assert answer(runtime, "send", str(path), "--check")["duration_s"] == 2.0
    sent = linkwork(runtime, "send", str(path))
    assert (sent.returncode, sent.stdout.split(":")[0].strip()) == (0, "SUCCESSFUL")
    infeasible = answer(runtime, "send", str(bad), status=3)
    assert infeasible["error"]["name"] == "INFEASIBLE"

    before = answer(runtime, "state")["q"]["shoulder"]
    assert answer(runtime, "jog", "shoulder=0.1", "--for", "0.5")["state"] == "active"
    assert 0.005 < answer(runtime, "state")["q"]["shoulder"] - before < 0.2

    assert answer(runtime, "watch", "--for", "0.3")["q"].keys() == {"shoulder", "elbow", "wrist", "lift"}
    assert "active" in linkwork(runtime, "watch", "--for", "0.3").stderr
    assert answer(runtime, "stop", "--as", "anyone@else")["state"] in ("active", "stopping")
    assert answer(runtime, "disable")["state"] == "inactive"
    assert answer(runtime, "estop")["state"] == "estop"
    assert answer(runtime, "enable", status=3)["error"]["name"] == "WRONG_STATE"
    assert answer(runtime, "reset")["state"] == "inactive"
    assert answer(runtime, "faults")["faults"] == []
    assert answer(runtime, "recover")["state"] == "inactive"


@pytest.mark.slow
def test_commands_for_a_goal_under_way(patient: Rig) -> None:
    runtime = patient.runtime
    answer(runtime, "enable")
    command = [*command_line("move"), "lift=0.15", "--speed", "0.02", "--json", "--as", "anna"]
    moving = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(runtime), text=True)
    wait_for(lambda: answer(runtime, "state")["goal"], "the goal")
    refused = answer(runtime, "move", "lift=0", "--as", "bob", status=3)
    assert refused["error"]["name"] == "NOT_OWNER"
    assert "anna" in refused["error"]["message"]
    answer(runtime, "pause", "--as", "anna")
    wait_for(lambda: answer(runtime, "state")["goal"]["status"] == "paused", "the pause")
    answer(runtime, "resume", "--as", "anna")
    answer(runtime, "speed", "0.5", "--as", "anna")
    with Robot(endpoint=patient.requests, owner="anna") as robot:
        instead = robot.move(lift=0.1, speed=0.1, replace=True, wait=False)
        stdout, _ = moving.communicate(timeout=100)
        assert (moving.returncode, '"REPLACED"' in stdout) == (1, True)
        points = [{"time_from_start_s": 1.0, "positions": [0.12]}]
        after = robot.append({"coordinates": ["lift"], "points": points})
        assert (instead.wait()["name"], after.wait()["name"]) == ("SUCCESSFUL", "SUCCESSFUL")
        assert robot.state["q"]["lift"] == pytest.approx(0.12, abs=1e-3)
    moving = subprocess.Popen(
        [*command[:-6], "lift=0", *command[-5:]], stdout=subprocess.PIPE, env=environment(runtime), text=True
    )
    wait_for(lambda: (answer(runtime, "state")["goal"] or {}).get("path_s", 0.0) > 0.5, "the goal on its way")
    moving.send_signal(signal.SIGINT)
    stdout, _ = moving.communicate(timeout=100)
    assert moving.returncode == 1
    assert '"CANCELLED"' in stdout
    assert wait_for(lambda: answer(runtime, "state")["state"] == "active", "the end of the stop")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ctrl_c_on_the_daemons(number: signal.Signals, tmp_path: Path, folder: Path) -> None:
    runtime = folder / f"r{int(number)}"
    runtime.mkdir()
    pipe = subprocess.PIPE
    daemons = [
        subprocess.Popen(
            [*command_line(role), "scara", "--pace", "lockstep", "--realtime", "ignore", "--json", *more],
            stdout=pipe,
            stderr=pipe,
            env=environment(runtime),
            start_new_session=True,
        )
        for role, more in (("plant", []), ("controller", ["--log", str(tmp_path)]))
    ]
    try:
        wait_for(
            lambda: (
                linkwork(runtime, "status").returncode == 0
                and answer(runtime, "state")["state"] == "inactive"
            ),
            "the controller",
        )
        answer(runtime, "enable")
        for daemon in reversed(daemons):
            daemon.send_signal(number)
            _, stderr = daemon.communicate(timeout=100)
            assert daemon.returncode == 0, stderr
            assert b"Traceback" not in stderr
    finally:
        for daemon in daemons:
            daemon.kill()
            daemon.communicate()
    assert processes_naming(str(runtime)) == []
    assert linkwork(runtime, "status").returncode == 4


@pytest.mark.slow
def test_a_second_controller_in_the_same_seat_is_refused(patient: Rig) -> None:
    ran = linkwork_process(patient.runtime, "controller", "scara", "--realtime", "ignore", "--no-log")
    assert ran.returncode == 3
    assert str(patient.children["controller"].pid) in ran.stderr


@pytest.mark.slow
def test_a_second_controller_at_the_same_plant_learns_who_has_it(
    patient: Rig, folder: Path, tmp_path: Path
) -> None:
    elsewhere = folder / "other"
    elsewhere.mkdir()
    config = str(patient_machine(tmp_path))
    arguments = [config, "--realtime", "ignore", "--no-log", "--plant", patient.seat.plant]
    with Rig("scara", None, arguments, elsewhere):
        found = wait_for(
            lambda: (
                (ran := linkwork(elsewhere, "status", "--json")).returncode == 0
                and "belongs to" in ran.stdout
                and ran.stdout
            ),
            "the refusal",
        )
        assert f"process {patient.children['controller'].pid}" in found
        assert f"{os.uname().nodename}" in found
        assert answer(elsewhere, "enable", status=3)["error"]["name"] in ("NO_PLANT", "WRONG_STATE")
    assert answer(patient.runtime, "state")["state"] == "inactive"


@pytest.mark.slow
def test_jogging_with_keys(patient: Rig) -> None:
    runtime = patient.runtime
    answer(runtime, "enable")
    ours, theirs = pty.openpty()
    jog = subprocess.Popen(
        command_line("jog", "--speed", "0.2"),
        stdin=theirs,
        stderr=theirs,
        stdout=theirs,
        env=environment(runtime),
    )
    os.close(theirs)
    try:
        _read_until(ours, "q: end")
        before = answer(runtime, "state")["q"]["elbow"]
        os.write(ours, b"2")
        _read_until(ours, "elbow")
        wait_for(
            lambda: _strike(ours, b"+") and answer(runtime, "state")["q"]["elbow"] > before + 0.01, "motion"
        )

        def rests() -> bool:
            first = answer(runtime, "state")
            wait_for(lambda: answer(runtime, "state")["tick"] >= first["tick"] + 500, "half a second")
            return abs(answer(runtime, "state")["q"]["elbow"] - first["q"]["elbow"]) < 1e-5

        wait_for(rests, "the stop after the key was let go")
        assert answer(runtime, "state")["state"] == "active"
        os.write(ours, b"q")
        assert jog.wait(60) == 0
    finally:
        jog.kill()
        jog.wait()
        os.close(ours)


def _read_until(terminal: int, text: str) -> None:
    seen = ""

    def found() -> bool:
        nonlocal seen
        if select.select([terminal], [], [], 0.1)[0]:
            seen += os.read(terminal, 4096).decode(errors="replace")
        return text in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen)

    wait_for(found, f"{text!r} on the terminal")


def _strike(terminal: int, key: bytes) -> bool:
    os.write(terminal, key)
    return True


def test_a_folder_that_takes_no_logs_is_refused_with_the_options(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    ran = linkwork_process(folder, "controller", "scara", "--log", str(tmp_path / "file" / "logs"))
    assert ran.returncode == 2
    assert "Not a directory" in ran.stderr
    assert "--log" in ran.stderr
    assert "--no-log" in ran.stderr
