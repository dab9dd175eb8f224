"""Carrying out the runs of a campaign that have no result yet."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Final

from linkwork.campaigns.campaign_plan import RunRecipe, RunTask
from linkwork.campaigns.executors import local_workers
from linkwork.campaigns.run_worker import carry_out

AHEAD: Final = 2
"""Chunks that wait for each worker, besides the one it carries out."""
CHUNK_S: Final = 0.5
"""Time that a chunk of runs is to take: long beside its way to the worker, short beside a campaign."""
MOST_IN_CHUNK: Final = 64
MOST_ENDINGS: Final = 5
"""Times in a row that workers may end without any result between."""

Record = Callable[[bytes], object]
Done = tuple[list[bytes], float]


class WorkersEnded(RuntimeError):
    """Workers end again and again; the text says what is known."""


@dataclass
class _Pace:
    """The size of the next chunk, from the time that runs have taken."""

    seconds: float = 0.0
    runs: int = 0

    @property
    def chunk(self) -> int:
        """Number of runs that take about CHUNK_S."""
        if not self.runs:
            return 1
        return min(MOST_IN_CHUNK, max(1, int(CHUNK_S * self.runs / max(self.seconds, 1e-6))))


def carry_out_here(recipe: RunRecipe, tasks: Iterable[RunTask], workers: int, record: Record) -> None:
    """Carry out runs on worker processes of this computer; `record` receives every line.

    A worker that ends is replaced, and its runs are carried out again. Raises WorkersEnded.
    """
    rest: Iterator[RunTask] = iter(tasks)
    endings = 0
    while True:
        noted = [0]

        def count(line: bytes, noted: list[int] = noted) -> None:
            record(line)
            noted[0] += 1

        pool = local_workers(workers)
        try:
            again = _on(pool, recipe, rest, workers, count)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        if not again:
            return
        endings = 0 if noted[0] else endings + 1
        if endings >= MOST_ENDINGS:
            runs = ", ".join(str(task.run) for task in again[:5])
            raise WorkersEnded(
                f"worker processes ended {endings} times in a row without a result; they carried out runs"
                f" {runs} …; one alone: linkwork campaign FILE --run {again[0].run}"
            )
        rest = itertools.chain(again, rest)


def carry_out_on(
    executor: Executor, recipe: RunRecipe, tasks: Iterable[RunTask], workers: int, record: Record
) -> None:
    """Carry out runs on an executor that replaces its workers itself."""
    _on(executor, recipe, iter(tasks), workers, record)


def _on(
    executor: Executor, recipe: RunRecipe, rest: Iterator[RunTask], workers: int, record: Record
) -> list[RunTask]:
    """Carry out runs; return those that were lost with the workers of a broken pool."""
    pace = _Pace()
    futures: dict[Future[Done], list[RunTask]] = {}
    lost: list[RunTask] = []

    def finish(future: Future[Done], chunk: list[RunTask]) -> None:
        try:
            lines, seconds = future.result()
        except BrokenProcessPool:
            lost.extend(chunk)
            return
        for line in lines:
            record(line)
        pace.seconds, pace.runs = pace.seconds + seconds, pace.runs + len(lines)

    while not lost:
        while len(futures) < workers * (1 + AHEAD) and (chunk := list(itertools.islice(rest, pace.chunk))):
            try:
                futures[executor.submit(carry_out, recipe, chunk)] = chunk
            except BrokenProcessPool:
                lost += chunk
                break
        if not futures:
            break
        for future in wait(futures, return_when=FIRST_COMPLETED).done:
            finish(future, futures.pop(future))
    for future, chunk in futures.items():  # a broken pool has ended all of them
        finish(future, chunk)
    return lost
