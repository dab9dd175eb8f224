"""Start of a goal, as the gateway knows it, for the planner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwork.controller.planning.planner_messages import MachineState

if TYPE_CHECKING:
    from linkwork.controller.gateway.gateway import Gateway


def start_of(gateway: Gateway) -> MachineState:
    """Return the start of a goal: the newest estimate, and the reference that the loop holds."""
    record, machine = gateway.latest, gateway.machine
    payloads = dict(gateway.tuning.payloads)
    if record is None:
        v = (0.0,) * machine.mechanism.nv
        return MachineState(tuple(machine.initial_q.tolist()), v, closed=gateway.closed, payloads=payloads)
    reference = record["reference"]
    held = np.flatnonzero(np.isfinite(reference))
    names = machine.mechanism.coordinate_names
    return MachineState(
        tuple(record["q"].tolist()),
        tuple(record["v"].tolist()),
        tuple(names[index] for index in held),
        tuple(reference[held].tolist()),
        gateway.closed,
        payloads,
        time_s=float(record["time_s"]),
        inputs=tuple(record["input"].tolist()),
    )
