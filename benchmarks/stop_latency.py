"""Time from sending `stop` to its answer, while another process floods the gateway or the plant.

    python benchmarks/stop_latency.py [--stops 200] [--pause 0.02] [--clients 8] [--only FLOOD] [--json]

Plant and loop run at 1 kHz (the plant is the clock). For each flood a second process at normal priority
holds its clients open and sends as fast as answers come. One line a flood: median, 99 % and largest time of
`stop`, each from a client that sends nothing else. The first line is without a flood. Intended: a median of
at most 20 ms, 99 % at most 100 ms.
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgpack
import numpy as np
import zmq
from rig import BenchRig

from linkwork.client.request_client import RequestClient
from linkwork.protocol.errors import RequestError

LONG = " and ".join(["sin(time_s)**2 > 2"] * 40)
POINTS = [{"time_from_start_s": 0.01 * (i + 1), "positions": [0.0]} for i in range(20_000)]
TRAJECTORY = {"coordinates": ["lift"], "points": POINTS}
WAYS = [{"time_from_start_s": 1.0 + i, "positions": [0.3 + 0.2 * (i % 2), -0.7]} for i in range(4)]
FASTEST = {"timing": "fastest", "coordinates": ["shoulder", "elbow"], "points": WAYS}
"""A third-order solve of half a second and more in the planner."""
OUTSTANDING = 64
"""Requests that a flooding client sends before it reads answers."""


def request(number: int, method: str, **params: Any) -> bytes:
    """Return a request's frame."""
    return bytes(msgpack.packb([0, number, method, {"as": "eve", **params}]))


def _inject(number: int) -> bytes:
    weak = {"actuator": "saturate", "of": "wrist", "at_N_m": 5, "when": "time_s > 1e9"}
    faults = [{**weak, "name": f"e{number}_{k}"} for k in range(20)]
    return bytes(msgpack.packb({"type": "inject", "id": number, "seed": 1, "faults": faults}))


FLOODS: dict[str, Callable[[int], list[bytes]]] = {
    "conditions": lambda n: [request(n, "wait", condition=LONG, within_s=3600.0)],
    "wrong conditions": lambda n: [request(n, "wait", condition=LONG + " and nowhere > 1")],
    "checks": lambda n: [request(n, "check", trajectory=TRAJECTORY)],
    "fastest timing": lambda n: [request(n, "check", trajectory=FASTEST)],
    "appended goals": lambda n: [request(n, "append", trajectory=TRAJECTORY)],
    "later stops": lambda n: [request(n, "stop", at_tick=500_000 + n)],
    "stops": lambda n: [request(n, "stop")],
    "state": lambda n: [request(n, "state")],
    "describe": lambda n: [request(n, "describe")],
    "many frames": lambda _: [b"x" * 1000] * 100,
    "inject": lambda n: [_inject(n)],
}
OTHERS = ("none", "connections", "subscriptions")


def flood(kind: str, requests: str, telemetry: str, link: str, clients: int) -> None:
    """Send until the process is ended."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    print("ready", flush=True)
    if kind == "connections":
        _connect(requests.removeprefix("ipc://"))
    if kind == "subscriptions":
        listener = context.socket(zmq.SUB)
        listener.connect(telemetry)
        number = 0
        while True:
            number += 1
            listener.set(zmq.SUBSCRIBE, b"%060d" % number)
    made = [context.socket(zmq.DEALER) for _ in range(clients)]
    for client in made:
        client.connect(link if kind == "inject" else requests)
    number = 0
    while True:
        for client in made:
            for _ in range(OUTSTANDING):
                number += 1
                with suppress(zmq.Again):
                    client.send_multipart(FLOODS[kind](number), zmq.NOBLOCK)
            while client.poll(0):
                client.recv()


def _connect(path: str) -> None:
    made: list[socket.socket] = []
    while True:
        one = socket.socket(socket.AF_UNIX)
        with suppress(OSError):
            one.connect(path)
        made.append(one)
        if len(made) > 500:
            made.pop(0).close()


def measure(rig: BenchRig, kind: str, stops: int, pause_s: float, clients: int) -> dict[str, Any]:
    """Return the times of `stop` (ms) under one flood."""
    process = None
    if kind != "none":
        command = [sys.executable, __file__, "--flood", kind, "--clients", str(clients)]
        command += [rig.seat.requests, rig.seat.telemetry, rig.seat.plant]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(1.0)
    taken = []
    try:
        with RequestClient(rig.seat.requests) as client:
            for _ in range(stops):
                begun = time.perf_counter()
                client.request("stop", {"as": "keeper"}, timeout_s=30.0)
                taken.append(1e3 * (time.perf_counter() - begun))
                time.sleep(pause_s)
    finally:
        if process is not None:
            process.kill()
            process.wait()
            process.stdout.close()  # type: ignore[union-attr]
    p50, p99 = np.percentile(taken, [50, 99])
    return {"flood": kind, "median_ms": p50, "p99_ms": p99, "max_ms": max(taken)}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--stops", type=int, default=200)
    parser.add_argument("--pause", type=float, default=0.02)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--only", choices=[*OTHERS, *FLOODS])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--flood")
    parser.add_argument("endpoints", nargs="*")
    given = parser.parse_args()
    if given.flood:
        flood(given.flood, *given.endpoints, given.clients)
        return
    rows = []
    with BenchRig("device") as rig:
        with suppress(RequestError):
            rig.robot.enable()
        for kind in [given.only] if given.only else [*OTHERS, *FLOODS]:
            rows.append(measure(rig, kind, given.stops, given.pause, given.clients))
            if not given.json:
                row = rows[-1]
                figures = f"{row['median_ms']:8.1f} {row['p99_ms']:8.1f} {row['max_ms']:8.1f} ms"
                print(f"{kind:18}{figures}", flush=True)
    if given.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
