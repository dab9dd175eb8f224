"""Orders in the log: what took effect in which tick, with a goal's block, so that it can be replayed."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.orders import NOW, Order, OrderKind

GOAL_SCHEMA = "int64 order\nint64 goal\nfloat64[] words\n"
"""ROS 2 message text of a goal's block (controller.goal_block)."""
_HEAD = struct.Struct("<4sqqI4x")
_CDR_LITTLE_ENDIAN = b"\0\1\0\0"


@dataclass(frozen=True, eq=False)
class GoalWords:
    """The block of the goal that an order began: the words of its slot."""

    order: int
    goal: int
    words: NDArray[np.float64]

    def pack(self) -> bytes:
        """As CDR, by GOAL_SCHEMA."""
        return _HEAD.pack(_CDR_LITTLE_ENDIAN, self.order, self.goal, len(self.words)) + self.words.tobytes()

    @classmethod
    def unpack(cls, data: bytes) -> GoalWords:
        """The block in these bytes. Raises ValueError when they are none."""
        if len(data) < _HEAD.size:
            raise ValueError(f"a goal has at least {_HEAD.size} bytes, these are {len(data)}")
        _, order, goal, count = _HEAD.unpack_from(data)
        if len(data) != _HEAD.size + 8 * count:
            raise ValueError(f"a goal of {count} words has {_HEAD.size + 8 * count} bytes, not {len(data)}")
        return cls(order, goal, np.frombuffer(data, np.float64, count, _HEAD.size).copy())


def order_event(order: Order, record: np.void) -> dict[str, Any]:
    """The event `order`: its number and kind, when it took effect, and its arguments."""
    return {
        "tick": int(record["tick"]),
        "time_s": float(record["time_s"]),
        "order": order.id,
        "kind": order.kind.name.lower(),
        "at_tick": None if order.at_tick == NOW else order.at_tick,
        "slot": order.slot,
        "length": order.length,
        "generation": order.generation,
        "checksum": order.checksum,
        "goal": order.goal_id,
        "arguments": list(order.arguments),
        "authority": order.authority,
    }


def order_of(event: Mapping[str, Any]) -> Order:
    """The order that an event tells of. Raises KeyError for what is no such event."""
    at_tick = event["at_tick"]
    return Order(
        int(event["order"]),
        OrderKind[str(event["kind"]).upper()],
        NOW if at_tick is None else int(at_tick),
        int(event["slot"]),
        int(event["length"]),
        int(event["generation"]),
        int(event["checksum"]),
        int(event["goal"]),
        tuple(float(argument) for argument in event["arguments"]),
        int(event.get("authority", 0)),
    )
