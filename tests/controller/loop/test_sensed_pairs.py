"""Four-bars with two of three joints sensed: no other assembly fits, so no fold of a subset is a flip."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from linkwork.arrays import Floats
from linkwork.controller.estimation.assembly_mode import AssemblyModeMemory
from linkwork.machine import Machine, for_controller, load
from linkwork.machine.building.initial_assembly import admitted_velocities
from linkwork.multibody.assembly.assembly import assemble
from linkwork.multibody.closure.rank import admitted, factor
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.rotations import move_by
from tests.controller.loop.in_process import InProcess

JOINTS = ("a1", "a2", "a3")
PAIRS = list(combinations(JOINTS, 2))
LINKAGES = {  # ground, first link, coupler, last link (m)
    "crank_rocker": (1.0, 0.35, 0.9, 0.7),
    "drag_link": (0.4, 0.9, 0.8, 1.0),
    "double_rocker": (1.0, 0.8, 0.35, 0.7),
    "rocker_crank": (1.0, 0.7, 0.9, 0.35),
    "no_link_turns": (1.0, 0.8, 0.7, 0.6),
    "nearly_a_parallelogram": (1.0, 0.5, 1.02, 0.53),
}


def pose(lengths: tuple[float, float, float, float], crank: float, side: float = 1.0) -> Floats:
    """The joints' angles (3) with the crank at this angle from the ground, last knee to one side."""
    ground, first, coupler, last = lengths
    x, y = ground - first * math.cos(crank), -first * math.sin(crank)
    knee = side * math.acos((x * x + y * y - coupler**2 - last**2) / (2.0 * coupler * last))
    absolute = math.atan2(y, x) - math.atan2(last * math.sin(knee), coupler + last * math.cos(knee))
    return np.array([crank, absolute - crank, knee])


def linkage(
    folder: Path, name: str, sensed: tuple[str, ...], driven: tuple[str, ...], crank: float = 1.0
) -> Machine:
    """A four-bar with these lengths, sensors and motors; a1 counts from the ground."""
    lengths = LINKAGES[name]
    ground, *links = lengths
    start = pose(lengths, crank)
    text = [f"name: {name}", "gravity_m_s2: [0, -9.81, 0]", "bodies:"]
    for body, length in zip(("first", "coupler", "last"), links, strict=True):
        mass = 2.0 * length
        across = mass * length**2 / 12.0
        inertia = f"{{xx: 0.0005, yy: {across:.9f}, zz: {across:.9f}}}"
        text.append(f"  {body}: {{mass_kg: {mass}, com_m: [{length / 2}, 0, 0], inertia_kg_m2: {inertia}}}")
    text.append(f"""joints:
  a1: {{type: revolute, parent: world, child: first, axis: [0, 0, 1]}}
  a2: {{type: revolute, parent: first, child: coupler, at_m: [{links[0]}, 0, 0], axis: [0, 0, 1]}}
  a3: {{type: revolute, parent: coupler, child: last, at_m: [{links[1]}, 0, 0], axis: [0, 0, 1]}}
constraints:
  pivot:
    type: point
    a: {{body: world, at_m: [{ground}, 0, 0]}}
    b: {{body: last, at_m: [{links[2]}, 0, 0]}}
points:
  tip: {{body: last, at_m: [{links[2]}, 0, 0]}}
task:
  last: {{coordinate: tip.yaw}}
initial: {{a1_rad: {start[0]}}}
initial_guess: {{a2_rad: {start[1]}, a3_rad: {start[2]}}}
controller: {{goal_coordinates: [a1]}}
motors:""")
    text += [
        f"  {joint}: {{max_torque_N_m: 200, max_speed_rad_s: 30, brake_torque_N_m: 100}}" for joint in driven
    ]
    text += ["sensors:", *(f"  {joint}: {{position: {{counts_per_turn: 1048576}}}}" for joint in sensed)]
    path = folder / f"{name}.yaml"
    path.write_text("\n".join(text) + "\n")
    return load(path)


def number_at(machine: Machine, branch: AssemblyModeMemory, q: Floats) -> int:
    """Let the branch see this pose; return the assembly."""
    work = machine.workspace()
    work.q[:] = q
    for kernel in (kinematics, constraint_rows, factor, admitted):
        kernel(*work.arguments)
    branch.follow(work)
    return branch.number


def once_around(machine: Machine, step: float = 0.03) -> Floats:
    """Poses along the whole closed curve of this assembly mode, from the initial pose back to it."""
    mechanism, q = machine.mechanism, machine.initial_q.copy()
    way, poses = admitted_velocities(mechanism, q)[:, 0], [q]
    for count in range(20_000):
        tangent = admitted_velocities(mechanism, q)[:, 0]
        way = tangent * math.copysign(1.0, float(tangent @ way)) / float(np.linalg.norm(tangent))
        q = q.copy()
        move_by(mechanism.model, q, way, step)
        q = assemble(mechanism, q).q
        poses.append(q)
        off = np.angle(np.exp(1j * (q - machine.initial_q)))
        if count > 20 and float(np.linalg.norm(off)) < step:
            return np.array(poses)
    raise AssertionError("the curve did not close")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name == "crank_rocker" else pytest.mark.slow) for name in LINKAGES],
)
def test_two_sensed_joints_keep_the_branch_all_around_and_one_finds_each_fold(
    tmp_path: Path, name: str
) -> None:
    machine = linkage(tmp_path, name, ("a1",), ("a1", "a2", "a3"))
    poses = once_around(machine)
    for pair in PAIRS:
        sensed = linkage(tmp_path, name, pair, ("a1",))
        branch = AssemblyModeMemory(sensed)
        assert {number_at(sensed, branch, q) for q in poses} == {1}, pair
    for index, joint in enumerate(JOINTS):
        sensed = linkage(tmp_path, name, (joint,), ("a1", "a2", "a3"))
        branch = AssemblyModeMemory(sensed)
        seen = [number_at(sensed, branch, q) for q in poses[1:]]
        rate = np.diff(np.unwrap(poses[:, index]))
        clear = np.abs(rate) > 3e-3
        np.testing.assert_array_equal(
            np.array(seen)[clear], np.sign(rate[clear] * rate[0]), err_msg=f"{name}, {joint} alone"
        )


@pytest.mark.parametrize("name", LINKAGES)
@pytest.mark.parametrize("pair", PAIRS)
def test_the_other_assembly_is_found_with_two_sensed_joints(
    tmp_path: Path, name: str, pair: tuple[str, str]
) -> None:
    machine = linkage(tmp_path, name, pair, ("a1",))
    branch = AssemblyModeMemory(machine)
    assert number_at(machine, branch, machine.initial_q) == 1
    assert number_at(machine, branch, pose(LINKAGES[name], float(machine.initial_q[0]), -1.0)) == -1


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(
    ("name", "goal"), [("crank_rocker", "a1"), ("drag_link", "a1"), ("rocker_crank", "last")]
)
def test_the_loop_drives_once_around_with_two_sensed_joints(
    tmp_path: Path, name: str, goal: str, pair: tuple[str, str]
) -> None:
    rig = InProcess(for_controller(linkage(tmp_path, name, pair, pair)))
    rig.enable()
    knots = np.linspace(0.0, 2.0, 101)
    x = knots / 2.0
    index = rig.machine.mechanism.coordinate_names.index(goal)
    values = np.zeros((101, 3, 1))
    values[:, 0, 0] = rig.controller._now.theta[index] + 2.0 * np.pi * (10 * x**3 - 15 * x**4 + 6 * x**5)
    values[:, 1, 0] = np.pi * (30 * x**2 - 60 * x**3 + 30 * x**4)
    values[:, 2, 0] = np.pi / 2.0 * (60 * x - 180 * x**2 + 120 * x**3)
    before = rig.simulator.q.copy()
    rig.send(np.array([index]), knots, values, path=0.1, goal=0.01)
    samples = rig.run(2.3)
    assert {int(sample["fault"]) for sample in samples} == {0}
    assert {int(sample["branch"]) for sample in samples} == {1}
    turned = rig.simulator.q - before
    assert abs(abs(turned.sum() if goal == "last" else turned[0]) - 2.0 * np.pi) < 0.02


@pytest.mark.slow
def test_a_second_sensor_on_a_gear_of_the_first_joint_does_not_hide_its_folds(tmp_path: Path) -> None:
    text = Path(linkage(tmp_path, "no_link_turns", ("a1",), ("a1",)).path).read_text()
    wheel = "  wheel: {mass_kg: 1, inertia_kg_m2: {xx: 1, yy: 1, zz: 1}}\njoints:\n"
    wheel += "  wheel: {type: revolute, parent: world, child: wheel, axis: [0, 0, 1]}\n"
    text = text.replace("joints:\n", wheel)
    mesh = "  mesh: {type: coupling, factors: {wheel: 1, a1: -2}, equals: -2}\npoints:\n"
    text = text.replace("points:\n", mesh)
    path = tmp_path / "geared.yaml"
    path.write_text(text.replace("sensors:\n", "sensors:\n  wheel: {position: {counts_per_turn: 65536}}\n"))
    machine = load(path)
    poses, branch = once_around(machine), AssemblyModeMemory(machine)
    seen = [number_at(machine, branch, q) for q in poses[1:]]
    rate = np.diff(poses[:, machine.mechanism.joint_index("a1")])
    clear = np.abs(rate) > 3e-3
    np.testing.assert_array_equal(np.array(seen)[clear], np.sign(rate[clear] * rate[0]))
    assert set(seen) == {-1, 1}
