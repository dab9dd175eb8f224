"""Constrained forward dynamics called from Python, beside Pinocchio's `constraintDynamics` and `lcaba`.

    python benchmarks/kernels.py [--machine NAME ...] [--rounds 200] [--calls 200] [--json]
    python benchmarks/kernels.py --trees 200

All are called with a state that lies in memory; a round is a block of calls of each, in turns. What counts
is the ratio, median over the rounds. Where closures are redundant (a planar point in space, a hinge that
closes a loop of hinges), theirs iterate; their settings are those with which all agree to 1e-9.
`--trees` compares M, h and accelerations of random trees with Pinocchio and MuJoCo instead, and says the
largest relative difference.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the models for Pinocchio belong to the tests

import numpy as np
import pinocchio as pin

from benchmarks.closed_for_peers import MACHINES, in_motion
from linkwork.multibody.dynamics.other_formulations import constrained_forward_dynamics
from tests.verification.in_pinocchio import InPinocchio

LCABA_ENDS = ("four_bar",)
"""Machines with which pin 4.1's `lcaba` ends the process (a segmentation fault)."""


def measure(name: str, rounds: int, count: int) -> dict[str, Any]:
    """Microseconds a call of each, ratios, differences and closure residuals, in a state of motion."""
    machine = in_motion(name)
    work = machine.plant_mechanism.workspace()
    work.q[:], work.v[:] = machine.initial_q, machine.initial_v
    other = InPinocchio(machine.plant_mechanism)
    state, ours_given = other.state(work.q, work.v, work.effort), work.arguments
    theirs_given = (other.model, other.data, *state, other.models, other.datas, other.settings)
    accelerate = other.function

    def ours() -> None:
        constrained_forward_dynamics(*ours_given)

    calls: dict[str, Callable[[], Any]] = {"ours": ours, "pinocchio": lambda: accelerate(*theirs_given)}
    if name not in LCABA_ENDS:
        recursive = InPinocchio(machine.plant_mechanism)
        recursively = recursive.lcaba(work.q, work.v, work.effort)
        calls["lcaba"] = lambda: pin.lcaba(*recursively)
    for call in calls.values():
        call()
    found = {"ours": work.vdot, "pinocchio": other.data.ddq[other.order]}
    if "lcaba" in calls:
        found["lcaba"] = recursive.data.ddq[recursive.order]
    off = {
        who: float(np.abs(work.A @ vdot - work.b).max() / np.abs(vdot).max()) for who, vdot in found.items()
    }
    scale = np.abs(work.vdot).max()
    times: dict[str, list[float]] = {who: [] for who in calls}
    for _ in range(rounds):
        for who, call in calls.items():
            times[who].append(_block(call, count))
    peers = {
        who: {
            "us": spread(times[who]),
            "ratio": spread([a / b for a, b in zip(times["ours"], times[who], strict=True)]),
            "difference": float(np.abs(work.vdot - vdot).max() / scale),
        }
        for who, vdot in found.items()
        if who != "ours"
    }
    return {"machine": name, "ours_us": spread(times["ours"]), "peers": peers, "off": off}


def _block(call: Callable[[], None], calls: int) -> float:
    began = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - began) / calls * 1e6


def spread(values: list[float]) -> dict[str, float]:
    """Median and quartiles."""
    low, middle, high = quantiles(values, n=4)
    return {"median": round(middle, 4), "low_quartile": round(low, 4), "high_quartile": round(high, 4)}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--machine", action="append", help="repeatable; default: " + ", ".join(MACHINES))
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--trees", type=int, help="compare so many random trees instead")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.trees:
        from tests.verification.random_trees import compare_tree

        worst = max(compare_tree(seed) for seed in range(options.trees))
        print(json.dumps({"trees": options.trees, "difference": worst}))
        return
    found = [measure(name, options.rounds, options.calls) for name in options.machine or MACHINES]
    if options.json:
        print(json.dumps(found, indent=1))
        return
    print(f"{'machine':<16}{'ours µs':>9}  {'peer':<10}{'µs':>9}{'ratio':>8}  quartiles        difference")
    for one in found:
        for who, peer in one["peers"].items():
            ratio = peer["ratio"]
            print(
                f"{one['machine']:<16}{one['ours_us']['median']:>9.2f}  {who:<10}{peer['us']['median']:>9.2f}"
                f"{ratio['median']:>8.3f}  {ratio['low_quartile']:.3f} to {ratio['high_quartile']:.3f}"
                f"   {peer['difference']:.1e}"
            )


if __name__ == "__main__":
    main()
