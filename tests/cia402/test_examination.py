"""`linkwork driver check cia402`: our drive passes, each mutant of it fails with its own sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkwork.cia402.cia402_driver import Cia402
from linkwork.cia402.drive_states import FAULT_RESET, DriveState
from linkwork.cia402.simulated_drive import SimulatedDrive
from linkwork.diagnostics.conformance.driver_check import DriverCheck
from linkwork.machine import Machine, load
from linkwork.machine.catalogue import shipped_path
from tests.cia402.bench import bench, setup


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """The five-bar with a period that a loaded computer keeps."""
    path = tmp_path / "five_bar.yaml"
    path.write_text(shipped_path("five_bar").read_text() + "\nplant: {period_s: 0.02}\n")
    return load(path)


def findings(machine: Machine, kind: type[SimulatedDrive]) -> list[tuple[str, str, str]]:
    made = setup(machine)
    with bench(made, machine, kind):
        return [(each.name, str(each.verdict), each.text) for each in DriverCheck(Cia402, made).findings()]


def test_our_drive_passes(machine: Machine) -> None:
    found = findings(machine, SimulatedDrive)
    assert [verdict for name, verdict, _ in found if name.startswith("drives: ")] == ["passed"] * 7


class Hasty(SimulatedDrive):
    """Is switched on without shutdown."""

    def _control(self, word: int) -> None:
        if self.state is DriveState.DISABLED and word & 7 == 7:
            self.state = DriveState.READY
        super()._control(word)


class Talkative(SimulatedDrive):
    """Reports twice."""

    def report(self) -> None:
        super().report()
        super().report()


class Immediate(SimulatedDrive):
    """Obeys an RPDO at once."""

    def _receive(self, data: bytes) -> None:
        super()._receive(data)
        self.apply()


class Unwatchful(SimulatedDrive):
    """Does not miss its master."""

    def fail(self, code: int, *, announce: bool = True) -> None:
        if code != 0x8130:
            super().fail(code, announce=announce)


class Forgiving(SimulatedDrive):
    """Resets a fault while bit 7 is 1."""

    def _control(self, word: int) -> None:
        if self.state is DriveState.FAULT and word & FAULT_RESET:
            self._word = 0
        super()._control(word)


@pytest.mark.parametrize(
    ("kind", "exercise", "text"),
    [
        pytest.param(
            Hasty,
            "pass their states in order",
            "which needs shutdown first, not in 'switch on disabled'",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            Talkative, "answer each SYNC with one TPDO", "sent 100 TPDOs for 50 SYNCs", marks=pytest.mark.slow
        ),
        (Immediate, "put a command in force at SYNC, not before", "left obeyed an RPDO before SYNC"),
        (Unwatchful, "stop without the master's heartbeat", "without the master's heartbeat (1016h)"),
        pytest.param(
            Forgiving,
            "leave a fault by a rising edge only",
            "bit 7 of 6040h that was 1 before",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_each_mutant_fails_with_its_sentence(
    machine: Machine, kind: type[SimulatedDrive], exercise: str, text: str
) -> None:
    failed = [
        (name, said)
        for name, verdict, said in findings(machine, kind)
        if verdict == "failed" and "drives" in name
    ]
    assert [name for name, _ in failed] == [f"drives: {exercise}"]
    assert text in failed[0][1]
