"""`linkwork drive`: simulated drives on a CAN bus, one for each motor of a simulated machine.

SYNC is the clock: it applies the RPDOs, makes the drives report, and moves the machine by one period. Without
SYNC for one and a half periods, drives and machine continue by themselves, except in lockstep.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from linkwork.cia402.can_link import SYNC, Send, open_bus, sender
from linkwork.cia402.drive_settings import Cia402Settings
from linkwork.cia402.simulated_drive import FAULTS, SimulatedDrive
from linkwork.machine import Machine, MachineError, load
from linkwork.multibody.dynamics.motion_basis import evaluate_motion
from linkwork.multibody.kernels.layout import RANK
from linkwork.plant.drivers.driver import DriverFailed, NoDriver, OptionError, Setup, placed, read_options
from linkwork.plant.faults.faulty_machinery import Simulated
from linkwork.plant.plant_options import DriveOptions
from linkwork.plant.simulator.plant_state import EFFORTS
from linkwork.plant.simulator.simulator import SimulationDiverged, Simulator
from linkwork.protocol.codes import ExitCode
from linkwork.timing.signals import SignalInterrupts

if TYPE_CHECKING:
    import can

_SLICE_S: Final = 0.02
_LATE: Final = 0.75
"""Periods by which the fault `late` delays TPDOs."""


LOOP_RAD_S: Final = 60.0
"""Bandwidth of the drives' position loops."""


class DriveBench:
    """Drives, and the machine behind them. loop_rad_s: bandwidth of their position loops."""

    def __init__(
        self,
        machine: Machine,
        settings: Cia402Settings,
        send: Send,
        *,
        kind: type[SimulatedDrive] = SimulatedDrive,
        loop_rad_s: float = LOOP_RAD_S,
    ) -> None:
        self.machine, self.settings = machine, settings
        self.simulator = Simulator(machine)
        self._simulated = Simulated(self.simulator)
        motors = machine.driver.motors_of(motor.joint for motor in machine.motors)
        sensors = machine.driver.sensors_of(sensor.joint for sensor in machine.sensors)
        at_motor = [place if row.channel is None else row.channel for place, row in enumerate(motors)]
        at_sensor = [place if row.channel is None else row.channel for place, row in enumerate(sensors)]
        self.drives = []
        for own in settings.drives:
            rated = own.rated or 1.0
            self.drives.append(kind(own.name, own.node, rated, in_amperes=own.in_amperes, send=send))
        gears = [motor.gear_ratio for motor in machine.motors]
        self._motors = [
            (self.drives[channel], settings.drives[channel].rated or 1.0, row.per_effort(gear))
            for channel, row, gear in zip(at_motor, motors, gears, strict=True)
        ]
        self._sensors = [
            (self.drives[channel], row.per_count, row.at_zero)
            for channel, row in zip(at_sensor, sensors, strict=True)
        ]
        self._effort = np.zeros(len(machine.motors))
        self._tune(loop_rad_s)
        self.sense()

    def _tune(self, loop_rad_s: float) -> None:
        """Set the gains of the position loops: critical damping of the inertia that each motor sees.

        It is that at the initial pose, where the other motors are free.
        """
        work = self.machine.workspace()
        evaluate_motion(*work.arguments)
        basis = work.basis[: len(work.v) - int(work.ranking[RANK])]
        seen = basis.T @ np.linalg.solve(basis @ work.M @ basis.T, basis)
        sensors = self.machine.sensors
        turns = {row.joint: per_count for row, (_, per_count, _) in zip(sensors, self._sensors, strict=True)}
        for motor, (drive, rated, per_effort) in zip(self.machine.motors, self._motors, strict=True):
            scale = 1000.0 / rated * per_effort
            drive.loop.most = abs(scale) * motor.max_effort
            inertia = scale * turns.get(motor.joint, 0.0) / seen[motor.index, motor.index]
            drive.loop.stiffness = inertia * loop_rad_s**2
            drive.loop.damping = 2.0 * inertia * loop_rad_s

    def hear(self, identifier: int, data: bytes) -> bool:
        """Take in a frame; return whether it was SYNC, which makes a period."""
        if identifier == SYNC:
            for drive in self.drives:
                drive.apply()
            self.move(report=True)
            return True
        for drive in self.drives:
            drive.hear(identifier, data)
        return False

    def move(self, *, report: bool) -> None:
        """Make a period: the drives' torques and brakes act on the machine; it moves. Raises
        SimulationDiverged."""
        self._act()
        if report:
            for drive in self.drives:
                drive.report()
        self._simulated.integrate()
        time_s = self.simulator.tick * self.machine.plant.period_s
        self.sense()
        for drive in self.drives:
            drive.elapse(time_s)

    def _act(self) -> None:
        drags = self._simulated.drags
        drags.clear()
        for place, (drive, rated, per_effort) in enumerate(self._motors):
            share = 0.5 if "scaling_torque" in drive.faults else 1.0
            self._effort[place] = share * drive.torque / 1000.0 * rated / per_effort
            if drive.braked:
                drags[drive.name] = (place, self.machine.motors[place].brake_effort)
        self.simulator.latch(EFFORTS, self._effort)

    def sense(self) -> None:
        """Give the drives the positions of their encoders."""
        q, period_s = self.simulator.measured.q.tolist(), self.machine.plant.period_s
        for place, (drive, per_count, zero) in enumerate(self._sensors):
            scale = 1.1 if "scaling_counts" in drive.faults else 1.0
            counts = round(scale * (q[place] - zero) / per_count)
            drive.speed = (counts - drive.counts) / period_s if self.simulator.tick else 0.0
            drive.counts = counts

    def command(self, line: str) -> str:
        """Begin a fault (`FAULT DRIVE`) or end all (`clear`). Return a line about it, or the error."""
        words = line.split()
        by_name = {drive.name: drive for drive in self.drives}
        if words == ["clear"]:
            for drive in self.drives:
                drive.clear()
            return "all faults ended"
        if len(words) != 2 or words[0] not in FAULTS or words[1] not in by_name:
            return f"write FAULT DRIVE, or clear; faults: {', '.join(FAULTS)}; drives: {', '.join(by_name)}"
        by_name[words[1]].inject(words[0])
        return f"{words[1]}: {FAULTS[words[0]][0]}"


def serve(bench: DriveBench, bus: can.BusABC, ended: Callable[[], bool]) -> None:
    """Serve the bus until `ended`. Raises SimulationDiverged, DriverFailed."""
    period_s, lockstep = bench.machine.plant.period_s, bench.settings.lockstep
    due_s = time.monotonic() + period_s
    late: list[tuple[float, int, bytes]] = []
    send = sender(bus)
    while not ended():
        now_s = time.monotonic()
        until_s = _SLICE_S if lockstep else min(_SLICE_S, max(0.0, due_s - now_s))
        if late:
            until_s = min(until_s, max(0.0, late[0][0] - now_s))
        message = bus.recv(until_s)
        now_s = time.monotonic()
        if message is not None and not message.is_extended_id:
            if bench.hear(message.arbitration_id, bytes(message.data)):
                due_s = now_s + 1.5 * period_s
        elif message is None and not lockstep and now_s >= due_s:
            bench.move(report=False)
            due_s = max(due_s + period_s, now_s)
        for drive in bench.drives:
            late += [(now_s + _LATE * period_s, *frame) for frame in drive.late]
            drive.late.clear()
        while late and now_s >= late[0][0]:
            send(*late.pop(0)[1:])


def drive(options: DriveOptions) -> int:
    """Run `linkwork drive`; print why it cannot start. Returns the exit status."""
    try:
        machine = load(options.config)
        settings = _settings(machine, options)
        bus = open_bus(settings.interface, settings.channel, settings.bus)
    except (MachineError, NoDriver) as error:
        return _refuse(str(error), ExitCode.USAGE)
    except DriverFailed as error:
        return _refuse(str(error), ExitCode.NOBODY_THERE)
    try:
        with SignalInterrupts() as interrupts:
            bench = DriveBench(machine, settings, sender(bus))
            nodes = ", ".join(f"{each.name} is node {each.node}" for each in settings.drives)
            _say(f"simulated drives of {machine.name} on {settings.interface} {settings.channel}: {nodes}")
            console = _Console(bench, options.lifeline)
            serve(bench, bus, lambda: interrupts.count > 0 or console.ended())
    except (DriverFailed, SimulationDiverged) as error:
        return _refuse(str(error), ExitCode.GOAL_FAILED)
    finally:
        bus.shutdown()
    return ExitCode.DONE


class _Console:
    """Faults that are written to standard input, a line each."""

    def __init__(self, bench: DriveBench, lifeline: bool) -> None:
        self._bench, self._lifeline, self._open = bench, lifeline, True
        self._text = b""

    def ended(self) -> bool:
        """Take in lines; return whether standard input has closed and the drives shall end with it."""
        while self._open and select.select([0], [], [], 0.0)[0]:
            read = _read()
            if not read:
                self._open = False
            *lines, self._text = (self._text + read).split(b"\n")
            for line in lines:
                _say(self._bench.command(line.decode(errors="replace")))
        return self._lifeline and not self._open


def _read() -> bytes:
    try:
        return os.read(0, 4096)
    except OSError:
        return b""


def _settings(machine: Machine, options: DriveOptions) -> Cia402Settings:
    """Return the settings of the machine file's drives. Raises MachineError, NoDriver."""
    given = read_options(list(options.driver_set))
    try:
        return Cia402Settings.read(Setup.for_machine(machine, given))
    except OptionError as error:
        raise MachineError([placed(error, machine, given)]) from None


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _refuse(text: str, status: ExitCode) -> int:
    sys.stderr.write(f"{text}\n")
    return int(status)
