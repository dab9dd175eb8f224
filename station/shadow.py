"""Refuses to run when a file of the user's hides one of linkwork's packages.

linkwork's packages have short names. Python puts the folder of the running script before everything else, so
a `controller.py` or a `protocol.py` beside that script is found instead of ours, and what follows are
puzzling errors.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

ROOMS = ("multibody", "protocol", "timing", "machine", "controller", "plant", "station", "configs")
"""The packages that the distribution installs side by side."""


def refuse_shadowed(home: Path | None = None) -> None:
    """Checks that every one of linkwork's packages is found beside this one.

    `home` is the folder that holds them all; by default the one that holds this package.
    Raises ImportError, naming the file in the way, when another module of the same name is found first.
    """
    home = (home or Path(__file__).resolve().parent.parent).resolve()
    for room in ROOMS:
        found = _origin(room)
        if found is not None and found.resolve() != home / room / "__init__.py":
            raise ImportError(
                f"{found} is in the way: Python finds it instead of linkwork's package `{room}` "
                f"({home / room}). Rename that file, or start the script from another folder.",
                name=room,
                path=str(found),
            )


def _origin(room: str) -> Path | None:
    try:
        spec = find_spec(room)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin) if spec is not None and spec.origin is not None else None
