"""Reads the records of a log, or of all segments of a run, and follows a log while it is written.

Every checksum is verified. Reading stops at the first record that is damaged.
"""

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Attachment, Channel, Chunk, DataEnd, McapRecord, Message, Metadata, Schema
from mcap.stream_reader import StreamReader, breakup_chunk
from mcap.writer import MCAP0_MAGIC

from linkwork.controller.gateway.records.idle_ticks import unpack_idle
from linkwork.regular_files import check_regular

_HEAD = struct.Struct("<BQ")
_LENGTH = struct.Struct("<I")
_MOST_AT_ONCE = 4_000_000
_NAME = re.compile(r"(.+-)(\d{4,})\.mcap")
_IN_A_LOG = {
    Opcode.HEADER, Opcode.METADATA, Opcode.ATTACHMENT, Opcode.CHUNK, Opcode.MESSAGE_INDEX, Opcode.DATA_END,
}  # fmt: skip
"""Records before the end of the data. Others would have no checksum."""
_DAMAGE = (McapError, ValueError, RuntimeError, struct.error, OverflowError, MemoryError)
"""Raised by the parser and by LZ4 for damaged data."""
_COMPRESSED = b"\3\0\0\0lz4"
_CHUNK_HEAD = 37
"""Bytes of a chunk's record before the name of its compression."""


def first_segment(path: Path) -> Path:
    """The oldest segment that is left of the run that a segment belongs to."""
    return _segments(path)[0]


def segments_of(path: Path) -> list[Path]:
    """The file and, where it is a segment of a log, those of the same run that follow it."""
    found = _segments(path)
    return found[found.index(path) :] if path in found else [path]


def _segments(path: Path) -> list[Path]:
    """Every segment of the run that a segment belongs to, in order; at least the path itself."""
    match = _NAME.fullmatch(path.name)
    if match is None or not path.parent.is_dir():
        return [path]
    names = ((_NAME.fullmatch(each.name), each) for each in path.parent.iterdir())
    kept = sorted((int(other[2]), each) for other, each in names if other and other[1] == match[1])
    return [each for _, each in kept] or [path]


class NoRecording(ValueError):
    """A file that is no log of linkwork's, or holds too little of one. The text says which and why."""


class LogFollower:
    """Reader of the data written since the last call, from the segment `path` on. Close it after use.

    alone: read this segment only. packed: leave ticks packed that are (`idle_ticks.py`). `ended`: the last
    segment is complete and none has followed it, or reading has stopped at damage. `damage`: what is damaged
    and missing, as text. `cut`: it is only the end of the last segment, as in a log that is being written or
    whose writer was killed.
    """

    def __init__(self, path: Path, *, alone: bool = False, packed: bool = False) -> None:
        """Open the segment. Raises OSError, and NoRecording."""
        self._alone, self._packed = alone, packed
        self.paths: list[Path] = []
        """The segments read."""
        self.ended = self.cut = self._stopped = False
        self.damage = ""
        self.schemas: dict[int, Schema] = {}
        self.channels: dict[int, Channel] = {}
        self._tick, self._first_ns, self._last_ns, self._bytes = -1, -1, 0, 0
        if not self._open(path):
            self.close()
            raise NoRecording(f"{path} is not a recording: it does not begin as an MCAP file does")

    def _open(self, path: Path) -> bool:
        self._path = path
        self.paths.append(path)
        check_regular(path)
        self._stream: IO[bytes] = path.open("rb")
        magic = self._stream.read(len(MCAP0_MAGIC))
        self._sum = zlib.crc32(magic)
        self._left = b""
        self._complete = False
        return MCAP0_MAGIC.startswith(magic)

    def records(self) -> Iterator[Any]:
        """The MCAP records (those of chunks one by one) that are there by now, in order."""
        while not self._stopped:
            data, at = self._left + self._stream.read(_MOST_AT_ONCE), 0
            grown = len(data) > len(self._left)
            while not self._complete and at + _HEAD.size <= len(data):
                opcode, length = _HEAD.unpack_from(data, at)
                end = at + _HEAD.size + length
                if end > len(data) and opcode in _IN_A_LOG:
                    break
                try:
                    found = self._sound(opcode, data[at:end])
                except _DAMAGE:
                    self._left = data[at:]
                    self._stop()
                    return
                at = end
                yield from found
            self._left = data[at:]
            if self._complete:
                self.ended = self._alone or not self._next()
            if self.ended or not grown:
                return

    def contents(self) -> Iterator[Metadata | Attachment | tuple[str, Schema, bytes]]:
        """Metadata, attachments and messages (topic, schema, data) to the end of a log that does not grow.

        Afterwards `damage` is known.
        """
        for record in self.records():
            if isinstance(record, Metadata | Attachment):
                yield record
            elif isinstance(record, Message):
                channel = self.channels[record.channel_id]
                yield channel.topic, self.schemas[channel.schema_id], record.data
        if not self.ended:
            self.cut = True
            self._stop()
        elif not self._stopped and self._later():
            self._stop()

    def _sound(self, opcode: int, frame: bytes) -> list[McapRecord]:
        """The records in the bytes of one record of the file. Raises one of _DAMAGE."""
        found: list[McapRecord] = []
        if opcode not in _IN_A_LOG:
            raise ValueError("no record of a log")
        if opcode == Opcode.MESSAGE_INDEX:
            if len(frame) != _HEAD.size + 6 + _LENGTH.unpack_from(frame, _HEAD.size + 2)[0]:
                raise ValueError("no index of messages")
        else:
            record = next(StreamReader(BytesIO(frame), skip_magic=True, emit_chunks=True).records)
            found = _records_of(record) if isinstance(record, Chunk) else [record]
            found = [each for one in found for each in self._ticks_of(one)]
        for each in found:
            if isinstance(each, DataEnd):
                self._complete = True
                if each.data_section_crc not in (0, self._sum):
                    self._note(f"{self._path.name} differs from its checksum, but its ticks are sound")
            elif isinstance(each, Attachment):
                if zlib.crc32(frame[_HEAD.size : -_LENGTH.size]) != _LENGTH.unpack(frame[-_LENGTH.size :])[0]:
                    self._note(f"{self._path.name}: an attachment is damaged, and left out")
                    found = []
            elif isinstance(each, Message) and self.channels[each.channel_id].topic == "tick":
                self._tick, self._last_ns = each.sequence, each.log_time
                self._first_ns = self._last_ns if self._first_ns < 0 else self._first_ns
        self._sum = zlib.crc32(frame, self._sum)
        self._bytes += len(frame)
        return found

    def _ticks_of(self, record: McapRecord) -> Iterator[McapRecord]:
        """The record itself, or the ticks that are packed in it."""
        if isinstance(record, Schema):
            self.schemas[record.id] = record
        elif isinstance(record, Channel):
            self.channels[record.id] = record
        if (
            self._packed
            or not isinstance(record, Message)
            or self.channels[record.channel_id].topic != "idle"
        ):
            yield record
            return
        tick = next(number for number, one in self.channels.items() if one.topic == "tick")
        for number, data in enumerate(unpack_idle(record.data), record.sequence):
            yield replace(record, channel_id=tick, sequence=number & 0xFFFFFFFF, data=data)

    def _note(self, text: str) -> None:
        self.damage += f"; {text}" if self.damage else text

    def _stop(self) -> None:
        """Stop reading, and say what is missing: the rest of this segment and those that follow."""
        self.ended = self._stopped = True
        rest, later = self._left + self._stream.read(), self._later()
        found = [_last_message_ns(data) for data in (rest, *(path.read_bytes() for path in later))]
        times = [each for each in found if each is not None]
        self.cut = self.cut and not times and not later
        since = f"from tick {self._tick + 1} on" if self._tick >= 0 else "from its beginning"
        what = "is not continued" if self._complete else "is damaged"
        if self.cut:
            text = f"{self._path.name} breaks off {since}: it is being written, or its writer was killed"
        elif times and self._tick >= 0:
            missing_s = 1e-9 * max(0, max(times) - self._last_ns)
            text = f"{self._path.name} {what} {since}: {missing_s:.3g} s are missing"
        else:  # by the bytes of a second before
            about_s = 1e-9 * (self._last_ns - self._first_ns) * len(rest) / max(self._bytes, 1)
            size = f"{len(rest)} bytes, about {about_s:.3g} s,"
            text = f"{self._path.name} {what} {since}: {size} are missing"
        self._note(text + (f", and {later[0].name} and later segments are not read" if later else ""))

    def _later(self) -> list[Path]:
        return [] if self._alone else segments_of(self._path)[1:]

    def _next(self) -> bool:
        """Continue with the next segment, if it exists."""
        match = _NAME.fullmatch(self._path.name)
        following = self._path.with_name(f"{match[1]}{int(match[2]) + 1:04d}.mcap") if match else None
        if following is None or not following.exists() or following.stat().st_size < len(MCAP0_MAGIC):
            return False
        self._stream.close()
        if not self._open(following):
            self._stop()
        return True

    def close(self) -> None:
        """Close the open segment."""
        self._stream.close()


def _last_message_ns(data: bytes) -> int | None:
    """The time of the last message in a chunk that is sound; None where there is no such chunk."""
    at = len(data)
    while (at := data.rfind(_COMPRESSED, 0, at)) >= 0:
        begin, end = at - _CHUNK_HEAD, at + len(_COMPRESSED)
        if begin < 0 or end + 8 > len(data):
            continue
        end += 8 + int.from_bytes(data[end : end + 8], "little")
        if end > len(data):
            continue
        try:
            chunk = Chunk.read(ReadDataStream(BytesIO(data[begin + _HEAD.size : end])))
            records = _records_of(chunk)
        except _DAMAGE:
            continue
        times = [each.log_time for each in records if isinstance(each, Message)]
        if times:
            return times[-1]
    return None


def _records_of(chunk: Chunk) -> list[McapRecord]:
    """The records of a chunk. Raises one of _DAMAGE, also where its checksum was erased."""
    if not chunk.uncompressed_crc:
        raise ValueError("a chunk without a checksum")
    return breakup_chunk(chunk, validate_crc=True)
