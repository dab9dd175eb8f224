"""Output of commands: machine-readable text on standard output, all else, and progress, on standard error."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from linkwork.reports.quantities import rounded

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
    """Print the one JSON object of a command with --json. Numbers that JSON does not have become null."""
    sys.stdout.write(json.dumps(finite(content), ensure_ascii=False) + "\n")
    sys.stdout.flush()


def say(text: str) -> None:
    """Print a line of a command's answer on standard output."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def show(content: Table) -> None:
    """Print a table that is part of a command's answer on standard output."""
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
    """Return a plain table; the first column is text, the others are numbers."""
    from rich.table import Table

    made = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for index, column in enumerate(columns):
        made.add_column(column, justify="left" if index == 0 else "right", header_style="dim")
    for row in rows:
        made.add_row(*row)
    return made


def number(value: float | None) -> str:
    """Return a number as people read it: six significant digits, 0 for round-off, a dash for none."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{rounded(value):.6g}"


def finite(value: Any) -> Any:
    """Return data as plain lists and maps, with null for numbers that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(each) for each in value]
    return value


@contextmanager
def goal_bar(console: Console, what: str) -> Iterator[Callable[..., None]]:
    """Show a bar for one goal, where standard error is a terminal; call the result with 0 … 1 and a text.

    With LINKWORK_PROGRESS=lines there is a line for each percent instead: `progress 0.35 equations`.
    """
    if os.environ.get("LINKWORK_PROGRESS") == "lines":
        yield _progress_lines(console, what)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    with Progress(*columns, TimeElapsedColumn(), console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda fraction, text=what: bar.update(task, completed=fraction, description=text)


def _progress_lines(console: Console, what: str) -> Callable[..., None]:
    shown = -1

    def show(fraction: float, text: str = what) -> None:
        nonlocal shown
        if (percent := int(100.0 * fraction)) != shown:
            shown = percent
            console.print(f"progress {fraction:.2f} {text}", markup=False)

    return show


@contextmanager
def run_bar(console: Console, what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar for many runs, with an estimate of the end.

    Call the result with the numbers done and of all. Where standard error is no terminal there is a line for
    each tenth.
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )  # fmt: skip

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    tenth = -1
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)

        def show(done: int, whole: int) -> None:
            nonlocal tenth
            bar.update(task, completed=done, total=whole)
            if not console.is_terminal and whole and 10 * done // whole > tenth:
                tenth = 10 * done // whole
                console.print(f"{what}: {done} of {whole}", markup=False)

        yield show


MOST_SHOWN = 8
"""Passive joints, or other entries, up to which all of them are shown."""
MOST_ALIKE = 5
"""Problems of one kind that `check` shows."""
_ALL = "--all shows them"


def passive_joints(joints: Sequence[str], driven: Collection[str], *, show_all: bool) -> set[str]:
    """Return the joints to leave out: those that are not driven, where they are many and some are driven."""
    found = {name for name in joints if name not in driven}
    return set() if show_all or not driven or len(found) <= MOST_SHOWN else found


def left_out(hidden: Collection[str], what: str = "passive joints") -> str:
    """Return a text with the number of hidden entries, or '' if there are none."""
    return f"{len(hidden)} {what} ({_ALL})" if hidden else ""
