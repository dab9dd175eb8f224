"""Drawn lines join every body to the base: legs that slide, rods, wheels and springs too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linkwork.arrays import Floats
from linkwork.drawing.skeleton import Skeleton, plane_normal
from linkwork.machine import Machine, load, shipped
from linkwork.multibody.model import WORLD
from tests.command import linkwork

INERTIA = "inertia_kg_m2: {xx: 0.02, yy: 0.02, zz: 0.02}"


def hexapod(folder: Path) -> Machine:
    """Six legs: a universal joint on the base, a slide, a ball on the plate. No body has a shape."""
    universal = "type: universal, parent: world, axis: [0, 1, 0], second_axis: [1, 0, 0]"
    plate = "{type: free, parent: world, child: plate, at_m: [0, 0, 0.6]}"
    bodies, joints = [f"plate: {{mass_kg: 4, {INERTIA}}}"], [f"plate: {plate}"]
    balls, initial, guess = [], [], []
    for k, (low, high) in enumerate(zip(ring(0.5, 40.0), ring(0.25, 16.0), strict=True)):
        way = high - low + np.array([0.0, 0.0, 0.6])
        x, y, z = way / np.linalg.norm(way)
        bodies += [f"cylinder_{k}: {{mass_kg: 1, {INERTIA}}}", f"piston_{k}: {{mass_kg: 1, {INERTIA}}}"]
        joints += [
            f"hinge_{k}: {{{universal}, child: cylinder_{k}, at_m: {low.tolist()}}}",
            f"leg_{k}: {{type: prismatic, parent: cylinder_{k}, child: piston_{k}, axis: [0, 0, 1]}}",
        ]
        at = f"a: {{body: plate, at_m: {high.tolist()}}}"
        balls.append(f"ball_{k}: {{type: point, {at}, b: {{body: piston_{k}}}}}")
        initial.append(f"leg_{k}_m: {np.linalg.norm(way)}")
        guess += [f"hinge_{k}.1_rad: {np.arcsin(x)}", f"hinge_{k}.2_rad: {np.arctan2(-y, z)}"]
    return written(folder, "hexapod", bodies, joints, balls, initial, guess)


def ring(radius: float, half_deg: float) -> list[Floats]:
    """Six places in pairs about three directions, each `half_deg` to the side."""
    angles = np.radians([120.0 * k + side * half_deg for k in range(3) for side in (-1.0, 1.0)])
    return [radius * np.array([np.cos(a), np.sin(a), 0.0]) for a in angles]


def rods(folder: Path) -> Machine:
    """A plate that hangs on two carts by `distance` rods."""
    bodies = [f"{name}: {{mass_kg: 1, {INERTIA}}}" for name in ("plate", "left", "right")]
    joints = ["plate: {type: planar, parent: world, child: plate, axis: [0, 1, 0]}"]
    closures = []
    for name, x in (("left", -0.4), ("right", 0.4)):
        joints.append(
            f"{name}: {{type: prismatic, parent: world, child: {name}, at_m: [{x}, 0, 0], axis: [0, 0, 1]}}"
        )
        at = f"{{body: plate, at_m: [{x / 4}, 0, 0]}}"
        closures.append(f"rod_{name}: {{type: distance, a: {{body: {name}}}, b: {at}, distance_m: 0.5}}")
    initial = ["left_m: 0.1", "right_m: 0.1", "plate.turn_rad: 0"]
    return written(folder, "rods", bodies, joints, closures, initial, ["plate.y_m: 0.5"])


def written(folder: Path, name: str, *sections: list[str]) -> Machine:
    keys = ("bodies", "joints", "constraints", "initial", "initial_guess")
    lines = [f"{key}: {{{', '.join(rows)}}}" for key, rows in zip(keys, sections, strict=True)]
    path = folder / f"{name}.yaml"
    path.write_text("\n".join([f"name: {name}", *lines]))
    return load(path)


def joined_to_the_base(machine: Machine) -> set[str]:
    """The bodies whose lines can be reached from the base, by lines whose ends coincide."""
    skeleton = Skeleton(machine)
    ends = skeleton.lines_at(machine.initial_q)
    reached = [line.of == WORLD for line in skeleton.lines]
    while True:
        there = ends[reached].reshape(-1, 3)
        near = [
            was or np.abs(pair[:, None] - there).max(axis=2).min() < 1e-6
            for was, pair in zip(reached, ends, strict=True)
        ]
        if near == reached:
            return {line.of for line, is_reached in zip(skeleton.lines, reached, strict=True) if is_reached}
        reached = near


@pytest.mark.parametrize("name", [each for each in shipped() if each != "thin_disk"])
def test_lines_join_all_bodies_of_shipped_machines_to_the_base(name: str) -> None:
    machine = load(name)
    assert joined_to_the_base(machine) >= {body.name for body in machine.mechanism.bodies}


def test_legs_of_a_hexapod_are_drawn_from_the_base_to_the_plate(tmp_path: Path) -> None:
    machine = hexapod(tmp_path)
    assert joined_to_the_base(machine) >= {body.name for body in machine.mechanism.bodies}
    skeleton = Skeleton(machine)
    lengths = np.linalg.norm(np.diff(skeleton.lines_at(machine.initial_q), axis=1)[:, 0], axis=1)
    legs = [lengths[k] for k, line in enumerate(skeleton.lines) if line.kind == "slide" and lengths[k] > 1e-6]
    np.testing.assert_allclose(
        legs, machine.initial_q[[machine.mechanism.joint_names.index(f"leg_{k}") for k in range(6)]]
    )


def test_base_and_plate_of_a_hexapod_are_drawn_by_their_edges(tmp_path: Path) -> None:
    skeleton = Skeleton(hexapod(tmp_path))
    for body, radius, halves in ((WORLD, 0.5, (40.0, 20.0)), ("plate", 0.25, (16.0, 44.0))):
        ends = [[at for _, at in line.ends] for line in skeleton.lines if line.of == body]
        edges = sorted(np.linalg.norm(b - a) for a, b in ends)
        np.testing.assert_allclose(edges, sorted(2.0 * radius * np.sin(np.radians([*halves] * 3))))


def test_rods_are_drawn_as_long_as_they_are(tmp_path: Path) -> None:
    machine = rods(tmp_path)
    assert joined_to_the_base(machine) >= {"plate", "left", "right", "rod_left", "rod_right"}
    skeleton = Skeleton(machine)
    ends = skeleton.lines_at(machine.initial_q)
    drawn = [
        np.linalg.norm(b - a) for line, (a, b) in zip(skeleton.lines, ends, strict=True) if line.kind == "rod"
    ]
    np.testing.assert_allclose(drawn, [0.5, 0.5])


def test_a_round_body_without_a_shape_is_drawn_round(tmp_path: Path) -> None:
    bodies = [f"ball: {{mass_kg: 1, {INERTIA}}}"]
    joints = ["ball: {type: free, parent: world, child: ball}"]
    rolls = "floor: {type: rolling, a: {body: world, axis: [0, 0, 1]}, b: {body: ball}, radius_m: 0.2}"
    machine = written(tmp_path, "ball", bodies, joints, [rolls], ["ball.z_m: 0.2"], [])
    [(shape, grid)] = Skeleton(machine).surfaces_at(machine.initial_q)
    assert shape.body == "ball"
    np.testing.assert_allclose(grid.reshape(-1, 3).min(axis=0), [-0.2, -0.2, 0.0], atol=4e-3)


@pytest.mark.parametrize(
    ("name", "normal"),
    [
        ("five_bar", (0, 0, 1)),
        ("slider_crank", (0, 0, 1)),
        ("double_pendulum", (0, -1, 0)),
        ("scara", None),
        ("delta", None),
    ],
)
def test_planar_machines_are_seen_along_the_normal_of_their_plane(
    name: str, normal: tuple[float, ...] | None
) -> None:
    found = plane_normal(load(name).mechanism)
    assert (found is None) == (normal is None)
    if normal is not None and found is not None:
        np.testing.assert_allclose(found, normal, atol=1e-12)


def test_names_and_axes_are_drawn_on_request(tmp_path: Path) -> None:
    machine = rods(tmp_path)
    pictures = []
    for k, words in enumerate([(), ("--names",), ("--axes",)]):
        path = tmp_path / f"{k}.png"
        ran = linkwork("model", machine.path, "--draw", str(path), *words)
        assert ran.returncode == 0, ran.stderr
        pictures.append(path.read_bytes())
    assert len(set(pictures)) == 3
