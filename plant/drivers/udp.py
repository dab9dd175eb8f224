"""The driver `udp`: one datagram there, one back, every period. `docs/drivers.md` has the table of bytes.

A command carries a number, and the device answers it at once with its state and that number; an answer to an
older command is dropped, and a missing answer is a lost sample. A reference device in C is
`docs/examples/c/udp_device.c`.
"""

import math
import secrets
import select
import socket
import struct
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Self

from linkwork.machine.nearest_name import meant
from linkwork.machine.problems import shown
from linkwork.plant.drivers.driver import Command, Description, DriverFailed, OptionError, Reading, Setup
from linkwork.protocol.codes import DeviceStatus, Mode, Pace

_COMMAND: Final = struct.Struct("<4sIIBBHI")
_STATE: Final = struct.Struct("<4sIIBBBBHHI")
_CRC: Final = struct.Struct("<I")
_DO_HOME: Final = 1
_CLEAR: Final = 2
_KEEP: Final = 4
"""The output signals stay as they are, whatever the command's numbers say."""
_TOP: Final = 1 << 32
_FIRST_ANSWER_S: Final = 2.0
_REPEAT_S: Final = 0.05
_LOCKSTEP_ANSWER_S: Final = 1.0


class Udp:
    """A device at the other end of a UDP socket; see `Options`."""

    def __init__(self, setup: Setup) -> None:
        self.options = options = Options.read(setup)
        self._motors, self._sensors, self._forces = options.motors, options.sensors, options.forces
        self._channels = [self._motors, self._sensors, self._forces]
        self._period_us = round(1e6 * setup.period_s)
        answer_s = options.answer_s or 0.5 * setup.period_s
        self._answer_s = _LOCKSTEP_ANSWER_S if options.lockstep else answer_s
        self._floats = struct.Struct(f"<{self._motors + options.outputs}f")
        numbers = 2 * self._motors + self._forces + options.inputs
        self._rest = struct.Struct(f"<{self._sensors}i{self._sensors}f{numbers}f")
        self._size = _STATE.size + self._rest.size + _CRC.size
        self._link: socket.socket | None = None
        self._poll = select.poll()
        self._session = self._seq = 0
        self._last = b""
        self._counts = [0] * self._sensors
        self._known = False
        self.dropped = 0
        """Number of foreign or damaged datagrams since `start`."""

    def describe(self) -> Description:
        """Properties from the options; velocities and temperatures are part of every state."""
        options = self.options
        return Description(
            name=f"udp device at {options.host}:{options.port}",
            motors=self._motors,
            sensors=self._sensors,
            about="a microcontroller behind UDP datagrams",
            period_s=(0.0005, 0.1),
            watchdog_s=options.watchdog_s,
            brakes=options.brakes,
            velocities=True,
            temperatures=True,
            force_channels=self._forces,
            input_channels=options.inputs,
            output_channels=options.outputs,
            paces=tuple(Pace) if options.lockstep else (Pace.DEVICE, Pace.HOST),
        )

    def start(self) -> None:
        """Open a session: commands to brake until the device answers. Raises DriverFailed after 2 s."""
        self.stop()
        options = self.options
        try:
            family, _, _, _, address = socket.getaddrinfo(options.host, options.port, type=socket.SOCK_DGRAM)[
                0
            ]
            self._link = link = socket.socket(family, socket.SOCK_DGRAM)
            link.setblocking(False)
            link.connect(address)  # so that only the device's datagrams come in
        except OSError as error:
            self.stop()
            raise DriverFailed(
                f"cannot reach {options.host}:{options.port}: {error.strerror or error}"
            ) from None
        self._poll = select.poll()
        self._poll.register(link, select.POLLIN)
        self._session, self._seq, self.dropped, self._known = secrets.randbits(32), 0, 0, False
        description = self.describe()
        reading = Reading.sized(description)
        deadline = time.monotonic() + _FIRST_ANSWER_S
        while time.monotonic() < deadline:
            self._send(Mode.BRAKE, bytes(self._floats.size), _KEEP)
            if self._await(reading, _REPEAT_S):
                return
        self.stop()
        forces = f", and {self._forces} forces" if self._forces else ""
        raise DriverFailed(
            f"no answer from {options.host}:{options.port} with {self._sensors} sensors and "
            f"{self._motors} motors{forces}; is the device on, and are driver.options right?"
        )

    def write(self, command: Command) -> None:
        """Send one command. A full buffer or an unreachable device is a lost datagram."""
        numbers = command.effort.tolist()
        if self.options.outputs:
            numbers += command.outputs.tolist()
        self._send(command.mode, self._floats.pack(*numbers), _CLEAR * command.clear)

    def home(self) -> bool:
        """Ask the device to find its zero; True once its status says HOMED."""
        self._send(Mode.BRAKE, bytes(self._floats.size), _DO_HOME | _KEEP)
        return self._homed

    def read(self, reading: Reading) -> bool:
        """Wait for the answer to the newest command; in lockstep the command is repeated meanwhile."""
        if not self.options.lockstep:
            return self._await(reading, self._answer_s)
        deadline = time.monotonic() + self._answer_s
        while not self._await(reading, _REPEAT_S):
            if time.monotonic() >= deadline:
                return False
            self._transmit()
        return True

    def stop(self) -> None:
        """Send brake three times, since datagrams get lost, and close."""
        link, self._link = self._link, None
        if link is None:
            return
        self._link = link
        for _ in range(3):
            self._send(Mode.BRAKE, bytes(self._floats.size), _KEEP)
        self._link = None
        link.close()

    _homed = False

    def _send(self, mode: int, numbers: bytes, flags: int) -> None:
        self._seq = (self._seq + 1) % _TOP
        flags = flags | self.options.outputs << 8 if self.options.outputs else flags & ~_KEEP
        head = _COMMAND.pack(b"LWC1", self._seq, self._session, mode, self._motors, flags, self._period_us)
        self._last = head + numbers
        self._last += _CRC.pack(zlib.crc32(self._last))
        self._transmit()

    def _transmit(self) -> None:
        if self._link is None:
            raise DriverFailed("the driver udp was not started")
        try:
            self._link.send(self._last)
        except OSError:  # a full buffer, or the device's computer reports a closed port
            return

    def _await(self, reading: Reading, seconds: float) -> bool:
        """Read datagrams until the newest command is answered, or this time is over."""
        link, deadline = self._link, time.monotonic() + seconds
        if link is None:
            raise DriverFailed("the driver udp was not started")
        while True:
            left = deadline - time.monotonic()
            if not self._poll.poll(max(0.0, 1e3 * left)):
                return False
            try:
                data = link.recv(self._size + 1)
            except OSError:  # the ICMP answer of an unreachable device's computer
                if left <= 0.0:
                    return False
                continue
            if self._take_in(data, reading):
                return True
            if left <= 0.0:
                return False

    def _take_in(self, data: bytes, reading: Reading) -> bool:
        """Read a state; False for any other message, or no answer to the newest command."""
        if (
            len(data) != self._size
            or data[:4] != b"LWS1"
            or zlib.crc32(data[:-4]) != _CRC.unpack(data[-4:])[0]
        ):
            self.dropped += 1
            return False
        _, seq, session, _, *channels, status, fault, _ = _STATE.unpack_from(data)
        if channels != self._channels or session != self._session or seq != self._seq:
            return False
        motors, sensors, _ = channels
        values = self._rest.unpack_from(data, _STATE.size)
        for index in range(sensors):
            self._unroll(index, values[index])
        reading.position[:] = self._counts
        reading.velocity[:] = values[sensors : 2 * sensors]
        reading.effort[:] = values[2 * sensors : 2 * sensors + motors]
        reading.temperature[:] = values[2 * sensors + motors : 2 * (sensors + motors)]
        inputs_at = 2 * (sensors + motors) + self._forces
        reading.force[:] = values[2 * (sensors + motors) : inputs_at]
        reading.inputs[:] = values[inputs_at:]
        reading.status, reading.fault = status, fault
        self._homed = bool(status & DeviceStatus.HOMED)
        self._known = True
        return True

    def _unroll(self, index: int, count: int) -> None:
        """Counts beyond the range of 32 bits: the shortest way from the last sample is the one gone."""
        if not self._known:
            self._counts[index] = count
            return
        step = (count - self._counts[index] + _TOP // 2) % _TOP - _TOP // 2
        self._counts[index] += step


@dataclass(frozen=True)
class Options:
    """Address and properties of the device.

    `motors`, `sensors`, `forces`, `inputs`, `outputs`: its channels; the machine's where not given.
    `answer_s`: how long `read` waits for an answer, 0: half a period. `watchdog_s`: the device brakes by
    itself after this time without a command. `lockstep`: it moves one period for each command, as only a
    simulated device can.
    """

    host: str = "127.0.0.1"
    port: int = 5800
    motors: int = 1
    sensors: int = 1
    forces: int = 0
    inputs: int = 0
    outputs: int = 0
    answer_s: float = 0.0
    watchdog_s: float = 0.1
    brakes: bool = True
    lockstep: bool = False

    @classmethod
    def read(cls, setup: Setup) -> Self:
        """Check the options. Raises OptionError."""
        channels = ("motors", "sensors", "forces", "inputs", "outputs")
        values: dict[str, Any] = {name: getattr(setup, name) for name in channels}
        for key, value in setup.options.items():
            rule = _RULES.get(key)
            if rule is None:
                known = ", ".join(_RULES)
                raise OptionError(key, "unknown option of the driver udp", key, known, meant(key, _RULES))
            fits, allowed = rule
            if not fits(value):
                raise OptionError(key, "invalid value for the driver udp", shown(value), allowed)
            values[key] = value
        return cls(**values)


def _whole(low: int, high: int) -> tuple[Callable[[Any], bool], str]:
    return lambda value: type(value) is int and low <= value <= high, f"an integer from {low} to {high}"


def _seconds(high: float) -> tuple[Callable[[Any], bool], str]:
    def fits(value: Any) -> bool:
        return type(value) in (int, float) and math.isfinite(value) and 0.0 <= value <= high

    return fits, f"seconds, from 0 to {high:g}"


_SWITCH = (lambda value: isinstance(value, bool), "true or false")
_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "host": (lambda value: isinstance(value, str) and bool(value), "a name or an address"),
    "port": _whole(1, 65535),
    "motors": _whole(1, 32),
    "sensors": _whole(1, 32),
    "forces": _whole(0, 96),
    "inputs": _whole(0, 64),
    "outputs": _whole(0, 64),
    "answer_s": _seconds(0.1),
    "watchdog_s": _seconds(10.0),
    "brakes": _SWITCH,
    "lockstep": _SWITCH,
}
