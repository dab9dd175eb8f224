"""Files that a description names: within its own folder, or within a folder given for a package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from linkwork.convert.robots.robot_model import ImportProblem

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
        """Return the path of package://NAME/…, model://NAME/… or file:///…, or of one relative to `home`."""
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
