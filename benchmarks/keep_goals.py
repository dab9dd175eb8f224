"""Random goals with bounds (`keep`) on shipped machines, with exact sensors: how far are bounds passed?

    python -m benchmarks.keep_goals [--goals 10000] [--machines scara delta] [--minutes 30] [--state FILE]
        [--json]

Goals and bounds are those of `tests/controller/loop/test_kept_bounds.py`, 20 of a seed. Plant and controller
run in one process without daemons. FILE keeps finished seeds: the next call continues there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.controller.motion.limits.effort_limits import Limited
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from tests.controller.loop.test_kept_bounds import MACHINES, Kept, random_goal

GOALS_OF_SEED, BOUND = 20, 1e-6


def goals_of_seed(machine: str, seed: int) -> dict[str, Any]:
    """Follow the goals of one seed; return how many met a bound, how far bounds were passed, and failures."""
    rng, rig = np.random.default_rng([seed, len(machine)]), Kept(machine, exact=True)
    done, met, refused, farthest, failed = 0, 0, 0, 0.0, []
    while done < GOALS_OF_SEED:
        rig = rig if rig.stands and done % 5 else Kept(machine, exact=True)
        by, keep, asked = random_goal(rig, rng)
        try:
            made = rig.plan(by, keep, **asked)
        except RequestError:
            refused += 1
            continue
        samples = rig.run(made)
        done += 1
        met += any(int(sample["limited"]) & Limited.KEEP for sample in samples)
        passed, code = rig.passed(samples, keep), int(samples[-1]["goal_code"])
        farthest = max(farthest, passed)
        if passed > BOUND or code != ResultCode.SUCCESSFUL or samples[-1]["fault"]:
            failed.append({"goal": done, "passed": passed, "code": code, "by": by, "keep": keep, **asked})
    return {
        "machine": machine, "seed": seed, "goals": done, "met": met, "refused": refused,
        "passed": farthest, "failed": failed,
    }  # fmt: skip


def main() -> int:
    """Run seeds of all machines in turn, and print their sums."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--goals", type=int, default=10_000)
    parser.add_argument("--machines", nargs="+", default=list(MACHINES), choices=MACHINES)
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="begin no further seed after these"
    )
    parser.add_argument("--state", type=Path, help="file of finished seeds: the next call continues there")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    if options.state is not None and options.state.exists():
        rows = [json.loads(line) for line in options.state.read_text(encoding="utf-8").splitlines()]
    known, until = {(row["machine"], row["seed"]) for row in rows}, time.monotonic() + 60.0 * options.minutes
    seeds = -(-options.goals // (GOALS_OF_SEED * len(options.machines)))
    for seed in range(seeds):
        for machine in options.machines:
            if (machine, seed) in known or time.monotonic() > until:
                continue
            rows.append(goals_of_seed(machine, seed))
            if options.state is not None:
                with options.state.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(rows[-1]) + "\n")
    summary = {
        "goals": sum(row["goals"] for row in rows),
        "met": sum(row["met"] for row in rows),
        "passed": max((row["passed"] for row in rows), default=0.0),
        "failed": [
            {"machine": row["machine"], "seed": row["seed"], **each} for row in rows for each in row["failed"]
        ],
    }
    if options.json:
        print(json.dumps(summary))
    else:
        goals, met, passed = (summary[name] for name in ("goals", "met", "passed"))
        print(f"{goals} goals, {met} at a bound; bounds passed by {passed:.2g} at most")
        for each in summary["failed"]:
            print(f"  {each}")
    return 1 if summary["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
