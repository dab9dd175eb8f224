"""The driver and the simulated drives on a `virtual` bus, in lockstep: motion, faults, recovery, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linkwork.cia402.can_link import frame_bits
from linkwork.cia402.cia402_driver import Cia402
from linkwork.cia402.objects import HOMING_METHOD, MODE_DISPLAY, OperationMode
from linkwork.cia402.simulated_drive import SimulatedDrive
from linkwork.machine import MachineError, load
from linkwork.plant.drivers.driver import DriverFailed, OptionError, make_driver
from linkwork.plant.simulator.plant_state import EFFORTS
from linkwork.plant.simulator.simulator import Simulator
from linkwork.protocol.codes import DeviceFault, DeviceStatus, Mode
from linkwork.protocol.drive_errors import DRIVE_ERROR
from linkwork.protocol.link import MOTOR_FAULT
from linkwork.timing.clock import Ticker
from tests.cia402.bench import Line, bench, line, setup


def test_the_machine_moves_as_with_the_simulated_plant() -> None:
    efforts = [(1.0, -0.5), (0.25, 0.5), (-2.0, 1.5)]  # multiples of a thousandth of the rated 2.5 N m
    with line() as drives:
        drives.ticks(5)
        assert drives.reading.status == DeviceStatus.ENABLED | DeviceStatus.HOMED | DeviceStatus.BRAKE
        simulator = Simulator(drives.machine)
        assert drives.bench.simulator.q.tolist() == simulator.q.tolist()
        for _ in range(20):
            for effort in efforts:
                assert drives.tick(Mode.EFFORT, effort)
                assert drives.reading.effort.tolist() == pytest.approx(effort)
                simulator.latch(EFFORTS, np.array(effort))
                counts = np.round(simulator.measured.q / (2 * np.pi / 1048576))
                assert drives.reading.position.tolist() == counts[: len(drives.reading.position)].tolist()
                simulator.integrate()
        assert drives.bench.simulator.q.tolist() == simulator.q.tolist()
        drives.tick()
        assert drives.reading.status & DeviceStatus.BRAKE


FAULTS: dict[str, tuple[int, str, int]] = {
    "emergency": (DRIVE_ERROR + 0x2310, "emergency: error 2310h (continuous over-current)", 2),
    "fault_bit": (DeviceFault.DRIVE, "fault: error 4310h (drive too hot)", 2),
    "following": (DRIVE_ERROR + 0x8611, "error 8611h (following error)", 2),
    "power": (DeviceFault.POWER, "its power stage went off", 2),
    "missing": (DeviceFault.LINK, "1 TPDO missing in a row", 2),
    "nmt_reset": (DeviceFault.LINK, "it restarted", 2),
    "boot_up": (DeviceFault.LINK, "it restarted", 2),
    "heartbeat": (DeviceFault.LINK, "no heartbeat for 0.2", 260),
    "frozen": (DeviceFault.SENSOR, "its TPDO is frozen", 20),
}


RARE = ("fault_bit", "following", "nmt_reset")
"""Faults that end as others do."""


@pytest.mark.parametrize(
    "fault", [pytest.param(fault, marks=pytest.mark.slow) if fault in RARE else fault for fault in FAULTS]
)
def test_a_fault_is_named_with_its_motor_in_time_and_ends_without_a_restart(fault: str) -> None:
    number, text, cycles = FAULTS[fault]
    with line() as drives:
        drives.ticks(5)
        for tick in range(20):
            drives.tick(Mode.EFFORT, (0.01 * tick, 0.0))
        assert drives.reading.fault == 0
        drives.bench.command(f"{fault} left")
        for tick in range(cycles):
            drives.tick(Mode.EFFORT, (0.01 * tick, 0.0))
            if drives.reading.fault:
                break
        assert drives.reading.fault == number
        assert drives.reading.motors[MOTOR_FAULT].tolist() == [number, 0]
        drives.tick(Mode.EFFORT)
        right = drives.bench.drives[1]
        assert right.braked  # a quick stop, before anybody asked for the brake
        drives.ticks(3)
        if fault not in ("nmt_reset", "boot_up"):
            drives.ticks(40, clear=True)
            if fault != "power":
                assert drives.reading.fault != 0, "the cause is still there"
        drives.bench.command("clear")
        for _ in range(200):
            drives.tick(clear=True)
            if not drives.reading.fault:
                break
        assert any(said.startswith("left: ") and text in said for said in drives.said)
        drives.ticks(3)
        drives.ticks(5, Mode.EFFORT)
        assert drives.reading.fault == 0
        assert not drives.reading.status & DeviceStatus.BRAKE
        assert [said for said in drives.said if said.startswith("right: ") and "fault" in said] == []


def test_late_tpdos_are_named_with_their_motor_after_as_many_cycles_as_the_page_states() -> None:
    period_s = 0.1
    with line(period_s=period_s, lockstep=False, watchdog_s=1.0) as drives:
        ticker = Ticker(round(1e9 * period_s))  # lateness is a share of the period, in real time
        ticker.start()

        def tick(mode: Mode) -> None:
            drives.tick(mode)
            ticker.wait()

        for mode in (*[Mode.BRAKE] * 4, *[Mode.EFFORT] * 2):
            tick(mode)
        assert drives.reading.fault == 0
        drives.bench.command("late left")
        cycles = 0
        while not drives.reading.fault and cycles < 10:
            tick(Mode.EFFORT)
            cycles += 1
        missing = drives.driver.settings.missing_tpdos
        assert missing <= cycles < 10  # more where a busy computer delays the master as much as the drive
        assert drives.reading.motors[MOTOR_FAULT].tolist() == [DeviceFault.LINK, 0]
        assert any(
            f"left: {missing} TPDO missing in a row" in said and "late" in said for said in drives.said
        )


def test_a_fault_does_not_end_while_the_command_is_not_to_brake() -> None:
    with line() as drives:
        drives.ticks(5)
        drives.ticks(3, Mode.EFFORT)
        drives.bench.command("emergency left")
        drives.ticks(2)
        drives.bench.command("clear")
        drives.ticks(30, Mode.EFFORT)
        assert drives.reading.fault
        assert drives.reading.status & DeviceStatus.BRAKE


def test_a_stuck_brake_is_suspected_before_the_machine_has_moved_five_degrees() -> None:
    with line() as drives:
        drives.bench.command("brake left")
        drives.ticks(5)
        start = drives.bench.simulator.q.copy()
        for tick in range(60):
            drives.tick(Mode.EFFORT, (0.05 * tick, 0.0))
            if any("left: suspicion" in said and "brake stuck" in said for said in drives.said):
                break
        assert any("left: suspicion" in said and "brake stuck" in said for said in drives.said)
        assert np.abs(drives.bench.simulator.q - start).max() < np.radians(5.0)


def test_a_brake_that_closes_after_a_fast_motion_is_suspected_though_its_gear_yields() -> None:
    with line() as drives:
        drives.ticks(5)
        for effort in (0.5, -0.5):
            drives.ticks(30, Mode.EFFORT, effort=(effort, 0.0))
        drives.bench.command("brake left")
        drives.ticks(40, Mode.EFFORT)
        drives.ticks(40, Mode.EFFORT, effort=(0.4, 0.0))  # 16 % of the rated torque
        assert any("left: suspicion" in said and "brake stuck" in said for said in drives.said)


def test_a_motor_that_is_slow_to_begin_is_not_suspected() -> None:
    with line() as drives:
        drives.ticks(5)
        drives.ticks(40, Mode.EFFORT, effort=(0.6, -0.6))  # a quarter of the rated torque, at once
        drives.ticks(20, Mode.EFFORT, effort=(-0.6, 0.6))
        assert not any("suspicion" in said for said in drives.said)


def test_a_jump_of_the_counts_at_rest_is_suspected() -> None:
    with line() as drives:
        drives.ticks(5)
        drives.bench.command("scaling_counts left")
        drives.ticks(5)
        (said,) = (each for each in drives.said if "suspicion" in each)
        assert said.startswith("left: suspicion: its position jumped by ")
        assert "(+10.0 %) at rest: wrong scale of counts" in said


def relative() -> dict[str, Any]:
    """The drives of the five-bar, with relative encoders."""
    return {name: {"node": node, "rated_torque_N_m": 2.5} for node, name in ((1, "left"), (2, "right"))}


def home(drives: Line) -> bool:
    """Run the procedure for at most 200 periods; return whether it was done."""
    for _ in range(200):
        if drives.driver.home():
            return True
        drives.driver.read(drives.reading)
    return False


def test_drives_home_by_their_own_method_and_return_to_torque_mode() -> None:
    with line(drives=relative()) as drives:
        drives.ticks(5)
        assert not drives.reading.status & DeviceStatus.HOMED
        there = drives.reading.position.copy()
        assert np.all(np.abs(there) > 1000)
        assert home(drives)
        assert [drive.values[HOMING_METHOD] for drive in drives.bench.drives] == [37, 37]
        assert [drive.values[MODE_DISPLAY] for drive in drives.bench.drives] == [OperationMode.TORQUE] * 2
        drives.ticks(5)
        assert drives.reading.status & DeviceStatus.HOMED
        assert drives.reading.position.tolist() == [0, 0]  # where they stand is the zero
        drives.ticks(5, Mode.EFFORT)
        assert drives.reading.fault == 0
        assert not drives.reading.status & DeviceStatus.BRAKE
        assert not any("suspicion" in said for said in drives.said)


def test_a_homing_method_that_the_drive_lacks_is_named() -> None:
    unfit = relative()
    unfit["left"]["homing_method"] = 1
    with line(drives=unfit) as drives:
        drives.ticks(5)
        with pytest.raises(DriverFailed, match="left did not find its zero"):
            home(drives)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"drives": {"left": {"node": 1}}}, "the machine has more motors"),
        ({"drives": {"left": {"node": 1}, "right": {"node": 1}}}, "two drives have the same node"),
        ({"drives": {"left": {"node": 1}, "right": {"knot": 1}}}, "unknown option 'knot'"),
        ({"drives": {"left": {"node": 1}, "right": {"node": 2, "write": ["6065 u99 1"]}}}, "INDEX:SUB TYPE"),
        ({"master_node": 2}, "a drive has this node"),
        ({"bitrate": 500_000}, "515 bits a period"),
    ],
)  # fmt: skip
def test_wrong_options_are_refused(options: dict[str, Any], found: str) -> None:
    with pytest.raises(MachineError, match=found):
        make_driver("cia402", load("five_bar"), options)


def test_the_sum_of_a_bus() -> None:
    assert frame_bits(8) == 135
    made = setup(load("five_bar"))
    three = {f"d{node}": {"node": node} for node in (1, 2, 3)}
    assert Cia402(type(made)({**made.options, "drives": three}, 3, 3, 0.001)).settings.cycle_bits < 950
    four = {**three, "d4": {"node": 4}}
    with pytest.raises(OptionError, match=r"4 drives: at most 975 bits .* 0.975 Mbit/s"):
        Cia402(type(made)({**made.options, "drives": four}, 4, 4, 0.001))


def test_nobody_on_the_bus_is_named() -> None:
    with pytest.raises(DriverFailed, match=r"left \(node 1\) does not answer .* check power"):
        Cia402(setup(load("five_bar"))).start()


class Weak(SimulatedDrive):
    def _boot(self) -> None:
        self._rated_milli = 1000
        super()._boot()


class PositionOnly(SimulatedDrive):
    def _boot(self) -> None:
        super()._boot()
        self.values[next(each for each in self.values if each.index == 0x6502)] = 1 << 7


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Weak, "left .node 1. has a rated torque of 1 N m .6076h., not 2.5"),
        (PositionOnly, "left .node 1. does not offer cyclic synchronous torque: 6502h = 00000080h"),
    ],
)
def test_a_drive_that_does_not_fit_is_refused_at_start(kind: type[SimulatedDrive], text: str) -> None:
    machine = load("five_bar")
    made = setup(machine)
    with bench(made, machine, kind), pytest.raises(DriverFailed, match=text):
        Cia402(made).start()
