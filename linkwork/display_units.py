"""Units in which people read quantities: degrees and millimetres, or SI units by the environment."""

import math
import os
import re
from collections.abc import Callable, Mapping
from typing import Final

VARIABLE: Final = "LINKWORK_UNITS"
_CHOICES: Final = {
    "deg_mm": (("rad", 180.0 / math.pi, "°"), ("m", 1e3, "mm")),
    "si": (("rad", 1.0, "rad"), ("m", 1.0, "m")),
}
CHOICE: Final = os.environ.get(VARIABLE) or "deg_mm"
"""That of this process."""
UNITS: Final = {
    choice: {
        f"{unit}{per}": (factor, f"{name}{per}")
        for unit, factor, name in units
        for per in ("", "/s", "/s²", "/s³")
    }
    for choice, units in _CHOICES.items()
}
"""Factor and unit in which a quantity is shown, by choice and unit."""
_readers: list[Callable[[], str | None]] = []
_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_QUANTITY: Final = rf"(?<![\w.])({_NUMBER})(?:(, allowed | to )({_NUMBER}))? ((?:rad|m)(?:/s[²³]?)?)(?![\w/])"


def ask_reader(choice: Callable[[], str | None]) -> None:
    """Let a process with many readers, as a console has pages, choose for each; `choice`: that of the present
    one, None where there is none.
    """
    _readers[:] = [choice]


def present_choice() -> str:
    """Return the choice of the present reader, else that of this process."""
    found = _readers[0]() if _readers else None
    return found if found in UNITS else CHOICE


def shown_in(unit: str) -> tuple[float, str]:
    """Return factor and unit in which a quantity is shown."""
    return UNITS.get(present_choice(), {}).get(unit, (1.0, unit))


def decimals() -> int:
    """Return how many decimals are shown."""
    return 6 if present_choice() == "si" else 3


def refusal() -> str | None:
    """Return the error in the choice of units, or None."""
    if CHOICE in _CHOICES:
        return None
    return f"{VARIABLE} is {CHOICE!r}; allowed: {', '.join(_CHOICES)}; set one of them, or unset it"


def shown(value: float | None, unit: str) -> str:
    """Return a value in the units of people with `decimals`, no sign before zero, a dash for none."""
    if value is None or not math.isfinite(value):
        return "–"
    (factor, name), places = shown_in(unit), decimals()
    return f"{round(value * factor, places) + 0.0:.{places}f} {name}".rstrip()


def in_display_units(text: str) -> str:
    """Return a sentence with its quantities ("0.1 rad", "0.63, allowed 0.5 m/s") in the units of people."""

    def converted(found: re.Match[str]) -> str:
        factor, unit = shown_in(found[4])
        first, *second = (f"{float(each) * factor:.6g}" for each in (found[1], found[3]) if each)
        return f"{first}{found[2] or ''}{''.join(second)} {unit}"

    return text if present_choice() == "si" else re.sub(_QUANTITY, converted, text)


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
