"""Consoles that play recordings for the pages of a machine's console.

Each is `linkwork console FILE` in a process: reading a recording delays neither STOP nor jogs.
"""

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_MOST_PLAYERS: Final = 4
_READY_WITHIN_S: Final = 120.0


class UnplayableRecording(Exception):
    """A recording that cannot be played; the text says why."""


class RecordingPlayers:
    """Consoles that play recordings, at most four; the one opened longest ago ends for another."""

    def __init__(self, words: Sequence[str] = ()) -> None:
        """words: options of `linkwork console` for address and protection."""
        self._words = words
        self._running: dict[tuple[Path, int], tuple[Process, str]] = {}
        self._lock = asyncio.Lock()

    async def address(self, path: Path) -> str:
        """Return the address of a console that plays a recording. Raises UnplayableRecording."""
        async with self._lock:
            try:
                key = path, path.stat().st_size  # a log grows
            except OSError as error:
                raise UnplayableRecording(f"{path} cannot be read: {error.strerror}") from None
            known = self._running.pop(key, None)
            if known is None or known[0].returncode is not None:
                known = await self._start(path)
            self._running[key] = known
            while len(self._running) > _MOST_PLAYERS:
                self._end(next(iter(self._running)))
            return known[1]

    async def _start(self, path: Path) -> tuple[Process, str]:
        argv = (sys.executable, "-m", "linkwork", "console", str(path), "--json", "--lifeline", *self._words)
        process = await asyncio.create_subprocess_exec(*argv, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
        assert process.stdout is not None
        try:
            said = json.loads(await asyncio.wait_for(process.stdout.readline(), _READY_WITHIN_S))
            return process, said["address"]
        except KeyError:
            raise UnplayableRecording(said["error"]["message"]) from None
        except (TimeoutError, ValueError):
            process.kill()
            raise UnplayableRecording(f"no console played {path} within {_READY_WITHIN_S:g} s") from None

    def _end(self, key: tuple[Path, int]) -> None:
        process, _ = self._running.pop(key)
        if process.returncode is None:
            process.terminate()

    def close(self) -> None:
        """End all players."""
        for key in list(self._running):
            self._end(key)
