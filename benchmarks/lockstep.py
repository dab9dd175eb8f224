"""How fast lockstep runs, beside a bare ZeroMQ ping-pong of the same bytes in the same run.

    python benchmarks/lockstep.py [--rounds 60] [--ticks 1000] [--no-log] [--json]

A round is three blocks: ping-pong; ticks in which the arm holds its pose; ticks in which it follows a
trajectory. While one block runs, the processes of the others wait. What counts is the ratio, median over
the rounds.
"""

from __future__ import annotations

import argparse
import json
import time
from statistics import median, quantiles
from typing import Any

from echo import Echo
from loop_stages import measure_stages
from rig import BenchRig


def measure(rounds: int, ticks: int, *, log: bool) -> dict[str, Any]:
    """Rates per second of every round, and the ratios."""
    rates: dict[str, list[float]] = {"ping_pong": [], "holding": [], "following": []}
    with BenchRig("lockstep", log=log) as rig, Echo(rig.machine) as echo:
        rig.robot.enable()
        trajectory = rig.forth_and_back(ticks * rig.machine.period_s)
        echo.per_second(1000)
        for _ in range(rounds):
            rates["ping_pong"].append(echo.per_second(ticks))
            begin = time.perf_counter()
            rig.robot.advance(ticks)
            rates["holding"].append(ticks / (time.perf_counter() - begin))
            rates["following"].append(follow(rig, trajectory))
        rig.robot.disable()
    result: dict[str, Any] = {
        "rounds": rounds,
        "log": log,
        "per_second": {name: spread(values) for name, values in rates.items()},
    }
    for name in ("holding", "following"):
        ratios = [a / b for a, b in zip(rates[name], rates["ping_pong"], strict=True)]
        result[f"{name}_to_ping_pong"] = spread(ratios)
    return result


def follow(rig: BenchRig, trajectory: dict[str, Any]) -> float:
    """Ticks a second from the acceptance of a trajectory to its result; planning it is not counted."""
    goal = rig.robot.send(trajectory)
    before = rig.shared.head
    begin = time.perf_counter()
    goal.wait()
    return (rig.shared.head - before) / (time.perf_counter() - begin)


def spread(values: list[float]) -> dict[str, float]:
    """Median and quartiles."""
    low, middle, high = quantiles(values, n=4) if len(values) > 1 else values * 3
    assert middle == median(values)
    return {"median": round(middle, 4), "low_quartile": round(low, 4), "high_quartile": round(high, 4)}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--ticks", type=int, default=1000)
    parser.add_argument("--no-log", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = measure(options.rounds, options.ticks, log=not options.no_log)
    result["stages"] = measure_stages(10_000, "lockstep", None)
    if options.json:
        print(json.dumps(result, indent=1))
        return
    for name, rate in result["per_second"].items():
        print(f"{name:<24}{rate['median']:>8.0f} /s  {quartiles_of(rate, 0)}")
    for name in ("holding", "following"):
        ratio = result[f"{name}_to_ping_pong"]
        print(f"{name + ' / ping-pong':<24}{ratio['median']:>8.3f}     {quartiles_of(ratio, 3)}")
    parts = ", ".join(f"{name} {us:.1f}" for name, us in result["stages"].items())
    print(f"parts of a tick, median us: {parts}")


def quartiles_of(value: dict[str, float], digits: int) -> str:
    """The quartiles for people."""
    return f"(quartiles {value['low_quartile']:.{digits}f} to {value['high_quartile']:.{digits}f})"


if __name__ == "__main__":
    main()
