"""Data of a controller and a simulated plant while they run: ticks, events, the plant's true state."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from mcap.records import Message, Schema
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.gateway.records.logged_orders import GoalWords
from linkwork.machine import Machine
from linkwork.multibody.dynamics.tree_dynamics import dynamics, energy
from linkwork.multibody.functions import closure_residual_history, coordinate_history
from linkwork.multibody.mechanism import Mechanism
from linkwork.recordings.log_file import Ticks, ticks_of
from linkwork.recordings.log_follower import LogFollower, first_segment
from linkwork.rig.collected import Span

PATIENCE_S = 60.0
_LOOK_S = 0.005


class LogTap:
    """Every tick and event of a controller's log since `forget` was called last, in order.

    `last` is the newest tick that has come.
    """

    def __init__(self, path: Path) -> None:
        """Follow the log from this segment on. Raises OSError."""
        self._log, self._loop = first_segment(path), 0
        self._follower = LogFollower(path)
        self._rows: list[tuple[Schema, bytes]] = []
        self._numbers: list[int] = []
        self._places: list[tuple[Path, int]] = []
        """Of each row: the run's oldest segment that is left, and which of its loops wrote the row."""
        self._loops_ended = 0
        self._begun = self._log, 0
        self._example: list[tuple[Schema, bytes]] = []
        """A row, which says what a record without ticks would hold."""
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
            self._loop += message.sequence < self.last
            self._numbers.append(message.sequence)
            self._places.append((self._log, self._loop))
            self.last = message.sequence
        elif topic == "events":
            self.events.append(json.loads(message.data))
        elif topic == "goals":
            goal = GoalWords.unpack(message.data)
            self.goals[goal.goal] = goal

    def forget(self) -> None:
        """Drop the data received so far."""
        self.read()
        self._example = self._rows[-1:] or self._example
        self._rows, self._numbers, self._places, self.events, self.goals = [], [], [], [], {}
        self._begun = self._log, max(self._loop, self._loops_ended)

    def continue_in(self, path: Path) -> None:
        """Read this log to its end, then follow that of a controller that was restarted. Raises OSError."""
        self.read()
        self._follower.close()
        self._follower = LogFollower(path)
        self._log, self._loop, self._loops_ended, self.last = first_segment(path), 0, 0, -1

    def expect_another_loop(self) -> None:
        """Ticks of a loop that was killed do not count for `wait_until`."""
        self._loops_ended += 1

    def wait_until(self, tick: int, alive: Callable[[], bool]) -> None:
        """Wait until this tick has come. Raises TimeoutError, also when no process is `alive` any more."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            self.read()
            if self.last >= tick and self._loop >= self._loops_ended:
                return
            if time.monotonic() > deadline or not alive() or self._follower.damage:
                why = self._follower.damage or f"the log ends with tick {self.last}"
                raise TimeoutError(f"{why}; tick {tick} is missing")
            time.sleep(_LOOK_S)

    def ticks(self, first: int, last: int | None) -> tuple[Ticks, list[Span]]:
        """The ticks from number `first` to `last` of the latest loop, and where they are logged.

        Raises ValueError when there are none; last: None for a log that has ended, which may hold none.
        """
        numbers, places, begun = self._numbers, self._places, self._begun
        rows = [
            row
            for row, (number, place) in enumerate(zip(numbers, places, strict=True))
            if (place[0] != begun[0] or place[1] > begun[1] or (place == begun and number >= first))
            and (last is None or number <= last or place != places[-1])
        ]
        if not rows:
            if last is not None:
                raise ValueError(f"the log holds none of the ticks {first} … {last}")
            none = ticks_of(self._rows[-1:] or self._example)
            return Ticks(none.table[:0], none.names), []
        spans = []
        for place in dict.fromkeys(places[row] for row in rows):
            mine = [numbers[row] for row in rows if places[row] == place]
            spans.append(Span(str(place[0]), mine[0], mine[-1], loop=place[1]))
        return ticks_of([self._rows[row] for row in rows]), spans

    def close(self) -> None:
        """Close the log."""
        self._follower.close()


class TruthTap:
    """The plant's own record as it grows."""

    def __init__(self, path: Path) -> None:
        """Follow the file, which may not be there yet."""
        self.path, self._at = path, 0
        self._columns: list[str] = []
        self._period_s = 0.0
        self._rows: list[NDArray[np.float64]] = []

    def read(self) -> None:
        """Read the data written since the last call."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
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

    def rests_after(self, time_s: float) -> bool:
        """Whether the newest state is later than this device time, and at rest."""
        self.read()
        if not self._rows:
            return False
        newest = self._rows[-1][-1]
        speeds = [abs(value) for name, value in zip(self._columns, newest, strict=True) if name[:2] == "v."]
        return newest[0] * self._period_s > time_s and max(speeds, default=0.0) <= AT_REST

    def truth(self, machine: Machine, first: int, last: int | None) -> PlantTruth | None:
        """Return the plant's ticks from `first` to `last` (None: the newest); None where there are none."""
        if not self._rows:
            return None
        rows = np.concatenate(self._rows)
        rows = rows[(rows[:, 0] >= first) & (rows[:, 0] <= (np.inf if last is None else last))]
        if not len(rows):
            return None
        kinds = np.array([name.partition(".")[0] for name in self._columns])
        q, v, effort = (rows[:, kinds == kind] for kind in ("q", "v", "effort"))
        return PlantTruth(machine, rows[:, 0] * self._period_s, q, v, effort)


AT_REST = 2e-3
"""rad/s or m/s: a joint that is slower counts as at rest."""


@dataclass(frozen=True, eq=False)
class PlantTruth:
    """n periods of the plant: time_s (n,), q (n, nq), v (n, nv), joint effort (n, nv) over the period that
    follows (N m or N; motors and brakes).
    """

    machine: Machine
    time_s: Floats
    q: Floats
    v: Floats
    effort: Floats

    @property
    def _mechanism(self) -> Mechanism:
        return self.machine.plant_mechanism

    @cached_property
    def coordinates(self) -> Floats:
        """All the mechanism's coordinates (n, nc), rad or m."""
        return coordinate_history(self._mechanism, self.q)

    @cached_property
    def closure_residual(self) -> Floats:
        """Residual of the closures (n,): typical lengths, or rad; zero without closures."""
        return closure_residual_history(self._mechanism, self.q)

    @cached_property
    def energy(self) -> Floats:
        """Kinetic and potential energy (n, 2), J."""
        work = self._mechanism.workspace()
        found = np.empty((len(self.q), 2))
        for row, (q, v) in enumerate(zip(self.q, self.v, strict=True)):
            work.q[:], work.v[:] = q, v
            dynamics(*work.arguments)
            energy(*work.arguments)
            found[row] = work.energy
        return found

    @property
    def work(self) -> Floats:
        """Work that motors and brakes have done on the joints since the first tick (n,), J.

        Over a period effort is constant: its work is effort × way, and the way that of the mean velocity.
        """
        way = 0.5 * (self.v[1:] + self.v[:-1]) * np.diff(self.time_s)[:, None]
        done = np.sum(self.effort[:-1] * way, axis=1)
        return np.concatenate([[0.0], np.cumsum(done)])

    @property
    def gain(self) -> Floats:
        """Energy that is there and that no motor brought (n,), J: negative where friction has taken some."""
        total = self.energy.sum(axis=1)
        difference: Floats = total - total[0] - self.work
        return difference
