"""Follows the log of a running controller, segment by segment, as it is written."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from mcap.exceptions import EndOfFile
from mcap.opcode import Opcode
from mcap.stream_reader import StreamReader

_MAGIC_BYTES = 8
_HEAD = struct.Struct("<BQ")
_MOST_AT_ONCE = 4_000_000
_NAME = re.compile(r"(.+-)(\d{4,})\.mcap")


def first_segment(path: Path) -> Path:
    """The oldest segment that is left of the run that a segment belongs to."""
    match = _NAME.fullmatch(path.name)
    if match is None:
        return path
    kept = [
        (int(other[2]), each)
        for each in path.parent.iterdir()
        if (other := _NAME.fullmatch(each.name)) and other[1] == match[1]
    ]
    return min(kept)[1] if kept else path


class LogFollower:
    """Reader of the data written since the last call, from the segment `path` on. Close it after use.

    `ended`: the last segment is complete and none has followed it.
    """

    def __init__(self, path: Path) -> None:
        """Open the segment. Raises OSError."""
        self._open(path)
        self.ended = False

    def _open(self, path: Path) -> None:
        self._path = path
        self._stream: IO[bytes] = path.open("rb")
        self._stream.seek(_MAGIC_BYTES)
        self._left = b""
        self._complete = False

    def records(self) -> Iterator[Any]:
        """The MCAP records (those of chunks one by one) that are there by now, in order."""
        while True:
            data = self._left + self._stream.read(_MOST_AT_ONCE)
            whole = self._whole(data)
            self._left = data[whole:]
            if whole:
                yield from _parsed(data[:whole])
            elif not self._complete or not self._next():
                self.ended = self._complete
                return

    def _whole(self, data: bytes) -> int:
        """Return the number of bytes of whole records, without those that end a file."""
        at = 0
        while not self._complete and at + _HEAD.size <= len(data):
            opcode, length = _HEAD.unpack_from(data, at)
            if opcode == Opcode.DATA_END:
                self._complete = True
            elif at + _HEAD.size + length > len(data):
                break
            else:
                at += _HEAD.size + length
        return at

    def _next(self) -> bool:
        """Continue with the next segment, if it exists."""
        match = _NAME.fullmatch(self._path.name)
        following = self._path.with_name(f"{match[1]}{int(match[2]) + 1:04d}.mcap") if match else None
        if following is None or not following.exists() or following.stat().st_size < _MAGIC_BYTES:
            return False
        self._stream.close()
        self._open(following)
        return True

    def close(self) -> None:
        """Close the open segment."""
        self._stream.close()


def _parsed(data: bytes) -> Iterator[Any]:
    try:
        yield from StreamReader(BytesIO(data), skip_magic=True).records
    except EndOfFile:
        return
