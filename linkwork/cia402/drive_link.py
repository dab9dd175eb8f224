"""One drive on the bus as the driver sees it: configuration, state, cyclic data, faults."""

import struct
from typing import Final

from linkwork.cia402.can_link import (
    BOOTED,
    DISABLED_PDO,
    EMERGENCY,
    NODE_STATE,
    OPERATIONAL,
    PRE_OPERATIONAL,
    RPDO,
    SDO_ANSWER,
    STOPPED,
    TPDO,
)
from linkwork.cia402.drive_settings import COMMANDED, REPORTED, Cia402Settings, DriveSettings
from linkwork.cia402.drive_states import FAULTY, DriveAxis, DriveState, Wish
from linkwork.cia402.objects import (
    ABORT_OPTION,
    DEVICE_TYPE,
    DIGITAL_INPUTS,
    ERROR_CODE,
    HEARTBEAT,
    HOMING_METHOD,
    INTERPOLATION_EXPONENT,
    INTERPOLATION_TIME,
    MASTER_WATCHED,
    MODE,
    MODE_DISPLAY,
    SUPPORTED_MODES,
    VELOCITY,
    DriveObject,
    OperationMode,
)
from linkwork.cia402.report_watch import ReportWatch
from linkwork.cia402.sdo_transfers import SdoQueue
from linkwork.plant.drivers.driver import DriverFailed
from linkwork.protocol.codes import DeviceFault, DeviceStatus, Mode
from linkwork.protocol.drive_errors import DRIVE_ERROR, error_text

_REPORT: Final = struct.Struct("<Hih")
_TORQUE: Final = struct.Struct("<Hh")
_POSITION: Final = struct.Struct("<Hih")
_FOLLOWING: Final = 0x8611
_ASK_EVERY: Final = 8
"""Cycles between two questions for the mode of a drive that does not show it yet."""
_WANTED: Final = {
    MASTER_WATCHED: "it does not stop by itself when linkwork's heartbeat stops",
    ABORT_OPTION: "its reaction to a lost master is its own",
    HEARTBEAT: "it sends no heartbeat that linkwork could watch",
}
"""Objects without which a drive runs, and what is missing then."""
_NEEDED: Final = {
    0x1600: "linkwork maps the RPDO itself; a fixed mapping does not serve",
    0x1A00: "linkwork maps the TPDO itself; a fixed mapping does not serve",
    0x1800: "the drive must send its TPDO at each SYNC",
}
"""Objects of which the refusal needs a reason, by index."""
_ONCE: Final = -1
"""Number of cycles that a drive has been waited for, once it has been enabled."""
_TOP: Final = 1 << 32
_NODE_STATES: Final = {BOOTED: "booting", STOPPED: "stopped", PRE_OPERATIONAL: "pre-operational"}


class DriveLink:
    """A drive. `axis`: its state machine; `fault`: its fault, a number of the device link; 0: none."""

    def __init__(self, own: DriveSettings, settings: Cia402Settings) -> None:
        self.own, self.settings = own, settings
        self.rated, self.homed = own.rated, own.absolute
        self.begin()

    def begin(self) -> None:
        """Forget everything that the drive has said, and configure it."""
        self.axis = DriveAxis()
        self.position: int | None = None
        self.velocity = self.effort = 0.0
        self.fault = 0
        self.answered = False
        self.mode = self.settings.mode
        self.sdo = SdoQueue(self.name, self.node, _NEEDED, _WANTED)
        self._error = 0
        self._configuring = False
        self._tick = self._seen_tick = 0
        self._restart_tick = -1_000_000
        self._alive, self._judged = True, -1
        self._missing = self._late = self._waited = 0
        self._asked = 0
        """What the drive was asked for last: its torque in thousandths, or its position in counts."""
        self._watch = ReportWatch(self.settings)
        self._notices: list[str] = []
        self.configure()

    @property
    def name(self) -> str:
        """Its name in driver.options.drives."""
        return self.own.name

    @property
    def node(self) -> int:
        """Its CANopen node."""
        return self.own.node

    # -- objects -----------------------------------------------------------------------------------------

    def configure(self) -> None:
        """Queue all that a drive needs before it is started."""
        self.sdo.clear()
        self._configuring = True
        settings, node = self.settings, self.node
        self.sdo.query(DEVICE_TYPE, required=True)
        self.sdo.query(SUPPORTED_MODES)
        self.sdo.query(self.own.rated_object, required=not self.own.rated)
        for entry, value in self.own.write:
            self.sdo.write(entry, value, required=True)
        self.sdo.write(HEARTBEAT, round(1e3 * settings.heartbeat_s))
        watched_ms = round(1e3 * settings.watchdog_s)
        self.sdo.write(MASTER_WATCHED, settings.master_node << 16 | watched_ms if watched_ms else 0)
        self.sdo.write(ABORT_OPTION, 1)
        self._map_pdo(0x1400, RPDO + node, COMMANDED[settings.mode])
        self._map_pdo(0x1800, 1 << 30 | TPDO[0] + node, REPORTED)
        if settings.velocities:
            self._map_pdo(0x1801, 1 << 30 | TPDO[1] + node, (VELOCITY,))
        for index in (0x1401, 0x1402, 0x1403, 0x1802, 0x1803, *([] if settings.velocities else [0x1801])):
            self.sdo.write(DriveObject(index, 1, "I"), DISABLED_PDO)
        tenths_ms = round(1e4 * settings.period_s)
        exponent, count = (-4, tenths_ms) if tenths_ms % 10 else (-3, tenths_ms // 10)
        self.sdo.write(INTERPOLATION_EXPONENT, exponent)
        self.sdo.write(INTERPOLATION_TIME, min(count, 255))
        self.switch_mode(self.mode, again=True)

    def _map_pdo(self, index: int, identifier: int, objects: tuple[DriveObject, ...]) -> None:
        """Queue a synchronous PDO: disabled, mapped, enabled."""
        parameters, kind = DriveObject(index, 1, "I"), DriveObject(index, 2, "B")
        count = DriveObject(index + 0x200, 0, "B")
        self.sdo.write(parameters, DISABLED_PDO | identifier, required=True)
        self.sdo.write(kind, 1, required=True)
        self.sdo.write(count, 0, required=True)
        for place, entry in enumerate(objects, start=1):
            self.sdo.write(DriveObject(index + 0x200, place, "I"), entry.mapped, required=True)
        self.sdo.write(count, len(objects), required=True)
        self.sdo.write(parameters, identifier, required=True)

    def switch_mode(self, mode: OperationMode, *, again: bool = False) -> None:
        """Queue another mode of operation. It is read back: some drives change late, or not at all."""
        if mode is self.mode and not again:
            return
        self.mode = mode
        self._watch = ReportWatch(self.settings)  # homing moves the zero
        if mode is OperationMode.HOMING:
            self.sdo.write(HOMING_METHOD, self.own.homing_method)
        self.sdo.write(MODE, int(mode), required=True)
        self.sdo.values.pop(MODE_DISPLAY, None)
        self.sdo.query(MODE_DISPLAY)

    def take_restart(self) -> bool:
        """Return whether the drive was configured again, and is to be started."""
        restart = self._configuring and not self.sdo.busy and not self.sdo.refused
        if restart:
            self._configuring = False
            self._alive, self._seen_tick = not self.settings.heartbeat_s, self._tick
            self._restart_tick = self._tick
        return restart

    def check(self) -> None:
        """Compare what the drive says with the settings. Raises DriverFailed."""
        self._configuring = False
        kind = self.sdo.values.get(DEVICE_TYPE, 0)
        if kind & 0xFFFF != 402:
            raise DriverFailed(
                f"{self.name} (node {self.node}) is of profile {kind & 0xFFFF}, not 402 (1000h = {kind:08X}h)"
            )
        mode, offered = self.settings.mode, self.sdo.values.get(SUPPORTED_MODES)
        if offered is not None and not offered & mode.offered:
            raise DriverFailed(
                f"{self.name} (node {self.node}) does not offer {mode.words}: 6502h = {offered:08X}h lacks "
                f"bit {mode.value - 1}"
            )
        told = self.sdo.values.get(self.own.rated_object, 0) / 1000.0
        what, unit = ("current", "A") if self.own.in_amperes else ("torque", "N m")
        if self.own.rated and told and abs(told - self.own.rated) > 0.01 * self.own.rated:
            raise DriverFailed(
                f"{self.name} (node {self.node}) has a rated {what} of {told:g} {unit} "
                f"({self.own.rated_object}), not {self.own.rated:g} as driver.options.drives says: every "
                "torque would be wrong by this factor"
            )
        self.rated = self.own.rated or told
        if not self.rated:
            raise DriverFailed(
                f"{self.name} (node {self.node}) has no rated {what} in {self.own.rated_object}; give "
                f"rated_{'current_A' if self.own.in_amperes else 'torque_N_m'} in driver.options.drives"
            )

    # -- a cycle -----------------------------------------------------------------------------------------

    def command(self, wish: Wish, effort: float, position: float | None = None, *, reset: bool) -> bytes:
        """Compose the drive's controlword (in `axis`); return its RPDO.

        effort: A or N m. position: counts, in position mode; None: where it is. reset: the machine is braked
        and its fault was reported.
        """
        if wish is Wish.ENABLED and not self._in_mode():
            wish = Wish.BRAKED
            self._wait()
        elif wish is not self.axis.wish:
            self._waited = 0
        if reset and self.fault:
            self._recover()
        self.axis.update(wish, reset=reset)
        thousandths = round(1000.0 * effort / self.rated) if wish is not Wish.STOPPED else 0
        self._asked = torque = max(-32768, min(32767, thousandths))
        place = self.position or 0
        if self.settings.mode is OperationMode.POSITION:
            if position is not None and wish is Wish.ENABLED and self.axis.state is DriveState.ENABLED:
                place = round(position)
            self._asked = place
        return self.pack(self.axis.controlword, torque, place)

    def _in_mode(self) -> bool:
        """Whether the drive shows its mode in 6061h, or has no such object; else ask again."""
        shown = self.sdo.values.get(MODE_DISPLAY)
        if shown == self.mode:
            return True
        if shown is None:
            return not self.sdo.busy
        if self._tick % _ASK_EVERY == 0:
            self.sdo.query(MODE_DISPLAY)
        return False

    def pack(self, word: int, torque: int = 0, position: int | None = None) -> bytes:
        """Return an RPDO. torque: thousandths. position: counts; None: where the drive is."""
        if self.settings.mode is OperationMode.TORQUE:
            return _TORQUE.pack(word, torque)
        place = self.position or 0 if position is None else position
        return _POSITION.pack(word, (place + _TOP // 2) % _TOP - _TOP // 2, torque)

    def _recover(self) -> None:
        """Configure the drive again where its link was lost; end the fault once its cause is gone."""
        linked = self._alive and self.answered and self._missing == 0
        if self.fault in (DeviceFault.LINK, DeviceFault.SENSOR) and not linked:
            done = not self._configuring or bool(self.sdo.refused)
            patience = self.settings.enable_cycles + 3 * round(
                self.settings.heartbeat_s / self.settings.period_s
            )
            if done and self._tick - self._restart_tick > patience:
                self.configure()
            return
        if linked and not self.sdo.busy and self.axis.state is DriveState.SWITCHED_ON:
            self.axis.release()
            self._say("fault cleared")
            self.fault = self._error = self._late = 0
            self._watch = ReportWatch(self.settings)

    def sync(self, tick: int) -> None:
        """Begin a cycle: a SYNC was sent."""
        self._tick = tick
        self.answered = False

    def hear(self, identifier: int, data: bytes) -> None:
        """Take in a frame of this drive; `identifier` without its node."""
        if identifier == TPDO[0] and len(data) >= _REPORT.size:
            self._hear_report(data)
        elif identifier == TPDO[1] and len(data) >= 4:
            counts: int = struct.unpack_from("<i", data)[0]
            self.velocity = float(counts)
        elif identifier == SDO_ANSWER:
            self.sdo.answer(data)
        elif identifier == EMERGENCY and len(data) >= 2:
            self._hear_emergency(struct.unpack_from("<H", data)[0], data)
        elif identifier == NODE_STATE and data:
            self._hear_node_state(data[0] & 0x7F)

    def _hear_report(self, data: bytes) -> None:
        if self.answered or not self._tick:
            return
        if self._missing and self._judged == self._tick:  # of a cycle that is over
            self._late += 1
            return
        self.answered = True
        statusword, position, torque = _REPORT.unpack_from(data)
        self.axis.observe(statusword)
        self._unroll(position)
        self.effort = torque / 1000.0 * self.rated
        frozen = self._watch.frozen(bytes(data[: _REPORT.size]), self._asked, self.axis.wish is Wish.ENABLED)
        if frozen:
            self._fail(DeviceFault.SENSOR, frozen)
        stuck = self._watch.stuck(self.position or 0, self._asked, self.axis.state is DriveState.ENABLED)
        known = self.mode is self.settings.mode and not self.fault
        jumped = self._watch.jumped(self.position or 0, self._asked) if known else ""
        for suspicion in filter(None, (stuck, jumped)):
            self._say(suspicion)

    def _unroll(self, count: int) -> None:
        """Counts beyond 32 bits: the shortest way from the last sample is the one gone."""
        if self.position is None:
            self.position = count
        else:
            self.position += (count - self.position + _TOP // 2) % _TOP - _TOP // 2

    def _hear_emergency(self, code: int, data: bytes) -> None:
        if code == 0:
            self._say("emergency: error reset")
            return
        self._error = code
        self._fail(DRIVE_ERROR + code, f"emergency: {self._error_text()}, data {data[2:8].hex(' ')}")

    def _error_text(self) -> str:
        text = error_text(self._error)
        if self._error != _FOLLOWING or self.mode is not OperationMode.POSITION or self.position is None:
            return text
        return f"{text}: {self._asked - self.position} counts from its target"

    def _hear_node_state(self, state: int) -> None:
        self._seen_tick = self._tick
        if not self._tick or self._configuring:
            return
        self._alive = state == OPERATIONAL
        if state == BOOTED:
            self.axis.bar()
            self._fail(DeviceFault.LINK, "it restarted: boot-up message during operation")
        elif state != OPERATIONAL and self._tick > 2:
            self.axis.bar()
            named = _NODE_STATES.get(state, str(state))
            self._fail(DeviceFault.LINK, f"its NMT state is {named}, not operational")

    def judge(self) -> None:
        """End a cycle: set and log the faults that it has shown."""
        self._judged = self._tick
        for before, after in self.axis.transitions:
            words = ["unknown" if each is None else each.words for each in (before, after)]
            self._say(f"{words[0]} -> {words[1]} (6041h = {self.axis.statusword:04X}h)")
        self.axis.transitions.clear()
        for text in self.sdo.ignored:
            self._say(text)
        self.sdo.ignored.clear()
        self._judge_link()
        if self.answered:
            self._judge_state()

    def _judge_link(self) -> None:
        settings = self.settings
        if self.answered:
            self._missing = 0
        else:
            self._missing += 1
            if self._missing >= settings.missing_tpdos:
                self.axis.bar()
                late = f"; {self._late} came late" if self._late else "; is 1800h:02 = 1 in force?"
                self._fail(DeviceFault.LINK, f"{self._missing} TPDO missing in a row{late}")
        silent_s = (self._tick - self._seen_tick) * settings.period_s
        if settings.heartbeat_s and silent_s > 2.5 * settings.heartbeat_s + settings.period_s:
            self._alive = False
            self.axis.bar()
            self._fail(DeviceFault.LINK, f"no heartbeat for {silent_s:.3g} s")
        elif not settings.heartbeat_s:
            self._alive = True

    def _judge_state(self) -> None:
        state, axis = self.axis.state, self.axis
        if state in FAULTY:
            if not self._error:
                self.sdo.query(ERROR_CODE)
                self._error = self.sdo.values.pop(ERROR_CODE, 0)
            number = DRIVE_ERROR + self._error if self._error else int(DeviceFault.DRIVE)
            self._fail(number, f"fault: {self._error_text()}" if self._error else "fault bit of 6041h")
        if axis.wish is not Wish.ENABLED or axis.barred:
            return
        if state is DriveState.ENABLED:
            self._waited = _ONCE
            return
        if self._waited == _ONCE:
            if state in FAULTY:
                return
            off = state in (DriveState.DISABLED, DriveState.READY, DriveState.NOT_READY)
            self.axis.bar()
            what = "its power stage went off" if off else "it left operation by itself"
            self._fail(DeviceFault.POWER if off else DeviceFault.DRIVE, f"{what}: {self.why()}")
            return
        self._wait()

    def _wait(self) -> None:
        """Count a cycle in which the drive is to be enabled and is not; after `enable_s` it is a fault."""
        self._waited += 1
        patience = self.settings.enable_cycles
        if self._waited == patience // 3:
            for entry in (ERROR_CODE, DIGITAL_INPUTS, SUPPORTED_MODES, MODE_DISPLAY):
                self.sdo.query(entry)
        elif self._waited >= patience and not (self.sdo.busy and self._waited < 4 * patience):
            self.axis.bar()
            waited = f"within enable_s = {self.settings.enable_s:g} s"
            self._fail(DeviceFault.DRIVE, f"it does not enable {waited}: {self.why()}")

    def why(self) -> str:
        """Return in words why the drive is not enabled, from what it said last."""
        values = self.sdo.values
        return self.axis.why_not_enabled(
            self.mode,
            self._error or values.get(ERROR_CODE, 0),
            values.get(DIGITAL_INPUTS, 0),
            values.get(SUPPORTED_MODES, self.mode.offered),
            values.get(MODE_DISPLAY, int(self.mode)),
        )

    def report(self) -> tuple[int, int, int]:
        """Return status bits with the statusword above them, fault and mode (protocol.codes) of the motor."""
        state = self.axis.state
        status = DeviceStatus.HOMED if self.homed else DeviceStatus(0)
        if state in (DriveState.SWITCHED_ON, DriveState.ENABLED) and not self.fault:
            status |= DeviceStatus.ENABLED
        if state is not DriveState.ENABLED:
            status |= DeviceStatus.BRAKE
        if self.fault:
            status |= DeviceStatus.FAULT
        mode = Mode.EFFORT if state is DriveState.ENABLED else Mode.BRAKE
        return int(status) | self.axis.statusword << 16, self.fault, int(mode)

    def take_notices(self) -> list[str]:
        """Return what happened since the last call."""
        notices, self._notices = self._notices, []
        return notices

    def _fail(self, number: int, text: str) -> None:
        """Report a fault; the first stays until it is cleared, but a number may become more precise."""
        if not self.fault or (self.fault == DeviceFault.DRIVE and number > DRIVE_ERROR):
            self._say(text)
            self.fault = int(number)

    def _say(self, text: str) -> None:
        self._notices.append(f"{self.name}: {text}")
