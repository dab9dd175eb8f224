"""The options of the driver `udp`: `driver.options` of the file, `--driver-set` of the command line."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from linkwork.machine.nearest_name import meant
from linkwork.machine.problems import shown
from linkwork.plant.drivers.driver import OptionError, Setup


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
    def read(cls, setup: Setup) -> Options:
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
