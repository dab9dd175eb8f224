"""A simulated CiA 402 drive: object dictionary, SDO server, PDOs, NMT, heartbeats, emergencies and faults.

It has no clock and no bus: `time_s` is given, frames come by `hear` and leave by `send`.
"""

import struct
from collections.abc import Callable
from typing import Final

from linkwork.cia402.can_link import (
    BOOTED,
    DISABLED_PDO,
    EMERGENCY,
    ENTER_PRE_OPERATIONAL,
    NMT,
    NODE_STATE,
    OPERATIONAL,
    PRE_OPERATIONAL,
    RESET_NODE,
    RPDO,
    SDO_ANSWER,
    SDO_REQUEST,
    START,
    STOPPED,
    Send,
)
from linkwork.cia402.drive_states import (
    FAULT_RESET,
    HOMING_ATTAINED,
    HOMING_ERROR,
    REMOTE,
    START_HOMING,
    VOLTAGE,
    DriveState,
)
from linkwork.cia402.objects import (
    ABORT_OPTION,
    CONTROLWORD,
    DEVICE_TYPE,
    DIGITAL_INPUTS,
    ERROR_CODE,
    FOLLOWING_ERROR,
    FOLLOWING_TIMEOUT,
    FOLLOWING_WINDOW,
    HEARTBEAT,
    HOMING_METHOD,
    INTERPOLATION_EXPONENT,
    INTERPOLATION_TIME,
    MASTER_WATCHED,
    MODE,
    MODE_DISPLAY,
    POSITION,
    RATED_CURRENT,
    RATED_TORQUE,
    STATUSWORD,
    SUPPORTED_MODES,
    TARGET_POSITION,
    TARGET_TORQUE,
    TORQUE,
    TORQUE_OFFSET,
    VELOCITY,
    DriveObject,
    OperationMode,
)
from linkwork.cia402.position_loop import PositionLoop, signed

_NO_OBJECT, _READ_ONLY, _LENGTH, _UNSUPPORTED = 0x06020000, 0x06010002, 0x06070010, 0x06010000
_ABSENT: Final = 0x06090011
_HERE: Final = (35, 37)
"""Homing methods that take the present position for the zero."""
_FOLLOWS: Final = 1 << 12
_UNWATCHED: Final = 0xFFFFFFFF
"""Value of 6065h without a limit of the following error."""
_PDOS: Final = ((0x1400, 0x1600), (0x1800, 0x1A00), (0x1801, 0x1A01))
_STATES: Final = {START: OPERATIONAL, 2: STOPPED, ENTER_PRE_OPERATIONAL: PRE_OPERATIONAL}


class SimulatedDrive:
    """A drive with its motor's numbers: `counts` (encoder), `speed` (counts/s).

    torque: what it gives now, in thousandths of its rated value; 0 unless operation is enabled. faults: what
    is wrong on request (`FAULTS`).
    """

    def __init__(self, name: str, node: int, rated: float, *, in_amperes: bool, send: Send) -> None:
        self.name, self.node = name, node
        self._rated_milli, self._in_amperes = round(1e3 * rated), in_amperes
        self._transmit = send
        self.counts, self.speed = 0, 0.0
        self.loop = PositionLoop()
        self.time_s = 0.0
        self.faults: set[str] = set()
        self.late: list[tuple[int, bytes]] = []
        """TPDOs that the fault `late` holds back."""
        self._frozen = b""
        self._zero = 0
        self._boot()

    def _boot(self) -> None:
        """Power on: values of the dictionary, then the boot-up message."""
        writable = [
            CONTROLWORD, MODE, TARGET_TORQUE, TARGET_POSITION, TORQUE_OFFSET, FOLLOWING_WINDOW,
            FOLLOWING_TIMEOUT, ABORT_OPTION, HOMING_METHOD, INTERPOLATION_TIME, INTERPOLATION_EXPONENT,
            HEARTBEAT, MASTER_WATCHED,
        ]  # fmt: skip
        readable = {
            DEVICE_TYPE: 0x00020192, STATUSWORD: 0, ERROR_CODE: 0, MODE_DISPLAY: 0, POSITION: 0, VELOCITY: 0,
            TORQUE: 0, RATED_CURRENT: self._rated_milli, RATED_TORQUE: self._rated_milli, DIGITAL_INPUTS: 0,
            FOLLOWING_ERROR: 0, SUPPORTED_MODES: sum(mode.offered for mode in OperationMode),
            DriveObject(0x1001, 0, "B"): 0, DriveObject(0x1018, 0, "B"): 1, DriveObject(0x1018, 1, "I"): 0,
            DriveObject(0x1016, 0, "B"): 1,
        }  # fmt: skip
        for communication, mapping in _PDOS:
            readable[DriveObject(communication, 0, "B")] = 2
            writable += [DriveObject(communication, 1, "I"), DriveObject(communication, 2, "B")]
            writable += [DriveObject(mapping, sub, "I" if sub else "B") for sub in range(9)]
        self.values = dict.fromkeys(writable, 0) | readable
        self._objects = {(each.index, each.sub): each for each in self.values}
        self._writable = frozenset(writable)
        for communication, _ in _PDOS:
            self.values[DriveObject(communication, 1, "I")] = DISABLED_PDO
        self.values[FOLLOWING_WINDOW] = _UNWATCHED
        self.state, self.nmt = DriveState.DISABLED, PRE_OPERATIONAL
        self._word = 0
        self._received: list[tuple[DriveObject, int]] = []
        self._beat_s = self._master_s = self.time_s
        self._master_seen = False
        self._homed_bits = 0
        self._send(NODE_STATE, bytes([BOOTED]))

    # -- frames ------------------------------------------------------------------------------------------

    def _send(self, identifier: int, data: bytes) -> None:
        self._transmit(identifier + self.node, data)

    def hear(self, identifier: int, data: bytes) -> None:
        """Take in any frame but SYNC."""
        if identifier == NMT and len(data) >= 2 and data[1] in (0, self.node):
            if data[0] in (RESET_NODE, RESET_NODE + 1):
                self._boot()
            else:
                self._set_nmt(_STATES.get(data[0], self.nmt))
        elif identifier == SDO_REQUEST + self.node and len(data) == 8:
            self._send(SDO_ANSWER, self._serve(data))
        elif identifier == RPDO + self.node and self.nmt == OPERATIONAL:
            self._receive(data)
        elif identifier == NODE_STATE + (self.values[MASTER_WATCHED] >> 16 & 0x7F):
            self._master_s, self._master_seen = self.time_s, True

    def _set_nmt(self, state: int) -> None:
        if self.nmt == OPERATIONAL != state and self.state is DriveState.ENABLED:
            self.state = DriveState.DISABLED
        self.nmt = state

    def _serve(self, request: bytes) -> bytes:
        """Answer an SDO request: expedited transfers."""
        command, index, sub = struct.unpack_from("<BHB", request)
        entry = self._objects.get((index, sub))
        place = struct.pack("<HB", index, sub)
        if entry is None:
            known = any(each == index for each, _ in self._objects)
            return b"\x80" + place + struct.pack("<I", _ABSENT if known else _NO_OBJECT)
        if command == 0x40:
            data = entry.pack(self._read(entry))
            return bytes([0x43 | (4 - len(data)) << 2]) + place + data.ljust(4, b"\0")
        if command & 0xE2 != 0x22:
            return b"\x80" + place + struct.pack("<I", _UNSUPPORTED)
        if entry not in self._writable:
            return b"\x80" + place + struct.pack("<I", _READ_ONLY)
        size = 4 - (command >> 2 & 3) if command & 1 else entry.bits // 8
        if 8 * size != entry.bits:
            return b"\x80" + place + struct.pack("<I", _LENGTH)
        self._write(entry, entry.unpack(request[4:]))
        return b"\x60" + place + b"\0\0\0\0"

    def _read(self, entry: DriveObject) -> int:
        if entry == STATUSWORD:
            return self.statusword
        if entry == POSITION:
            return self._position
        if entry == VELOCITY:
            return max(-(1 << 31), min((1 << 31) - 1, round(self.speed)))
        if entry == FOLLOWING_ERROR:
            return self.loop.behind(self._position)
        return round(self.torque) if entry == TORQUE else self.values[entry]

    def _write(self, entry: DriveObject, value: int) -> None:
        self.values[entry] = value
        if entry == CONTROLWORD:
            self._control(value)
        elif entry == MODE:
            self.values[MODE_DISPLAY] = value
        elif entry == MASTER_WATCHED:
            self._master_s, self._master_seen = self.time_s, False

    def _mapped(self, communication: int, mapping: int) -> list[DriveObject]:
        """Return the objects of a PDO; none where it is switched off."""
        if self.values[DriveObject(communication, 1, "I")] & DISABLED_PDO:
            return []
        count = self.values[DriveObject(mapping, 0, "B")]
        words = [self.values[DriveObject(mapping, 1 + at, "I")] for at in range(min(count, 8))]
        return [self._objects[word >> 16, word >> 8 & 0xFF] for word in words]

    def _receive(self, data: bytes) -> None:
        """Keep the numbers of an RPDO until the next SYNC."""
        self._received, at = [], 0
        for entry in self._mapped(*_PDOS[0]):
            size = entry.bits // 8
            if at + size > len(data):
                self.emergency(0x8210)
                return
            self._received.append((entry, entry.unpack(data[at:])))
            at += size

    # -- a cycle -----------------------------------------------------------------------------------------

    def apply(self) -> None:
        """At SYNC: the numbers of the last RPDO take effect."""
        before, closed = self.values[TARGET_POSITION], self._closed
        for entry, value in self._received:
            self._write(entry, value)
        self._received = []
        self.loop.demand(self.values[TARGET_POSITION], before, self.time_s, closed=closed and self._closed)

    def report(self) -> None:
        """After `apply`: send the TPDOs of this SYNC."""
        if self.nmt != OPERATIONAL or "missing" in self.faults:
            return
        for communication, mapping in _PDOS[1:]:
            objects = self._mapped(communication, mapping)
            if not objects:
                continue
            data = b"".join(each.pack(self._read(each)) for each in objects)
            if "frozen" in self.faults and communication == 0x1800:
                data = self._frozen = self._frozen or data
            identifier = self.values[DriveObject(communication, 1, "I")] & 0x7FF
            if "late" in self.faults:
                self.late.append((identifier, data))
            else:
                self._transmit(identifier, data)

    def elapse(self, time_s: float) -> None:
        """Continue until this time: heartbeats, and the watch on the master's."""
        self.time_s = time_s
        every_s = self.values[HEARTBEAT] / 1e3
        if every_s and time_s - self._beat_s >= every_s - 1e-9 and "heartbeat" not in self.faults:
            self._beat_s = time_s
            self._send(NODE_STATE, bytes([self.nmt]))
        patience_s = (self.values[MASTER_WATCHED] & 0xFFFF) / 1e3
        if patience_s and self._master_seen and time_s - self._master_s > patience_s:
            self._master_seen = False
            self.fail(0x8130)
        window, timeout_s = self.values[FOLLOWING_WINDOW], self.values[FOLLOWING_TIMEOUT] / 1e3
        if self.loop.lost(self._position, window, timeout_s, time_s, closed=self._closed):
            self.fail(0x8611)

    @property
    def _closed(self) -> bool:
        """Whether its position loop is closed."""
        return self.state is DriveState.ENABLED and self.values[MODE] == OperationMode.POSITION

    @property
    def _position(self) -> int:
        """6064h."""
        return signed(self.counts - self._zero)

    def _control(self, word: int) -> None:
        """Make one transition of the state machine."""
        rising, self._word = word & ~self._word, word
        state, now = DriveState, self.state
        if now is state.FAULT:
            if rising & FAULT_RESET and not self.faults & {"emergency", "fault_bit", "following"}:
                self.state, self.values[ERROR_CODE] = state.DISABLED, 0
                self._send(EMERGENCY, bytes(8))
            return
        if not word & 2:
            target = state.DISABLED
        elif not word & 4:
            target = state.QUICK_STOP if now in (state.ENABLED, state.QUICK_STOP) else state.DISABLED
        elif now is state.DISABLED or now is state.QUICK_STOP:
            target = state.READY if word & 7 == 6 and now is state.DISABLED else now
        elif not word & 1:
            target = state.READY
        elif now is state.READY or not word & 8:
            target = state.SWITCHED_ON
        else:
            target = state.ENABLED
        if "power" in self.faults and target is not state.DISABLED:
            target = state.DISABLED
        self.state = target
        if self.values[MODE] == OperationMode.HOMING and rising & START_HOMING and target is state.ENABLED:
            fits = self.values[HOMING_METHOD] in _HERE
            self._homed_bits = HOMING_ATTAINED if fits else HOMING_ERROR
            self._zero = self.counts if fits else self._zero

    @property
    def statusword(self) -> int:
        """6041h."""
        word = self.state.bits | REMOTE | (0 if "power" in self.faults else VOLTAGE)
        if self.values[MODE] == OperationMode.HOMING:
            return word | self._homed_bits
        return word | (_FOLLOWS if self.state is DriveState.ENABLED else 0)

    @property
    def torque(self) -> float:
        """Torque in force, in thousandths of the rated value."""
        if self._closed:
            return self.loop.torque(self._position, self.speed, self.values[TORQUE_OFFSET])
        acts = self.state is DriveState.ENABLED and self.values[MODE] == OperationMode.TORQUE
        return self.values[TARGET_TORQUE] if acts else 0

    @property
    def braked(self) -> bool:
        """Whether its brake is on."""
        return self.state is not DriveState.ENABLED or "brake" in self.faults

    # -- faults ------------------------------------------------------------------------------------------

    def emergency(self, code: int) -> None:
        """Send an emergency message."""
        register = 0x81 if code >> 12 in (0x7, 0xF) else 1 << min(code >> 12, 4)
        self._send(EMERGENCY, struct.pack("<HB5x", code, register))

    def fail(self, code: int, *, announce: bool = True) -> None:
        """Go to the state fault with an error code."""
        self.state = DriveState.FAULT
        self.values[ERROR_CODE] = code
        if announce:
            self.emergency(code)

    def inject(self, fault: str) -> None:
        """Begin a fault of `FAULTS`. Raises KeyError for another name."""
        begin = FAULTS[fault][1]
        self.faults.add(fault)
        begin(self)

    def clear(self) -> None:
        """End all faults on request; the state fault is left by a reset edge."""
        self.faults.clear()
        self._frozen = b""
        self.late.clear()

    def restart(self) -> None:
        """Reset the node: it loses its configuration, and boots."""
        self.faults.clear()
        self._boot()

    def announce_boot(self) -> None:
        """Send a boot-up message though it did not restart."""
        self.faults.discard("boot_up")
        self._send(NODE_STATE, bytes([BOOTED]))

    def lose_power(self) -> None:
        """Lose the voltage of the power stage."""
        self.state = DriveState.DISABLED


def _last(_: SimulatedDrive) -> None:
    """Begin a fault that acts in each cycle."""


FAULTS: Final[dict[str, tuple[str, Callable[[SimulatedDrive], None]]]] = {
    "emergency": ("over-current, with an emergency message", lambda drive: drive.fail(0x2310)),
    "fault_bit": ("its fault bit, without a message", lambda drive: drive.fail(0x4310, announce=False)),
    "following": ("following error", lambda drive: drive.fail(0x8611)),
    "power": ("the power stage is off", SimulatedDrive.lose_power),
    "missing": ("no TPDO", _last),
    "late": ("TPDOs come 0.75 periods late", _last),
    "frozen": ("the TPDO repeats old values", _last),
    "heartbeat": ("no heartbeat", _last),
    "nmt_reset": ("it restarts", SimulatedDrive.restart),
    "boot_up": ("a boot-up message without a restart", SimulatedDrive.announce_boot),
    "brake": ("the brake stays on", _last),
    "scaling_torque": ("gives half the torque that it reports", _last),
    "scaling_counts": ("its encoder counts 10 % too much", _last),
}
"""Faults on request: description, and what begins it."""
