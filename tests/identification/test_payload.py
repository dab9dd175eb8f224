"""A gripped part: its mass and centre from a motion before and one after, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.identify_campaign import TrueMotion, changed_truth, needed_efforts, recorded, true_motion
from linkwork.identification.measured_motion import RefusedData
from linkwork.identification.payload import weigh
from linkwork.machine import Machine, load
from linkwork.multibody import Mechanism
from tests.command import linkwork
from tests.identification.excited import write_csv


def carrying(mechanism: Mechanism, body: str, mass: float, com: np.ndarray) -> Mechanism:
    """The mechanism with a point mass at a place of a body."""
    bodies = []
    for each in mechanism.bodies:
        if each.name != body:
            bodies.append(each)
            continue
        whole = each.mass_kg + mass
        centre = (each.mass_kg * np.asarray(each.com_m) + mass * com) / whole
        inertia = np.asarray(each.inertia_kg_m2).copy()
        for one, at in ((each.mass_kg, np.asarray(each.com_m)), (mass, com)):
            arm = at - centre
            inertia += one * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        bodies.append(type(each)(each.name, whole, centre, inertia, unphysical=True))
    return mechanism.changed(bodies=bodies)


def pair(machine: Machine, point: str, mass: float, com: tuple[float, float, float], seed: int, seconds=5.0):
    """Recordings without and with a part."""
    rng = np.random.default_rng(seed)
    motions: list[TrueMotion] = [true_motion(machine, rng, seconds=seconds) for _ in range(2)]
    truth = changed_truth(machine, motions[0], rng)
    at = next(each for each in truth.points if each.name == point)
    heavy = carrying(truth, at.body, mass, np.asarray(at.at_m) + np.asarray(com))
    return [
        recorded(machine, motion, needed_efforts(machine, own, motion), rng)
        for motion, own in zip(motions, (truth, heavy), strict=True)
    ]


@pytest.mark.parametrize(
    ("name", "point", "mass", "com"),
    [
        ("five_bar", "tool", 0.3, (0.02, -0.01, 0.0)),
        ("scara", "tool", 5.0, (0.03, 0.0, 0.0)),
        pytest.param("delta", "tool", 0.2, (0.0, 0.0, 0.0), marks=pytest.mark.slow),
    ],
)
def test_a_part_is_weighed(name: str, point: str, mass: float, com):
    machine = load(name)
    before, after = pair(machine, point, mass, com, 2)
    found = weigh(machine, before, after, point)
    assert abs(found.mass_kg - mass) < 4.0 * found.mass_sigma_kg
    assert found.mass_kg == pytest.approx(mass, rel=0.15)
    seen = np.isfinite(found.com_m)
    assert (np.abs(found.com_m - com)[seen] < 4.0 * found.com_sigma_m[seen]).all()


def test_the_command_prints_the_part_and_refuses_an_exchanged_pair(tmp_path: Path):
    machine = load("five_bar")
    paths = [str(tmp_path / "before.csv"), str(tmp_path / "after.csv")]
    for path, run in zip(paths, pair(machine, "tool", 0.3, (0.0, 0.0, 0.0), 3), strict=True):
        write_csv(path, run)
    ran = linkwork("identify", "five_bar", *paths, "--payload", "tool", "--json")
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)["payload"]
    assert answer["mass_kg"] == pytest.approx(0.3, rel=0.15)
    assert answer["com_m"][2] is None  # a planar machine
    ran = linkwork("identify", "five_bar", *paths[::-1], "--payload", "tool")
    assert ran.returncode == 3
    assert "swap the recordings" in ran.stderr.replace("\n", " ")
    ran = linkwork("identify", "five_bar", *paths, "--payload", "nose")
    assert ran.returncode == 2
    assert "its points: tool" in ran.stderr.replace("\n", " ")


def test_a_mass_that_the_motors_do_not_show_is_refused():
    machine = load("five_bar")
    before, after = pair(machine, "tool", 0.003, (0.0, 0.0, 0.0), 4, seconds=2.0)
    with pytest.raises(RefusedData, match="too little to be of use"):
        weigh(machine, before, after, "tool")


@pytest.mark.slow
def test_a_known_part_shows_the_scales_of_the_efforts(tmp_path: Path):
    machine = load("five_bar")
    true = {"left": 1.2, "right": 0.9}
    paths = [str(tmp_path / "before.csv"), str(tmp_path / "after.csv")]
    for path, run in zip(paths, pair(machine, "tool", 0.5, (0.0, 0.0, 0.0), 3, seconds=6.0), strict=True):
        efforts = {name: true[name] * values for name, values in run.efforts.items()}
        write_csv(path, replace(run, efforts=efforts))
    ran = linkwork("identify", "five_bar", *paths, "--payload", "tool", "--mass", "0.5", "--json")
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)["effort_scales"]
    for name, scale in true.items():
        assert found[name]["value"] == pytest.approx(scale, abs=4.0 * found[name]["sigma"])
        assert found[name]["sigma"] < 0.1
    ran = linkwork("identify", "five_bar", *paths, "--mass", "0.5")
    assert ran.returncode == 2
    assert "--payload" in ran.stderr
