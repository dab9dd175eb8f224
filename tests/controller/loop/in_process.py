"""Tick and simulator in one process, in the order of the device link: the loop without its sockets."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.exchange.goal_block import pack_block
from linkwork.controller.exchange.orders import NOW, Enable, Fresh, GoalBegin, Order, OrderOutcome, StartGoal
from linkwork.controller.exchange.records import layout_for
from linkwork.controller.exchange.shared_memory import GOAL_SLOTS
from linkwork.controller.exchange.tick_io import Inputs, Outputs
from linkwork.controller.loop.loop import tick_of
from linkwork.controller.loop.switching_tick import SwitchingTick
from linkwork.controller.supervision.brakes import Phase
from linkwork.controller.supervision.state_machine import State
from linkwork.controller.supervision.supervisor import Supervisor
from linkwork.machine import Machine, load
from linkwork.plant.simulator.simulator import Simulator
from linkwork.protocol.codes import DeviceStatus, Mode

FRESH = Fresh()
COUNTS = 2**20
"""Encoder counts a turn; of a slide as many a metre."""


@dataclass
class Sample:
    """One tick's record, copied."""

    record: np.void

    def __getitem__(self, channel: str) -> NDArray[np.float64]:
        return self.record[channel]


class InProcess:
    """The command computed from state k acts over [t_{k+1}, t_{k+2}), as on the link."""

    def __init__(self, machine: Machine | None = None, seed: int = 0) -> None:
        self.machine = machine or load("scara")
        self.layout = layout_for(self.machine)
        self.simulator = Simulator(self.machine, seed)
        self.slot = np.zeros(1 << 16)
        self.further_slots = np.zeros((GOAL_SLOTS - 1, 1 << 16))
        self.controller = tick_of(self.machine, self.layout, self.slot_of)
        motors = len(self.machine.motors)
        self.inputs = Inputs.for_machine(self.machine)
        self.outputs = Outputs.sized(motors, len(self.machine.outputs))
        self.inputs.connected = self.inputs.fresh = True
        self.inputs.device_status = int(DeviceStatus.ENABLED | DeviceStatus.HOMED)
        self.period_s = self.machine.period_s
        self._orders = 0
        self._mode, self._effort, self._closed = int(Mode.BRAKE), np.zeros(motors), -1
        self._signals = self.inputs.output.copy()

    def slot_of(self, number: int) -> Floats:
        """The words of a goal slot."""
        return self.slot if number == 0 else self.further_slots[number - 1]

    def tick(self, order: Order | None = None) -> Sample:
        """One period: the plant takes the last command and speaks, we answer, the plant moves on."""
        plant, inputs = self.simulator, self.inputs
        plant.latch(self._mode, self._effort)
        reports = plant.switch(self._closed) if self._closed >= 0 else []
        plant.set_outputs(self._signals)
        reports += [report for report in plant.sense() if "name" in report]
        if inputs.fresh:
            inputs.input[:], inputs.output[:] = plant.measured.inputs, plant.measured.outputs
            inputs.q_measured[:], inputs.v_measured[:] = plant.measured.q, plant.measured.v
            inputs.device_effort[:], inputs.force_measured[:] = plant.measured.effort, plant.measured.force
            inputs.closed = plant.closed
            for report in reports:
                self.tell(report)
        inputs.time_s, inputs.device_tick = plant.tick * self.period_s, plant.tick
        inputs.order = order
        self.controller.step(inputs, self.outputs, self.elapsed())
        self.controller.note(inputs, self.outputs)
        self._mode, self._effort = int(self.outputs.mode), self.outputs.effort.copy()
        self._closed, self._signals = self.outputs.closed, self.outputs.signals.copy()
        plant.integrate()
        words = self.controller.record.floats.copy()  # a record's own copy goes field by field
        return Sample(words.view(self.layout.dtype)[0])

    def tell(self, report: dict[str, Any]) -> None:
        """Says what became of a switch, as the device link does."""
        number = 1 + self.machine.switchable.index(report["name"])
        figures = report.get("energy_loss_J", 0.0), report.get("impulse", []), report["residual"]
        self.inputs.switched = -number if "refused" in report else number
        self.inputs.switch_figures = (figures[0], float(np.linalg.norm(figures[1])), figures[2])

    @property
    def record(self) -> np.void:
        """The last tick's record (a view)."""
        return self.controller.record.record()

    @property
    def supervisor(self) -> Supervisor:
        """The supervisor at work."""
        return self.controller.supervisor

    @property
    def estimated_q(self) -> Floats:
        """The joints as the tick at work estimates them."""
        tick = self.controller
        return (tick.now if isinstance(tick, SwitchingTick) else tick)._now.q

    def elapsed(self) -> float:
        """Device time since the last tick, s."""
        return self.period_s

    def order(self, order: Order) -> Sample:
        """One tick in which this order arrives, with a number of its own."""
        self._orders += 1
        return self.tick(replace(order, id=self._orders))

    def start_goal(
        self, words: Floats, goal: int = 1, begin: GoalBegin = FRESH, *, slot: int = 0, at_tick: int = NOW
    ) -> Sample:
        """One tick in which a goal arrives whose block has been verified."""
        self.slot_of(slot)[: len(words)] = words
        checksum = zlib.crc32(words.tobytes())
        order = StartGoal(slot, len(words), checksum, goal, begin, verified=True, at_tick=at_tick)
        return self.order(order)

    def run(self, seconds: float) -> list[Sample]:
        """So much time."""
        return [self.tick() for _ in range(round(seconds / self.period_s))]

    def until(self, condition: object, most_s: float = 20.0) -> list[Sample]:
        """Ticks until `condition(sample)` holds; fails when it never does."""
        samples = [self.tick()]
        while not condition(samples[-1]):  # type: ignore[operator]
            samples.append(self.tick())
            assert len(samples) * self.period_s < most_s, "the condition never came true"
        return samples

    def enable(self) -> None:
        """To active and released."""
        if self.supervisor.state is State.UNCONFIGURED:
            self.tick()
        assert self.order(Enable())["order_outcome"] == OrderOutcome.DONE
        self.until(lambda sample: sample["phase"] == Phase.RELEASED)

    def send(
        self, index: Floats, knots: Floats, values: Floats, *, path: float = 0.01, goal: float = 1e-3,
        stop: float = 4.0, at_tick: int = NOW, goal_id: int = 1,
        begin: GoalBegin = FRESH, slot: int = 0,
    ) -> Sample:  # fmt: skip
        """A goal through these knots: values (n + 1, 3, k), position, velocity and acceleration."""
        k = len(index)
        words = pack_block(
            [int(i) for i in index], knots, values, path_tolerance=[path] * k, goal_tolerance=[goal] * k,
            goal_time_s=0.5, stopping=np.array([[stop], [stop], [20.0 * stop]]),
        )  # fmt: skip
        return self.start_goal(words, goal_id, begin, slot=slot, at_tick=at_tick)

    def swing(self, amplitude: float = 0.3, seconds: float = 1.0) -> tuple[Floats, Floats, Floats]:
        """A smooth swing of the first joint from where the machine holds: index, knots, values."""
        n = 50
        knots = np.linspace(0.0, seconds, n + 1)
        x = knots / seconds
        values = np.zeros((n + 1, 3, 4))
        here = self.simulator.q
        values[:, 0, :] = here
        values[:, 0, 0] += amplitude * (10 * x**3 - 15 * x**4 + 6 * x**5)
        values[:, 1, 0] = amplitude / seconds * (30 * x**2 - 60 * x**3 + 30 * x**4)
        values[:, 2, 0] = amplitude / seconds**2 * (60 * x - 180 * x**2 + 120 * x**3)
        return np.arange(4), knots, values


def enabled(machine: Machine) -> InProcess:
    """The machine, enabled and holding."""
    rig = InProcess(machine)
    rig.enable()
    return rig


def with_controller(machine: Machine, **settings: Any) -> Machine:
    """The machine with other settings of its controller, or of the controller's estimator."""
    own = machine.controller
    estimator = {key: value for key, value in settings.items() if hasattr(own.estimator, key)}
    rest = {key: value for key, value in settings.items() if key not in estimator}
    changed = own.with_values(estimator=own.estimator.with_values(**estimator), **rest)
    return replace(machine, controller=changed)


def with_encoders(machine: Machine, counts: int) -> Machine:
    """The machine with encoders of these counts and no measured velocities; 0 counts: exact positions."""
    sensors = tuple(
        sensor.with_values(
            velocity=False,
            noise=0.0,
            resolution=(math.tau if sensor.is_angle else 1.0) / counts if counts else 0.0,
        )
        for sensor in machine.sensors
    )
    return replace(machine, sensors=sensors)
