"""Faults: one table with cause, meaning and remedy of each."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal


class FaultCode(IntEnum):
    """Latched causes. The number travels in records; the name is what people see."""

    NONE = 0
    LINK_LOST = 1
    LINK_LOSS_RATIO = 2
    DEVICE_FAULT = 3
    DEVICE_STO = 4
    DEVICE_WATCHDOG = 5
    MEASUREMENT_NOT_FINITE = 6
    EFFORT_NOT_FINITE = 7
    POSITION_LIMIT = 8
    VELOCITY_LIMIT = 9
    SINGULAR_POSE = 10
    NOT_HOMED = 11
    CLOSURE_RESIDUAL = 12
    BRANCH_FLIP = 13
    SENSOR_DISAGREES = 14
    SENSORS_DISAGREE = 15
    CONSTRAINT_FORCE = 16
    MODEL_DIFFERENCE = 17
    FOLLOWING_ERROR = 18
    CONSTRAINT_SWITCHED = 19
    DEVICE_CLOCK = 20
    MOTOR_TEMPERATURE = 21


@dataclass(frozen=True)
class FaultKind:
    """A row of the table. `index` says what `fault_index` counts, `unit` the unit of value and limit.

    Of "sensors" the index is a bit mask.
    """

    text: str
    index: Literal[
        "",
        "joint",
        "coordinate",
        "motor",
        "sensor",
        "sensors",
        "load",
        "constraint",
        "difference",
        "switch",
    ]
    unit: str
    clears_when: str


FAULTS: dict[FaultCode, FaultKind] = {
    FaultCode.LINK_LOST: FaultKind(
        "no fresh state from the plant", "", "periods", "the plant answers the handshake again"
    ),
    FaultCode.LINK_LOSS_RATIO: FaultKind(
        "too many states lost within one second", "", "fraction", "fewer states were lost in the last second"
    ),
    FaultCode.DEVICE_FAULT: FaultKind(
        "the device reports a fault", "motor", "", "the device no longer reports a fault"
    ),
    FaultCode.DEVICE_STO: FaultKind(
        "safe torque off is active on the device", "", "", "safe torque off is released"
    ),
    FaultCode.DEVICE_WATCHDOG: FaultKind(
        "the plant's watchdog took over", "", "", "a new handshake, which `recover` makes"
    ),
    FaultCode.MEASUREMENT_NOT_FINITE: FaultKind(
        "a sensor reading is not finite", "sensor", "", "all sensor readings are finite"
    ),
    FaultCode.EFFORT_NOT_FINITE: FaultKind(
        "the law's effort is not finite", "motor", "", "always: enabling starts from the measured pose"
    ),
    FaultCode.POSITION_LIMIT: FaultKind(
        "a joint is beyond its position limit", "joint", "rad or m", "always: the joint may be moved back"
    ),
    FaultCode.VELOCITY_LIMIT: FaultKind(
        "a joint is faster than its velocity limit", "joint", "rad/s or m/s", "the machine is at rest"
    ),
    FaultCode.SINGULAR_POSE: FaultKind(
        "the goal's coordinates do not determine the motion here", "", "smallest pivot ratio", "always"
    ),
    FaultCode.CONSTRAINT_FORCE: FaultKind(
        "the load on a constraint is beyond its limit", "load", "N or N m", "always: the brakes hold the load"
    ),
    FaultCode.MODEL_DIFFERENCE: FaultKind(
        "the machine differs from its model", "difference", "N m or N",
        "always: the brakes hold the machine",
    ),
    FaultCode.FOLLOWING_ERROR: FaultKind(
        "the deviation from the reference exceeds its limit", "coordinate", "rad or m",
        "always: enabling starts from the measured pose",
    ),
    FaultCode.CONSTRAINT_SWITCHED: FaultKind(
        "this constraint was switched without an order of the controller", "switch", "",
        "the controller can run the machine under the constraints that hold",
    ),
    FaultCode.DEVICE_CLOCK: FaultKind(
        "the time of the device jumped", "", "s", "always: time continues from the new value"
    ),
    FaultCode.MOTOR_TEMPERATURE: FaultKind(
        "the estimated temperature of a motor's winding is at its limit", "motor", "°C",
        "it has cooled below 95 % of the allowed rise of temperature",
    ),
    FaultCode.NOT_HOMED: FaultKind("the device is not homed", "", "", "the device reports that it is homed"),
    FaultCode.CLOSURE_RESIDUAL: FaultKind(
        "no pose satisfies this constraint at the measured joint positions", "constraint",
        "typical lengths", "the sensors fit the closures again",
    ),
    FaultCode.BRANCH_FLIP: FaultKind(
        "the machine has changed its assembly mode", "", "", "always; the assembly mode must then be"
            " confirmed"
    ),
    FaultCode.SENSOR_DISAGREES: FaultKind(
        "this sensor contradicts the others and the closures", "sensor", "rad or m", "the sensors agree again"
    ),
    FaultCode.SENSORS_DISAGREE: FaultKind(
        "one of these sensors contradicts the others or the closures", "sensors", "rad or m",
        "the sensors agree again",
    ),
}  # fmt: skip


@dataclass(slots=True)
class Fault:
    """The latched fault: its code, place, measured value, allowed value, and time."""

    code: FaultCode = FaultCode.NONE
    index: int = -1
    value: float = 0.0
    limit: float = 0.0
    tick: int = -1
