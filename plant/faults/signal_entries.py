"""Entries of a time line: faults of signals, by their names in the machine file."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import model_validator

from linkwork.machine.sections.fields import Count, Number, entry, one_of
from linkwork.machine.sections.signal_section import SignalValue
from linkwork.plant.faults.entries import FaultEntry, Named, Share


class SignalEntry(FaultEntry):
    """A signal differs from what it should be."""

    of: Named = entry("The signal")


class StuckSignal(SignalEntry):
    """The signal keeps one value."""

    kind: ClassVar[str] = "signal.stuck"
    signal: Literal["stuck"]
    value: SignalValue = entry("The value. Default: the one that it has when the fault begins", default=None)


class DelayedSignal(SignalEntry):
    """The signal follows later."""

    kind: ClassVar[str] = "signal.delay"
    signal: Literal["delay"]
    by_ticks: Count | None = entry("Delay, in ticks", default=None, ge=1, le=100_000)
    by_s: Number | None = entry("Delay", "s", None, gt=0, le=100)

    @model_validator(mode="after")
    def _one_delay(self) -> DelayedSignal:
        one_of(self, "by_ticks", "by_s", needed=True)
        return self


class FlickeringSignal(SignalEntry):
    """In some ticks, a digital signal has the opposite value."""

    kind: ClassVar[str] = "signal.flicker"
    signal: Literal["flicker"]
    probability: Share = entry("Probability of the opposite value, in each tick")


SIGNAL = (StuckSignal, DelayedSignal, FlickeringSignal)
