"""Random sessions in lockstep with orders for later ticks, stops, faults, streams: each log is replayed."""

from __future__ import annotations

import os
import random
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from linkwork.client.injector import InjectionRefused, Injector
from linkwork.client.request_client import RequestClient
from linkwork.launch.daemons import Rig
from linkwork.machine import load
from linkwork.protocol.errors import RequestError
from linkwork.recordings.recording import Recording, read_recording
from linkwork.recordings.replay import replay
from tests.waiting import PATIENCE_S, wait_for

OWNERS = ("anna@test", "bert@test")
FAULTS: tuple[dict[str, Any], ...] = (
    {"sensor": "bias", "by_rad": 0.002, "for_ticks": 40},
    {"sensor": "nan", "for_ticks": 3},
    {"wire": "drop", "direction": "states", "probability": 0.3, "for_ticks": 60},
    {"wire": "delay", "direction": "both", "by_ticks": 2, "for_ticks": 30},
    {"wire": "disconnect", "for_ticks": 400},
    {"actuator": "lose", "for_ticks": 30},
)


class Session:
    """Requests of two clients, drawn at random. A refusal is an answer too."""

    def __init__(self, rig: Rig, machine: str, seed: int) -> None:
        self.random, self.rig, self.joints = (
            random.Random(seed),
            rig,
            load(machine).controller.goal_coordinates,
        )
        self.clients = [RequestClient(rig.requests) for _ in OWNERS]
        self.goals: list[int] = []
        self.stream = 0
        self.answers: Counter[str] = Counter()

    def ask(self, method: str, who: int = 0, **params: Any) -> Any:
        given = {"as": OWNERS[who], **{name: value for name, value in params.items() if value is not None}}
        try:
            answer = self.clients[who].request(method, given, timeout_s=PATIENCE_S)
        except RequestError as refused:
            self.answers[f"{method} refused"] += 1
            return refused
        self.answers[method] += 1
        if isinstance(answer, Mapping) and method in ("move", "send", "append", "stream"):
            self.goals.append(answer["goal"])
            self.stream = answer["goal"] if method == "stream" else self.stream
        return answer

    def step(self) -> None:
        pick, joint = self.random, self.random.choice(self.joints)
        tick = self.clients[0].request("state", {}, timeout_s=PATIENCE_S)["tick"]
        later = tick + pick.choice([1, 3, 20, 150, 4000, 70000]) if pick.random() < 0.5 else None
        angle = pick.uniform(-0.5, 0.5)
        path = {"coordinates": [joint], "points": [{"time_from_start_s": 1.0, "positions": [angle]}]}
        who = int(pick.random() < 0.15)
        steps: list[tuple[int, Callable[[], Any]]] = [
            (9, lambda: self.ask("enable", who, at_tick=later)),
            (1, lambda: self.ask("disable", who, at_tick=later)),
            (6, lambda: self.ask("move", who, target={joint: angle}, at_tick=later)),
            (2, lambda: self.ask("move", who, target={joint: angle}, replace=True, at_tick=later)),
            (2, lambda: self.ask("send", who, trajectory=path, at_tick=later)),
            (2, lambda: self.ask("append", who, trajectory=path, at_tick=later)),
            (3, lambda: self.ask("jog", who, velocity={joint: pick.uniform(-0.3, 0.3)}, at_tick=later)),
            (3, lambda: self.ask("cancel", who, goal=pick.choice([*self.goals[-4:], None]), at_tick=later)),
            (2, lambda: self.ask("pause", who, at_tick=later)),
            (2, lambda: self.ask("resume", who, at_tick=later)),
            (2, lambda: self.ask("speed", who, fraction=pick.uniform(0.0, 1.0), at_tick=later)),
            (3, lambda: self.ask("stop", who, at_tick=later)),
            (1, lambda: self.ask("estop", who, at_tick=later)),
            (2, lambda: self.ask("reset", who, at_tick=later)),
            (4, lambda: self.ask("recover", who, at_tick=later)),
            (1, lambda: self.ask("set_gain", who, bandwidth_rad_s=pick.uniform(10.0, 30.0))),
            (1, lambda: self.ask("release", who)),
            (1, lambda: self.ask("acquire", who, force=True)),
            (3, lambda: self.ask("stream", who, coordinates=[joint], rate_hz=100.0)),
            (3, lambda: self.set_points(who)),
            (1, lambda: self.ask("finish", who, at_tick=later)),
            (12, lambda: self.ask("advance", who, ticks=pick.choice([1, 2, 5, 30, 200, 700]))),
            (2, lambda: self.inject(dict(pick.choice(FAULTS)), joint)),
        ]
        pick.choices([do for _, do in steps], [weight for weight, _ in steps])[0]()

    def set_points(self, who: int) -> None:
        at = self.random.uniform(0.0, 0.2)
        points = [[at + 0.01 * k, self.random.uniform(-0.1, 0.1)] for k in range(5)]
        self.ask("set_points", who, goal=self.stream, points=points)

    def inject(self, fault: dict[str, Any], joint: str) -> None:
        if "wire" not in fault:
            fault["of"] = joint
        with Injector(self.rig.seat.plant) as injector, suppress(InjectionRefused):
            injector.inject(fault, seed=self.random.randrange(1000))
        self.answers[f"inject {fault.get('sensor') or fault.get('wire') or fault.get('actuator')}"] += 1

    def lose_the_loop(self) -> None:
        """Kill the loop; the gateway starts another one."""
        before = self.ask("status")["loop_pid"]
        os.kill(before, signal.SIGKILL)
        wait_for(lambda: self.ask("status")["loop_pid"] not in (before, None), "another loop")
        wait_for(lambda: self.ask("status")["device"]["connected"], "the plant")

    def close(self) -> None:
        for client in self.clients:
            client.close()


def replayed(recording: Recording, machine: str, folder: Path, what: str) -> None:
    found = replay(recording, load(machine))
    assert (found.ticks, found.difference, found.ended) == (len(recording.table), None, ""), (what, folder)


def session(machine: str, seed: int, steps: int, folder: Path, *, kill: bool = False) -> Recording:
    arguments = [machine, "--pace", "lockstep", "--realtime", "ignore"]
    with (
        tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as runtime,
        Rig(
            machine, [*arguments, "--inject"], [*arguments, "--log", str(folder / "log")], Path(runtime)
        ) as rig,
    ):
        rig.wait_ready(lambda _: None)
        one = Session(rig, machine, seed)
        try:
            for number in range(steps):
                if kill and number == steps // 2:
                    one.lose_the_loop()
                one.step()
        finally:
            one.close()
    recording = read_recording(min((folder / "log").glob("*-[0-9][0-9][0-9][0-9].mcap")))
    replayed(recording, machine, folder, f"seed {seed}: {dict(one.answers)}")
    return recording


def outcomes(recording: Recording) -> dict[str, set[str]]:
    """The kinds of the orders that had to wait, by outcome; those that wait at the end have none."""
    found: dict[str, set[str]] = {}
    ends = {event["order"]: event for event in recording.events if event["event"] == "order.end"}
    for event in recording.events:
        if event["event"] == "order":
            end = event["outcome"] or ends.get(event["order"], {"outcome": "waits"})["outcome"]
            found.setdefault(end, set()).add(event["kind"])
    return found


@pytest.mark.slow
def test_a_random_session_replays_to_the_bit(tmp_path: Path) -> None:
    """Orders that are revoked, that wait at the end, that take effect; streams; a loop that is replaced."""
    found = outcomes(session("scara", 3, 90, tmp_path, kill=True))
    assert {"DONE", "REVOKED"} <= set(found), found


@pytest.mark.slow
@pytest.mark.parametrize("machine", ["scara", "five_bar"])
@pytest.mark.parametrize("seed", range(6))
def test_random_sessions_replay_to_the_bit(machine: str, seed: int, tmp_path: Path) -> None:
    session(machine, 100 + seed, 250, tmp_path, kill=seed % 3 == 0)
