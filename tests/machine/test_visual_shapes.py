"""Shapes of bodies: what the file may say, and where they are drawn."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from linkwork.drawing.skeleton import Skeleton
from linkwork.machine import Machine, MachineError, check, load
from linkwork.machine.visuals import mesh_hashes, mesh_path

PENDULUM = """
name: pendulum
bodies:
  rod:
    mass_kg: 1
    inertia_kg_m2: {xx: 0.01, yy: 0.01, zz: 0.01}
    visual: [%s]
joints:
  hinge: {type: revolute, parent: world, child: rod, at_m: [0, 0, 1], axis: [0, 1, 0]}
initial: {hinge_deg: 90}
"""


def with_visual(folder: Path, *shapes: str) -> Machine:
    (folder / "machine.yaml").write_text(PENDULUM % ", ".join(shapes))
    return load(folder / "machine.yaml")


@pytest.mark.parametrize(
    ("shape", "low", "high"),
    [
        ("{type: box, size_m: [0.1, 0.2, 0.4]}", (-0.05, -0.1, -0.2), (0.05, 0.1, 0.2)),
        ("{type: cylinder, radius_m: 0.1, length_m: 0.6}", (-0.1, -0.1, -0.3), (0.1, 0.1, 0.3)),
        ("{type: sphere, radius_m: 0.2}", (-0.2, -0.2, -0.2), (0.2, 0.2, 0.2)),
        ("{type: capsule, radius_m: 0.1, length_m: 0.6}", (-0.1, -0.1, -0.4), (0.1, 0.1, 0.4)),
    ],
)
def test_a_shape_is_drawn_where_its_body_is(
    tmp_path: Path, shape: str, low: tuple[float, ...], high: tuple[float, ...]
) -> None:
    """At 90° the body's z points along the world's x, its x down."""
    machine = with_visual(tmp_path, shape[:-1] + ", at_m: [0, 0, -0.25]}")
    [(_, grid)] = Skeleton(machine).surfaces_at(machine.initial_q)
    places = grid.reshape(-1, 3)
    turned = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]]) @ np.array([low, high]).T
    turned += np.array([[-0.25], [0.0], [1.0]])
    np.testing.assert_allclose(places.min(axis=0), turned.min(axis=1), atol=4e-3)
    np.testing.assert_allclose(places.max(axis=0), turned.max(axis=1), atol=4e-3)


def test_a_mesh_lies_beside_the_machine_file(tmp_path: Path) -> None:
    machine = with_visual(tmp_path, "{type: mesh, file: parts/rod.STL, scale: 1/1000}")
    [shape] = machine.visuals
    assert (shape.body, shape.kind, shape.sizes) == ("rod", "mesh", (0.001,) * 3)
    assert mesh_path(machine.path, shape) == tmp_path / "parts" / "rod.STL"
    [problem] = [one for one in check(machine.path) if one.key == "bodies.rod.visual[0].file"]
    assert (problem.severity, problem.message) == ("warning", "there is no such file")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "rod.STL").write_bytes(b"solid")
    assert not [one for one in check(machine.path) if "visual" in one.key]


def test_a_link_that_leads_out_of_the_folder_is_a_warning(tmp_path: Path) -> None:
    folder = tmp_path / "machine"
    folder.mkdir()
    (tmp_path / "rod.obj").write_text("")
    (folder / "rod.obj").symlink_to(tmp_path / "rod.obj")
    machine = with_visual(folder, "{type: mesh, file: rod.obj}")
    assert [one.message for one in check(machine.path)] == ["a link leads out of the machine file's folder"]


@pytest.mark.parametrize("file", ["../rod.stl", "a/../../rod.glb", "/srv/rod.obj", "~/rod.stl", "C:/rod.stl"])
def test_a_file_outside_the_folder_must_be_said(tmp_path: Path, file: str) -> None:
    with pytest.raises(MachineError, match="outside the folder"):
        with_visual(tmp_path, f"{{type: mesh, file: '{file}'}}")
    assert with_visual(tmp_path, f"{{type: mesh, file: '{file}', outside: true}}").visuals


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("{type: mesh, file: rod.step}", "unknown format"),
        ("{type: sphere, radius_m: 0}", "out of range"),
        ("{type: cone, radius_m: 1}", "unknown type"),
        ("{type: mesh, file: rod.stl, scale: -1}", "out of range"),
        ("{type: mesh, file: rod.stl, scale: [1, 0, -1]}", "out of range"),
        ("{type: box, size_m: [1, 2]}", "length"),
    ],
)
def test_shapes_that_do_not_exist_are_refused(tmp_path: Path, shape: str, message: str) -> None:
    with pytest.raises(MachineError, match=message):
        with_visual(tmp_path, shape)


def test_the_hash_of_a_mesh_is_that_of_its_file(tmp_path: Path) -> None:
    machine = with_visual(tmp_path, "{type: mesh, file: parts/rod.stl}")
    assert mesh_hashes(machine.path, machine.visuals) == {}
    mesh = tmp_path / "parts" / "rod.stl"
    mesh.parent.mkdir()
    for content in (b"solid rod", b"solid others"):
        mesh.write_bytes(content)
        known = mesh_hashes(machine.path, machine.visuals)
        assert known == {"parts/rod.stl": hashlib.sha256(content).hexdigest()}
