"""Resident memory of loop, gateway and plant over an hour's worth of lockstep ticks.

    python benchmarks/memory.py [--ticks 3600000] [--no-log] [--json]

The first minute's worth (60,000 ticks at 1 kHz) is not counted: buffers fill, the first log segments open.
After it the resident size of each process is read every 60,000 ticks; growth is the last reading minus the
first. Half of the time the arm follows a trajectory, so that goals come and go.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from rig import BenchRig

from linkwork.timing.memory import resident_bytes

MINUTE_TICKS = 60_000


def measure(ticks: int, *, log: bool) -> dict[str, Any]:
    """Readings in MiB per process, first to last, and what they grew by."""
    with BenchRig("lockstep", log=log) as rig:
        pids = {"loop": rig.loop, "gateway": rig.gateway, "plant": rig.plant}
        readings: dict[str, list[float]] = {name: [] for name in pids}
        rig.robot.enable()
        trajectory = rig.forth_and_back()
        begin = time.perf_counter()
        first = rig.shared.head
        goals = 0
        while rig.shared.head - first < ticks:
            end = rig.shared.head + MINUTE_TICKS
            while rig.shared.head < end:
                rig.robot.send(trajectory).wait()
                rig.robot.advance(5000)
                goals += 1
            for name, pid in pids.items():
                readings[name].append(round(resident_bytes(pid) / 2**20, 3))
        seconds = time.perf_counter() - begin
        done = rig.shared.head - first
        rig.robot.disable()
    return {
        "ticks": done,
        "goals": goals,
        "log": log,
        "seconds": round(seconds, 1),
        "ticks_per_second": round(done / seconds),
        "resident_MiB": readings,
        "growth_MiB": {name: round(values[-1] - values[0], 3) for name, values in readings.items()},
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ticks", type=int, default=3_600_000)
    parser.add_argument("--no-log", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = measure(options.ticks, log=not options.no_log)
    if options.json:
        print(json.dumps(result, indent=1))
        return
    print(f"{result['ticks']} ticks, {result['goals']} goals, {result['ticks_per_second']} ticks/s")
    for name, values in result["resident_MiB"].items():
        print(f"{name:<8} after a minute {values[0]:>8.2f} MiB, at the end {values[-1]:>8.2f} MiB, "
              f"growth {result['growth_MiB'][name]:+.2f} MiB")  # fmt: skip


if __name__ == "__main__":
    main()
