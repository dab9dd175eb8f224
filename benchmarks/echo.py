"""Bare ZeroMQ between two processes: a PAIR over ipc, the same bytes as the device link's, and nothing else.

As a program, `python echo.py ENDPOINT HEX [CPU PRIORITY]`, it answers every message with the bytes in HEX.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType

import numpy as np
import zmq

from linkwork.machine import Machine
from linkwork.protocol.codes import Mode
from linkwork.protocol.link import CommandCodec, Measurements, StateCodec, StateHeader
from linkwork.timing.children import Child
from linkwork.timing.scheduling import pin, set_policy

SESSION = 2**52 + 1


def link_bytes(machine: Machine) -> tuple[bytes, bytes]:
    """A state and a command of this machine as they are in the middle of a run."""
    rng = np.random.default_rng(0)
    sensors, motors = len(machine.sensors), len(machine.motors)
    q, v, effort = rng.normal(size=sensors), rng.normal(size=sensors), rng.normal(size=motors)
    head = StateHeader(SESSION, 100_000, 100.0, Mode.EFFORT, 1, 0, 99_999)
    state = StateCodec(sensors, motors).pack(head, Measurements(q, v, effort, np.zeros(0)))
    return state, CommandCodec(motors).pack(SESSION, 100_000, Mode.EFFORT, effort)


class Echo:
    """The asking end, and the process that answers. cpu, priority: where and how urgently both run."""

    def __init__(self, machine: Machine, *, cpu: int | None = None, priority: int | None = None) -> None:
        self._machine, self._cpu, self._priority = machine, cpu, priority

    def __enter__(self) -> Echo:
        self._folder = TemporaryDirectory(prefix="echo-")
        endpoint = f"ipc://{self._folder.name}/echo"
        self._ask, answer = link_bytes(self._machine)
        place = [] if self._cpu is None else [str(self._cpu), str(self._priority or 0)]
        # its own context, so that its I/O thread starts with the place and policy this thread has then
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        _take_place(place)
        self._pair = self._context.socket(zmq.PAIR)
        self._pair.bind(endpoint)
        self._child = Child.start([sys.executable, __file__, endpoint, answer.hex(), *place])
        self._pair.recv()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.kill()
        self._child.stop(5.0)
        self._child.close()
        self._pair.close(linger=0)
        self._context.term()
        self._folder.cleanup()

    def trip_ns(self) -> int:
        """One round trip, ns."""
        begin = time.monotonic_ns()
        self._pair.send(self._ask)
        self._pair.recv()
        return time.monotonic_ns() - begin

    def per_second(self, trips: int) -> float:
        """Round trips a second, one after another without a pause."""
        send, receive, ask = self._pair.send, self._pair.recv, self._ask
        begin = time.perf_counter()
        for _ in range(trips):
            send(ask)
            receive()
        return trips / (time.perf_counter() - begin)


def _take_place(words: list[str]) -> None:
    if words:
        pin(frozenset({int(words[0])}))
        set_policy(int(words[1]) or None)


def main() -> None:
    """The answering process; its parent ends it."""
    endpoint, answer = sys.argv[1], bytes.fromhex(sys.argv[2])
    _take_place(sys.argv[3:])
    pair = zmq.Context().socket(zmq.PAIR)
    pair.connect(endpoint)
    pair.send(b"here")
    while os.getppid() != 1 and Path(f"/proc/{os.getppid()}").exists():
        pair.recv()
        pair.send(answer)


if __name__ == "__main__":
    main()
