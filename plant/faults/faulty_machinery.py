"""A machine with faults in its sensors and motors, simulated or real: a wrapper around its machinery."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.plant.machinery import Machinery
from linkwork.plant.simulator.plant_state import BRAKE, DAMP
from linkwork.plant.simulator.simulator import Simulator

Acting: TypeAlias = list[Callable[[], None]]
"""What changes numbers in each tick, in this order."""


def _within(name: str) -> Any:
    """Return a property with the value of the machine within."""
    return property(lambda machinery: getattr(machinery.inner, name))


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


class FaultyMachinery:
    """`plant.machinery.Machinery` around another one, `inner`.

    `sensing` corrupts copies of the readings, `driving` the efforts sent to the motors, `switching` the
    output signals, each in the order in which they began. `simulated` is the part of a simulated mechanism
    that can be changed, None for a real machine. `awake` keeps time running though the machine rests.
    """

    joints: Sequence[str] = _within("joints")
    mode: int = _within("mode")
    sampled: bool = _within("sampled")
    status: int = _within("status")
    homing: dict[str, Any] | None = _within("homing")
    simulation: dict[str, str] | None = _within("simulation")
    closed: int = _within("closed")
    fault: int = _within("fault")
    standing: bool = _within("standing")

    def __init__(self, inner: Machinery, simulated: Simulated | None = None) -> None:
        self.inner, self.simulated = inner, simulated
        self.runs_by_itself = inner.runs_by_itself
        measured, self.travel = inner.measured, inner.travel
        self.measured = replace(
            measured,
            q=measured.q.copy(),
            v=measured.v.copy(),
            force=measured.force.copy(),
            inputs=measured.inputs.copy(),
            outputs=measured.outputs.copy(),
        )
        self.sensing: Acting = []
        self.driving: Acting = []
        self.switching: Acting = []
        self.driven = np.zeros(len(measured.effort))
        """Efforts that the motors are given now."""
        self.driven_outputs = measured.outputs.copy()
        """Values (outputs) that the output signals are given now; `measured` has those that were set."""
        self.awake = False
        self._wanted = np.zeros(len(measured.effort))
        self._mode = inner.mode
        self._commanded = self._drove = False

    @property
    def tick(self) -> int:
        """Periods since the plant started."""
        return self.inner.tick

    @tick.setter
    def tick(self, tick: int) -> None:
        self.inner.tick = tick

    def switch(self, closed: int) -> list[dict[str, Any]]:
        """Switch constraints of the machine within."""
        return self.inner.switch(closed)

    def set_outputs(self, values: Floats) -> None:
        """Set the output signals (outputs); at `sense` they reach the machine within."""
        self.measured.outputs[:] = values

    @property
    def resting(self) -> bool:
        """Whether time may stop."""
        return self.inner.resting and not self.awake

    def latch(self, mode: int, effort: Floats) -> None:
        """Store mode and efforts (motors; N m or N); faults of motors act at `sense`."""
        self._wanted[:] = effort
        self._mode, self._commanded = mode, True
        self.inner.latch(mode, effort)

    def refer(self, position: Floats, feedforward: Floats) -> None:
        """Give the references (motors) to the machine within; faults act on a real one's feed-forward."""
        self.inner.refer(position, feedforward)
        if self.inner.runs_by_itself:
            self._wanted[:] = feedforward

    def act(self, action: str) -> None:
        """The watchdog's action: no fault of a motor changes that no effort acts."""
        self._commanded = False
        self.inner.act(action)

    def sense(self) -> Sequence[dict[str, Any]]:
        """Apply the command through faulty motors, sample the sensors, then corrupt the readings."""
        inner = self.inner
        if self._commanded and (self.driving or self._drove):
            self._drive()
        else:
            self.driven[:] = self._wanted
        measured, given = self.measured, inner.measured
        self._set_outputs()
        reported = inner.sense()
        measured.q[:], measured.v[:], measured.force[:] = given.q, given.v, given.force
        measured.inputs[:] = given.inputs
        for falsify in self.sensing:
            falsify()
        return reported

    def integrate(self) -> None:
        """Advance to the next tick."""
        if self.simulated is not None and self.simulated.drags:
            self.simulated.integrate()
        else:
            self.inner.integrate()

    def close(self) -> None:
        """Leave the machine braked."""
        self.inner.close()

    def _set_outputs(self) -> None:
        """Give the machine within the outputs that were set, through their faults."""
        driven = self.driven_outputs
        if not len(driven):
            return
        driven[:] = self.measured.outputs
        for falsify in self.switching:
            falsify()
        if not np.array_equal(driven, self.inner.measured.outputs):
            self.inner.set_outputs(driven)

    def _drive(self) -> None:
        """Latch the efforts of the faulty motors; the travel since the command continues to be counted."""
        driven, travel = self.driven, self.travel.copy()
        driven[:] = self._wanted
        for drive in self.driving:
            drive()
        self._drove = bool(self.driving)
        self.inner.latch(self._mode, driven)
        self.travel[:] = travel


def faulty(machinery: Machinery) -> FaultyMachinery:
    """The machinery with faults; of a simulated one the mechanism can be changed too."""
    if machinery.runs_by_itself:
        return FaultyMachinery(machinery)

    assert isinstance(machinery, Simulator)
    return FaultyMachinery(machinery, Simulated(machinery))
