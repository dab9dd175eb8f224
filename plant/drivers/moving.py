"""Exercises with a machine that moves: each motor a little, there and back. Keep people away from it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from linkwork.machine import Machine
from linkwork.plant.drivers.checking import DriverCheck
from linkwork.plant.drivers.driver import Homes
from linkwork.plant.drivers.findings import Finding, Skipped, Warned, judged, require
from linkwork.plant.drivers.scaling import Scaling
from linkwork.protocol.codes import Mode

_STEPS = (0.02, 0.05, 0.1, 0.2)
"""Parts of a motor's largest effort, tried one after the other until it moves."""
_PUSH_S = 0.1
_REST_S = 0.5


class MovingExamination(DriverCheck):
    """Exercises that need the machine file, for the efforts that are safe and for the signs."""

    machine: Machine

    def for_machine(self, machine: Machine) -> MovingExamination:
        """For this machine."""
        self.machine = machine
        return self

    def moves(self) -> Iterator[Finding]:
        """Each exercise as it is done."""
        self.driver = self.make(self.setup)
        self.description = self.driver.describe()
        try:
            yield judged("starts again", self._starts_again)
            yield judged("finds its zero", self._homes)
            for place, motor in enumerate(self.machine.motors):
                name = f"moves {motor.joint} in the right direction"
                yield judged(name, partial(self._pushes, place))
            yield judged("comes to rest when braked", self._rests)
        finally:
            self.end()

    def _starts_again(self) -> str:
        self._describes()
        return self._starts()

    def _homes(self) -> str:
        driver = self.driver
        if self.machine.driver.homing != "procedure":
            raise Skipped(f"driver.homing is {self.machine.driver.homing}")
        require(isinstance(driver, Homes), "it has no procedure `home`")
        assert isinstance(driver, Homes)
        for tick in range(round(self.machine.driver.homing_timeout_s / self.setup.period_s)):
            if driver.home():
                return f"after {tick + 1} periods"
            driver.read(self.reading)
        require(False, "not within driver.homing_timeout_s")
        return ""

    def _pushes(self, place: int) -> str:
        machine, scaling = self.machine, Scaling(self.machine, self.description)
        motor = machine.motors[place]
        joints = [sensor.joint for sensor in machine.sensors]
        if motor.joint not in joints:
            raise Skipped("no sensor measures this joint")
        at = joints.index(motor.joint)
        enough = 3.0 * scaling.resolution[at]
        for part in _STEPS:
            effort = np.zeros(len(machine.motors))
            effort[place] = part * motor.max_effort
            forward = self._push(scaling, effort, at)
            back = self._push(scaling, -effort, at)
            if forward > enough and back < -enough:
                unit = "rad" if motor.is_angle else "m"
                return f"{part:.0%} of its effort: {forward:+.4g} {unit} and {back:+.4g} {unit}"
            require(
                not (forward < -enough and back > enough),
                f"it moves the wrong way: set `reversed` of driver.motors.{motor.joint} or of its sensor",
            )
        raise Warned(f"it does not move with {_STEPS[-1]:.0%} of its effort")

    def _push(self, scaling: Scaling, effort: np.ndarray[tuple[int], np.dtype[np.float64]], at: int) -> float:
        """Way of sensor `at` (rad or m) under an effort (N m or N, per motor) and the rest that follows."""
        period_s, machine = self.setup.period_s, self.machine
        raw = np.zeros(self.description.motors)
        scaling.to_device(effort, raw)
        before = self._place(scaling, at)
        self.run(round(_PUSH_S / period_s), Mode.EFFORT, raw)
        away = self._place(scaling, at) - before
        self.run(round((_REST_S + max(m.brake_release_s for m in machine.motors)) / period_s))
        return away

    def _place(self, scaling: Scaling, at: int) -> float:
        machine = self.machine
        q, v = np.zeros(len(machine.sensors)), np.zeros(len(machine.sensors))
        effort, hot = np.zeros(len(machine.motors)), np.zeros(len(machine.motors))
        scaling.from_device(self.reading, q, v, effort, hot)
        return float(q[at])

    def _rests(self) -> str:
        self.run(round(_REST_S / self.setup.period_s))
        return self._stands()
