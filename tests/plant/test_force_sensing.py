"""Force sensors of the simulated plant."""

from pathlib import Path

import numpy as np
import pytest

from linkwork.machine import Machine, load
from linkwork.machine.catalogue import shipped_path
from linkwork.plant.simulator.simulator import Simulator

NORMAL = np.array([0.0, -0.25881904510252074, 0.9659258262890683])


def pressing(folder: Path, sensor: str) -> Machine:
    """The polishing machine with its tool half a millimetre or so in the table, turned by 30 degrees."""
    text = shipped_path("scara_polish").read_text(encoding="utf-8")
    begin = text.index("  wrist: {contact: table")
    text = text.replace(text[begin:].splitlines()[0], f"  wrist: {{contact: table, {sensor}}}")
    text = text.replace("wrist_deg: 35, lift_m: 0.05", "wrist_deg: 65, lift_m: 0.0091")
    path = folder / "polish.yaml"
    path.write_text(text, encoding="utf-8")
    return load(path)


def test_the_force_is_along_the_normal_in_the_world(tmp_path: Path) -> None:
    simulator = Simulator(pressing(tmp_path, "frame: world"))
    depth = -float(simulator.work.contact_gap[0])
    assert 1e-4 < depth < 2e-3
    np.testing.assert_allclose(simulator.measured.force, 5e4 * depth * NORMAL, rtol=1e-9, atol=1e-9)


def test_in_the_frame_of_the_body_it_turns_with_it(tmp_path: Path) -> None:
    world = Simulator(pressing(tmp_path, "frame: world")).measured.force
    body = Simulator(pressing(tmp_path, "frame: body")).measured.force
    c, s = np.cos(np.deg2rad(30.0)), np.sin(np.deg2rad(30.0))
    np.testing.assert_allclose([[c, -s, 0], [s, c, 0], [0, 0, 1]] @ body, world, atol=1e-9)


def test_resolution_and_noise(tmp_path: Path) -> None:
    stepped = Simulator(pressing(tmp_path, "resolution_N: 0.5")).measured.force
    np.testing.assert_allclose(stepped, np.round(stepped / 0.5) * 0.5)
    machine = pressing(tmp_path, "noise_N: 0.1")
    ideal = Simulator(pressing(tmp_path, "frame: world")).measured.force
    drawn = [Simulator(machine, seed).measured.force - ideal for seed in range(40)]
    assert np.std(drawn) == pytest.approx(0.1, rel=0.3)
    np.testing.assert_array_equal(Simulator(machine, 3).measured.force, Simulator(machine, 3).measured.force)
