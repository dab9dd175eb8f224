"""The controller's side of the device link: handshake, states in, commands out. It keeps no clock."""

import json
import math
from collections.abc import Callable
from typing import Any

from linkwork.controller.exchange.tick_io import Inputs, Outputs
from linkwork.machine import Machine
from linkwork.protocol.codes import PROTOCOL_VERSION, Feature, Pace
from linkwork.protocol.decoding import excerpt
from linkwork.protocol.direct_link import ControllerEnd
from linkwork.protocol.errors import ProtocolError
from linkwork.protocol.handshake import Bye, Hello, Refuse, Welcome, new_session, read_handshake
from linkwork.protocol.injection import LostMessage, read_lost
from linkwork.protocol.link import CommandCodec, StateCodec

CLOSED = "the plant closed the connection: its process has ended, or its computer is unreachable"
_OF_A_STATE = ("q", "v", "closed", "switched", "inputs", "outputs", "motor_")
"""Fields that only a state message has; an error in one of them is reported."""


class DeviceLink:
    """One connection to a plant; after a loss the same object reconnects.

    `text` describes the state of the link in one line, for people. sessions: makes the number of a session.
    """

    def __init__(
        self,
        client: ControllerEnd,
        machine: Machine,
        pace: Pace,
        owner: str,
        sessions: Callable[[], int] = new_session,
    ) -> None:
        self._client, self._machine, self._pace, self._owner = client, machine, pace, owner
        self._new_session = sessions
        switches, motors = len(machine.switchable), len(machine.motors)
        inputs, outputs = len(machine.inputs), len(machine.outputs)
        self._states = StateCodec(
            len(machine.sensors), motors, machine.force_numbers, unfit=True, switches=switches,
            inputs=inputs, outputs=outputs,
        )  # fmt: skip
        references = machine.driver.follows_positions
        self._commands = CommandCodec(motors, switches, outputs, references=references)
        self._state = self._states.message()
        self._has_signals = inputs + outputs > 0
        self._begin_signals()
        self._session = sessions()
        self._last = b""
        self.connected = False
        self.text = f"waiting for a plant at {client.endpoint}"
        self.homing = self.simulation = ""
        """How the device found its zeros, as JSON; '' where the plant does not say."""
        self.features = ""
        """Optional parts of the protocol that the plant carries, as JSON; '' without a plant."""
        self.seq = -1
        """Number of the newest state taken in this session."""
        self.lost_seq = -1
        """Number of the newest state of which the plant, in lockstep, said that it is lost."""
        self.lost_total = 0
        self._time_s = 0.0
        """Device time of the newest state."""
        self._period_s = machine.period_s
        self._largest_jump_s = machine.controller.loss_limit * self._period_s
        self.unusable = 0
        """Messages dropped since the start because a defect of ours kept them from being read."""

    @property
    def began(self) -> bool:
        """Whether there is a session whose first state has come, or is known to be lost."""
        return self.connected and max(self.seq, self.lost_seq) >= 0

    def hello(self) -> None:
        """Ask for the plant, or for its first state; the caller repeats it until that has come."""
        machine = self._machine
        self._client.forget_connection()
        self._last = Hello(
            session=self._session,
            owner=self._owner,
            interface=machine.interface_hash,
            model=machine.model_hash,
            pace=self._pace,
            period_s=machine.period_s,
            layout=machine.interface(),
            features=list(Feature),
        ).pack()
        self.send()

    def read_message(self, message: bytes, inputs: Inputs) -> bool:
        """Read any message of the plant; True when it was a fresh state, which is then in `inputs`.

        A state of another session, or one already taken, is ignored. A state that cannot be read counts as
        lost; one with readings that are not finite is taken, so that the loop can name the sensor. An invalid
        message never ends the connection: it is counted in `unusable`.
        """
        try:
            return self._take(message, inputs)
        except Exception as error:  # a defect of ours, found by the plant's message
            self.unusable += 1
            self.text = f"{self.unusable} messages from the plant could not be used: {type(error).__name__}"
            return False

    def _take(self, message: bytes, inputs: Inputs) -> bool:
        try:
            if self.connected:
                self._states.unpack(message, self._state)
                return self._accept(inputs)
        except ProtocolError as error:
            if error.field.startswith(_OF_A_STATE):
                self.text = f"the plant's state cannot be used: {error}"
                return False
            lost = None if error.content is None else read_lost(error.content)
            if lost is not None:
                if lost.session == self._session and lost.seq > self.seq:
                    self.lost_seq = max(lost.seq, self.lost_seq)
                return False
        self._shake_hands(message)
        return False

    def _accept(self, inputs: Inputs) -> bool:
        state = self._state
        if state.session != self._session or state.seq <= self.seq:
            return False
        passed = state.seq - self.seq
        jump_s = state.time_s - self._time_s - passed * self._period_s
        if self.seq >= 0 and abs(jump_s) > self._largest_jump_s:
            inputs.clock_jump_s = jump_s
        self.lost_total += passed - 1
        self.seq, self._time_s = state.seq, state.time_s
        inputs.q_measured[:], inputs.v_measured[:] = state.q, state.v
        inputs.device_effort[:], inputs.temperature[:] = state.effort, state.temperature
        inputs.force_measured[:] = state.force
        inputs.time_s, inputs.device_tick = state.time_s, state.seq
        inputs.device_status, inputs.device_fault = state.status, state.fault
        inputs.closed = state.closed
        if self._has_signals:
            inputs.input[:], inputs.output[:] = state.inputs, state.outputs
        if state.motors_told:
            inputs.motors[:], inputs.motors_told = state.motors, True
        if state.switched:
            self._read_report(state.switched[0], inputs)
        inputs.lost_total = self.lost_total
        return True

    def _read_report(self, report: dict[str, Any], inputs: Inputs) -> None:
        """Read the plant's report of a constraint switch; an unknown constraint is ignored."""
        names = self._machine.switchable
        if report["name"] not in names:
            return
        number = 1 + names.index(report["name"])
        inputs.switched = -number if "refused" in report else number
        impulse = report.get("impulse")
        inputs.switch_figures = (
            _finite(report.get("energy_loss_J")),
            math.hypot(*map(_finite, impulse)) if isinstance(impulse, list) else 0.0,
            _finite(report.get("residual")),
        )

    def _shake_hands(self, message: bytes) -> None:
        try:
            answer = read_handshake(message)
        except ProtocolError as error:
            if (
                not self.connected and error.field != "type"
            ):  # states of a session given up are still on their way
                self.text = f"the plant's answer cannot be decoded: {error}"
            return
        if answer.session != self._session or (self.connected and isinstance(answer, Welcome)):
            return
        match answer:
            case Welcome() if answer.protocol != PROTOCOL_VERSION:
                self.text = (
                    f"{answer.name} at {self._client.endpoint} speaks version {answer.protocol} of the"
                    f" protocol, this controller version {PROTOCOL_VERSION}; install the same version of"
                    " linkwork for both"
                )
                self._client.send(Bye(session=self._session, text="the versions differ").pack())
            case Welcome() if answer.interface != self._machine.interface_hash:
                self.text = (
                    f"{answer.name} at {self._client.endpoint} has other joints, motors, sensors or another "
                    f"period ({excerpt(answer.layout, 400)}); start plant and controller with the same"
                    " machine file"
                )
                self._client.send(Bye(session=self._session, text="the interfaces differ").pack())
            case Welcome():
                self.connected, self.seq, self.lost_seq, self.lost_total = True, -1, -1, 0
                self.text = f"connected to {answer.name} at {self._client.endpoint}"
                self._note_features(answer.features)
                self.homing = answer.homing.model_dump_json() if answer.homing else ""
                self.simulation = answer.simulation.model_dump_json() if answer.simulation else ""
                if answer.model and answer.model != self._machine.model_hash:
                    self.text += "; the plant's inertia or geometry differs from the controller's model"
            case Refuse():
                self.text = f"refused by the plant: {answer.text}"
            case Bye():
                self.lose(f"the plant said bye: {answer.text}" if answer.text else "the plant said bye")

    def _note_features(self, features: list[str]) -> None:
        """Note what the plant carries; without signals, the machine's stay at their initial values."""
        self.features = json.dumps([each for each in Feature if each in features])
        self._begin_signals()
        self._state.motors[:] = 0
        if self._has_signals and Feature.SIGNALS not in features:
            self.text += "; the plant does not carry the machine's signals"

    def _begin_signals(self) -> None:
        """Until a state has signals, and for a plant that has none, they are at their initial values."""
        self._state.inputs[:] = [signal.initial for signal in self._machine.inputs]
        self._state.outputs[:] = [signal.initial for signal in self._machine.outputs]

    def prepare(self, outputs: Outputs) -> None:
        """Pack the command computed from the newest state."""
        self._last = self._commands.pack(
            self._session,
            self.seq,
            outputs.mode,
            outputs.effort,
            outputs.closed,
            outputs.signals,
            outputs.references,
        )

    def pass_over(self) -> None:
        """Send, in lockstep and in place of a command, that the state of this tick is lost and time
        continues."""
        self._last = LostMessage(session=self._session, seq=self.lost_seq).pack()
        self.send()

    def send(self) -> None:
        """Send the last prepared message; a repetition is the same byte for byte."""
        self._client.send(self._last)

    def lose(self, why: str) -> None:
        """Give the session up; the next hello opens another. No effect without a session.

        If the plant has closed the connection, `text` gives that as the reason instead of `why`.
        """
        if not self.connected:
            return
        if self._client.connection_ended():
            why = CLOSED
        self._client.send(Bye(session=self._session, text=why[:200]).pack())
        self.connected, self._session = False, self._new_session()
        self.text = f"{why}; waiting for a plant at {self._client.endpoint}"


def _finite(value: object) -> float:
    """A number of a report, 0 where it is none."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0
