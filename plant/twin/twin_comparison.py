"""The simulator beside the machine: tick by tick, from where the machine is, under what acts on it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.machine import Machine
from linkwork.machine.payloads import Loads, SignalLoads, load_vector, with_own_model
from linkwork.machine.twin_differences import differences
from linkwork.multibody.dynamics.motion_basis import evaluate_motion
from linkwork.plant.simulator.simulator import SimulationDiverged, Simulator
from linkwork.plant.twin.residual import Residual
from linkwork.protocol.codes import Mode

LEAD = 2
"""Ticks in a row that the motors must have had the machine before a period is compared: the command of tick k
acts from k + 1 to k + 2.
"""


def model_of(machine: Machine) -> tuple[Machine, Loads]:
    """A machine whose plant is the controller's model, with its payloads."""
    own = with_own_model(machine)
    signals = tuple(signal.with_values(simulated="") for signal in own.signals)
    model = replace(own, plant_mechanism=own.mechanism, scene=None, signals=signals)
    return model, Loads(machine.mechanism.model, own.mechanism.model)


class TwinComparison:
    """Comparison of one machine with its model. Rows are those of protocol.twin_messages."""

    def __init__(self, machine: Machine) -> None:
        model, self._loads = model_of(machine)
        self._by_signal = SignalLoads(machine, self._loads)
        self._simulator = Simulator(model)
        self._work = self._simulator.work
        self._residual = Residual(model)
        self._thresholds = np.array([each.threshold for each in differences(machine)])
        self._values = np.zeros(len(self._thresholds))
        nv = machine.mechanism.nv
        self._before, self._predicted = np.zeros(nv), np.zeros(nv)
        self._effort = np.zeros(len(machine.motors))
        self._mode = int(Mode.BRAKE)
        self._row = 0
        self._device_tick = -1
        self._to_carry: list[np.void] = []
        constraints = list(machine.mechanism.constraint_names)
        self._switches = [constraints.index(name) for name in machine.switchable]
        self._closed = max(machine.closed_at_start, 0)

    def carry(self, load: np.void) -> None:
        """From a tick on the machine carries this (protocol.twin_messages.LOAD)."""
        self._to_carry.append(load.copy())

    def compare(self, asked: NDArray[Any], answered: NDArray[Any]) -> None:
        """Ticks as the gateway sends them (n,); the answers are written to the other rows (n,)."""
        for given, answer in zip(asked, answered, strict=True):
            compared = self._tick(given)
            self._answer(given, answer, compared=compared)

    def _tick(self, given: np.void) -> bool:
        """Compare the period that ends with this tick, then predict the next one."""
        if self._to_carry and self._to_carry[0]["from_tick"] <= given["tick"]:
            self._take_up(self._to_carry.pop(0))
        if self._by_signal and given["fresh"]:
            self._by_signal.follow(given["input"], given["output"])
        if given["closed"] != self._closed:
            self._switch(int(given["closed"]))
        follows = given["device_tick"] == self._device_tick + 1
        self._device_tick = int(given["device_tick"])
        compared = False
        if not given["driven"]:
            self._row = 0
            self._residual.forget()
        else:
            self._row = (self._row + 1 if follows else 1) if given["fresh"] else 0
            if self._row:
                compared = self._look(given)
            if not compared:
                self._residual.skip()
        self._mode = int(given["mode"])
        self._effort[:] = given["effort"]
        return compared

    def _look(self, given: np.void) -> bool:
        """Compares, if there is a prediction, and makes the next one."""
        simulator, work, residual = self._simulator, self._work, self._residual
        compared = self._row > LEAD
        work.q[:], work.v[:] = given["q"], given["v"]
        if compared:
            evaluate_motion(*work.arguments)
            residual.add(work, self._before, self._predicted)
        if self._row >= LEAD:
            self._before[:] = work.v
            simulator.latch(self._mode, self._effort)
            try:
                simulator.integrate()
            except SimulationDiverged:  # the estimate was none; begin again
                self._row = 0
                residual.forget()
            self._predicted[:] = work.v
        return compared

    def _answer(self, given: np.void, answer: np.void, *, compared: bool) -> None:
        residual, values = self._residual, self._values
        for name in ("tick", "time_s", "judged", "stamp_ns"):
            answer[name] = given[name]
        answer["compared"] = compared
        answer["power"], answer["energy"] = residual.power, residual.energy
        answer["effort"], answer["motor_effort"] = residual.effort, residual.motor_effort
        motors = len(residual.motor_effort)
        values[:motors], values[motors:-1], values[-1] = (
            residual.motor_effort, residual.effort, residual.energy,
        )  # fmt: skip
        np.abs(values, out=values)
        values /= self._thresholds
        answer["worst"] = worst = int(values.argmax())
        answer["share"] = values[worst] if math.isfinite(values[worst]) else math.inf

    def _switch(self, closed: int) -> None:
        """Other constraints hold from this state on: begins again, without the period that ends with it."""
        self._closed, self._row = closed, 0
        for bit, place in enumerate(self._switches):
            self._work.on[place] = float(closed >> bit & 1)
        self._residual.forget()

    def _take_up(self, load: np.void) -> None:
        numbers = load["load"].tolist()
        self._loads.aim(int(load["point"]), load_vector(numbers[0], numbers[1:4], numbers[4:10]))
        self._loads.apply(1.0)
