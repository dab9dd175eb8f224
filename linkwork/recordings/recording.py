"""Recordings read back whole: ticks, events, orders with their goals, machine file, the true motion.

For plots, curves are thinned so that no peak is lost.
"""

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from mcap.records import Attachment, Metadata, Schema
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.brief import Brief
from linkwork.controller.exchange.orders import Order
from linkwork.controller.exchange.set_points import SetPoint
from linkwork.controller.gateway.records.logged_orders import GoalWords, TakenSetPoint, order_of
from linkwork.recordings.log_file import Ticks, ticks_of
from linkwork.recordings.log_follower import LogFollower, NoRecording
from linkwork.regular_files import check_regular

__all__ = ["NoRecording", "Recording", "read_recording", "signals"]


@dataclass(frozen=True, eq=False, repr=False)
class Recording(Brief):
    """A recording. `events` are plain data as logged, each with the name under "event"."""

    paths: tuple[Path, ...]
    metadata: dict[str, str]
    machine_file: str
    ticks: Ticks
    events: tuple[dict[str, Any], ...]
    goals: dict[int, GoalWords]
    """By the number of the order that began it."""
    set_points: dict[int, SetPoint] = field(default_factory=dict)
    """Of streams, by their numbers."""
    damage: str = ""
    """What is damaged, and what is missing of the run; all else is sound."""
    cut: bool = False
    """Whether that is only the end, as in a log that is being written or whose writer was killed."""

    @cached_property
    def orders(self) -> dict[int, Order]:
        """The orders by their numbers."""
        return {int(e["order"]): order_of(e) for e in self.events if e.get("event") == "order"}

    @property
    def table(self) -> NDArray[Any]:
        """The ticks as one structured array."""
        return self.ticks.table


def read_recording(path: Path) -> Recording:
    """Read a recording, or all of a log from this segment on, up to the first damage.

    Raises OSError, and NoRecording for files that hold no ticks.
    """
    metadata: dict[str, str] = {}
    machine_file, events, goals = "", [], {}
    set_points: dict[int, SetPoint] = {}
    rows: list[tuple[Schema, bytes]] = []
    log = LogFollower(path)
    with closing(log):
        for found in log.contents():
            if isinstance(found, Metadata):
                metadata = dict(found.metadata)
            elif isinstance(found, Attachment):
                machine_file = found.data.decode()
            else:
                topic, schema, data = found
                if topic == "tick":
                    rows.append((schema, data))
                elif topic == "events":
                    events.append(json.loads(data))
                elif topic == "goals":
                    goal = GoalWords.unpack(data)
                    goals[goal.order] = goal
                elif topic == "set_points":
                    point = TakenSetPoint.unpack(data).point
                    set_points[point.number] = point
    if not rows:
        why = log.damage or "it is not a recording, or ended before the first tick"
        raise NoRecording(f"{path} contains no ticks: {why}")
    try:
        ticks = ticks_of(rows)
    except ValueError as error:
        raise NoRecording(f"{path}: {error}") from None
    return Recording(
        tuple(log.paths), metadata, machine_file, ticks, tuple(events), goals, set_points, log.damage, log.cut
    )


def signals(ticks: Ticks) -> dict[str, NDArray[np.float64]]:
    """Return every number over time (ticks), by its flat name: `effort.shoulder`."""
    found: dict[str, NDArray[np.float64]] = {}
    for channel in ticks.table.dtype.names or ():
        values = ticks.table[channel]
        if values.ndim == 1:
            found[channel] = values.astype(np.float64)
        else:
            found |= {f"{channel}.{name}": values[:, k] for k, name in enumerate(ticks.names[channel])}
    return found


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


def thinned(time_s: Floats, curves: Mapping[str, Floats], points: int) -> dict[str, Any]:
    """Return `time_s` and `values` by curve as lists of about this many points; None is not a number.

    time_s: (n,), rising; curves: (n,) each. Of each part of the time the least and the largest value stay.
    """
    count = len(time_s)
    parts = max(points // 2, 1)
    if count <= 2 * parts:
        return {"time_s": time_s.tolist(), "values": {name: _plain(each) for name, each in curves.items()}}
    begins = np.unique(np.linspace(0, count, parts + 1).astype(int)[:-1])
    ends = np.append(begins[1:], count) - 1
    times = np.stack([time_s[begins], time_s[ends]], axis=1).ravel()
    return {
        "time_s": times.tolist(),
        "values": {name: _plain(_extremes(each, begins)) for name, each in curves.items()},
    }


def _extremes(values: Floats, begins: Any) -> Floats:
    """Return the least and the largest value of each part, in the order in which they come (2 × parts)."""
    low, high = np.fmin.reduceat(values, begins), np.fmax.reduceat(values, begins)
    first = values[begins]
    falls = np.abs(first - high) < np.abs(first - low)
    return np.where(falls[:, None], np.stack([high, low], axis=1), np.stack([low, high], axis=1)).ravel()


def _plain(values: Floats) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]
