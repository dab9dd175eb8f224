"""The plant's own numbers: what acts on the motors, brakes, sensors, and the memory of a period."""

from typing import Annotated

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.machine import Machine
from linkwork.multibody.kernels.layout import RANKING_SIZE, SEARCH_SIZE
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.steps.step import METHODS

BRAKE, ZERO, EFFORTS, DAMP = range(4)
"""What acts on the motors: a command's modes (protocol.codes.Mode), and damping, the watchdog's alone."""


class PlantState(Struct):
    """The argument s of the plant's kernels. Motors and sensors are numbered as in the machine file; efforts
    at the joint (N m or N).

    Rows that resist motion are those of the motors.
    """

    n_motors: int
    n_sensors: int
    substeps: int
    method: Annotated[int, "METHODS"]

    period: Annotated[Floats, "1", "s"]
    last_step: Annotated[Floats, "1", "s, the step of the last period, 0 before its end"]
    max_effort: Annotated[Floats, "n_motors"]
    brake_effort: Annotated[Floats, "n_motors", "friction of the brake"]
    damping: Annotated[Floats, "n_motors", 'effort per speed under the action "damp"']
    effort: Annotated[Floats, "n_motors", "what acts now: the mean of the period under way"]
    commanded: Annotated[Floats, "n_motors", "the latched command"]
    level: Annotated[Floats, "n_motors", "the effort at the end of the last period"]
    most_change: Annotated[Floats, "n_motors", "of the effort, from one period to the next"]
    lag: Annotated[Floats, "n_motors", "rad/s; 0: the effort follows its command at once"]
    travel: Annotated[Floats, "nv", "length of the way since the last fresh command"]
    before: Annotated[Floats, "nq", "positions at the start of a period"]

    rows: Annotated[Floats, "n_motors, nv", "the rows R that resist motion"]
    response: Annotated[Floats, "n_motors, nv", "row i is M⁻¹ Rᵢ'"]
    delassus: Annotated[Floats, "n_motors, n_motors", "R M⁻¹ R'"]
    factor: Annotated[Floats, "n_motors, n_motors", "scratch"]
    free: Annotated[Floats, "n_motors", "speeds of the rows without impulse"]
    compliance: Annotated[Floats, "n_motors"]
    bound: Annotated[Floats, "n_motors", "N m s or N s"]
    impulse: Annotated[Floats, "n_motors"]
    sticks: Annotated[Floats, "n_motors"]
    trial: Annotated[Floats, "n_motors", "scratch"]
    status: Annotated[Floats, "n_motors", "of each brake or damper (resistance.py)"]
    sign: Annotated[Floats, "n_motors", "of the speed against which it acts"]
    constant: Annotated[Floats, "n_motors", "force of a brake that slips or of a damper at its limit"]
    coefficient: Annotated[Floats, "n_motors", "of a damper below its limit"]
    holds: Annotated[Floats, "n_motors", "1 for a brake that sticks"]
    load: Annotated[Floats, "n_motors", "load of a sticking brake at the last check over its largest load"]
    speed: Annotated[Floats, "n_motors", "size of the speeds of a part, by which its end is judged"]
    resume: Annotated[Floats, "nq + nv + 4 + RANKING_SIZE", "state at the beginning of a part"]
    progress: Annotated[Floats, "SEARCH_SIZE + 2", "how far a step in parts has come (resistance.py)"]

    resolution: Annotated[Floats, "n_sensors", "0: ideal"]
    noise_q: Annotated[Floats, "n_sensors", "standard deviations"]
    noise_v: Annotated[Floats, "n_sensors"]
    has_velocity: Annotated[Floats, "n_sensors", "1 or 0"]
    drawn: Annotated[Floats, "2 * n_sensors", "standard normal numbers for the next sample"]
    measured_q: Annotated[Floats, "n_sensors"]
    measured_v: Annotated[Floats, "n_sensors", "0 where there is none"]

    motor_at: Annotated[Integers, "n_motors", "index in v"]
    sensor_at: Annotated[Integers, "n_sensors", "index in v"]

    def __init__(self, machine: Machine) -> None:
        """Lay out the numbers of a machine, constants filled in."""
        model, motors, sensors = machine.plant_mechanism.model, machine.motors, machine.sensors
        super().__init__(
            {"nq": model.nq, "nv": model.nv, "RANKING_SIZE": RANKING_SIZE, "SEARCH_SIZE": SEARCH_SIZE},
            n_motors=len(motors),
            n_sensors=len(sensors),
            substeps=machine.plant.substeps,
            method=METHODS[machine.plant.integrator],
        )
        self.motor_at[:] = [motor.index for motor in motors]
        self.sensor_at[:] = [sensor.index for sensor in sensors]
        self.rows[np.arange(len(motors)), self.motor_at] = 1.0
        self.period[0] = machine.plant.period_s
        self.max_effort[:] = [motor.max_effort for motor in motors]
        self.brake_effort[:] = [motor.brake_effort for motor in motors]
        self.most_change[:] = [motor.max_effort_rate * machine.plant.period_s for motor in motors]
        self.lag[:] = [0.0 if np.isinf(motor.bandwidth) else motor.bandwidth for motor in motors]
        self.damping[:] = [motor.damping for motor in motors]
        self.resolution[:] = [sensor.resolution for sensor in sensors]
        self.noise_q[:] = [sensor.noise for sensor in sensors]
        self.noise_v[:] = [sensor.velocity_noise for sensor in sensors]
        self.has_velocity[:] = [float(sensor.velocity) for sensor in sensors]
