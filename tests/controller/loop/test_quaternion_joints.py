"""Joints whose coordinates are quaternions and whose velocities are no rates of coordinates, in the loop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from linkwork.arrays import Floats
from linkwork.controller.estimation.loop_model import LoopModel
from linkwork.controller.estimation.sensor_estimate import SLOPE, Estimator
from linkwork.controller.exchange.faults import FaultCode
from linkwork.controller.exchange.orders import JogCoordinates, OrderOutcome
from linkwork.machine import Machine, MachineError, for_controller, load, shipped_path
from linkwork.multibody.functions import coordinate_jacobian
from linkwork.offline.run import simulate
from tests.controller.loop.in_process import InProcess

GOALS = ("shoulder.1", "shoulder.2", "elbow", "roll", "pitch", "yaw")
TOOL = ("x", "y", "z", "roll", "pitch", "yaw")
DISK = """
name: driven_disk
gravity_m_s2: [0, 0, -9.81]
bodies:
  disk: {mass_kg: 1, inertia_kg_m2: {xx: 5, yy: 5, zz: 10}}
joints:
  centre: {type: spherical, parent: world, child: disk}
points:
  rim: {body: disk, at_m: [1, 0, 0]}
task:
  roll: {coordinate: rim.roll}
  pitch: {coordinate: rim.pitch}
  yaw: {coordinate: rim.yaw}
motors:
  centre.rx: {max_torque_N_m: 300, max_speed_rad_s: 20, brake_torque_N_m: 100}
  centre.ry: {max_torque_N_m: 300, max_speed_rad_s: 20, brake_torque_N_m: 100}
  centre.rz: {max_torque_N_m: 300, max_speed_rad_s: 20, brake_torque_N_m: 100}
sensors:
  centre.rx: {position: {counts_per_turn: 1048576}}
  centre.ry: {position: {counts_per_turn: 1048576}}
  centre.rz: {position: {counts_per_turn: 1048576}}
initial: {centre.roll_deg: 10, centre.pitch_deg: -20, centre.yaw_deg: 170}
controller: {goal_coordinates: [roll, pitch, yaw]}
"""


def disk(folder: Path, text: str = DISK) -> Machine:
    path = folder / "driven_disk.yaml"
    path.write_text(text)
    return load(path)


def arm(folder: Path, name: str, wrist: str) -> Machine:
    """One of the two arms, with the gripper bent back by 20° about y against the forearm."""
    text = shipped_path(name).read_text()
    head = text[: text.index("initial:")]
    start = f"initial: {{shoulder.1_deg: 30, shoulder.2_deg: 10, elbow_deg: 20, {wrist}: -20}}\n"
    path = folder / f"{name}.yaml"
    path.write_text(head + start + text[text.index("\ncontroller:") :])
    return load(path)


def both_arms(folder: Path) -> tuple[Machine, Machine]:
    return arm(folder, "arm_6dof", "wrist.1_deg"), arm(folder, "arm_6dof_simple", "wrist.pitch_deg")


def smooth(begin: Floats, way: Floats, seconds: float) -> tuple[Floats, Floats]:
    """Knots and values of a quintic step."""
    knots = np.linspace(0.0, seconds, 61)
    x = knots / seconds
    shape = [
        10 * x**3 - 15 * x**4 + 6 * x**5,
        30 * x**2 - 60 * x**3 + 30 * x**4,
        60 * x - 180 * x**2 + 120 * x**3,
    ]
    values = np.stack([part[:, None] * way / seconds**order for order, part in enumerate(shape)], axis=1)
    values[:, 0] += begin
    return knots, values


def index_of(machine: Machine, names: tuple[str, ...]) -> list[int]:
    return [machine.mechanism.coordinate_index(name) for name in names]


def driven(machine: Machine, names: tuple[str, ...], way: Floats, seconds: float) -> list[np.void]:
    """The ticks of a smooth motion by `way` in these coordinates, and 0.1 s after it."""
    rig = InProcess(for_controller(machine))
    rig.enable()
    index = np.array(index_of(machine, names))
    knots, values = smooth(rig.controller._now.theta[index], way, seconds)
    order = np.argsort(index)
    rig.send(index[order], knots, values[:, :, order], path=0.05, goal=0.01)
    samples = rig.run(seconds + 0.1)
    assert {int(sample["fault"]) for sample in samples} == {0}
    return [sample.record for sample in samples]


def test_both_wrists_follow_one_motion_with_efforts_that_are_congruent(tmp_path: Path) -> None:
    compound, simple = both_arms(tmp_path)
    way, rows = np.array([0.2, -0.3, 0.3, 0.3, 0.2, -0.25]), []
    for machine in (compound, simple):
        ticks = driven(machine, GOALS, way, 1.0)
        at = index_of(machine, TOOL)
        rows.append([(tick["q"], tick["v"], tick["coordinate"][at], tick["law_effort"]) for tick in ticks])
    for one, other in list(zip(*rows, strict=True))[::50]:
        np.testing.assert_allclose(one[2], other[2], atol=2e-6)
        jacobians = [
            coordinate_jacobian(machine.mechanism, state[0])[index_of(machine, TOOL)]
            for machine, state in ((compound, one), (simple, other))
        ]
        to_simple = np.linalg.solve(jacobians[1], jacobians[0])  # v_simple = T v_compound
        np.testing.assert_allclose(to_simple @ one[1], other[1], atol=1e-4)
        np.testing.assert_allclose(to_simple.T @ other[3], one[3], atol=2e-3)
    moved = rows[1][-1][2] - rows[1][0][2]
    np.testing.assert_allclose(moved[3:], way[3:], atol=1e-4)


def test_a_driven_disk_turns_on_and_on_past_half_turns(tmp_path: Path) -> None:
    machine = disk(tmp_path)
    way = np.array([0.3, 0.2, 2.5 * np.pi])
    ticks = driven(machine, ("roll", "pitch", "yaw"), way, 2.0)
    at = index_of(machine, ("roll", "pitch", "yaw"))
    angles = np.unwrap(np.array([tick["coordinate"][at] for tick in ticks]), axis=0)
    np.testing.assert_allclose(angles[-1] - angles[0], way, atol=1e-4)
    wanted = np.array([tick["reference"][at] for tick in ticks[5:-110]])
    off = np.angle(np.exp(1j * (angles[5:-110] - wanted)))
    assert float(np.abs(off).max()) < 2e-3
    assert max(np.linalg.norm(tick["q_measured"]) for tick in ticks) <= np.pi + 1e-5


def test_readings_are_the_rotation_vector_of_the_joint(tmp_path: Path) -> None:
    machine = disk(tmp_path)
    turned = Rotation.from_euler("xyz", [10, -20, 170], degrees=True)
    rig = InProcess(machine)
    np.testing.assert_allclose(rig.simulator.measured.q, turned.as_rotvec(), atol=3.1e-6)
    rig.run(0.01)
    found = Rotation.from_quat(rig.controller._now.q)
    assert (found * turned.inv()).magnitude() < 6e-6


@pytest.mark.parametrize("turn", [0.3, 3.1, 3.2])
def test_the_observer_corrects_by_its_share_of_the_turn_that_is_missing(tmp_path: Path, turn: float) -> None:
    machine = disk(tmp_path)
    estimator = Estimator(machine)
    model = LoopModel(machine, estimator)
    rig = InProcess(machine)
    estimator.first = False
    before = Rotation.from_rotvec(turn * np.array([0.6, 0.0, 0.8]))
    missing = np.array([0.02, -0.03, 0.01])
    model.now.q[:] = before.as_quat()
    model.now.v[:] = 1.0, 2.0, 3.0
    rig.inputs.q_measured[:] = (before * Rotation.from_rotvec(missing)).as_rotvec()
    assert model.observe(rig.inputs, 1e-3, True) == -1
    z = np.exp(-estimator.bandwidth * 1e-3)
    done = (before.inv() * Rotation.from_quat(model.now.q)).as_rotvec()
    np.testing.assert_allclose(done, (1.0 - z * z) * missing, atol=1e-12)
    np.testing.assert_allclose(model.now.v, [1, 2, 3] + (1.0 - z) ** 2 / 1e-3 * missing, atol=1e-9)
    assert np.all(np.isfinite(estimator.table[SLOPE]))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  centre.rx: {position: {counts_per_turn: 1048576}}\n", "", "measured as a whole"),
        ("controller: {goal_coordinates: [roll, pitch, yaw]}", "", "type: compound"),
        ("  centre.ry: {max_torque_N_m: 300, max_speed_rad_s: 20, brake_torque_N_m: 100}\n", "", "centre.ry"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can_be_done(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert old in DISK
    with pytest.raises(MachineError) as error:
        for_controller(disk(tmp_path, DISK.replace(old, new)))
    assert said in str(error.value)


GUIDED = """
name: guided
gravity_m_s2: [0, 0, -9.81]
bodies:
  rod: {mass_kg: 2, com_m: [0.5, 0, 0], inertia_kg_m2: {xx: 0.01, yy: 0.2, zz: 0.2}}
joints:
  hip: {type: spherical, parent: world, child: rod}
points:
  tip: {body: rod, at_m: [1, 0, 0]}
task:
  roll: {coordinate: tip.roll}
  y: {coordinate: tip.y}
constraints:
  table: {type: coordinate, of: tip.z, equals_m: 0.3}
motors:
  hip.rx: {max_torque_N_m: 60, max_speed_rad_s: 10, brake_torque_N_m: 40}
  hip.ry: {max_torque_N_m: 60, max_speed_rad_s: 10, brake_torque_N_m: 40}
  hip.rz: {max_torque_N_m: 60, max_speed_rad_s: 10, brake_torque_N_m: 40}
sensors:
  hip.rx: {position: {counts_per_turn: 1048576}}
  hip.ry: {position: {counts_per_turn: 1048576}}
  hip.rz: {position: {counts_per_turn: 1048576}}
initial: {hip.pitch_deg: -17, hip.roll_deg: 20, hip.yaw_deg: 10}
controller: {goal_coordinates: [roll, y]}
"""


def test_a_closed_machine_is_measured_by_an_orientation(tmp_path: Path) -> None:
    path = tmp_path / "guided.yaml"
    path.write_text(GUIDED)
    machine = load(path)
    way = np.array([0.8, 0.4])
    ticks = driven(machine, ("roll", "y"), way, 1.0)
    at = index_of(machine, ("roll", "y"))
    np.testing.assert_allclose(ticks[-1]["coordinate"][at] - ticks[0]["coordinate"][at], way, atol=1e-4)
    assert max(tick["closure_residual"] for tick in ticks) < 1e-9
    rig = InProcess(for_controller(machine))
    rig.run(0.01)
    rig.simulator.measured.q[1] += 0.02
    assert rig.tick()["fault"] == FaultCode.SENSORS_DISAGREE


def test_the_work_of_efforts_that_turn_a_quaternion_is_counted(tmp_path: Path) -> None:
    machine = disk(tmp_path)
    motion = simulate(machine, 1.0, effort=[30.0, -20.0, 50.0])
    assert motion.balance.energy_balance_error_J < 1e-5 * motion.balance.motor_work_J
    assert motion.balance.motor_work_J > 100.0


def test_a_quaternion_arm_jogs_in_its_goal_coordinates(tmp_path: Path) -> None:
    rig = InProcess(for_controller(both_arms(tmp_path)[1]))
    rig.enable()
    roll = rig.machine.mechanism.coordinate_index("roll")
    began = float(rig.controller._now.theta[roll])
    for _ in range(20):
        outcome = rig.order(JogCoordinates(((roll, 0.5),)))["order_outcome"]
        assert outcome == OrderOutcome.DONE
        rig.run(0.01)
    assert rig.run(1.0)[-1]["fault"] == 0
    assert 0.02 < float(rig.controller._now.theta[roll]) - began < 0.3
