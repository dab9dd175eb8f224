"""Signal faults: entries, and effects on an input to the controller or an output to the machine.

An output with a fault is reported as it was set: its state in the machine differs from the report, as that
of a valve that sticks.
"""

from __future__ import annotations

from collections import deque
from typing import ClassVar, Literal

import numpy as np
from pydantic import model_validator

from linkwork.arrays import Floats
from linkwork.machine.sections.fields import Count, Number, entry, one_of
from linkwork.machine.sections.signal_section import SignalValue
from linkwork.plant.faults.effects import Site
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


class SignalEffect:
    """A fault of one signal. `value` (1): a view of the value that it changes, in place, once a tick."""

    def __init__(self, entry: SignalEntry, site: Site, random: np.random.Generator) -> None:
        self.entry, self.site, self.random = entry, site, random
        self.signal = next(each for each in site.machine.signals if each.name == entry.of)
        machinery, machine = site.machinery, site.machine
        if self.signal.is_input:
            self._acting, values, group = machinery.sensing, machinery.measured.inputs, machine.inputs
        else:
            self._acting, values, group = machinery.switching, machinery.driven_outputs, machine.outputs
        at = group.index(self.signal)
        self.value: Floats = values[at : at + 1]

    def begin(self, tick: int) -> str:  # noqa: ARG002
        """Change the signal from this tick on."""
        self._acting.append(self)
        return ""

    def tick(self, tick: int) -> None:
        """Update at a tick; without effect."""

    def end(self) -> str:
        """Stop changing the signal."""
        self._acting.remove(self)
        return ""

    def falsify(self) -> None:
        """Change the value of this tick, in place."""


class StuckValue(SignalEffect):
    """A constant: the given value, or the last one before the fault."""

    entry: StuckSignal

    def begin(self, tick: int) -> str:
        """Keep the value."""
        given = self.entry.value
        self._kept = float(self.value[0]) if given is None else self.signal.read(given)
        return super().begin(tick)

    def falsify(self) -> None:
        """Put it in place of the value."""
        self.value[:] = self._kept


class LateValue(SignalEffect):
    """The value of some ticks ago; until then, that at the beginning of the fault."""

    entry: DelayedSignal

    def begin(self, tick: int) -> str:
        """Fill the delay with the present value."""
        entry = self.entry
        ticks = entry.by_ticks or max(1, round((entry.by_s or 0.0) / self.site.period_s))
        self._past = deque([float(self.value[0])] * ticks)
        return super().begin(tick)

    def falsify(self) -> None:
        """Exchange the value for the oldest one."""
        self._past.append(float(self.value[0]))
        self.value[:] = self._past.popleft()


class FlickeringValue(SignalEffect):
    """1 - x at random."""

    entry: FlickeringSignal

    def falsify(self) -> None:
        """Draw once a tick."""
        if self.random.random() < self.entry.probability:
            self.value[:] = 1.0 - self.value


SIGNAL_EFFECTS: dict[str, type[SignalEffect]] = {
    StuckSignal.kind: StuckValue,
    DelayedSignal.kind: LateValue,
    FlickeringSignal.kind: FlickeringValue,
}
