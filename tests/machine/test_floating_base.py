"""Machines whose base floats: fully driven, drifting with `idle: true`, hung by springs, and imported."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linkwork.convert.model_report import report
from linkwork.convert.robots.import_report import report_rows
from linkwork.convert.robots.importing import ImportOptions, import_robot
from linkwork.convert.robots.proof import prove
from linkwork.machine import Machine, MachineError, check, for_controller, load
from linkwork.machine.checks.holding import unheld_joints
from linkwork.multibody.formulations.acceleration import acceleration
from linkwork.multibody.functions import mass_matrix
from linkwork.offline.run import simulate
from tests.client.in_process_robot import RobotInProcess
from tests.multibody.machines import relative_error

BASE = ("x", "y", "z", "rx", "ry", "rz")
FLYER = """
name: flyer
gravity_m_s2: [0, 0, 0]
bodies:
  hull: {mass_kg: 20, inertia_kg_m2: {xx: 1, yy: 1.2, zz: 0.9}}
  left: {mass_kg: 2, com_m: [0, 0.2, 0.05], inertia_kg_m2: {xx: 0.03, yy: 0.005, zz: 0.03}}
  right: {mass_kg: 2, com_m: [0, -0.2, 0], inertia_kg_m2: {xx: 0.03, yy: 0.005, zz: 0.03}}
joints:
  base: {type: free, parent: world, child: hull}
  left: {type: revolute, parent: hull, child: left, at_m: [0.1, 0.3, 0], axis: [1, 0, 0.2]}
  right: {type: revolute, parent: hull, child: right, at_m: [0, -0.3, 0], axis: [1, 0, 0]}
motors:
  left: {max_torque_N_m: 20, max_speed_rad_s: 6, brake_torque_N_m: 20}
  right: {max_torque_N_m: 20, max_speed_rad_s: 6, brake_torque_N_m: 20}
sensors:
  left: {velocity: true}
  right: {velocity: true}
"""
THRUSTERS = "".join(
    f"  base.{dof}: {{max_force_N: 200, max_speed_m_s: 3, brake_force_N: 200}}\n" for dof in BASE[:3]
) + "".join(
    f"  base.{dof}: {{max_torque_N_m: 50, max_speed_rad_s: 6, brake_torque_N_m: 50}}\n" for dof in BASE[3:]
)
ATTITUDE = "points:\n  nose: {body: hull}\ntask:\n" + "".join(
    f"  {turn}: {{coordinate: nose.{turn}}}\n" for turn in ("roll", "pitch", "yaw")
)
GOALS = "controller: {goal_coordinates: [base.x, base.y, base.z, roll, pitch, yaw, left, right]}\n"
WAY = {"base.x": 0.2, "base.z": -0.1, "roll": 0.3, "yaw": 0.5, "left": 1.0, "right": -0.6}


@pytest.fixture
def flyer(tmp_path: Path):
    """Loads the robot with two arms, with pieces of its text replaced."""

    def make(*changes: tuple[str, str], more: str = "") -> Machine:
        text = FLYER + more
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "flyer.yaml"
        path.write_text(text, encoding="utf-8")
        return load(path)

    return make


def led(machine: Machine, target: dict[str, float]) -> tuple[RobotInProcess, float]:
    """Follow a quintic to the target; the robot afterwards, and its largest error on the way."""
    robot = RobotInProcess(machine)
    robot.enable()
    rest = [0.0] * len(target)
    end = {
        "time_from_start_s": 1.0,
        "positions": [*target.values()],
        "velocities": rest,
        "accelerations": rest,
    }
    robot.send({"coordinates": [*target], "points": [end]}).wait()
    errors = [np.abs(each["reference"] - each["coordinate"]) for each in robot.samples[5:]]
    return robot, float(np.nanmax(np.array(errors)))


def test_a_base_with_thrusters_is_controlled_like_any_joint(flyer) -> None:
    sensors = "".join(f"  base.{dof}: {{velocity: true}}\n" for dof in BASE)
    machine = flyer(("sensors:\n", f"{THRUSTERS}sensors:\n"), more=f"{sensors}{ATTITUDE}{GOALS}")
    assert check(machine.path) == ()
    robot, error = led(for_controller(machine), WAY)
    assert error < 1e-5
    there = robot.state["coordinates"]
    assert {name: pytest.approx(there[name], abs=1e-5) for name in WAY} == WAY


def test_a_drifting_base_keeps_its_momentum_while_the_arms_are_controlled(flyer) -> None:
    machine = flyer(("child: hull}", "child: hull, idle: true}"))
    assert check(machine.path) == ()
    robot, error = led(for_controller(machine), {"left": 1.0, "right": -0.6})
    assert error < 5e-3
    simulator = robot.rig.simulator
    assert np.abs(simulator.q[:6]).max() > 0.01, "the base drifts"
    generalized = mass_matrix(machine.plant_mechanism, simulator.q) @ simulator.v
    assert np.abs(generalized[:6]).max() < 1e-8, (
        "linear and angular momentum of the whole, in the hull's axes"
    )


def test_a_base_without_motors_is_refused_with_what_is_missing(flyer) -> None:
    machine = flyer()
    (lack,) = [problem for problem in check(machine.path) if problem.severity == "error"]
    assert lack.key == "sensors"
    assert "base.x, base.y, base.z, base.rx, base.ry, base.rz" in lack.message
    assert "the motors do not control them" in lack.message
    assert "idle: true" in lack.remedy
    with pytest.raises(MachineError, match=r"do not determine base\.x.*motors do not control them"):
        for_controller(machine)


def test_what_no_motor_holds_is_named(flyer) -> None:
    falling = ("[0, 0, 0]\nbodies", "[0, 0, -9.81]\nbodies")
    machine = flyer(falling)
    assert "base.z" in unheld_joints(machine)
    (problem,) = [one for one in check(machine.path) if one.key == "motors"]
    assert "no motor or brake can hold it" in problem.message
    assert unheld_joints(flyer()) == []


def test_a_hull_on_four_springs_swings_as_its_closed_form(tmp_path: Path) -> None:
    corners = {"a": "0.5, 0.4", "b": "0.5, -0.4", "c": "-0.5, 0.4", "d": "-0.5, -0.4"}
    lines = ["name: hung", "bodies:", "  hull: {mass_kg: 20, inertia_kg_m2: [1, 1.2, 0.9, 0, 0, 0]}"]
    lines += ["joints:", "  base: {type: free, parent: world, child: hull}", "points:"]
    for name, place in corners.items():
        lines += [f"  hull_{name}: {{body: hull, at_m: [{place}, 0]}}"]
        lines += [f"  top_{name}: {{body: world, at_m: [{place}, 1]}}"]
    lines += ["springs:"]
    for name in corners:
        lines += [f"  {name}: {{between: [hull_{name}, top_{name}], stiffness_N_m: 800, rest_m: 0.9}}"]
    path = tmp_path / "hung.yaml"
    path.write_text("\n".join(lines), encoding="utf-8")
    motion = simulate(load(path), 1.0, every=50)
    rest, omega = 0.1 - 20 * 9.81 / 3200, np.sqrt(3200 / 20)
    height = motion.q[:, motion.joint_names.index("base.z")]
    np.testing.assert_allclose(height, rest * (1.0 - np.cos(omega * motion.time_s)), atol=1e-9)


def test_an_imported_walker_agrees_with_pinocchio_and_mujoco(tmp_path: Path) -> None:
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    from tests.verification.in_mujoco import InMujoco
    from tests.verification.in_pinocchio import InPinocchio

    path = tmp_path / "walker.urdf"
    path.write_text(walker(), encoding="utf-8")
    found = import_robot(path, ImportOptions(base="floating"))
    machine = found.machine
    assert (machine.dof, len(machine.motors)) == (14, 8)
    proof = prove(found.source)
    assert max(proof.mass_matrix, proof.bias, proof.poses) < 1e-9
    rows = {row.title: row.text for row in report_rows(found, report(machine), proof, None)}
    assert rows["against gravity"].startswith("no motor holds base.z")
    assert "the sensors do not determine base.x" in rows["controller"]
    mechanism, rng = machine.plant_mechanism, np.random.default_rng(5)
    ours, theirs = InPinocchio(mechanism), InMujoco(mechanism)
    for _ in range(5):
        q, v, effort = rng.normal(size=mechanism.nq), rng.normal(size=14), rng.normal(size=14)
        turn = [mechanism.position_names.index(f"base.{part}") for part in ("rx", "ry", "rz", "quaternion")]
        q[turn] /= np.linalg.norm(q[turn])
        there = acceleration(mechanism, q, v, effort).vdot
        assert relative_error(there, ours.acceleration(q, v, effort)) < 1e-9
        mass, bias = theirs.dynamics(q, v)
        assert relative_error(np.linalg.solve(mass, effort - bias), there) < 1e-9


def walker() -> str:
    """URDF of a trunk on four legs of two links."""
    inertia = '<inertia ixx="{0}" iyy="{1}" izz="{0}" ixy="0.0001" ixz="0" iyz="0"/></inertial>'
    parts = [
        '<robot name="walker"><link name="trunk"><inertial><mass value="8"/>'
        + inertia.format(0.1, 0.12)
        + "</link>"
    ]
    for name, x, y in (("fl", 0.2, 0.1), ("fr", 0.2, -0.1), ("rl", -0.2, 0.1), ("rr", -0.2, -0.1)):
        for part, parent, place in (
            ("thigh", "trunk", f"{x} {y} 0"),
            ("shank", f"{name}_thigh", "0.01 0 -0.2"),
        ):
            parts.append(
                f'<link name="{name}_{part}"><inertial><origin xyz="0 0.01 -0.1"/><mass value="0.6"/>'
                f"{inertia.format(0.004, 0.003)}</link>"
                f'<joint name="{name}_{part}" type="revolute"><parent link="{parent}"/>'
                f'<child link="{name}_{part}"/>'
                f'<origin xyz="{place}"/><axis xyz="0 1 0.1"/>'
                '<limit lower="-2" upper="2" effort="30" velocity="10"/></joint>'
            )
    return "".join([*parts, "</robot>"])
