"""Processes that die, end, or stand in each other's way, and what becomes of the machine meanwhile."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcap.reader import make_reader

from linkwork.protocol.codes import RequestCode, ResultCode
from linkwork.protocol.endpoints import running
from linkwork.protocol.errors import NobodyThere, RequestError
from linkwork.timing.children import Child, Process
from tests.waiting import PATIENCE_S, wait_for

Make = Callable[[str], Any]
SLOWLY = {"shoulder": -2.0, "elbow": 1.0}


def kill(pid: int) -> None:
    process = Process(pid)
    process.kill()
    assert process.wait(PATIENCE_S)
    process.close()


def under_way(rig: Any) -> int:
    """Enables and starts a long motion; returns the goal's number once it moves."""
    rig.enabled()
    goal: int = rig.ask("move", target=SLOWLY, speed=0.05)["goal"]
    wait_for(lambda: (rig.ask("state")["goal"] or {}).get("path_s", 0.0) > 0.2, "motion")
    return goal


def logged(path: Path) -> tuple[int, list[str]]:
    """(ticks, names of events) of a complete log."""
    with path.open("rb") as stream:
        found = [(channel.topic, message.data) for _, channel, message in make_reader(stream).iter_messages()]
    events = [data.split(b'"')[3].decode() for topic, data in found if topic == "events"]
    return sum(topic == "tick" for topic, _ in found), events


@pytest.mark.slow
def test_a_dead_loop_is_told_recorded_and_replaced_inactive(rig: Make) -> None:
    one = rig("device")
    goal = under_way(one)
    first = one.ask("status")["loop_pid"]
    kill(first)
    result = one.result()
    assert (result["goal"], result["code"]) == (goal, ResultCode.FAULT)
    assert "loop ended unexpectedly" in result["text"]
    status = wait_for(lambda: (s := one.ask("status"))["loop_pid"] not in (None, first) and s, "a new loop")
    assert status["loops_started"] == 2 or wait_for(lambda: one.ask("status")["loops_started"] == 2, "it")
    one.connected()
    state = one.ask("state")
    assert state["state"] in ("inactive", "fault")  # a fault where the plant's watchdog has tripped meanwhile
    assert state["results"][-1] == result
    assert list(one.log.glob("scara-*-flight-*.mcap"))
    one.enabled()
    one.ask("move", target={"lift": 0.01})
    assert one.result()["code"] == 0


@pytest.mark.slow
def test_requests_while_there_is_no_loop_say_so(rig: Make) -> None:
    one = rig("lockstep")
    one.enabled()
    kill(one.ask("status")["loop_pid"])
    try:
        one.ask("enable")
    except RequestError as error:
        assert error.code in (RequestCode.NO_LOOP, RequestCode.NO_PLANT)  # noqa: PT017 - either may be first
    one.enabled()
    assert one.ask("state")["state"] == "active"


def test_a_new_gateway_adopts_the_loop_of_a_dead_one(rig: Make) -> None:
    one = rig("device")
    goal = under_way(one)
    loop = one.ask("status")["loop_pid"]
    kill(one.gateway.pid)
    with pytest.raises(NobodyThere):
        one.client.request("state", {}, timeout_s=0.5)
    one.start_gateway()
    assert one.ready["adopted"]
    assert one.ready["loop_pid"] == loop
    state = wait_for(lambda: (s := one.ask("state"))["law"] == "hold" and s, "rest")
    assert state["state"] == "active"
    result = next(result for result in state["results"] if result["goal"] == goal)
    assert result["code"] == ResultCode.LEASE_LOST
    held = state["q"]
    later = one.ask("move", target={"lift": 0.02})
    assert later["goal"] > goal
    assert one.result()["code"] == 0
    assert one.ask("state")["q"]["shoulder"] == pytest.approx(held["shoulder"], abs=1e-3)


@pytest.mark.slow
def test_a_loop_of_another_configuration_is_told_to_leave(rig: Make) -> None:
    one = rig("lockstep")
    under_way(one)
    loop = one.ask("status")["loop_pid"]
    kill(one.gateway.pid)
    one.start_gateway("--law", "servo")
    assert not one.ready["adopted"]
    assert one.ready["loop_pid"] != loop
    assert f"process {loop}, to brake and end" in one.ready["text"]
    one.enabled()
    assert one.ask("describe")["law"] == "servo"
    one.ask("move", target={"lift": 0.01})
    assert one.result()["code"] == 0


def test_a_dead_planner_costs_its_job_and_nothing_else(rigs: Make) -> None:
    one = rigs("lockstep")
    one.enabled()

    def replaced(killed: int) -> bool:
        return one.ask("status")["planner_pid"] != killed

    for _ in range(2):
        killed = one.ask("status")["planner_pid"]
        kill(killed)
        wait_for(partial(replaced, killed), "the gateway to notice")
        one.ask("move", target={"lift": 0.01})
        assert one.result()["code"] == 0


def test_plans_wait_for_orders(rigs: Make) -> None:
    status = rigs("lockstep").ask("status")
    gateway, planner = (
        os.getpriority(os.PRIO_PROCESS, status[f"{name}_pid"]) for name in ("gateway", "planner")
    )
    assert planner > gateway


@pytest.mark.parametrize("pace", ["lockstep", pytest.param("device", marks=pytest.mark.slow)])
def test_to_be_ended_stops_on_the_path_disables_and_leaves_nothing(rig: Make, pace: str) -> None:
    one = rig(pace)
    under_way(one)
    loop, log = one.ask("status")["loop_pid"], Path(one.ask("status")["log"])
    planner = one.ask("status")["planner_pid"]
    one.gateway.send_signal(signal.SIGTERM)
    assert one.gateway.wait(PATIENCE_S)
    assert one.gateway.returncode == 0
    for pid in (loop, planner):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    ticks, events = logged(log)
    assert ticks > 100
    assert events[-1] == "state"
    assert "goal.result" in events
    assert not [entry for entry in one.seat.folder.iterdir() if entry.suffix in (".ipc", ".sock", ".bin")
                and entry.name != "plant.ipc"]  # fmt: skip


@pytest.mark.slow
def test_to_be_asked_twice_brakes_at_once(rig: Make) -> None:
    one = rig("device")
    under_way(one)
    loop = one.ask("status")["loop_pid"]
    one.gateway.send_signal(signal.SIGINT)
    assert next(event for event in one.said if event["event"] == "ending")
    one.gateway.send_signal(signal.SIGINT)
    assert one.gateway.wait(PATIENCE_S)
    assert one.gateway.returncode == 0
    with pytest.raises(ProcessLookupError):
        os.kill(loop, 0)


@pytest.mark.slow
def test_the_end_of_the_lifeline_is_the_end(rig: Make) -> None:
    one = rig("lockstep")
    under_way(one)
    one.gateway.let_go()
    assert one.gateway.wait(PATIENCE_S)
    assert one.gateway.returncode == 0


def test_a_second_gateway_is_refused_with_the_first_one_s_name(rigs: Make) -> None:
    one = rigs("lockstep")
    env = {**os.environ, "LINKWORK_RUNTIME_DIR": str(one.folder)}
    command = [sys.executable, "-m", "linkwork.controller", str(one.config), "--no-log"]
    second = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert second.returncode == 3
    assert f"taken by process {one.gateway.pid}" in second.stderr
    assert "Traceback" not in second.stderr
    assert one.ask("state")["pace"] == "lockstep"


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["no_such_machine"], 2, "no_such_machine"),
        (["scara", "--telemetry", "tcp://0.0.0.0:9872"], 3, "without keys"),
        (["scara", "--allowed", "nowhere"], 2, "--keys"),
        (["scara", "--pace", "waltz"], 2, "waltz"),
    ],
)
def test_a_wrong_start_is_told_in_words(tmp_path: Path, arguments: list[str], status: int, said: str) -> None:
    env = {**os.environ, "LINKWORK_RUNTIME_DIR": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "linkwork.controller", *arguments, "--no-log"]
    result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert result.returncode == status
    assert said in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_the_gateway_is_found_by_its_role(rigs: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    one = rigs("lockstep")
    monkeypatch.setenv("LINKWORK_RUNTIME_DIR", str(one.folder))
    (found,) = running("gateway")
    assert (found.name, found.pid) == ("scara", one.gateway.pid)
    assert one.ready["endpoint"] in found.text


@pytest.mark.slow
def test_equal_lockstep_runs_leave_equal_logs_whoever_else_looks(rig: Make) -> None:
    contents = []
    for noisy in (False, True):
        one = rig("lockstep")
        one.connected()
        if noisy:
            other = one.connect()
            one.ask("acquire", other, **{"as": "you@test"})
            one.ask("release", other, **{"as": "you@test"})
        one.ask("enable")
        for target in ({"shoulder": 0.7}, {"x": 0.05, "y": 0.38}):
            if noisy:
                one.refused("move", target={"nobody": 1.0})
            one.ask("move", target=target)
            one.result()
        one.ask("disable")
        path = Path(one.ask("status")["log"])
        child: Child = one.gateway
        child.send_signal(signal.SIGTERM)
        assert child.wait(PATIENCE_S)
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]
    assert len(contents[0]) > 100_000


def test_to_be_ended_while_starting_leaves_nothing() -> None:
    folder = Path(tempfile.mkdtemp(prefix="lw-"))
    env = {**os.environ, "LINKWORK_RUNTIME_DIR": str(folder)}
    command = [sys.executable, "-m", "linkwork.controller", "scara", "--no-log"]
    starting = subprocess.Popen(
        command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    wait_for(lambda: (folder / "scara" / "gateway.lock").exists(), "the gateway's lock")
    starting.send_signal(signal.SIGTERM)
    _, said = starting.communicate(timeout=PATIENCE_S)
    assert (starting.returncode, "Traceback" in said) == (0, False)
    held = [path for path in folder.glob("scara/*.lock") if _locked(path)]
    assert held == []
    shutil.rmtree(folder)


def _locked(path: Path) -> bool:
    with path.open("r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False
