"""Controller and plant in one process, tick by tick in the order of the device link, without its sockets."""

from __future__ import annotations

import math
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.goal_block import pack_block
from linkwork.controller.loop.tick import Tick
from linkwork.controller.orders import Enable, Order, StartGoal
from linkwork.controller.records import layout_for
from linkwork.controller.supervision.brakes import Phase
from linkwork.controller.tick_io import Inputs, Outputs
from linkwork.machine import Machine
from linkwork.plant.simulator import Simulator
from linkwork.protocol.codes import DeviceStatus, Mode

COUNTS = 2**20
"""Encoder counts a turn; of a slide as many a metre."""


def with_encoders(machine: Machine, counts: int) -> Machine:
    """The machine with encoders of so many counts and no measured velocities; 0 counts: exact positions."""
    sensors = tuple(
        replace(
            sensor,
            velocity=False,
            noise=0.0,
            counts_per_turn=counts if sensor.is_angle else 0,
            resolution=(math.tau if sensor.is_angle else 1.0) / counts if counts else 0.0,
        )
        for sensor in machine.sensors
    )
    return replace(machine, sensors=sensors)


def with_controller(machine: Machine, **settings: Any) -> Machine:
    """The machine with other settings of its controller, or of the controller's estimator."""
    own = machine.controller
    estimator = {key: value for key, value in settings.items() if hasattr(own.estimator, key)}
    rest = {key: value for key, value in settings.items() if key not in estimator}
    changed = replace(own, estimator=replace(own.estimator, **estimator), **rest)
    return replace(machine, controller=changed)


class InProcess:
    """One machine, enabled and holding. `plant` is the simulator, `record` the last tick's record."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.period_s = machine, machine.controller.period_s
        self.plant = Simulator(machine)
        self.slot = np.zeros(1 << 16)
        self.controller = Tick(machine, layout_for(machine), lambda _: self.slot)
        motors = len(machine.motors)
        self._inputs, self._outputs = Inputs.sized(len(machine.sensors), motors), Outputs.sized(motors)
        self._inputs.connected = self._inputs.fresh = True
        self._inputs.device_status = int(DeviceStatus.ENABLED | DeviceStatus.HOMED)
        self._mode, self._effort, self._orders = int(Mode.BRAKE), np.zeros(motors), 0
        self.q = self.plant.q.copy()
        """Where the plant really was in the last tick."""
        self.tick()
        self.order(Enable())
        while self.tick()["phase"] != Phase.RELEASED:
            pass

    @property
    def record(self) -> np.void:
        """The last tick's record (a view)."""
        return self.controller.record.record()

    def tick(self, order: Order | None = None) -> np.void:
        """One period; return its record (a view)."""
        plant, inputs = self.plant, self._inputs
        plant.latch(self._mode, self._effort)
        self.q[:] = plant.q
        inputs.q_measured[:], inputs.v_measured[:] = plant.measured.q, plant.measured.v
        inputs.time_s, inputs.device_tick, inputs.order = plant.tick * self.period_s, plant.tick, order
        self.controller.step(inputs, self._outputs, self.period_s)
        self.controller.note(inputs, self._outputs)
        self._mode, self._effort = int(self._outputs.mode), self._outputs.effort.copy()
        plant.integrate()
        return self.record

    def order(self, order: Order) -> np.void:
        """One tick in which this order arrives, with a number of its own."""
        self._orders += 1
        return self.tick(replace(order, id=self._orders))

    def send(self, index: NDArray[np.int64], knots: Floats, values: Floats) -> np.void:
        """A goal through knots (n + 1) in the coordinates `index` (k); values (n + 1, 3, k): θ, θ̇, θ̈."""
        k = len(index)
        words = pack_block(
            [int(i) for i in index], knots, values, path_tolerance=[1.0] * k, goal_tolerance=[0.1] * k,
            goal_time_s=1.0, stopping=np.array([[4.0], [4.0], [80.0]]),
        )  # fmt: skip
        self.slot[: len(words)] = words
        checksum = zlib.crc32(words.tobytes())
        return self.order(StartGoal(0, len(words), checksum, self._orders + 1, verified=True))
