"""Drives with other habits than ours: slow transitions, another mode, objects that are missing."""

from __future__ import annotations

import pytest

from linkwork.cia402.drive_states import DriveState
from linkwork.cia402.objects import MASTER_WATCHED, MODE, MODE_DISPLAY, DriveObject
from linkwork.cia402.simulated_drive import SimulatedDrive
from linkwork.plant.drivers.driver import DriverFailed
from linkwork.protocol.codes import DeviceFault, Mode
from tests.cia402.bench import line


class Slow(SimulatedDrive):
    """It makes a transition after a controlword has stood for 100 cycles, as with a brake that opens late."""

    _stood = 0

    def _control(self, word: int) -> None:
        self._stood = self._stood + 1 if word == self._word else 0
        if self._stood < 100:
            self._word = word
            return
        self._stood, self._word = 0, 0
        super()._control(word)


def test_a_drive_that_is_slow_to_enable_has_the_time_of_the_file() -> None:
    with line(Slow) as drives:
        drives.ticks(450)
        drives.ticks(250, Mode.EFFORT)
        assert drives.reading.fault == 0
        assert all(drive.state is DriveState.ENABLED for drive in drives.bench.drives)
    with line(Slow, enable_s=0.05) as drives:
        drives.ticks(450)
        drives.ticks(250, Mode.EFFORT)
        assert drives.reading.fault == DeviceFault.DRIVE
        assert any("left: it does not enable within enable_s = 0.05 s" in said for said in drives.said)


class KeepsItsMode(SimulatedDrive):
    """It takes another mode of operation, and stays in its own."""

    def _write(self, entry: DriveObject, value: int) -> None:
        super()._write(entry, value)
        if entry == MODE:
            self.values[MODE_DISPLAY] = 1


def test_a_drive_that_stays_in_another_mode_is_never_enabled() -> None:
    with line(KeepsItsMode) as drives:
        drives.ticks(10)
        drives.ticks(600, Mode.EFFORT)
        assert all(drive.braked for drive in drives.bench.drives)
        assert drives.reading.fault == DeviceFault.DRIVE
        text = "6061h shows mode 1, not 10 (cyclic synchronous torque)"
        assert any(said.startswith("left: it does not enable") and text in said for said in drives.said)


class Lacking(SimulatedDrive):
    """A drive without an object."""

    lacks: DriveObject = MASTER_WATCHED

    def _boot(self) -> None:
        super()._boot()
        del self._objects[self.lacks.index, self.lacks.sub]


class WithoutMapping(Lacking):
    """A drive whose PDO has no mapping that can be written."""

    lacks = DriveObject(0x1A00, 0, "B")


def test_a_drive_that_does_not_watch_its_master_is_named_in_the_log() -> None:
    with line(Lacking) as drives:
        drives.ticks(5)
        text = "1016h:01 failed: abort 06090011h (no such subindex): it does not stop by itself"
        assert any(said.startswith("left: writing") and text in said for said in drives.said)
        assert drives.reading.fault == 0


def test_a_drive_with_a_fixed_mapping_is_refused_with_the_reason() -> None:
    text = "writing 0 to 1A00h failed: .*; linkwork maps the TPDO itself"
    with pytest.raises(DriverFailed, match=text), line(WithoutMapping):
        pass
