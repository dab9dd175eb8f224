"""Tables of a report: requirements with their numbers, faults with detection and reaction."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from linkwork.reports.markup import Markup, element, prose
from linkwork.reports.quantities import DASH, THIN, amount
from linkwork.rig.collected import FaultSeen, Number, TestFindings, Tolerated, Verdict

MARKS: Final[dict[Verdict, tuple[str, str]]] = {
    "passed": ("✓ passed", "good"),
    "failed": ("✕ failed", "bad"),
    "error": ("✕ error", "bad"),
    "skipped": ("– skipped", "skip"),
    "not run": ("✕ not run", "bad"),
}
"""Sign, word and colour of a verdict; the colour is never the only mark."""
_SIGNS: Final = {"<": "<", "<=": "≤", ">": ">", ">=": "≥", "==": "="}
_UNITS: Final = {
    "_rad_s": "rad/s", "_m_s": "m/s", "_N_m": "N m", "_rad": "rad", "_ticks": "ticks", "_kg": "kg",
    "_N": "N", "_ms": "ms", "_hz": "Hz", "_s": "s", "_m": "m",
}  # fmt: skip
"""Ends of keys, and the units they say."""
_SHOWN: Final = frozenset(
    {"kind", "of", "from_tick", "to_tick", "state", "applied", "text", "id", "seed", "name"}
    | {"wire", "sensor", "actuator", "mechanism", "processor", "time_s", "braked_after_ticks"}
)
"""Keys whose values are shown elsewhere, or describe the present state."""


def mark(verdict: Verdict) -> Markup:
    """A verdict."""
    text, hue = MARKS[verdict]
    return element("span", text, class_=hue)


def requirements(tests: Sequence[TestFindings]) -> Markup:
    """Every test: verdict, requirement, numbers beside their limits."""
    rows = [
        element(
            "tr",
            element("td", mark(test.verdict), class_="mark"),
            element("td", *_requirement(test), class_="requirement"),
        )
        for test in tests
    ]
    head = element("thead", element("tr", element("th", "verdict"), element("th", "requirement")))
    return element("table", head, element("tbody", *rows), class_="cards")


def _requirement(test: TestFindings) -> list[Markup | str]:
    parts: list[Markup | str] = [prose(test.requirement), element("small", test.node, class_="mono")]
    if test.verdict in ("failed", "error"):
        parts.append(element("p", test.why, class_="assertion bad"))
    elif test.reason:
        parts.append(element("p", test.reason, class_="reason"))
    if test.numbers:
        parts.append(numbers(test.numbers))
    if test.text:
        heading = element("summary", "output of pytest" + (f" ({test.stage})" if test.stage else ""))
        parts.append(element("details", heading, element("pre", test.text)))
    return parts


def numbers(given: Sequence[Number]) -> Markup:
    """Numbers, aligned, with their limits and how much of each was used."""
    rows = [
        element(
            "tr",
            element("td", plain(number.name), class_="name"),
            element("td", amount(number.value, number.unit), class_="n"),
            element("td", _limit(number), class_="quiet n"),
            element("td", _share(number), class_="bar"),
            element("td", None if number.holds else element("span", "✕", class_="bad")),
        )
        for number in given
    ]
    return element("table", *rows, class_="numbers")


def _limit(number: Number) -> str:
    return f"{_SIGNS[number.relation]} {amount(number.limit, number.unit)}" if number.relation else ""


def plain(name: str) -> str:
    """A number's name as words: "tracking error x, max"."""
    return name.replace(").", ", ").replace("(", " ").replace(")", "").replace(".", ", ").replace("_", " ")


def _share(number: Number) -> Markup | None:
    """Return the used share of an upper limit."""
    used = abs(number.value) / abs(number.limit) if number.limit else math.inf
    if number.relation not in ("<", "<=") or not math.isfinite(used):
        return None
    bar = element("i", style=f"width:{min(100.0, max(1.0, 100.0 * used)):.0f}%")
    return element(
        "span", bar, class_="share" if number.holds else "share bad", title=f"{100 * used:.3g} % of the limit"
    )


def faults(tests: Sequence[TestFindings], units: Mapping[str, str], period_s: float) -> Markup | None:
    """Injected faults and their detection; None without any. units: of each joint."""
    rows = [
        row
        for test in tests
        for row in (
            *(_seen(fault, units, period_s) for fault in test.faults),
            *(_tolerated(each) for each in test.tolerated),
            *_unjudged(test),
        )
    ]
    if not rows:
        return None
    titles = ("injected", "at tick", "detected by", "after", "reaction", "stopping", "")
    head = element("thead", element("tr", *(element("th", title) for title in titles)))
    return element("div", element("table", head, element("tbody", *rows), class_="cards"), class_="wide")


def _seen(fault: FaultSeen, units: Mapping[str, str], period_s: float) -> Markup:
    found = fault.found or "nothing"
    expected = None if fault.found in fault.expected else f"expected {' or '.join(fault.expected)}"
    delay = DASH if fault.delay_ticks is None else _counted(fault.delay_ticks)
    after: list[Markup | str] = [delay]
    if fault.delay_ticks is not None:
        within = "" if fault.allowed_ticks is None else f", {fault.allowed_ticks} allowed"
        after.append(element("small", f"{amount(fault.delay_ticks * period_s, 's')}{within}"))
    return _row(
        injected(fault.injected),
        _ticks(fault.injected),
        [element("code", found), element("small", expected or fault.text)],
        after,
        [fault.reaction or DASH],
        stopping(fault.stopping_s, fault.stopping_distance, units),
        mark("passed" if fault.holds else "failed"),
    )


def _counted(ticks: int) -> str:
    return f"{ticks} tick{'' if ticks == 1 else 's'}"


def _tolerated(each: Tolerated) -> Markup:
    cells = [
        element("td", *injected(each.injected), data_label="injected:"),
        element("td", _ticks(each.injected), data_label="at tick:", class_="n"),
        element(
            "td",
            "tolerated by design",
            element("small", each.because),
            numbers([each.bound]),
            colspan="4",
        ),
        element("td", mark("passed" if each.bound.holds else "failed"), class_="mark"),
    ]
    return element("tr", *cells)


def _unjudged(test: TestFindings) -> list[Markup]:
    """Injected faults of tests that state neither an expected fault nor a toleration."""
    if test.faults or test.tolerated:
        return []
    return [
        _row(injected(each), _ticks(each), [DASH], [DASH], [DASH], [DASH], mark(test.verdict))
        for each in test.injected
    ]


def _row(
    what: Sequence[Markup | str],
    when: str,
    detected: Sequence[Markup | str],
    after: Sequence[Markup | str],
    reaction: Sequence[str],
    stop: Sequence[Markup | str],
    verdict: Markup,
) -> Markup:
    return element(
        "tr",
        element("td", *what, data_label="injected:"),
        element("td", when, data_label="at tick:", class_="n"),
        element("td", *detected, data_label="detected by:"),
        element("td", *after, data_label="after:", class_="n"),
        element("td", *reaction, data_label="reaction:"),
        element("td", *stop, data_label="stopping:"),
        element("td", verdict, class_="mark"),
    )


def injected(entry: Mapping[str, Any]) -> list[Markup | str]:
    """An injected fault in words: its kind, of what, and with what numbers."""
    kind = str(entry.get("kind") or next(iter(entry), "fault")).replace(".", ": ").replace("_", " ")
    of = entry.get("of")
    settings = [
        _setting(key, value)
        for key, value in entry.items()
        if key not in _SHOWN and value is not None and not isinstance(value, (dict, list))
    ]
    small = ", ".join(settings)
    return [f"{kind}, {of}" if of else kind, element("small", small) if small else None or ""]


def _setting(key: str, value: Any) -> str:
    """A number of a time line with its unit, which the key's end says: "by 0.01 rad"."""
    unit = next((unit for end, unit in _UNITS.items() if key.endswith(end)), "")
    if not unit or not isinstance(value, (int, float)):
        shown = f"{value:g}" if isinstance(value, float) else value
        return f"{key.replace('_', ' ')} {shown}"
    what = key.removesuffix(next(end for end in _UNITS if key.endswith(end))).replace("_", " ").strip()
    return f"{what} {value:g}{THIN}{unit}".strip()


def _ticks(entry: Mapping[str, Any]) -> str:
    begin = entry.get("from_tick", entry.get("at_tick"))
    return DASH if begin is None else str(begin)


def stopping(
    seconds: float | None, ways: Mapping[str, float], units: Mapping[str, str]
) -> list[Markup | str]:
    """Time to rest, and the way of the joint that went furthest of each unit."""
    if seconds is None:
        return [DASH]
    parts: list[Markup | str] = [amount(seconds, "s")]
    furthest: dict[str, tuple[str, float]] = {}
    for joint, way in ways.items():
        unit = units.get(joint, "rad")
        if abs(way) >= abs(furthest.get(unit, ("", 0.0))[1]):
            furthest[unit] = joint, way
    parts += [element("small", f"{amount(way, unit)}, {joint}") for unit, (joint, way) in furthest.items()]
    return parts
