"""A plant with faults and the controller's end of its link in one process, in lockstep or by a clock's order.

All that is between them is a queue of bytes each way: every message is packed, judged, struck and read by
the code that the daemons run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.controller.exchange.tick_io import Inputs, Outputs
from linkwork.controller.loop.device_link import DeviceLink
from linkwork.machine import Machine
from linkwork.machine.yaml_document import Document
from linkwork.plant.device.events import Events
from linkwork.plant.device.session import Hearing
from linkwork.plant.faults.device import FaultyDevice
from linkwork.plant.faults.faulty_machinery import faulty
from linkwork.plant.faults.timeline import check_timeline
from linkwork.plant.machinery import Machinery
from linkwork.plant.simulator.simulator import Simulator
from linkwork.protocol.codes import Mode, Pace, Role
from linkwork.protocol.injection import Inject, Injected, InjectRefused, read_answer

PEER, OTHER = b"controller", b"somebody"


class Queue:
    """What a socket is to the plant and to the controller's link: bytes, in order."""

    endpoint = "queue"
    role = Role.SERVICE

    def __init__(self) -> None:
        self.to_plant: deque[bytes] = deque()
        self.to_controller: deque[bytes] = deque()
        self.to_others: deque[bytes] = deque()

    def send(self, *what: bytes) -> bool:
        """Two arguments: the plant speaks to a peer; one: the controller speaks."""
        if len(what) == 1:
            self.to_plant.append(what[0])
        else:
            (self.to_controller if what[0] == PEER else self.to_others).append(what[1])
        return True

    def forget_connection(self) -> None:
        """The queue never ends."""

    def connection_ended(self) -> bool:
        return False


@dataclass
class Told:
    """One tick as the controller had it: its number, whether a state came, and the newest one."""

    tick: int
    fresh: bool
    seq: int
    q: list[float]
    ack: int
    mode: int
    effort: list[float]


class Line:
    """A plant and a controller's link; `law(told)` is the controller: mode and efforts."""

    def __init__(
        self,
        machine: Machine,
        *faults: Mapping[str, Any],
        pace: Pace = Pace.LOCKSTEP,
        seed: int = 0,
        machinery: Machinery | None = None,
        fd: int = 1,
    ) -> None:
        self.machine, self.queue, self.pace = machine, Queue(), pace
        hardware = machinery is not None
        document = Document("faults", "", {"seed": seed, "faults": [dict(one) for one in faults]}, {}, {})
        line = check_timeline(document, machine, hardware=hardware)
        self.said: list[dict[str, Any]] = []
        events = Events(fd)
        events.say = lambda event, text, **data: self.said.append({"event": event, "text": text, **data})  # type: ignore[method-assign]
        inner = machinery or Simulator(machine)
        self.device = FaultyDevice(machine, faulty(inner), self.queue, events, tuple(Pace), line)  # type: ignore[arg-type]
        self.machinery = self.device.machinery
        self.link = DeviceLink(self.queue, machine, pace, "tester")  # type: ignore[arg-type]
        self.inputs = Inputs.for_machine(machine)
        self.outputs = Outputs.sized(len(machine.motors), len(machine.outputs))
        self.told: list[Told] = []
        self.mode, self.effort = Mode.EFFORT, np.zeros(len(machine.motors))

    def connect(self) -> None:
        """Handshake, and what the plant does at the session's first tick."""
        self.link.hello()
        self.device.receive(PEER, self.queue.to_plant.popleft())
        while self.queue.to_controller:
            self.link.read_message(self.queue.to_controller.popleft(), self.inputs)
        assert self.link.connected
        self.device.sense()
        self.device.send_state()
        self.device.step()

    def law(self, told: Told) -> None:
        """What the controller commands: by default the same `mode` and `effort`."""
        self.outputs.mode, self.outputs.effort[:] = self.mode, self.effort

    def run(self, ticks: int) -> list[Told]:
        """So many ticks; returns those."""
        if not self.link.connected:
            self.connect()
        start = len(self.told)
        for _ in range(ticks):
            self._controller()
            self._plant()
        return self.told[start:]

    def _controller(self) -> None:
        """A tick of the loop, as controller.loop.pacing makes it: fresh if a state came that is new."""
        fresh, tick = False, self.machinery.tick - 1
        lost = self.link.lost_seq
        while self.queue.to_controller:
            fresh = self.link.read_message(self.queue.to_controller.popleft(), self.inputs) or fresh
        state = self.link._state
        now = Told(tick, fresh, self.link.seq, state.q.tolist(), state.ack, state.mode, state.effort.tolist())
        self.told.append(now)
        self.law(now)
        self.link.prepare(self.outputs)
        if fresh:
            self.link.send()
        elif self.pace is Pace.LOCKSTEP:
            assert self.link.lost_seq > lost, "in lockstep a tick without a state is told of"
            self.link.pass_over()

    def _plant(self) -> None:
        """A tick of the plant, as plant.plant_pacing makes it."""
        device, said = self.device, None
        while self.queue.to_plant:
            said = device.receive(PEER, self.queue.to_plant.popleft())
        if self.pace is Pace.LOCKSTEP:
            assert said in (Hearing.FRESH, Hearing.PASSED), said
        device.apply_commands()
        device.sense()
        device.send_state()
        device.step()

    def inject(self, *faults: Mapping[str, Any], seed: int = 0) -> Injected | InjectRefused:
        """Somebody else's message to the plant, and its answer."""
        message = Inject(id=7, seed=seed, faults=[dict(one) for one in faults])
        assert self.device.receive(OTHER, message.pack()) is None
        while not self.queue.to_others:  # by a clock a thread reads it
            self.device.desk.check_verdict()
        return read_answer(self.queue.to_others.popleft())
