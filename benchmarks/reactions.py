"""What a sample of joint reactions costs in `linkwork simulate`, in steps of the same machine.

    python benchmarks/reactions.py [--machine NAME ...] [--steps 4000] [--rounds 15] [--json]

Each round simulates the same motion without reactions and with them, in turns, and counts the processor
time of this process. A second pair with half the steps is subtracted, so that what a run costs once
(building the model, loading kernels) is not counted. The ratio is the median over the rounds; 2 is allowed.
"""

from __future__ import annotations

import argparse
import json
import time
from statistics import quantiles
from typing import Any

from machine import Machine, load
from plant.offline import simulate

MACHINES = ("double_pendulum", "slider_crank", "four_bar", "five_bar", "scara", "platform_3rrs", "delta")
ALLOWED = 2.0


def measure(name: str, steps: int, rounds: int) -> dict[str, Any]:
    """Microseconds a step, microseconds a sample of reactions, and their ratio."""
    machine = load(name)
    for wanted in (False, True):
        _seconds(machine, 10, wanted)
    step, sample, ratio = [], [], []
    for _ in range(rounds):
        plain, both = (
            (_seconds(machine, steps, wanted) - _seconds(machine, steps // 2, wanted)) / (steps - steps // 2)
            for wanted in (False, True)
        )
        step.append(plain * 1e6)
        sample.append((both - plain) * 1e6)
        ratio.append((both - plain) / plain)
    return {
        "machine": name,
        "step_us": spread(step),
        "reactions_us": spread(sample),
        "steps_a_sample": spread(ratio),
    }


def _seconds(machine: Machine, steps: int, reactions: bool) -> float:
    dt = machine.plant.period_s / machine.plant.substeps
    began = time.process_time()
    simulate(machine, steps * dt, dt, reactions=reactions)
    return time.process_time() - began


def spread(values: list[float]) -> dict[str, float]:
    """Median and quartiles."""
    low, middle, high = quantiles(values, n=4)
    return {"median": round(middle, 3), "low_quartile": round(low, 3), "high_quartile": round(high, 3)}


def main() -> int:
    """The command line; ends with 1 where a machine takes more than is allowed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--machine", action="append", help="repeatable; default: " + ", ".join(MACHINES))
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = [measure(name, options.steps, options.rounds) for name in options.machine or MACHINES]
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        print(f"{'machine':<16}{'step us':>9}{'reactions us':>14}{'steps a sample':>16}  quartiles")
        for one in found:
            ratio = one["steps_a_sample"]
            print(
                f"{one['machine']:<16}{one['step_us']['median']:>9.2f}{one['reactions_us']['median']:>14.2f}"
                f"{ratio['median']:>16.2f}  {ratio['low_quartile']:.2f} to {ratio['high_quartile']:.2f}"
            )
    return int(any(one["steps_a_sample"]["median"] > ALLOWED for one in found))


if __name__ == "__main__":
    raise SystemExit(main())
