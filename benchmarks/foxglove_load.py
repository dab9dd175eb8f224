"""Measure what Foxglove clients cost the loop: missed ticks with them minus those without, in turns.

    python -m benchmarks.foxglove_load [--machine delta] [--clients 3] [--pairs 8] [--seconds 15]

Each client is a process that subscribes to all channels of `linkwork foxglove`. The machine swings.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from contextlib import ExitStack
from typing import Any

from benchmarks.console import running, swing
from linkwork import Robot
from linkwork.launch.daemons import Rig

VIEWER = """
import asyncio, json, sys, websockets
async def view():
    protocols = ["foxglove.sdk.v1", "foxglove.websocket.v1"]
    async with websockets.connect(sys.argv[1], subprotocols=protocols, max_size=None) as socket:
        count = 0
        async for message in socket:
            if isinstance(message, str) and '"advertise"' in message:
                channels = json.loads(message)["channels"]
                ids = [{"id": each["id"], "channelId": each["id"]} for each in channels]
                await socket.send(json.dumps({"op": "subscribe", "subscriptions": ids}))
            count += 1
            if count == 100:
                print("viewing", flush=True)
asyncio.run(view())
"""


def started(stack: ExitStack, *argv: str) -> subprocess.Popen[str]:
    """A process with a pipe to and from it, which ends with the stack."""
    process = subprocess.Popen(
        [sys.executable, *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def end() -> None:
        process.terminate()
        process.communicate(timeout=30)

    stack.callback(end)
    return process


def serve(stack: ExitStack, rig: Rig, clients: int) -> None:
    """The server and its clients, each of which has received 100 messages."""
    server = started(stack, "-m", "linkwork", "foxglove", "--endpoint", rig.requests, "--json", "--lifeline")
    assert server.stdout is not None
    address = json.loads(server.stdout.readline())["address"]
    for viewer in [started(stack, "-c", VIEWER, address) for _ in range(clients)]:
        assert viewer.stdout is not None
        viewer.stdout.readline()


def load(machine: str, clients: int, pairs: int, seconds: float) -> dict[str, Any]:
    """Missed ticks of each pair of blocks."""
    found = []
    with running(machine) as rig, Robot(endpoint=rig.requests) as robot:
        robot.enable()
        coordinate = robot.describe()["goal_coordinates"][-1]

        def block() -> int:
            before = robot.status["timing"]["missed"]
            swing(robot, coordinate, seconds)
            return int(robot.status["timing"]["missed"] - before)

        for _ in range(pairs):
            without = block()
            with ExitStack() as stack:
                serve(stack, rig, clients)
                found.append({"without": without, "with": block()})
    differences = [each["with"] - each["without"] for each in found]
    return {"machine": machine, "clients": clients, "pairs": found, "median": statistics.median(differences)}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--machine", default="delta")
    parser.add_argument("--clients", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=15.0)
    given = parser.parse_args()
    print(json.dumps(load(given.machine, given.clients, given.pairs, given.seconds)))


if __name__ == "__main__":
    main()
