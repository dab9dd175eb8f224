"""Faults of motors. Efforts are at the joint (N m or N)."""

import math
from typing import Annotated, Any, ClassVar, Final, Literal, Self

import numpy as np
from pydantic import model_validator

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.machine.sections.fields import Number, entry, wrong
from linkwork.machine.sections.quantity import DAMPING, EFFORT, Quantity, given_keys
from linkwork.plant.faults.fault import (
    Effect,
    FaultCheck,
    FaultyValues,
    MachineName,
    Named,
    PlantFault,
    Site,
    ValueFault,
)
from linkwork.plant.faults.faulty_machinery import Acting

CREEP: Final = 1e-2
"""rad/s or m/s: speed at which a real machine's motor makes three quarters of an added dry friction."""
MotorName = Annotated[Named, MachineName("motor", lambda machine, _: [each.joint for each in machine.motors])]


class ActuatorFault(PlantFault):
    """A motor's effort differs from its command."""

    of: MotorName = entry("The motor: its joint")

    def index(self, machine: Machine) -> int:
        """Return the motor's place among the motors."""
        return [motor.joint for motor in machine.motors].index(self.of)

    def compare(self, check: FaultCheck) -> None:
        """Its units."""
        motor = check.machine.motors[self.index(check.machine)]
        for key in given_keys(self, not motor.is_angle):
            moves = "turns" if motor.is_angle else "slides"
            check.note(key, f"{self.of} {moves}, so the unit does not apply", key)


class EffortFault(ActuatorFault, ValueFault):
    """A fault that changes the effort that the motor is given."""

    def place(self, site: Site) -> tuple[Acting, Floats, Floats]:
        """Return what acts on efforts, and a view of the motor's effort (1)."""
        at, driven = self.index(site.machine), site.machinery.driven
        return site.machinery.driving, driven[at : at + 1], driven[:0]


class Saturate(EffortFault):
    """The effort stays within less than the motor's own limit."""

    actuator: Literal["saturate"]
    limit = Quantity("at", EFFORT, "Largest effort", ge=0)

    def change(self, values: FaultyValues) -> None:
        """The effort, at most the limit."""
        np.clip(values.x, -self.limit, self.limit, out=values.x)


class Lose(EffortFault):
    """The motor gives no effort; its brake still works."""

    actuator: Literal["lose"]

    def change(self, values: FaultyValues) -> None:
        """Nothing."""
        values.x[:] = 0.0


class Reverse(EffortFault):
    """The effort has the wrong sign."""

    actuator: Literal["reverse"]

    def change(self, values: FaultyValues) -> None:
        """The opposite effort."""
        values.x *= -1.0


class HeldEffort(EffortFault):
    """The effort stays constant, independent of the command."""

    actuator: Literal["freeze"]

    def change(self, values: FaultyValues) -> None:
        """The last effort."""
        values.x[:] = values.last[0]


class Lag(EffortFault):
    """The effort follows its command by a first-order lag."""

    actuator: Literal["lag"]
    time_constant_s: Number = entry("Time constant of the lag", "s", gt=0)

    def change(self, values: FaultyValues) -> None:
        """y + (1 - exp(-Δt / τ)) (u - y)."""
        share, last = 1.0 - math.exp(-values.site.period_s / self.time_constant_s), values.last[0]
        values.x[:] = last + share * (values.x - last)


class JointFriction(Effect[ActuatorFault]):
    """Dry (N m or N) and viscous (N m s/rad or N s/m) friction in the joint of a simulated motor."""

    def __init__(self, fault: ActuatorFault, site: Site, dry: float, viscous: float) -> None:
        super().__init__(fault, site)
        self._dry, self._viscous = dry, viscous
        assert site.machinery.simulated is not None
        self._simulated = site.machinery.simulated

    def begin(self, tick: int) -> str:
        """The joint begins to rub."""
        motor = self.fault.index(self.site.machine)
        if self._dry:
            self._simulated.drags[self] = (motor, self._dry)
        if self._viscous:
            self._simulated.rub(self, self.site.machine.motors[motor].index, self._viscous)
        return super().begin(tick)

    def end(self) -> str:
        """Remove the friction."""
        self._simulated.release(self)
        return super().end()


class Stick(ActuatorFault):
    """The motor's brake is engaged despite the command to open."""

    hardware: ClassVar[str] = "a driver releases all brakes or none"
    actuator: Literal["stick"]
    friction = Quantity(
        "with", EFFORT, "Friction of the brake. Default: that of the motor's brake", None, gt=0
    )

    def compare(self, check: FaultCheck) -> None:
        """Also that there is a brake."""
        super().compare(check)
        motor = check.machine.motors[self.index(check.machine)]
        if not (self.friction or motor.brake_effort):
            (key,) = type(self).friction.keys(motor.is_angle)
            check.note("of", f"{self.of} has no brake", self.of, remedy=f"give {key}")

    def effect(self, site: Site) -> JointFriction:
        """Return the friction of a brake that is on."""
        brake = site.machine.motors[self.index(site.machine)].brake_effort
        return JointFriction(self, site, self.friction or brake, 0.0)


class Friction(EffortFault):
    """More friction at the motor's joint."""

    actuator: Literal["friction"]
    coulomb = Quantity("coulomb", EFFORT, "Dry friction", 0.0, ge=0)
    viscous = Quantity("viscous", DAMPING, "Viscous friction", 0.0, ge=0)

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not (self.coulomb or self.viscous):
            raise wrong("the friction is missing", remedy="give coulomb_N_m or viscous_N_m_s")
        return self

    def compare(self, check: FaultCheck) -> None:
        """Also that a real machine measures the speed."""
        super().compare(check)
        if check.hardware and self.of not in [sensor.joint for sensor in check.machine.sensors]:
            check.note("of", f"the speed of {self.of} is not measured", self.of)

    def effect(self, site: Site) -> Effect[Any]:
        """Return the friction in the simulated joint, or the motor of a real machine, which makes it."""
        if site.machinery.simulated is None:
            return RubbingMotor(self, site)
        return JointFriction(self, site, self.coulomb, self.viscous)

    def change(self, values: FaultyValues) -> None:
        """Oppose the motion of the last period."""
        assert isinstance(values, RubbingMotor)
        speed = values.speed()
        values.x -= self.coulomb * math.tanh(speed / CREEP) + self.viscous * speed


class RubbingMotor(FaultyValues):
    """A real motor that produces friction from the measured motion of its joint."""

    def begin(self, tick: int) -> str:
        """Start from the present position."""
        sensors = self.site.machine.sensors
        self._sensor = [sensor.joint for sensor in sensors].index(self.fault.about)
        self._before = float(self.site.machinery.inner.measured.q[self._sensor])
        return super().begin(tick) or "made by the motor itself"

    def speed(self) -> float:
        """Return the speed, measured or from the last two positions, rad/s or m/s."""
        measured, place = self.site.machinery.inner.measured, self._sensor
        if self.site.machine.sensors[place].velocity:
            return float(measured.v[place])
        q, before = float(measured.q[place]), self._before
        self._before = q
        return (q - before) / self.site.period_s


ACTUATOR = (Saturate, Lose, Reverse, HeldEffort, Stick, Lag, Friction)
