"""Strangers at the sockets of a whole rig: no daemon ends, none grows, and the machine moves afterwards.

LINKWORK_TEST_FRAMES sets how many frames each socket gets.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgpack
import pytest
import zmq

from linkwork import Robot
from linkwork.client.goal import GoalFailed
from linkwork.launch.daemons import Rig
from linkwork.protocol.errors import NobodyThere, RequestError
from linkwork.protocol.request_table import REQUESTS
from linkwork.protocol.requests import params_of
from tests.hostile import EVIL, changed, nested, shapes, with_value

pytestmark = pytest.mark.slow
FRAMES = int(os.environ.get("LINKWORK_TEST_FRAMES", "30000"))
"""At each socket."""
CONNECTIONS = 31
WARM_UP = 60_000
"""Frames at each socket before memory is measured."""
GROWTH = 1.02
TIMEOUT_S = 900 + FRAMES // 200


def requests(seed: int) -> Iterator[bytes]:
    """Requests of every method with values that no field takes, and frames that are no requests."""
    rng, strange = random.Random(seed), device_frames(seed)
    fields = sorted({name for method in REQUESTS for name in params_of(method).model_fields})
    while True:
        number, method = rng.randrange(2**32), rng.choice([*REQUESTS, "nothing", ""])
        params = {name: rng.choice(EVIL) for name in rng.sample(fields, 3)}
        yield next(strange)
        yield msgpack.packb([0, number, method, [params]])
        yield msgpack.packb([0, number, method, params])
        yield with_value({"method": method}, "params", nested(rng.randrange(1000)))


def device_frames(seed: int) -> Iterator[bytes]:
    while True:
        yield from shapes()
        yield from changed(seed, 1000)
        seed += 1


def upstream(seed: int) -> Iterator[bytes]:
    """What a telemetry subscriber may send to the publisher, but for subscriptions, which begin with 1."""
    yield from (frame for frame in device_frames(seed) if frame[:1] != b"\1")


def anonymous_kB(pid: int) -> int:
    """Anonymous memory of a process, kB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Anonymous:"))


def flat(readings: list[int]) -> bool:
    """Whether memory no longer grows: the least of the last readings is not above the most of the first.

    Single readings differ by what a log writes next, and bounded queues fill at first.
    """
    third = len(readings) // 3
    return min(readings[-third:]) < GROWTH * max(readings[:third])


def flood(sockets: list[zmq.Socket[bytes]], frames: Iterator[bytes], count: int, seed: int) -> None:
    """Send frames over the connections in turn, and read what comes back."""
    rng = random.Random(seed)
    for _ in range(count):
        socket, frame = rng.choice(sockets), next(frames)
        assert socket.poll(20_000, zmq.POLLOUT), "a daemon takes no more"
        socket.send_multipart([frame] if rng.random() < 0.95 else [frame, b"", frame])
        with suppress(zmq.Again):
            while True:
                socket.recv_multipart(zmq.NOBLOCK)


def connected(
    context: zmq.Context[zmq.Socket[bytes]], endpoint: str, kind: int = zmq.DEALER
) -> list[zmq.Socket[bytes]]:
    sockets = []
    for _ in range(CONNECTIONS):
        socket = context.socket(kind)
        socket.set(zmq.LINGER, 0)
        socket.connect(endpoint)
        sockets.append(socket)
    return sockets


def moves(rig: Rig, most_s: float = 120.0) -> bool:
    """Whether an honest client moves the machine, after clearing what strangers asked for by chance."""
    deadline = time.monotonic() + most_s
    while time.monotonic() < deadline:
        with suppress(RequestError, NobodyThere, GoalFailed), Robot(endpoint=rig.requests) as robot:
            state = robot.state["state"]
            if state == "estop":
                robot.reset()
            elif state == "fault":
                robot.recover()
            robot.enable()
            before = robot.state["q"]["lift"]
            robot.move(lift=0.1 if before < 0.05 else 0.0)
            after = robot.state["q"]["lift"]
            robot.disable()
            return abs(after - before) > 0.01
        time.sleep(0.5)
    return False


@pytest.mark.timeout(TIMEOUT_S)
def test_strangers_end_no_daemon_and_cost_no_memory(patient: Rig) -> None:
    with Robot(endpoint=patient.requests) as robot:
        status = robot.status
    pids = {name: status[f"{name}_pid"] for name in ("gateway", "loop", "planner")}
    pids["plant"] = patient.children["plant"].pid
    assert moves(patient)
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    device = connected(context, patient.seat.plant)
    clients = connected(context, patient.requests)
    subscribers = connected(context, patient.seat.telemetry, zmq.XSUB)
    asked, told, sent_up = requests(1), device_frames(2), upstream(3)
    try:
        readings = []
        for part, count in enumerate([WARM_UP, *[FRAMES // 10] * 10]):
            flood(device, told, count, part)
            flood(clients, asked, count, 100 + part)
            flood(subscribers, sent_up, count, 200 + part)
            readings.append({name: anonymous_kB(pid) for name, pid in pids.items()})
    finally:
        context.destroy(linger=0)
    assert all(flat([reading[name] for reading in readings]) for name in pids), readings
    assert moves(patient)
    with Robot(endpoint=patient.requests) as robot:
        status = robot.status
    assert {name: status[f"{name}_pid"] for name in ("gateway", "loop", "planner")} == {
        name: pid for name, pid in pids.items() if name != "plant"
    }
    assert status["loops_started"] == 1
    assert status["planner_restarts"] == 0
    assert patient.children["plant"].alive


@pytest.mark.timeout(TIMEOUT_S)
def test_a_hostile_plant_does_not_end_the_controller(patient: Rig) -> None:
    """In the plant's place: answers to hello and commands that are changed, nested, or no messages."""
    with Robot(endpoint=patient.requests) as robot:
        loop = robot.status["loop_pid"]
    patient.children["plant"].stop(20.0)
    endpoint, told, count = patient.seat.plant, device_frames(5), 0
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    socket = context.socket(zmq.ROUTER)
    try:
        Path(endpoint.removeprefix("ipc://")).unlink(missing_ok=True)
        socket.bind(endpoint)
        readings = []
        while count < FRAMES:
            assert socket.poll(60_000), "the loop asks no more"
            peer, _ = socket.recv_multipart()
            for _ in range(50):
                socket.send_multipart([peer, next(told)])
                count += 1
            if count % 1000 == 0:
                readings.append(anonymous_kB(loop))
    finally:
        context.destroy(linger=0)
    assert flat(readings), readings
    with Robot(endpoint=patient.requests) as robot:
        status = robot.status
    assert (status["loop_pid"], status["loops_started"]) == (loop, 1)
