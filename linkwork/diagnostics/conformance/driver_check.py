"""Conformance check of a driver: a sequence of exercises, each with a verdict.

In the exercises of `DriverCheck` the machine does not move: only commands to brake without effort are sent.
In those of `MovingExamination` each motor moves a little, there and back. Keep people away from the machine.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from linkwork.machine import Machine
from linkwork.plant.drivers.driver import Command, Description, Driver, Homes, OptionError, Reading, Setup
from linkwork.plant.drivers.findings import (
    Exercise,
    Failed,
    Finding,
    Skipped,
    Warned,
    examined,
    judged,
    require,
)
from linkwork.plant.drivers.scaling import Scaling
from linkwork.protocol.codes import DeviceFault, DeviceStatus, Mode, Pace
from linkwork.timing.clock import Ticker

_TICKS = 300
_BITS = int(
    DeviceStatus.ENABLED | DeviceStatus.FAULT | DeviceStatus.STO | DeviceStatus.BRAKE | DeviceStatus.HOMED
)


@runtime_checkable
class Examines(Protocol):
    """A driver with exercises for its device, which follow those of every driver."""

    def exercises(self) -> list[Exercise]:
        """Return the exercises; the first one starts the driver."""
        ...


class DriverCheck:
    """A driver under test, made by `make`; `setup` says for what machine."""

    def __init__(self, make: Callable[[Setup], Driver], setup: Setup) -> None:
        self.make, self.setup = make, setup
        self.driver: Driver
        self.description: Description
        self.reading: Reading
        self.waits_s: list[float] = []
        self.missed = 0

    def findings(self) -> Iterator[Finding]:
        """Yield each exercise as it is done. After a failure, those that depend on it are skipped."""
        exercises: list[tuple[str, Callable[[], str], bool]] = [
            ("can be constructed, and returns its description", self._describes, True),
            ("refuses an option it does not know", self._refuses, False),
            ("starts and returns a sample", self._starts, True),
            ("starts braked", self._is_braked, False),
            ("returns a sample every period", self._keeps_up, True),
            ("stays at rest while braked", self._stands, False),
            ("returns finite numbers and known status bits", self._is_sound, False),
            ("reports no fault", self._is_well, False),
            ("keeps no reference to the command", self._copies, False),
            ("brakes when commands stop arriving", self._watches, False),
            ("can be stopped repeatedly, and started again", self._stops, False),
        ]
        try:
            done = []
            for finding in examined(exercises):
                done.append(finding)
                yield finding
            if len(done) == len(exercises) and isinstance(self.driver, Examines):
                yield from examined(self.driver.exercises())
        finally:
            self.end()

    def end(self) -> None:
        """Stop the driver and ignore its errors."""
        driver = getattr(self, "driver", None)
        if driver is not None:
            judged("", lambda: driver.stop() or "")

    def exchange(self, mode: Mode = Mode.BRAKE, effort: np.ndarray[Any, Any] | None = None) -> bool:
        """Make one `write` and one `read`; return whether a sample came."""
        motors = self.description.motors
        began = time.perf_counter()
        command = Command(np.zeros(motors) if effort is None else effort, mode)
        command.outputs = np.zeros(self.description.output_channels)
        self.driver.write(command)
        fresh = self.driver.read(self.reading)
        self.waits_s.append(time.perf_counter() - began)
        require(isinstance(fresh, bool), f"read returned {fresh!r}; return True or False")
        self.missed += not fresh
        return fresh

    def run(self, ticks: int, mode: Mode = Mode.BRAKE, effort: np.ndarray[Any, Any] | None = None) -> None:
        """Run a number of periods, by the clock unless the device runs in lockstep."""
        ticker = Ticker(round(1e9 * self.setup.period_s))
        ticker.start()
        for _ in range(ticks):
            self.exchange(mode, effort)
            if Pace.LOCKSTEP not in self.description.paces:
                ticker.wait()

    def _describes(self) -> str:
        self.driver = self.make(self.setup)
        self.description = found = self.driver.describe()
        require(
            isinstance(found, Description), f"describe returned {type(found).__name__}, not a Description"
        )
        require(found == self.driver.describe(), "describe returns a different description each time")
        require(found.motors >= 1 and found.sensors >= 1, "it has no motors or no sensors")
        require(bool(found.paces), "it offers no pace")
        low, high = found.period_s
        require(0 < low <= high, f"its periods, {low:g} to {high:g} s, are not a range")
        for what, have, need in (
            ("motors", found.motors, self.setup.motors),
            ("sensors", found.sensors, self.setup.sensors),
            ("channels of forces", found.force_channels, self.setup.forces),
            ("input signals", found.input_channels, self.setup.inputs),
            ("output signals", found.output_channels, self.setup.outputs),
        ):
            require(have >= need, f"it has {have} {what}; the machine needs {need}")
        self.reading = Reading.sized(found)
        if not low <= self.setup.period_s <= high:
            raise Failed(f"it runs at {low:g} to {high:g} s, not at the machine's {self.setup.period_s:g} s")
        if found.watchdog_s <= 0.0:
            raise Warned(f"{found.name}; it has no watchdog: a crash here leaves the last effort acting")
        return (
            f"{found.name}: {found.motors} motors, {found.sensors} sensors, watchdog {found.watchdog_s:g} s"
        )

    def _refuses(self) -> str:
        options = {**self.setup.options, "no_such_option_": 1}
        try:
            self.make(replace(self.setup, options=options))
        except OptionError as error:
            return str(error)
        raise Warned("it accepts any option, so a misspelt one is not reported")

    def _starts(self) -> str:
        self.driver.start()
        for tick in range(50):
            if self.exchange():
                return f"a sample with reading {tick + 1}"
        raise Failed("no sample in 50 readings")

    def _is_braked(self) -> str:
        if not self.description.brakes:
            raise Skipped("it has no brakes")
        require(bool(self.reading.status & DeviceStatus.BRAKE), "its status lacks the bit BRAKE")
        return ""

    def _keeps_up(self) -> str:
        self.waits_s.clear()
        self.missed = 0
        self.run(_TICKS)
        period_s = self.setup.period_s
        waits = np.sort(np.array(self.waits_s))
        middle, late = float(waits[len(waits) // 2]), float(waits[int(0.99 * len(waits))])
        text = f"write and read take {1e3 * middle:.3g} ms, 99 of 100 at most {1e3 * late:.3g} ms"
        text += f", of {1e3 * period_s:g}; {self.missed} of {_TICKS} samples lost"
        require(self.missed < _TICKS // 2, text)
        require(middle < period_s, f"{text}; they must be done within a period")
        if self.missed > _TICKS // 20 or late > 0.8 * period_s:
            raise Warned(text)
        return text

    def _stands(self) -> str:
        before = self.reading.position.copy()
        self.run(_TICKS // 3)
        moved = float(np.max(np.abs(self.reading.position - before)))
        text = f"{moved:g} of its units within {_TICKS // 3} periods"
        if moved > 2.0 and self.description.brakes:
            raise Failed(text)
        if moved > 0.0:
            raise Warned(text)
        return text

    def _is_sound(self) -> str:
        reading = self.reading
        for name in ("position", "velocity", "effort", "force", "inputs"):
            require(bool(np.isfinite(getattr(reading, name)).all()), f"{name} is not finite")
        status, fault = int(reading.status), int(reading.fault)
        require(status & ~_BITS == 0, f"status {status} has unknown bits")
        known = fault in set(DeviceFault) or fault > DeviceFault.VENDOR
        require(known, f"fault {fault} is unknown; vendor codes begin at 1000")
        hot = reading.temperature
        measured = bool(np.isfinite(hot).any())
        require(measured == self.description.temperatures, "temperatures do not match the description")
        hottest = float(np.nanmax(hot, initial=-np.inf))
        require(hottest < 300.0, f"{hottest:g} °C; is the unit °C?")
        require(
            bool(np.allclose(reading.effort, 0.0, atol=1e-3)), f"efforts act while braked: {reading.effort}"
        )
        return f"status {status}, positions {', '.join(f'{value:g}' for value in reading.position)}"

    def _is_well(self) -> str:
        status, fault = int(self.reading.status), int(self.reading.fault)
        require(not fault and not status & DeviceStatus.FAULT, f"fault {fault}, status {status}")
        if status & DeviceStatus.STO:
            raise Warned("safe torque off is active: it cannot move")
        if not status & DeviceStatus.HOMED:
            raise Warned("it is not homed: only jogging is possible, unless driver.homing is set")
        return "enabled, homed" if status & DeviceStatus.ENABLED else "homed, not enabled"

    def _copies(self) -> str:
        command = Command(np.zeros(self.description.motors))
        command.outputs = np.zeros(self.description.output_channels)
        self.driver.write(command)
        command.effort[:] = 1.0
        self.driver.read(self.reading)
        self.exchange()
        require(
            bool(np.allclose(self.reading.effort, 0.0, atol=1e-3)),
            "an effort that is changed after write takes effect",
        )
        return ""

    def _watches(self) -> str:
        patience = self.description.watchdog_s
        if not patience:
            raise Skipped("it has no watchdog")
        if Pace.LOCKSTEP in self.description.paces:
            raise Skipped("a lockstep device has no clock")
        time.sleep(1.5 * patience + 0.05)
        while not self.exchange():
            pass
        status, fault = int(self.reading.status), int(self.reading.fault)
        tripped = fault == DeviceFault.COMMAND_TIMEOUT or status & DeviceStatus.BRAKE
        require(
            bool(tripped), f"after {1.5 * patience:.3g} s without command: status {status}, fault {fault}"
        )
        command = Command(np.zeros(self.description.motors), Mode.BRAKE, clear=True)
        command.outputs = np.zeros(self.description.output_channels)
        for _ in range(20):
            self.driver.write(command)
            if self.driver.read(self.reading) and not self.reading.fault:
                return f"after {patience:g} s, and continues after a clear"
        raise Failed(f"fault {self.reading.fault} remains after `clear`")

    def _stops(self) -> str:
        self.driver.stop()
        self.driver.stop()
        self.driver.start()
        require(any(self.exchange() for _ in range(50)), "no sample after a restart")
        self.driver.stop()
        return ""


_STEPS = (0.02, 0.05, 0.1, 0.2)
"""Parts of a motor's largest effort, tried one after the other until it moves."""
_PUSH_S = 0.1
_REST_S = 0.5


class MovingExamination(DriverCheck):
    """Exercises that need the machine file, for the efforts that are safe and for the signs."""

    machine: Machine

    def for_machine(self, machine: Machine) -> Self:
        """For this machine."""
        self.machine = machine
        return self

    def moves(self) -> Iterator[Finding]:
        """Each exercise as it is done."""
        self.driver = self.make(self.setup)
        self.description = self.driver.describe()
        try:
            yield judged("starts again", self._starts_again)
            yield judged("finds its zero", self._homes)
            for place, motor in enumerate(self.machine.motors):
                name = f"moves {motor.joint} in the right direction"
                yield judged(name, partial(self._pushes, place))
            yield judged("comes to rest when braked", self._rests)
        finally:
            self.end()

    def _starts_again(self) -> str:
        self._describes()
        return self._starts()

    def _homes(self) -> str:
        driver = self.driver
        if self.machine.driver.homing != "procedure":
            raise Skipped(f"driver.homing is {self.machine.driver.homing}")
        require(isinstance(driver, Homes), "it has no procedure `home`")
        assert isinstance(driver, Homes)
        for tick in range(round(self.machine.driver.homing_timeout_s / self.setup.period_s)):
            if driver.home():
                return f"after {tick + 1} periods"
            driver.read(self.reading)
        require(False, "not within driver.homing_timeout_s")
        return ""

    def _pushes(self, place: int) -> str:
        machine, scaling = self.machine, Scaling(self.machine, self.description)
        motor = machine.motors[place]
        joints = [sensor.joint for sensor in machine.sensors]
        if motor.joint not in joints:
            raise Skipped("no sensor measures this joint")
        if machine.driver.follows_positions:
            raise Skipped("the drives close the position loop: check signs with mode cst, or a slow jog")
        at = joints.index(motor.joint)
        enough = 3.0 * scaling.resolution[at]
        for part in _STEPS:
            effort = np.zeros(len(machine.motors))
            effort[place] = part * motor.max_effort
            forward = self._push(scaling, effort, at)
            back = self._push(scaling, -effort, at)
            if forward > enough and back < -enough:
                unit = motor.unit
                return f"{part:.0%} of its effort: {forward:+.4g} {unit} and {back:+.4g} {unit}"
            require(
                not (forward < -enough and back > enough),
                f"it moves the wrong way: set `reversed` of driver.motors.{motor.joint} or of its sensor",
            )
        raise Warned(f"it does not move with {_STEPS[-1]:.0%} of its effort")

    def _push(self, scaling: Scaling, effort: np.ndarray[tuple[int], np.dtype[np.float64]], at: int) -> float:
        """Way of sensor `at` (rad or m) under an effort (N m or N, per motor) and the rest that follows."""
        period_s, machine = self.setup.period_s, self.machine
        raw = np.zeros(self.description.motors)
        scaling.to_device(effort, raw)
        before = self._place(scaling, at)
        self.run(round(_PUSH_S / period_s), Mode.EFFORT, raw)
        away = self._place(scaling, at) - before
        self.run(round((_REST_S + max(m.brake_release_s for m in machine.motors)) / period_s))
        return away

    def _place(self, scaling: Scaling, at: int) -> float:
        machine = self.machine
        q, v = np.zeros(len(machine.sensors)), np.zeros(len(machine.sensors))
        effort, hot = np.zeros(len(machine.motors)), np.zeros(len(machine.motors))
        scaling.from_device(self.reading, q, v, effort, hot)
        return float(q[at])

    def _rests(self) -> str:
        self.run(round(_REST_S / self.setup.period_s))
        return self._stands()
