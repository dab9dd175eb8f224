"""Messages between gateway and twin, over a pair of sockets that keep messages apart.

A message is a kind (int64) and rows, every field 8 bytes wide, in this computer's byte order: both ends run
on it. The gateway sends `Kind.TICKS`, rows of `Words.asked`, and `Kind.LOAD`, one row of `LOAD`; the twin
sends one `Kind.READY` without rows, then for every `TICKS` one `ANSWER`, with a row of `Words.answered` for
every row that it was sent, in their order. Before an answer there may be a `SUSPICION`, rows of `SUSPICION`.
"""

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_ROWS = 64
"""Rows in a message."""
_KIND = np.dtype(np.int64)

LOAD = np.dtype([("from_tick", "i8"), ("point", "i8"), ("load", "f8", (10,))])
"""From this tick on the machine carries this at its `point`-th point: mass, centre of mass, moments of
inertia about it (xx, xy, xz, yy, yz, zz), kg and m, in the axes of the point's body.
"""

SUSPICION = np.dtype([("tick", "i8"), ("motor", "i8"), ("factor", "f8")])
"""In this tick the efforts of this motor were found to act by this factor of the model's."""


class Kind(IntEnum):
    """Type of a message."""

    READY = 0
    TICKS = 1
    LOAD = 2
    ANSWER = 3
    SUSPICION = 4


class Words:
    """The rows for a machine of so many positions, velocities, motors and goal coordinates.

    `asked`: `tick`; `device_tick`, number of the state; `stamp_ns`, returned as it is; `time_s`; `mode` of
    the command that this tick sent (protocol.codes.Mode) with its `effort` (motors, N m or N; of drives that
    close the position loop the effort that they report); `driven`, 1 where the motors have the machine, and
    `fresh`, 1 where the state is this tick's; `judged`, 1 where a difference counts; `closed`, the bits of
    the switchable constraints that hold; `q`, `v`, the estimate; `input`, `output`, the signals.

    `answered`: `tick`, `time_s`; `compared`, 1 where the period that ended with this tick was compared;
    `judged`; `worst`, the difference (twin_differences.differences) with the greatest share of its threshold,
    and that `share`; `power` (W) and `energy` (J, over the window) of the difference; `effort` (goal
    coordinates) and `motor_effort` (motors), N m or N; `stamp_ns`.
    """

    def __init__(
        self,
        positions: int,
        velocities: int,
        motors: int,
        coordinates: int,
        signals: tuple[int, int] = (0, 0),
    ) -> None:
        self.differences = motors + coordinates + 1
        """How many differences `worst` counts through: motors, goal coordinates, the energy."""
        integers = ("tick", "device_tick", "stamp_ns", "mode", "driven", "fresh", "judged", "closed")
        self.asked = np.dtype(
            [
                *((name, "i8") for name in integers),
                ("time_s", "f8"),
                ("q", "f8", (positions,)),
                ("v", "f8", (velocities,)),
                ("effort", "f8", (motors,)),
                ("input", "f8", signals[:1]),
                ("output", "f8", signals[1:]),
            ]
        )
        self.answered = np.dtype(
            [
                ("tick", "i8"),
                ("time_s", "f8"),
                *((name, "i8") for name in ("compared", "judged", "worst")),
                *((name, "f8") for name in ("share", "power", "energy")),
                ("effort", "f8", (coordinates,)),
                ("motor_effort", "f8", (motors,)),
                ("stamp_ns", "i8"),
            ]
        )

    @property
    def most_bytes(self) -> int:
        """Bytes of the longest message."""
        return 8 + MOST_ROWS * max(self.asked.itemsize, self.answered.itemsize, LOAD.itemsize)


def pack(kind: Kind, rows: NDArray[Any] | None = None) -> bytes:
    """The message of this kind with these rows."""
    return _KIND.type(kind).tobytes() + (b"" if rows is None else rows.tobytes())


def kind_of(message: bytes) -> Kind:
    """The kind of a message. Raises ValueError."""
    if len(message) < _KIND.itemsize:
        raise ValueError(f"a message of {len(message)} bytes has no kind")
    return Kind(int(np.frombuffer(message, _KIND, 1)[0]))


def rows_of(message: bytes, row: np.dtype[Any]) -> NDArray[Any]:
    """The rows of a message, read-only. Raises ValueError where they are not whole."""
    return np.frombuffer(message, row, offset=_KIND.itemsize)
