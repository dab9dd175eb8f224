"""Results of runs in the order in which they come: one file, one line each, appended by one write.

A line that is complete is a recorded result, even if the process is killed right after it; one that is cut
short is removed at the next start, and its run is carried out again.
"""

import errno
import fcntl
import json
import os
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from linkwork.machine.problems import MachineError, Problem

FILE: Final = "results.jsonl"
_READ_BYTES: Final = 1 << 20
_SHOWN: Final = 3
"""Differences that a refusal names."""


class ResultStore:
    """The results of one campaign in a folder. Use it as a context manager; one process at a time may.

    content: what determines the runs, as plain data. runs: their number. Raises MachineError for a folder
    with results of another content, which names the differences, for one that another process uses, and for
    one that cannot be written.
    """

    def __init__(self, folder: Path, content: Mapping[str, Any], runs: int) -> None:
        self.path = folder / FILE
        self._at: NDArray[np.int64] = np.full(runs, -1, np.int64)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            text = f"results cannot be written here: {error.strerror}"
            raise self._refusal(text, "give another folder: --out DIR") from None
        try:
            self._claim()
            self._end = self._begin(json.loads(json.dumps(content)))
        except BaseException:
            os.close(self._fd)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    @property
    def done(self) -> NDArray[np.bool_]:
        """Mask (runs,) of the runs that have a result."""
        return self._at >= 0

    def append(self, line: bytes) -> bool:
        """Record a result. Returns False for a run that has one already; nothing is written then."""
        run = int(json.loads(line)["run"])
        if self._at[run] >= 0:
            return False
        self._write(line)
        self._at[run] = self._end - len(line)
        return True

    def read(self, run: int) -> dict[str, Any]:
        """Return the result of a run that has one."""
        data, at = b"", int(self._at[run])
        assert at >= 0, f"run {run} has no result"
        while b"\n" not in data:
            data += os.pread(self._fd, 4096, at + len(data))
        found: dict[str, Any] = json.loads(data[: data.index(b"\n")])
        return found

    def _claim(self) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self._refusal(
                "another process carries out this campaign in this folder", "wait for it, or give --out DIR"
            ) from None

    def _begin(self, content: dict[str, Any]) -> int:
        """Read what is there, and remove a last line that is not complete; return the end of the file."""
        end, rest = 0, b""
        head: dict[str, Any] | None = None
        while data := os.pread(self._fd, _READ_BYTES, end + len(rest)):
            lines = (rest + data).split(b"\n")
            rest = lines.pop()
            for line in lines:
                if head is None:
                    head = self._head(line, content)
                else:
                    self._note(line, end)
                end += len(line) + 1
        own = json.dumps({"runs": len(self._at), "content": content}).encode() + b"\n"
        if head is None and not own.startswith(rest):
            raise self._foreign()
        os.ftruncate(self._fd, end)
        self._end = end
        if head is None:
            self._write(own)
        return self._end

    def _head(self, line: bytes, content: dict[str, Any]) -> dict[str, Any]:
        try:
            head: dict[str, Any] = json.loads(line)
            runs, known = head["runs"], head["content"]
        except (ValueError, KeyError, TypeError):
            raise self._foreign() from None
        changed = list(differences(known, content))
        if changed or runs != len(self._at):
            text = (
                "these are results of another campaign, or of this one before a change of it or of linkwork"
            )
            found = "; ".join(changed[:_SHOWN] + ["…"] * (len(changed) > _SHOWN)) or f"{runs} runs then"
            raise self._refusal(text, "give another folder: --out DIR, or remove this one", found)
        return head

    def _note(self, line: bytes, at: int) -> None:
        try:
            run = int(json.loads(line)["run"])
        except (ValueError, KeyError, TypeError):
            return  # damaged: the run is carried out again
        if 0 <= run < len(self._at) and self._at[run] < 0:
            self._at[run] = at

    def _write(self, line: bytes) -> None:
        try:
            written = os.write(self._fd, line)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from None
        if written != len(line):  # a full disk: the line is removed, so that the next one begins a line
            os.ftruncate(self._fd, self._end)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        self._end += written

    def _foreign(self) -> MachineError:
        return self._refusal("this is no file of results", "give another folder: --out DIR")

    def _refusal(self, message: str, remedy: str, found: str = "") -> MachineError:
        return MachineError([Problem(str(self.path), None, None, "", message, found=found, remedy=remedy)])


def differences(was: Any, now: Any, key: str = "") -> Iterator[str]:
    """Yield each difference of plain data: "parameters.mass.uniform was [0.7, 0.9], is [0.7, 1.1]"."""
    if isinstance(was, dict) and isinstance(now, dict):
        for name in {**was, **now}:
            yield from differences(was.get(name), now.get(name), f"{key}.{name}" if key else name)
    elif was != now:
        yield f"{key} was {_shortened(was)}, is {_shortened(now)}"


def _shortened(value: Any) -> str:
    return "not given" if value is None else textwrap.shorten(json.dumps(value), 60, placeholder=" …")
