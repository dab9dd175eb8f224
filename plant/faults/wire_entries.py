"""Entries of a time line: faults of the link, and processes that stall."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import model_validator

from linkwork.machine.sections.fields import Count, Section, entry, wrong
from linkwork.plant.faults.entries import FaultEntry, Share

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
