"""Conveyor belts, feeders and light barriers of the simulated plant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linkwork.machine import Machine, MachineError, load, shipped_path
from linkwork.plant.simulator.simulator import Simulator

SCENE = """
scene:
  planes:
    belt: {{at_m: [0, 0.3, 0.1], normal: [0, 0, 1], friction: {friction}, along: [1, 0, 0],
           size_m: [1, 0.2], speed_m_s: "{speed}"{more}}}
    floor: {{normal: [0, 0, 1]}}
{parts}
  beams:
    eye: {{at_m: [0.1, 0.2, 0.11], along: [0, 1, 0], length_m: 0.2}}
"""
SIGNALS = """
signals:
  speed: {type: analog, direction: output, unit: m/s, range: [-1, 1], initial: 0.2}
  seen: {type: digital, direction: input, simulated: eye.broken > 0}
  across: {type: analog, direction: input, range: [-1, 1], simulated: eye.place}
  way: {type: analog, direction: input, range: [-9, 9], simulated: belt.displacement, resolution: 0.01}
  rate: {type: analog, direction: input, range: [-9, 9], simulated: belt.speed}
"""
PART = (
    "  parts: {box: {mass_kg: 0.1, size_m: [0.04, 0.02, 0.02], at_m: [-0.2, 0.32, 0.11],"
    " rpy_deg: [0, 0, 30]}}"
)
FEEDER = (
    "  feeders: {boxes: {plane: belt, count: 3, mass_kg: 0.1, size_m: [0.02, 0.02, 0.02], at_m: -0.4,"
    " across_m: [-0.05, 0.05], turn_deg: [-45, 45], first_s: 0.05, every_s: [0.1, 0.2]}}"
)


def beside_a_belt(
    folder: Path, speed: str = "speed", parts: str = PART, friction: float = 0.5, more: str = ""
) -> Machine:
    """A SCARA beside a belt."""
    path = folder / "scara.yaml"
    scene = SCENE.format(speed=speed, parts=parts, friction=friction, more=more)
    path.write_text(shipped_path("scara").read_text() + SIGNALS + scene)
    return load(path)


def set_speed(plant: Simulator, speed: float) -> None:
    plant.set_outputs(np.array([speed]))


def test_a_part_moves_with_the_belt_and_falls_off_its_end(tmp_path: Path) -> None:
    plant = Simulator(beside_a_belt(tmp_path, more=", acceleration_m_s2: 1"))
    part = plant.parts[0]
    plant.integrate(200)  # it begins at rest and is dragged along
    assert part.still
    assert np.allclose(part.velocity, [0.2, 0.0, 0.0])
    off = part.centre[0] - plant.measured.inputs[2]
    set_speed(plant, 0.4)
    plant.integrate(200)
    assert part.still, "1 m/s² is less than friction can"
    assert plant.measured.inputs[3] == pytest.approx(0.4)
    assert plant.measured.inputs[2] == pytest.approx(0.2 * 0.2 + 0.2 * 0.4 - 0.02, abs=0.02)
    way = plant.measured.inputs[2]
    assert way == pytest.approx(round(way / 0.01) * 0.01, abs=1e-12), "the encoder's step"
    assert part.centre[0] - way == pytest.approx(off, abs=0.011)
    plant.integrate(1900)
    assert part.centre[0] > 0.5
    assert part.still, "on the floor, where nothing moves"
    assert part.centre[2] == pytest.approx(0.01, abs=1e-4)


def test_a_belt_that_starts_at_once_slips_under_the_part(tmp_path: Path) -> None:
    plant = Simulator(beside_a_belt(tmp_path, friction=0.3))
    set_speed(plant, 0.0)
    plant.integrate(300)
    part = plant.parts[0]
    assert part.still
    begin = part.centre[0]
    set_speed(plant, 0.4)
    plant.integrate(400)
    slip_m = 0.4**2 / (2.0 * 0.3 * 9.81)  # while friction accelerates it
    assert part.still
    assert part.centre[0] - begin == pytest.approx(0.4 * 0.4 - slip_m, abs=2e-3)


def test_the_beam_sees_a_turned_part_from_edge_to_edge(tmp_path: Path) -> None:
    plant = Simulator(beside_a_belt(tmp_path, speed="0.2"))
    seen, centres, across = [], [], []
    for _ in range(2000):
        plant.integrate()
        seen.append(plant.measured.inputs[0] > 0.5)
        centres.append(plant.parts[0].centre[0])
        across.append(plant.measured.inputs[1])
    inside = np.flatnonzero(seen)
    assert np.all(np.diff(inside) == 1)
    c, s = np.cos(np.pi / 6), np.sin(np.pi / 6)
    half = 0.02 * c + 0.01 * s
    assert centres[inside[0]] == pytest.approx(0.1 - half, abs=4e-4)
    assert centres[inside[-1]] == pytest.approx(0.1 + half, abs=4e-4)
    assert across[inside[0]] == pytest.approx(plant.parts[0].centre[1] - 0.2, abs=1e-3)


def test_a_feeder_puts_parts_at_seeded_places(tmp_path: Path) -> None:
    machine = beside_a_belt(tmp_path, speed="0.3", parts=FEEDER)

    def fed(seed: int) -> tuple[list[int], np.ndarray]:
        plant, came = Simulator(machine, seed), [-1, -1, -1]
        assert [part.away for part in plant.parts] == [True] * 3
        for tick in range(1, 601):
            plant.integrate()
            for number, part in enumerate(plant.parts):
                if came[number] < 0 and not part.away:
                    came[number] = tick
                    assert part.centre[0] == pytest.approx(-0.4)
        assert all(part.still for part in plant.parts), "fed parts rest on the belt"
        return came, np.array([part.centre for part in plant.parts])

    came, centres = fed(3)
    assert came[0] == 50
    assert all(100 <= pause <= 201 for pause in np.diff(came))
    assert np.all(np.abs(centres[:, 1] - 0.3) < 0.05)
    assert np.ptp(centres[:, 1]) > 1e-3
    again, other = fed(3), fed(4)
    assert again[0] == came
    assert np.array_equal(again[1], centres)
    assert not np.array_equal(other[1], centres)


TABLE = """
signals:
  speed: {{type: analog, direction: output, unit: rad/s, range: [-9, 9], initial: 0.5}}
  turned: {{type: analog, direction: input, range: [-9, 9], simulated: table.displacement}}
scene:
  planes:
    table: {{at_m: [0.1, 0.3, 0], normal: [0, 0, 1], friction: {friction}, turn_rad_s: "speed",
            acceleration_rad_s2: 2}}
  parts: {{box: {{mass_kg: 0.1, size_m: [0.04, 0.02, 0.02], at_m: [0.25, 0.3, 0.01], rpy_deg: [0, 0, 30]}}}}
"""


def on_a_table(folder: Path, friction: float = 0.5) -> Machine:
    """A SCARA beside a rotary table, with a part 0.15 m from its centre."""
    path = folder / "scara.yaml"
    path.write_text(shipped_path("scara").read_text() + TABLE.format(friction=friction))
    return load(path)


def test_a_part_turns_with_a_rotary_table(tmp_path: Path) -> None:
    plant = Simulator(on_a_table(tmp_path))
    part = plant.parts[0]
    plant.integrate(400)  # it begins at rest and is dragged along
    assert part.still
    arm, angle = part.centre - [0.1, 0.3, 0.0], plant.measured.inputs[0]
    assert np.linalg.norm(arm[:2]) == pytest.approx(0.15, abs=5e-3)
    np.testing.assert_allclose(part.velocity, 0.5 * np.array([-arm[1], arm[0], 0.0]), atol=1e-9)
    np.testing.assert_allclose(part.angular_velocity, [0.0, 0.0, 0.5], atol=1e-9)
    axes = part.axes.copy()
    plant.integrate(1000)
    turned = plant.measured.inputs[0] - angle
    assert turned == pytest.approx(0.5, abs=1e-9)
    c, s = np.cos(turned), np.sin(turned)
    rotation = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(part.centre - [0.1, 0.3, 0.0], rotation @ arm, atol=1e-9)
    np.testing.assert_allclose(part.axes, rotation @ axes, atol=1e-9)


def test_a_part_slides_off_a_table_that_turns_too_fast(tmp_path: Path) -> None:
    plant = Simulator(on_a_table(tmp_path, friction=0.2))
    set_speed(plant, 3.0)  # 1.35 m/s² are needed, friction gives 1.96
    plant.integrate(2000)
    part = plant.parts[0]
    assert part.still
    set_speed(plant, 4.0)
    plant.integrate(1000)
    assert not part.still
    assert np.linalg.norm(part.centre[:2] - [0.1, 0.3]) > 0.2


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("size_m", "[1, 1]", "has no end"),
        ("turn_rad_s", "fast", "fast"),
        ("speed_m_s", "1", "does not slide"),
    ],
)
def test_what_a_table_cannot_be_is_refused(tmp_path: Path, key: str, value: str, says: str) -> None:
    text = TABLE.format(friction=0.5)
    text = (
        text.replace('"speed"', value)
        if key == "turn_rad_s"
        else text.replace("turn_", f"{key}: {value}, turn_")
    )
    path = tmp_path / "scara.yaml"
    path.write_text(shipped_path("scara").read_text() + text)
    with pytest.raises(MachineError, match=says) as refused:
        load(path)
    assert refused.value.problems[0].key == f"scene.planes.table.{key}"


@pytest.mark.parametrize(
    ("speed", "parts", "more", "says"),
    [
        ("sped", PART, "", "speed"),
        ("0.1 *", PART, "", "speed_m_s"),
        ("0.1", FEEDER.replace("plane: belt", "plane: floor"), "", "belt"),
        ("0.1", FEEDER.replace("count: 3", "count: 300"), "", "200"),
        ("0.1", PART, ", acceleration_m_s2: 0", "acceleration_m_s2"),
        ("0.1", FEEDER.replace("[0.1, 0.2]", "[0.2, 0.1]"), "", "every_s"),
    ],
)
def test_what_a_scene_cannot_be_is_refused(
    tmp_path: Path, speed: str, parts: str, more: str, says: str
) -> None:
    with pytest.raises(MachineError) as refused:
        beside_a_belt(tmp_path, speed, parts, more=more)
    assert says in str(refused.value)


def test_a_plane_that_moves_needs_a_direction(tmp_path: Path) -> None:
    text = (
        shipped_path("scara").read_text()
        + SIGNALS
        + SCENE.format(speed="0.1", parts=PART, friction=1, more="")
    )
    path = tmp_path / "scara.yaml"
    path.write_text(text.replace(" along: [1, 0, 0],\n", "\n", 1))
    with pytest.raises(MachineError, match="add along"):
        load(path)
    path.write_text(text.replace("along: [1, 0, 0]", "along: [1, 0, 0.2]", 1))
    with pytest.raises(MachineError, match="not in the plane"):
        load(path)
