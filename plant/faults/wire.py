"""The link with faults in it: what becomes of the message of each tick. It knows no socket and no clock.

A fault strikes the message of a tick by number: the state of tick k, the command that answers it. What comes
late comes at a later tick; what comes at one tick comes newest first, so that of several messages the newest
counts and the others are old, in lockstep and in real time alike. Random numbers are drawn once a tick for
both directions, whether or not there is a message.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

_ATTEMPTS = 50
STATES, COMMANDS = 0, 1


@dataclass(slots=True)
class Passing:
    """A message on its way: direction, number, when it comes, bytes, whether they can be read."""

    direction: int
    seq: int
    due: int
    data: bytes
    peer: bytes = b""
    readable: bool = True


Treatment: TypeAlias = Callable[[int, int, list[Passing]], list[Passing]]
"""From a direction, a tick, and its message with its copies to what a fault makes of these."""


class Wire:
    """Both directions of the link. Ticks are the plant's own."""

    def __init__(self, refused: tuple[Callable[[bytes], bool], Callable[[bytes], bool]]) -> None:
        self._refused = refused
        """Whether a reader refuses bytes, as a state and as a command."""
        self.effects: list[Treatment] = []
        self.cuts = 0
        """How many faults keep everything from passing."""
        self.lockstep = False
        """Whether the session keeps no clock."""
        self._late: tuple[list[Passing], list[Passing]] = ([], [])

    @property
    def idle(self) -> bool:
        """Whether messages pass untouched."""
        return not self.effects and not self._late[STATES] and not self._late[COMMANDS]

    def reset(self) -> None:
        """A new session: messages under way are dropped."""
        for late in self._late:
            late.clear()

    def put(self, tick: int, message: Passing) -> None:
        """Send the message of a tick through the faults."""
        passing = [message]
        for effect in self.effects:
            passing = effect(message.direction, tick, passing)
        self._late[message.direction].extend(passing)

    def due(self, direction: int, tick: int) -> list[Passing]:
        """Return the messages that arrive at this tick, newest first."""
        late = self._late[direction]
        if not late:
            return []
        come = [each for each in late if each.due <= tick]
        if come:
            late[:] = [each for each in late if each.due > tick]
            come.sort(key=lambda each: -each.seq)
        return come

    def forget(self, newer: Passing) -> None:
        """Discard the messages that would arrive together with a newer one."""
        late = self._late[newer.direction]
        late[:] = [each for each in late if each.due != newer.due]

    def flipped(self, direction: int, data: bytes, count: int, seed: int) -> bytes:
        """The bytes with `count` of them changed so that they cannot be read."""
        random = np.random.default_rng(seed)
        for _ in range(_ATTEMPTS):
            changed = bytearray(data)
            for at in random.choice(len(data), min(count, len(data)), replace=False):
                changed[at] ^= int(random.integers(1, 256))
            if self._refused[direction](bytes(changed)):
                return bytes(changed)
        return b"\xc1" + data[1:]  # a byte that MessagePack never uses
