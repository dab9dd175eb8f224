"""The plant's end of the device link under the control of a test: sends any message, and reads all."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork.machine import Machine
from linkwork.multibody.tree.rotations import readings_at
from linkwork.plant.device.plant_device import codecs_of
from linkwork.plant.drivers.findings import Failed, require
from linkwork.protocol.codes import DeviceStatus, Feature, Mode, Pace, RefuseCode
from linkwork.protocol.errors import ProtocolError
from linkwork.protocol.handshake import Bye, Hello, Refuse, Welcome, read_handshake
from linkwork.protocol.link import CommandMessage, Measurements, StateHeader, kind_of, read_map
from linkwork.protocol.sockets import DeviceServer

PATIENCE_S = 10.0
READY = int(DeviceStatus.ENABLED | DeviceStatus.HOMED)


@dataclass(frozen=True)
class Heard:
    """One message: its type ("hello", "command", "bye", "?"), bytes, content, and time of arrival (s)."""

    kind: str
    data: bytes
    content: Hello | CommandMessage | Bye | None
    at_s: float


class Probe:
    """A machine behind a device link that stays at rest in the file's initial pose for every command."""

    def __init__(self, machine: Machine, server: DeviceServer, alive: Callable[[], bool]) -> None:
        self.machine, self.server, self.alive = machine, server, alive
        self.peer = b""
        self.hello: Hello | None = None
        self.seq = -1
        self.status, self.fault = READY | int(DeviceStatus.BRAKE), 0
        self._states, self._commands = codecs_of(machine)
        self._force = np.zeros(machine.force_numbers)
        self.inputs = np.array([signal.initial for signal in machine.inputs])
        self.outputs = np.array([signal.initial for signal in machine.outputs])
        self.q = np.zeros(len(machine.sensors))
        dofs = np.array([sensor.index for sensor in machine.sensors], np.int64)
        readings_at(machine.mechanism.model, machine.initial_q.copy(), dofs, self.q)
        self.v, self.effort = np.zeros(len(machine.sensors)), np.zeros(len(machine.motors))
        self.mode, self.ack = int(Mode.BRAKE), -1

    # -- hearing -----------------------------------------------------------------------------------------

    def receive(self, timeout_s: float) -> Heard | None:
        """Return the next message; None when none comes in time."""
        deadline = time.monotonic() + timeout_s
        while True:
            left = deadline - time.monotonic()
            received = self.server.receive(max(0, int(1e3 * min(left, 0.1))))
            if received is not None:
                self.peer, data = received
                return self._read(data)
            if left <= 0.0:
                return None

    def wait_for(self, kind: str, timeout_s: float = PATIENCE_S) -> Heard:
        """The next message of this kind; others are passed over. Raises Failed."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            heard = self.receive(0.1)
            if heard is not None and heard.kind == kind:
                return heard
            if heard is None and not self.alive():
                raise Failed(f"it ended before it sent {kind}")
        raise Failed(f"no {kind} within {timeout_s:g} s")

    def silence(self, seconds: float) -> list[Heard]:
        """Everything that comes within so long."""
        deadline, heard = time.monotonic() + seconds, []
        while (left := deadline - time.monotonic()) > 0.0:
            message = self.receive(left)
            if message is not None:
                heard.append(message)
        return heard

    def _read(self, data: bytes) -> Heard:
        now_s = time.monotonic()
        try:
            kind = kind_of(read_map(data))
            if kind == "command":
                command = self._commands.message()
                self._commands.unpack(data, command)
                return Heard(kind, data, command, now_s)
            said = read_handshake(data)
        except ProtocolError as error:
            raise Failed(f"a message that cannot be read: {error}") from None
        if isinstance(said, Hello | Bye):
            return Heard(kind, data, said, now_s)
        raise Failed(f"a controller does not send {kind}")

    # -- saying ------------------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """Send bytes to the peer heard last."""
        self.server.send(self.peer, data)

    def welcome(self, **changes: Any) -> bytes:
        """The welcome that answers the hello, with fields changed."""
        machine, hello = self.machine, self.asked
        fields: dict[str, Any] = {
            "session": hello.session,
            "name": machine.name,
            "interface": machine.interface_hash,
            "model": machine.plant_model_hash,
            "pace": hello.pace,
            "period_s": machine.plant.period_s,
            "tick": 0,
            "command_timeout_periods": machine.plant.command_timeout_periods,
            "layout": machine.interface(),
            "features": [Feature.SIGNALS],
        }
        return Welcome(**{**fields, **changes}).pack()

    def refuse(self) -> bytes:
        """A refusal of the hello."""
        text = "the examiner refuses this hello"
        return Refuse(session=self.asked.session, code=RefuseCode.TAKEN, text=text, owner="examiner").pack()

    def bye(self) -> bytes:
        """The plant's bye."""
        return Bye(session=self.asked.session, text="the examiner leaves").pack()

    def state(self, seq: int, **changes: Any) -> bytes:
        """A state with this number; `changes`: fields of its header."""
        time_s = seq * self.machine.plant.period_s
        head = StateHeader(
            self.asked.session, seq, time_s, self.mode, self.status, self.fault, self.ack,
            self.machine.closed_at_start,
        )  # fmt: skip
        measured = Measurements(self.q, self.v, self.effort, self._force)
        measured.inputs, measured.outputs = self.inputs, self.outputs
        return self._states.pack(replace(head, **changes), measured)

    # -- exchanges ---------------------------------------------------------------------------------------

    @property
    def asked(self) -> Hello:
        """The hello of the present session."""
        assert self.hello is not None
        return self.hello

    def greet(self) -> None:
        """Wait for a hello, which opens a new session. Raises Failed."""
        heard = self.wait_for("hello", 60.0)
        assert isinstance(heard.content, Hello)
        self.hello = heard.content

    def answer(self) -> CommandMessage:
        """Welcome the hello, and exchanges state 0. Raises Failed."""
        self.seq, self.ack, self.mode = -1, -1, int(Mode.BRAKE)
        self.status, self.fault = READY | int(DeviceStatus.BRAKE), 0
        self.send(self.welcome())
        return self.exchange()

    def exchange(self, data: bytes | None = None, by: int = 1) -> CommandMessage:
        """Send the next state (or `data`, which is one) and return the command that answers it.

        Device-clocked, states continue every period until it comes. Raises Failed.
        """
        self.seq += by
        said = self.state(self.seq) if data is None else data
        self.send(said)
        first, deadline = self.seq, time.monotonic() + PATIENCE_S
        next_s = time.monotonic() + self.machine.plant.period_s
        while time.monotonic() < deadline:
            clocked = self.asked.pace is Pace.DEVICE
            heard = self.receive(max(0.0, next_s - time.monotonic()) if clocked else 0.1)
            if heard is not None and heard.kind == "bye":
                raise Failed("it said bye")
            if heard is not None and isinstance(heard.content, CommandMessage):
                command = heard.content
                if command.session == self.asked.session and command.seq >= first:
                    self._note(command)
                    return command
                if not clocked and command.seq == self.ack:
                    self.send(said)  # time is stopped there: the same command, the same reply
            if clocked and time.monotonic() >= next_s:
                next_s += self.machine.plant.period_s
                self.seq += 1
                self.send(self.state(self.seq))
            if heard is None and not self.alive():
                raise Failed("it ended")
        still = (
            ""
            if self.asked.pace is Pace.DEVICE
            else "; if it waits for lockstep time to be advanced, advance it"
        )
        raise Failed(f"state {first} was not answered within {PATIENCE_S:g} s{still}")

    def _note(self, command: CommandMessage) -> None:
        require(command.seq <= self.seq, f"a command answers state {command.seq}, newest is {self.seq}")
        self.ack, self.mode = command.seq, command.mode
        self.effort[:] = 0.0 if command.mode == Mode.ZERO else command.effort
        if command.outputs_told:
            self.outputs[:] = command.outputs
        braked = int(DeviceStatus.BRAKE) if command.mode == Mode.BRAKE else 0
        self.status = self.status & ~int(DeviceStatus.BRAKE) | braked
