"""Options of a session of rig tests, on pytest's command line."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PACES = ("lockstep", "device", "host")
NONE = "none"
"""Endpoint for "no controller": the tests use their own, or none."""

_OPTIONS: dict[str, dict[str, Any]] = {
    "plant": {
        "metavar": "ENDPOINT",
        "help": "Endpoint of a running plant, also of hardware behind `linkwork plant --driver`."
        " Default: start one.",
    },
    "controller": {
        "metavar": "ENDPOINT",
        "help": "Endpoint of a running controller's requests; `none`: the tests need no controller.",
    },
    "pace": {
        "choices": PACES,
        "default": "lockstep",
        "help": "Pace of the started controller: lockstep (no clock; the default), device or host (real"
        " time).",
    },
    "law": {
        "metavar": "LAW",
        "help": "Law of motion of the started controller. Default: the machine file's.",
    },
    "seed": {
        "type": int,
        "default": 0,
        "help": "Seed of the sensors' noise and of injected faults (default 0).",
    },
}


@dataclass(frozen=True)
class RigOptions:
    """One machine under test.

    config: its file, or the name of one of linkwork's. plant, controller: endpoints of running daemons;
    None: the tests start them. `controller` may be "none". pace: of a started controller. law: None:
    the machine file's. seed: of the sensors' noise and injected faults. out: folder for logs.
    """

    config: str
    plant: str | None = None
    controller: str | None = None
    pace: str = "lockstep"
    law: str | None = None
    seed: int = 0
    out: Path | None = None


def add_options(parser: pytest.Parser) -> None:
    """Rig options under names that no other plug-in has: --rig, --rig-plant, --rig-seed …"""
    group = parser.getgroup("linkwork", "rig tests (linkwork)")
    group.addoption(
        "--rig",
        action="append",
        default=[],
        metavar="MACHINE",
        help="Machine under test: a machine file, or the name of one of linkwork's. May be given several"
        " times.",
    )
    group.addoption(
        "--rig-out",
        type=Path,
        default=None,
        metavar="DIR",
        help="Folder for results (collected.jsonl) and logs. Default: none are written.",
    )
    for name, option in _OPTIONS.items():
        group.addoption(f"--rig-{name}", dest=f"rig_{name}", **option)


def add_short_names(parser: pytest.Parser) -> None:
    """Add --plant, --seed …, where these names are free."""
    group = parser.getgroup("linkwork")
    for name, option in _OPTIONS.items():
        if _is_free(parser, f"--{name}"):
            group.addoption(
                f"--{name}", dest=f"rig_{name}", **{**option, "help": f"The same as --rig-{name}."}
            )


def _is_free(parser: pytest.Parser, word: str) -> bool:
    """Whether this option is free: some versions of pytest report a conflict only when it is used."""
    import pytest  # loaded only where it runs

    with suppress(pytest.UsageError):  # an option that needs a value
        return word in parser.parse_known_and_unknown_args([word])[1]
    return False


def options_of(config: pytest.Config, machine: str) -> RigOptions:
    """The options for one machine."""
    given = {name: config.getoption(f"rig_{name}") for name in (*_OPTIONS, "out")}
    return RigOptions(machine, **given)
