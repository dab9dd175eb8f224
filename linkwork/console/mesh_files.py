"""Files of meshes for the page: only those of the machine, and only as the controller knows them by hash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from linkwork.machine.visuals import VisualShape, file_hash, mesh_path


def mesh_file(
    name: str, shapes: Sequence[VisualShape], machine_file: str, hashes: Mapping[str, str]
) -> Path | None:
    """Return the file of a mesh, `NUMBER.suffix`; None where there is none, or another than is known.

    shapes: of the machine; machine_file: its path; hashes: of its meshes, by their names in it.
    """
    number, _, suffix = name.partition(".")
    if not number.isdecimal() or int(number) >= len(shapes):
        return None
    shape = shapes[int(number)]
    path = mesh_path(machine_file, shape)
    known = hashes.get(shape.file or "")
    if shape.kind != "mesh" or known is None or path.suffix.lower() != f".{suffix}":
        return None
    return path if file_hash(path) == known else None
