"""Loose parts and grippers of the simulated plant, against a part that belongs to the link."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from linkwork.arrays import Floats
from linkwork.controller.exchange.orders import SetOutputs
from linkwork.machine import Machine, MachineError, load, shipped_path
from linkwork.machine.payloads import loaded
from linkwork.multibody.functions import mass_matrix, point_jacobian, point_position
from linkwork.plant.scene.loose_part import SINKS_M
from linkwork.plant.simulator.simulator import Simulator
from linkwork.protocol.codes import Mode
from tests.controller.loop.in_process import InProcess

MACHINE = load("scara_gripper")
OVER_BLOCK = np.array([0.6, -1.2, 0.0, -0.185])
"""A pose with the tool at the height of a block's centre."""
HOLDING = np.array([0.0, 0.0, 0.0, 2.2 * 9.81])


def over_a_block(shift: Floats | float = 0.0, machine: Machine = MACHINE) -> Simulator:
    """The machine at rest with the first block about its tool, shifted (3, m) and turned."""
    plant = Simulator(replace(machine, initial_q=OVER_BLOCK))
    at = point_position(machine.mechanism, "tool", OVER_BLOCK)
    c, s = np.cos(0.4), np.sin(0.4)
    turned = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    plant.parts[0].put(np.array([at[0], at[1], 0.015]) + shift, turned, np.zeros(3), np.zeros(3))
    plant.integrate(40)
    assert plant.parts[0].still
    return plant


def close(plant: Simulator, value: float = 1.0) -> None:
    plant.set_outputs(np.array([value]))


def test_the_plant_reports_what_its_grippers_do() -> None:
    plant = over_a_block()
    close(plant)
    close(plant, 0.0)
    plant.parts[0].put(np.array([1.0, 1.0, 0.015]), np.eye(3), np.zeros(3), np.zeros(3))
    close(plant)
    assert list(plant.sense()) == [
        {"gripper": "jaws", "closed": True, "part": "block_1"},
        {"gripper": "jaws", "closed": False, "part": "block_1"},
        {"gripper": "jaws", "closed": True, "part": None},
    ]


def test_a_released_part_falls_as_bodies_fall_and_lies_on_the_table() -> None:
    plant = Simulator(MACHINE)
    part = plant.parts[0]
    start = np.array([0.0, 0.3, 0.1])
    part.put(start, np.eye(3), np.array([0.1, 0.0, 0.0]), np.zeros(3))
    assert not plant.resting
    plant.integrate(100)
    t = 0.1
    assert np.allclose(part.centre, start + np.array([0.1 * t, 0.0, -9.81 * t**2 / 2]), atol=1e-12)
    plant.integrate(400)
    assert part.still
    assert plant.resting
    assert part.centre[2] == pytest.approx(0.015 - SINKS_M, abs=1e-6)
    assert np.allclose(part.axes, np.eye(3), atol=1e-3)


def test_a_held_part_moves_as_a_part_of_the_link() -> None:
    shift = np.array([0.004, -0.003, 0.0])
    plant = over_a_block(shift)
    part = plant.parts[0]
    close(plant)
    at = point_position(MACHINE.mechanism, "tool", plant.q)
    yaw = float(plant.q[:3].sum())
    c, s = np.cos(-yaw), np.sin(-yaw)
    back = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    offset, turn = back @ (part.centre - at), back @ part.axes
    inertia = (turn @ part.part.inertia_kg_m2 @ turn.T)[np.triu_indices(3)]
    bare = replace(MACHINE, scene=None, signals=(), payloads=())
    welded = loaded(bare, {"tool": [0.8, *offset, *inertia]})
    welded = Simulator(replace(welded, plant_mechanism=welded.mechanism, initial_q=plant.q.copy()))
    for each in (plant, welded):
        each.latch(Mode.EFFORT, HOLDING + np.array([4.0, -2.0, 0.5, 2.0]))
    for _ in range(10):
        for each in (plant, welded):
            each.integrate(20)
        assert np.allclose(plant.q, welded.q, atol=1e-10)
        assert np.allclose(plant.v, welded.v, atol=1e-9)
        where = point_position(MACHINE.mechanism, "tool", plant.q)
        c, s = np.cos(plant.q[:3].sum()), np.sin(plant.q[:3].sum())
        world = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        assert np.allclose(part.centre, where + world @ offset, atol=1e-12)
    assert abs(plant.q - OVER_BLOCK).max() > 0.02


def test_gripping_in_motion_keeps_the_momentum_and_opening_keeps_the_velocity() -> None:
    plant = over_a_block()
    part = plant.parts[0]
    plant.latch(Mode.EFFORT, HOLDING + np.array([2.0, 0.0, 0.0, 0.0]))
    plant.integrate(20)
    q, before = plant.q.copy(), plant.v.copy()
    assert abs(before).max() > 0.01
    momentum = mass_matrix(MACHINE.mechanism, q) @ before
    close(plant)
    jacobian = point_jacobian(MACHINE.mechanism, "tool", q)
    at = point_position(MACHINE.mechanism, "tool", q)
    arm = part.centre - at
    moving = jacobian[3:] + np.cross(jacobian[:3].T, arm).T
    inertia = part.axes @ part.part.inertia_kg_m2 @ part.axes.T
    heavier = (
        mass_matrix(MACHINE.mechanism, q) + 0.8 * moving.T @ moving + jacobian[:3].T @ inertia @ jacobian[:3]
    )
    assert np.allclose(heavier @ plant.v, momentum, atol=1e-12)
    assert np.allclose(plant.measured.v, plant.v), "the sensors see the state after the impact"
    plant.latch(Mode.EFFORT, HOLDING + np.array([0.0, 0.0, 0.0, 12.0]))
    plant.integrate(100)
    v, q = plant.v.copy(), plant.q.copy()
    jacobian = point_jacobian(MACHINE.mechanism, "tool", q)
    arm = part.centre - point_position(MACHINE.mechanism, "tool", q)
    close(plant, 0.0)
    assert np.array_equal(plant.v, v)
    assert np.allclose(part.velocity, jacobian[3:] @ v + np.cross(jacobian[:3] @ v, arm), atol=1e-12)
    assert np.allclose(part.angular_velocity, jacobian[:3] @ v, atol=1e-12)


@pytest.mark.parametrize("shift", [[0.025, 0.0, 0.0], [0.0, 0.0, 0.0]])
def test_a_gripper_closes_empty_where_no_part_lies(shift: list[float]) -> None:
    plant = over_a_block(np.array(shift))
    held = not any(shift)
    close(plant)
    assert plant.parts[0].held is held
    if not held:  # closed jaws grip nothing that comes between them later
        plant.parts[0].put(
            point_position(MACHINE.mechanism, "tool", plant.q), np.eye(3), np.zeros(3), np.zeros(3)
        )
        plant.integrate(5)
        close(plant)
        assert not plant.parts[0].held
        close(plant, 0.0)
        close(plant)
        assert plant.parts[0].held


def test_a_part_that_is_released_inside_the_table_is_put_on_it() -> None:
    plant = over_a_block()
    plant.parts[0].put(np.array([0.3, 0.0, 0.005]), np.eye(3), np.zeros(3), np.zeros(3))
    assert plant.parts[0].centre[2] == pytest.approx(0.015)
    plant.integrate(100)
    assert plant.parts[0].still


def test_model_and_plant_change_their_load_together() -> None:
    """Held at rest, the lift needs the weight of the block at once: the error stays small."""
    run = InProcess(replace(MACHINE, initial_q=OVER_BLOCK))
    at = point_position(MACHINE.mechanism, "tool", OVER_BLOCK)
    run.simulator.parts[0].put(np.array([at[0], at[1], 0.015]), np.eye(3), np.zeros(3), np.zeros(3))
    run.enable()
    run.run(0.2)
    effort = run.tick()["effort"].copy()
    run.order(SetOutputs(((0, 1.0),)))
    ticks = list(run.run(0.3))
    closed = next(i for i, tick in enumerate(ticks) if tick["output"][0])
    assert run.simulator.parts[0].held
    rise = np.array([tick["effort"][3] for tick in ticks]) - effort[3]
    assert np.allclose(rise[closed:], 0.8 * 9.81, atol=0.7), (
        "the feed-forward changes in the tick of the signal"
    )
    height = np.array([tick["q_measured"][3] for tick in ticks])
    assert abs(height - OVER_BLOCK[3]).max() < 6e-5, "one period of fall, and no more"


def changed(folder: Path, old: str, new: str) -> Machine:
    text = shipped_path("scara_gripper").read_text()
    assert old in text
    path = folder / "scara_gripper.yaml"
    path.write_text(text.replace(old, new))
    return load(path)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("point: tool, closed", "point: tol, closed", "no point has this name"),
        ("closed_when: gripper,", "closed_when: griper,", "a comparison is missing|no signal"),
        ("closed_when: gripper,", "closed_when: gripper and z < 0.1,", "no signal has this name"),
        ("block_2:", "tool:", "a point has this name"),
        ("0.04, 0.03], at_m: [0.18", "0, 0.03], at_m: [0.18", "an edge has a length"),
        ("    table: {normal: [0, 0, 1], friction: 0.4}\n", "    {}\n", "would fall without end"),
        ('"gripper and part_present"', '"gripper and part"', "a comparison is missing|no signal"),
        ('"jaws.gap < 0.002"', '"jaw.gap < 0.002"', "no quantity has this name"),
    ],
)  # fmt: skip
def test_mistakes_in_the_scene_are_placed(tmp_path: Path, old: str, new: str, says: str) -> None:
    with pytest.raises(MachineError, match=says) as refused:
        changed(tmp_path, old, new)
    assert all(problem.line is not None for problem in refused.value.problems)


def test_other_parameters_of_the_plant_keep_the_part(tmp_path: Path) -> None:
    plant = over_a_block()
    close(plant)
    mass = mass_matrix(replace(MACHINE.plant_mechanism, model=plant.work.model), plant.q)[3, 3]
    plant.give(load("scara_gripper", ["lift_link.mass_kg=1.7"]).plant_mechanism.model)
    more = mass_matrix(replace(MACHINE.plant_mechanism, model=plant.work.model), plant.q)[3, 3]
    assert more - mass == pytest.approx(1.0)
    close(plant, 0.0)
    less = mass_matrix(replace(MACHINE.plant_mechanism, model=plant.work.model), plant.q)[3, 3]
    assert more - less == pytest.approx(0.8)
