"""Flight records for the cards of faults, read by `linkwork faults show` in a process each.

So the console stays a client: the code that analyses a record is that of the controller, and its work does
not delay pictures and jogs.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_POINTS: Final = 600
_ENDS_WITHIN_S: Final = 60.0
_KEPT: Final = 20
_TRIES, _AGAIN_S = 4, 0.7
"""The controller names a record when it begins to write it."""


class UnreadableRecord(Exception):
    """A flight record that cannot be shown; the text says why."""


class FlightRecords:
    """Read records, each once."""

    def __init__(self) -> None:
        self._known: dict[str, Mapping[str, Any]] = {}

    async def read(self, path: str) -> Mapping[str, Any]:
        """Return what `linkwork faults show --json --points` prints. Raises UnreadableRecord."""
        if path not in self._known:
            found = await _written(path)
            while len(self._known) >= _KEPT:
                del self._known[next(iter(self._known))]
            self._known[path] = found
        return self._known[path]


async def _written(path: str) -> Mapping[str, Any]:
    """Return a record that may still be under way to its file. Raises UnreadableRecord."""
    left = _TRIES
    while True:
        try:
            if not Path(path).is_file():
                raise UnreadableRecord(f"{path} is not on this computer")
            return await _shown(path)
        except UnreadableRecord:
            left -= 1
            if not left:
                raise
            await asyncio.sleep(_AGAIN_S)


async def _shown(path: str) -> Mapping[str, Any]:
    words = ("-m", "linkwork", "faults", "show", path, "--json", "--points", str(_POINTS))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        said, complained = await asyncio.wait_for(process.communicate(), _ENDS_WITHIN_S)
    except TimeoutError:
        raise UnreadableRecord(f"{path} could not be read within {_ENDS_WITHIN_S:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode != 0:
        raise UnreadableRecord(complained.decode("utf-8", "replace").strip())
    found: Mapping[str, Any] = json.loads(said)
    return found
