"""The model in symbols beside the recursion, at random states of every machine that ships; no daemons.

    python -m benchmarks.symbolic [--states 200] [--json] [MACHINE ...]

Of each machine: seconds to derive everything, operations of M, h and A with common subexpressions named, and
the largest difference of each result, relative to its largest entry at that state.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
from numpy.typing import NDArray

from linkwork.machine import load, shipped
from linkwork.multibody import Mechanism
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.symbolic import derive, numeric

LIMIT = 1e-11
SMALLEST = 1e-3
"""Size below which results are compared absolutely."""


def compared(mechanism: Mechanism, states: int, seed: int = 0) -> dict[str, object]:
    """One machine's figures."""
    start = time.perf_counter()
    model = derive(mechanism)
    seconds = time.perf_counter() - start
    parts = model.parts()
    function = numeric(model, list(parts.values()))
    rng, worst = np.random.default_rng(seed), dict.fromkeys(parts, 0.0)
    for _ in range(states):
        w = mechanism.workspace()
        w.q[:] = rng.uniform(-np.pi, np.pi, mechanism.nq)
        _normalise(mechanism, w.q)
        w.v[:] = rng.uniform(-3.0, 3.0, mechanism.nv)
        dynamics(*w.arguments)
        coordinates(*w.arguments)
        constraint_rows(*w.arguments)
        expected: dict[str, NDArray[np.float64]] = {
            "M": w.M, "h": w.h, "phi": w.phi, "A": w.A, "theta": w.theta, "J": w.J, "Jdot_v": w.Jdv,
            "points": w.point_position,
        }  # fmt: skip
        if len(w.phi):
            expected["Adot_v"] = -(w.b + w.baumgarte[:, 0] * w.phi_rate + w.baumgarte[:, 1] * w.phi)
        for (name, _), found in zip(parts.items(), function(w.q, w.v), strict=True):
            if found.size:
                size = max(float(np.abs(expected[name]).max()), SMALLEST)
                worst[name] = max(worst[name], float(np.abs(found - expected[name]).max()) / size)
    entries = [entry for key in ("M", "h", "A") for entry in parts[key].entries]
    return {
        "derived_s": round(seconds, 3),
        "operations": model.tape.operations(entries),
        "worst": max(worst.values()),
        **worst,
    }


def _normalise(mechanism: Mechanism, q: NDArray[np.float64]) -> None:
    model = mechanism.model
    for first, scalar in zip(model.ball_vector.tolist(), model.ball_scalar.tolist(), strict=True):
        places = [*range(first, first + 3), scalar]
        q[places] /= np.linalg.norm(q[places])


def main() -> None:
    """Print a line for each machine; end with 1 where one is beyond the limit."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("machines", nargs="*", default=shipped(), metavar="MACHINE")
    options.add_argument("--states", type=int, default=200)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    found = {name: compared(load(name).mechanism, given.states) for name in given.machines}
    if given.json:
        print(json.dumps(found, indent=2))
    else:
        for name, figures in found.items():
            print(
                f"{name:16} derived in {figures['derived_s']:6.2f} s, {figures['operations']:5} operations, "
                f"worst gap {figures['worst']:.1e}"
            )
    if any(not float(figures["worst"]) < LIMIT for figures in found.values()):  # type: ignore[arg-type]
        raise SystemExit(1)


if __name__ == "__main__":
    main()
