"""Orders and set-points in the log: what the loop received in which tick, with goals' blocks, so that it can
be replayed.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.exchange.orders import (
    ARGUMENTS,
    BY_NAME,
    NOW,
    Order,
    OrderOutcome,
    StartGoal,
    read_order,
)
from linkwork.controller.exchange.set_points import SetPoint

GOAL_SCHEMA = "int64 order\nint64 goal\nfloat64[] words\n"
"""ROS 2 message text of a goal's block (controller.goal_block)."""
SET_POINT_SCHEMA = "float64[] words\n"
"""ROS 2 message text of a set-point: the words of its slot (controller.set_points)."""
_HEAD = struct.Struct("<4sqqI4x")
_CDR_LITTLE_ENDIAN = b"\0\1\0\0"
_DATAGRAM = struct.Struct(f"<9q{ARGUMENTS}d")
"""Every place of an order's datagram."""


@dataclass(frozen=True, eq=False)
class GoalWords:
    """The block of the goal that an order began: the words of its slot."""

    order: int
    goal: int
    words: NDArray[np.float64]

    def pack(self) -> bytes:
        """Return the goal as a CDR message of GOAL_SCHEMA."""
        return _HEAD.pack(_CDR_LITTLE_ENDIAN, self.order, self.goal, len(self.words)) + self.words.tobytes()

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """The block in these bytes. Raises ValueError when they are none."""
        if len(data) < _HEAD.size:
            raise ValueError(f"a goal has at least {_HEAD.size} bytes, these are {len(data)}")
        _, order, goal, count = _HEAD.unpack_from(data)
        if len(data) != _HEAD.size + 8 * count:
            raise ValueError(f"a goal of {count} words has {_HEAD.size + 8 * count} bytes, not {len(data)}")
        return cls(order, goal, np.frombuffer(data, np.float64, count, _HEAD.size).copy())


@dataclass(frozen=True)
class TakenSetPoint:
    """A set-point that the loop has taken."""

    point: SetPoint

    def pack(self) -> bytes:
        """Return the set-point as a CDR message of SET_POINT_SCHEMA."""
        words = self.point.words()
        return struct.pack(f"<4sI{len(words)}d", _CDR_LITTLE_ENDIAN, len(words), *words)

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """The set-point in these bytes. Raises ValueError when they are none."""
        if len(data) < 8 or (len(data) - 8) % 8:
            raise ValueError(f"a set-point does not have {len(data)} bytes")
        return cls(SetPoint.of_words(list(struct.unpack_from(f"<{(len(data) - 8) // 8}d", data, 8))))


def order_event(order: Order, record: np.void) -> dict[str, Any]:
    """The event `order`: its number and kind, when it arrived, and the places of its datagram.

    `outcome`: None of an order that waits; it ends with the event `order.end`.
    """
    ends = order.id == int(record["order_id"])
    (slot, length, generation, checksum, goal), arguments = order.places()
    return {
        "tick": int(record["tick"]),
        "time_s": float(record["time_s"]),
        "order": order.id,
        "kind": order.name,
        "at_tick": None if order.at_tick == NOW else order.at_tick,
        "slot": slot,
        "length": length,
        "generation": generation,
        "checksum": checksum,
        "goal": goal,
        "arguments": arguments,
        "authority": order.authority,
        "outcome": OrderOutcome(int(record["order_outcome"])).name if ends else None,
    }


def arrival_events(
    order: Order, record: np.void, words: NDArray[np.float64] | None
) -> list[tuple[str, dict[str, Any] | GoalWords]]:
    """The log's events of an order that the loop received in this tick.

    words: those of its goal's slot (n), the first of which are the goal's.
    """
    events: list[tuple[str, dict[str, Any] | GoalWords]] = [("order", order_event(order, record))]
    if isinstance(order, StartGoal) and words is not None:
        events.append(("goal", GoalWords(order.id, order.goal, words[: order.words])))
    return events


def end_event(order: Order, outcome: OrderOutcome, record: np.void) -> dict[str, Any]:
    """The event `order.end` of an order that had to wait: its outcome, and the tick of it."""
    at = {"tick": int(record["tick"]), "time_s": float(record["time_s"])}
    return {**at, "order": order.id, "kind": order.name, "outcome": outcome.name}


def order_of(event: Mapping[str, Any]) -> Order:
    """The order that an event records. Raises KeyError or ValueError if it records none."""
    at_tick, arguments = event["at_tick"], [float(argument) for argument in event["arguments"]]
    places = [int(event[name]) for name in ("slot", "length", "generation", "checksum", "goal")]
    return read_order(
        _DATAGRAM.pack(
            int(event["order"]),
            BY_NAME[str(event["kind"])].kind,
            NOW if at_tick is None else int(at_tick),
            *places,
            int(event.get("authority", 0)),
            *arguments,
            *[0.0] * (ARGUMENTS - len(arguments)),
        )
    )
