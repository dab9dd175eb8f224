"""Entries of a time line: the simulated mechanism changes on the way."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from machine.fields import Number, Vector3, entry
from plant.faults.entries import Entry, Named

_SIMULATED = "the machine is a real one: only a simulated mechanism can be changed"


class Change(Entry):
    """Other masses, lengths, frictions: what --plant-set can set, while the machine moves."""

    kind: ClassVar[str] = "mechanism.change"
    hardware: ClassVar[str] = _SIMULATED
    mechanism: Literal["change"]
    set: Annotated[list[str], Field(min_length=1, max_length=100)] = entry(
        'What differs from now on: "rod.mass_kg=+20%"'
    )

    @property
    def about(self) -> str:
        """What is set."""
        return ", ".join(self.set)[:120]


class Payload(Entry):
    """A point mass is attached to a body."""

    kind: ClassVar[str] = "mechanism.payload"
    hardware: ClassVar[str] = _SIMULATED
    mechanism: Literal["payload"]
    of: Named = entry("The body that carries it")
    mass_kg: Number = entry("Its mass", "kg", gt=0)
    at_m: Vector3 = entry("Where it is, in the body's frame", "m", default=[0.0, 0.0, 0.0])


class Open(Entry):
    """A closure or another constraint acts no more."""

    kind: ClassVar[str] = "mechanism.open"
    hardware: ClassVar[str] = _SIMULATED
    mechanism: Literal["open"]
    of: Named = entry("The constraint")


MECHANISM = (Change, Payload, Open)
