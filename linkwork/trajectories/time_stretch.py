"""The same trajectory in more or less time."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any


def stretched(trajectory: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """Return a trajectory (plain data) that takes `factor` times as long along the same path.

    Times of way-points, curves, lead-ins, events and forces are multiplied, rates divided. Leads of events
    and `goal_time_s` are real time and stay.
    """
    made = copy.deepcopy(dict(trajectory))
    for point in made.get("points") or ():
        point["time_from_start_s"] *= factor
        for rates, power in (("velocities", 1), ("accelerations", 2)):
            if point.get(rates) is not None:
                point[rates] = [rate / factor**power for rate in point[rates]]
    for kind in ("line", "circle", "helix"):
        shape = (made.get("curve") or {}).get(kind)
        if shape:
            shape["duration_s"] *= factor
            for rate in ("rate_rad_s", "pitch_speed_m_s"):
                if rate in shape:
                    shape[rate] /= factor
    if made.get("entry"):
        made["entry"]["ramp_s"] *= factor
    for event in made.get("events") or ():
        if event["at"].get("time_s") is not None:
            event["at"]["time_s"] *= factor
    for force in (made.get("force") or {}).values():
        for place in force if isinstance(force, list) else ():
            place["time_from_start_s"] *= factor
    return made
