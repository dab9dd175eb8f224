"""What a sample of joint reactions costs in `linkwork simulate`, in steps of the same machine.

    python benchmarks/reactions.py [--machine NAME ...] [--steps 4000] [--rounds 15] [--json]
    python benchmarks/reactions.py --published [--machine NAME ...] [--steps 4000] [--json]

Each round simulates the same motion without reactions and with them, over all the steps and over half of
them, and counts the processor time of this process. What counts is the least time of each over the rounds,
which is the least disturbed one. Half the steps are subtracted from all, so that what a run costs once
(building the model, loading kernels) is left out. The exit status is 1 where a ratio is above 2.

`--published` measures instead what `controller.publish: [reactions]` adds to a tick of the controller that
holds the machine: the median time of `Tick.note`, with reactions and without.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the rig belongs to the tests

from linkwork.machine import Machine, load
from linkwork.offline.run import simulate
from tests.controller.loop.in_process import InProcess

MACHINES = ("double_pendulum", "slider_crank", "four_bar", "five_bar", "scara", "platform_3rrs", "delta")
PUBLISHING = ("scara", "five_bar", "platform_3rrs", "delta", "arm_6dof")
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


def measure_published(name: str, ticks: int) -> dict[str, Any]:
    """Median time of `Tick.note` in microseconds, without reactions and with them."""
    machine = load(name)
    publishing = replace(machine, controller=machine.controller.with_values(publish=("reactions",)))
    usual, more = _note_us(machine, ticks), _note_us(publishing, ticks)
    payloads = len(machine.payloads)
    return {"machine": name, "payloads": payloads, "note_us": usual, "published_note_us": more}


def _note_us(machine: Machine, ticks: int) -> float:
    rig = InProcess(machine)
    rig.enable()
    note, times = rig.controller.note, list[int]()

    def clocked(*arguments: Any) -> None:
        began = time.perf_counter_ns()
        note(*arguments)
        times.append(time.perf_counter_ns() - began)

    rig.controller.note = clocked  # type: ignore[method-assign]
    for _ in range(ticks):
        rig.tick()
    return round(median(times) / 1e3, 2)


def main() -> int:
    """The command line; ends with 1 where a machine takes more than is allowed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--machine", action="append", help="repeatable; default: " + ", ".join(MACHINES))
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--published", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.published:
        notes = [measure_published(name, options.steps) for name in options.machine or PUBLISHING]
        if options.json:
            print(json.dumps(notes, indent=1))
        else:
            print(f"{'machine':<16}{'payloads':>9}{'note us':>10}{'with reactions us':>19}")
            for one in notes:
                costs = f"{one['note_us']:>10.2f}{one['published_note_us']:>19.2f}"
                print(f"{one['machine']:<16}{one['payloads']:>9}{costs}")
        return 0
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
