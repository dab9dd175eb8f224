"""The simulated machine of the plant daemon with FMUs of others in place of motors (`plant.fmus`)."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.fmu.fmu_coupling import FmuCoupling
from linkwork.fmu.foreign_fmu import FmuFailed
from linkwork.machine import Machine, MachineError
from linkwork.plant.simulator.simulator import SimulationDiverged, Simulator


def files_of(machine: Machine) -> Mapping[str, Path]:
    """Return the FMUs that a machine file names, with the paths of their files."""
    return {name: Path(machine.path).parent / file for name, file in machine.plant.fmus.items()}


class FmuSimulator(Simulator):
    """A simulator in which FMUs give the efforts of their motors, each period, from the commanded ones.

    Limit, rate and lag of the file do not count for these motors. Raises MachineError where an FMU cannot be
    loaded or connected, and SimulationDiverged where one fails.
    """

    def __init__(self, machine: Machine, seed: int = 0) -> None:
        super().__init__(machine, seed)
        try:
            self._coupling = FmuCoupling(machine, files_of(machine), machine.plant.connect, self.work)
        except FmuFailed as error:
            problem = machine.document.problem(("plant", "fmus"), str(error), of_key=True)
            raise MachineError([problem]) from None
        replaced = list(self._coupling.motors)
        self.state.lag[replaced] = 0.0
        self.state.most_change[replaced] = self.state.max_effort[replaced] = math.inf
        self._most = np.array([motor.max_effort for motor in machine.motors])
        self._asked = np.zeros(len(machine.motors))
        self._stepped = -1

    def latch(self, mode: int, effort: Floats) -> None:
        """Act from now on in a mode with efforts (motors; N m or N), which FMUs take as commands."""
        super().latch(mode, effort)
        np.clip(self.state.commanded, -self._most, self._most, out=self._asked)

    def act(self, action: str) -> None:
        """The time-out's action acts from now on, without a command's effort."""
        super().act(action)
        self._asked[:] = 0.0

    def sense(self) -> Sequence[dict[str, Any]]:
        """Let the FMUs make the period that begins; their efforts act in it."""
        if self._stepped != self.tick:
            self._stepped, period_s = self.tick, self.machine.plant.period_s
            time_s = self.tick * period_s
            try:
                self._coupling.step(self.work, self._asked, time_s, period_s)
                self._coupling.put(self.work, time_s, self.state.commanded)
            except FmuFailed as error:
                raise SimulationDiverged(str(error)) from None
        return super().sense()

    def close(self) -> None:
        """Free the FMUs."""
        self._coupling.close()
