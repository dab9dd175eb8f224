"""Layout of the plant's numbers: integers in `s`, floats in `b`, as in `multibody.kernels.layout`.

A field is an index in `s` where its start in `b` is written, the entry after it its end: `views.vector(s, b,
FIELD)`. Motors are numbered as in the machine file, sensors too; nv velocities; efforts at the joint (N m or
N).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.layout import N_ROWS, RANKING_SIZE, SEARCH_SIZE

if TYPE_CHECKING:
    from linkwork.machine import Machine

BRAKE, ZERO, EFFORTS, DAMP = range(4)
"""What acts on the motors: a command's modes (protocol.codes.Mode), and damping, the watchdog's alone."""

MOTORS, SENSORS, SUBSTEPS, METHOD = range(4)
RK4, SEMI_IMPLICIT, ADAPTIVE_RK4, GAUSS = range(4)
METHODS = {"rk4": RK4, "semi_implicit": SEMI_IMPLICIT, "adaptive_rk4": ADAPTIVE_RK4, "gauss": GAUSS}
CLASSICAL = (1, 0, 2)
"""Of each method but `gauss`, which cannot see touch: what `multibody.steps.compliant_steps` calls it."""

_next = 4


def _field() -> int:
    global _next
    _next += 2
    return _next - 2


PERIOD = _field()  # 1, seconds
LAST_STEP = _field()  # 1, seconds: the step of the last period, 0 before its end
MAX_EFFORT = _field()  # per motor
BRAKE_EFFORT = _field()  # per motor, friction of the brake
DAMPING = _field()  # per motor, effort per speed under the action "damp"
EFFORT = _field()  # per motor, what acts now: the mean of the period under way
COMMANDED = _field()  # per motor, the latched command
LEVEL = _field()  # per motor, the effort at the end of the last period
MOST_CHANGE = _field()  # per motor, of the effort, from one period to the next
LAG = _field()  # per motor, rad/s; 0: the effort follows its command at once
TRAVEL = _field()  # nv, length of the way since the last fresh command
BEFORE = _field()  # nq, positions at the start of a period

ROWS = _field()  # n × nv, the rows R that resist motion: the motors
RESPONSE = _field()  # n × nv, row i is M⁻¹ Rᵢ'
DELASSUS = _field()  # n × n
FACTOR = _field()  # n × n, scratch
FREE = _field()  # n, speeds of the rows without impulse
COMPLIANCE = _field()  # n
BOUND = _field()  # n, N m s or N s
IMPULSE = _field()  # n
STICKS = _field()  # n
TRIAL = _field()  # n, scratch
STATUS = _field()  # n, of each brake or damper (resistance.py)
SIGN = _field()  # n, of the speed against which it acts
CONSTANT = _field()  # n, force of a brake that slips or of a damper at its limit
COEFFICIENT = _field()  # n, of a damper below its limit
HOLDS = _field()  # n, 1 for a brake that sticks
LOAD = _field()  # n, load of a sticking brake at the last check over its largest load
SPEED = _field()  # n, size of the speeds of a part, by which its end is judged
RESUME = _field()  # state at the beginning of a part
PROGRESS = _field()  # how far a step in parts has come (resistance.py)

RESOLUTION = _field()  # per sensor, 0: ideal
NOISE_Q = _field()  # per sensor, standard deviations
NOISE_V = _field()
HAS_VELOCITY = _field()  # per sensor, 1 or 0
SCRATCH = _field()  # of minimal coordinates (multibody.formulations.partition), else empty
DRAWN = _field()  # 2 per sensor, standard normal numbers for the next sample
MEASURED_Q = _field()  # per sensor
MEASURED_V = _field()  # per sensor, 0 where there is none

MOTOR_AT = _field()  # table in s: index in v of each motor
SENSOR_AT = _field()  # table in s: index in v of each sensor
PARTITION = _field()  # in s: partition of the coordinates where they are minimal, else empty
_END = _next

PlantArrays = tuple[Floats, Integers, Floats, Integers, Floats]
"""Parameters, topology and workspace of the mechanism, and the plant's own numbers (s, b)."""


def lay_out(machine: Machine) -> tuple[Integers, Floats]:
    """Return the plant's flat arrays (s, b) for a machine, constants filled in."""
    motors, sensors, nv = len(machine.motors), len(machine.sensors), machine.plant_mechanism.nv
    partition, scratch = _minimal(machine)
    one = {
        PERIOD: 1,
        LAST_STEP: 1,
        TRAVEL: nv,
        BEFORE: machine.plant_mechanism.nq,
        ROWS: motors * nv,
        RESPONSE: motors * nv,
        DRAWN: 2 * sensors,
        SCRATCH: scratch,
        RESUME: machine.plant_mechanism.nq + nv + 4 + RANKING_SIZE,
        PROGRESS: SEARCH_SIZE + 2,
    }
    squares = {DELASSUS: motors**2, FACTOR: motors**2}
    per_sensor = dict.fromkeys((RESOLUTION, NOISE_Q, NOISE_V, HAS_VELOCITY, MEASURED_Q, MEASURED_V), sensors)
    tables = _END + motors + sensors
    s = np.zeros(tables + len(partition), np.int64)
    at = 0
    for field in range(PERIOD, MOTOR_AT, 2):
        size = {**one, **squares, **per_sensor}.get(field, motors)
        s[field], s[field + 1] = at, at + size
        at += size
    s[MOTOR_AT], s[MOTOR_AT + 1] = _END, _END + motors
    s[SENSOR_AT], s[SENSOR_AT + 1] = _END + motors, _END + motors + sensors
    s[PARTITION], s[PARTITION + 1] = tables, tables + len(partition)
    s[tables:] = partition
    s[_END:tables] = [motor.index for motor in machine.motors] + [sensor.index for sensor in machine.sensors]
    s[MOTORS], s[SENSORS] = motors, sensors
    s[SUBSTEPS], s[METHOD] = machine.plant.substeps, METHODS[machine.plant.integrator]
    b = np.zeros(at)
    constants = {
        PERIOD: [machine.plant.period_s],
        MAX_EFFORT: [motor.max_effort for motor in machine.motors],
        BRAKE_EFFORT: [motor.brake_effort for motor in machine.motors],
        MOST_CHANGE: [motor.max_effort_rate * machine.plant.period_s for motor in machine.motors],
        LAG: [0.0 if np.isinf(motor.bandwidth) else motor.bandwidth for motor in machine.motors],
        DAMPING: [motor.damping for motor in machine.motors],
        RESOLUTION: [sensor.resolution for sensor in machine.sensors],
        NOISE_Q: [sensor.noise for sensor in machine.sensors],
        NOISE_V: [sensor.velocity_noise for sensor in machine.sensors],
        HAS_VELOCITY: [float(sensor.velocity) for sensor in machine.sensors],
    }
    for field, values in constants.items():
        view(s, b, field)[:] = values
    rows = view(s, b, ROWS).reshape(motors, nv)
    rows[np.arange(motors), s[_END : _END + motors]] = 1.0
    return s, b


def _minimal(machine: Machine) -> tuple[Integers, int]:
    """The partition that `formulation: minimal` begins with, and the size of its scratch memory."""
    mechanism = machine.plant_mechanism
    if not is_minimal(machine):
        return np.zeros(0, np.int64), 0
    from linkwork.multibody.formulations.partition import (
        COUNT,
        LISTS,
        UNDECIDED,
        partition_size,
        scratch_size,
    )  # has kernels

    partition = np.zeros(partition_size(mechanism.nv), np.int64)
    partition[COUNT:LISTS] = UNDECIDED
    return partition, scratch_size(mechanism.nq, mechanism.nv, int(mechanism.topology[N_ROWS]))


def is_minimal(machine: Machine) -> bool:
    """Whether the plant integrates minimal coordinates; joint coordinates of a tree already are minimal."""
    return machine.plant.formulation == "minimal" and bool(machine.chain.minimal_period)


def view(s: Integers, b: Floats, field: int) -> Floats:
    """Return a field of b as a view (n)."""
    return b[s[field] : s[field + 1]]
