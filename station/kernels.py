"""Compiles every kernel that some daemon needs, before any daemon starts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from multibody.compiling import WarmReport

_HOMES = (
    "plant.daemon",
    "plant.offline",
    "plant.constrained_stepping",
    "plant.compliant_stepping",
    "plant.force_sensing",
    "plant.load_cells",
    "controller.loop.process",
    "controller.loop.closed",
    "controller.loop.senses",
    "controller.laws.hybrid",
    "controller.trajectories.worker",
    "controller.trajectories.closed_walk",
    "controller.trajectories.touch",
)
"""Modules whose import declares all kernels of a process."""


def have_kernels(console: Console) -> None:
    """Compiles the kernels unless all of them are in the cache already."""
    from multibody.compiling import cached

    for home in _HOMES:
        import_module(home)
    if not cached():
        warm_kernels(console)


def warm_kernels(console: Console) -> WarmReport:
    """Compiles, or loads from the cache, every kernel; says so on the console when it has to compile."""
    from multibody.compiling import COMPILING, cached, warm

    for home in _HOMES:
        import_module(home)
    if cached():
        return warm()
    line = f"compiling the kernels, {COMPILING}"
    with console.status(line) as status:
        if not console.is_terminal:
            console.print(line)

        def show(done: int, total: int, name: str) -> None:
            status.update(f"{line}: {done} of {total}, {name}")

        return warm(show)
