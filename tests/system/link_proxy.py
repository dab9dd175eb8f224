"""A man in the middle of the device link: passes each message on as a rule says, as real sockets do."""

from __future__ import annotations

import heapq
import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import msgpack
import zmq

Way = Literal["states", "commands"]
"""Direction of a message: from the plant, or to it; handshakes too."""
Rule = Callable[[Way, bytes], list[tuple[float, bytes]]]
"""What arrives in place of a message: each with its delay in s."""
_WAKE_MS = 20


def clean(way: Way, data: bytes) -> list[tuple[float, bytes]]:
    """Pass every message on."""
    return [(0.0, data)]


def nothing(way: Way, data: bytes) -> list[tuple[float, bytes]]:
    """Drop every message and leave the connections open, as a half-open peer does."""
    return []


@dataclass
class Disturbance:
    """Random disturbances of the messages of some ways; each number is a probability unless it has a unit.

    bytes_flipped: number of bytes that a corrupted message has changed. burst: length of a loss, in messages.
    """

    loss: float = 0.0
    burst: int = 1
    delay_s: float = 0.0
    jitter_s: float = 0.0
    duplicated: float = 0.0
    reordered: float = 0.0
    truncated: float = 0.0
    corrupted: float = 0.0
    bytes_flipped: int = 3
    ways: tuple[Way, ...] = ("states", "commands")
    seed: int = 1
    _left: Counter[Way] = field(default_factory=Counter)
    _dice: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._dice = random.Random(self.seed)

    def __call__(self, way: Way, data: bytes) -> list[tuple[float, bytes]]:
        if way not in self.ways:
            return [(0.0, data)]
        dice = self._dice
        if self._left[way]:
            self._left[way] -= 1
            return []
        if dice.random() < self.loss:
            self._left[way] = self.burst - 1
            return []
        if dice.random() < self.truncated:
            data = data[: dice.randrange(len(data))]
        if data and dice.random() < self.corrupted:
            data = self._flipped(data)
        delay_s = self.delay_s + self.jitter_s * dice.random()
        if dice.random() < self.reordered:
            delay_s += 0.003
        passed = [(delay_s, data)]
        if dice.random() < self.duplicated:
            passed.append((delay_s + 0.002 * dice.random(), data))
        return passed

    def _flipped(self, data: bytes) -> bytes:
        changed = bytearray(data)
        for _ in range(self.bytes_flipped):
            changed[self._dice.randrange(len(changed))] = self._dice.randrange(256)
        return bytes(changed)


def rewritten(way: Way, kind: str, change: Callable[[dict[str, Any]], object]) -> Rule:
    """Change the content of every message of one kind: `change` edits its map in place."""

    def rule(here: Way, data: bytes) -> list[tuple[float, bytes]]:
        content = msgpack.unpackb(data)
        if here == way and content["type"] == kind:
            change(content)
            data = msgpack.packb(content)
        return [(0.0, data)]

    return rule


class LinkProxy:
    """Binds `front`, where controllers connect, and connects each of them to the plant at `back`.

    A context manager; its sockets belong to one thread. `rule` may be replaced at any time. `passed` counts
    the messages that were passed on, `seen` those that arrived. `extra` gives more frames for the controller
    after each state.
    """

    def __init__(self, front: str, back: str) -> None:
        self.front, self.back = front, back
        self.rule: Rule = clean
        self.seen: Counter[Way] = Counter()
        self.passed: Counter[Way] = Counter()
        self.extra: Callable[[bytes], list[bytes]] | None = None
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._plants: dict[bytes, zmq.Socket[bytes]] = {}
        self._waiting: list[tuple[float, int, Way, bytes, bytes]] = []
        self._numbers = itertools.count()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="link proxy")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        self._thread.join()
        self._context.destroy(linger=0)

    @contextmanager
    def disturbed(self, rule: Rule) -> Iterator[None]:
        """Apply a rule for a while."""
        self.rule = rule
        try:
            yield
        finally:
            self.rule = clean

    def _run(self) -> None:
        front = self._context.socket(zmq.ROUTER)
        front.set(zmq.ROUTER_HANDOVER, 1)
        front.bind(self.front)
        if self.front.startswith("ipc://"):
            Path(self.front.removeprefix("ipc://")).chmod(0o600)
        poller = zmq.Poller()
        poller.register(front, zmq.POLLIN)
        while not self._ending.is_set():
            due_ms = 1e3 * (self._waiting[0][0] - time.monotonic()) if self._waiting else _WAKE_MS
            ready = dict(poller.poll(min(max(due_ms, 0.0), _WAKE_MS)))
            if front in ready:
                peer, data = front.recv_multipart()
                if peer not in self._plants:
                    self._plants[peer] = self._to_plant()
                    poller.register(self._plants[peer], zmq.POLLIN)
                self._treat("commands", peer, data)
            for peer, plant in self._plants.items():
                if plant in ready:
                    self._treat("states", peer, plant.recv())
            while self._waiting and self._waiting[0][0] <= time.monotonic():
                _, _, way, peer, data = heapq.heappop(self._waiting)
                self._deliver(front, way, peer, data)
        for socket in (front, *self._plants.values()):
            socket.close()

    def _to_plant(self) -> zmq.Socket[bytes]:
        plant = self._context.socket(zmq.DEALER)
        plant.set(zmq.RECONNECT_IVL, 20)
        plant.connect(self.back)
        return plant

    def _treat(self, way: Way, peer: bytes, data: bytes) -> None:
        self.seen[way] += 1
        now = time.monotonic()
        for delay_s, passed in self.rule(way, data):
            self.passed[way] += 1
            heapq.heappush(self._waiting, (now + delay_s, next(self._numbers), way, peer, passed))
        if way == "states" and self.extra is not None:
            for frame in self.extra(data):
                heapq.heappush(self._waiting, (now, next(self._numbers), way, peer, frame))

    def _deliver(self, front: zmq.Socket[bytes], way: Way, peer: bytes, data: bytes) -> None:
        try:
            if way == "states":
                front.send_multipart([peer, data], zmq.NOBLOCK)
            else:
                self._plants[peer].send(data, zmq.NOBLOCK)
        except zmq.Again:  # the receiver does not read
            self.passed[way] -= 1
