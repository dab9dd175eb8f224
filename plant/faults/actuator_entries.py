"""Entries of a time line: faults of motors. A motor is named by its joint; efforts are at the joint."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import model_validator

from linkwork.machine.sections.fields import Number, entry, one_of, wrong
from linkwork.plant.faults.entries import FaultEntry, Named


class ActuatorEntry(FaultEntry):
    """A motor's effort differs from its command."""

    of: Named = entry("The motor: its joint")


class Saturate(ActuatorEntry):
    """The effort stays within less than the motor's own limit."""

    kind: ClassVar[str] = "actuator.saturate"
    actuator: Literal["saturate"]
    at_N_m: Number | None = entry("Largest effort", "N m", None, ge=0)
    at_N: Number | None = entry("Largest effort", "N", None, ge=0)

    @model_validator(mode="after")
    def _one_limit(self) -> Saturate:
        one_of(self, "at_N_m", "at_N", needed=True)
        return self


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
    with_N_m: Number | None = entry(
        "Friction of the brake. Default: that of the motor's brake", "N m", None, gt=0
    )
    with_N: Number | None = entry(
        "Friction of the brake. Default: that of the motor's brake", "N", None, gt=0
    )

    @model_validator(mode="after")
    def _one_friction(self) -> Stick:
        one_of(self, "with_N_m", "with_N")
        return self


class Lag(ActuatorEntry):
    """The effort follows its command by a first-order lag."""

    kind: ClassVar[str] = "actuator.lag"
    actuator: Literal["lag"]
    time_constant_s: Number = entry("Time constant of the lag", "s", gt=0)


class Friction(ActuatorEntry):
    """More friction at the motor's joint."""

    kind: ClassVar[str] = "actuator.friction"
    actuator: Literal["friction"]
    coulomb_N_m: Number | None = entry("Dry friction", "N m", None, ge=0)
    coulomb_N: Number | None = entry("Dry friction", "N", None, ge=0)
    viscous_N_m_s: Number | None = entry("Viscous friction", "N m s/rad", None, ge=0)
    viscous_N_s_m: Number | None = entry("Viscous friction", "N s/m", None, ge=0)

    @model_validator(mode="after")
    def _some(self) -> Friction:
        one_of(self, "coulomb_N_m", "coulomb_N")
        one_of(self, "viscous_N_m_s", "viscous_N_s_m")
        if not any(
            getattr(self, key) for key in ("coulomb_N_m", "coulomb_N", "viscous_N_m_s", "viscous_N_s_m")
        ):
            raise wrong("the friction is missing", remedy="give coulomb_N_m or viscous_N_m_s")
        return self


ACTUATOR = (Saturate, Lose, Reverse, HeldEffort, Stick, Lag, Friction)
