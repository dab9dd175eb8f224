"""Meshes are served only as the controller knows them."""

from pathlib import Path

import numpy as np

from linkwork.console.scene_content import mesh_file
from linkwork.machine.visuals import VisualShape, mesh_hashes


def test_only_a_mesh_with_the_known_hash_is_served(tmp_path: Path) -> None:
    mesh, machine = tmp_path / "rod.stl", str(tmp_path / "machine.yaml")
    mesh.write_bytes(b"solid rod")
    shapes = [
        VisualShape("rod", kind, sizes, np.zeros(3), np.eye(3), file=file)
        for kind, sizes, file in (("sphere", (0.1,), None), ("mesh", (1.0,) * 3, "rod.stl"))
    ]
    known = mesh_hashes(machine, shapes)
    assert mesh_file("1.stl", shapes, machine, known) == mesh
    for name in ("0.stl", "2.stl", "1.obj", "../rod.stl", "x.stl", ""):
        assert mesh_file(name, shapes, machine, known) is None, name
    assert mesh_file("1.stl", shapes, machine, {}) is None
    mesh.write_bytes(b"solid changed")
    assert mesh_file("1.stl", shapes, machine, known) is None
