"""The driver interface: five calls between linkwork's tick and a device, in the device's units.

linkwork keeps the link, the session, the watchdog, the limits, the scaling, the homing and the events; a
driver only transfers numbers. `docs/drivers.md` is the tutorial. A command line names a driver by
`package.module:Class`, or an included one by its name.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.machine import Machine, MachineError, Problem
from linkwork.machine.nearest_name import with_remedy
from linkwork.machine.yaml_document import parse_yaml
from linkwork.plant.machinery import MachineryFailed
from linkwork.protocol.codes import Mode, Pace

SHIPPED = {"udp": "linkwork.plant.drivers.udp:Udp", "cia402": "linkwork.cia402.cia402_driver:Cia402"}
"""Drivers that ship, by their short names."""

CALLS = ("describe", "start", "write", "read", "stop")


class DriverFailed(MachineryFailed):
    """The device is unusable. The text says what happened and what to do.

    For temporary failures (a lost datagram, a late sample) `read` returns False instead.
    """


class OptionError(ValueError):
    """An invalid option of the driver: its name, the value found, the values allowed, the remedy."""

    def __init__(self, key: str, message: str, found: str = "", allowed: str = "", remedy: str = "") -> None:
        super().__init__(f"{key}: {message}")
        self.key, self.message = key, message
        self.found, self.allowed, self.remedy = found, allowed, remedy


@dataclass(frozen=True)
class Setup:
    """Arguments of a driver: its `options` (the file's `driver.options`), and the size of the machine.

    `motors` and `sensors` count those of the machine file, `forces` the numbers of its force sensors,
    `inputs` and `outputs` its signals; `period_s` is the time between two ticks. `positions`: the drives
    close the position loop themselves (`driver.motors.NAME.mode: csp`).
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    motors: int = 1
    sensors: int = 1
    period_s: float = 0.001
    forces: int = 0
    inputs: int = 0
    outputs: int = 0
    positions: bool = False

    @classmethod
    def for_machine(cls, machine: Machine, options: Mapping[str, Any]) -> Setup:
        """Return the set-up of a machine; `options` override those of its file."""
        return cls(
            {**machine.driver.options, **options},
            len(machine.motors),
            len(machine.sensors),
            machine.plant.period_s,
            machine.force_numbers,
            len(machine.inputs),
            len(machine.outputs),
            machine.driver.follows_positions,
        )


@dataclass(frozen=True)
class Description:
    """Properties of a device.

    `motors`, `sensors`: its channels. `period_s`: the shortest and the longest time between two ticks that it
    supports. `watchdog_s`: it brakes by itself after this time without `write`; 0: it does not, which makes a
    crash of this computer dangerous. `brakes`, `velocities`, `temperatures`: whether it has them. `paces`:
    those at which it can run; only a device without an internal clock, a simulated one, can run in lockstep.
    `force_channels`: the numbers that its force sensors give. `input_channels`, `output_channels`: its
    signals. `motor_reports`: whether it reports status, fault and mode of each motor. `positions`: whether
    its drives can follow positions.
    """

    name: str
    motors: int
    sensors: int
    about: str = ""
    period_s: tuple[float, float] = (0.0005, 0.1)
    watchdog_s: float = 0.0
    brakes: bool = False
    velocities: bool = False
    temperatures: bool = False
    force_channels: int = 0
    input_channels: int = 0
    output_channels: int = 0
    motor_reports: bool = False
    positions: bool = False
    paces: tuple[Pace, ...] = (Pace.DEVICE, Pace.HOST)


@dataclass(slots=True)
class Command:
    """Command of `write` to the device: the mode of all motors and, per channel, the effort in the device's
    unit.

    In BRAKE the brakes are to be on, and the efforts act under them (0 as a rule); a device without brakes
    uses its safest way to hold. ZERO: brakes off, no effort. EFFORT: brakes off, the efforts act.

    `position` (channels of motors; the encoder's unit) is there where `Setup.positions` is set. In EFFORT the
    drives then arrive there at the end of this period, with `effort` as feed-forward.

    `clear`: the device's fault has been reported and the machine is braked, so that the device may clear a
    latched fault whose cause is gone. `outputs`: value of each output signal, in the order of the machine
    file, in its unit, 0 and 1 where it is digital; they hold in every mode.
    """

    effort: Floats
    mode: Mode = Mode.BRAKE
    clear: bool = False
    outputs: Floats = field(default_factory=lambda: np.zeros(0))
    position: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(slots=True)
class Reading:
    """Sample that `read` fills in, per channel and in the device's units; unknown fields stay unchanged.

    `position`: counts or rad of the encoder, m. `velocity`: the same per second. `effort`: the acting effort,
    in the command's unit. `temperature`: °C, NaN where not measured. `force`: N or N m, by channel: the
    components of each force sensor, in the order of the machine file. `status`: bits of
    protocol.codes.DeviceStatus. `fault`: a protocol.codes.DeviceFault, 1000 and above the vendor's own.
    `inputs`: value of each input signal, in the order of the machine file. `motors` (3, motors): status bits,
    fault and mode of each motor (`protocol.link.MOTOR_STATUS`, …), where the description says so.
    """

    position: Floats
    velocity: Floats
    effort: Floats
    temperature: Floats
    status: int = 0
    fault: int = 0
    force: Floats = field(default_factory=lambda: np.zeros(0))
    inputs: Floats = field(default_factory=lambda: np.zeros(0))
    motors: Integers = field(default_factory=lambda: np.zeros((3, 0), np.int64))

    @classmethod
    def sized(cls, description: Description) -> Reading:
        """An empty reading of a device."""
        motors, sensors = description.motors, description.sensors
        reading = cls(np.zeros(sensors), np.zeros(sensors), np.zeros(motors), np.full(motors, np.nan))
        reading.force = np.zeros(description.force_channels)
        reading.inputs = np.zeros(description.input_channels)
        reading.motors = np.zeros((3, motors), np.int64)
        return reading


class Driver(Protocol):
    """A device behind five calls. The class is called with a `Setup`; it may raise OptionError only.

    **Timing.** Once a period, always in this order: `write`, then immediately `read`. The two together must
    end well within a period, and may wait for the device, but for half a period at most. The command of
    `write` acts from now on; the sample of `read` is of now. They come from one thread, and in `linkwork
    plant` also while no controller is there (mode BRAKE).

    **Units** are the device's own, the same in every call; the machine file's section `driver` defines them.
    Signs, offsets, gears and limits are applied outside the driver.
    """

    def __init__(self, setup: Setup) -> None: ...

    def describe(self) -> Description:
        """Properties of the device. Valid before `start`, without motion, and constant."""
        ...

    def start(self) -> None:
        """Connect to the device, which is braked afterwards. May take seconds. Raises DriverFailed."""
        ...

    def write(self, command: Command) -> None:
        """Send this command to the device; keep no reference to the object. Raises DriverFailed."""
        ...

    def read(self, reading: Reading) -> bool:
        """Fill in the newest sample; False where none came in time. Raises DriverFailed."""
        ...

    def stop(self) -> None:
        """Brake and disconnect. A second call, or one after a failure, has no effect. `start` may follow."""
        ...


@runtime_checkable
class Homes(Protocol):
    """A driver that can find its zero. Where `driver.homing` is `procedure`, the plant begins with this."""

    def home(self) -> bool:
        """Called once a period in place of `write`, until it returns True: it is homed, and braked."""
        ...


@runtime_checkable
class Reports(Protocol):
    """A driver that says in words what happened to its device: the plant logs it."""

    def take_notices(self) -> list[str]:
        """Return the texts since the last call."""
        ...


class NoDriver(ValueError):
    """An unknown or invalid driver; the text lists the known ones, and what to do."""


def find_driver(name: str) -> type[Driver]:
    """Return the class. Modules beside the user count too, behind all installed ones. Raises NoDriver."""
    module_name, colon, class_name = SHIPPED.get(name, name).partition(":")
    if not colon or not module_name or not class_name:
        ours = ", ".join(SHIPPED)
        text = f"{name!r} is not a driver: write package.module:Class, or one of linkwork's: {ours}"
        raise NoDriver(with_remedy(text, name, SHIPPED))
    here = str(Path.cwd())
    if here not in sys.path:  # at the end, so that no file there can shadow linkwork's modules
        sys.path.append(here)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        where = "check that it is installed or in this folder"
        raise NoDriver(f"{module_name} cannot be imported: {error}; {where}") from error
    except Exception as error:
        raise NoDriver(f"{module_name} fails when imported: {type(error).__name__}: {error}") from error
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        classes = [key for key, value in vars(module).items() if isinstance(value, type)]
        raise NoDriver(with_remedy(f"{module_name} has no class {class_name}", class_name, classes))
    missing = [call for call in CALLS if not callable(getattr(found, call, None))]
    if missing:
        raise NoDriver(f"{module_name}:{class_name} is not a driver: it lacks {', '.join(missing)}")
    return found


def make_driver(name: str, machine: Machine, options: Mapping[str, Any]) -> Driver:
    """Make a driver for a machine; `options` win over the file's. Raises NoDriver, MachineError."""
    kind = find_driver(name)
    try:
        return kind(Setup.for_machine(machine, options))
    except OptionError as error:
        raise MachineError([placed(error, machine, options)]) from None
    except Exception as error:
        raise NoDriver(f"{name} cannot be constructed: {type(error).__name__}: {error}") from error


def read_options(settings: list[str]) -> dict[str, Any]:
    """Return KEY=VALUE texts as options, values read as YAML. Raises NoDriver."""
    found = {}
    for text in settings:
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise NoDriver(f"{text!r} is not a driver option: write KEY=VALUE")
        found[key.strip()] = parse_yaml(f"value: {value}").data["value"]
    return found


def placed(error: OptionError, machine: Machine, options: Mapping[str, Any]) -> Problem:
    """Return an invalid option with its place in the file or on the command line."""
    rest: dict[str, Any] = {"found": error.found, "allowed": error.allowed, "remedy": error.remedy}
    if error.key in options:
        return Problem("--driver-set", None, None, error.key, error.message, **rest)
    document = machine.document
    return document.problem(("driver", "options", error.key), error.message, **rest)
