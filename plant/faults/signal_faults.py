"""Signal faults, of an input to the controller or an output to the machine.

An output with a fault is reported as it was set: its state in the machine differs from the report, as that
of a valve that sticks.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from typing import Annotated, Literal

from pydantic import model_validator

from linkwork.machine import Machine
from linkwork.machine.problems import shown
from linkwork.machine.sections.fields import Count, Number, entry, one_of
from linkwork.machine.sections.signal_section import SignalValue
from linkwork.machine.signal_values import SignalValueError
from linkwork.plant.faults.fault import FaultCheck, MachineName, Named, PlantFault, Share, Site, TickEffect

SignalName = Annotated[
    Named, MachineName("signal", lambda machine, _: [each.name for each in machine.signals])
]


class SignalFault(PlantFault):
    """A signal differs from what it should be."""

    of: SignalName = entry("The signal")

    @classmethod
    def missing(cls, machine: Machine) -> str:
        """Return that there are no signals."""
        return "" if machine.signals else "the machine has no signals"

    def effect(self, site: Site) -> FaultySignal:
        """Return the signal that it changes."""
        return FaultySignal(self, site)

    @abstractmethod
    def value_of(self, signal: FaultySignal) -> float:
        """Return what the signal has in place of its present value."""


class FaultySignal(TickEffect[SignalFault]):
    """A faulty signal: its `present` value, the one before the fault (`kept`), and those since (`past`)."""

    def __init__(self, fault: SignalFault, site: Site) -> None:
        machinery, machine = site.machinery, site.machine
        self.signal = next(each for each in machine.signals if each.name == fault.of)
        if self.signal.is_input:
            acting, self._values, group = machinery.sensing, machinery.measured.inputs, machine.inputs
        else:
            acting, self._values, group = machinery.switching, machinery.driven_outputs, machine.outputs
        super().__init__(fault, site, acting)
        self._at = group.index(self.signal)
        self.past: deque[float] = deque()

    def begin(self, tick: int) -> str:
        """Keep the present value."""
        self.present = self.kept = float(self._values[self._at])
        return super().begin(tick)

    def apply(self) -> None:
        """Change the value, in place."""
        self.present = float(self._values[self._at])
        self._values[self._at] = self.fault.value_of(self)


class StuckSignal(SignalFault):
    """The signal keeps one value."""

    signal: Literal["stuck"]
    value: SignalValue = entry("The value. Default: the one that it has when the fault begins", default=None)

    def compare(self, check: FaultCheck) -> None:
        """Its value."""
        signal = next(each for each in check.machine.signals if each.name == self.of)
        try:
            if self.value is not None:
                signal.read(self.value)
        except SignalValueError as error:
            found = shown(self.value)
            check.note("value", f"{self.of} cannot have this value", found, error.allowed)

    def value_of(self, signal: FaultySignal) -> float:
        """The given value, or the last one before the fault."""
        return signal.kept if self.value is None else signal.signal.read(self.value)


class DelayedSignal(SignalFault):
    """The signal follows later."""

    signal: Literal["delay"]
    by_ticks: Count | None = entry("Delay, in ticks", default=None, ge=1, le=100_000)
    by_s: Number | None = entry("Delay", "s", None, gt=0, le=100)

    @model_validator(mode="after")
    def _one_delay(self) -> DelayedSignal:
        one_of(self, "by_ticks", "by_s", needed=True)
        return self

    def value_of(self, signal: FaultySignal) -> float:
        """The value of some ticks ago; until then, that of before the fault."""
        signal.past.append(signal.present)
        ticks = self.by_ticks or max(1, round((self.by_s or 0.0) / signal.site.period_s))
        return signal.past.popleft() if len(signal.past) > ticks else signal.kept


class FlickeringSignal(SignalFault):
    """In some ticks, a digital signal has the opposite value."""

    signal: Literal["flicker"]
    probability: Share = entry("Probability of the opposite value, in each tick")

    @classmethod
    def missing(cls, machine: Machine) -> str:
        """Return that there are no signals, or no digital one."""
        digital = any(signal.is_digital for signal in machine.signals)
        return super().missing(machine) or ("" if digital else "the machine has no digital signal")

    def compare(self, check: FaultCheck) -> None:
        """The kind of the signal."""
        digital = [signal.name for signal in check.machine.signals if signal.is_digital]
        if self.of not in digital:
            check.note("of", "only a digital signal flickers", self.of, remedy="use stuck or delay")

    def value_of(self, signal: FaultySignal) -> float:
        """1 - x at random. The number of random draws in a tick is constant."""
        opposite = signal.site.random.random() < self.probability
        return 1.0 - signal.present if opposite else signal.present


SIGNAL = (StuckSignal, DelayedSignal, FlickeringSignal)
