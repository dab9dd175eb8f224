"""Faults of the link: what becomes of the message of a tick."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import deque
from dataclasses import replace
from typing import Any, ClassVar, Literal

from pydantic import model_validator

from linkwork.machine.sections.fields import Count, Section, entry, wrong
from linkwork.plant.faults.fault import Effect, PlantFault, Share, Site
from linkwork.plant.faults.wire import Passing

MOST_TICKS = 1000
"""Longest delay of a message, in ticks."""


class LinkFault(PlantFault):
    """A fault of the link: the message of a tick is lost, late, twice, unreadable."""

    cuts: ClassVar[bool] = False
    """Whether handshakes do not pass either."""

    def effect(self, site: Site) -> Effect[Any]:
        """Return the link whose messages it changes."""
        return FaultyLink(self, site)

    @abstractmethod
    def strike(self, message: Passing, link: FaultyLink) -> list[Passing]:
        """Return what becomes of one message: itself, changed, and its copies."""


class FaultyLink(Effect[LinkFault]):
    """A faulty link; `drawn` is the number from 0 to 1 of the message that is struck now."""

    def __init__(self, fault: LinkFault, site: Site) -> None:
        super().__init__(fault, site)
        self.wire = site.wire
        direction = getattr(fault, "direction", "both")
        self._strikes = direction != "commands", direction != "states"
        self.drawn = 0.0
        self._numbers: deque[tuple[float, float]] = deque(maxlen=MOST_TICKS + 1)
        self._tick = 0

    def begin(self, tick: int) -> str:
        """Apply to messages from this tick on."""
        self.wire.effects.append(self.treat)
        self.wire.cuts += self.fault.cuts
        return super().begin(tick)

    def tick(self, tick: int) -> None:
        """Draw this tick's numbers, one a direction; those of ticks long gone are forgotten."""
        states, commands = self.site.random.random(2)
        self._numbers.append((float(states), float(commands)))
        self._tick = tick

    def end(self) -> str:
        """Leave the messages of later ticks unchanged."""
        self.wire.effects.remove(self.treat)
        self.wire.cuts -= self.fault.cuts
        return super().end()

    def treat(self, direction: int, tick: int, passing: list[Passing]) -> list[Passing]:
        """Return the treated message of a tick and its copies."""
        ago = self._tick - tick
        if not (0 <= ago < len(self._numbers) and self._strikes[direction]):
            return passing
        self.drawn = self._numbers[-1 - ago][direction]
        return [come for each in passing for come in self.fault.strike(each, self)]


class _Chance(Section):
    probability: Share = entry("Fraction of the messages affected", default=1.0)

    def strikes_now(self, link: FaultyLink) -> bool:
        """Whether the message is among those affected."""
        return link.drawn < self.probability


class WireFault(LinkFault):
    """A fault of the link: the message of a tick is lost, late, twice, unreadable."""

    direction: Literal["states", "commands", "both"] = entry(
        "Messages affected: states, commands, or both", default="both"
    )

    @property
    def about(self) -> str:
        """The direction."""
        return self.direction


class Drop(WireFault, _Chance):
    """Messages are lost."""

    wire: Literal["drop"]

    def strike(self, message: Passing, link: FaultyLink) -> list[Passing]:
        """The message, or by chance nothing."""
        return [] if self.strikes_now(link) else [message]


class Delay(WireFault):
    """Every message comes some ticks late."""

    wire: Literal["delay"]
    by_ticks: Count = entry("Delay in ticks", default=1, ge=1, le=MOST_TICKS)

    def strike(self, message: Passing, link: FaultyLink) -> list[Passing]:  # noqa: ARG002
        """The message, later."""
        message.due += self.by_ticks
        return [message]


class Jitter(WireFault):
    """Each message comes some ticks late, by chance: none to the most, all equally likely."""

    wire: Literal["jitter"]
    up_to_ticks: Count = entry("Largest delay in ticks", default=2, ge=1, le=MOST_TICKS)

    def strike(self, message: Passing, link: FaultyLink) -> list[Passing]:
        """The message, later by 0 to the most."""
        message.due += int(link.drawn * (self.up_to_ticks + 1))
        return [message]


class Duplicate(WireFault, _Chance):
    """Messages come twice."""

    wire: Literal["duplicate"]

    def strike(self, message: Passing, link: FaultyLink) -> list[Passing]:
        """The message, and by chance again."""
        return [message, replace(message)] if self.strikes_now(link) else [message]


class Reorder(WireFault, _Chance):
    """A message is overtaken by the one after it."""

    wire: Literal["reorder"]

    def strike(self, message: Passing, link: FaultyLink) -> list[Passing]:
        """The message, by chance a tick later: what comes at one tick comes newest first."""
        message.due += self.strikes_now(link)
        return [message]


class Corrupt(WireFault, _Chance):
    """Bytes of messages are changed, so that they are unreadable."""

    wire: Literal["corrupt"]
    bytes_flipped: Count = entry("Number of bytes changed per message", default=1, ge=1, le=64)

    def strike(self, message: Passing, link: FaultyLink) -> list[Passing]:
        """The message, by chance with other bytes."""
        if self.strikes_now(link):
            seed = int(link.drawn * 2**52)
            message.data = link.wire.flipped(message.direction, message.data, self.bytes_flipped, seed)
            message.readable = False
        return [message]


class Disconnect(LinkFault):
    """No message passes in either direction, including handshakes."""

    cuts: ClassVar[bool] = True
    wire: Literal["disconnect"]

    def strike(self, message: Passing, link: FaultyLink) -> list[Passing]:  # noqa: ARG002
        """Nothing."""
        return []


class Stall(LinkFault):
    """A process stalls for a while."""

    processor: Literal["stall"]
    of: Literal["controller", "plant"] = entry("Process to stall")

    @model_validator(mode="after")
    def _ends(self) -> Stall:
        if self.for_s is None and self.for_ticks is None:
            raise wrong("for_s or for_ticks is missing", found="nothing", remedy="add for_s")
        if self.of == "plant" and (self.for_s or 0.0) > 10.0:
            raise wrong("a stall of the plant is limited", f"{self.for_s:g} s", "at most 10 s", at=("for_s",))
        return self

    def effect(self, site: Site) -> Effect[Any]:
        """Return the link or, of a stall of the plant, the daemon's sleep."""
        return FaultyLink(self, site) if self.of == "controller" else PlantStall(self, site)

    def strike(self, message: Passing, link: FaultyLink) -> list[Passing]:
        """The message, when the stall is over; those held before it are overtaken and gone."""
        message.due = max(message.due, link.first + (self.ticks(link.site.period_s) or 0))
        link.wire.forget(message)
        return [message]


class PlantStall(Effect[Stall]):
    """The daemon sleeps through its deadlines; in lockstep time stops, without any other effect."""

    def begin(self, tick: int) -> str:
        """Sleep for the stall."""
        super().begin(tick)
        fault, period_s = self.fault, self.site.period_s
        if self.site.wire.lockstep:
            return "lockstep time does not advance meanwhile, so nothing changes"
        seconds = (fault.ticks(period_s) or 0) * period_s if fault.for_s is None else fault.for_s
        time.sleep(seconds)
        return f"slept for {seconds:g} s; see plant.on_overrun for the effect"


WIRE = (Drop, Delay, Jitter, Duplicate, Reorder, Corrupt, Disconnect)
PROCESSOR = (Stall,)
