"""Output of commands: machine-readable text on standard output, all else on standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    console: Console
    """Progress, tables, remarks."""


def __getattr__(name: str) -> Any:
    if name == "console":
        return _console()
    raise AttributeError(name)


@cache
def _console() -> Console:
    """Return the console, made on first use: commands of one line do not load it."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def emit(content: Mapping[str, Any]) -> None:
    """The one JSON object of a command with --json. Numbers that JSON does not have become null."""
    sys.stdout.write(json.dumps(_finite(content), ensure_ascii=False) + "\n")
    sys.stdout.flush()


def say(text: str) -> None:
    """A line of a command's answer, plain, on standard output."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def show(content: Table) -> None:
    """A table that is part of a command's answer, on standard output."""
    from rich.console import Console

    Console(highlight=False, soft_wrap=True).print(content)


def remark(text: str) -> None:
    """Print a remark on standard error."""
    _console().print(text)


def complain(text: str) -> None:
    """Print an error on standard error, unchanged."""
    if sys.stderr.isatty():
        _console().print(text, markup=False, style="red")
    else:
        sys.stderr.write(text + "\n")


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A plain table; the first column is text, the others are numbers."""
    from rich.table import Table

    made = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for index, column in enumerate(columns):
        made.add_column(column, justify="left" if index == 0 else "right", header_style="dim")
    for row in rows:
        made.add_row(*row)
    return made


_NOTHING = 1e-12
"""Magnitude below which a number is round-off, in SI units."""


def number(value: float | None) -> str:
    """A number for people: six significant digits, 0 for round-off, a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    return "0" if abs(value) < _NOTHING else f"{value:.6g}"


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return value
