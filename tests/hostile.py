"""Frames as a stranger may send them: valid ones that were changed, and shapes that trip decoders."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import msgpack

from linkwork import protocol

VECTORS = tuple(sorted((Path(protocol.__file__).parent / "vectors").rglob("*.bin")))
EVIL = (
    None, True, -1, 2**53, 2**63 - 1, -(2**63), 2**64 - 1, 1e300, -1e300, 5e-324, float("nan"), float("inf"),
    -float("inf"), "", "x" * 5000, "\N{ZERO WIDTH SPACE}", b"\xff\xfe", [], {}, [None] * 5000, {"": 0},
    msgpack.ExtType(5, b"abc"), msgpack.Timestamp(1, 2),
)  # fmt: skip
"""Values that stand where a message has another one."""


def nested(depth: int, inner: bytes = b"\xc0") -> bytes:
    """A value inside so many lists of one item."""
    return b"\x91" * depth + inner


def nested_maps(depth: int) -> bytes:
    """The same of maps."""
    return b"\x81\xa1a" * depth + b"\xc0"


def with_value(content: dict[str, object], name: str, value: bytes) -> bytes:
    """The map with these bytes as one more field, or in place of the one it has; not packed again."""
    rest = {key: one for key, one in content.items() if key != name}
    body = b"".join(msgpack.packb(key) + msgpack.packb(one) for key, one in rest.items())
    return bytes([0xDE]) + (len(rest) + 1).to_bytes(2, "big") + body + msgpack.packb(name) + value


def shapes() -> Iterator[bytes]:
    """Whole frames that are no message at all, or hardly."""
    yield from (
        b"",
        b"\xc1",
        b"\x80",
        b"\x90",
        b"\xc0",
        b"\xff" * 9,
        b"\xdf\xff\xff\xff\xff",
        b"\xdd\xff\xff\xff\xff",
    )
    for depth in (33, 500, 900, 1000, 1023, 1024, 5000):
        yield nested(depth)
        yield nested_maps(depth)
    yield b"\x82\xa4type\xa5state\xa4type\xa3bye"
    yield b"\x81\x01\x02"


def changed(seed: int, count: int) -> Iterator[bytes]:
    """Vectors of the protocol with a few bytes or fields changed, cut off or put together."""
    rng = random.Random(seed)
    frames = [path.read_bytes() for path in VECTORS]
    plain = [
        msgpack.unpackb(data, strict_map_key=False) for data in frames if data[:1] > b"\x7f" and _reads(data)
    ]
    maps = [content for content in plain if isinstance(content, dict) and content]
    for _ in range(count):
        match rng.randrange(5):
            case 0:
                yield rng.randbytes(rng.choice((1, 10, 100, 3000)))
            case 1:
                data = bytearray(rng.choice(frames))
                for _ in range(rng.randrange(1, 6)):
                    data[rng.randrange(len(data))] = rng.randrange(256)
                yield bytes(data)
            case 2:
                data = bytearray(rng.choice(frames))
                yield bytes(data[: rng.randrange(len(data))]) + rng.choice(frames)[: rng.randrange(40)]
            case 3:
                content = rng.choice(maps)
                yield msgpack.packb({**content, rng.choice(list(content)): rng.choice(EVIL)})
            case _:
                content = rng.choice(maps)
                yield with_value(content, rng.choice([*content, "new"]), nested(rng.randrange(2, 1023)))


def _reads(data: bytes) -> bool:
    try:
        msgpack.unpackb(data)
    except ValueError:
        return False
    return True
