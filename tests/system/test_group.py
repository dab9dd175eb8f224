"""`linkwork up`: plant and controller as one group that is watched, restarted braked, and ended in order."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from linkwork.launch.group import running_groups
from tests.system.running import (
    answer,
    command_line,
    environment,
    linkwork,
    linkwork_process,
    processes_naming,
)
from tests.waiting import wait_for

PACE = ("--lockstep", "--realtime", "ignore", "--no-log")


@pytest.fixture
def runtime(folder: Path) -> Iterator[Path]:
    """A runtime folder in which no machine stays up."""
    made = folder / "up"
    made.mkdir(exist_ok=True)
    yield made
    linkwork_process(made, "down", "--all")
    assert processes_naming(str(made)) == []


@pytest.fixture
def up(runtime: Path) -> Iterator[subprocess.Popen[str]]:
    """`linkwork up` in the foreground; its daemons end with it."""
    started = subprocess.Popen(
        command_line("up", "scara", "--restart", "no", *PACE),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(runtime),
        text=True,
    )
    yield started
    started.kill()
    started.communicate()


def group_text(runtime: Path) -> str:
    """What the supervisor that holds the lock says in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LINKWORK_RUNTIME_DIR", str(runtime))
        return next((found.text for found in running_groups()), "")


def pids(runtime: Path) -> dict[str, int]:
    """Process ids of the two daemons, as the supervisor gives them."""
    text = group_text(runtime)
    found = re.search(r"ready: plant process (\d+), controller process (\d+)", text)
    assert found, text
    return {"plant": int(found[1]), "controller": int(found[2])}


@pytest.mark.slow
def test_a_detached_group_restarts_what_crashes_and_never_enables(runtime: Path) -> None:
    started = answer_of(runtime, "up", "scara", "--detach", *PACE)
    assert answer(runtime, "robots")["running"]["groups"] == {"scara": started["process"]}
    second = linkwork_process(runtime, "up", "scara", *PACE)
    assert second.returncode == 3
    assert "`linkwork down scara` ends it" in second.stderr

    before = pids(runtime)
    answer(runtime, "enable")
    os.kill(before["plant"], signal.SIGKILL)
    wait_for(lambda: "1 restart" in group_text(runtime) and ready(runtime), "the plant")
    wait_for(lambda: answer(runtime, "state")["state"] != "active", "the fault")
    assert answer(runtime, "state")["state"] == "fault"
    assert answer(runtime, "recover")["state"] == "inactive"
    between = pids(runtime)
    assert between["controller"] == before["controller"]

    answer(runtime, "enable")
    os.kill(between["controller"], signal.SIGKILL)
    wait_for(lambda: "2 restarts" in group_text(runtime) and ready(runtime), "the controller")
    assert answer(runtime, "state")["state"] == "inactive"
    assert pids(runtime)["plant"] == between["plant"]

    assert linkwork_process(runtime, "down").stdout == "scara is down\n"
    said = linkwork(runtime, "logs").stdout
    assert_ended_in_order(said.rpartition("ready: plant")[2])
    for role, pid in (("plant", before["plant"]), ("controller", between["controller"])):
        assert f"the {role} (process {pid}) was ended by SIGKILL; it is started again" in said
    assert " group " not in linkwork(runtime, "logs", "--plant").stdout
    assert answer(runtime, "logs", "--lines", "1")["lines"][0].endswith("ended")
    assert linkwork(runtime, "down", "scara").returncode == 4
    assert linkwork(runtime, "status").returncode == 4


def test_a_detached_group_serves_a_console_until_it_is_down(runtime: Path) -> None:
    pytest.importorskip("nicegui", reason="the console's extra is not installed")
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    address = str(answer_of(runtime, "up", "scara", "--detach", "--console", *PACE)["console"])

    def served() -> bool:
        try:
            with browser.open(address) as page:
                return b"linkwork" in page.read()
        except urllib.error.URLError:
            return False

    assert served()
    assert linkwork_process(runtime, "down", "scara").returncode == 0
    assert not served()


def test_a_detached_group_serves_foxglove_until_it_is_down(runtime: Path) -> None:
    address = str(answer_of(runtime, "up", "scara", "--detach", "--foxglove", *PACE)["foxglove"])
    port = int(address.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)):
        pass
    assert linkwork_process(runtime, "down", "scara").returncode == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def ready(runtime: Path) -> bool:
    return "ready: " in group_text(runtime)


def answer_of(runtime: Path, *words: str) -> dict[str, object]:
    ran = linkwork_process(runtime, *words, "--json")
    assert ran.returncode == 0, ran.stderr
    found: dict[str, object] = json.loads(ran.stdout)
    return found


@pytest.mark.slow
def test_ctrl_c_ends_the_controller_before_the_plant(runtime: Path, up: subprocess.Popen[str]) -> None:
    wait_for(lambda: ready(runtime), "the machine")
    answer(runtime, "enable")
    up.send_signal(signal.SIGINT)
    stdout, stderr = up.communicate(timeout=100)
    assert (up.returncode, stderr) == (0, "")
    assert_ended_in_order(stdout)


def assert_ended_in_order(said: str) -> None:
    """The controller stops the machine and leaves, then the plant ends."""
    lines = said.splitlines()
    order = [
        max(number for number, line in enumerate(lines) if text in line)
        for text in ("stopping the machine", "left: the controller was", "ended, braked", "group ")
    ]
    assert order == sorted(order)


@pytest.mark.slow
def test_a_start_that_fails_gives_the_daemons_own_error_and_status(runtime: Path) -> None:
    ran = linkwork_process(runtime, "up", "scara", "--driver", "nothing", *PACE, "--detach")
    assert ran.returncode == 2
    assert "'nothing' is not a driver" in ran.stderr
    assert "ended with status 2 before the machine was ready" in ran.stderr
    assert linkwork(runtime, "up", "scra").returncode == 2


@pytest.mark.slow
def test_restart_no_ends_both_when_one_crashes(runtime: Path, up: subprocess.Popen[str]) -> None:
    wait_for(lambda: ready(runtime), "the machine")
    plant = pids(runtime)["plant"]
    os.kill(plant, signal.SIGKILL)
    _, stderr = up.communicate(timeout=100)
    assert up.returncode == 1
    assert f"the plant (process {plant}) was ended by SIGKILL (--restart no); the group ends" in stderr


@pytest.mark.slow
def test_a_group_whose_runtime_folder_is_removed_stops_and_ends(
    runtime: Path, up: subprocess.Popen[str]
) -> None:
    wait_for(lambda: ready(runtime), "the machine")
    answer(runtime, "enable")
    answer(runtime, "move", "shoulder_deg=20", "--speed", "0.01", "--no-wait")
    shutil.rmtree(runtime / "scara")
    stdout, stderr = up.communicate(timeout=100)
    assert up.returncode == 1
    assert f"the runtime folder {runtime / 'scara'} was removed" in stderr
    assert_ended_in_order(stdout)
    assert linkwork(runtime, "status").returncode == 4


@pytest.mark.slow
def test_daemons_end_with_a_supervisor_that_is_killed(runtime: Path) -> None:
    started = answer_of(runtime, "up", "scara", "--detach", *PACE)
    os.kill(int(str(started["process"])), signal.SIGKILL)
    wait_for(lambda: processes_naming("linkwork.plant scara --pace lockstep") == [], "the plant's end")
    wait_for(lambda: answer(runtime, "robots")["running"]["controllers"] == {}, "the controller's end")
