"""Signal faults: change an input on its way to the controller, or an output on its way to the machine.

An output with a fault is reported as it was set: its state in the machine differs from the report, as that
of a valve that sticks.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from linkwork.arrays import Floats
from linkwork.plant.faults.effects import Site
from linkwork.plant.faults.signal_entries import DelayedSignal, FlickeringSignal, SignalEntry, StuckSignal


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
