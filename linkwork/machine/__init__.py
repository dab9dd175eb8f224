"""The machine file: schema, units and positions of errors, turned into a mechanism, motors and sensors."""

from linkwork.machine.catalogue import shipped, shipped_path
from linkwork.machine.checks.controllability import for_controller
from linkwork.machine.description import ControllerSettings, Limits, Machine, Motor, PlantSettings, Sensor
from linkwork.machine.loading import check, given_state_of, load, load_with_problems, name_in
from linkwork.machine.problems import MachineError, Problem
from linkwork.machine.sections.json_schema import schema
from linkwork.machine.sections.tolerances import Tolerance

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
    "Tolerance",
    "MachineError",
    "Problem",
]
