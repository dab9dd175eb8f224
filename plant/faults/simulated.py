"""Changes of a simulated mechanism in motion: parameters, friction that sticks."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.plant.simulator.plant_state import BRAKE, DAMP
from linkwork.plant.simulator.simulator import Simulator


class Simulated:
    """A running simulation. `drags`: by fault, a motor and the friction (N m or N) that holds it."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator, self.work = simulator, simulator.work
        self.drags: dict[Hashable, tuple[int, float]] = {}
        self._given = simulator.base
        self._changes: dict[Hashable, tuple[Integers, Floats]] = {}
        self._rubs: dict[Hashable, tuple[int, float]] = {}
        self._brakes = simulator.state.brake_effort
        self._own_brakes = self._brakes.copy()
        self._drag = np.zeros(len(self._brakes))

    def integrate(self) -> None:
        """One period with drags: brakes that are on though others are open, of just these frictions.

        The brakes' step is semi-implicit. Damping, the watchdog's, is left as it is.
        """
        simulator = self.simulator
        mode = simulator.mode
        if mode == DAMP:
            simulator.integrate()
            return
        self._drag[:] = self._own_brakes if mode == BRAKE else 0.0
        for motor, friction in self.drags.values():
            self._drag[motor] += friction
        self._brakes[:] = self._drag
        simulator.mode = BRAKE
        simulator.integrate()
        simulator.mode = mode
        self._brakes[:] = self._own_brakes

    def rub(self, fault: Hashable, joint: int, viscous: float) -> None:
        """Viscous friction is added at a joint (its place in v)."""
        self._rubs[fault] = (joint, viscous)
        self.lay_out()

    def change(self, fault: Hashable, places: Integers, values: Floats) -> None:
        """Set other parameters `values` (n) at `places` (n); the last change of a place counts."""
        self._changes[fault] = (places, values)
        self.lay_out()

    def release(self, fault: Hashable) -> None:
        """Undo the changes of this fault."""
        self.drags.pop(fault, None)
        had = [table.pop(fault, None) for table in (self._rubs, self._changes)]
        if any(each is not None for each in had):
            self.lay_out()

    def lay_out(self) -> None:
        """The parameters that now hold reach the simulation."""
        model = self._given
        if self._changes or self._rubs:
            model = self._given.with_parameters(writable=True)
            for places, values in self._changes.values():
                model.buffer[places] = values
            for joint, viscous in self._rubs.values():
                model.viscous[joint] += viscous
        self.simulator.give(model)
