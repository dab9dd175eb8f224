"""Conformance of drives to CiA 402, braked: exercises of `linkwork driver check cia402`."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from linkwork.cia402.can_link import NODE_STATE, TPDO
from linkwork.cia402.drive_states import DISABLE_VOLTAGE, FAULT_RESET, SHUTDOWN, SWITCH_ON, DriveState
from linkwork.cia402.objects import STATUSWORD
from linkwork.plant.drivers.findings import Exercise, Skipped, require

if TYPE_CHECKING:
    from linkwork.cia402.cia402_driver import Cia402

_CYCLES: Final = 50
_SETTLING: Final = 10
"""Cycles in which a drive makes a transition."""


class DriveExamination:
    """Exercises with the drives of a driver. None enables operation: brakes stay on."""

    def __init__(self, driver: Cia402) -> None:
        self._driver, self._settings = driver, driver.settings
        self._heard: Counter[int] = Counter()

    def exercises(self) -> list[Exercise]:
        """Return the exercises; each needs those before it to have ended."""
        return [
            ("drives: start again", self._starts, True),
            ("drives: answer each SYNC with one TPDO", self._answers, False),
            ("drives: send heartbeats", self._beats, False),
            ("drives: pass their states in order", self._passes, False),
            ("drives: put a command in force at SYNC, not before", self._waits, False),
            ("drives: stop without the master's heartbeat", self._watches, False),
            ("drives: leave a fault by a rising edge only", self._resets, False),
        ]

    def _cycle(self, word: int, count: int = _SETTLING, *, beat: bool = True) -> None:
        for _ in range(count):
            self._driver.cycle(word, beat=beat)
            if not self._settings.lockstep:
                time.sleep(self._settings.period_s)

    def _expect(self, state: DriveState, after: str) -> None:
        for drive in self._driver.drives:
            found = drive.axis.state
            named = "no known state" if found is None else repr(found.words)
            text = f"{drive.name} is in {named} after {after}, not in {state.words!r}"
            require(found is state, f"{text} (6041h = {drive.axis.statusword:04X}h)")

    def _starts(self) -> str:
        self._driver.start()
        self._driver.listener = self._listen
        self._cycle(DISABLE_VOLTAGE)
        for _ in range(2):  # a drive may have been left in fault
            self._cycle(FAULT_RESET, 2)
            self._cycle(DISABLE_VOLTAGE)
        self._expect(DriveState.DISABLED, "disable voltage and a fault reset")
        return ""

    def _listen(self, identifier: int) -> None:
        self._heard[identifier] += 1

    def _answers(self) -> str:
        self._heard.clear()
        self._cycle(DISABLE_VOLTAGE, _CYCLES)
        for drive in self._driver.drives:
            count = self._heard[TPDO[0] + drive.node]
            text = f"{drive.name} sent {count} TPDOs for {_CYCLES} SYNCs; is 1800h:02 = 1 in force?"
            require(abs(count - _CYCLES) <= 1, text)
        return f"{_CYCLES} each"

    def _beats(self) -> str:
        if not self._settings.heartbeat_s:
            raise Skipped("heartbeat_s is 0")
        self._heard.clear()
        self._cycle(DISABLE_VOLTAGE, 1 + round(3.0 * self._settings.heartbeat_s / self._settings.period_s))
        for drive in self._driver.drives:
            text = f"{drive.name} sends no heartbeat though 1017h asks for one"
            require(self._heard[NODE_STATE + drive.node] > 0, text)
        return ""

    def _passes(self) -> str:
        for word, state, name in (
            (SWITCH_ON, DriveState.DISABLED, "switch on, which needs shutdown first"),
            (SHUTDOWN, DriveState.READY, "shutdown"),
            (SWITCH_ON, DriveState.SWITCHED_ON, "switch on"),
            (SHUTDOWN, DriveState.READY, "shutdown"),
            (DISABLE_VOLTAGE, DriveState.DISABLED, "disable voltage"),
        ):
            self._cycle(word)
            self._expect(state, name)
        return ""

    def _waits(self) -> str:
        self._cycle(SHUTDOWN)
        self._driver.command_all(DISABLE_VOLTAGE)
        for drive in self._driver.drives:
            word = self._driver.ask(drive, STATUSWORD)
            state = DriveState.decoded(word)
            text = f"{drive.name} obeyed an RPDO before SYNC (6041h = {word:04X}h); is 1400h:02 = 1 in force?"
            require(state is DriveState.READY, text)
        self._cycle(DISABLE_VOLTAGE)
        self._expect(DriveState.DISABLED, "disable voltage")
        return ""

    def _watches(self) -> str:
        watchdog_s = self._settings.watchdog_s
        if not watchdog_s:
            raise Skipped("watchdog_s is 0")
        self._starve(DISABLE_VOLTAGE)
        self._expect(DriveState.FAULT, f"{2.0 * watchdog_s:g} s without the master's heartbeat (1016h)")
        return f"fault within {2.0 * watchdog_s:g} s"

    def _starve(self, word: int) -> None:
        """Let the drives miss the master's heartbeat."""
        self._cycle(word, 1 + round(2.0 * self._settings.watchdog_s / self._settings.period_s), beat=False)

    def _resets(self) -> str:
        if all(drive.axis.state is not DriveState.FAULT for drive in self._driver.drives):
            raise Skipped("no drive has a fault")
        self._cycle(FAULT_RESET)  # a rising edge
        self._cycle(FAULT_RESET, 1 + round(self._settings.watchdog_s / self._settings.period_s))
        self._starve(FAULT_RESET)
        self._expect(DriveState.FAULT, "bit 7 of 6040h that was 1 before the fault")
        self._cycle(SHUTDOWN)
        self._expect(DriveState.FAULT, "shutdown without a fault reset")
        self._cycle(FAULT_RESET, 2)
        self._cycle(DISABLE_VOLTAGE)
        self._expect(DriveState.DISABLED, "a rising edge of bit 7")
        return ""
