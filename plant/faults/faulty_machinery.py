"""A machine with faults in its sensors and motors, simulated or real: a wrapper around its machinery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from linkwork.arrays import Floats
from linkwork.plant.faults.simulated import Simulated
from linkwork.plant.machinery import Machinery
from linkwork.plant.simulator.simulator import Simulator

if TYPE_CHECKING:
    from linkwork.plant.faults.simulated import Simulated


class Falsifying(Protocol):
    """Effect on a reading or a signal (`plant.faults.sensor_faults`, `signal_faults`)."""

    def falsify(self) -> None:
        """Change it, once a tick."""
        ...


class Driving(Protocol):
    """Effect that changes an effort on its way to its motor (`plant.faults.actuator_faults`)."""

    def drive(self, effort: Floats) -> None:
        """Change `effort` (motors; N m or N), in place, once a tick."""
        ...


class FaultyMachinery:
    """`plant.machinery.Machinery` around another one, `inner`.

    `sensing` corrupts copies of the readings, `driving` the efforts sent to the motors, `switching` the
    output signals, each in the order in which they began. `simulated` is the part of a simulated mechanism
    that can be changed, None for a real machine. `awake` keeps time running though the machine rests.
    """

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
        self.sensing: list[Falsifying] = []
        self.driving: list[Driving] = []
        self.switching: list[Falsifying] = []
        self.driven = np.zeros(len(measured.effort))
        """Efforts that the motors are given now."""
        self.driven_outputs = measured.outputs.copy()
        """Values (outputs) that the output signals are given now; `measured` has those that were set."""
        self.awake = False
        self._wanted = np.zeros(len(measured.effort))
        self._mode = inner.mode
        self._commanded = self._ended = False

    @property
    def tick(self) -> int:
        """Periods since the plant started."""
        return self.inner.tick

    @tick.setter
    def tick(self, tick: int) -> None:
        self.inner.tick = tick

    @property
    def joints(self) -> Sequence[str]:
        """Names of what `travel` counts."""
        return self.inner.joints

    @property
    def mode(self) -> int:
        """Acting mode of the machine within."""
        return self.inner.mode

    @property
    def sampled(self) -> bool:
        """Whether the measurements are of this tick."""
        return self.inner.sampled

    @property
    def status(self) -> int:
        """Bits of protocol.codes.DeviceStatus."""
        return self.inner.status

    @property
    def homing(self) -> dict[str, Any] | None:
        """Homing of the machine within."""
        return self.inner.homing

    @property
    def simulation(self) -> dict[str, str] | None:
        """Formulation and integrator of the machine within; None for a real one."""
        return self.inner.simulation

    @property
    def closed(self) -> int:
        """Switchable constraints that hold, as a bit mask; -1 without any."""
        return self.inner.closed

    def switch(self, closed: int) -> list[dict[str, Any]]:
        """Switch constraints of the machine within."""
        return self.inner.switch(closed)

    def set_outputs(self, values: Floats) -> None:
        """Set the output signals (outputs); at `sense` they reach the machine within."""
        self.measured.outputs[:] = values

    @property
    def fault(self) -> int:
        """The machine's own fault."""
        return self.inner.fault

    @property
    def resting(self) -> bool:
        """Whether time may stop."""
        return self.inner.resting and not self.awake

    @property
    def standing(self) -> bool:
        """Whether the machine is at rest."""
        return self.inner.standing

    def latch(self, mode: int, effort: Floats) -> None:
        """Store mode and efforts (motors; N m or N); faults of motors act at `sense`."""
        self._wanted[:] = effort
        self._mode, self._commanded = mode, True
        self.inner.latch(mode, effort)

    def act(self, action: str) -> None:
        """The watchdog's action: no fault of a motor changes that no effort acts."""
        self._commanded = False
        self.inner.act(action)

    def sense(self) -> Sequence[dict[str, Any]]:
        """Apply the command through faulty motors, sample the sensors, then corrupt the readings."""
        inner = self.inner
        if self._commanded and (self.driving or self._ended):
            self._drive()
        else:
            self.driven[:] = self._wanted
        measured, given = self.measured, inner.measured
        self._set_outputs()
        reported = inner.sense()
        measured.q[:], measured.v[:], measured.force[:] = given.q, given.v, given.force
        measured.inputs[:] = given.inputs
        for effect in self.sensing:
            effect.falsify()
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
        driven[:] = self.measured.outputs
        for effect in self.switching:
            effect.falsify()
        if not np.array_equal(driven, self.inner.measured.outputs):
            self.inner.set_outputs(driven)

    def stop_driving(self, effect: Driving) -> None:
        """A fault of a motor ends: at the next `sense` its command counts again."""
        self.driving.remove(effect)
        self._ended = True

    def _drive(self) -> None:
        """Return the efforts of the faulty motors; the travel since the command continues to be counted."""
        driven, travel = self.driven, self.travel.copy()
        driven[:] = self._wanted
        for effect in self.driving:
            effect.drive(driven)
        self._ended = False
        self.inner.latch(self._mode, driven)
        self.travel[:] = travel


def faulty(machinery: Machinery) -> FaultyMachinery:
    """The machinery with faults; of a simulated one the mechanism can be changed too."""
    if machinery.runs_by_itself:
        return FaultyMachinery(machinery)

    assert isinstance(machinery, Simulator)
    return FaultyMachinery(machinery, Simulated(machinery))
