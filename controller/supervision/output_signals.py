"""Output signals: set by orders, by goals on their path, by reactions to a fault, a lost link, a disable."""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.exchange.orders import OrderOutcome, SetOutputs
from linkwork.controller.exchange.tick_io import Inputs
from linkwork.controller.motion.references.reference import Follow
from linkwork.controller.supervision.path_outputs import PathOutputs
from linkwork.machine import Machine

SETTLES_TICKS = 2
"""Ticks from an order to the record that shows its effect: lockstep time runs on for these."""
NO_STATE = 2**62


class OutputSignals:
    """The values that each command asks for. `value`: one number an output signal, in its unit.

    With each connection the values that are in force in the device are taken over, so that a restarted
    controller changes nothing.
    """

    def __init__(self, machine: Machine) -> None:
        self._signals = machine.outputs
        self.value: Floats = np.array([signal.initial for signal in self._signals])
        self._on_fault, self._on_link_loss, self._on_disable = (
            np.array([getattr(signal, key) for signal in self._signals])
            for key in ("on_fault", "on_link_loss", "on_disable")
        )
        self.path = PathOutputs(machine, self.value)
        self._device_tick = NO_STATE
        self._settling = 0

    @property
    def settling(self) -> bool:
        """Whether the effect of a change is not yet in a record."""
        return self._settling > 0

    def begin_tick(self, inputs: Inputs) -> None:
        """Take over the device's values with the first state of a connection."""
        if self._settling:
            self._settling -= 1
        if not inputs.connected:
            self._device_tick = NO_STATE
        elif inputs.fresh:
            if inputs.device_tick <= self._device_tick:  # states count from 0 in each connection
                self.value[:] = inputs.output
            self._device_tick = inputs.device_tick

    def act(self, goal: Follow | None) -> None:
        """Set the outputs that the goal under way (None: no goal) sets in this tick, after the orders."""
        if self.path.act(goal):
            self._settling = SETTLES_TICKS

    def set(self, order: SetOutputs) -> OrderOutcome:
        """Carry out an order: all of its values, or none."""
        wanted = dict(order.pairs)
        count = len(self._signals)
        if not all(0 <= at < count and self._signals[at].admits(value) for at, value in wanted.items()):
            return OrderOutcome.REFUSED_VALUE
        if any(self.path.followed[at] for at in wanted):
            return OrderOutcome.REFUSED_BUSY
        if all(self.value[at] == value for at, value in wanted.items()):
            return OrderOutcome.NOTHING_TO_DO
        for at, value in wanted.items():
            self.value[at] = value
        self._settling = SETTLES_TICKS
        return OrderOutcome.DONE

    def fault(self, *, link_lost: bool) -> None:
        """React to a fault or an emergency stop, which has ended the goal."""
        self.act(None)
        self._react(self._on_fault)
        if link_lost:
            self._react(self._on_link_loss)

    def disabled(self) -> None:
        """React to the end of a disable: the machine is braked."""
        self._react(self._on_disable)

    def _react(self, reaction: Floats) -> None:
        changes = ~np.isnan(reaction) & (reaction != self.value)
        if changes.any():
            self.value[changes] = reaction[changes]
            self._settling = SETTLES_TICKS
