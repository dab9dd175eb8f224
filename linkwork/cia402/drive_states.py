"""The state machine of CiA 402 as its master sees it: which controlword comes next.

It has no bus and no clock. A master of any network (CANopen, EtherCAT) gives each cycle's statusword to
`DriveAxis.observe`, and sends the controlword that `DriveAxis.update` returns.
"""

from enum import Enum, IntEnum
from typing import Final, Self

from linkwork.cia402.objects import OperationMode
from linkwork.protocol.drive_errors import error_text


class DriveState(Enum):
    """State of a drive: mask and value of its statusword 6041h."""

    NOT_READY = "not ready to switch on", 0x4F, 0x00
    DISABLED = "switch on disabled", 0x4F, 0x40
    READY = "ready to switch on", 0x6F, 0x21
    SWITCHED_ON = "switched on", 0x6F, 0x23
    ENABLED = "operation enabled", 0x6F, 0x27
    QUICK_STOP = "quick stop active", 0x6F, 0x07
    REACTING = "fault reaction active", 0x4F, 0x0F
    FAULT = "fault", 0x4F, 0x08

    def __init__(self, words: str, mask: int, bits: int) -> None:
        self.words, self.mask, self.bits = words, mask, bits

    @classmethod
    def decoded(cls, statusword: int) -> Self | None:
        """Return the state of a statusword; None where the standard has none for these bits."""
        return next((state for state in cls if statusword & state.mask == state.bits), None)


FAULTY: Final = (DriveState.FAULT, DriveState.REACTING)
VOLTAGE: Final = 1 << 4
WARNING: Final = 1 << 7
REMOTE: Final = 1 << 9
HOMING_ATTAINED: Final = 1 << 12
HOMING_ERROR: Final = 1 << 13
START_HOMING: Final = 1 << 4

SHUTDOWN: Final = 0x06
SWITCH_ON: Final = 0x07
ENABLE: Final = 0x0F
QUICK_STOP: Final = 0x02
DISABLE_VOLTAGE: Final = 0x00
FAULT_RESET: Final = 0x80


class Wish(IntEnum):
    """Wish of the master for a drive."""

    BRAKED = 0
    """Switched on: the brake holds, the power stage is ready."""
    ENABLED = 1
    STOPPED = 2
    """Quick stop, now."""


_TOWARDS: Final = {
    DriveState.NOT_READY: (DISABLE_VOLTAGE, DISABLE_VOLTAGE, DISABLE_VOLTAGE),
    DriveState.DISABLED: (SHUTDOWN, SHUTDOWN, DISABLE_VOLTAGE),
    DriveState.READY: (SWITCH_ON, SWITCH_ON, SHUTDOWN),
    DriveState.SWITCHED_ON: (SWITCH_ON, ENABLE, SHUTDOWN),
    DriveState.ENABLED: (SWITCH_ON, ENABLE, QUICK_STOP),
    DriveState.QUICK_STOP: (DISABLE_VOLTAGE, DISABLE_VOLTAGE, QUICK_STOP),
    DriveState.REACTING: (DISABLE_VOLTAGE, DISABLE_VOLTAGE, DISABLE_VOLTAGE),
    DriveState.FAULT: (DISABLE_VOLTAGE, DISABLE_VOLTAGE, DISABLE_VOLTAGE),
}
"""Controlword by state, for each Wish."""


class DriveAxis:
    """One drive's way through its states.

    After a fault it does not ask for ENABLED until a reset edge was sent, the fault has gone, and the wish
    was BRAKED since. `transitions` holds each change of state until its owner takes it.
    """

    def __init__(self) -> None:
        self.statusword = 0
        self.state: DriveState | None = None
        self.controlword = DISABLE_VOLTAGE
        self.wish = Wish.BRAKED
        self.barred = False
        """Whether a fault keeps the drive from being enabled."""
        self.transitions: list[tuple[DriveState | None, DriveState | None]] = []
        self._reset_sent = False

    def observe(self, statusword: int) -> None:
        """Take in the drive's newest statusword."""
        self.statusword = statusword
        state = DriveState.decoded(statusword)
        if state is self.state:
            return
        self.transitions.append((self.state, state))
        if state in FAULTY and self.state not in FAULTY:
            self.bar()
        self.state = state

    def update(self, wish: Wish, *, reset: bool = False) -> int:
        """Return the controlword of this cycle. reset: a fault may be cleared, by rising edges of bit 7."""
        state, self.wish = self.state, wish
        if state is DriveState.FAULT and reset and not self.controlword & FAULT_RESET:
            self._reset_sent = True
            self.controlword = FAULT_RESET
            return FAULT_RESET
        if self.barred and state not in FAULTY and self._reset_sent and wish is Wish.BRAKED:
            self.barred = False
        if self.barred and wish is Wish.ENABLED:
            wish = Wish.BRAKED
        self.controlword = DISABLE_VOLTAGE if state is None else _TOWARDS[state][wish]
        return self.controlword

    def bar(self) -> None:
        """Keep the drive from being enabled: it restarted, or its link was lost. `release` ends it."""
        self.barred, self._reset_sent = True, False

    def release(self) -> None:
        """End `bar`, after the cause was cleared on request; a fault of the drive needs its edge first."""
        if self.state not in FAULTY:
            self._reset_sent = True

    def why_not_enabled(
        self, mode: OperationMode, error: int, inputs: int, supported: int, shown: int
    ) -> str:
        """Return in words why the drive is not enabled.

        error: 603Fh. inputs: 60FDh. supported: 6502h. shown: 6061h.
        """
        state, word = self.state, self.statusword
        told = []
        if state in FAULTY:
            told.append(f"it has {error_text(error)}; remove the cause, then recover")
        elif error:
            told.append(f"it names {error_text(error)} in 603Fh")
        if not supported & mode.offered:
            told.append(f"6502h = {supported:08X}h does not offer {mode.words} (bit {mode.value - 1})")
        elif shown != mode:
            told.append(f"6061h shows mode {shown}, not {mode.value} ({mode.words})")
        if not word & VOLTAGE:
            told.append("bit 4 of 6041h is 0: no voltage at the power stage; check the supply and STO")
        if not word & REMOTE:
            told.append("bit 9 of 6041h is 0: the drive is under local control, not the bus's")
        switches = ("negative limit switch", "positive limit switch", "", "interlock")
        on = [name for bit, name in enumerate(switches) if name and inputs >> bit & 1]
        if on:
            told.append(f"60FDh = {inputs:08X}h: {', '.join(on)} active")
        if state is None:
            told.append("its statusword is no state of CiA 402")
        named = "no known state" if state is None else f"state {state.words!r}"
        reasons = "; ".join(told) or "no reason in 603Fh, 60FDh, 6502h: check its enable input"
        return f"statusword {word:04X}h, {named}: {reasons}"
