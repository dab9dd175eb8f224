"""Two reports' numbers side by side: what differs, apart from where and when they were made."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from linkwork.regular_files import check_regular
from linkwork.rig.report.report_data import FORMAT

LEFT_OUT: Final = frozenset({"provenance", "timing", "text"})
"""Keys that are not compared: where and when; times of a clock; the words of failures."""


class NoReport(ValueError):
    """A file that is no report. The text says which and why."""


@dataclass(frozen=True)
class ChangedNumber:
    """Place of a difference between two reports: "five_bar / test_stops.py::test_brakes / numbers / 0 /
    value".
    """

    place: str
    one: Any
    other: Any

    def __str__(self) -> str:
        """Return the difference as one line."""
        return f"{self.place}: {_shown(self.one)}, {_shown(self.other)}"


def read_report(path: Path) -> dict[str, Any]:
    """Return the content of a report.json. Raises NoReport."""
    try:
        check_regular(path)
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise NoReport(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise NoReport(f"{path} is not a report: it is not JSON ({error})") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise NoReport(f"{path} is not a report of this version: its `format` is not {FORMAT!r}")
    return found


def differences(one: Any, other: Any, tolerance: float = 0.0) -> list[ChangedNumber]:
    """All of them. tolerance: by how much numbers may differ, as a part of the larger."""
    return list(_compared("", one, other, tolerance))


_ABSENT: Final = object()


def _compared(place: str, one: Any, other: Any, tolerance: float) -> Iterator[ChangedNumber]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys([*one, *other]):
            if key not in LEFT_OUT:
                yield from _compared(
                    _below(place, key), one.get(key, _ABSENT), other.get(key, _ABSENT), tolerance
                )
    elif isinstance(one, list) and isinstance(other, list):
        ones, others = _named(one), _named(other)
        for key in dict.fromkeys([*ones, *others]):
            yield from _compared(
                _below(place, key), ones.get(key, _ABSENT), others.get(key, _ABSENT), tolerance
            )
    elif not _same(one, other, tolerance):
        yield ChangedNumber(place, one, other)


def _named(items: list[Any]) -> dict[str, Any]:
    """Items by their own names where they have some, else by their places."""
    named: dict[str, Any] = {}
    for index, item in enumerate(items):
        name = item.get("node", item.get("name")) if isinstance(item, Mapping) else None
        key = str(index) if name is None else str(name)
        named[key if key not in named else f"{key} {index}"] = item
    return named


def _same(one: Any, other: Any, tolerance: float) -> bool:
    numbers = all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in (one, other))
    if numbers and tolerance:
        return math.isclose(one, other, rel_tol=tolerance)
    return bool(one == other)


def _below(place: str, key: str) -> str:
    return f"{place} / {key}" if place and place != "machines" else key


def _shown(value: Any) -> str:
    return "not there" if value is _ABSENT else json.dumps(value, ensure_ascii=False)
