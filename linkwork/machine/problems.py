"""Problems of a file, one `Problem` each, and the error that contains them all."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

_SHOWN = 60
REFUSES = "the controller refuses this machine"
"""How each of its refusals begins, wherever it is shown."""

Place = tuple[str | int, ...]  # the keys and list indices that lead to a value


@dataclass(frozen=True)
class Problem:
    """One problem of a file, with its place, the value found and the values allowed.

    `line` and `column` count from 1 and are None where a problem has no place in the file (a missing file,
    an assignment given on the command line). `key` is the path of the key, joined by dots
    ("bodies.crank.mass_kg").
    """

    file: str
    line: int | None
    column: int | None
    key: str
    message: str
    found: str = ""
    allowed: str = ""
    remedy: str = ""
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        """Return the problem as text: place, message, value found and values allowed, remedy."""
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        head = f"{place}: {self.severity}: " + (f"{self.key}: " if self.key else "") + self.message
        rows = (("found", self.found), ("allowed", self.allowed), ("remedy", self.remedy))
        lines = [head, *(f"    {label:<8} {text}" for label, text in rows if text)]
        return "\n".join(_printable(line) for line in lines)


class MachineError(Exception):
    """A file (or an assignment) that cannot be used. `problems` holds every problem found, in file order."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        """Keep the problems; the text of the error is theirs, one after the other."""
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    def __reduce__(self) -> tuple[type[MachineError], tuple[tuple[Problem, ...]]]:
        """Let the error cross a process boundary whole."""
        return type(self), (self.problems,)


def refuse(problems: Iterable[Problem]) -> None:
    """Raise MachineError with the problems, where there are any."""
    found = list(problems)
    if found:
        raise MachineError(found)


def dotted(path: Sequence[str | int]) -> str:
    """Write a path as people do: ("bodies", "crank", "com_m", 1) becomes bodies.crank.com_m[1]."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def counted(number: int, one: str) -> str:
    """Return a number with a noun in the singular or plural."""
    many = f"{one.removesuffix('y')}ies" if one.endswith("y") else f"{one}s"
    return f"{number} {one if number == 1 else many}"


def shown(value: Any) -> str:
    """Return a value as YAML text, cut to fit on a line."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return f"a mapping ({_cut(', '.join(map(str, value))) or 'empty'})"
    if isinstance(value, (list, tuple)):
        return _cut(
            "[" + ", ".join(shown(item) for item in value[:12]) + (", …]" if len(value) > 12 else "]")
        )
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    if isinstance(value, int) and value.bit_length() > 200:
        return "an integer of more than 60 digits"
    return _cut(repr(value) if isinstance(value, (str, int, float)) else str(value))


def _printable(line: str) -> str:
    """Escape what would move the cursor or change the colours of a terminal."""
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
