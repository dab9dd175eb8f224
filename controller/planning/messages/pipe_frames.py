"""Frames on the pipes between gateway and planner: four bytes of length, little endian, then MessagePack."""

from __future__ import annotations

import struct
from typing import Any

import msgpack

from linkwork.protocol.decoding import NotDecodable, decode

_LENGTH = struct.Struct("<I")
LONGEST = 64 * 1024 * 1024
"""Bytes; a longer frame is no frame of ours."""


class BadFrame(ValueError):
    """The bytes are no frames: the two ends no longer agree where one begins."""


def pack_frame(content: object) -> bytes:
    """The bytes of one frame."""
    body = msgpack.packb(content)
    return _LENGTH.pack(len(body)) + bytes(body)


class FrameReader:
    """Cuts a stream of bytes into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Add bytes read from the pipe."""
        self._buffer += data

    def next(self) -> bytes | None:
        """The body of the next whole frame, or None. Raises BadFrame when the length cannot be right."""
        if len(self._buffer) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._buffer)
        if length > LONGEST:
            raise BadFrame(f"a frame of {length} bytes was announced, at most {LONGEST} are allowed")
        end = _LENGTH.size + length
        if len(self._buffer) < end:
            return None
        body = bytes(self._buffer[_LENGTH.size : end])
        del self._buffer[:end]
        return body


def read_body(body: bytes) -> Any:
    """The content of a frame's body. Raises BadFrame when it is not MessagePack within the limits."""
    try:
        return decode(body, most_list=len(body), most_map=len(body))
    except NotDecodable as error:
        raise BadFrame(f"a frame is not readable as MessagePack: {error}") from None
