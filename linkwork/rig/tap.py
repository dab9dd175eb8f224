"""Data of a controller and a simulated plant while they run: ticks, events, the plant's true state."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mcap.records import Message, Schema
from numpy.typing import NDArray

from linkwork.controller.gateway.records.logged_orders import GoalWords
from linkwork.machine import Machine
from linkwork.recordings.log_file import Ticks, ticks_of
from linkwork.recordings.log_follower import LogFollower, first_segment
from linkwork.rig.plant_truth import PlantTruth

PATIENCE_S = 60.0
_LOOK_S = 0.005


class LogTap:
    """Every tick and event of a controller's log since `forget` was called last, in order.

    `last` is the newest tick that has come.
    """

    def __init__(self, path: Path) -> None:
        """Follow the log from this segment on. Raises OSError."""
        self.path = first_segment(path)
        """The run's oldest segment that is left."""
        self._follower = LogFollower(path)
        self._rows: list[tuple[Schema, bytes]] = []
        self._numbers: list[int] = []
        self.events: list[dict[str, Any]] = []
        self.goals: dict[int, GoalWords] = {}
        """The goals begun, by their numbers."""
        self.last = -1

    def read(self) -> None:
        """Read the data written since the last call."""
        for record in self._follower.records():
            if isinstance(record, Message):
                self._take(record)

    def _take(self, message: Message) -> None:
        channel = self._follower.channels[message.channel_id]
        topic = channel.topic
        if topic == "tick":
            self._rows.append((self._follower.schemas[channel.schema_id], message.data))
            self._numbers.append(message.sequence)
            self.last = message.sequence
        elif topic == "events":
            self.events.append(json.loads(message.data))
        elif topic == "goals":
            goal = GoalWords.unpack(message.data)
            self.goals[goal.goal] = goal

    def forget(self) -> None:
        """Drop the data received so far."""
        self.read()
        self._rows, self._numbers, self.events, self.goals = [], [], [], {}

    def wait_until(self, tick: int, alive: Callable[[], bool]) -> None:
        """Wait until this tick has come. Raises TimeoutError, also when no process is `alive` any more."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            self.read()
            if self.last >= tick:
                return
            if time.monotonic() > deadline or not alive() or self._follower.damage:
                why = self._follower.damage or f"the log ends with tick {self.last}"
                raise TimeoutError(f"{why}; tick {tick} is missing")
            time.sleep(_LOOK_S)

    def ticks(self, first: int, last: int) -> Ticks:
        """The ticks from number `first` to `last`. Raises ValueError when there are none."""
        low, high = np.searchsorted(self._numbers, [first, last + 1])
        if low == high:
            raise ValueError(f"the log holds none of the ticks {first} … {last}")
        return ticks_of(self._rows[low:high])

    def close(self) -> None:
        """Close the log."""
        self._follower.close()


class TruthTap:
    """The plant's own record as it grows."""

    def __init__(self, path: Path) -> None:
        """Follow the file, which may not be there yet."""
        self._path, self._at = path, 0
        self._columns: list[str] = []
        self._period_s = 0.0
        self._rows: list[NDArray[np.float64]] = []

    def read(self) -> None:
        """Read the data written since the last call."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            if not self._columns:
                line = file.readline()
                if not line.endswith(b"\n"):
                    return
                head = json.loads(line)
                self._columns, self._period_s = head["columns"], head["period_s"]
                self._at = len(line)
            file.seek(self._at)
            width = 8 * len(self._columns)
            content = file.read()
        whole = len(content) // width * width
        if whole:
            self._at += whole
            self._rows.append(np.frombuffer(content[:whole], "<f8").reshape(-1, len(self._columns)))

    def forget(self) -> None:
        """Drop the data received so far."""
        self.read()
        self._rows = self._rows[-1:]

    def wait_until(self, tick: int, alive: Callable[[], bool]) -> bool:
        """Wait until this tick of the plant has come; False when it does not."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            self.read()
            if self._rows and self._rows[-1][-1, 0] >= tick:
                return True
            if time.monotonic() > deadline or not alive():
                return False
            time.sleep(_LOOK_S)

    def truth(self, machine: Machine, first: int, last: int) -> PlantTruth | None:
        """The plant's ticks from `first` to `last`; None where none are there."""
        if not self._rows:
            return None
        rows = np.concatenate(self._rows)
        rows = rows[(rows[:, 0] >= first) & (rows[:, 0] <= last)]
        if not len(rows):
            return None
        kinds = np.array([name.partition(".")[0] for name in self._columns])
        q, v, effort = (rows[:, kinds == kind] for kind in ("q", "v", "effort"))
        return PlantTruth(machine, rows[:, 0] * self._period_s, q, v, effort)
