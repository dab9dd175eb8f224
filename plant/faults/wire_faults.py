"""Faults of the link: entries of a time line, and what becomes of the message of a tick."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
from pydantic import model_validator

from linkwork.machine.sections.fields import Count, Section, entry, wrong
from linkwork.plant.faults.effects import FaultEffect, Site, ticks_of
from linkwork.plant.faults.entries import FaultEntry, Share
from linkwork.plant.faults.wire import Passing

Direction = Literal["states", "commands", "both"]


class _Chance(Section):
    probability: Share = entry("Fraction of the messages affected", default=1.0)


class WireEntry(FaultEntry):
    """A fault of the link: the message of a tick is lost, late, twice, unreadable."""

    direction: Direction = entry("Messages affected: states, commands, or both", default="both")

    @property
    def about(self) -> str:
        """The direction."""
        return self.direction


class Drop(WireEntry, _Chance):
    """Messages are lost."""

    kind: ClassVar[str] = "wire.drop"
    wire: Literal["drop"]


class Delay(WireEntry):
    """Every message comes some ticks late."""

    kind: ClassVar[str] = "wire.delay"
    wire: Literal["delay"]
    by_ticks: Count = entry("Delay in ticks", default=1, ge=1, le=1000)


class Jitter(WireEntry):
    """Each message comes some ticks late, by chance: none to the most, all equally likely."""

    kind: ClassVar[str] = "wire.jitter"
    wire: Literal["jitter"]
    up_to_ticks: Count = entry("Largest delay in ticks", default=2, ge=1, le=1000)


class Duplicate(WireEntry, _Chance):
    """Messages come twice."""

    kind: ClassVar[str] = "wire.duplicate"
    wire: Literal["duplicate"]


class Reorder(WireEntry, _Chance):
    """A message is overtaken by the one after it."""

    kind: ClassVar[str] = "wire.reorder"
    wire: Literal["reorder"]


class Corrupt(WireEntry, _Chance):
    """Bytes of messages are changed, so that they are unreadable."""

    kind: ClassVar[str] = "wire.corrupt"
    wire: Literal["corrupt"]
    bytes_flipped: Count = entry("Number of bytes changed per message", default=1, ge=1, le=64)


class Disconnect(FaultEntry):
    """No message passes in either direction, including handshakes."""

    kind: ClassVar[str] = "wire.disconnect"
    wire: Literal["disconnect"]


class Stall(FaultEntry):
    """A process stalls for a while."""

    kind: ClassVar[str] = "processor.stall"
    processor: Literal["stall"]
    of: Literal["controller", "plant"] = entry("Process to stall")

    @model_validator(mode="after")
    def _ends(self) -> Stall:
        if self.for_s is None and self.for_ticks is None:
            raise wrong("for_s or for_ticks is missing", found="nothing", remedy="add for_s")
        if self.of == "plant" and (self.for_s or 0.0) > 10.0:
            raise wrong("a stall of the plant is limited", f"{self.for_s:g} s", "at most 10 s", at=("for_s",))
        return self


WIRE = (Drop, Delay, Jitter, Duplicate, Reorder, Corrupt, Disconnect)


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


def stall(entry: Stall, site: Site, random: np.random.Generator) -> FaultEffect:
    """The effect of a stall."""
    return Stalled(entry, site, random) if entry.of == "controller" else PlantStall(entry, site)


class PlantStall:
    """The daemon sleeps through its deadlines; in lockstep time stops, without any other effect."""

    def __init__(self, entry: Stall, site: Site) -> None:
        ticks = ticks_of(entry, site.period_s)
        assert ticks is not None
        self._seconds = entry.for_s if entry.for_s is not None else ticks * site.period_s
        self._wire = site.wire

    def begin(self, tick: int) -> str:  # noqa: ARG002
        """Sleep for the stall."""
        if self._wire.lockstep:
            return "lockstep time does not advance meanwhile, so nothing changes"
        time.sleep(self._seconds)
        return f"slept for {self._seconds:g} s; see plant.on_overrun for the effect"

    def tick(self, tick: int) -> None:
        """Without effect; the stall is over."""

    def end(self) -> str:
        """Without effect; the stall is over."""
        return ""
