"""A rig whose ticks are taken in, and whose time passes when a test says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from linkwork.protocol.results import RequestEffect, StateResult
from linkwork.rig.attached import AttachedRig
from linkwork.rig.record import RigRecord
from linkwork.rig.rig_options import RigOptions
from linkwork.rig.rig_recorder import Recorder


class RecordedRig(AttachedRig):
    """An attached rig with a recorder. record: of the latest run."""

    def __init__(self, options: RigOptions, introduce: Callable[[AttachedRig], None]) -> None:
        super().__init__(options, introduce)
        self.record: RigRecord | None = None
        self._recorder: Recorder | None = None

    @property
    def recorder(self) -> Recorder:
        """Recorder of ticks, events and truth."""
        if self._recorder is None:
            self.start()
            self._recorder = Recorder(self)
        return self._recorder

    def pass_time(self, seconds: float) -> None:
        """Pass a time (s) of the machine: advance lockstep time, or wait in real time."""
        self.recorder.pass_time(seconds)

    def wait_for(self, *, state: str, within_s: float) -> StateResult:
        """Wait for a state ("active", "fault" …), so much of the machine's time. Raises AssertionError."""
        return self.recorder.wait_for(state, within_s)

    def set(
        self, signals: Mapping[str, bool | float | str] | None = None, /, **outputs: Any
    ) -> RequestEffect:
        """Set output signals, all at one tick: `rig.set(gripper=True)`."""
        self.recorder.come_to_rest()
        return self.robot.set(signals, **outputs)

    def wait(self, *, within_s: float = 1.0, **signals: bool | float | str) -> StateResult:
        """Wait until these signals have these values, at most so much of the machine's time, s.

        Checks each tick in lockstep, every 10 ms in real time. Raises KeyError for
        an unknown signal, AssertionError with the values that they had instead.
        """
        return self.recorder.wait_for_signals(signals, within_s)

    @contextmanager
    def recording(self, title: str = "") -> Iterator[None]:
        """Record the ticks of the block; afterwards they are in `rig.record`."""
        self.recorder.come_to_rest()
        self.recorder.begin()
        yield
        self.record = self.recorder.end(title)

    def enable(self) -> None:
        """Brakes off, in the assembly that `state` shows; in lockstep at the same tick in every run."""
        self.recorder.come_to_rest()
        self.robot.confirm_branch()
        self.recorder.come_to_rest()
        self.robot.enable()

    @property
    def elsewhere(self) -> str:
        """A joint that is not where it was at home: as the controller knows it, or in truth.

        A machine that coasts unobserved may come to rest in another assembly in which its sensors
        say the same.
        """
        told = super().elsewhere
        if told or not self.machine.is_constrained:
            return told
        return self._away_from_home(self.recorder.true_positions())

    def close(self) -> None:
        """End the daemons that were started."""
        if self._recorder is not None:
            self._recorder.close()
            self._recorder = None
        super().close()
