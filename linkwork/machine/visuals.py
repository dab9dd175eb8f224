"""Shapes of bodies for drawings, and the files of meshes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from linkwork.arrays import Floats

MESH_FORMATS = (".stl", ".obj", ".gltf", ".glb")


@dataclass(frozen=True, eq=False)
class VisualShape:
    """A shape on a body, in the body's frame: place (3, m) and axes (3 × 3) of its middle.

    `sizes` (m) by `kind`: of a box its sides, of a cylinder and a capsule radius and length along z, of a
    sphere its radius; of a mesh the scales of its three axes. `color` is #rrggbb or #rrggbbaa, or None.
    """

    body: str
    kind: str
    sizes: tuple[float, ...]
    at_m: Floats
    rotation: Floats
    color: str | None = None
    file: str | None = None


def mesh_path(machine_file: str, shape: VisualShape) -> Path:
    """Return the path of a mesh's file, relative to the machine file's folder."""
    return Path(machine_file).parent / (shape.file or "")
