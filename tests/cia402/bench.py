"""Simulated drives in a thread, and the driver in front of them, on a `virtual` bus in lockstep."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Any, Literal

import numpy as np

from linkwork.cia402.can_link import open_bus, sender
from linkwork.cia402.cia402_driver import Cia402
from linkwork.cia402.drive_bench import DriveBench, serve
from linkwork.cia402.drive_settings import Cia402Settings
from linkwork.cia402.simulated_drive import SimulatedDrive
from linkwork.machine import Machine, load
from linkwork.machine.sections.drivers import DriverMotor
from linkwork.plant.drivers.driver import Command, Reading, Setup
from linkwork.protocol.codes import Mode

_CHANNELS = count()


class Line:
    """The driver of a running bench: `tick` makes a period, `said` has all notices."""

    def __init__(self, machine: Machine, bench: DriveBench, driver: Cia402) -> None:
        self.machine, self.bench, self.driver = machine, bench, driver
        self.reading = Reading.sized(driver.describe())
        self.said: list[str] = []

    def tick(
        self,
        mode: Mode = Mode.BRAKE,
        effort: tuple[float, ...] = (0.0, 0.0),
        position: tuple[float, ...] = (),
        *,
        clear: bool = False,
    ) -> bool:
        self.driver.write(Command(np.array(effort), mode, clear=clear, position=np.array(position)))
        fresh = self.driver.read(self.reading)
        self.said += self.driver.take_notices()
        return fresh

    def ticks(self, count: int, mode: Mode = Mode.BRAKE, **rest: Any) -> None:
        for _ in range(count):
            self.tick(mode, **rest)


def setup(machine: Machine, **options: Any) -> Setup:
    channel = f"cia402-{next(_CHANNELS)}"
    return Setup.for_machine(
        machine, {"interface": "virtual", "channel": channel, "lockstep": True, **options}
    )


@contextmanager
def bench(made: Setup, machine: Machine, kind: type[SimulatedDrive] = SimulatedDrive) -> Iterator[DriveBench]:
    settings = Cia402Settings.read(made)
    bus = open_bus(settings.interface, settings.channel, settings.bus)
    drives = DriveBench(machine, settings, sender(bus), kind=kind)
    ended = threading.Event()
    thread = threading.Thread(target=serve, args=(drives, bus, ended.is_set))
    thread.start()
    try:
        yield drives
    finally:
        ended.set()
        thread.join()
        bus.shutdown()


@contextmanager
def line(
    kind: type[SimulatedDrive] = SimulatedDrive,
    period_s: float = 0.001,
    mode: Literal["cst", "csp"] = "cst",
    **options: Any,
) -> Iterator[Line]:
    machine = load("five_bar")
    modes = {motor.joint: DriverMotor(mode=mode) for motor in machine.motors}
    machine = replace(machine, driver=machine.driver.with_values(motors=modes))
    machine = replace(machine, plant=machine.plant.with_values(period_s=period_s))
    made = setup(machine, **options)
    with bench(made, machine, kind) as drives:
        driver = Cia402(made)
        driver.start()
        try:
            yield Line(machine, drives, driver)
        finally:
            driver.stop()
