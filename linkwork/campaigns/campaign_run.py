"""A campaign from its plan to its files: runs on this computer or a Dask cluster, table, report."""

from __future__ import annotations

import itertools
import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, Self

from linkwork.campaigns.campaign_plan import CampaignPlan, RunRecipe, RunTask, tasks_of
from linkwork.campaigns.result_store import ResultStore
from linkwork.campaigns.results_table import write_table
from linkwork.campaigns.run_worker import RunWorker, begin_worker, carry_out
from linkwork.terminal.failures import Misuse, require
from linkwork.timing.realtime import single_threaded_blas

Advance = Callable[[int, int], None]
"""Receives the number of runs done, and of all."""


@dataclass(frozen=True)
class CampaignOptions:
    """Options of a campaign. on: address of a Dask scheduler, "local" for one that is started here,
    None: worker processes of this computer.
    """

    folder: Path
    workers: int
    on: str | None = None


@dataclass(frozen=True)
class Estimate:
    """Result of a dry run: runs left, seconds for one, and for all of them on the workers."""

    left: int
    run_s: float
    total_s: float


@contextmanager
def plain_failures() -> Iterator[None]:
    """Raise Misuse where the workers end, or the system refuses a file or memory."""
    try:
        yield
    except WorkersEnded as error:
        raise Misuse(str(error)) from None
    except OSError as error:
        where = [error.filename] if error.filename else getattr(error, "__notes__", [])
        text = ": ".join(map(str, [*where, error.strerror or error]))
        raise Misuse(f"{text}; recorded results are kept: the same command continues") from None


def run_campaign(
    plan: CampaignPlan, options: CampaignOptions, advance: Advance = lambda _done, _all: None
) -> Path:
    """Carry out the runs that have no result yet, and write the table; return its path.

    Raises MachineError for a folder of another campaign, Misuse where a library or a cluster is missing,
    WorkersEnded.
    """
    require("campaigns", "campaign", "pyarrow")
    with ResultStore(options.folder, plan.content, plan.runs) as store:
        done = int(store.done.sum())
        advance(done, plan.runs)

        def record(line: bytes) -> None:
            nonlocal done
            done += store.append(line)
            advance(done, plan.runs)

        tasks = tasks_of(plan, store.done)
        if done == plan.runs:
            pass
        elif options.on is None:
            workers = min(options.workers, plan.runs - done)
            with LocalWorkers(workers) as pool:
                pool.carry_out(plan.recipe, tasks, record)
        else:
            with cluster(options.on, options.workers) as found:
                carry_out_on(found, plan.recipe, tasks, record)
        return write_table(plan, store, options.folder)


def estimate(plan: CampaignPlan, options: CampaignOptions) -> Estimate:
    """Measure a few runs in this process; nothing is recorded."""
    left = plan.runs
    holder: AbstractContextManager[ResultStore | None] = nullcontext(None)
    if (options.folder / "results.jsonl").exists():
        holder = ResultStore(options.folder, plan.content, plan.runs)
    with holder as store:
        if store is not None:
            left = plan.runs - int(store.done.sum())
    worker = RunWorker(plan.recipe)
    chosen = [plan.task(int(share * (plan.runs - 1))) for share in (0.0, 0.5, 1.0)]
    worker.line(chosen[0])  # the kernels are loaded now
    begun = time.monotonic()
    for task in chosen:
        worker.line(task)
    run_s = (time.monotonic() - begun) / len(chosen)
    return Estimate(left, run_s, left * run_s / max(1, options.workers))


AHEAD: Final = 2
"""Chunks that wait for each worker, besides the one it carries out."""
CHUNK_S: Final = 0.25
"""Time that a chunk of runs is to take: long beside its way to the worker, short beside a campaign."""
MOST_IN_CHUNK: Final = 64
UNMANNED_S: Final = 30.0
"""Time without a result after which a cluster must have a worker."""
MOST_ENDINGS: Final = 5
"""Times in a row that workers may end without any result between."""

Record = Callable[[bytes], object]
Done = tuple[list[bytes], float]


class WorkersEnded(RuntimeError):
    """Raised when workers end repeatedly; the text gives the cause where it is known."""


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


class LocalWorkers:
    """Worker processes of this computer; one that ends is replaced. Use it as a context manager."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool = local_workers(count)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def carry_out(self, recipe: RunRecipe, tasks: Iterable[RunTask], record: Record) -> None:
        """Carry out runs; `record` receives every line. Raises WorkersEnded."""
        rest: Iterator[RunTask] = iter(tasks)
        endings = noted = 0

        def count(line: bytes) -> None:
            nonlocal noted
            record(line)
            noted += 1

        while again := _on(self._pool, recipe, rest, lambda: self._count, count):
            endings, noted = (0 if noted else endings + 1), 0
            if endings >= MOST_ENDINGS:
                runs = ", ".join(str(task.run) for task in again[:5])
                raise WorkersEnded(
                    f"worker processes ended {endings} times in a row without a result; they carried out"
                    f" runs {runs} …; one alone: linkwork campaign FILE --run {again[0].run}"
                )
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = local_workers(self._count)
            rest = itertools.chain(again, rest)


def carry_out_on(cluster: Cluster, recipe: RunRecipe, tasks: Iterable[RunTask], record: Record) -> None:
    """Carry out runs on a cluster, which replaces its workers itself. Raises WorkersEnded.

    tasks: the runs of `recipe`; record: called with each run's line of results.
    """
    _on(cluster.executor, recipe, iter(tasks), cluster.threads, record, _plain_failures)


@contextmanager
def _plain_failures() -> Iterator[None]:
    """Raise WorkersEnded where a cluster fails."""
    try:
        yield
    except Exception as error:  # the scheduler has gone, or gives a run up
        if isinstance(error, CancelledError):
            text = "the scheduler has ended"
        elif isinstance(error, OSError) or "distributed" in type(error).__module__:
            text = f"the cluster does not carry out the runs: {type(error).__name__} {error}"
        else:
            raise
        raise WorkersEnded(f"{text}; recorded results are kept: the same command continues") from None


def _on(
    executor: Executor,
    recipe: RunRecipe,
    rest: Iterator[RunTask],
    workers: Callable[[], int],
    record: Record,
    guarded: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> list[RunTask]:
    """Carry out runs; return those that were lost with the workers of a broken pool.

    workers: returns their number now; without any for a time WorkersEnded is raised. guarded: context of
    what is asked of the executor, which recording is not.
    """
    pace = _Pace()
    futures: dict[Future[Done], list[RunTask]] = {}
    lost: list[RunTask] = []

    def finish(future: Future[Done], chunk: list[RunTask]) -> None:
        try:
            with guarded():
                lines, seconds = future.result()
        except BrokenProcessPool:
            lost.extend(chunk)
            return
        for line in lines:
            record(line)
        pace.seconds, pace.runs = pace.seconds + seconds, pace.runs + len(lines)

    while not lost:
        with guarded():
            most = max(1, workers()) * (1 + AHEAD)
        while len(futures) < most and (chunk := list(itertools.islice(rest, pace.chunk))):
            try:
                with guarded():
                    futures[executor.submit(carry_out, recipe, chunk)] = chunk
            except BrokenProcessPool:
                lost += chunk
                break
        if not futures:
            break
        done = wait(futures, UNMANNED_S, FIRST_COMPLETED).done
        with guarded():
            if not done and not workers():
                raise WorkersEnded("the cluster has no workers left: start some; the same command continues")
        for future in done:
            finish(future, futures.pop(future))
    for future, chunk in futures.items():  # a broken pool has ended all of them
        finish(future, chunk)
    return lost


def processors() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


def local_workers(count: int) -> ProcessPoolExecutor:
    """Worker processes of this computer, each with one thread. They end when this process does."""
    single_threaded_blas()  # in the environment that they inherit
    return ProcessPoolExecutor(count, get_context("spawn"), initializer=begin_worker)


@dataclass(frozen=True)
class Cluster:
    """A Dask cluster. threads: returns their number now; workers come and go."""

    executor: Executor
    threads: Callable[[], int]


@contextmanager
def cluster(address: str, workers: int) -> Iterator[Cluster]:
    """A Dask cluster. address: of its scheduler, or "local" for one that is started and ended here with this
    many workers. Raises Misuse where it cannot be reached.
    """
    try:
        import distributed
    except ImportError:
        raise Misuse("--on needs Dask, which is not installed: pip install 'linkwork[campaign]'") from None
    if address != "local" and not re.fullmatch(r"\w+://\S+:\d+", address):
        raise Misuse(f"--on {address}: give the address of a scheduler, tcp://HOST:8786, or local")
    single_threaded_blas()
    for name in ("distributed", "distributed.client", "tornado.application"):  # the caller shows failures
        logging.getLogger(name).setLevel(logging.CRITICAL)
    started: Any = None
    dask: Any = distributed
    try:
        if address == "local":
            started = dask.LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
            )
        client = dask.Client(started or address, timeout=10, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise Misuse(f"--on {address}: no Dask scheduler answers there: {error}") from None
    try:
        found = Cluster(client.get_executor(pure=False), lambda: sum(client.nthreads().values()))
        if not found.threads():
            raise Misuse(f"--on {address}: the scheduler has no workers: start some with `dask worker`")
        yield found
    finally:
        client.close()
        if started is not None:
            started.close()
