"""Signals and motor reports of a device behind a driver, and the plant's reaction to a lost controller."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linkwork.machine import Machine, MachineError, load
from linkwork.plant.drivers.driver import Command, Description, Reading, Setup
from linkwork.plant.drivers.hardware import Hardware
from linkwork.protocol.codes import DeviceFault, DeviceStatus, Mode
from linkwork.protocol.link import MOTOR_FAULT, MOTOR_MODE
from tests.plant.faults.line import Line
from tests.plant.test_hardware import CART
from tests.plant.toy_driver import Toy
from tests.signal_machine import signal_machine

SIGNALS = """
signals:
  valve: {type: digital, direction: output, initial: on}
  flow: {type: analog, direction: output, range: [0, 2]}
  open: {type: digital, direction: input}
"""


class Piped(Toy):
    """A toy with a valve, whose end switch says that it is open, and a drive that reports for itself."""

    def describe(self) -> Description:
        return Description("piped", 1, 1, input_channels=1, output_channels=2, motor_reports=True)

    def write(self, command: Command) -> None:
        super().write(command)
        self.outputs = command.outputs.copy()

    def read(self, reading: Reading) -> bool:
        reading.inputs[0] = self.outputs[0]
        reading.motors[:, 0] = int(DeviceStatus.ENABLED), self.fault, int(Mode.BRAKE)
        fault, self.fault = self.fault, 0
        fresh = super().read(reading)
        self.fault = fault
        return fresh


def cart(folder: Path, signals: str = SIGNALS) -> Machine:
    path = folder / "cart.yaml"
    path.write_text(
        CART.replace("velocity: true", "velocity: false").replace(", max_temperature_degC: 80", "") + signals
    )
    return load(path)


def test_a_driver_sees_outputs_and_gives_inputs(tmp_path: Path) -> None:
    machine = cart(tmp_path)
    driver = Piped(Setup.for_machine(machine, {}))
    hardware = Hardware(machine, driver, lambda event, text: None)
    hardware.start()
    assert (driver.outputs.tolist(), hardware.measured.inputs.tolist()) == ([1.0, 0.0], [1.0])
    hardware.set_outputs(np.array([0.0, 1.5]))
    hardware.sense()
    assert (driver.outputs.tolist(), hardware.measured.inputs.tolist()) == ([0.0, 1.5], [0.0])
    assert hardware.measured.outputs.tolist() == [0.0, 1.5]


def test_a_fault_of_one_drive_is_one_of_the_device_and_says_whose(tmp_path: Path) -> None:
    machine, said = cart(tmp_path), []
    driver = Piped(Setup.for_machine(machine, {}))
    hardware = Hardware(machine, driver, lambda event, text: said.append(text))
    hardware.start()
    driver.fault = int(DeviceFault.OVER_TEMPERATURE)
    hardware.sense()
    assert hardware.fault == DeviceFault.DRIVE
    assert hardware.measured.motors is not None
    assert hardware.measured.motors[:, 0].tolist() == [DeviceStatus.ENABLED, DeviceFault.OVER_TEMPERATURE, 0]
    assert hardware.measured.motors[MOTOR_MODE, 0] == Mode.BRAKE
    assert said[-1] == "fault of the device: DRIVE (slide OVER_TEMPERATURE)"


def test_a_device_without_the_signals_of_the_file_is_refused(tmp_path: Path) -> None:
    machine = cart(tmp_path)
    with pytest.raises(MachineError, match="toy has no input signals"):
        Hardware(machine, Toy(Setup.for_machine(machine, {})), lambda event, text: None)


def test_the_watchdog_puts_the_reactions_of_outputs_in_force(tmp_path: Path) -> None:
    line = Line(signal_machine(tmp_path))
    line.outputs.signals[:] = 1.0, 0.0, 2.0
    line.run(5)
    outputs = line.device.machinery.measured.outputs
    assert outputs.tolist() == [1.0, 0.0, 2.0]
    line.device.trip("the controller is gone")
    assert outputs.tolist() == [1.0, 1.0, 0.0], "gripper keeps, the lamp is on, no flow"


def test_a_state_with_a_faulty_drive_names_it_to_the_controller(tmp_path: Path) -> None:
    line = Line(signal_machine(tmp_path))
    line.run(2)
    measured = line.device.machinery.measured
    measured.motors = np.zeros((3, 4), np.int64)
    line.run(1)
    assert not line.inputs.motors.any()
    measured.motors[MOTOR_FAULT, 1] = int(DeviceFault.DRIVE)
    line.run(2)
    assert line.inputs.motors[MOTOR_FAULT].tolist() == [0, int(DeviceFault.DRIVE), 0, 0]
