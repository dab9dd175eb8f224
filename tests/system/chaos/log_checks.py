"""What the log of a trial must show: no steps in effort or velocity, and every tick up to the last second."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from linkwork.machine import Machine
from linkwork.protocol.codes import Mode
from linkwork.recordings.log_file import Ticks, read_ticks
from tests.system.chaos.trials import Subject

_ROUNDING = 1.0 + 1e-6
SPEED_MARGIN = 1.2
"""Largest velocity, as a multiple of the machine file's limit."""
MOST_LOST_S = 1.0
"""Ticks of this much time before its process was killed may be missing from a log."""


class LogReader:
    """Reads all logs of a folder, each tick once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sizes: dict[Path, int] = {}
        self._checked: dict[Path, int] = {}

    def new(self) -> dict[Path, Ticks]:
        """The ticks since the last call, by segment; the last tick before them is repeated."""
        found = {}
        for path in sorted(self._folder.glob("*.mcap")):
            size = path.stat().st_size
            if "flight" in path.name or self._sizes.get(path) == size:
                continue
            self._sizes[path] = size
            try:
                ticks = read_ticks(path)
            except ValueError:  # it holds no ticks yet
                continue
            since = max(0, self._checked.get(path, 0) - 1)
            self._checked[path] = len(ticks.table)
            found[path] = Ticks(ticks.table[since:], ticks.names)
        return found

    def run_of(self, segment: Path) -> Ticks | None:
        """All ticks of the run that this segment belongs to, as far as they are written; None: none yet."""
        stem = segment.name.rpartition("-")[0]
        try:
            return read_ticks(*sorted(self._folder.glob(f"{stem}-[0-9]*.mcap")))
        except ValueError:
            return None


def steps(ticks: Ticks, machine: Machine, subject: Subject) -> list[str]:
    """Violations of the bounds on effort, velocity and their changes, in words."""
    table = ticks.table
    if len(table) < 2:
        return []
    found = []
    follows = np.diff(table["tick"]) == 1
    driven = (table["mode"] == Mode.EFFORT)[1:] & (table["mode"] == Mode.EFFORT)[:-1] & follows
    fresh = (table["fresh"] != 0)[1:] & (table["fresh"] != 0)[:-1] & follows
    fresh &= np.diff(table["device_tick"]) == 1
    period_s = machine.period_s
    for name, motor in zip(ticks.names["effort"], machine.motors, strict=True):
        effort = ticks.column("effort", name)
        most = motor.max_effort_rate * period_s * _ROUNDING
        found += _worst(f"effort step of {name}", np.abs(np.diff(effort)) * driven, most, table["tick"])
        found += _worst(f"effort of {name}", np.abs(effort), motor.max_effort * _ROUNDING, table["tick"])
    for name, step in subject.velocity_step.items():
        v = ticks.column("v", name)
        found += _worst(f"velocity step of {name}", np.abs(np.diff(v)) * fresh, step, table["tick"])
        most = SPEED_MARGIN * subject.speed[name]
        found += _worst(f"velocity of {name}", np.abs(v), most, table["tick"])
    return found


def _worst(what: str, values: np.ndarray, most: float, tick: np.ndarray) -> list[str]:
    at = int(np.nanargmax(values)) if np.isfinite(values).any() else 0
    if not values[at] > most:
        return []
    return [f"{what}: {values[at]:.4g}, allowed {most:.4g}, tick {tick[at + len(tick) - len(values)]}"]
