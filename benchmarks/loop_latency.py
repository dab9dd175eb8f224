"""Real time: how long after a state is in hand the command is with the socket, beside a bare ZeroMQ echo.

    python benchmarks/loop_latency.py [--seconds 30] [--cpu N] [--json]

First the two daemons run at their own period while the arm goes forth and back; the loop's own stamps
(`received_ns`, `sent_ns` of each tick) give the latency. In the gaps between the ticks, half a period after
each state, an echo of the same bytes makes its round trips on the same processor at a lower priority: same
run, same mood of the computer.

Then a second plant and a loop whose stages are clocked one by one (`loop_stages.py`) give the parts.
"""

from __future__ import annotations

import argparse
import json
from statistics import median
from typing import Any

import numpy as np
from echo import Echo
from loop_stages import measure_stages
from rig import BenchRig

from linkwork.timing.clock import Ticker, now_ns
from linkwork.timing.scheduling import share_processors
from linkwork.timing.statistics import Histogram

ECHO_PRIORITY = 40


def measure(seconds: float, cpu: int) -> dict[str, Any]:
    """Latency of the loop and round trips of the echo, µs, over `seconds` of motion."""
    latency, trips, lost = Histogram(), Histogram(), 0
    ratios = []
    with BenchRig("device", cpu=cpu) as rig, Echo(rig.machine, cpu=cpu, priority=ECHO_PRIORITY) as echo:
        rig.robot.enable()
        trajectory = rig.forth_and_back()
        ticker = Ticker(round(1e9 * rig.machine.period_s))
        end = now_ns() + round(1e9 * seconds)
        seen = rig.shared.head
        while now_ns() < end:
            goal = rig.robot.send(trajectory)
            records, seen = rig.records(rig.shared.head - 100)
            ticker.start(int(records["received_ns"][-1]) + ticker.period_ns // 2)
            block = np.empty(2000)
            ticker.wait()
            for index in range(len(block)):
                ticker.wait()
                block[index] = echo.trip_ns()
                trips.add(int(block[index]))
            records, seen = rig.records(seen)
            fresh = records[records["lost_in_a_row"] == 0]
            durations = fresh["sent_ns"] - fresh["received_ns"]
            for duration in durations:
                latency.add(int(duration))
            lost += len(records) - len(fresh)
            ratios.append(float(np.median(durations) / np.median(block)))
            goal.wait()
        rig.robot.disable()
        realtime = rig.realtime
    return {
        "realtime": realtime,
        "state_to_command": latency.summary().in_microseconds(),
        "ticks_without_a_state": lost,
        "bare_echo": trips.summary().in_microseconds(),
        "ratio": {"median": median(ratios), "low": min(ratios), "high": max(ratios), "blocks": len(ratios)},
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--cpu", type=int, default=min(share_processors()[0]))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = measure(options.seconds, options.cpu)
    result["stages"] = measure_stages(10_000, "device", options.cpu)
    del result["stages"]["wait for a state"]
    if options.json:
        print(json.dumps(result, indent=1))
        return
    print(result["realtime"])
    for name in ("state_to_command", "bare_echo"):
        numbers = result[name]
        print(f"{name:<18} p50 {numbers['p50_us']:>7.1f}  p99 {numbers['p99_us']:>7.1f}  "
              f"max {numbers['max_us']:>8.1f} us  ({numbers['count']})")  # fmt: skip
    ratio = result["ratio"]
    spread = f"({ratio['low']:.2f} to {ratio['high']:.2f}, {ratio['blocks']} blocks)"
    print(f"{'ratio':<19}{ratio['median']:.2f}  {spread}")
    print("parts, median us:  " + ", ".join(f"{name} {us:.1f}" for name, us in result["stages"].items()))


if __name__ == "__main__":
    main()
