"""Every kind of fault: its entry in a time line, and what makes it act."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Union

import numpy as np
from pydantic import Discriminator, Tag

from linkwork.machine import Machine
from linkwork.multibody.forces import AppliedForce, Spring
from linkwork.multibody.mechanism import Mechanism
from linkwork.plant.faults.actuator_faults import ACTUATOR, ACTUATOR_EFFECTS
from linkwork.plant.faults.effects import FaultEffect, Site
from linkwork.plant.faults.entries import Clear, FaultEntry
from linkwork.plant.faults.mechanism_entries import MECHANISM, Open, OtherForce, WeakSpring
from linkwork.plant.faults.sensor_faults import SENSOR, SENSOR_EFFECTS, Swap
from linkwork.plant.faults.signal_faults import SIGNAL, SIGNAL_EFFECTS, FlickeringSignal
from linkwork.plant.faults.wire_faults import WIRE, WIRE_EFFECTS, Stall, stall

ENTRIES: dict[str, type[FaultEntry]] = {
    each.kind: each for each in (*WIRE, *SENSOR, *ACTUATOR, *SIGNAL, *MECHANISM, Stall, Clear)
}
"""By kind: "sensor.bias"."""
CLASSES: dict[str, tuple[str, ...]] = {
    name: tuple(kind.partition(".")[2] for kind in ENTRIES if kind.startswith(f"{name}."))
    for name in ("wire", "sensor", "actuator", "signal", "mechanism", "processor")
}
"""The kinds of each class."""


def kind_of(data: Any) -> str | None:
    """The kind that an entry's own key names; None where it has no such key."""
    if isinstance(data, FaultEntry):
        return data.kind
    if not isinstance(data, dict):
        return None
    for name in CLASSES:
        if name in data:
            return f"{name}.{data[name]}"
    return Clear.kind if Clear.kind in data else None


_MEMBERS = tuple(Annotated[each, Tag(kind)] for kind, each in ENTRIES.items())
AnyEntry = Annotated[Union[_MEMBERS], Discriminator(kind_of)]  # type: ignore[valid-type]  # noqa: UP007 - of a table
"""Any entry of a time line."""


def make_effect(
    entry: FaultEntry, site: Site, random: np.random.Generator, built: Mechanism | None = None
) -> FaultEffect:
    """Return the effect of an entry; `built` is the mechanism that it needs."""
    if isinstance(entry, MECHANISM):
        from linkwork.plant.faults.mechanism_faults import (
            MECHANISM_EFFECTS,  # its kernels are for simulated machines
        )

        return MECHANISM_EFFECTS[entry.kind](entry, site, built)
    return _MAKERS[entry.kind](entry, site, random)


def capabilities(machine: Machine, *, hardware: bool) -> dict[str, str]:
    """Every kind: "" where this machine can do it, else why not."""
    found = {kind: entry.hardware if hardware else "" for kind, entry in ENTRIES.items()}
    del found[Clear.kind]
    shapes: list[object] = [sensor.is_angle for sensor in machine.sensors]
    shapes += [(sensor.unit, len(sensor.components)) for sensor in machine.force_sensors]
    if len(shapes) == len(set(shapes)):
        found[Swap.kind] = "the machine has no two sensors of the same kind"
    if not machine.signals:
        found |= dict.fromkeys((each.kind for each in SIGNAL), "the machine has no signals")
    elif not any(signal.is_digital for signal in machine.signals):
        found[FlickeringSignal.kind] = "the machine has no digital signal"
    elements = machine.plant_mechanism.elements
    if not any(isinstance(each, Spring) for each in elements):
        found[WeakSpring.kind] = found[WeakSpring.kind] or "the machine has no spring"
    if not any(isinstance(each, AppliedForce) and not isinstance(each.value, str) for each in elements):
        found[OtherForce.kind] = (
            found[OtherForce.kind] or "the machine has no force with a number as its value"
        )
    if not machine.plant_mechanism.constraints:
        found[Open.kind] = found[Open.kind] or "the machine has no constraint to open"
    return found


_MAKERS: dict[str, Callable[[Any, Site, np.random.Generator], FaultEffect]] = {
    **WIRE_EFFECTS,
    **SENSOR_EFFECTS,
    **ACTUATOR_EFFECTS,
    **SIGNAL_EFFECTS,
    Stall.kind: stall,
}
