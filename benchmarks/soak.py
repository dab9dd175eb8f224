"""Random goals that arrive at random, for as long as wanted: faults, and growth of memory.

    python benchmarks/soak.py [--machine scara] [--pace lockstep] [--minutes 60] [--log DIR] [--json]

Moves to random poses at random speeds begin from rest or take over from a goal under way; some are stopped,
paused, or given another speed. Anonymous memory of the four processes is read every 30 s; the first tenth
of the readings is not counted (buffers fill). Growth is the median of the last third of the rest minus that
of the first third. The exit status is 1 if there was a fault, a restarted process, or lost ticks in the
log.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

from rig import BenchRig

from linkwork.protocol.errors import RequestError

READ_EVERY_S = 30.0
TARGETS = {
    "scara": {"shoulder": (-0.6, 0.9), "elbow": (-1.4, -0.4), "wrist": (-1.0, 1.0), "lift": (0.0, 0.3)},
    "five_bar": {"left": (1.9, 2.4), "right": (0.75, 1.25)},
}
"""Range of each coordinate (rad or m) of the machines that can be soaked."""


def anonymous_MiB(pid: int) -> float:
    """Anonymous memory of a process."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Anonymous:")) / 1024


class Soak:
    """Random goals for one rig."""

    def __init__(self, rig: BenchRig, machine: str, seed: int) -> None:
        self._rig, self._targets, self._dice = rig, TARGETS[machine], random.Random(seed)
        self.asked: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        self._seen: set[int] = set()

    def act(self) -> None:
        """One request, and a random pause."""
        robot, dice = self._rig.robot, self._dice
        act = dice.choices(("move", "replace", "stop", "pause", "speed"), (4, 4, 1, 1, 2))[0]
        self.asked[act] += 1
        try:
            match act:
                case "move" | "replace":
                    target = {name: dice.uniform(*ends) for name, ends in self._targets.items()}
                    robot.move(target, wait=False, speed=dice.uniform(0.2, 1.0), replace=act == "replace")
                case "stop":
                    robot.stop()
                case "pause":
                    robot.pause()
                    time.sleep(dice.uniform(0.0, 0.1))
                    robot.resume()
                case _:
                    robot.speed(dice.uniform(0.3, 1.2), limit=True)
        except RequestError as error:  # a motion is under way, or none is
            self.asked[f"refused: {error.name}"] += 1
        for result in robot.state["results"]:
            if result["goal"] not in self._seen:
                self._seen.add(result["goal"])
                self.ended[result["name"]] += 1
        time.sleep(dice.expovariate(10.0))


def grown(readings: list[float]) -> float:
    """Median of the last third of the readings, less that of the first, after the first tenth."""
    counted = readings[len(readings) // 10 :]
    third = max(1, len(counted) // 3)
    return round(median(counted[-third:]) - median(counted[:third]), 2)


def measure(machine: str, pace: str, minutes: float, seed: int, log: Path | None) -> dict[str, Any]:
    """Soak one machine. The log is kept in the folder `log`."""
    with BenchRig(pace, config=machine, log_folder=log) as rig:
        rig.robot.enable()
        soak, before = Soak(rig, machine, seed), rig.robot.status
        pids = {
            "plant": rig.plant,
            **{name: before[f"{name}_pid"] for name in ("gateway", "loop", "planner")},
        }
        readings: dict[str, list[float]] = {name: [] for name in pids}
        begun = next_s = time.monotonic()
        while (now := time.monotonic()) < begun + 60.0 * minutes and rig.robot.state["fault"] is None:
            if now >= next_s:
                next_s += READ_EVERY_S
                for name, pid in pids.items():
                    readings[name].append(round(anonymous_MiB(pid), 2))
            soak.act()
        after = rig.robot.status
        with suppress(RequestError):
            rig.robot.disable()
    return {
        "machine": machine,
        "pace": pace,
        "minutes": round((time.monotonic() - begun) / 60.0, 1),
        "ticks": after["timing"]["ticks"],
        "missed": after["timing"]["missed"],
        "asked": dict(soak.asked),
        "ended": dict(soak.ended),
        "faults": after["faults"],
        "fault": after["fault"],
        "restarts": after["loops_started"] - before["loops_started"] + after["planner_restarts"],
        "log_lost": after["log_lost"],
        "anonymous_MiB": readings,
        "growth_MiB": {name: grown(values) for name, values in readings.items()},
    }


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--machine", choices=sorted(TARGETS), default="scara")
    parser.add_argument("--pace", choices=("lockstep", "device", "host"), default="lockstep")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=Path, help="folder that keeps the log (default: none is kept)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    machine, pace = options.machine, options.pace
    found = measure(machine, pace, options.minutes, options.seed, options.log)
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        ended = ", ".join(f"{count} {name}" for name, count in found["ended"].items())
        growth = ", ".join(f"{name} {value:+.2f}" for name, value in found["growth_MiB"].items())
        print(f"{machine}, {pace}, {found['minutes']} min: {found['ticks']} ticks, goals: {ended}")
        print(f"{found['faults']} faults, {found['restarts']} restarts, {found['log_lost']} ticks not logged")
        print(f"growth, MiB: {growth}")
    return 1 if found["faults"] or found["restarts"] or found["log_lost"] else 0


if __name__ == "__main__":
    sys.exit(main())
