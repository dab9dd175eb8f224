"""Progress bars on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


@contextmanager
def goal_bar(console: Console, what: str) -> Iterator[Callable[[float], None]]:
    """A bar for one goal, where standard error is a terminal; call the result with 0 … 1."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    with Progress(*columns, TimeElapsedColumn(), console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda fraction: bar.update(task, completed=fraction)


@contextmanager
def run_bar(console: Console, what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for many runs with an estimate of the end; call the result with the numbers done and of all.

    Where standard error is no terminal there is a line for each tenth.
    """
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
