"""Find a driver from the command line: `package.module:Class`, or the name of an included driver."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from linkwork.machine import Machine, MachineError, Problem
from linkwork.machine.nearest_name import meant
from linkwork.machine.yaml_document import parse_yaml
from linkwork.plant.drivers.driver import Driver, OptionError, Setup

SHIPPED = {"udp": "linkwork.plant.drivers.udp:Udp"}
"""Drivers that ship, by their short names."""

CALLS = ("describe", "start", "write", "read", "stop")


class NoDriver(ValueError):
    """An unknown or invalid driver; the text lists the known ones, and what to do."""


def find_driver(name: str) -> type[Driver]:
    """Return the class. Modules beside the user count too, behind all installed ones. Raises NoDriver."""
    module_name, colon, class_name = SHIPPED.get(name, name).partition(":")
    if not colon or not module_name or not class_name:
        ours = ", ".join(SHIPPED)
        hint = meant(name, SHIPPED)
        raise NoDriver(
            f"{name!r} is not a driver: write package.module:Class, or one of linkwork's: {ours}"
            + (f"; {hint}" if hint else "")
        )
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
        hint = meant(class_name, classes)
        raise NoDriver(f"{module_name} has no class {class_name}" + (f"; {hint}" if hint else ""))
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
        raise MachineError([_placed(error, machine, options)]) from None
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


def _placed(error: OptionError, machine: Machine, options: Mapping[str, Any]) -> Problem:
    rest: dict[str, Any] = {"found": error.found, "allowed": error.allowed, "remedy": error.remedy}
    if error.key in options:
        return Problem("--driver-set", None, None, error.key, error.message, **rest)
    document = machine.document
    return document.problem(("driver", "options", error.key), error.message, **rest)
