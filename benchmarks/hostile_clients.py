"""Lateness of the real-time loop with 100 hostile clients, minus without them, in turns.

    python benchmarks/hostile_clients.py [--blocks 10] [--seconds 5] [--clients 100] [--cpu N] [--json]

Plant and loop run at 1 kHz (the host is the clock) on one processor, the gateway on the others; the arm
swings where the clients let it. In every second block two processes at normal priority hold the clients
open. One sixth of them each floods `estop`, `stop` and `reset`, asks for everything and never reads,
connects and leaves again and again, sends requests of 8 MiB, acquires the lease and falls silent, and
subscribes to all telemetry without reading it.

Lateness: how long after its place in the grid of deadlines a command was with the socket, less the median
of the block. The figure of a block is the p99.9; the figure of the run is the median, over neighbouring
blocks, of the difference. Ticks that were skipped count as missed.
"""

from __future__ import annotations

import argparse
import json
import select
import subprocess
import sys
import time
from contextlib import suppress
from statistics import median
from typing import Any

import msgpack
import numpy as np
import zmq
from rig import BenchRig

from linkwork.protocol.errors import RequestError
from linkwork.timing.scheduling import share_processors

PROCESSES = 2
KINDS = ("flood", "deaf", "storm", "large", "silent", "listener")
LARGE = 8 * 1024 * 1024 - 4096
PAUSE_S = 1e-4


def request(number: int, method: str, **params: Any) -> bytes:
    """A request's frame."""
    return bytes(msgpack.packb([0, number % 2**32, method, params]))


class Hostile:
    """Run a number of hostile clients of all kinds in one process, each with its own socket."""

    def __init__(self, endpoint: str, telemetry: str, count: int, first: int) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._endpoint, self._telemetry = endpoint, telemetry
        self._clients = [
            (KINDS[(first + i) % len(KINDS)], self._open((first + i) % len(KINDS))) for i in range(count)
        ]
        points = [{"time_from_start_s": 0.1 * i, "positions": [0.0]} for i in range(100_000)]
        self._large = request(
            1, "check", **{"as": "eve", "trajectory": {"coordinates": ["lift"], "points": points}}
        )[:LARGE]
        self._number = 0

    def _open(self, kind: int) -> zmq.Socket[bytes]:
        listens = KINDS[kind] == "listener"
        socket = self._context.socket(zmq.SUB if listens else zmq.DEALER)
        socket.set(zmq.LINGER, 0)
        if listens:
            socket.set(zmq.SUBSCRIBE, b"")
            socket.set(zmq.RCVHWM, 1)
        socket.connect(self._telemetry if listens else self._endpoint)
        return socket

    def run(self) -> None:
        """Act in turns until standard input closes."""
        while not select.select([sys.stdin], [], [], 0)[0]:
            for at, (kind, socket) in enumerate(self._clients):
                with suppress(zmq.Again):
                    self._act(at, kind, socket)
            time.sleep(PAUSE_S)
        self._context.destroy(linger=0)

    def _act(self, at: int, kind: str, socket: zmq.Socket[bytes]) -> None:
        self._number += 1
        match kind:
            case "flood":
                for method in ("estop", "stop", "reset"):
                    socket.send(request(self._number, method, **{"as": f"eve{at}"}), zmq.NOBLOCK)
                with suppress(zmq.Again):
                    while True:
                        socket.recv(zmq.NOBLOCK)
            case "deaf":
                socket.send(request(self._number, "describe"), zmq.NOBLOCK)
            case "storm":
                socket.close()
                self._clients[at] = (kind, self._open(KINDS.index(kind)))
            case "large":
                socket.send(self._large, zmq.NOBLOCK)
            case "silent":
                socket.send(
                    request(self._number, "acquire", **{"as": f"eve{at}", "force": True}), zmq.NOBLOCK
                )


class Crowd:
    """All clients, in their own processes; a context manager."""

    def __init__(self, rig: BenchRig, count: int) -> None:
        seat = rig.seat
        each = -(-count // PROCESSES)
        self._processes = [
            subprocess.Popen(
                [
                    sys.executable,
                    __file__,
                    "--hostile",
                    seat.requests,
                    seat.telemetry,
                    str(each),
                    str(i * each),
                ],
                stdin=subprocess.PIPE,
            )
            for i in range(PROCESSES)
        ]

    def __enter__(self) -> Crowd:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._processes:
            process.communicate(timeout=60)


def swing(rig: BenchRig, trajectory: dict[str, Any]) -> None:
    """Bring the arm into motion, if the clients let it."""
    with suppress(RequestError):
        if rig.robot.state["state"] == "estop":
            rig.robot.reset()
        if rig.robot.state["state"] == "inactive":
            rig.robot.request("acquire", force=True)
            rig.robot.enable()
        rig.robot.send(trajectory)


def block(rig: BenchRig, seconds: float) -> dict[str, float]:
    """Return the lateness of each tick (µs) over a number of seconds, and the number of skipped ticks."""
    since = rig.shared.head
    stamps, missed = [], 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.5)
        records, since = rig.records(since)
        stamps.append(records["sent_ns"].copy())
        missed += int(records["missed"].sum())
    sent = np.concatenate(stamps)
    period = round(1e9 * rig.machine.period_s)
    phase = (sent - sent[0]) % period
    middle = (
        np.median((phase + period // 2) % period) - period // 2
    )  # the grid's phase, wherever the first tick lay
    late_us = ((sent - sent[0] - middle + period // 2) % period - period // 2) / 1e3
    p50, p99, p999 = np.quantile(late_us, (0.5, 0.99, 0.999))
    return {
        "ticks": len(sent),
        "missed": missed,
        "p50_us": float(p50),
        "p99_us": float(p99),
        "p999_us": float(p999),
    }


def measure(blocks: int, seconds: float, clients: int, cpu: int) -> dict[str, Any]:
    """Blocks without and with the clients, in turns."""
    found: dict[str, list[dict[str, float]]] = {"without": [], "with": []}
    with BenchRig("host", cpu=cpu) as rig:
        trajectory = rig.forth_and_back(seconds)
        for _ in range(blocks):
            swing(rig, trajectory)
            found["without"].append(block(rig, seconds))
            with Crowd(rig, clients):
                time.sleep(1.5)
                found["with"].append(block(rig, seconds))
            time.sleep(1.0)
        realtime = rig.realtime
    pairs = list(zip(found["with"], found["without"], strict=True))
    differences = [hot["p999_us"] - cold["p999_us"] for hot, cold in pairs]
    return {
        "realtime": realtime,
        "blocks": found,
        "p999_difference_us": {
            "median": median(differences),
            "low": min(differences),
            "high": max(differences),
        },
        "missed": {name: int(sum(each["missed"] for each in rows)) for name, rows in found.items()},
        "ticks": {name: int(sum(each["ticks"] for each in rows)) for name, rows in found.items()},
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--blocks", type=int, default=10, help="pairs of blocks")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--cpu", type=int, default=min(share_processors()[0]))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.blocks, options.seconds, options.clients, options.cpu)
    if options.json:
        print(json.dumps(found, indent=1))
        return
    print(found["realtime"])
    for name, rows in found["blocks"].items():
        p50, p99, p999 = (sorted(row[f"{name}_us"] for row in rows) for name in ("p50", "p99", "p999"))
        print(
            f"{name:<8} p50 {median(p50):>7.1f}  p99 {median(p99):>7.1f}  p99.9 {median(p999):>7.1f} us"
            f" ({p999[0]:.0f} to {p999[-1]:.0f}), {found['missed'][name]} of {found['ticks'][name]} missed"
        )
    difference = found["p999_difference_us"]
    low, high = difference["low"], difference["high"]
    print(f"p99.9 with minus without: {difference['median']:+.1f} us ({low:+.0f} to {high:+.0f})")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--hostile"]:
        Hostile(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])).run()
    else:
        main()
