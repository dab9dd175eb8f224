"""A real machine behind a driver: scaled, limited, watched (`plant.machinery.Machinery`). It has no clock."""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.plant.drivers.driver import Command, Description, Driver, DriverFailed, Homes, Reading, Reports
from linkwork.plant.drivers.scaling import Scaling
from linkwork.plant.simulator.plant_state import BRAKE, DAMP, EFFORTS, ZERO
from linkwork.protocol.codes import DeviceFault, DeviceStatus, Mode
from linkwork.protocol.drive_errors import device_fault_text
from linkwork.protocol.link import MOTOR_FAULT, Measurements

T = TypeVar("T")
_ACTIONS: Final = {"brake": BRAKE, "damp": DAMP, "zero": ZERO}
_HOMED: Final = int(DeviceStatus.HOMED)
STILL_S: Final = 0.05
"""A machine is at rest when no sensor has moved by more than two counts for this time."""
_STEP: Final = 1e-6
"""rad or m: the smallest way that counts as motion, of a sensor without counts."""


class MotorOutput:
    """The efforts that a driver is given each period: clipped, damped or zero, in the device's own units."""

    def __init__(self, machine: Machine, scaling: Scaling, command: Command) -> None:
        joints, motors = tuple(sensor.joint for sensor in machine.sensors), machine.motors
        self._scaling, self._command = scaling, command
        self._wanted, self._acting = np.zeros(len(motors)), np.zeros(len(motors))
        self._most = np.array([motor.max_effort for motor in motors])
        self._damping = np.array([motor.damping for motor in motors])
        self._sensor_of = np.array([_place(joints, motor.joint) for motor in motors], np.int64)

    def latch(self, effort: Floats) -> None:
        """Set the efforts (motors; N m or N at the joint) of a fresh command, within the motors' limits."""
        np.clip(effort, -self._most, self._most, out=self._wanted)

    def refer(self, position: Floats, feedforward: Floats) -> None:
        """Set the references (motors) of drives that follow positions, in place of efforts."""
        self.latch(feedforward)
        self._scaling.positions_to_device(position, self._command.position)

    def release(self) -> None:
        """Forget the efforts of the last command."""
        self._wanted[:] = 0.0

    def set_signals(self, values: Floats) -> None:
        """Take the values (outputs) of the output signals, which hold in every mode."""
        self._command.outputs[: len(values)] = values

    def command(self, mode: int, speed: Floats, *, guarded: bool, clear: bool) -> Command:
        """Compose this period's command.

        speed (sensors): of each sensor's joint (rad/s or m/s), which damping opposes. guarded: a limit was
        exceeded, so the brakes are set. clear: ask the device to clear its fault.
        """
        command = self._command
        command.clear = clear
        if guarded:
            mode = BRAKE
        if mode == DAMP:
            damped = np.where(self._sensor_of >= 0, speed[self._sensor_of], 0.0)
            np.clip(-self._damping * damped, -self._most, self._most, out=self._acting)
        elif mode == ZERO or guarded:
            self._acting[:] = 0.0
        else:
            self._acting[:] = self._wanted
        command.mode = Mode(EFFORTS if mode == DAMP else mode)
        self._scaling.to_device(self._acting, command.effort)
        return command


class Standstill:
    """Detects that no sensor has moved by more than two counts for STILL_S."""

    def __init__(self, resolution: Floats, period_s: float) -> None:
        self._band = 2.0 * resolution + _STEP
        self._anchor = np.zeros_like(self._band)
        self._period_s, self._periods = period_s, 0

    @property
    def reached(self) -> bool:
        """Whether no sensor has moved for STILL_S."""
        return self._periods * self._period_s >= STILL_S

    def begin(self, q: Floats) -> None:
        """Compare with these positions (sensors; rad or m) from now on."""
        self._anchor[:] = q

    def update(self, q: Floats) -> None:
        """Compare the positions (sensors; rad or m) of one period."""
        if (np.abs(q - self._anchor) > self._band).any():
            self._anchor[:] = q
            self._periods = 0
        else:
            self._periods += 1


class Hardware:
    """A driver's device as the daemon sees it. It starts braked; `start` before anything else.

    `say(event, text)` reports faults as they begin and end.
    """

    runs_by_itself = True
    simulation: dict[str, str] | None = None

    def __init__(self, machine: Machine, driver: Driver, say: Callable[[str, str], None]) -> None:
        self.machine, self.driver, self._say = machine, driver, say
        self.description: Description = driver.describe()
        self.scaling = Scaling(machine, self.description)
        self.guard = Guard(machine)
        motors, sensors = len(machine.motors), len(machine.sensors)
        self.joints = tuple(sensor.joint for sensor in machine.sensors)
        self.tick = 0
        self.mode = BRAKE
        self.sampled = False
        self._temperature = np.full(motors, np.nan)
        self.measured = Measurements(
            q=np.zeros(sensors),
            v=np.zeros(sensors),
            effort=np.zeros(motors),
            force=np.zeros(machine.force_numbers),
            temperature=self._temperature if self.description.temperatures else None,
            inputs=np.array([signal.initial for signal in machine.inputs]),
            outputs=np.array([signal.initial for signal in machine.outputs]),
            motors=np.zeros((3, motors), np.int64) if self.description.motor_reports else None,
        )
        self.travel = np.zeros(sensors)
        self._speed, self._before = np.zeros(sensors), np.zeros(sensors)
        self._measures_velocity = np.array([sensor.velocity for sensor in machine.sensors], np.bool_)
        command = Command(np.zeros(self.description.motors))
        command.outputs = np.zeros(self.description.output_channels)
        if machine.driver.follows_positions:
            command.position = np.zeros(self.description.motors)
        command.outputs[: len(machine.outputs)] = self.measured.outputs
        self._output = MotorOutput(machine, self.scaling, command)
        self._reading = Reading.sized(self.description)
        self._standstill = Standstill(self.scaling.resolution, machine.plant.period_s)
        self._missing = self._braked_for = self._reported_fault = 0
        self._seen = False
        self.homed = False
        """Whether homing was done here, so that positions are absolute independent of the device's status."""

    def start(self, within: int = 50) -> None:
        """Connect and take the first sample within a number of readings, braked. Raises DriverFailed."""
        self._call(self.driver.start)
        for _ in range(within):
            self.sense()
            if self._seen:
                break
        if not self._seen:
            raise DriverFailed(
                f"{self.description.name} was started, but returned no sample in {within} readings; check"
                " that its "
                "power is on and that it answers within half a period"
            )
        if self.machine.driver.homing == "here":
            self.scaling.put(self.measured.q, [self.machine.initial_q[s.index] for s in self.machine.sensors])
            self._take_in(first=True)
            self.homed = True

    @property
    def closed(self) -> int:
        """Constraints of a real machine stay as the machine file says: no driver switches them."""
        return self.machine.closed_at_start

    def switch(self, closed: int) -> list[dict[str, Any]]:
        """Refuse to switch."""
        changes = closed ^ self.closed
        return [
            {"name": name, "on": bool(self.closed >> i & 1), "refused": f"no driver switches {name}"}
            for i, name in enumerate(self.machine.switchable)
            if changes >> i & 1
        ]

    def set_outputs(self, values: Floats) -> None:
        """Give the driver these values (outputs) with its next command."""
        self.measured.outputs[:] = values
        self._output.set_signals(values)

    def latch(self, mode: int, effort: Floats) -> None:
        """Store mode and efforts (motors; N m or N) for the next `sense`, clipped to the motors' limits."""
        self._output.latch(effort)
        self.mode = mode
        self.travel[:] = 0.0
        if mode == Mode.BRAKE:
            self.guard.allow()

    def refer(self, position: Floats, feedforward: Floats) -> None:
        """Store the references (motors) for the next `sense`; they replace the efforts of `latch`."""
        self._output.refer(position, feedforward)

    def act(self, action: str) -> None:
        """The time-out's action, "brake", "damp" or "zero", acts from the next `sense` on."""
        self.mode = _ACTIONS[action]
        self._output.release()

    def sense(self) -> Sequence[dict[str, Any]]:
        """One exchange with the device: `write`, then `read`. Raises DriverFailed."""
        clear = self._braked_for >= self.machine.plant.command_timeout_periods
        command = self._output.command(self.mode, self._speed, guarded=bool(self.guard.fault), clear=clear)
        self._exchange(lambda: self.driver.write(command))
        return ()

    def home(self) -> bool:
        """Make a period of the driver's homing procedure; return whether it is done. Raises DriverFailed."""
        driver = self.driver
        if not isinstance(driver, Homes):
            raise DriverFailed(
                f"{self.description.name} has no homing procedure; set driver.homing to device or here"
            )
        done = self._exchange(driver.home)
        self.tick += 1
        if done:
            self.homed = True
        return bool(done)

    def integrate(self) -> None:
        """The machine moves by itself; only the tick counts."""
        self.tick += 1

    def close(self) -> None:
        """Brake and disconnect; a failure of the driver is only reported."""
        try:
            self._call(self.driver.stop)
        except DriverFailed as failed:
            self._say("device", f"{failed}; the brake state of {self.description.name} is unknown")

    @property
    def status(self) -> int:
        """The device's own bits, with HOMED where homing was done here, and FAULT where there is one."""
        return self._reading.status | (_HOMED if self.homed else 0)

    @property
    def homing(self) -> dict[str, Any]:
        """Homing of the driver's machine, for the welcome."""
        zeros = zip(self.machine.sensors, self.scaling.zero.tolist(), strict=True)
        return {"by": self.machine.driver.homing, "zero": {sensor.joint: zero for sensor, zero in zeros}}

    @property
    def fault(self) -> int:
        """The device's own fault; a reading that stays away; a limit that was exceeded."""
        if self._missing >= self.machine.plant.command_timeout_periods:
            return int(DeviceFault.SENSOR)
        reading = self._reading
        if reading.fault:
            return reading.fault
        if reading.status & DeviceStatus.FAULT or reading.motors[MOTOR_FAULT].any():
            return int(DeviceFault.DRIVE)
        return self.guard.fault

    @property
    def resting(self) -> bool:
        """A real machine is never left alone: its device is given a command every period."""
        return False

    @property
    def standing(self) -> bool:
        """Whether no sensor has moved for STILL_S."""
        return self._standstill.reached

    def _exchange(self, give: Callable[[], bool | None]) -> bool | None:
        """Call `give`, then `read`, and check the sample."""
        given = self._call(give)
        fresh = self._call(lambda: self.driver.read(self._reading))
        self.sampled = bool(fresh) and self._usable()
        if self.sampled:
            self._missing = 0
            faulty = self._reading.fault != 0 and self.mode == BRAKE
            self._braked_for = self._braked_for + 1 if faulty else 0
            self._take_in(first=not self._seen)
            self._seen = True
            self.guard.check(
                self.measured.q, self._speed, self._temperature, homed=bool(self.status & _HOMED)
            )
        else:
            self._missing += 1
            # a state informs the controller, though its measurements are old
            self.sampled = self._seen and self._missing >= self.machine.plant.command_timeout_periods
        self._report_fault()
        if isinstance(self.driver, Reports):
            for text in self.driver.take_notices():
                self._say("drive", text)
        return given

    def _call(self, what: Callable[[], T]) -> T:
        """Call the driver. Any exception beyond its own errors is its defect, and reported with its name."""
        try:
            return what()
        except DriverFailed:
            raise
        except Exception as error:
            name = type(self.driver).__name__
            raise DriverFailed(f"the driver {name} raised {type(error).__name__}: {error}") from error

    def _usable(self) -> bool:
        reading = self._reading
        told = (reading.position, reading.velocity, reading.force, reading.inputs)
        return all(bool(np.isfinite(numbers).all()) for numbers in told)

    def _take_in(self, *, first: bool) -> None:
        measured, speed, reading = self.measured, self._speed, self._reading
        q = measured.q
        self._before[:] = q
        self.scaling.from_device(reading, q, measured.v, measured.effort, self._temperature)
        measured.force[:] = reading.force[: len(measured.force)]
        measured.inputs[:] = reading.inputs[: len(measured.inputs)]
        if measured.motors is not None:
            self.scaling.motor_reports(reading, measured.motors)
        if first:
            self._before[:] = q
            self._standstill.begin(q)
        np.subtract(q, self._before, out=speed)
        self.travel += np.abs(speed)
        speed /= self.machine.plant.period_s
        speed[self._measures_velocity] = measured.v[self._measures_velocity]
        self._standstill.update(q)

    def _report_fault(self) -> None:
        fault = self.fault
        if fault == self._reported_fault:
            return
        self._reported_fault = fault
        if not fault:
            self._say("device", "the device's fault has cleared")
        elif self.guard.fault == fault:
            self._say("device", f"{self.guard.text}; braked until the controller brakes")
        else:
            self._say("device", f"fault of the device: {_named(fault)}{self._motors_named()}")

    def _motors_named(self) -> str:
        """Return the motors that report their own fault, as text; '' where none does."""
        motors = self.measured.motors
        if motors is None:
            return ""
        faults = zip(self.machine.motors, motors[MOTOR_FAULT].tolist(), strict=True)
        told = [f"{motor.joint} {_named(fault)}" for motor, fault in faults if fault]
        return f" ({', '.join(told)})" if told else ""


def _named(fault: int) -> str:
    return DeviceFault(fault).name if fault in set(DeviceFault) else device_fault_text(fault)


def _place(names: tuple[str, ...], name: str) -> int:
    return names.index(name) if name in names else -1


MARGIN = 0.01
"""rad or m beyond a joint's limit of position: linkwork's own controller stops at the limit itself."""
OVERSPEED = 1.5
"""Times the motor's largest speed; linkwork's own controller stops at 1.25."""


class Guard:
    """Latch `fault` (a DeviceFault, 0 none) from the sample that exceeds a limit until `allow`.

    Only motors' joints have limits here. A joint beyond its position limit that moves back, or is at rest, is
    no violation; a machine that is not homed has no position limits. Resolution and noise of the sensors
    count as no motion.
    """

    def __init__(self, machine: Machine) -> None:
        joints = [sensor.joint for sensor in machine.sensors]
        seen = [motor for motor in machine.motors if motor.joint in joints]
        self._names = [motor.joint for motor in seen]
        self._at = np.array([joints.index(name) for name in self._names], np.int64)
        ranges = [machine.joints[motor.index].position for motor in seen]
        self._low, self._high = np.array(ranges).reshape(-1, 2).T
        self._edges = np.array([self._low, self._high])
        """Positions from which on a joint moves outwards: beyond a limit they follow it inwards."""
        sensors = [machine.sensors[index] for index in self._at]
        self._margin = MARGIN + np.array([sensor.uncertainty for sensor in sensors])
        rate = 1.0 / machine.plant.period_s
        self._fastest = OVERSPEED * np.array([motor.max_speed for motor in seen])
        self._fastest += [sensor.speed_uncertainty(rate) for sensor in sensors]
        self._begin = True
        self._motors = [motor.joint for motor in machine.motors]
        self._hottest = np.array([row.max_temperature for row in machine.driver.motors_of(self._motors)])
        self.fault = 0
        self.text = ""
        self._exceeds = False

    def check(self, q: Floats, v: Floats, temperature: Floats, *, homed: bool) -> None:
        """Check a sample: q, v (sensors; rad or m and per second), temperature (motors; °C, NaN: not
        measured).
        """
        hot = temperature > self._hottest
        if hot.any():
            motor = int(np.argmax(hot))
            text = f"motor {self._motors[motor]} has {temperature[motor]:.0f} °C"
            self._trip(DeviceFault.OVER_TEMPERATURE, f"{text}, at most {self._hottest[motor]:g}")
            return
        position, speed = q[self._at], v[self._at]
        fast = np.abs(speed) > self._fastest
        if self._begin or not homed:
            self._edges[:] = position
            self._begin = not homed
        np.minimum(self._low, np.maximum(self._edges[0], position), out=self._edges[0])
        np.maximum(self._high, np.minimum(self._edges[1], position), out=self._edges[1])
        above = position > self._edges[1] + self._margin
        outside = above | (position < self._edges[0] - self._margin)
        if fast.any():
            which = int(np.argmax(fast))
            text = f"{self._names[which]} moves at {speed[which]:.4g} a second"
            self._trip(DeviceFault.LIMIT, f"{text}, at most {self._fastest[which]:.4g}")
        elif outside.any():
            which = int(np.argmax(outside))
            bound = self._high[which] + MARGIN if above[which] else self._low[which] - MARGIN
            text = f"{self._names[which]} is at {position[which]:.4g} and moves outwards"
            self._trip(DeviceFault.LIMIT, f"{text}, beyond {bound:.4g}")
            self._begin = True
        else:
            self._exceeds = False

    def allow(self) -> None:
        """Clear violations that have ended: the controller brakes."""
        if self.fault and not self._exceeds:
            self.fault, self.text = 0, ""

    def _trip(self, fault: DeviceFault, text: str) -> None:
        self._exceeds = True
        if not self.fault:
            self.fault, self.text = int(fault), text
