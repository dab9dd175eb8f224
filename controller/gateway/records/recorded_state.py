"""The state of the machine in one record, as plain data: for the answer of `state`, and for recordings."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.controller.gateway.records.messages import Wording, finite, limits_named, state_name
from linkwork.controller.records import RecordLayout


def recorded_state(record: np.void, layout: RecordLayout, wording: Wording) -> dict[str, Any]:
    """Return the part of protocol.results.StateResult that a record holds.

    The path of the flight record of a fault is left open.
    """
    table = layout.as_map(record)
    joints = set(layout.names["joint"])
    return {
        "state": state_name(record),
        "tick": table["tick"],
        "device_tick": table["device_tick"],
        "time_s": table["time_s"],
        "q": table["q"],
        "v": table["v"],
        "coordinates": {name: at for name, at in table["coordinate"].items() if name not in joints},
        "forces": _forces(table),
        "closed": {name: bool(on) for name, on in table["closed"].items()},
        "signals": wording.signals(record),
        "effort": table["effort"],
        "reactions": wording.reactions(table),
        "mode": wording.mode(record),
        "law": wording.law(record),
        "goal": wording.progress(record),
        "stream": wording.stream(record),
        "fault": wording.fault(record) if int(record["fault"]) else None,
        "limited": limits_named(int(record["limited"])),
    }


def _forces(table: dict[str, Any]) -> dict[str, Any]:
    """Measured and wanted value of each force that goals may name; NaN becomes nil."""
    return {
        name: {"felt": finite(felt), "wanted": finite(table["force_reference"][name])}
        for name, felt in table["force"].items()
    }
