"""A whole rig whose device link is disturbed on its way: what docs/states.md lists, and recovery."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack
import pytest

from linkwork import GoalFailed, Robot
from linkwork.client.goal import Goal
from linkwork.launch.daemons import Rig
from linkwork.machine import shipped_path
from linkwork.protocol.errors import RequestError
from linkwork.protocol.results import StateResult
from tests.system.link_proxy import Disturbance, LinkProxy, Rule, Way, nothing, rewritten
from tests.waiting import wait_for

COMMANDS_LOST = 300
"""Commands lost in a row that are a fault: more than a busy computer delays them."""
STATES_LOST = 2 * COMMANDS_LOST
"""The same for states: a plant without commands is silent from 50 states until its watchdog trips."""
JUMP_S = 60.0
SWINGS = {"scara": ("shoulder", 0.5, 0.7), "five_bar": ("left", 1.95, 2.1)}
"""A joint, and the two positions (rad) that it moves between."""


def machine_file(name: str, folder: Path) -> Path:
    """The machine with these limits on lost messages."""
    text = shipped_path(name).read_text().replace("  command_timeout_periods: 20\n", "")
    plant = f"  command_timeout_periods: {COMMANDS_LOST}\n  peer_timeout_s: 0.8\n"
    text = (
        text.replace("\nplant:\n", f"\nplant:\n{plant}") if "\nplant:" in text else f"{text}\nplant:\n{plant}"
    )
    text = re.sub(r"\n  tolerances: .*", "", text)
    limits = (
        f"  loss_limit: {STATES_LOST}\n  loss_ratio_per_s: 1.0\n  lease_s: 5.0\n"
        "  tolerances: {path: 0.1, goal: 0.01}\n"
    )
    text = text.replace("\ncontroller:\n", f"\ncontroller:\n{limits}")
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return path


@dataclass
class DisturbedRig:
    """A rig whose controller reaches its plant through a proxy, and a client of it."""

    rig: Rig
    proxy: LinkProxy
    robot: Robot
    joint: str
    ends: tuple[float, float]

    def ready(self) -> None:
        """Recover and enable, as a user does."""

        def active() -> bool:
            with suppress(RequestError):
                state = self.robot.state["state"]
                if state == "fault":
                    self.robot.recover()
                elif state == "inactive":
                    self.robot.enable()
            return self.robot.state["state"] == "active"

        wait_for(active, "an active machine")
        passed = self.proxy.passed["states"]  # the end of a disturbance may be a fault: a clock jumps back
        wait_for(lambda: self.proxy.passed["states"] > passed + 20, "states")
        wait_for(active, "an active machine")

    def begin(self, speed: float = 1.0) -> Goal:
        """A goal to the end that is farther away; at full speed it takes some 0.3 s."""
        here = self.robot.state["q"][self.joint]
        there = max(self.ends, key=lambda end: abs(end - here))
        return self.robot.move({self.joint: there}, speed=speed, wait=False)

    def moves(self) -> None:
        """A goal succeeds over the link as it is."""
        self.begin().wait(30.0)

    def fault(self, rule: Rule) -> StateResult:
        """The state after a fault that a rule has caused in the middle of a goal, which ended too."""
        self.ready()
        goal = self.begin(0.1)
        with self.proxy.disturbed(rule):
            wait_for(lambda: self.robot.state["state"] == "fault", "a fault")
            state = self.robot.state
            with pytest.raises(GoalFailed, match=r"FAULT|PATH_TOLERANCE"):
                goal.wait(10.0)
        return state

    def daemons(self) -> dict[str, Any]:
        """The processes: none may have ended."""
        status = self.robot.status
        return {key: status[key] for key in ("gateway_pid", "loop_pid", "loops_started")}  # type: ignore[literal-required]


@contextmanager
def disturbed_rig(param: str) -> Iterator[DisturbedRig]:
    """A rig of one machine in one pace; none of its processes may end while it is used."""
    name, pace = param.split("-")
    joint, *ends = SWINGS[name]
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        folder = Path(made)
        path = str(machine_file(name, folder))
        front, back = f"ipc://{folder / 'front.ipc'}", f"ipc://{folder / name / 'plant.ipc'}"
        plant = [path, "--realtime", "ignore"]
        controller = [*plant, "--pace", pace, "--plant", front, "--no-log"]
        with LinkProxy(front, back) as proxy, Rig(name, plant, controller, folder) as rig:
            rig.wait_ready(lambda _: None)
            with Robot(endpoint=rig.requests) as robot:
                bench = DisturbedRig(rig, proxy, robot, str(joint), (float(ends[0]), float(ends[1])))
                before = bench.daemons()
                yield bench
                assert bench.daemons() == before


RIGS = ["scara-host", "five_bar-device", "five_bar-host"]


@pytest.fixture(
    scope="module",
    params=["scara-device", *(pytest.param(each, marks=pytest.mark.slow) for each in RIGS)],
)
def bench(request: pytest.FixtureRequest) -> Iterator[DisturbedRig]:
    with disturbed_rig(request.param) as bench:
        yield bench


DISTURBANCES = {
    "loss": Disturbance(loss=0.1),
    "bursts of losses": Disturbance(loss=0.01, burst=10),
    "delay": Disturbance(delay_s=0.002),
    "jitter": Disturbance(jitter_s=0.004),
    "duplication": Disturbance(duplicated=0.3),
    "reordering": Disturbance(reordered=0.3),
    "truncation": Disturbance(truncated=0.1),
}
ALL_AT_ONCE = Disturbance(
    loss=0.03, delay_s=0.001, jitter_s=0.001, duplicated=0.1, reordered=0.1, truncated=0.03, seed=2
)


@pytest.mark.parametrize(
    "disturbance",
    [pytest.param(each, id=name, marks=pytest.mark.slow) for name, each in DISTURBANCES.items()]
    + [pytest.param(ALL_AT_ONCE, id="all at once")],
)
def test_a_goal_rides_through_a_disturbed_link(bench: DisturbedRig, disturbance: Disturbance) -> None:
    bench.ready()
    with bench.proxy.disturbed(disturbance):
        for _ in range(1 if disturbance is ALL_AT_ONCE else 5):
            bench.moves()
    assert bench.robot.state["fault"] is None


@pytest.mark.parametrize("ways", [("states", "commands"), pytest.param(("states",), marks=pytest.mark.slow)])
def test_a_silent_peer_is_a_lost_link(bench: DisturbedRig, ways: tuple[Any, ...]) -> None:
    """Both ways: the connections stay open, but nothing arrives."""
    state = bench.fault(Disturbance(loss=1.0, ways=ways))
    assert state["fault"] is not None
    assert (state["fault"]["name"], state["fault"]["value"]) == ("LINK_LOST", STATES_LOST)
    bench.ready()
    bench.moves()


def test_lost_commands_are_the_watchdogs_affair(bench: DisturbedRig) -> None:
    state = bench.fault(Disturbance(loss=1.0, ways=("commands",)))
    assert state["fault"] is not None
    assert state["fault"]["name"] == "DEVICE_WATCHDOG"
    bench.ready()
    bench.moves()


def later(content: dict[str, Any]) -> None:
    content["time_s"] += JUMP_S


def test_a_device_clock_that_jumps_brakes_a_moving_machine(bench: DisturbedRig) -> None:
    jump = rewritten("states", "state", later)
    state = bench.fault(jump)
    assert state["fault"] is not None
    assert state["fault"]["name"] == "DEVICE_CLOCK"
    assert state["fault"]["value"] == pytest.approx(JUMP_S, abs=0.1)
    bench.ready()  # the time jumped back meanwhile, while the machine stood
    with bench.proxy.disturbed(jump):
        wait_for(lambda: bench.robot.state["state"] == "fault", "a fault of a machine that holds")
        bench.ready()
        bench.moves()
    bench.ready()


@pytest.mark.parametrize(
    ("way", "kind", "field", "value", "words"),
    [
        ("commands", "hello", "interface", "0" * 64, "interfaces differ"),
        ("states", "welcome", "protocol", 7, "version 7"),
        pytest.param("commands", "hello", "protocol", 7, "version 7", marks=pytest.mark.slow),
        pytest.param("states", "welcome", "interface", "0" * 64, "same machine file", marks=pytest.mark.slow),
    ],
)
def test_a_wrong_hash_or_version_is_named_and_nothing_moves(
    bench: DisturbedRig, way: Any, kind: str, field: str, value: Any, words: str
) -> None:
    bench.ready()

    def change(content: dict[str, Any]) -> None:
        content[field] = value

    with bench.proxy.disturbed(nothing):
        wait_for(lambda: not bench.robot.status["device"]["connected"], "a lost link")
        bench.proxy.rule = rewritten(way, kind, change)
        wait_for(lambda: words in bench.robot.status["device"]["text"], words)
        with pytest.raises(RequestError):
            bench.robot.recover()
        assert bench.robot.state["state"] == "fault"
    bench.ready()
    bench.moves()


@pytest.mark.parametrize("way", [("states",), ("commands",)])
@pytest.mark.parametrize("param", ["scara-device", *RIGS])
@pytest.mark.slow
def test_flipped_bytes_end_no_daemon(param: str, way: Any) -> None:
    """What can be read is believed: only limits and brakes protect the machine from changed numbers.

    A changed number may also lead the machine to a place from which the next goal is refused.
    """
    with disturbed_rig(param) as bench:
        until_s = time.monotonic() + 5.0
        seed = 0
        while time.monotonic() < until_s:
            seed += 1
            bench.ready()
            disturbance = Disturbance(corrupted=0.05, ways=way, seed=seed)
            with bench.proxy.disturbed(disturbance), suppress(GoalFailed, RequestError):
                bench.begin().wait(30.0)
            wait_for(lambda: bench.robot.state["goal"] is None, "the end of the goal")
        bench.ready()


def test_the_proxy_disturbs(bench: DisturbedRig) -> None:
    proxy = bench.proxy

    def count(rule: Callable[..., Any]) -> float:
        bench.ready()
        with proxy.disturbed(rule):
            seen, passed = proxy.seen["states"], proxy.passed["states"]
            wait_for(lambda: proxy.seen["states"] > seen + 100, "states")
            return (proxy.passed["states"] - passed) / (proxy.seen["states"] - seen)

    assert 0.5 < count(Disturbance(loss=0.3)) < 0.9
    assert 1.1 < count(Disturbance(duplicated=0.3)) < 1.5


@pytest.mark.slow
def test_in_lockstep_the_first_state_may_come_late() -> None:
    lost = 0

    def without_first_states(way: Way, data: bytes) -> list[tuple[float, bytes]]:
        nonlocal lost
        is_state = way == "states" and msgpack.unpackb(data)["type"] == "state"
        lost += is_state
        return [] if is_state and lost <= 5 else [(0.0, data)]

    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        folder = Path(made)
        front, back = f"ipc://{folder / 'front.ipc'}", f"ipc://{folder / 'scara' / 'plant.ipc'}"
        controller = ["scara", "--pace", "lockstep", "--plant", front, "--no-log"]
        with LinkProxy(front, back) as proxy:
            proxy.rule = without_first_states
            with Rig("scara", ["scara"], controller, folder) as rig:
                rig.wait_ready(lambda _: None)
                with Robot(endpoint=rig.requests) as robot:
                    robot.enable()
                    assert robot.move({"shoulder": 0.6}).status == "SUCCESSFUL"
                    assert robot.status["loops_started"] == 1
    assert lost > 5
