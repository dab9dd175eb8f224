"""Measure what Foxglove clients cost the loop: missed ticks with them minus those without, in turns.

    python -m benchmarks.foxglove_load [--clients 3] [--pairs 8] [--seconds 15]

Each client is a process that subscribes to all channels of `linkwork foxglove`. The machine, a five-bar that
tolerates a loaded computer, swings.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.console import swing
from linkwork import Robot
from linkwork.launch.daemons import Rig
from tests.system.running import patient_five_bar

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


def load(clients: int, pairs: int, seconds: float) -> dict[str, Any]:
    """Missed ticks of each pair of blocks."""
    found = []
    with ExitStack() as whole:
        words = [str(patient_five_bar(Path(whole.enter_context(tempfile.TemporaryDirectory()))))]
        rig = whole.enter_context(Rig("five_bar", words, [*words, "--no-log"]))
        rig.wait_ready(lambda _: None)
        robot = whole.enter_context(Robot(endpoint=rig.requests))
        robot.enable()

        def block() -> int:
            before = robot.status["timing"]["missed"]
            swing(robot, "left", seconds)
            return int(robot.status["timing"]["missed"] - before)

        for _ in range(pairs):
            without = block()
            with ExitStack() as stack:
                serve(stack, rig, clients)
                found.append({"without": without, "with": block()})
    differences = [each["with"] - each["without"] for each in found]
    return {"clients": clients, "pairs": found, "median": statistics.median(differences)}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=15.0)
    given = parser.parse_args()
    print(json.dumps(load(given.clients, given.pairs, given.seconds)))


if __name__ == "__main__":
    main()
