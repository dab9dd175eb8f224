"""Plant and controller on two computers, as the kernel sees it: network namespaces and a cable."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from linkwork import Robot
from linkwork.launch.daemons import daemon_argv, is_ready
from linkwork.protocol.codes import Role
from linkwork.protocol.errors import NobodyThere, RequestError
from linkwork.protocol.keys import allow
from linkwork.protocol.sockets import generate_keys
from linkwork.timing.children import Child
from tests.system.running import environment, made_active, patient_machine
from tests.waiting import wait_for

pytestmark = pytest.mark.slow
PLANT = "10.213.77.1"
CONTROLLER = "10.213.77.2"
CUT_S = 0.02
"""TCP sends again after 0.2 s at the earliest; the plant waits 0.4 s for commands."""
LONG_CUT_S = 2.0


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False)


@dataclass
class Cable:
    """Two network namespaces with a pair of virtual interfaces; `near` is the plant's."""

    near: str
    far: str

    def inside(self, space: str, *words: str) -> list[str]:
        return ["ip", "netns", "exec", space, *words]

    def set(self, state: str) -> None:
        """up or down: the plug of the plant's computer."""
        done = run(*self.inside(self.near, "ip", "link", "set", "cable", state))
        assert done.returncode == 0, done.stderr

    def netem(self, *words: str) -> None:
        """Disturb what the plant sends; without words no longer."""
        given = ("add", "dev", "cable", "root", "netem", *words) if words else ("del", "dev", "cable", "root")
        done = run(*self.inside(self.near, "tc", "qdisc", *given))
        if done.returncode:
            pytest.skip(f"tc netem is not to be had here: {done.stderr.strip()}")


@pytest.fixture(scope="module")
def cable() -> Iterator[Cable]:
    if shutil.which("ip") is None or os.geteuid():
        pytest.skip("network namespaces need `ip` and root")
    made = Cable(f"lwp{os.getpid()}", f"lwc{os.getpid()}")
    words = [
        ("ip", "netns", "add", made.near),
        ("ip", "netns", "add", made.far),
        ("ip", "-n", made.near, "link", "add", "cable", "type", "veth", "peer", "cable", "netns", made.far),
    ]
    for space, address in ((made.near, PLANT), (made.far, CONTROLLER)):
        words += [
            ("ip", "-n", space, "address", "add", f"{address}/24", "dev", "cable"),
            ("ip", "-n", space, "link", "set", "cable", "up"),
            ("ip", "-n", space, "link", "set", "lo", "up"),
        ]
    try:
        for line in words:
            done = run(*line)
            if done.returncode:
                pytest.skip(f"`{' '.join(line)}` is refused here: {done.stderr.strip()}")
        yield made
    finally:
        for space in (made.near, made.far):
            run("ip", "netns", "del", space)


@pytest.fixture(scope="module")
def robot(cable: Cable) -> Iterator[Robot]:
    """A client of a controller whose plant is at the other end of the cable, with keys."""
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        folder, children = Path(made), []
        files = {name: generate_keys(folder / name, name) for name in ("plant", "controller")}
        allow(folder / "allowed", files["controller"][0], Role.OPERATE)
        config = str(patient_machine(folder))
        endpoint = f"tcp://{PLANT}:9871"
        common = [config, "--realtime", "ignore", "--lifeline"]
        plant = [*common, "--endpoint", endpoint, "--keys", str(files["plant"][1])]
        plant += ["--allowed", str(folder / "allowed")]
        controller = [*common, "--no-log", "--plant", endpoint, "--keys", str(files["controller"][1])]
        controller += ["--plant-key", str(files["plant"][0])]
        try:
            for space, role, words in ((cable.near, "plant", plant), (cable.far, "controller", controller)):
                argv = cable.inside(space, *daemon_argv(role, words))
                children.append(Child.start(argv, env=environment(folder), stdout=subprocess.DEVNULL))
            robot = Robot(endpoint=f"ipc://{folder / 'scara' / 'requests.ipc'}")

            def entered() -> bool:
                with suppress(NobodyThere):
                    robot.__enter__()
                    return True
                return False

            wait_for(entered, "the controller")
            try:
                wait_for(lambda: is_ready(dict(robot.status)), "the plant")
                yield robot
            finally:
                robot.__exit__(None, None, None)
        finally:
            for child in reversed(children):
                child.stop(20.0)
                child.close()


def ready(robot: Robot) -> None:
    wait_for(lambda: made_active(robot), "an active machine")


def moves(robot: Robot) -> None:
    robot.move(lift=0.1 if robot.state["q"]["lift"] < 0.05 else 0.0)


def test_a_plug_that_is_out_for_a_moment_is_ridden_through(cable: Cable, robot: Robot) -> None:
    ready(robot)
    moves(robot)
    cable.set("down")
    time.sleep(CUT_S)
    cable.set("up")
    moves(robot)
    assert robot.state["fault"] is None


def test_a_plug_that_is_out_is_a_lost_link_until_it_is_in_again(cable: Cable, robot: Robot) -> None:
    ready(robot)
    robot.move(lift=0.2, speed=0.05, wait=False)
    cable.set("down")
    wait_for(lambda: robot.state["state"] == "fault", "a fault")
    fault = robot.state["fault"]
    assert fault is not None
    assert fault["name"] in ("LINK_LOST", "DEVICE_WATCHDOG")
    time.sleep(LONG_CUT_S)
    with pytest.raises(RequestError):
        robot.recover()
    cable.set("up")
    ready(robot)
    moves(robot)


@pytest.mark.parametrize(
    "words",
    ["delay 2ms 1ms", "loss 2%", "duplicate 20%", "delay 2ms reorder 25% 50%", "corrupt 1%"],
)
def test_a_bad_cable_is_ridden_through(words: str, cable: Cable, robot: Robot) -> None:
    """TCP repeats what is lost, so that losses are delays here."""
    ready(robot)
    cable.netem(*words.split())
    try:
        moves(robot)
    finally:
        cable.netem()
    assert robot.state["fault"] is None
