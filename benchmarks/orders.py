"""What it costs the loop to read an order, beside one bare `struct` call for all numbers of its datagram."""

from __future__ import annotations

import argparse
import json
import struct
from timeit import repeat

from linkwork.controller.exchange.orders import (
    JogCoordinates,
    Order,
    SetPayload,
    SetSpeed,
    Splice,
    StartGoal,
    Stop,
    read_order,
)
from linkwork.protocol.codes import ResultCode

ORDERS: tuple[Order, ...] = (
    Stop(),
    SetSpeed(0.5),
    StartGoal(1, 5000, 77, 5),
    StartGoal(1, 5000, 77, 5, Splice(4, 0.3, 1.0, ResultCode.REPLACED)),
    JogCoordinates(((0, 0.1), (1, -0.1))),
    SetPayload(1, 2.0),
)
BARE = struct.Struct("<9q24d")


def measure_orders(count: int) -> dict[str, tuple[float, float]]:
    """Least time in µs of five runs of so many calls, by order: to read it, and the bare struct call."""
    found = {}
    for order in ORDERS:
        data = order.pack()
        times = [
            1e6 * min(repeat(lambda read=read, data=data: read(data), number=count, repeat=5)) / count
            for read in (read_order, BARE.unpack)
        ]
        begin = f", {type(order.begin).__name__}" if isinstance(order, StartGoal) else ""
        found[type(order).__name__ + begin] = (times[0], times[1])
    return found


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure_orders(options.count)
    if options.json:
        print(json.dumps(found))
        return
    for name, (read, bare) in found.items():
        print(f"{name:24} {read:6.2f} µs  bare {bare:5.2f} µs")


if __name__ == "__main__":
    main()
