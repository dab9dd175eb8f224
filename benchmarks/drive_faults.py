"""Measure in real time how long the faults of simulated CiA 402 drives take until they are named.

    python -m benchmarks.drive_faults [--mode cst] [--times 3] [FAULT …]

A five-bar at 250 Hz moves on two drives of `linkwork drive`. Each time begins where the fault is written to
its standard input, and ends where the line that names the motor is in the output of a daemon. A run that a
busy computer stops before the fault is repeated, three times at most.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from linkwork import GoalFailed, Robot
from linkwork.client.connection import telemetry_endpoint
from linkwork.launch.daemons import Rig
from linkwork.machine.catalogue import shipped_path
from linkwork.protocol.errors import RequestError
from linkwork.protocol.sockets import Subscriber
from tests.system.test_cia402 import Drives, drives, in_position_mode, running

NAMED = {
    "late": "TPDO missing in a row",
    "missing": "TPDO missing in a row",
    "frozen": "its TPDO is frozen",
    "heartbeat": "no heartbeat for",
    "following": "following error",
    "emergency": "emergency",
    "power": "its power stage went off",
    "brake": "brake stuck, or blocked",
    "scaling_torque": "suspicion: the effort of left",
    "scaling_counts": "suspicion",
}
FROM_THE_START = ("scaling_torque",)
LONGEST_S = 5.0


def named(rig: Rig, events: Subscriber, text: str, since: int) -> bool:
    """Whether the plant, after its first lines, or an event of the controller says this of the motor left."""
    said = [str(line.get("text", "")) for line in rig.said("plant")[since:]]
    while (event := events.receive()) is not None:
        said.append(event[1].decode(errors="replace"))
    return any(text in each and "left" in each for each in said)


def measured(mode: str, fault: str, left: int = 3) -> tuple[float, float]:
    """Return the time until a fault is named (s), and the way of the motor until then (degrees)."""
    with tempfile.TemporaryDirectory() as folder:
        machine = Path(folder) / "five_bar.yaml"
        text = shipped_path("five_bar").read_text()
        machine.write_text(text.replace("\ncontroller:", "\nplant: {period_s: 0.004}\n\ncontroller:"))
        if mode == "csp":
            in_position_mode(machine)
        with (
            drives(machine, lockstep=False) as there,
            running(
                machine, Path(folder), "run", "--driver", "cia402", *there.options, lockstep=False, twin=True
            ) as (rig, robot),
        ):
            try:
                endpoint = telemetry_endpoint(robot.status["telemetry"], rig.requests)
                with Subscriber(endpoint, (b"twin.note",)) as events:
                    return until_named(rig, robot, there, events, fault)
            except (GoalFailed, RequestError) as error:
                sys.stderr.write(f"{fault}: again, {error}\n")
    return measured(mode, fault, left - 1) if left > 1 else (float("nan"), float("nan"))


def until_named(rig: Rig, robot: Robot, there: Drives, events: Subscriber, fault: str) -> tuple[float, float]:
    """Move, begin the fault, and wait until it is named."""
    if fault in FROM_THE_START:
        there.say(f"{fault} left")
        robot.enable()
    else:
        robot.enable()
        robot.move(left=2.0, right=1.2)
    since = len(rig.said("plant"))
    if fault != "scaling_counts":
        target = {"left": 1.7, "right": 1.2} if fault in FROM_THE_START else {"left": 2.5, "right": 1.0}
        robot.move(target, speed=0.3, wait=False)
        time.sleep(0.0 if fault in FROM_THE_START else 0.3)
    begun_s, from_there = time.monotonic(), robot.state["q"]["left"]
    if fault not in FROM_THE_START:
        there.say(f"{fault} left")
    while not named(rig, events, NAMED[fault], since):
        time.sleep(0.001)
        if time.monotonic() - begun_s > LONGEST_S:
            return float("nan"), float("nan")
    passed_s = time.monotonic() - begun_s
    way = 0.0 if fault == "scaling_counts" else robot.state["q"]["left"] - from_there  # at rest
    return passed_s, abs(float(np.degrees(way)))


def main() -> None:
    """Print a line for each fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", default="cst", choices=("cst", "csp"))
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("faults", nargs="*", default=list(NAMED))
    options = parser.parse_args()
    for fault in options.faults:
        found = [measured(options.mode, fault) for _ in range(options.times)]
        times = [1e3 * each for each, _ in found]
        ways = [way for _, way in found]
        text = f"median {statistics.median(times):.0f} ms, largest {max(times):.0f} ms; way {max(ways):.2f}°"
        sys.stdout.write(f"{fault}: {text} ({options.times} times)\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
