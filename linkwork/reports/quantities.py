"""Numbers with units as people read them: three digits and a prefix, "278 nm"."""

import math
from typing import Final

THIN: Final = "\u202f"
"""Between a number and its unit: narrow, no line break."""
ROUND_OFF: Final = 1e-12
"""Magnitude below which a quantity is round-off and means 0, in SI units."""
_PREFIXES: Final = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M"}
_SCALED: Final = frozenset({"m", "rad", "s", "N", "N m", "J", "W", "m/s", "rad/s", "m/s²", "rad/s²"})
"""Units that take prefixes; others (°C, ticks, %) are shown unchanged."""
DASH: Final = "–"


def scale(largest: float, unit: str) -> tuple[float, str]:
    """Factor and unit with prefix by which numbers up to this size are read easily."""
    if unit not in _SCALED or not math.isfinite(largest) or largest < ROUND_OFF:
        return 1.0, unit
    power = min(max(3 * math.floor(math.log10(largest) / 3 + 1e-9), -12), 6)
    if power == 3 and largest < 1e4:
        power = 0
    return 10.0**-power, f"{_PREFIXES[power]}{unit}"


def digits(value: float | None) -> str:
    """A number in about three digits, a dash where there is none, with a true minus sign."""
    if value is None or not math.isfinite(value):
        return DASH
    if value == int(value) and abs(value) < 1e6:
        text = str(int(value))
    elif value and not 1e-3 <= abs(value) < 1e5:
        mantissa, _, exponent = f"{value:.2e}".partition("e")
        short = mantissa.rstrip("0").rstrip(".")
        if float(f"{short}e{exponent}") == value:
            mantissa = "" if short == "1" else short
        text = f"{mantissa}{'·' if mantissa else ''}10{raised(int(exponent))}"
    else:
        text = f"{value:#.3g}" if abs(value) < 1000 else f"{value:.0f}"
        if float(f"{value:.3g}") == value:  # a round number, as limits are
            text = f"{value:.3g}"
        text = text.rstrip(".")
    return text.replace("-", "−")


def rounded(value: float) -> float:
    """Return 0 for round-off, other numbers unchanged."""
    return 0.0 if abs(value) < ROUND_OFF else value


def amount(value: float | None, unit: str) -> str:
    """Return a quantity as text: "278 nm", "0 m" for round-off, a dash where there is none."""
    if value is None or not math.isfinite(value):
        return DASH
    if unit in _SCALED:
        value = rounded(value)
    factor, shown = scale(abs(value), "" if unit == "1" else unit)
    return digits(value * factor) + (THIN + shown if shown else "")


def raised(exponent: int) -> str:
    """A whole number as an exponent: "⁻⁴"."""
    return str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
