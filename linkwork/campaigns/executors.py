"""Workers for runs: processes of this computer, or a Dask cluster."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

from linkwork.campaigns.run_worker import begin_worker
from linkwork.terminal.failures import Misuse
from linkwork.timing.realtime import single_threaded_blas


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
