"""Options of the driver `cia402`, read and checked; the drives' dictionary from EDS files."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from linkwork.cia402.can_link import MOST_LOAD, cyclic_bits, frame_bits
from linkwork.cia402.objects import (
    CONTROLWORD,
    POSITION,
    RATED_CURRENT,
    RATED_TORQUE,
    STATUSWORD,
    TARGET_POSITION,
    TARGET_TORQUE,
    TORQUE,
    TORQUE_OFFSET,
    VELOCITY,
    DriveObject,
    OperationMode,
)
from linkwork.machine.nearest_name import meant
from linkwork.machine.problems import shown
from linkwork.plant.drivers.driver import OptionError, Setup

COMMANDED = {
    OperationMode.TORQUE: (CONTROLWORD, TARGET_TORQUE),
    OperationMode.POSITION: (CONTROLWORD, TARGET_POSITION, TORQUE_OFFSET),
}
REPORTED = (STATUSWORD, POSITION, TORQUE)
_MASTER, _NODES = 127, 127
_CODES = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i"}


@dataclass(frozen=True)
class DriveSettings:
    """One drive.

    node: its CANopen number. rated: its rated current (A) or rated torque (N m), whose thousandths are its
    torque objects; 0: read from the drive. in_amperes: whether efforts are currents. absolute: its encoder
    needs no homing. homing_method: 6098h. write: objects and values to write at start.
    """

    name: str
    node: int
    rated: float = 0.0
    in_amperes: bool = False
    absolute: bool = False
    homing_method: int = 37
    write: tuple[tuple[DriveObject, int], ...] = ()

    @property
    def rated_object(self) -> DriveObject:
        """Object with its rated current (mA) or torque (mN m)."""
        return RATED_CURRENT if self.in_amperes else RATED_TORQUE


@dataclass(frozen=True)
class Cia402Settings:
    """The bus and its drives.

    answer_s: how long `read` waits for the TPDOs. watchdog_s: a drive stops by itself after this time without
    the master's heartbeat. heartbeat_s: time between two heartbeats of a drive. missing_tpdos: TPDOs missing
    in a row that stop the machine. frozen_cycles: equal TPDOs in motion that do. velocities: whether a second
    TPDO has the speed 606Ch. enable_s: time in which a drive must enable. lockstep: the drives are simulated
    and move one period for each SYNC. mode: of operation, torque or position.
    """

    drives: tuple[DriveSettings, ...]
    period_s: float
    interface: str = "socketcan"
    channel: str = ""
    bus: Mapping[str, Any] = field(default_factory=dict)
    bitrate: int = 1_000_000
    answer_s: float = 0.0
    watchdog_s: float = 0.1
    heartbeat_s: float = 0.1
    missing_tpdos: int = 2
    frozen_cycles: int = 10
    master_node: int = _MASTER
    velocities: bool = False
    enable_s: float = 0.5
    lockstep: bool = False
    mode: OperationMode = OperationMode.TORQUE

    @property
    def enable_cycles(self) -> int:
        """Cycles in which a drive must enable, 25 at least."""
        return max(25, round(self.enable_s / self.period_s))

    @property
    def sizes(self) -> list[int]:
        """Bytes of a drive's RPDO and TPDO."""
        return [sum(each.bits for each in frame) // 8 for frame in (COMMANDED[self.mode], REPORTED)]

    @property
    def cycle_bits(self) -> int:
        """Most bits on the bus in a period."""
        sizes = self.sizes
        sizes += [VELOCITY.bits // 8] * self.velocities
        return cyclic_bits(sizes * len(self.drives))

    @classmethod
    def read(cls, setup: Setup) -> Cia402Settings:
        """Check the options. Raises OptionError; also where the bus cannot carry the traffic."""
        options = dict(setup.options)
        given = options.pop("drives", None) or {
            f"drive{at + 1}": {"node": at + 1} for at in range(setup.motors)
        }
        if not isinstance(given, dict):
            raise OptionError(
                "drives", "invalid drives", shown(given), "a map: name of each drive, its settings"
            )
        mode = OperationMode.POSITION if setup.positions else OperationMode.TORQUE
        drives = tuple(_drive(str(name), values, mode) for name, values in given.items())
        nodes = [drive.node for drive in drives]
        if len(set(nodes)) < len(nodes):
            raise OptionError(
                "drives", "two drives have the same node", shown(nodes), "a node for each drive"
            )
        if len(drives) < setup.motors:
            found, allowed = str(len(drives)), f"{setup.motors}, one for each motor, in their order"
            raise OptionError("drives", "the machine has more motors", found, allowed)
        for key, value in options.items():
            _check(key, value, _RULES, "the driver cia402")
        settings = cls(drives, setup.period_s, mode=mode, **options)
        if settings.master_node in nodes:
            raise OptionError(
                "master_node", "a drive has this node", str(settings.master_node), "a free node"
            )
        return settings._fitting()

    def _fitting(self) -> Cia402Settings:
        """Refuse a bus that is too slow; set the time for answers."""
        bits, count = self.cycle_bits, len(self.drives)
        taken_s = bits / self.bitrate
        if taken_s > MOST_LOAD * self.period_s:
            rpdo, tpdo = map(frame_bits, self.sizes)
            parts = f"SYNC {frame_bits(0)}, RPDO {rpdo}, TPDO {tpdo}"
            parts += f", second TPDO {frame_bits(4)}" if self.velocities else ""
            slowest = taken_s / MOST_LOAD
            raise OptionError(
                "bitrate",
                f"the bus cannot carry {count} drives: at most {bits} bits a period ({parts} bits for each "
                f"drive; 135 bits a frame of 8 bytes) every {1e3 * self.period_s:g} ms are"
                f" {bits / self.period_s / 1e6:.3g} Mbit/s",
                f"{self.bitrate} bit/s",
                f"{MOST_LOAD:.0%} of the bit rate",
                f"set plant.period_s to {math.ceil(1e5 * slowest) / 1e5:g} or more, or use several buses",
            )
        usual = min(max(0.5 * self.period_s, 1.2 * taken_s), 0.9 * self.period_s)
        missing = 1 if self.lockstep else self.missing_tpdos  # without a clock none comes late
        return replace(self, answer_s=self.answer_s or usual, missing_tpdos=missing)


def _drive(name: str, values: Any, mode: OperationMode) -> DriveSettings:
    what = f"drives.{name}"
    if not isinstance(values, dict):
        raise OptionError("drives", f"invalid settings of {name}", shown(values), ", ".join(_DRIVE_RULES))
    for key, value in values.items():
        _check(key, value, _DRIVE_RULES, what)
    rest = dict(values)
    if "node" not in rest:
        raise OptionError("drives", f"the node of {name} is missing", "", "node: 1 to 126")
    ampere, torque = rest.pop("rated_current_A", 0.0), rest.pop("rated_torque_N_m", 0.0)
    if ampere and torque:
        raise OptionError("drives", f"{name} has two units", "both", "rated_current_A or rated_torque_N_m")
    rest["write"] = tuple(_object(name, text) for text in rest.get("write", ()))
    eds = rest.pop("eds", "")
    settings = DriveSettings(name, rated=ampere or torque, in_amperes=bool(ampere), **rest)
    return _with_eds(settings, Path(eds), mode) if eds else settings


def _object(name: str, text: Any) -> tuple[DriveObject, int]:
    """Read `INDEX:SUB TYPE VALUE`, as "6065:0 u32 2000"; index and sub are hexadecimal."""
    try:
        place, kind, value = str(text).split()
        index, _, sub = place.partition(":")
        found = DriveObject(int(index, 16), int(sub or "0", 16), _CODES[kind]), int(value, 0)
        found[0].pack(found[1])
    except (ValueError, KeyError, ArithmeticError, struct.error) as error:
        allowed = f"INDEX:SUB TYPE VALUE, as '6065:0 u32 2000'; TYPE is {', '.join(_CODES)}"
        raise OptionError("drives", f"invalid object in write of {name}", shown(text), allowed) from error
    return found


def _with_eds(settings: DriveSettings, path: Path, mode: OperationMode) -> DriveSettings:
    """Check that the drive of an EDS file has what linkwork needs; take its rated value where none is given.

    Raises OptionError.
    """
    import canopen

    try:
        dictionary = canopen.import_od(str(path), node_id=settings.node)
    except Exception as error:  # configparser's and canopen's own, a value that is no number
        text = f"the EDS file of {settings.name} cannot be read: {type(error).__name__}: {error}"
        raise OptionError("drives", text, str(path), "an EDS or DCF file") from None
    lacking = [str(each) for each in (*COMMANDED[mode], *REPORTED) if each.index not in dictionary]
    if lacking:
        text = f"the EDS file of {settings.name} lacks objects that {mode.name.lower()} mode needs"
        raise OptionError("drives", text, ", ".join(lacking), f"a drive with {mode.words} mode")
    rated = dictionary.get(settings.rated_object.index)
    value = getattr(rated, "value", None) or getattr(rated, "default", None)
    return replace(settings, rated=value / 1000.0) if value and not settings.rated else settings


_Rule = tuple[Callable[[Any], bool], str]


def _check(key: str, value: Any, rules: Mapping[str, _Rule], of: str) -> None:
    top = "drives" if of.startswith("drives.") else key
    if key not in rules:
        known = ", ".join([*rules, "drives"] if rules is _RULES else rules)
        raise OptionError(top, f"unknown option {key!r} of {of}", key, known, meant(key, rules))
    fits, allowed = rules[key]
    if not fits(value):
        raise OptionError(top, f"invalid value of {key} for {of}", shown(value), allowed)


def _whole(low: int, high: int) -> _Rule:
    return lambda value: type(value) is int and low <= value <= high, f"an integer from {low} to {high}"


def _number(low: float, high: float, unit: str) -> _Rule:
    def fits(value: Any) -> bool:
        return type(value) in (int, float) and math.isfinite(value) and low <= value <= high

    return fits, f"{unit}, from {low:g} to {high:g}"


_SWITCH: _Rule = (lambda value: isinstance(value, bool), "true or false")
_TEXT: _Rule = (lambda value: isinstance(value, str), "a text")
_RULES: dict[str, _Rule] = {
    "interface": _TEXT,
    "channel": _TEXT,
    "bus": (lambda value: isinstance(value, dict), "a map of python-can's own arguments"),
    "bitrate": _whole(10_000, 1_000_000),
    "answer_s": _number(0.0, 1.0, "seconds"),
    "watchdog_s": _number(0.0, 10.0, "seconds"),
    "heartbeat_s": _number(0.0, 10.0, "seconds"),
    "missing_tpdos": _whole(1, 100),
    "frozen_cycles": _whole(2, 10_000),
    "master_node": _whole(1, _NODES),
    "velocities": _SWITCH,
    "enable_s": _number(0.0, 60.0, "seconds"),
    "lockstep": _SWITCH,
}
_DRIVE_RULES: dict[str, _Rule] = {
    "node": _whole(1, 126),
    "rated_current_A": _number(1e-3, 1e4, "amperes"),
    "rated_torque_N_m": _number(1e-6, 1e6, "N m"),
    "absolute": _SWITCH,
    "homing_method": _whole(-128, 127),
    "write": (lambda value: isinstance(value, list), "a list of objects"),
    "eds": _TEXT,
}
