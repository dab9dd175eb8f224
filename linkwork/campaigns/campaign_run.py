"""A campaign from its plan to its files: runs, table, report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from linkwork.campaigns.campaign_plan import CampaignPlan, tasks_of
from linkwork.campaigns.carrying_out import LocalWorkers, WorkersEnded, carry_out_on, cluster
from linkwork.campaigns.result_store import ResultStore
from linkwork.campaigns.results_table import write_table
from linkwork.campaigns.run_worker import RunWorker
from linkwork.terminal.failures import Misuse, require

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
