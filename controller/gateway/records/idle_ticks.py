"""Ticks of a braked machine in the log: all of their numbers in a form that compresses to almost nothing.

Only the times per phase of the loop's period are left out, in real time: they become NaN.
"""

import struct
from typing import Final

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.exchange.records import RecordLayout
from linkwork.controller.supervision.brakes import BRAKED
from linkwork.controller.supervision.state_machine import State

MOST: Final = 300
"""Ticks in one message; the tick after them is a message of its own."""
IDLE_SCHEMA: Final = "int64 first\nint64 ticks\nuint8[] differences\n"
"""ROS 2 message text: number of the first tick, and how many there are."""
_HEAD: Final = struct.Struct("<4sqqI")
_CDR_LITTLE_ENDIAN: Final = b"\0\1\0\0"
_WORD_BYTES: Final = 8
_ACTIVE, _STOPPING = int(State.ACTIVE), int(State.STOPPING)


def idle(words: NDArray[np.float64], layout: RecordLayout) -> NDArray[np.bool_]:
    """Return which records (n, words) are of a braked machine, or of a loop without a plant, as (n,)."""
    integers, at = words.view(np.int64), layout.offsets
    state, connected = integers[:, at["state"]], integers[:, at["connected"]] != 0
    braked = (integers[:, at["phase"]] == int(BRAKED)) & (state != _ACTIVE) & (state != _STOPPING)
    found: NDArray[np.bool_] = braked & ((state != State.UNCONFIGURED) | ~connected)
    return found


def idle_count(data: bytes) -> int:
    """The number of ticks in a message of `pack_idle`."""
    return int(_HEAD.unpack_from(data)[2])


def pack_idle(rows: NDArray[np.int64]) -> bytes:
    """Records (n, words) as CDR: second differences, word by word, the bytes of equal weight together."""
    before = np.zeros((2, rows.shape[1]), np.int64)
    second = np.diff(rows, n=2, axis=0, prepend=before)
    planes = np.ascontiguousarray(second.T).view(np.uint8).reshape(rows.shape[1], len(rows), _WORD_BYTES)
    data = planes.transpose(0, 2, 1).tobytes()
    return _HEAD.pack(_CDR_LITTLE_ENDIAN, int(rows[0, 0]), len(rows), len(data)) + data


def unpack_idle(data: bytes) -> list[bytes]:
    """The tick messages that `pack_idle` has packed. Raises ValueError when they are none."""
    _, _, count, size = _HEAD.unpack_from(data)
    planes = np.frombuffer(data, np.uint8, size, _HEAD.size).reshape(-1, _WORD_BYTES, count)
    second = np.ascontiguousarray(planes.transpose(0, 2, 1)).view(np.int64)[:, :, 0].T
    rows = np.cumsum(np.cumsum(second, axis=0), axis=0)
    return [_CDR_LITTLE_ENDIAN + row.tobytes() for row in rows]
