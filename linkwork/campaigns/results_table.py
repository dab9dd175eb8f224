"""The table of a campaign: one Parquet file, a row for each run, ordered by run, without wall times."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.campaigns.campaign_plan import CampaignPlan
from linkwork.campaigns.merit import SUCCESSFUL
from linkwork.campaigns.result_store import ResultStore

FILE: Final = "results.parquet"
ROWS: Final = 5_000
"""Rows written together: what the memory of the writer is for."""


def write_table(plan: CampaignPlan, store: ResultStore, folder: Path) -> Path:
    """Write the table of all runs to `folder`; return its path. An older one is replaced when it is whole.

    store: results of the runs.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / FILE
    new = path.with_suffix(".new")
    kinds = {"run": pa.int64(), "sample": pa.int64(), "variant": pa.string(), "trajectory": pa.string()}
    kinds |= {"stream": pa.int64(), "result": pa.string(), "fault": pa.string(), "passed": pa.bool_()}
    kinds |= {"text": pa.string()}
    kinds |= {f"parameter.{name}": pa.float64() for name in plan.recipe.parameter_names}
    kinds |= dict.fromkeys(plan.figures, pa.float64())
    schema = pa.schema(list(kinds.items()))
    try:
        with pq.ParquetWriter(new, schema, compression="zstd") as writer:
            for first in range(0, plan.runs, ROWS):
                rows = [_row(plan, store, run) for run in range(first, min(first + ROWS, plan.runs))]
                columns = [pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()]
                writer.write_batch(pa.record_batch(columns, schema=schema))
    except OSError as error:  # pyarrow leaves out the name of the file
        new.unlink(missing_ok=True)
        raise OSError(error.errno, os.strerror(error.errno or errno.EIO), str(path)) from None
    return new.replace(path)


def _row(plan: CampaignPlan, store: ResultStore, run: int) -> dict[str, Any]:
    task, found = plan.task(run), store.read(run)
    values = found["figures"] or [None] * len(plan.figures)
    figures = dict(zip(plan.figures, values, strict=True))
    return {
        "run": run,
        "sample": plan.sample_of(run),
        "variant": task.variant,
        "trajectory": task.trajectory,
        "stream": task.stream,
        "result": found["result"],
        "fault": found["fault"],
        "passed": passed(plan, found["result"], figures),
        "text": found["text"],
        **{
            f"parameter.{name}": value
            for name, value in zip(plan.recipe.parameter_names, task.values, strict=True)
        },
        **figures,
    }


def passed(plan: CampaignPlan, result: str, figures: dict[str, float | None]) -> bool:
    """Return whether a run succeeded and meets every requirement of its campaign.

    result: the run's. figures: its figures of merit by name, None where a run has none.
    """
    return result == SUCCESSFUL and all(
        (value := figures[name]) is not None and value <= limit
        for name, limit in plan.file.requirements.items()
    )


class ResultsTable:
    """Reads the columns of a table one by one."""

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq

        self._file = pq.ParquetFile(path)
        self.rows: int = self._file.metadata.num_rows

    def numbers(self, name: str) -> Floats:
        """Return a column of numbers (rows,), NaN where there is none."""
        column = self._file.read([name]).column(name)
        values: Floats = column.to_numpy(zero_copy_only=False).astype(np.float64)
        return values

    def texts(self, name: str) -> np.ndarray[Any, np.dtype[np.object_]]:
        """Return a column of texts (rows,)."""
        found: np.ndarray[Any, np.dtype[np.object_]] = (
            self._file.read([name]).column(name).to_numpy(zero_copy_only=False)
        )
        return found

    def names(self) -> Iterator[str]:
        """Yield the names of the columns."""
        yield from self._file.schema_arrow.names
