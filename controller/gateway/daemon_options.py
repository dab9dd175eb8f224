"""Options on the gateway's command line, and those that it passes to its two child processes."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from linkwork.protocol.codes import Pace
from linkwork.timing.realtime import Policy


@dataclass(frozen=True)
class GatewayOptions:
    """`linkwork controller`, as values. `config` is a file or the name of a machine of linkwork.

    `plant` and `endpoint` default to the machine's seat; `telemetry` is a further endpoint beside the seat's.
    `twin`: the simulator runs beside the machine, even if the file does not ask for it.
    `log` is the folder for logs and flight records (None: no log; flight records still go to the default
    folder). `keys` is this daemon's secret file, `allowed` the folder of public files of who may connect,
    `plant_key` the plant's public file.
    """

    config: str
    plant: str | None = None
    endpoint: str | None = None
    telemetry: str | None = None
    pace: Pace = Pace.DEVICE
    law: str | None = None
    log: Path | None = None
    realtime: Policy = "warn"
    cpu: int | None = None
    lifeline: bool = False
    keys: Path | None = None
    allowed: Path | None = None
    plant_key: Path | None = None
    as_json: bool = False
    twin: bool = False

    def loop_arguments(self, seat: Path, plant: str, owner: str) -> list[str]:
        """The loop's command line."""
        arguments = [*_module("loop"), self.config, "--seat", str(seat), "--plant", plant]
        arguments += ["--pace", self.pace.value, "--owner", owner, "--realtime", self.realtime]
        if self.law is not None:
            arguments += ["--law", self.law]
        if self.cpu is not None:
            arguments += ["--cpu", str(self.cpu)]
        if self.keys is not None and self.plant_key is not None:
            arguments += ["--keys", str(self.keys), "--plant-key", str(self.plant_key)]
        return arguments

    def planner_arguments(self, seat: Path) -> list[str]:
        """The planner's command line."""
        arguments = [*_module("planner"), self.config, "--seat", str(seat)]
        return [*arguments, "--law", self.law] if self.law is not None else arguments

    def twin_arguments(self) -> list[str]:
        """The digital twin's command line, but for its end of the socket."""
        return [sys.executable, "-m", "linkwork.plant", "twin", self.config]


def same_connection(running: list[str], wanted: list[str]) -> bool:
    """Whether two loops' command lines mean the same plant, pace and keys."""
    names = ("--plant", "--pace", "--keys", "--plant-key")
    return all(_value(running, name) == _value(wanted, name) for name in names)


def _value(arguments: list[str], name: str) -> str | None:
    at = arguments.index(name) + 1 if name in arguments else len(arguments)
    return arguments[at] if at < len(arguments) else None


def _module(command: str) -> list[str]:
    # -P: a file controller.py in the user's folder must not shadow this package.
    return [sys.executable, "-m", "linkwork.controller", command]
