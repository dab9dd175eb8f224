"""Compile the kernels of every process (`linkwork.machine.kernel_registry`) before any daemon starts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

from linkwork.machine.kernel_registry import common_cached, prepare_common

if TYPE_CHECKING:
    from linkwork.multibody.kernels.compiling import WarmReport

_MOST_PROCESSES = 4
"""More would mostly wait for kernels that others compile, and each takes some 300 MB."""


def have_kernels(console: Console) -> None:
    """Compile the kernels unless all of them are in the cache already."""
    if not common_cached():
        warm_kernels(console)


def warm_kernels(console: Console) -> WarmReport:
    """Compiles, or loads from the cache, every kernel; says so on the console when it has to compile."""
    from linkwork.multibody.kernels.compiling import COMPILING

    if common_cached():
        return prepare_common()
    line = f"compiling the kernels, {COMPILING}"
    with console.status(line) as status:
        if not console.is_terminal:
            console.print(line)

        def show(done: int, total: int, name: str) -> None:
            status.update(f"{line}: {done} of {total}, {name}")

        with _helpers():
            return prepare_common(show)


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
    prepare_common()
