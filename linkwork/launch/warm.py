"""Compile kernels on all processors before any daemon starts (`linkwork.machine.kernel_pool`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from linkwork.machine.kernel_registry import prepare_common, prepare_machine

if TYPE_CHECKING:
    from linkwork.machine.description import Machine
    from linkwork.multibody.kernels.compiling import WarmReport


def have_kernels(console: Console, machines: Iterable[Machine]) -> None:
    """Compile what the daemons of these machines call, unless the cache has it."""
    with _bar(console) as show:
        for machine in machines:
            prepare_machine(machine, show)


def warm_kernels(console: Console) -> WarmReport:
    """Compiles, or loads from the cache, every kernel; shows a bar on the console when it has to compile."""
    with _bar(console) as show:
        return prepare_common(show)


@contextmanager
def _bar(console: Console) -> Iterator[Callable[[int, int, str], None]]:
    """Yield a function that shows how many kernels of how many are compiled; the first call shows the bar."""
    from linkwork.multibody.kernels.compiling import COMPILING, when_compiling

    columns = (TextColumn("compiling the kernels"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, TextColumn("{task.description}"), console=console, transient=True)
    task = bar.add_task("")

    def begin() -> None:
        if console.is_terminal:
            bar.start()
        else:
            console.print(f"compiling the kernels, {COMPILING}")

    def show(done: int, total: int, name: str) -> None:
        bar.update(task, completed=done, total=total, description=name)

    when_compiling(begin)
    try:
        yield show
    finally:
        bar.stop()
