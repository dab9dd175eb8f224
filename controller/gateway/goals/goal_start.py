"""Where a goal begins, as far as the gateway knows: for the planner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from linkwork.controller.gateway.gateway import Gateway


def start_of(gateway: Gateway) -> dict[str, Any]:
    """Where a goal begins: the newest estimate, and the reference that the loop holds."""
    record = gateway.latest
    load: dict[str, Any] = {"closed": gateway.closed}
    load["payloads"] = {name: list(numbers) for name, numbers in gateway.payloads.items()}
    if record is None:
        q, v = gateway.machine.initial_q, [0.0] * gateway.machine.mechanism.nv
        return load | {"q": q.tolist(), "v": v, "coordinates": [], "theta": []}
    reference = record["reference"]
    held = np.flatnonzero(np.isfinite(reference))
    names = gateway.machine.mechanism.coordinate_names
    return load | {
        "q": record["q"].tolist(),
        "v": record["v"].tolist(),
        "coordinates": [names[index] for index in held],
        "theta": reference[held].tolist(),
    }
