"""What a sample of joint reactions costs in `linkwork simulate`, in steps of the same machine.

    python benchmarks/reactions.py [--machine NAME ...] [--steps 4000] [--rounds 15] [--json]

Each round simulates the same motion without reactions and with them, over all the steps and over half of
them, and counts the processor time of this process. What counts is the least time of each over the rounds,
which is the least disturbed one. Half the steps are subtracted from all, so that what a run costs once
(building the model, loading kernels) is left out. The exit status is 1 where a ratio is above 2.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from linkwork.machine import Machine, load
from linkwork.plant.offline.run import simulate

MACHINES = ("double_pendulum", "slider_crank", "four_bar", "five_bar", "scara", "platform_3rrs", "delta")
ALLOWED = 2.0


def measure(name: str, steps: int, rounds: int) -> dict[str, Any]:
    """Microseconds a step, microseconds a sample of reactions, and their ratio."""
    machine = load(name)
    runs = [(count, wanted) for count in (steps // 2, steps) for wanted in (False, True)]
    least = dict.fromkeys(runs, float("inf"))
    for wanted in (False, True):
        _seconds(machine, 10, wanted)
    for _ in range(rounds):
        for run in runs:
            least[run] = min(least[run], _seconds(machine, *run))
    plain, both = (
        (least[steps, wanted] - least[steps // 2, wanted]) / (steps - steps // 2) * 1e6
        for wanted in (False, True)
    )
    return {
        "machine": name,
        "step_us": round(plain, 3),
        "reactions_us": round(both - plain, 3),
        "steps_a_sample": round((both - plain) / plain, 3),
    }


def _seconds(machine: Machine, steps: int, reactions: bool) -> float:
    dt = machine.plant.period_s / machine.plant.substeps
    began = time.process_time()
    simulate(machine, steps * dt, dt, reactions=reactions)
    return time.process_time() - began


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
        print(f"{'machine':<16}{'step us':>9}{'reactions us':>14}{'steps a sample':>16}")
        for one in found:
            times = f"{one['step_us']:>9.2f}{one['reactions_us']:>14.2f}"
            print(f"{one['machine']:<16}{times}{one['steps_a_sample']:>16.2f}")
    return int(any(one["steps_a_sample"] > ALLOWED for one in found))


if __name__ == "__main__":
    raise SystemExit(main())
