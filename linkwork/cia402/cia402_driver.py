"""The driver `cia402`: drives of the profile CiA 402 on a CAN bus, in a cyclic synchronous mode.

A tick sends each drive's RPDO (controlword and targets) and then SYNC: the command acts from this SYNC on.
Each drive answers with the TPDO of the state at this SYNC (statusword, position, torque).
`docs/cia402.md` is the page for users.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from linkwork.cia402.can_link import (
    EMERGENCY,
    ENTER_PRE_OPERATIONAL,
    NMT,
    NODE_STATE,
    OPERATIONAL,
    RPDO,
    SDO_ANSWER,
    START,
    SYNC,
    TPDO,
    Send,
    open_bus,
    sender,
)
from linkwork.cia402.drive_examination import DriveExamination
from linkwork.cia402.drive_link import DriveLink
from linkwork.cia402.drive_settings import Cia402Settings
from linkwork.cia402.drive_states import (
    ENABLE,
    HOMING_ATTAINED,
    HOMING_ERROR,
    SHUTDOWN,
    START_HOMING,
    DriveState,
    Wish,
)
from linkwork.cia402.objects import MASTER_WATCHED, DriveObject, OperationMode
from linkwork.plant.drivers.driver import Command, Description, DriverFailed, Reading, Setup
from linkwork.plant.drivers.findings import Exercise
from linkwork.protocol.codes import DeviceStatus, Mode, Pace
from linkwork.protocol.link import MOTOR_FAULT, MOTOR_MODE, MOTOR_STATUS

if TYPE_CHECKING:
    import can

_LOCKSTEP_ANSWER_S: Final = 0.5
_SILENT_S: Final = 0.02
"""In lockstep, how long `read` waits for a drive whose TPDOs were missing before."""
_HEARTBEAT: Final = bytes([OPERATIONAL])


class Cia402:
    """Drives of the profile CiA 402 behind a CAN bus; see `Cia402Settings`."""

    def __init__(self, setup: Setup) -> None:
        self.settings = settings = Cia402Settings.read(setup)
        self.drives = [DriveLink(drive, settings) for drive in settings.drives]
        self._frames = {drive.node + base: drive for drive in self.drives for base in self._listened()}
        self._bus: can.BusABC | None = None
        self._send: Send = _unsent
        self._tick = 0
        self._beat = max(1, round(settings.watchdog_s / 3.0 / settings.period_s))
        self._mode = Mode.BRAKE
        self._notices: list[str] = []
        self.listener: Callable[[int], None] = _unheard
        """Called with the identifier of each frame that comes."""
        self._seeking: set[int] = set()

    @staticmethod
    def _listened() -> tuple[int, ...]:
        return EMERGENCY, *TPDO, SDO_ANSWER, NODE_STATE

    def describe(self) -> Description:
        """Properties from the options."""
        settings, count = self.settings, len(self.drives)
        return Description(
            name=f"{count} CiA 402 drive{'s' if count > 1 else ''} on {self._where}",
            motors=count,
            sensors=count,
            about=f"drives of the profile CiA 402 in {settings.mode.words} mode",
            period_s=(0.0005, 0.1),
            watchdog_s=settings.watchdog_s,
            brakes=True,
            velocities=settings.velocities,
            motor_reports=True,
            positions=True,
            paces=tuple(Pace) if settings.lockstep else (Pace.DEVICE, Pace.HOST),
        )

    @property
    def _where(self) -> str:
        return f"{self.settings.interface} {self.settings.channel}".strip()

    def start(self) -> None:
        """Open the bus and configure all drives; they are braked. Raises DriverFailed."""
        self.stop()
        settings = self.settings
        self._bus = open_bus(settings.interface, settings.channel, settings.bus)
        self._send = sender(self._bus)
        self._tick, self._mode = 0, Mode.BRAKE
        self._seeking.clear()
        try:
            for drive in self.drives:
                drive.begin()
                self._send(NMT, bytes([ENTER_PRE_OPERATIONAL, drive.node]))
            self._configure()
        except DriverFailed:
            self._close()
            raise

    def _configure(self) -> None:
        """Write all objects, all drives at once; then start them."""
        while any(drive.sdo.busy for drive in self.drives):
            for drive in self.drives:
                drive.sdo.poll(self._send)
                if drive.sdo.refused:
                    raise DriverFailed(f"{drive.sdo.refused} (bus {self._where})")
            self._receive(0.01)
        for drive in self.drives:
            drive.check()
            self._send(NODE_STATE + self.settings.master_node, _HEARTBEAT)
            self._send(NMT, bytes([START, drive.node]))

    def write(self, command: Command) -> None:
        """Send the RPDO of each drive, then SYNC; the command acts from there on."""
        if self._bus is None:
            raise DriverFailed("the driver cia402 was not started")
        while self._receive(0.0):  # what came after the last reading: heartbeats, and TPDOs that are late
            pass
        self._mode = mode = command.mode
        wish = Wish.BRAKED if mode == Mode.BRAKE else Wish.ENABLED
        if wish is Wish.ENABLED and any(drive.fault for drive in self.drives):
            wish = Wish.STOPPED
        positions = command.position.tolist() if mode == Mode.EFFORT else []
        for at, (drive, effort) in enumerate(zip(self.drives, command.effort.tolist(), strict=True)):
            wanted = effort if mode == Mode.EFFORT else 0.0
            place = positions[at] if positions else None
            self._send(RPDO + drive.node, drive.command(wish, wanted, place, reset=command.clear))
        self._sync()

    def _sync(self, *, beat: bool = True) -> None:
        self._tick += 1
        self._send(SYNC, b"")
        if beat and self._tick % self._beat == 0:
            self._send(NODE_STATE + self.settings.master_node, _HEARTBEAT)
        for drive in self.drives:
            drive.sync(self._tick)
            drive.sdo.poll(self._send)
            if drive.take_restart():
                self._send(NMT, bytes([START, drive.node]))

    def read(self, reading: Reading) -> bool:
        """Wait for the TPDOs of this SYNC. False where one is missing that was there before."""
        self._await_reports()
        fresh = True
        for drive in self.drives:
            drive.judge()
            fresh = fresh and (drive.answered or bool(drive.fault))
            self._notices += drive.take_notices()
        if any(drive.position is None for drive in self.drives):
            return False
        self._fill(reading)
        return fresh

    def _await_reports(self) -> None:
        """Wait until each drive has answered the last SYNC, or the time is over."""
        settings, begun_s = self.settings, time.monotonic()
        while waiting := [drive for drive in self.drives if not drive.answered]:
            patience_s = settings.answer_s
            if settings.lockstep:
                patience_s = _SILENT_S if all(drive.fault for drive in waiting) else _LOCKSTEP_ANSWER_S
            left_s = begun_s + patience_s - time.monotonic()
            if left_s <= 0.0 and not self._receive(0.0):
                break
            self._receive(max(0.0, left_s))

    def _fill(self, reading: Reading) -> None:
        status, faults = DeviceStatus.ENABLED | DeviceStatus.HOMED, []
        enabled = False
        for at, drive in enumerate(self.drives):
            reading.position[at] = drive.position or 0
            reading.velocity[at], reading.effort[at] = drive.velocity, drive.effort
            reading.motors[:, at] = drive.report()
            own = DeviceStatus(int(reading.motors[MOTOR_STATUS, at]) & 0xFF)
            status &= own | ~(DeviceStatus.ENABLED | DeviceStatus.HOMED)
            enabled = enabled or reading.motors[MOTOR_MODE, at] != Mode.BRAKE
            faults.append(int(reading.motors[MOTOR_FAULT, at]))
        fault = next((each for each in faults if each), 0)
        reading.fault = fault
        reading.status = (
            int(status) | (DeviceStatus.FAULT if fault else 0) | (0 if enabled else DeviceStatus.BRAKE)
        )

    def home(self) -> bool:
        """Let each drive that needs it run its own homing, in mode 6; True once all are homed and braked."""
        ready = True
        if self._bus is None:
            raise DriverFailed("the driver cia402 was not started")
        while self._receive(0.0):
            pass
        for drive in self.drives:
            if not drive.homed:
                drive.switch_mode(OperationMode.HOMING)
            else:
                drive.switch_mode(self.settings.mode)
            seeks = not drive.homed and drive.mode is OperationMode.HOMING and not drive.sdo.busy
            drive.command(Wish.ENABLED if seeks else Wish.BRAKED, 0.0, reset=False)
            word = drive.axis.controlword
            if seeks and drive.axis.state is DriveState.ENABLED:
                word = ENABLE | START_HOMING
                if drive.node in self._seeking and drive.axis.statusword & HOMING_ERROR:
                    raise DriverFailed(f"{drive.name} did not find its zero: {drive.why()}")
                if drive.node in self._seeking and drive.axis.statusword & HOMING_ATTAINED:
                    drive.homed = True
                self._seeking.add(drive.node)
            ready = ready and drive.homed and drive.mode is self.settings.mode and not drive.sdo.busy
            self._send(RPDO + drive.node, drive.pack(word))
        self._sync()
        return ready and all(drive.axis.state is not DriveState.ENABLED for drive in self.drives)

    def stop(self) -> None:
        """Brake all drives, stop watching for this master, and close the bus."""
        if self._bus is None:
            return
        try:
            for _ in range(3):
                self.command_all(SHUTDOWN)
                self._send(SYNC, b"")
            for drive in self.drives:
                drive.sdo.write(MASTER_WATCHED, 0)
                drive.sdo.poll(self._send)
                self._send(NMT, bytes([ENTER_PRE_OPERATIONAL, drive.node]))
        finally:
            self._close()

    def _close(self) -> None:
        bus, self._bus = self._bus, None
        if bus is not None:
            bus.shutdown()

    def exercises(self) -> list[Exercise]:
        """Return the exercises of `linkwork driver check` for the drives."""
        return DriveExamination(self).exercises()

    def command_all(self, word: int) -> None:
        """Send each drive a controlword without torque, at its position; the next SYNC puts it in force."""
        for drive in self.drives:
            self._send(RPDO + drive.node, drive.pack(word))

    def cycle(self, word: int, *, beat: bool) -> None:
        """Make a cycle with a controlword for all drives. beat: send the master's heartbeats."""
        while self._receive(0.0):
            pass
        self.command_all(word)
        self._sync(beat=beat)
        self._await_reports()

    def ask(self, drive: DriveLink, entry: DriveObject) -> int:
        """Return an object of a drive. Raises DriverFailed without an answer."""
        drive.sdo.clear()
        drive.sdo.query(entry)
        while drive.sdo.busy:
            drive.sdo.poll(self._send)
            self._receive(0.01)
        if drive.sdo.refused:
            raise DriverFailed(drive.sdo.refused)
        return drive.sdo.values[entry]

    def take_notices(self) -> list[str]:
        """Return what happened to the drives since the last call."""
        notices, self._notices = self._notices, []
        return notices

    def _receive(self, timeout_s: float) -> bool:
        """Take in one frame; False where none came in time."""
        import can as python_can

        assert self._bus is not None
        try:
            message = self._bus.recv(timeout_s)
        except python_can.CanError as error:
            raise DriverFailed(f"the CAN bus {self._where} failed: {error}") from None
        if message is None:
            return False
        self.listener(message.arbitration_id)
        drive = self._frames.get(message.arbitration_id)
        if drive is not None and not message.is_extended_id and not message.is_error_frame:
            drive.hear(message.arbitration_id - drive.node, bytes(message.data))
        return True


def _unsent(_: int, __: bytes) -> None:
    """Stand for the bus that is not open."""


def _unheard(_: int) -> None:
    """Stand for the listener."""
