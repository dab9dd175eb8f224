"""Compiles every kernel that some daemon needs, before any daemon starts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from linkwork.multibody.kernels.compiling import WarmReport

_HOMES = (
    "linkwork.plant.plant_daemon",
    "linkwork.plant.offline.run",
    "linkwork.plant.constrained_stepping",
    "linkwork.plant.compliant_stepping",
    "linkwork.plant.simulated_force_sensors",
    "linkwork.plant.load_cells",
    "linkwork.controller.loop.loop_process",
    "linkwork.controller.estimation.closed_chain_model",
    "linkwork.controller.estimation.force_sources",
    "linkwork.controller.planning.planner_process",
    "linkwork.controller.planning.closed_chain_walk",
    "linkwork.controller.planning.contact_check",
)
"""Modules whose import declares all kernels of a process, beside the laws'."""
_MOST_PROCESSES = 4
"""More would mostly wait for kernels that others compile, and each takes some 300 MB."""


def _declare_all() -> None:
    from linkwork.controller.laws.law_table import law_modules

    for module in (*_HOMES, *law_modules()):
        import_module(module)


def have_kernels(console: Console) -> None:
    """Compiles the kernels unless all of them are in the cache already."""
    from linkwork.multibody.kernels.compiling import cached

    _declare_all()
    if not cached():
        warm_kernels(console)


def warm_kernels(console: Console) -> WarmReport:
    """Compiles, or loads from the cache, every kernel; says so on the console when it has to compile."""
    from linkwork.multibody.kernels.compiling import COMPILING, cached, warm

    _declare_all()
    if cached():
        return warm()
    line = f"compiling the kernels, {COMPILING}"
    with console.status(line) as status:
        if not console.is_terminal:
            console.print(line)

        def show(done: int, total: int, name: str) -> None:
            status.update(f"{line}: {done} of {total}, {name}")

        with _helpers():
            return warm(show)


@contextmanager
def _helpers() -> Iterator[None]:
    """Processes that compile beside this one, as many as there are processors, at most four in all."""
    count = min(len(os.sched_getaffinity(0)), _MOST_PROCESSES) - 1
    command = [sys.executable, "-m", "linkwork.launch.warm"]
    none = subprocess.DEVNULL
    helpers = [subprocess.Popen(command, stdin=none, stdout=none, stderr=none) for _ in range(count)]
    try:
        yield
    finally:
        for helper in helpers:
            helper.terminate()
            helper.wait()


if __name__ == "__main__":
    from linkwork.multibody.kernels.compiling import warm

    _declare_all()
    warm()
