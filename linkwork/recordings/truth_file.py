"""Record of the true motion of a simulated plant, as `linkwork plant --truth` writes it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.brief import Brief
from linkwork.regular_files import check_regular


@dataclass(frozen=True, repr=False)
class Truth(Brief):
    """n periods of the plant: its ticks (n,), q (n, nq), and the effort on every joint (n, nv).

    parts: centres (n, 3; m) of the loose parts, by name.
    """

    period_s: float
    tick: Floats
    q: Floats
    effort: Floats
    parts: dict[str, Floats] = field(default_factory=dict)

    def rows_at(self, time_s: Floats) -> NDArray[np.int64]:
        """Return the rows (n) of the states of these device times (n; s). Raises ValueError when one is
        missing.
        """
        ticks = np.round(time_s / self.period_s)
        rows: NDArray[np.int64] = np.minimum(np.searchsorted(self.tick, ticks), len(self.tick) - 1)
        if not np.array_equal(self.tick[rows], ticks):
            raise ValueError("the plant's record does not hold every state of the log")
        return rows


def read_truth(path: Path) -> Truth:
    """The record written by `linkwork plant --truth`. An incomplete end after a crash is left out."""
    check_regular(path)
    with path.open("rb") as file:
        head = json.loads(file.readline())
        content = file.read()
    numbers = np.frombuffer(content[: len(content) // 8 * 8], "<f8")
    columns = head["columns"]
    rows = numbers[: len(numbers) // len(columns) * len(columns)].reshape(-1, len(columns))
    kinds = np.array([name.partition(".")[0] for name in columns])
    first = {
        name.split(".")[1]: at for at, name in reversed([*enumerate(columns)]) if name.startswith("part.")
    }
    parts = {name: rows[:, at : at + 3] for name, at in reversed(first.items())}
    return Truth(head["period_s"], rows[:, 0], rows[:, kinds == "q"], rows[:, kinds == "effort"], parts)
