"""Units in which people read quantities: degrees and millimetres."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

SHOWN_IN: Final = {
    "rad": (180.0 / math.pi, "°"),
    "m": (1e3, "mm"),
    "rad/s": (180.0 / math.pi, "°/s"),
    "m/s": (1e3, "mm/s"),
}
"""Factor and unit in which a quantity is shown."""


def shown(value: float | None, unit: str) -> str:
    """Return a value in the units of people with three decimals, no sign before zero, a dash for none."""
    if value is None or not math.isfinite(value):
        return "–"
    factor, name = SHOWN_IN.get(unit, (1.0, unit))
    return f"{round(value * factor, 3) + 0.0:.3f} {name}".rstrip()


def channel_unit(kind: str, name: str, units: Mapping[str, str]) -> str:
    """Return the unit (m/s, N m …) of the numbers of a channel, '' where it is not known.

    name: joint, coordinate or motor that the number belongs to; units: rad or m by coordinate.
    """
    unit = units.get(name, "")
    if "effort" in kind:
        return {"rad": "N m", "m": "N"}.get(unit, "")
    return f"{unit}{_PER[kind]}" if unit and kind in _PER else ""


_PER: Final = {
    **dict.fromkeys(("q", "q_measured", "coordinate", "coordinates", "reference", "error", "target"), ""),
    **dict.fromkeys(("v", "v_measured", "velocity", "reference_velocity"), "/s"),
}
"""What the unit of a coordinate is divided by in the channels of these kinds."""
