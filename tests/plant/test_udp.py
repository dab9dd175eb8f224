"""The driver `udp` against the reference device in C, over real datagrams."""

from __future__ import annotations

import shutil
import signal
import socket
import struct
import zlib

import numpy as np
import pytest

from linkwork.command_line import OptionsCommand, call
from linkwork.machine import MachineError, load
from linkwork.plant.drivers.driver import Command, DriverFailed, Reading, Setup, make_driver
from linkwork.plant.drivers.hardware import Hardware
from linkwork.plant.drivers.udp import Udp
from linkwork.plant.plant_options import PlantOptions
from linkwork.protocol.codes import DeviceFault, DeviceStatus, Mode, Pace
from tests.plant.udp_device import CONFIG, SOURCE, running

BRAKED = DeviceStatus.ENABLED | DeviceStatus.BRAKE | DeviceStatus.HOMED


def driver_at(port, **options):
    return Udp(Setup({"port": port, "lockstep": True, **options}, 1, 1, 0.002))


def exchange(driver, mode=Mode.BRAKE, effort=0.0, clear=False):
    reading = Reading.sized(driver.describe())
    driver.write(Command(np.array([effort]), mode, clear))
    assert driver.read(reading)
    return reading


def test_the_reference_device_is_short_enough_to_read():
    assert len(SOURCE.read_text().splitlines()) < 300


def test_the_device_is_a_small_motor():
    with running("--lockstep") as (port, _):
        driver = driver_at(port)
        driver.start()
        rest = exchange(driver)
        assert (rest.position[0], rest.velocity[0], rest.status, rest.fault) == (0.0, 0.0, BRAKED, 0)
        for _ in range(50):
            held = exchange(driver, Mode.BRAKE, 0.2)
        assert held.velocity[0] == 0.0, "the brake holds 0.01 N m"
        for _ in range(50):
            moving = exchange(driver, Mode.EFFORT, 0.2)
        assert moving.effort[0] == pytest.approx(0.2)
        per_count = 2 * np.pi / 4096
        torque = 0.05 * 0.2 - 2e-3
        speed = torque / 2e-5 * (1 - np.exp(-49 * 0.002))  # the viscous friction's time constant is 1 s
        assert moving.velocity[0] * per_count == pytest.approx(speed, rel=1e-2)
        assert moving.position[0] == round(moving.position[0])
        assert moving.temperature[0] > rest.temperature[0]
        before = moving.position[0]
        for _ in range(100):
            coasting = exchange(driver, Mode.ZERO, 0.2)
        assert coasting.effort[0] == 0.0
        assert 0.0 < coasting.velocity[0] < moving.velocity[0]
        for _ in range(100):
            braked = exchange(driver)
        assert braked.velocity[0] == 0.0
        assert braked.position[0] > before
        driver.stop()
        driver.stop()
        driver.start()
        assert exchange(driver).position[0] == braked.position[0], "the driver may come back"
        driver.stop()


def test_silence_brakes_the_device_until_it_may_clear():
    with running("--watchdog-ms", "300") as (port, _):
        driver = driver_at(port)  # which waits a second for an answer, where a clock runs as well
        driver.start()
        exchange(driver, Mode.EFFORT, 1.0)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:  # the device's time goes on
            other.settimeout(0.6)
            other.connect(("127.0.0.1", port))
            with pytest.raises(TimeoutError):
                other.recv(1)
        silent = exchange(driver, Mode.EFFORT, 1.0)
        assert silent.fault == DeviceFault.COMMAND_TIMEOUT
        assert silent.status == DeviceStatus.FAULT | DeviceStatus.BRAKE | DeviceStatus.HOMED
        assert silent.effort[0] == 0.0
        assert exchange(driver).fault == DeviceFault.COMMAND_TIMEOUT, "latched"
        assert exchange(driver, clear=True).fault == 0
        driver.stop()


def test_damaged_foreign_and_repeated_datagrams_change_nothing():
    with running("--lockstep") as (port, _):
        driver = driver_at(port)
        driver.start()
        exchange(driver, Mode.EFFORT, 1.0)
        seq, session = driver._seq, driver._session

        def command(seq, session, effort=4.0, magic=b"LWC1", motors=1, mode=2, crc=None):
            body = struct.pack("<4sIIBBHIf", magic, seq, session, mode, motors, 0, 2000, effort)
            return body + struct.pack("<I", zlib.crc32(body) if crc is None else crc)

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.settimeout(0.2)
            other.connect(("127.0.0.1", port))
            bad = [
                b"", b"LWC1", command(seq + 1, session)[:-1], command(seq + 1, session) + b"\0",
                command(seq + 1, session, crc=1), command(seq + 1, session, magic=b"LWC2"),
                command(seq + 1, session, motors=2), command(seq + 1, session, mode=3),
                command(seq + 1, session, effort=float("nan")), command(seq - 1, session),
            ]  # fmt: skip
            for data in bad:
                other.send(data)
            with pytest.raises(TimeoutError):
                other.recv(100)
            answers = []
            for _ in range(2):
                other.send(command(seq, session))
                answers.append(other.recv(100))
            assert answers[0] == answers[1], "the same command again: the same answer"
            assert struct.unpack_from("<f", answers[0], 32)[0] == 1.0
        assert exchange(driver, Mode.EFFORT, 1.0).position[0] > 0.0
        driver.stop()


@pytest.mark.parametrize("force", [[], [0.5, -140.25]], ids=["no force", "force"])
def test_the_bytes_are_those_of_the_page(force):
    """docs/drivers.md: the offsets of a device with two motors and three sensors, and numbers of force."""
    more = {"forces": len(force)} if force else {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        device.bind(("127.0.0.1", 0))
        device.setblocking(False)
        driver = Udp(Setup({"port": device.getsockname()[1], "motors": 2, "sensors": 3, **more}, 2, 3, 0.002))
        reading = Reading.sized(driver.describe())
        with pytest.raises(DriverFailed, match=r"no answer from .* with 3 sensors and 2 motors"):
            driver.start()
        data = device.recv(1000)
        assert len(data) == 32
        _, seq, _, mode, motors, flags, period, first, second, crc = struct.unpack("<4sIIBBHIffI", data)
        assert (seq, mode, motors, flags, period, first, second) == (1, 0, 2, 0, 2000, 0.0, 0.0)
        assert crc == zlib.crc32(data[:-4])

        driver._link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        driver._link.connect(device.getsockname())
        driver._poll.register(driver._link, 1)
        while True:
            try:
                device.recv(1000)
            except BlockingIOError:
                break

        def answer(positions, **changes):
            device.setblocking(True)
            command, host = device.recvfrom(1000)
            seq = struct.unpack_from("<I", command, 4)[0] + changes.get("ahead", 0)
            told = changes.get("told", len(force))
            head = struct.pack("<4sIIBBBBHHI", b"LWS1", seq, driver._session, 2, 2, 3, told, 17, 1005, 99)
            body = head + struct.pack("<3i3f2f2f", *positions, 1, 2, 3, 4, 5, 60.5, float("nan"))
            body += struct.pack(f"<{len(force)}f", *force)
            device.sendto(body + struct.pack("<I", zlib.crc32(body)), host)

        driver.write(Command(np.array([1.0, 2.0]), Mode.EFFORT))
        answer((2**31 - 1, -5, 7), ahead=-1)
        assert not driver.read(reading), "the answer to an older command"
        driver.write(Command(np.array([1.0, 2.0]), Mode.EFFORT))
        answer((1, 2, 3), told=1)
        assert not driver.read(reading), "of a device with another number of forces"
        for positions in ((2**31 - 1, -5, 7), (-(2**31), -6, 7)):
            driver.write(Command(np.array([1.0, 2.0]), Mode.EFFORT))
            answer(positions)
            assert driver.read(reading)
        assert reading.position.tolist() == [2.0**31, -6.0, 7.0], "counts go on beyond 32 bits"
        assert (reading.velocity.tolist(), reading.effort.tolist()) == ([1.0, 2.0, 3.0], [4.0, 5.0])
        assert reading.temperature[0] == 60.5
        assert np.isnan(reading.temperature[1])
        assert reading.force.tolist() == force
        assert (reading.status, reading.fault) == (17, 1005)
        driver.stop()


WALLED = """\
points:
  finger: {body: disc, at_m: [0.1, 0, 0]}

contacts: # at 40 degrees; the device's own wall, whose force the sensor on the finger measures
  wall:
    point: finger
    plane: {at_m: [0.0766044443, 0.0642787610, 0], normal: [0.6427876097, -0.7660444431, 0]}
    stiffness_N_m: 5000

force_sensors:
  finger: {contact: wall}

motors:"""


def test_forces_travel_from_the_device(tmp_path):
    file = tmp_path / "walled.yaml"
    file.write_text(CONFIG.read_text().replace("\nmotors:", f"\n{WALLED}", 1))
    machine = load(file)
    with running("--lockstep", "--wall-deg", "40") as (port, _):
        hardware = Hardware(machine, make_driver("udp", machine, {"port": port, "lockstep": True}), print)
        hardware.start()
        assert hardware.measured.force.tolist() == [0.0, 0.0, 0.0]
        hardware.latch(Mode.EFFORT, np.array([0.4]))
        for _ in range(600):
            hardware.sense()
            hardware.integrate()
        force, normal = hardware.measured.force, np.array([0.6427876097, -0.7660444431, 0.0])
        assert force @ normal == pytest.approx(4.0, abs=0.5), "0.4 N m at 0.1 m, less or more dry friction"
        np.testing.assert_allclose(force, (force @ normal) * normal, atol=1e-5)
        assert hardware.measured.q[0] == pytest.approx(np.deg2rad(40.0) + 4.0 / 5000 / 0.1, abs=2e-3)
        hardware.close()
    with running("--lockstep") as (port, _), pytest.raises(DriverFailed, match="and 3 forces"):
        Hardware(machine, make_driver("udp", machine, {"port": port, "lockstep": True}), print).start()


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ({"prot": 5}, "unknown option of the driver udp"),
        ({"port": 0}, "an integer from 1 to 65535"),
        ({"port": True}, "an integer from 1 to 65535"),
        ({"watchdog_s": -1}, "seconds, from 0 to 10"),
        ({"answer_s": float("nan")}, "seconds, from 0 to 0.1"),
        ({"lockstep": 1}, "true or false"),
        ({"host": ""}, "a name or an address"),
    ],
)
def test_options_are_checked(option, why):
    with pytest.raises(MachineError, match=why):
        make_driver("udp", load(CONFIG), option)


def test_homing_by_the_devices_own_procedure():
    with running("--lockstep", "--unhomed") as (port, _):
        machine = load(CONFIG)
        hardware = Hardware(machine, make_driver("udp", machine, {"port": port, "lockstep": True}), print)
        hardware.start()
        assert not hardware.status & DeviceStatus.HOMED
        ticks = 0
        while not hardware.home():
            ticks += 1
            assert ticks < 5000
        hardware.act("brake")
        for _ in range(100):
            hardware.sense()
            hardware.integrate()
        assert hardware.status & DeviceStatus.HOMED
        assert abs(hardware.measured.q[0]) < 0.01, "zero is where the index mark is"
        hardware.close()


def test_the_device_leaks_nothing():
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    under = ("valgrind", "-q", "--leak-check=full", "--show-leak-kinds=all", "--error-exitcode=9")
    with running("--lockstep", under=under) as (port, process):
        driver = driver_at(port)
        driver.start()
        for _ in range(20):
            exchange(driver, Mode.EFFORT, 0.5)
        driver.stop()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")


def test_the_daemon_stands_in_front_of_the_device(start_plant, controller, runtime):
    with running("--lockstep") as (port, _):
        settings = ["--driver", "udp", "--driver-set", f"port={port}", "--driver-set", "lockstep=true"]
        plant = start_plant(CONFIG, *settings)
        assert "(udp device at 127.0.0.1" in plant.wait_for("ready")["text"]
        assert not [event for event in plant.events if event["event"] == "warming"], "nothing is simulated"
        me = controller(plant)
        state = me.connect(Pace.LOCKSTEP)
        assert (state.seq, state.status, state.fault) == (0, BRAKED, 0)
        assert state.temperature.tolist() == pytest.approx([22.0], abs=0.1)
        for k in range(100):
            state = me.exchange(k, Mode.EFFORT, [0.3])
        assert (state.seq, state.ack, state.mode) == (100, 99, Mode.EFFORT)
        assert state.effort.tolist() == pytest.approx([0.3])
        speed = (0.3 - 0.04) / 0.008 * (1 - np.exp(-99 * 0.002))
        assert state.v[0] == pytest.approx(speed, rel=0.02)
        me.bye()
        assert plant.wait_for("left")
        again = controller(plant, "other@here")
        state = again.connect(Pace.LOCKSTEP)
        assert state.status & DeviceStatus.BRAKE
        assert plant.end() == 0


def test_without_a_device_the_daemon_says_so(start_plant):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        plant = start_plant(CONFIG, "--driver", "udp", "--driver-set", f"port={port}", ready=False)
        assert "no answer from 127.0.0.1" in plant.wait_for("failed")["text"]
        assert plant.process.wait(60) == 4


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--driver", "upd"], "'upd' is not a driver"),
        (["--driver", "udp", "--driver-set", "prt=1"], "unknown option"),
        (["--driver", "udp", "--pace", "lockstep"], "runs at pace device, host, not lockstep"),
        (["--driver", "udp", "--plant-set", "disc.mass_kg=1"], "--plant-set changes a simulated plant"),
        (["--driver-set", "port=1"], "add --driver"),
    ],
)
def test_mistakes_on_the_plants_command_line(words, why, capsys):
    command = OptionsCommand("plant", PlantOptions, "plant.daemon.plant_daemon:plant")
    before = signal.getsignal(signal.SIGTERM)
    try:
        status = call(command, [str(CONFIG), *words], "plant")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert status == 2
    assert why in capsys.readouterr().err


def test_a_valve_and_its_end_switch_are_signals_of_the_device():
    with running("--lockstep", "--valve") as (port, _):
        driver = driver_at(port, inputs=1, outputs=1)
        driver.start()
        reading = Reading.sized(driver.describe())
        command = Command(np.zeros(1), Mode.BRAKE, outputs=np.ones(1))
        told = []
        for _ in range(12):
            driver.write(command)
            assert driver.read(reading)
            told.append(reading.inputs[0])
        assert told == [0.0] * 10 + [1.0] * 2, "20 ms after the output, at 2 ms a period"
        driver.stop()
        driver.start()
        driver.write(command)
        assert driver.read(reading)
        assert reading.inputs.tolist() == [1.0], "starting and stopping the driver keeps the valve"
        driver.stop()
        with pytest.raises(DriverFailed, match="no answer"):
            driver_at(port, outputs=0, inputs=0).start()
