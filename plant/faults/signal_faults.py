"""Signal faults, of an input to the controller or an output to the machine.

An output with a fault is reported as it was set: its state in the machine differs from the report, as that
of a valve that sticks.
"""

from typing import Annotated, Literal, Self

from pydantic import model_validator

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.machine.problems import shown
from linkwork.machine.sections.fields import Count, Number, entry, one_of
from linkwork.machine.sections.signal_section import Signal, SignalValue, SignalValueError
from linkwork.plant.faults.fault import FaultCheck, FaultyValues, MachineName, Named, Share, Site, ValueFault
from linkwork.plant.faults.faulty_machinery import Acting

SignalName = Annotated[
    Named, MachineName("signal", lambda machine, _: [each.name for each in machine.signals])
]


class SignalFault(ValueFault):
    """A signal differs from what it should be."""

    of: SignalName = entry("The signal")

    def signal_of(self, machine: Machine) -> Signal:
        """Return the signal."""
        return next(each for each in machine.signals if each.name == self.of)

    @classmethod
    def missing(cls, machine: Machine) -> str:
        """Return that there are no signals."""
        return "" if machine.signals else "the machine has no signals"

    def place(self, site: Site) -> tuple[Acting, Floats, Floats]:
        """Return what acts on inputs or outputs, and a view of the signal's value (1)."""
        machinery, machine = site.machinery, site.machine
        signal = self.signal_of(machine)
        if signal.is_input:
            acting, values, at = machinery.sensing, machinery.measured.inputs, machine.inputs.index(signal)
        else:
            acting, values, at = machinery.switching, machinery.driven_outputs, machine.outputs.index(signal)
        return acting, values[at : at + 1], values[:0]


class StuckSignal(SignalFault):
    """The signal keeps one value."""

    signal: Literal["stuck"]
    value: SignalValue = entry("The value. Default: the one that it has when the fault begins", default=None)

    def compare(self, check: FaultCheck) -> None:
        """Its value."""
        try:
            if self.value is not None:
                self.signal_of(check.machine).read(self.value)
        except SignalValueError as error:
            found = shown(self.value)
            check.note("value", f"{self.of} cannot have this value", found, error.allowed)

    def change(self, values: FaultyValues) -> None:
        """The given value, or the last one before the fault."""
        signal = self.signal_of(values.site.machine)
        values.x[:] = values.last[0] if self.value is None else signal.read(self.value)


class DelayedSignal(SignalFault):
    """The signal follows later."""

    signal: Literal["delay"]
    by_ticks: Count | None = entry("Delay, in ticks", default=None, ge=1, le=100_000)
    by_s: Number | None = entry("Delay", "s", None, gt=0, le=100)

    @model_validator(mode="after")
    def _one_delay(self) -> Self:
        one_of(self, "by_ticks", "by_s", needed=True)
        return self

    def change(self, values: FaultyValues) -> None:
        """The value of some ticks ago; until then, that of before the fault."""
        values.past.append(float(values.x[0]))
        ticks = self.by_ticks or max(1, round((self.by_s or 0.0) / values.site.period_s))
        values.x[:] = values.past.popleft() if len(values.past) > ticks else values.last[0]


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

    def change(self, values: FaultyValues) -> None:
        """1 - x at random. The number of random draws in a tick is constant."""
        if values.site.random.random() < self.probability:
            values.x[:] = 1.0 - values.x


SIGNAL = (StuckSignal, DelayedSignal, FlickeringSignal)
