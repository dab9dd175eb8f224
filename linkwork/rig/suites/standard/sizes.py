"""Sizes of the suite's faults, in units of the machine's tolerances and limits."""

from typing import Any

from linkwork.machine import Motor, Sensor
from linkwork.rig.motions import duration_s
from linkwork.rig.record import RigRecord
from linkwork.rig.under_test import RigUnderTest

DETECTED_BY_MOTION = (
    "PATH_TOLERANCE_VIOLATED",
    "GOAL_TOLERANCE_VIOLATED",
    "VELOCITY_LIMIT",
    "POSITION_LIMIT",
    "SENSOR_DISAGREES",
    "SENSORS_DISAGREE",
    "CLOSURE_RESIDUAL",
    "BRANCH_FLIP",
    "SINGULAR_POSE",
    "CONSTRAINT_FORCE",
    "FOLLOWING_ERROR",
)
"""By which the motion itself gives a fault away: it is not where it should be, or contradicts itself."""
BEGINS_AT = 0.3
"""Of the motion's length: when the suite's faults begin."""


def struck(rig: RigUnderTest, entry: dict[str, Any], settle_s: float = 0.3) -> RigRecord:
    """Return the record of the machine's fast motion with a fault that begins at BEGINS_AT of it.

    entry: the fault, as in a timeline. settle_s: time that is recorded after the motion.
    """
    motion = rig.motions.fast
    begin_s = BEGINS_AT * duration_s(motion)
    return rig.run(motion, inject={**entry, "after_s": begin_s}, settle_s=settle_s)


def sensor_of(rig: RigUnderTest) -> Sensor:
    """Return the first sensor, which measures a joint."""
    return rig.machine.sensors[0]


def motor_of(rig: RigUnderTest) -> Motor:
    """Return the first motor."""
    return rig.machine.motors[0]


def unit_of(part: Sensor | Motor) -> str:
    """Return the unit of a joint's position, as in the keys of a time line."""
    return part.unit


def effort_unit(motor: Motor) -> str:
    """Return the unit of a motor's effort, as in the keys of a time line."""
    return motor.effort_unit.replace(" ", "_")


def tolerance(rig: RigUnderTest, sensor: Sensor) -> float:
    """Return the path tolerance (rad or m) of the joint that a sensor measures."""
    at = rig.machine.mechanism.coordinate_names.index(sensor.joint)
    return rig.machine.tolerances[at].path
