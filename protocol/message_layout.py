"""The bytes of a hot message when its writer always gives them the same shape.

MessagePack leaves a writer the width of a number and the order of a map. Our writers always choose the
same, so a message of a given machine is a row of constant bytes and 8-byte numbers: written and read by one
`struct` call, in half the time of a general encoder. A reader that meets another shape decodes it in
general (`protocol.link`).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

_INTEGER = b"\xd3"
_FLOAT = b"\xcb"


class Layout:
    """A map of one constant text field `type`, then single numbers, then lists of floats.

    `integers` and `lists` give names (and lengths) in the order of the row; `floats` names those single
    numbers that are floats. The row alternates: constant bytes, number, constant bytes, number, …
    """

    def __init__(
        self, kind: str, numbers: Sequence[str], floats: Sequence[str], lists: Sequence[tuple[str, int]]
    ) -> None:
        constants: list[bytes] = []
        types: list[str] = []
        before = bytes([0x80 | (1 + len(numbers) + len(lists))]) + _text("type") + _text(kind)
        for name in numbers:
            constants.append(before + _text(name) + (_FLOAT if name in floats else _INTEGER))
            types.append("d" if name in floats else "q")
            before = b""
        for name, count in lists:
            before += _text(name) + _array(count)
            for _ in range(count):
                constants.append(before + _FLOAT)
                types.append("d")
                before = b""
        shape = "".join(f"{len(constant)}s{kind}" for constant, kind in zip(constants, types, strict=True))
        self.struct = struct.Struct(f">{shape}{len(before)}s" if before else f">{shape}")
        self.size = self.struct.size
        self.constants = (*constants, before) if before else tuple(constants)
        """Contents of the even places of the row."""
        self.first_list = 2 * len(numbers) + 1
        """Place of the first number of the lists."""
        self._length = len(constants) + len(self.constants)

    def row(self) -> list[object]:
        """A row with its constants in place and zeros for the numbers, to fill and `struct.pack(*row)`."""
        row: list[object] = [0] * self._length
        row[::2] = self.constants
        return row


def _text(name: str) -> bytes:
    return bytes([0xA0 | len(name)]) + name.encode()


def _array(count: int) -> bytes:
    return bytes([0x90 | count]) if count < 16 else b"\xdc" + count.to_bytes(2, "big")
