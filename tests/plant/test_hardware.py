"""Hardware behind a driver: scaling, limits, homing, faults, and what a file may ask of a device."""

from __future__ import annotations

import math
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from linkwork.machine import MachineError, load
from linkwork.plant.daemon.plant_daemon import find_home
from linkwork.plant.daemon.plant_pacing import Slips
from linkwork.plant.device.events import Events
from linkwork.plant.drivers.driver import (
    DriverFailed,
    NoDriver,
    Setup,
    find_driver,
    make_driver,
    read_options,
)
from linkwork.plant.drivers.hardware import Hardware
from linkwork.plant.machinery import Machinery
from linkwork.protocol.codes import DeviceFault, DeviceStatus, Mode
from tests.plant.toy_driver import Mute, Toy

CART = """
name: cart
gravity_m_s2: [0, 0, -9.81]
bodies:
  cart: {mass_kg: 2, inertia_kg_m2: {xx: 1, yy: 1, zz: 1}}
joints:
  slide: {type: prismatic, parent: world, child: cart, axis: [1, 0, 0], limits: {position_m: [-0.2, 0.4]}}
motors:
  slide: {max_force_N: 50, max_speed_m_s: 1, brake_force_N: 30, damping_N_s_m: 8, gear_rad_m: 100}
sensors:
  slide: {velocity: true}
initial: {slide_m: 0.25}
driver:
  sensors: {slide: {counts_per_m: 1000, at_zero_m: 0.05}}
  motors: {slide: {torque_constant_N_m_A: 0.5, scale: 10, max_temperature_degC: 80}}
"""


@pytest.fixture
def cart(tmp_path):
    def make(*changes):
        text = CART
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        path = tmp_path / "cart.yaml"
        path.write_text(text)
        return load(path)

    return make


def started(machine, **options):
    said = []
    driver = Toy(Setup(options, 1, 1, machine.plant.period_s))
    hardware = Hardware(machine, driver, lambda event, text: said.append(text))
    hardware.start()
    return hardware, driver, said


def run(hardware, ticks):
    for _ in range(ticks):
        hardware.sense()
        hardware.integrate()


def test_numbers_of_the_device_become_those_of_the_joint_and_back(cart):
    hardware, driver, _ = started(cart())
    machinery: Machinery = hardware
    assert machinery.measured.q.tolist() == [pytest.approx(0.1 + 0.05)]
    assert hardware.status == DeviceStatus.ENABLED | DeviceStatus.HOMED | DeviceStatus.BRAKE
    hardware.latch(Mode.EFFORT, np.array([20.0]))
    run(hardware, 1)
    assert driver.effort == pytest.approx(20.0 / 100.0 / 0.5 * 10.0), (
        "N, over rad/m, over N m/A, in tenths of A"
    )
    assert hardware.measured.effort.tolist() == [pytest.approx(20.0)]
    assert hardware.measured.v.tolist() == [pytest.approx(driver.speed * 1e-3)]
    assert hardware.measured.temperature.tolist() == [30.0]
    hardware.latch(Mode.EFFORT, np.array([500.0]))
    run(hardware, 1)
    assert hardware.measured.effort.tolist() == [pytest.approx(50.0)], "saturated"


def test_a_reversed_sensor_and_motor_turn_their_signs(cart):
    machine = cart(
        ("counts_per_m: 1000,", "counts_per_m: 1000, reversed: true,"), ("scale: 10", "reversed: true")
    )
    hardware, driver, _ = started(machine)
    assert hardware.measured.q.tolist() == [pytest.approx(-0.1 + 0.05)]
    hardware.latch(Mode.EFFORT, np.array([20.0]))
    run(hardware, 1)
    assert driver.effort == pytest.approx(-0.4)
    assert hardware.measured.effort.tolist() == [pytest.approx(20.0)]
    assert hardware.measured.v[0] > 0.0


def test_damping_opposes_the_motion_and_brakes_stand(cart):
    hardware, driver, _ = started(cart())
    hardware.latch(Mode.EFFORT, np.array([5.0]))
    run(hardware, 20)
    hardware.act("damp")
    run(hardware, 1)
    assert hardware.measured.effort[0] == pytest.approx(-8.0 * 20 * 0.001 * 0.5)
    assert not hardware.standing
    hardware.act("brake")
    run(hardware, 60)
    assert driver.braked
    assert hardware.standing
    assert hardware.travel[0] == pytest.approx(hardware.measured.q[0] - 0.15)


def test_beyond_a_limit_the_plant_brakes_until_the_controller_does(cart):
    hardware, driver, said = started(cart())
    driver.position = 358.0
    hardware.latch(Mode.EFFORT, np.array([4.0]))
    run(hardware, 300)
    assert hardware.fault == DeviceFault.LIMIT
    assert driver.braked
    assert "slide is at 0.41" in said[-1]
    hardware.latch(Mode.EFFORT, np.array([-4.0]))
    run(hardware, 5)
    assert driver.braked, "latched"
    hardware.latch(Mode.BRAKE, np.zeros(1))
    run(hardware, 1)
    assert hardware.fault == 0
    hardware.latch(Mode.EFFORT, np.array([-4.0]))
    run(hardware, 400)
    assert hardware.fault == 0
    assert hardware.measured.q[0] < 0.4, "it may move back"


def test_heat_and_speed_are_limits_too(cart):
    hardware, driver, _ = started(cart())
    driver.hot = 81.0
    run(hardware, 1)
    assert hardware.fault == DeviceFault.OVER_TEMPERATURE
    driver.hot = 20.0
    run(hardware, 1)
    hardware.latch(Mode.BRAKE, np.zeros(1))
    assert hardware.fault == 0
    driver.speed = 1600.0
    hardware.latch(Mode.ZERO, np.zeros(1))
    run(hardware, 1)
    assert hardware.fault == DeviceFault.LIMIT


def test_samples_that_stay_away_are_lost_states_and_then_a_fault(cart):
    hardware, _, said = started(cart(), silent_after=10)
    run(hardware, 9)
    assert hardware.sampled
    run(hardware, 19)
    assert (hardware.sampled, hardware.fault) == (False, 0)
    run(hardware, 1)
    assert (hardware.sampled, hardware.fault) == (True, DeviceFault.SENSOR)
    assert said == ["fault of the device: SENSOR"]


def test_the_devices_own_fault_passes_and_may_be_cleared_only_under_brakes(cart):
    hardware, driver, said = started(cart())
    driver.fault = 1234
    hardware.latch(Mode.EFFORT, np.array([1.0]))
    run(hardware, 50)
    assert hardware.fault == 1234
    assert driver.cleared == 0
    assert said == ["fault of the device: the vendor's fault 1234"]
    hardware.latch(Mode.BRAKE, np.zeros(1))
    run(hardware, 30)
    assert driver.cleared > 0
    driver.fault = 0
    run(hardware, 2)
    assert (hardware.fault, said[-1]) == (0, "the device's fault has cleared")
    cleared = driver.cleared
    run(hardware, 30)
    assert driver.cleared == cleared


TOUCHING = """
points: {tip: {body: cart, at_m: [0.1, 0, 0]}}
contacts: {wall: {point: tip, plane: {at_m: [9, 0, 0], normal: [-1, 0, 0]}, stiffness_N_m: 1.0e+4}}
force_sensors: {wrist: {contact: wall}}
driver:"""


def test_forces_that_a_device_measures_go_with_its_states(cart):
    machine = cart(("\ndriver:", TOUCHING))
    hardware, driver, _ = started(machine, forces=3)
    hardware.latch(Mode.EFFORT, np.array([4.0]))
    run(hardware, 2)
    assert hardware.measured.force.tolist() == [1.0, 2.0, driver.effort]
    with pytest.raises(MachineError, match="toy measures no forces"):
        started(machine)


def test_the_welcome_tells_how_the_zeros_were_found(cart):
    hardware, _, _ = started(cart(("driver:", "driver:\n  homing: here")), unhomed=True)
    told = hardware.homing
    assert (told["by"], list(told["zero"])) == ("here", ["slide"])
    assert told["zero"]["slide"] == pytest.approx(0.25 - 0.1)
    hardware, _, _ = started(cart())
    assert hardware.homing == {"by": "device", "zero": {"slide": 0.05}}


def test_homing_here_takes_the_initial_pose(cart):
    machine = cart(("driver:", "driver:\n  homing: here"))
    hardware, driver, _ = started(machine, unhomed=True)
    assert hardware.measured.q.tolist() == [pytest.approx(0.25)]
    assert hardware.status & DeviceStatus.HOMED
    driver.position += 10
    run(hardware, 1)
    assert hardware.measured.q.tolist() == [pytest.approx(0.26)]


def test_homing_by_procedure_ends_when_the_device_is_homed(cart):
    hardware, _, _ = started(cart(), unhomed=True, index=70)
    assert not hardware.status & DeviceStatus.HOMED
    ticks = 0
    while not hardware.home():
        ticks += 1
    assert ticks == 29
    assert hardware.status & DeviceStatus.HOMED
    assert hardware.measured.q.tolist() == [pytest.approx(0.12)]


def test_what_a_driver_raises_ends_the_plant_with_its_name(cart):
    hardware, _, _ = started(cart(), raises=5)
    with pytest.raises(DriverFailed, match="the driver Toy raised RuntimeError: the wire is cut"):
        run(hardware, 10)


def test_a_device_that_never_answers_is_not_started(cart):
    hardware = Hardware(cart(), Mute(Setup()), lambda *_: None)
    with pytest.raises(DriverFailed, match="toy was started, but returned no sample"):
        hardware.start()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("slide: {counts_per_m", "slid: {counts_per_m", "no sensor has this name"),
        ("counts_per_m: 1000", "counts_per_turn: 1000", "this joint slides"),
        ("at_zero_m: 0.05", "at_zero_deg: 5", "this joint slides"),
        ("at_zero_m: 0.05", "at_zero_m: 0.05, at_zero_rad: 1", "the same value twice"),
        ("scale: 10", "scale: 0", "out of range"),
        ("driver:", "driver:\n  homing: luck", "invalid choice"),
    ],
)
def test_mistakes_in_the_section_are_told_at_their_place(cart, old, new, message):
    with pytest.raises(MachineError, match=message) as caught:
        cart((old, new))
    assert caught.value.problems[0].line >= 13


@pytest.mark.parametrize(
    ("old", "new", "message", "key"),
    [
        (
            "counts_per_m: 1000",
            "channel: 3, counts_per_m: 1000",
            "toy has no sensor with this channel",
            "driver.sensors.slide",
        ),
        ("scale: 10", "channel: 1", "toy has no motor with this channel", "driver.motors.slide"),
        ("driver:", "plant: {period_s: 0.00005}\ndriver:", "does not support this period", "plant.period_s"),
    ],
)
def test_what_the_device_has_not_is_told_at_its_place(cart, old, new, message, key):
    machine = cart((old, new))
    with pytest.raises(MachineError, match=message) as caught:
        started(machine)
    (problem,) = caught.value.problems
    assert problem.key == key
    assert problem.line


def test_drivers_are_found_by_name_and_options_checked(cart):
    assert find_driver("tests.plant.toy_driver:Toy") is Toy
    machine = cart(("driver:", "driver:\n  options: {unhomd: true}"))
    with pytest.raises(MachineError, match=r"driver\.options\.unhomd: the toy has unknown option"):
        make_driver("tests.plant.toy_driver:Toy", machine, {})
    with pytest.raises(MachineError, match="--driver-set: error: loud"):
        make_driver("tests.plant.toy_driver:Toy", cart(), {"loud": 1})
    for name, why in [
        ("upd", "write package.module:Class, or one of linkwork's: udp"),
        ("nothing.here:Class", "nothing.here cannot be imported"),
        ("tests.plant.toy_driver:Toys", "no class Toys; write Toy"),
        ("tests.plant.toy_driver:NoDriverAtAll", "it lacks describe, start"),
    ]:
        with pytest.raises(NoDriver, match=why):
            find_driver(name)
    assert read_options(["port=5801", "host=here", "lockstep=true"]) == {
        "port": 5801, "host": "here", "lockstep": True,
    }  # fmt: skip
    with pytest.raises(NoDriver, match="KEY=VALUE"):
        read_options(["port"])


def test_angles_go_through_both_gears(tmp_path):
    machine = load("docs/examples/udp_motor.yaml")
    (motor,), (sensor,) = machine.driver.motors.values(), machine.driver.sensors.values()
    assert sensor.per_count == pytest.approx(math.tau / 4096 / 20)
    assert motor.per_effort(machine.motors[0].gear_ratio) == pytest.approx(1 / 20 / 0.05)


class Ending:
    """Asks the daemon to end after so many looks."""

    asked = False

    def __init__(self, looks):
        self.looks = looks

    def looked(self):
        self.looks -= 1
        return self.looks < 0


def test_the_procedure_runs_before_anybody_may_connect(cart):
    machine = cart(("driver:", "driver:\n  homing: procedure\n  homing_timeout_s: 0.05"))
    with (Path(os.devnull)).open("wb") as nowhere:
        events = Events(nowhere.fileno())
        hardware, driver, _ = started(machine, unhomed=True, index=90)
        assert find_home(hardware, Ending(1000), events)
        assert hardware.status & DeviceStatus.HOMED
        assert driver.position == 90.0
        hardware, _, _ = started(machine, unhomed=True, index=-1000)
        with pytest.raises(DriverFailed, match=r"did not find its zero within 0.05 s"):
            find_home(hardware, Ending(1000), events)
        hardware, driver, _ = started(machine, unhomed=True, index=-1000)
        assert not find_home(hardware, Ending(3), events)
        driver.fault = 1005
        with pytest.raises(DriverFailed, match="reported fault 1005 while homing"):
            find_home(hardware, Ending(1000), events)


class Homeless(Toy):
    home = None


def test_a_driver_without_a_procedure_says_what_else_there_is(cart):
    hardware = Hardware(cart(), Homeless(Setup()), lambda *_: None)
    with pytest.raises(DriverFailed, match=r"set driver\.homing to device or here"):
        hardware.home()


class Failing(Toy):
    def start(self):
        raise OSError("no bus")

    def stop(self):
        raise OSError("no bus")


def test_a_driver_that_fails_at_start_and_end_is_told_by_name(cart):
    said = []
    hardware = Hardware(cart(), Failing(Setup()), lambda event, text: said.append(text))
    with pytest.raises(DriverFailed, match="Failing raised OSError: no bus"):
        hardware.start()
    hardware.close()
    assert "the brake state of toy is unknown" in said[-1]


def test_periods_that_were_missed_have_passed_all_the_same(cart):
    machine = cart()
    hardware, driver, _ = started(machine)
    ticks, writes = hardware.tick, driver.writes
    with (Path(os.devnull)).open("wb") as nowhere:
        desk = SimpleNamespace(
            machine=machine, machinery=hardware, slipped=0, events=Events(nowhere.fileno())
        )
        Slips(desk).after(3, 10**12)
        assert "advanced over 3 periods" in desk.events.waiting[0].decode()
    assert (hardware.tick - ticks, driver.writes - writes, desk.slipped) == (3, 0, 0), (
        "nothing is made up for"
    )
