"""Drives that close the position loop themselves (CSP): bus, file, references of the loop, refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from linkwork.arrays import Floats
from linkwork.cia402.cia402_driver import Cia402
from linkwork.cia402.objects import SUPPORTED_MODES, TORQUE_OFFSET, OperationMode
from linkwork.cia402.simulated_drive import SimulatedDrive
from linkwork.controller.exchange.orders import Disable
from linkwork.controller.laws.law import Reference
from linkwork.controller.motion.references.drive_references import DriveReferences
from linkwork.controller.planning.goals.force_goals import row_of
from linkwork.machine import Machine, MachineError, load
from linkwork.machine.catalogue import shipped_path
from linkwork.machine.sections.drivers import DriverMotor
from linkwork.multibody import Workspace
from linkwork.multibody.dynamics.motion_basis import evaluate_motion
from linkwork.plant.drivers.driver import DriverFailed, make_driver
from linkwork.plant.drivers.hardware import Hardware
from linkwork.plant.drivers.scaling import Scaling
from linkwork.plant.faults.faulty_machinery import faulty
from linkwork.protocol.codes import DeviceStatus, Mode
from linkwork.protocol.drive_errors import DRIVE_ERROR
from linkwork.protocol.errors import RequestError
from linkwork.protocol.link import MOTOR_FAULT, CommandCodec
from tests.cia402.bench import Line, bench, line, setup
from tests.controller.loop.in_process import InProcess
from tests.controller.loop.test_closed_chains import move

COUNTS = 1048576 / (2.0 * np.pi)


def enabled(drives: Line) -> tuple[float, float]:
    """Enable the drives where they are; return their positions."""
    drives.ticks(5)
    for _ in range(10):
        left, right = drives.reading.position.tolist()
        drives.tick(Mode.EFFORT, (0.0, 0.0), (left, right))
    assert not drives.reading.status & DeviceStatus.BRAKE
    return left, right


def test_a_drive_follows_positions_and_adds_the_torque_that_is_fed_forward() -> None:
    with line(mode="csp") as drives:
        left, right = enabled(drives)
        for tick in range(600):
            way = 0.1 * COUNTS * min(tick / 300, 1.0) ** 2
            assert drives.tick(Mode.EFFORT, (0.0, 0.0), (left + way, right))
        moved, held = drives.reading.position - (left, right)
        assert moved == pytest.approx(0.1 * COUNTS, rel=0.02)
        assert abs(held) < 0.002 * COUNTS
        place = tuple(drives.reading.position.tolist())
        drives.tick(Mode.EFFORT, (0.0, 0.0), place)
        before = drives.reading.effort.copy()
        drives.tick(Mode.EFFORT, (0.5, 0.0), place)
        assert drives.reading.effort[0] - before[0] == pytest.approx(0.5, abs=0.1)
        drives.tick(Mode.BRAKE, (0.0, 0.0), (0.0, 0.0))
        drives.ticks(3)
        assert drives.bench.drives[0].braked


def test_a_drive_that_is_not_enabled_gets_its_own_position() -> None:
    with line(mode="csp") as drives:
        drives.ticks(5)
        place = drives.reading.position.copy()
        drives.tick(Mode.BRAKE, (0.0, 0.0), (0.0, 0.0))
        drives.ticks(10, Mode.EFFORT, position=tuple(place.tolist()))
        assert not drives.reading.status & DeviceStatus.BRAKE
        assert np.abs(drives.reading.position - place).max() <= 2.0


def test_a_following_error_beyond_the_drives_window_is_named_with_its_size() -> None:
    right = {"node": 2, "rated_torque_N_m": 2.5, "absolute": True}
    left = {**right, "node": 1, "write": ["6065:0 u32 2000", "6066:0 u16 4"]}
    with line(mode="csp", drives={"left": left, "right": right}) as drives:
        there, rest = enabled(drives)
        drives.bench.command("brake left")
        for tick in range(200):
            drives.tick(Mode.EFFORT, (0.0, 0.0), (there + 100.0 * tick, rest))
            if drives.reading.fault:
                break
        assert drives.reading.motors[MOTOR_FAULT].tolist() == [DRIVE_ERROR + 0x8611, 0]
        assert tick <= 20 + 4 + 3  # the window, 6066h in cycles, the emergency
        text = "left: emergency: error 8611h (following error): 2"
        assert any(said.startswith(text) and "counts from its target" in said for said in drives.said)


def test_a_report_that_repeats_while_the_target_moves_is_frozen() -> None:
    with line(mode="csp") as drives:
        left, right = enabled(drives)
        drives.bench.command("frozen left")
        for tick in range(30):
            drives.tick(Mode.EFFORT, (0.0, 0.0), (left + 20.0 * tick, right))
        assert any("its TPDO is frozen" in said and "target changed by" in said for said in drives.said)


def test_a_stuck_brake_and_a_jump_of_the_counts_are_suspected() -> None:
    with line(mode="csp") as drives:
        there, rest = enabled(drives)
        for tick in range(100):
            drives.tick(Mode.EFFORT, (0.0, 0.0), (there + 100.0 * tick, rest))
        assert not any("suspicion" in said for said in drives.said)
        drives.bench.command("brake left")
        for tick in range(100, 250):
            drives.tick(Mode.EFFORT, (0.0, 0.0), (there + 100.0 * min(tick, 125), rest))
        text = "counts away and it does not move: brake stuck"
        assert [text in said for said in drives.said if "suspicion" in said] == [True]
    with line(mode="csp") as drives:
        there, rest = enabled(drives)
        drives.bench.command("scaling_counts left")
        for _ in range(5):
            drives.tick(Mode.EFFORT, (0.0, 0.0), (there, rest))
        assert any("left: suspicion: its position jumped by" in said for said in drives.said)


def test_faults_of_motors_act_on_the_torque_that_is_fed_forward() -> None:
    machine = in_position_mode("five_bar")
    made = setup(machine)
    with bench(made, machine) as drives:
        hardware = Hardware(machine, Cia402(made), lambda *_: None)
        hardware.start()
        machinery = faulty(hardware)

        def halve() -> None:
            machinery.driven[0] *= 0.5

        machinery.driving.append(halve)
        for _ in range(10):
            machinery.latch(Mode.EFFORT, np.array([2.0, 2.0]))
            machinery.refer(machinery.measured.q.copy(), np.array([0.5, 0.25]))
            machinery.sense()
            machinery.integrate()
        assert [drive.values[TORQUE_OFFSET] for drive in drives.drives] == [100, 100]  # of 2.5 N m
        machinery.close()


class TorqueAlone(SimulatedDrive):
    """A drive without position mode."""

    def _boot(self) -> None:
        super()._boot()
        self.values[SUPPORTED_MODES] = OperationMode.TORQUE.offered


def test_a_drive_without_position_mode_is_refused() -> None:
    text = "does not offer cyclic synchronous position: 6502h = 00000200h lacks bit 7"
    with pytest.raises(DriverFailed, match=text), line(TorqueAlone, mode="csp"):
        pass


MISTAKES = {
    "motors: {left: {mode: csp}}": "either in all drives or in none",
    "motors: {left: {mode: csp, channel: 1}, right: {mode: csp, channel: 0}}": "motor on channel 1",
    "motors: {left: {mode: csp, reversed: true}, right: {mode: csp}}": "only one of the two is reversed",
    "motors: {left: {mode: csp}, right: {mode: csp}}\nplant: {on_timeout: damp}": "can only brake",
}


@pytest.mark.parametrize("given", MISTAKES)
def test_files_with_which_no_drive_can_close_the_loop_are_refused(given: str, tmp_path: Path) -> None:
    text = shipped_path("five_bar").read_text()
    lines, _, more = given.partition("\n")
    path = tmp_path / "five_bar.yaml"
    path.write_text(
        text.replace("  sensors: {left: {counts", f"  {lines}\n  sensors: {{left: {{counts") + more
    )
    with pytest.raises(MachineError, match=MISTAKES[given]):
        load(path)


def in_position_mode(name: str) -> Machine:
    machine = load(name)
    modes = {motor.joint: DriverMotor(mode="csp") for motor in machine.motors}
    return replace(machine, driver=machine.driver.with_values(motors=modes))


def test_redundant_motors_in_position_mode_are_refused(tmp_path: Path) -> None:
    text = shipped_path("five_bar_redundant").read_text()
    path = tmp_path / "redundant.yaml"
    names = ", ".join(f"{motor.joint}: {{mode: csp}}" for motor in load("five_bar_redundant").motors)
    path.write_text(f"{text}\ndriver:\n  motors: {{{names}}}\n")
    with pytest.raises(MachineError, match="work against each other where motors are redundant"):
        load(path)


def test_a_driver_that_follows_no_positions_is_refused() -> None:
    machine = in_position_mode("slider_crank")
    with pytest.raises(MachineError, match="follows no positions"):
        Scaling(machine, make_driver("udp", machine, {}).describe())


def test_goals_of_force_are_refused_in_words() -> None:
    machine = in_position_mode("scara_polish")
    with pytest.raises(RequestError, match="force goals, guarded moves and hybrid control need mode cst"):
        row_of(machine, machine.force_rows[0].name, ("trajectory", "force"))


@pytest.mark.parametrize("name", ["scara", "five_bar", "delta", "slider_crank"])
def test_motors_that_reach_their_references_reach_the_goal(name: str) -> None:
    machine = in_position_mode(name)
    work, references = machine.workspace(), DriveReferences(machine)
    index = np.array([machine.coordinate_index(each) for each in machine.goal_coordinates])
    evaluate_motion(*work.arguments)
    goal = Reference.sized(machine.dof)
    goal.fit(index)
    goal.theta[:] = work.theta[index] + 1e-4 * np.linspace(-1.0, 1.0, len(index))

    def nothing(_: Workspace, reference: Reference, force: Floats) -> float:
        assert reference.theta.tolist() == work.theta[index].tolist()
        force[:] = 1.0
        return 1.0

    references.follow(nothing, work, goal)  # type: ignore[arg-type]
    out = np.zeros((2, len(machine.motors)))
    references.write(work, 1.0, out)
    motors = [motor.index for motor in machine.motors]
    before, way = work.q[motors].copy(), out[0] - work.q[motors]
    for _ in range(4):  # Newton steps along the admitted motions to the motors' positions
        basis = work.basis[: machine.dof]
        left = before + way - work.q[motors]
        work.q[:] += np.linalg.lstsq(basis[:, motors].T, left, None)[0] @ basis
        evaluate_motion(*work.arguments)
    assert work.theta[index] == pytest.approx(goal.theta, abs=2e-7)
    assert np.all(np.abs(out[1]) <= 1.0)


@pytest.mark.parametrize("target", [{"left": 1.9, "right": 1.2}, {"x": 0.02, "y": 0.35}])
def test_the_loop_gives_the_positions_at_the_end_of_a_command(target: dict[str, float]) -> None:
    rig = InProcess(in_position_mode("five_bar"))
    rig.enable()
    motors = [motor.index for motor in rig.machine.motors]
    assert rig.outputs.references[0] == pytest.approx(rig.simulator.q[motors], abs=1e-5)
    move(rig, target)
    wanted, there, feedback = [], [], []
    for _ in range(400):
        there.append(rig.tick()["q"][motors].copy())
        wanted.append(rig.outputs.references[0].copy())
        feedback.append(rig.outputs.effort - rig.outputs.references[1])
    assert np.ptp(there, axis=0).max() > 0.05
    np.testing.assert_allclose(np.array(wanted)[:-2], np.array(there)[2:], atol=1e-4)
    assert np.abs(feedback).max() < 0.05  # N m: feedback is small where the machine follows its reference
    rig.order(Disable())
    rig.run(0.5)
    assert rig.outputs.references[0] == pytest.approx(rig.simulator.q[motors], abs=1e-5)
    assert rig.outputs.references[1].tolist() == [0.0, 0.0]


def test_commands_with_references_survive_the_wire() -> None:
    codec = CommandCodec(2, 1, 1, references=True)
    message = codec.message()
    effort, references = np.array([1.5, -2.0]), np.array([[0.25, -0.5], [1.0, -1.0]])
    for closed in (-1, 1):
        codec.unpack(codec.pack(7, 9, 2, effort, closed, np.array([1.0]), references), message)
        assert message.effort.tolist() == effort.tolist()
        assert message.references.tolist() == references.tolist()
        assert (message.outputs.tolist(), message.closed) == ([1.0], closed)
