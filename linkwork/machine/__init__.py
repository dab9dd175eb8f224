"""The machine file: schema, units and positions of errors, turned into a mechanism, motors and sensors.

Names are imported on first use, so that a text helper of this package loads no models.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkwork.machine.catalogue import shipped, shipped_path
    from linkwork.machine.checks.controllability import for_controller
    from linkwork.machine.description import Machine
    from linkwork.machine.loading import check, given_state_of, load, load_with_problems, name_in
    from linkwork.machine.problems import MachineError, Problem
    from linkwork.machine.sections.json_schema import schema
    from linkwork.machine.sections.limits import Limits, Tolerances
    from linkwork.machine.sections.motors import Motor
    from linkwork.machine.sections.sensors import Sensor
    from linkwork.machine.sections.settings import ControllerSettings, PlantSettings

__all__ = [
    "load",
    "load_with_problems",
    "name_in",
    "for_controller",
    "check",
    "given_state_of",
    "schema",
    "shipped",
    "shipped_path",
    "Machine",
    "Limits",
    "Motor",
    "Sensor",
    "PlantSettings",
    "ControllerSettings",
    "Tolerances",
    "MachineError",
    "Problem",
]

_HOMES = {
    "catalogue": ("shipped", "shipped_path"),
    "checks.controllability": ("for_controller",),
    "description": ("Machine",),
    "loading": ("load", "load_with_problems", "name_in", "check", "given_state_of"),
    "problems": ("MachineError", "Problem"),
    "sections.json_schema": ("schema",),
    "sections.limits": ("Limits",),
    "sections.motors": ("Motor",),
    "sections.sensors": ("Sensor",),
    "sections.settings": ("PlantSettings", "ControllerSettings"),
    "sections.tolerances": ("Tolerances",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
