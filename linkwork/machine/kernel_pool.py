"""Compile missing kernels on all processors, in processes of their own.

A kernel is compiled when the kernels that it calls are in the cache; among those that can be compiled, the
one with the longest chain of callers comes first. Of processes that find kernels missing at the same time one
compiles, and the others wait for it.

As a program, `python -m linkwork.machine.kernel_pool` is one of these processes: it reads names of kernels
(`module:name`), one in a line, and repeats each when its kernel is in the cache.
"""

from __future__ import annotations

import fcntl
import os
import selectors
import subprocess
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from linkwork.multibody.kernels.compiling import MissingKernel

MOST_PROCESSES: Final = 8
"""Each process takes some 300 MB."""
WORTH_A_PROCESS: Final = 4
"""Missing kernels from which the start of processes pays."""

Progress = Callable[[int, int, str], None]


def compile_missing(modules: Collection[str], progress: Progress | None = None) -> int:
    """Compile the kernels of these imported modules, and those that they call, where the cache lacks them.

    `progress(done, total, name)` is called after each. Returns the number of compiled kernels; less than
    `WORTH_A_PROCESS` missing ones, and all on a single processor, are left to `warm`.
    """
    from linkwork.multibody.kernels.compiling import CACHE_FOLDER, missing, report_compiling

    count = min(len(os.sched_getaffinity(0)), MOST_PROCESSES)
    if count < 2 or len(missing(modules)) < WORTH_A_PROCESS:
        return 0
    report_compiling()
    CACHE_FOLDER.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (CACHE_FOLDER / "pool.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kernels = missing(modules)
        if len(kernels) < WORTH_A_PROCESS:
            return 0
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(CACHE_FOLDER.parent)}
        return _Pool(kernels, min(count, len(kernels)), environment).run(progress)


class _Pool:
    """The processes, and which kernels are still to be compiled."""

    def __init__(self, kernels: dict[str, MissingKernel], count: int, environment: dict[str, str]) -> None:
        self._waiting, self._total = dict(kernels), len(kernels)
        self._urgency = _urgency(kernels)
        self._busy: dict[int, str] = {}
        command = [sys.executable, "-m", __spec__.name if __spec__ else __name__]
        self._workers = [
            subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
                text=True,
            )
            for _ in range(count)
        ]

    def run(self, progress: Progress | None) -> int:
        """Compile all; return how many. A process that ends early leaves its kernel uncompiled."""
        done, idle = 0, list(self._workers)
        with selectors.DefaultSelector() as selector:
            try:
                for worker in self._workers:
                    selector.register(_pipe(worker.stdout), selectors.EVENT_READ, worker)
                while self._give(idle):
                    for key, _ in selector.select():
                        worker = key.data
                        finished = _pipe(worker.stdout).readline().strip()
                        name = self._busy.pop(worker.pid, "")
                        if not finished:
                            selector.unregister(key.fileobj)
                            continue
                        done += 1
                        idle.append(worker)
                        if progress is not None:
                            progress(done, self._total, name.partition(":")[2])
            finally:
                for worker in self._workers:
                    worker.kill()
                    worker.communicate()
        return done

    def _give(self, idle: list[subprocess.Popen[str]]) -> bool:
        """Give idle processes the kernels that can be compiled; return whether one is being compiled."""
        open_names = self._waiting.keys() | set(self._busy.values())
        ready = [name for name, each in self._waiting.items() if not each.calls & open_names]
        for name in sorted(ready, key=lambda name: self._urgency[name], reverse=True)[: len(idle)]:
            worker = idle.pop()
            with suppress(BrokenPipeError):  # an ended process shows at its other pipe
                _pipe(worker.stdin).write(f"{name}\n")
                _pipe(worker.stdin).flush()
            self._busy[worker.pid] = name
            del self._waiting[name]
        return bool(self._busy)


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None, "the process was started with pipes"
    return pipe


def _urgency(kernels: dict[str, MissingKernel]) -> dict[str, int]:
    """Size of each kernel with that of its longest chain of callers."""
    callers: dict[str, list[str]] = {name: [] for name in kernels}
    for name, kernel in kernels.items():
        for called in kernel.calls & kernels.keys():
            callers[called].append(name)
    found: dict[str, int] = {}

    def urgency(name: str) -> int:
        if name not in found:
            found[name] = kernels[name].size + max(map(urgency, callers[name]), default=0)
        return found[name]

    return {name: urgency(name) for name in kernels}


def main() -> None:
    """Compile the kernels that standard input names."""
    from linkwork.multibody.kernels.compiling import compile_named

    for line in sys.stdin:
        name = line.strip()
        compile_named(name)
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
