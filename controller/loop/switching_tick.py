"""The tick of a machine whose constraints can be switched: one tick for each set of them, over one record.

All ticks are built before the first one runs. The device has the last word: whichever constraints a fresh
state says that hold, the tick with the model of just these computes the answer to it. An order asks the
device for another set (`Outputs.closed`) in every command until a state shows it, or says that it was
refused. Meanwhile the tick is that of the constraints which hold before and after: a constraint that opens
is no longer counted on in the very command that opens it, one that closes is counted on once it is closed.
The new tick takes over state machine, orders, brakes, gains and loads as they are. At rest it estimates
afresh from the measured joints, and holds the machine where it is. A goal that is under way when a signal
switches a constraint is carried on in the same tick: estimate and reference go through the impulse.
"""

from collections.abc import Callable

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.estimation.estimate_quality import Quality
from linkwork.controller.exchange.records import Record, RecordLayout
from linkwork.controller.exchange.tick_io import Inputs, Outputs
from linkwork.controller.loop.tick import Tick, no_slots
from linkwork.controller.supervision.supervised_machine import Switching
from linkwork.controller.supervision.supervisor import Supervisor
from linkwork.machine import Machine
from linkwork.machine.constraint_sets import constraint_sets
from linkwork.protocol.codes import ResultCode

NO_FIGURES = (0.0, 0.0, 0.0)
PATIENCE = 50
"""Fresh states after which a switch that the device neither carries out nor refuses counts as refused."""


class SwitchingTick:
    """As `Tick`, for a machine with switchable constraints; `build` makes the tick of one set of them."""

    def __init__(
        self,
        machine: Machine,
        layout: RecordLayout,
        build: Callable[..., Tick],
        slot: Callable[[int], Floats] = no_slots,
    ) -> None:
        self.record = Record(layout)
        self._ticks = {
            closed: build(one, layout, slot, self.record)
            for closed, one in constraint_sets(machine).items()
            if isinstance(one, Machine)
        }
        self._tick = self._ticks[machine.closed_at_start]
        self._tick.quality.bind(self.record)
        switching = Switching(len(machine.switchable), machine.closed_at_start)
        switching.runnable = frozenset(self._ticks)
        self._tick.supervisor.switching = switching
        self._states_waited = 0
        self._carries_on = False
        """Whether the constraints have changed in this tick under a goal that continues."""
        self._by_signals = sum(1 << bit for bit, text in enumerate(machine.closed_when) if text)
        names = ("closed", "switched", "switch_energy_loss", "switch_impulse", "switch_residual")
        self._channels = [self.record.view(name) for name in names]
        self._bits = np.arange(len(machine.switchable))

    @property
    def supervisor(self) -> Supervisor:
        """Supervisor under the present constraints."""
        return self._tick.supervisor

    @property
    def quality(self) -> Quality:
        """Quality under the present constraints."""
        return self._tick.quality

    @property
    def now(self) -> Tick:
        """The tick of the constraints that hold."""
        return self._tick

    @property
    def iterations(self) -> float:
        """Newton steps and quadratic programs of the acting tick."""
        return self._tick.iterations

    def step(
        self, inputs: Inputs, outputs: Outputs, dt: float, mark: Callable[[int], object] | None = None
    ) -> None:
        """Make one step of the tick of the constraints that hold; arguments as of `Tick.step`."""
        if not inputs.fresh:
            inputs.switched = 0
        elif inputs.closed >= 0:
            self._hear(inputs)
        self._take_up(dt)
        self._tick.step(inputs, outputs, dt, mark)
        self._carries_on = False
        switching = self.supervisor.switching
        outputs.closed = switching.wanted if self._tick is self._ticks.get(switching.common) else -1

    def _take_up(self, dt: float) -> None:
        """The tick becomes that of the constraints that hold before and after the switch under way."""
        before = self._tick
        self._tick = self._ticks.get(before.supervisor.switching.common, before)
        if self._carries_on:
            self._tick.carry_on(before, dt)
        elif self._tick is not before:
            self._tick.adopt(before)

    def _hear(self, inputs: Inputs) -> None:
        """Take the device's report of the constraints that hold, and of a switch."""
        switching = self.supervisor.switching
        changed = inputs.closed ^ switching.closed
        if changed:
            self._change(inputs, changed)
        elif switching.wanted >= 0:
            self._states_waited += 1
            if self._states_waited > PATIENCE and not inputs.switched:
                late = switching.wanted ^ switching.closed
                inputs.switched, inputs.switch_figures = -late.bit_length(), NO_FIGURES
            if inputs.switched < 0:
                switching.wanted = -1
        goal = self.supervisor.executor.goal
        if inputs.switched < 0 and goal is not None and len(goal.block.task.switches):
            self.supervisor.come_to_rest(ResultCode.CONSTRAINT_OPEN, disable=False)
        if switching.wanted < 0:
            self._states_waited = 0

    def _change(self, inputs: Inputs, changed: int) -> None:
        """Other constraints hold: `changed` are the bits that differ."""
        switching = self.supervisor.switching
        asked = inputs.closed == switching.wanted or self._expected(inputs.closed, changed)
        if inputs.switched <= 0:  # the report was lost on its way
            inputs.switched, inputs.switch_figures = changed.bit_length(), NO_FIGURES
        switching.closed, switching.modelled = inputs.closed, inputs.closed in self._ticks
        if not asked:
            switching.unasked = changed.bit_length() - 1
            self.supervisor.executor.abort()
        elif self.supervisor.executor.goal is not None:
            self._carries_on = True
        else:
            self._tick.estimate_again()  # the prediction was made under other constraints
        self.supervisor.switched(asked=asked)

    def _expected(self, closed: int, changed: int) -> bool:
        """Whether signals have switched these bits of a machine that holds, is braked or follows a goal."""
        supervisor = self.supervisor
        executor = supervisor.executor
        if changed & ~self._by_signals or closed not in self._ticks or supervisor.brakes.changing:
            return False
        return executor.crosses or not (executor.under_way or executor.pressing.control.pressing)

    def note(self, inputs: Inputs, outputs: Outputs) -> None:
        """Write inputs, decisions and the switched constraints to the record."""
        closed, switched, *figures = self._channels
        held = inputs.closed if inputs.closed >= 0 else self.supervisor.switching.closed
        closed[:] = (held >> self._bits) & 1
        switched[:] = 0.0
        for channel, value in zip(figures, inputs.switch_figures, strict=True):
            channel[:] = 0.0
            if inputs.switched:
                channel[abs(inputs.switched) - 1] = value
        if inputs.switched:
            switched[abs(inputs.switched) - 1] = 1.0 if inputs.switched > 0 else -1.0
        self._tick.note(inputs, outputs)
        inputs.switched = 0
