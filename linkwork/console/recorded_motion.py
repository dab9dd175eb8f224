"""A recording as the console plays it: poses and values at any tick, and curves."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.console.scene_content import scene_content
from linkwork.drawing.skeleton import BodyFrames
from linkwork.machine.loading import drawable
from linkwork.protocol.results import Described
from linkwork.recordings.recorded_run import RecordedRun, recorded_machine
from linkwork.recordings.recording import NoRecording, read_recording


class RecordedMotion:
    """One recording with what the page draws of it.

    Raises OSError, NoRecording for files that hold no ticks of a machine, and MachineError.
    """

    def __init__(self, path: Path) -> None:
        recording = read_recording(path)
        self.path = path
        self.run = RecordedRun(recording, recorded_machine(recording))
        self.time_s: Floats = self.run.time_s
        self.channels = [name.replace(".", "/", 1) for name in self.run.columns]
        self._columns = list(self.run.columns.values())
        self.drawn = drawable(recording.machine_file)
        self.frames = BodyFrames(self.drawn.mechanism)
        self._posed = self._rows_with_poses()
        self.scene = scene_content(self.drawn, dict(self.run.described))

    @property
    def duration_s(self) -> float:
        """Time of the last tick, s."""
        return float(self.time_s[-1])

    @property
    def rows(self) -> int:
        """Number of ticks."""
        return len(self.time_s)

    def row_at(self, time_s: float) -> int:
        """Return the last tick that is not after this time; the first one before all."""
        return max(0, int(np.searchsorted(self.time_s, time_s + 1e-9, "right")) - 1)

    def poses_at(self, row: int) -> Floats:
        """Return the frames of the bodies (bodies × 4 × 3) in a tick, as `BodyFrames`."""
        return self.frames.frames_at(self.run.records["q"][self._posed[row]])

    def values_at(self, row: int) -> Floats:
        """Return the values (n) of `channels` (n) in a tick."""
        return np.array([column[row] for column in self._columns])

    def column(self, name: str) -> Floats:
        """Return the values (n) of one of `channels`."""
        return self._columns[self.channels.index(name)]

    def curves(self, names: Sequence[str], begin_s: float, end_s: float) -> tuple[Floats, dict[str, Floats]]:
        """Return the times (n) from begin to end, and the values (n) of the channels that are known."""
        first, last = np.searchsorted(self.time_s, [begin_s - 1e-9, end_s + 1e-9])
        found = {name: self.column(name)[first:last] for name in names if name in self.channels}
        return self.time_s[first:last], found

    def _rows_with_poses(self) -> NDArray[np.int64]:
        """Return by tick the latest tick with a complete estimate; before the first one, that one."""
        finite = np.isfinite(self.run.records["q"]).all(axis=1)
        if not finite.any():
            raise NoRecording(f"{self.path} holds no pose: the run ended before a plant connected")
        latest: NDArray[np.int64] = np.maximum.accumulate(np.where(finite, np.arange(self.rows), -1))
        return np.where(latest < 0, np.argmax(finite), latest)

    @cached_property
    def coordinates(self) -> list[Described]:
        """Joints and task coordinates."""
        described: list[Described] = self.run.described["coordinates"]
        return described

    @cached_property
    def first_goal_s(self) -> float | None:
        """Time at which the first goal begins; None without one."""
        goals = self.run.records["goal_id"]
        begun = np.flatnonzero((goals[1:] != goals[:-1]) & (goals[1:] > 0))
        return float(self.time_s[begun[0] + 1]) if len(begun) else None
