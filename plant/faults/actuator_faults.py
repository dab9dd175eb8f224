"""Faults of motors: entries of a time line, and their effects. Efforts are at the joint."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np
from pydantic import model_validator

from linkwork.arrays import Floats
from linkwork.machine.sections.fields import Number, entry, wrong
from linkwork.machine.sections.quantity import DAMPING, EFFORT, Quantity
from linkwork.plant.faults.effects import Site
from linkwork.plant.faults.entries import FaultEntry, Named


class ActuatorEntry(FaultEntry):
    """A motor's effort differs from its command."""

    of: Named = entry("The motor: its joint")


class Saturate(ActuatorEntry):
    """The effort stays within less than the motor's own limit."""

    kind: ClassVar[str] = "actuator.saturate"
    actuator: Literal["saturate"]
    limit = Quantity("at", EFFORT, "Largest effort", ge=0)


class Lose(ActuatorEntry):
    """The motor gives no effort; its brake still works."""

    kind: ClassVar[str] = "actuator.lose"
    actuator: Literal["lose"]


class Reverse(ActuatorEntry):
    """The effort has the wrong sign."""

    kind: ClassVar[str] = "actuator.reverse"
    actuator: Literal["reverse"]


class HeldEffort(ActuatorEntry):
    """The effort stays constant, independent of the command."""

    kind: ClassVar[str] = "actuator.freeze"
    actuator: Literal["freeze"]


class Stick(ActuatorEntry):
    """The motor's brake is engaged despite the command to open."""

    kind: ClassVar[str] = "actuator.stick"
    hardware: ClassVar[str] = "a driver releases all brakes or none"
    actuator: Literal["stick"]
    friction = Quantity(
        "with", EFFORT, "Friction of the brake. Default: that of the motor's brake", None, gt=0
    )


class Lag(ActuatorEntry):
    """The effort follows its command by a first-order lag."""

    kind: ClassVar[str] = "actuator.lag"
    actuator: Literal["lag"]
    time_constant_s: Number = entry("Time constant of the lag", "s", gt=0)


class Friction(ActuatorEntry):
    """More friction at the motor's joint."""

    kind: ClassVar[str] = "actuator.friction"
    actuator: Literal["friction"]
    coulomb = Quantity("coulomb", EFFORT, "Dry friction", 0.0, ge=0)
    viscous = Quantity("viscous", DAMPING, "Viscous friction", 0.0, ge=0)

    @model_validator(mode="after")
    def _some(self) -> Friction:
        if not (self.coulomb or self.viscous):
            raise wrong("the friction is missing", remedy="give coulomb_N_m or viscous_N_m_s")
        return self


ACTUATOR = (Saturate, Lose, Reverse, HeldEffort, Stick, Lag, Friction)


CREEP = 1e-2
"""rad/s or m/s: speed at which a real machine's motor makes three quarters of an added dry friction."""


class ActuatorEffect:
    """A fault of one motor."""

    def __init__(self, entry: ActuatorEntry, site: Site, random: np.random.Generator) -> None:  # noqa: ARG002
        self.entry, self.site = entry, site
        self.machinery = site.machinery
        self.motor = site.motor(entry.of)

    def begin(self, tick: int) -> str:  # noqa: ARG002
        """Change efforts from this tick on."""
        self.machinery.driving.append(self)
        return ""

    def tick(self, tick: int) -> None:
        """Return whether the effect has ended."""

    def end(self) -> str:
        """Stop changing efforts."""
        self.machinery.stop_driving(self)
        return ""

    def drive(self, effort: Floats) -> None:
        """Change this motor's effort in `effort` (motors; N m or N), in place, once a tick."""


class Saturated(ActuatorEffect):
    """Cut off at a smaller limit."""

    entry: Saturate

    def drive(self, effort: Floats) -> None:
        """Clip the motor's effort in `effort` (motors; N m or N) to the limit."""
        most = self.entry.limit
        effort[self.motor] = min(max(effort[self.motor], -most), most)


class Lost(ActuatorEffect):
    """None."""

    entry: Lose

    def drive(self, effort: Floats) -> None:
        """Set the motor's effort in `effort` (motors; N m or N) to zero."""
        effort[self.motor] = 0.0


class Reversed(ActuatorEffect):
    """The other way."""

    entry: Reverse

    def drive(self, effort: Floats) -> None:
        """Change the sign of the motor's effort in `effort` (motors; N m or N)."""
        effort[self.motor] = -effort[self.motor]


class Held(ActuatorEffect):
    """The motor keeps its last effort."""

    entry: HeldEffort

    def begin(self, tick: int) -> str:
        """Keep the motor's present effort."""
        self._effort = float(self.machinery.driven[self.motor])
        return super().begin(tick)

    def drive(self, effort: Floats) -> None:
        """Repeat the motor's last effort in `effort` (motors; N m or N)."""
        effort[self.motor] = self._effort


class Lagging(ActuatorEffect):
    """y + (1 - exp(-Δt / τ)) (u - y)."""

    entry: Lag

    def begin(self, tick: int) -> str:
        """Start from the motor's present effort."""
        self._level = float(self.machinery.driven[self.motor])
        self._share = 1.0 - math.exp(-self.site.period_s / self.entry.time_constant_s)
        return super().begin(tick)

    def drive(self, effort: Floats) -> None:
        """Step towards the commanded effort in `effort` (motors; N m or N)."""
        self._level += self._share * (effort[self.motor] - self._level)
        effort[self.motor] = self._level


class Stuck(ActuatorEffect):
    """A brake that is on: friction that sticks, of a simulated joint."""

    entry: Stick

    def begin(self, tick: int) -> str:  # noqa: ARG002
        """The brake closes."""
        entry, motor = self.entry, self.site.machine.motors[self.motor]
        simulated = self.machinery.simulated
        assert simulated is not None
        simulated.drags[self] = (self.motor, entry.friction or motor.brake_effort)
        return ""

    def end(self) -> str:
        """The brake opens."""
        simulated = self.machinery.simulated
        assert simulated is not None
        simulated.release(self)
        return ""


class Rubbing(ActuatorEffect):
    """Additional friction: in the simulated joint; on a real machine produced by the motor from its
    measurements."""

    entry: Friction

    def begin(self, tick: int) -> str:
        """The joint begins to rub."""
        entry, simulated = self.entry, self.machinery.simulated
        self._dry, self._viscous = entry.coulomb, entry.viscous
        if simulated is None:
            self._sensor = self.site.sensor(entry.of)
            self._before = float(self.machinery.inner.measured.q[self._sensor])
            return super().begin(tick) or "made by the motor itself"
        if self._dry:
            simulated.drags[self] = (self.motor, self._dry)
        if self._viscous:
            simulated.rub(self, self.site.machine.motors[self.motor].index, self._viscous)
        return ""

    def end(self) -> str:
        """Remove the friction."""
        if self.machinery.simulated is None:
            return super().end()
        self.machinery.simulated.release(self)
        return ""

    def drive(self, effort: Floats) -> None:
        """Oppose the motion of the last period in `effort` (motors; N m or N)."""
        inner, place = self.machinery.inner, self._sensor
        speed = float(inner.measured.v[place])
        if not self.site.machine.sensors[place].velocity:
            q = float(inner.measured.q[place])
            speed, self._before = (q - self._before) / self.site.period_s, q
        effort[self.motor] -= self._dry * math.tanh(speed / CREEP) + self._viscous * speed


ACTUATOR_EFFECTS: dict[str, type[ActuatorEffect]] = {
    Saturate.kind: Saturated,
    Lose.kind: Lost,
    Reverse.kind: Reversed,
    HeldEffort.kind: Held,
    Stick.kind: Stuck,
    Lag.kind: Lagging,
    Friction.kind: Rubbing,
}
