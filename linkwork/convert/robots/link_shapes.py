"""Shapes that show the links of a robot: those that a machine file can have stay; files of packages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from linkwork.convert.robots.robot_model import FramePose, ImportProblem, SourceLink, SourceShape
from linkwork.machine.visuals import MESH_FORMATS

_SIZES = {"box": 3, "cylinder": 2, "capsule": 2, "sphere": 1}


class LinkShapes:
    """Adds shapes to links."""

    def __init__(self, packages: PackagePaths) -> None:
        """Find meshes within these folders."""
        self._packages = packages
        self._left_out: Counter[str] = Counter()

    def add(
        self,
        link: SourceLink,
        kind: str,
        sizes: Sequence[float],
        pose: FramePose,
        rgba: Sequence[float] | None = None,
    ) -> None:
        """Add a shape to a link. kind: box, cylinder, capsule or sphere; others are left out with a remark.

        sizes (m): as of `machine.visuals.VisualShape`. pose: of the shape in the link's frame. rgba: its
        colour, 0 to 1.
        """
        if kind not in _SIZES or len(sizes) != _SIZES[kind] or not min(sizes) > 0.0:
            self.leave_out(f"of type {kind}" if kind not in _SIZES else "without a size")
            return
        link.shapes.append(SourceShape(kind, tuple(map(float, sizes)), pose, color_text(rgba)))

    def add_mesh(
        self,
        link: SourceLink,
        where: str | Path,
        scale: Sequence[float],
        pose: FramePose,
        rgba: Sequence[float] | None = None,
    ) -> None:
        """Add a mesh to a link; one without a file, or in an unknown format, is left out with a remark.

        where: its URI or path. scale (3). pose: of the mesh in the link's frame, m. rgba: its colour, 0 to 1.
        """
        try:
            path = self._packages.resolved(where, "", 0) if isinstance(where, str) else where
            path = self._packages.within(path, "", 0)
        except ImportProblem:
            self.leave_out("meshes in folders that are not given (--package NAME=DIR)")
            return
        if path.suffix.lower() not in MESH_FORMATS:
            self.leave_out(f"meshes in {path.suffix.lower() or 'unknown formats'}")
        elif not path.is_file():
            self.leave_out("meshes whose files are missing")
        elif not all(scale):
            self.leave_out("without a size")
        else:
            link.shapes.append(SourceShape("mesh", tuple(map(float, scale)), pose, color_text(rgba), path))

    @contextmanager
    def without_wrong(self) -> Iterator[None]:
        """Leave out a shape whose values are wrong: shapes are only for drawings."""
        try:
            yield
        except ImportProblem as problem:
            self.leave_out(f"with a wrong value (line {problem.line}: {problem.message})")

    def leave_out(self, what: str) -> None:
        """Count a shape that is left out."""
        self._left_out[what] += 1

    def remarks(self) -> list[str]:
        """Return what was left out, in one line."""
        listed = ", ".join(f"{count} {what}" for what, count in sorted(self._left_out.items()))
        return [f"shapes for drawings that are left out: {listed}"] if listed else []


def color_text(rgba: Sequence[float] | None) -> str | None:
    """Return #rrggbb, or #rrggbbaa where it is not opaque, of four shares from 0 to 1."""
    if rgba is None:
        return None
    parts = [round(255 * float(share)) for share in np.clip(rgba, 0.0, 1.0)]
    text = "".join(f"{part:02x}" for part in parts)
    return f"#{text.removesuffix('ff') if len(text) == 8 else text}"


_SCHEMES = ("package", "model")


@dataclass(frozen=True)
class PackagePaths:
    """Folders by the names of packages, and the folder of the description itself (`home`)."""

    home: Path
    packages: Mapping[str, Path] = field(default_factory=dict)

    def within(self, path: Path, source: str, line: int) -> Path:
        """Return an absolute path. Raises ImportProblem, about a line of `source`, outside the folders."""
        try:
            whole = path.resolve()
        except (OSError, RuntimeError, ValueError):
            raise ImportProblem(source, line, f"{str(path)[:200]!r} is not a path") from None
        folders = [folder.resolve() for folder in (self.home, *self.packages.values())]
        if any(whole.is_relative_to(folder) for folder in folders):
            return whole
        text = f"the file {str(path)[:200]!r} lies outside the folder of the description"
        raise ImportProblem(source, line, text, "name its folder with --package NAME=DIR")

    def resolved(self, uri: str, source: str, line: int) -> Path:
        """Return the path of package://NAME/…, model://NAME/… or file:///…, or of one relative to `home`.

        source, line: where the URI stands, for errors. Raises ImportProblem.
        """
        scheme, found, rest = uri.partition("://")
        if not found or scheme == "file":
            return self.within(self.home / (rest or uri), source, line)
        name, _, inner = rest.partition("/")
        if scheme not in _SCHEMES:
            known = ", ".join(f"{each}://" for each in (*_SCHEMES, "file"))
            text = f"{uri[:200]!r} is not read; known: {known}"
            raise ImportProblem(source, line, text)
        if name not in self.packages:
            known = ", ".join(sorted(self.packages)) or "none is given"
            text = f"the package {name!r} of {uri[:200]!r} is unknown; known: {known}"
            raise ImportProblem(source, line, text, f"give --package {name}=DIR")
        folder = self.packages[name].resolve()
        path = (folder / inner).resolve()
        if not path.is_relative_to(folder):
            raise ImportProblem(source, line, f"{uri[:200]!r} leads out of the package {name!r}")
        return path
