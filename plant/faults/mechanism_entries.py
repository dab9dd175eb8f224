"""Entries of a time line: the simulated mechanism changes on the way."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from linkwork.machine.sections.fields import Number, Vector3, entry, one_of, wrong
from linkwork.multibody.forces import Spring
from linkwork.multibody.model import Body
from linkwork.plant.faults.entries import FaultEntry, Named

_SIMULATED = "the plant is hardware: only a simulated mechanism can be changed"


class Change(FaultEntry):
    """Other masses, lengths, frictions: what --plant-set can set, while the machine moves."""

    kind: ClassVar[str] = "mechanism.change"
    hardware: ClassVar[str] = _SIMULATED
    mechanism: Literal["change"]
    set: Annotated[list[str], Field(min_length=1, max_length=100)] = entry(
        'Value to change: "rod.mass_kg=+20%"'
    )

    @property
    def about(self) -> str:
        """The parameters to set."""
        return ", ".join(self.set)[:120]


class Payload(FaultEntry):
    """A point mass is attached to a body."""

    kind: ClassVar[str] = "mechanism.payload"
    hardware: ClassVar[str] = _SIMULATED
    mechanism: Literal["payload"]
    of: Named = entry("The body that carries it")
    mass_kg: Number = entry("Its mass", "kg", gt=0)
    at_m: Vector3 = entry("Position, in the body's frame", "m", default=[0.0, 0.0, 0.0])

    def settings(self, body: Body) -> list[str]:
        """The body with the mass on it, in the words of --plant-set: about the new centre, parallel axes."""
        at = np.array(self.at_m)
        total = body.mass_kg + self.mass_kg
        com = (body.mass_kg * np.array(body.com_m) + self.mass_kg * at) / total
        inertia = np.array(body.inertia_kg_m2)
        inertia += about(body.mass_kg, np.array(body.com_m) - com) + about(self.mass_kg, at - com)
        name = f"bodies.{self.of}"
        parts = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}
        return [
            f"{name}.mass_kg={total!r}",
            f"{name}.com_m={com.tolist()!r}",
            *(f"{name}.inertia_kg_m2.{part}={float(inertia[at])!r}" for part, at in parts.items()),
        ]


def about(mass: float, arm: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inertia (3 × 3, kg m²) of a point mass (kg) at the end of an arm (m)."""
    matrix: NDArray[np.float64] = mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return matrix


class WeakSpring(FaultEntry):
    """A spring and its damper pull less; without a factor the spring is broken."""

    kind: ClassVar[str] = "mechanism.spring"
    hardware: ClassVar[str] = _SIMULATED
    mechanism: Literal["spring"]
    of: Named = entry("The spring")
    factor: Number = entry("Factor of its whole pull; 0: it is broken", default=0.0, ge=0, le=1)

    def changed(self, spring: Spring) -> Spring:
        """Return the spring with the factor in its stiffness, damping, preload and progressive term."""
        keys = ("stiffness", "damping", "preload", "progressive")
        return replace(spring, **{key: self.factor * getattr(spring, key) for key in keys})


class OtherForce(FaultEntry):
    """An applied force of the machine file has another value."""

    kind: ClassVar[str] = "mechanism.force"
    hardware: ClassVar[str] = _SIMULATED
    mechanism: Literal["force"]
    of: Named = entry("The force, of the section `forces`, whose value is a number")
    force_N: Number | None = entry("The force", "N", None)
    torque_N_m: Number | None = entry("The torque", "N m", None)

    @model_validator(mode="after")
    def _one_value(self) -> OtherForce:
        one_of(self, "force_N", "torque_N_m", needed=True)
        return self

    @property
    def settings(self) -> list[str]:
        """The new value in the words of --plant-set."""
        key = "force_N" if self.force_N is not None else "torque_N_m"
        return [f"forces.{self.of}.{key}={getattr(self, key)!r}"]


class Push(FaultEntry):
    """A force at a place of a body, a torque on it, or both."""

    kind: ClassVar[str] = "mechanism.push"
    hardware: ClassVar[str] = _SIMULATED
    mechanism: Literal["push"]
    of: Named = entry("The body")
    force_N: Vector3 | None = entry("Force, in the world's axes", "N", None)
    torque_N_m: Vector3 | None = entry("Torque, in the world's axes", "N m", None)
    at_m: Vector3 = entry("Place of the force, in the body's frame", "m", default=[0.0, 0.0, 0.0])

    @model_validator(mode="after")
    def _loaded(self) -> Push:
        if self.force_N is None and self.torque_N_m is None:
            raise wrong("force_N or torque_N_m is missing", "nothing", remedy="add force_N: [0, 0, 10]")
        return self


class Open(FaultEntry):
    """A closure or another constraint acts no more."""

    kind: ClassVar[str] = "mechanism.open"
    hardware: ClassVar[str] = _SIMULATED
    mechanism: Literal["open"]
    of: Named = entry("The constraint")


MECHANISM = (Change, Payload, Open, WeakSpring, OtherForce, Push)
