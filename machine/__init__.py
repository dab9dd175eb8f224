"""The machine file: schema, units and positions of errors, turned into a mechanism, motors and sensors."""

from machine.catalogue import shipped, shipped_path
from machine.controllable import for_controller
from machine.description import ControllerSettings, Limits, Machine, Motor, PlantSettings, Sensor
from machine.json_schema import schema
from machine.loading import check, given_state_of, load, name_in
from machine.problems import MachineError, Problem
from machine.tolerances import Tolerance

__all__ = [
    "load",
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
