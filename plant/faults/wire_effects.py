"""Faults of the link: what becomes of the message of a tick, by the numbers drawn for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np

from linkwork.plant.faults.effects import Site, ticks_of
from linkwork.plant.faults.wire import Passing
from linkwork.plant.faults.wire_entries import (
    Corrupt,
    Delay,
    Disconnect,
    Drop,
    Duplicate,
    Jitter,
    Reorder,
    Stall,
    WireEntry,
)


class WireEffect(ABC):
    """A fault of the link. Subclasses say what becomes of one message, by the numbers drawn for its tick."""

    def __init__(
        self, entry: WireEntry | Disconnect | Stall, site: Site, random: np.random.Generator
    ) -> None:
        self.entry, self.wire, self._random = entry, site.wire, random
        direction = getattr(entry, "direction", "both")
        self._strikes = (direction in ("states", "both"), direction in ("commands", "both"))
        self._drawn: dict[int, tuple[float, float]] = {}
        self.first = self.after = 0

    def begin(self, tick: int) -> str:
        """Apply to messages from this tick on."""
        self.first = tick
        self.wire.effects.append(self)
        return ""

    def tick(self, tick: int) -> None:
        """Draw this tick's numbers, one a direction; those of ticks long gone are forgotten."""
        first, second = self._random.random(2)
        self._drawn[tick] = float(first), float(second)
        self._drawn.pop(tick - 1000, None)

    def end(self) -> str:
        """Leave the messages of later ticks unchanged."""
        self.wire.effects.remove(self)
        return ""

    def treat(self, direction: int, tick: int, passing: list[Passing]) -> list[Passing]:
        """Return the treated message of a tick and its copies."""
        drawn = self._drawn.get(tick)
        if drawn is None or not self._strikes[direction]:
            return passing
        return [come for each in passing for come in self.strike(each, drawn[direction])]

    @abstractmethod
    def strike(self, message: Passing, drawn: float) -> list[Passing]:
        """Apply the effect to one message; `drawn` is uniform from 0 to 1."""


class Dropped(WireEffect):
    """Lost."""

    entry: Drop

    def strike(self, message: Passing, drawn: float) -> list[Passing]:
        """Drop messages at random."""
        return [] if drawn < self.entry.probability else [message]


class Delayed(WireEffect):
    """Delay by a number of ticks."""

    entry: Delay

    def strike(self, message: Passing, drawn: float) -> list[Passing]:  # noqa: ARG002 - the shape of all
        """The message, later."""
        message.due += self.entry.by_ticks
        return [message]


class Jittered(WireEffect):
    """Late by chance."""

    entry: Jitter

    def strike(self, message: Passing, drawn: float) -> list[Passing]:
        """The message, later by 0 to the most."""
        message.due += int(drawn * (self.entry.up_to_ticks + 1))
        return [message]


class Duplicated(WireEffect):
    """Twice."""

    entry: Duplicate

    def strike(self, message: Passing, drawn: float) -> list[Passing]:
        """The message, and by chance again."""
        if drawn >= self.entry.probability:
            return [message]
        return [message, replace(message)]


class Reordered(WireEffect):
    """Behind the next one: it comes at that one's tick, and what comes at one tick comes newest first."""

    entry: Reorder

    def strike(self, message: Passing, drawn: float) -> list[Passing]:
        """The message, a tick later by chance."""
        message.due += drawn < self.entry.probability
        return [message]


class Corrupted(WireEffect):
    """Unreadable."""

    entry: Corrupt

    def strike(self, message: Passing, drawn: float) -> list[Passing]:
        """The message, by chance with other bytes."""
        share = self.entry.probability
        if drawn < share:
            seed = int(drawn * 2**52)
            message.data = self.wire.flipped(message.direction, message.data, self.entry.bytes_flipped, seed)
            message.readable = False
        return [message]


class Cut(WireEffect):
    """Drop all messages."""

    def begin(self, tick: int) -> str:
        """Handshakes do not pass either."""
        self.wire.cuts += 1
        return super().begin(tick)

    def end(self) -> str:
        """Handshakes pass."""
        self.wire.cuts -= 1
        return super().end()

    def strike(self, message: Passing, drawn: float) -> list[Passing]:  # noqa: ARG002 - the shape of all
        """Drop the message."""
        return []


class Stalled(WireEffect):
    """Controller stall: no message is delivered, then the newest of each direction."""

    entry: Stall

    def __init__(self, entry: Stall, site: Site, random: np.random.Generator) -> None:
        super().__init__(entry, site, random)
        ticks = ticks_of(entry, site.period_s)
        assert ticks is not None
        self._ticks = ticks

    def strike(self, message: Passing, drawn: float) -> list[Passing]:  # noqa: ARG002 - the shape of all
        """The message, when the stall is over; those held before it are overtaken and gone."""
        message.due = max(message.due, self.first + self._ticks)
        self.wire.forget(message)
        return [message]


WIRE_EFFECTS: dict[str, type[WireEffect]] = {
    Drop.kind: Dropped,
    Delay.kind: Delayed,
    Jitter.kind: Jittered,
    Duplicate.kind: Duplicated,
    Reorder.kind: Reordered,
    Corrupt.kind: Corrupted,
    Disconnect.kind: Cut,
}
