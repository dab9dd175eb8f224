"""Output of a group's daemons, kept in a file of bounded size for each machine.

The files are NAME.log in the folder `output` of the state folder, and NAME.log.1 to NAME.log.4, the oldest,
behind it. A line is: time in UTC, the daemon or `group`, the text.
"""

import logging
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final, TextIO

from linkwork.protocol.endpoints import state_dir

GROUP: Final = "group"
"""Source of the supervisor's own lines; the others are `plant` and `controller`."""
FILE_BYTES: Final = 1_000_000
OLDER_FILES: Final = 4
LONGEST_LINE: Final = 4000
"""Characters; longer lines are cut."""
_LOOK_S = 0.1


def output_folder() -> Path:
    """The folder of the files; not created."""
    return state_dir() / "output"


def output_path(name: str) -> Path:
    """The newest file of this machine."""
    return output_folder() / f"{name}.log"


def recorded_groups() -> list[str]:
    """Names of the machines that have a file, sorted."""
    return sorted(path.stem for path in output_folder().glob("*.log"))


class OutputLog:
    """Writer of one machine's file. `problem` has the reason when output cannot be kept.

    path: the newest file; its folder is created. size: bytes of a file before it is rotated.
    """

    def __init__(self, path: Path, size: int = FILE_BYTES) -> None:
        self.path = path
        self.problem = ""
        self._file: RotatingFileHandler | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = _File(path, size, self._failed)
        except OSError as error:
            self._failed(error)

    def write(self, source: str, text: str) -> None:
        """Append a line. A failure, such as a full disk, is kept in `problem` and not raised."""
        if self._file is not None:
            content = {"source": source, "msg": text[:LONGEST_LINE]}
            self._file.handle(logging.makeLogRecord(content))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            with suppress(OSError):  # the part that a full disk did not take
                self._file.close()
            self._file = None

    def _failed(self, error: BaseException | None) -> None:
        reason = getattr(error, "strerror", None) or str(error)
        self.problem = f"output is not kept: {self.path}: {reason}"


class _File(RotatingFileHandler):
    def __init__(self, path: Path, size: int, failed: Callable[[BaseException | None], None]) -> None:
        super().__init__(path, maxBytes=size, backupCount=OLDER_FILES, encoding="utf-8", errors="replace")
        self._failed = failed
        formatter = logging.Formatter(
            "%(asctime)s.%(msecs)03dZ %(source)-10s %(message)s", "%Y-%m-%dT%H:%M:%S"
        )
        formatter.converter = time.gmtime
        self.setFormatter(formatter)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002 - the base class's name
        self._failed(sys.exc_info()[1])


def read_output(path: Path, source: str | None = None, most: int = 100) -> list[str]:
    """The last lines of a machine, oldest first. source: only those of this daemon; most: largest number of
    lines.

    Raises OSError where a file cannot be read.
    """
    found: deque[str] = deque(maxlen=most)
    for each in (*(path.with_name(f"{path.name}.{number}") for number in range(OLDER_FILES, 0, -1)), path):
        if each.exists():
            with each.open(encoding="utf-8", errors="replace") as lines:
                found.extend(line.rstrip("\n") for line in lines if _from(line, source))
    return list(found)


def follow_output(path: Path, source: str | None = None) -> Generator[str, None, None]:
    """Lines as they are written from this call on, through rotations; never ends by itself.

    Waits where the file is not there (yet).
    """
    stream = _opened(path)
    if stream is not None:
        stream.seek(0, os.SEEK_END)
    return _following(path, stream, source)


def _following(path: Path, stream: TextIO | None, source: str | None) -> Generator[str, None, None]:
    rest = ""
    try:
        while True:
            text = stream.read() if stream is not None else ""
            if text:
                *lines, rest = (rest + text).split("\n")
                yield from (line for line in lines if _from(line, source))
                continue
            if stream is None or _replaced(path, stream.fileno()):
                if stream is not None:
                    stream.close()
                stream = _opened(path)
            time.sleep(_LOOK_S)
    finally:
        if stream is not None:
            stream.close()


def _opened(path: Path) -> TextIO | None:
    try:
        return path.open(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None


def _replaced(path: Path, descriptor: int) -> bool:
    try:
        return path.stat().st_ino != os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False


def _from(line: str, source: str | None) -> bool:
    return source is None or line[25 : 25 + len(source) + 1].rstrip() == source
