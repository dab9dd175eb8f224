"""Shapes of bodies for drawings, and the files of meshes."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from linkwork.arrays import Floats
from linkwork.regular_files import check_regular

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


def mesh_hashes(machine_file: str, shapes: Iterable[VisualShape]) -> dict[str, str]:
    """Return the hex SHA-256 of the files of meshes that are there, by their names in the machine file."""
    found = {}
    for shape in shapes:
        if shape.kind == "mesh" and shape.file is not None:
            known = file_hash(mesh_path(machine_file, shape))
            if known is not None:
                found[shape.file] = known
    return found


def file_hash(path: Path) -> str | None:
    """Return the hex SHA-256 of a file; None where it cannot be read. An unchanged file is read once."""
    try:
        check_regular(path)
        stat = path.stat()
        return _hash(path, stat.st_mtime_ns, stat.st_size)
    except OSError:
        return None


@lru_cache(maxsize=256)
def _hash(path: Path, _modified_ns: int, _size: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
