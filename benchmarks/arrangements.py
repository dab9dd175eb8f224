"""Constrained forward dynamics of many loops in several arrangements, beside Pinocchio in the same run.

    python benchmarks/arrangements.py [--sizes 20,80] [--rounds 7] [--json]

A cell is a parallelogram of three hinged rods. `row`: cells on the ground, a degree of freedom each;
`on_a_pendulum`: on one swinging body; `tree` and `tower`: on the bars of other cells, two or one on each;
`grid`: cells that share their rods; `ring`: one loop of all rods; `platforms`: planar ones on three legs;
`legs`: one plate on many legs of two rods; `beam`: one beam on many parallel rods, with redundant rows.
Both are called from Python at the same state in memory; a round times a block of calls of each in turns, and
the ratio is the median over the rounds. `growth`: time over that of the smallest size, over the ratio of
their degrees of freedom before closing: 1 is linear. `difference`: of the accelerations, relative.
Pinocchio has no closure of two rows: its loops have three, one of them dependent.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from timeit import timeit
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the models belong to the tests

import numpy as np

from linkwork.multibody.constraints import PinClosure, PointClosure
from linkwork.multibody.dynamics.other_formulations import constrained_forward_dynamics
from linkwork.multibody.kernels.layout import RANK
from tests.multibody.loop_topologies import ARRANGEMENTS
from tests.verification.in_pinocchio import InPinocchio

BLOCK_S = 0.01


def measure(name: str, size: int, rounds: int) -> dict[str, Any]:
    """Microseconds a call of both, their ratio (quartiles), and their difference, in a state of motion."""
    mechanism, q = ARRANGEMENTS[name](size, PinClosure)
    work = mechanism.workspace()
    work.q[:] = q
    for _ in range(2):  # the first decides on the rank
        constrained_forward_dynamics(*work.arguments)
    free = mechanism.nv - int(work.ranking[RANK])
    work.v[:] = np.cos(1.0 + np.arange(free)) @ work.basis[:free]
    work.v[:] /= np.abs(work.v).max()
    other = InPinocchio(ARRANGEMENTS[name](size, PointClosure)[0])
    state, arguments = other.state(work.q, work.v, work.effort), work.arguments
    given = (other.model, other.data, *state, other.models, other.datas, other.settings)
    calls: dict[str, Callable[[], Any]] = {
        "linkwork": lambda: constrained_forward_dynamics(*arguments),
        "pinocchio": lambda: other.function(*given),
    }
    counts = {who: max(1, math.ceil(2.0 * BLOCK_S / timeit(call, number=2))) for who, call in calls.items()}
    times: dict[str, list[float]] = {who: [] for who in calls}
    for _ in range(rounds):
        for who, call in calls.items():
            times[who].append(timeit(call, number=counts[who]) / counts[who])
    apart = np.abs(work.vdot - other.data.ddq[other.order]).max() / np.abs(work.vdot).max()
    ratios = [a / b for a, b in zip(times["linkwork"], times["pinocchio"], strict=True)]
    return {
        "arrangement": name,
        "size": size,
        "loops": len(mechanism.constraints),
        "joints": mechanism.nv,
        "degrees_of_freedom": free,
        "us": {who: 1e6 * median(values) for who, values in times.items()},
        "ratio": quantiles(ratios, n=4),
        "difference": float(apart),
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", default="20,80")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = []
    for name in ARRANGEMENTS:
        rows = [measure(name, int(size), options.rounds) for size in options.sizes.split(",")]
        for row in rows:
            longer, larger = (
                row["us"]["linkwork"] / rows[0]["us"]["linkwork"],
                row["joints"] / rows[0]["joints"],
            )
            row["growth"] = longer / larger
        found += rows
    if options.json:
        print(json.dumps(found, indent=1))
        return
    heads = f"{'loops':>6}{'joints':>7}{'dof':>5}{'us':>9}{'Pinocchio':>11}{'ratio':>8}{'growth':>8}"
    print(f"{'arrangement':<15}{heads}")
    for row in found:
        sizes = f"{row['loops']:>6}{row['joints']:>7}{row['degrees_of_freedom']:>5}"
        times = f"{row['us']['linkwork']:>9.1f}{row['us']['pinocchio']:>11.1f}{row['ratio'][1]:>8.3f}"
        print(f"{row['arrangement']:<15}{sizes}{times}{row['growth']:>8.2f}   apart {row['difference']:.0e}")


if __name__ == "__main__":
    main()
