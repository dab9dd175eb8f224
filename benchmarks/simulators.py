"""Simulated motion beside Exudyn and Drake, each at the step that reaches the same error at the end.

    python benchmarks/simulators.py [--machine NAME ...] [--error 1e-4] [--rounds 5] [--json]

A machine is pushed by its motors for 0.1 s, with different efforts; then it moves freely for 0.5 s, and this
motion counts. The error is the largest of a hinge's angle at the end, against linkwork's reference
integration (DOP853, tolerance 1e-15). A peer takes the longest of its steps with which its error is at most
`--error`, or that of its least error where none is; linkwork takes the longest step with which its own error
is not larger than the peer's. Times are of the whole motion, one call from Python; the systems are built
before. `delta_gripper` and `five_bar_redundant` have the mechanisms of `delta` and `five_bar`.

Exudyn gets rigid bodies, constraints for all joints and closures, and generalized-alpha integration (second
order, exact closures). Drake gets a tree, ball constraints that close it, and its discrete solver (SAP, first
order, nearly rigid closures).
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from statistics import median, quantiles
from typing import Any

import numpy as np
from closed_for_peers import MACHINES, NotCarried, hinge_places, in_motion
from in_drake import in_drake
from in_exudyn import in_exudyn

from linkwork import Machine, simulate
from linkwork.arrays import Floats
from linkwork.multibody.steps.step import METHODS
from linkwork.offline.run_kernels import sampled_steps
from linkwork.offline.start_state import StartState, begin

SECONDS = 0.5
"""Duration of the motion."""
STEPS_S = tuple(2.0**-k for k in range(1, 17))
"""Longest first."""
LONG_S, BLOCK_S = 5.0, 0.01
"""Time of all rounds of a comparison after which no other begins (there are two at least), and least time of
the calls of one round.
"""
Run = Callable[[], Floats]
PEERS: dict[str, Callable[[Machine, float, float], Run]] = {"exudyn": in_exudyn, "drake": in_drake}
MODULES = {"exudyn": "exudyn", "drake": "pydrake"}


def in_linkwork(machine: Machine, step_s: float, duration_s: float) -> Run:
    """Return a call that simulates the machine with linkwork and returns the angles of its hinges (rad)."""
    work = begin(machine, StartState())
    start, found = work.buffer.copy(), np.zeros((1, len(work.q) + len(work.v)))
    places = hinge_places(machine)

    def run() -> Floats:
        work.buffer[:] = start
        sampled_steps(*work.arguments, METHODS["rk4"], step_s, round(duration_s / step_s), found)
        return found[0, places]

    return run


def measure(name: str, error: float, rounds: int) -> Iterator[dict[str, Any]]:
    """Yield for each peer the seconds, steps, errors and ratio, or the reason why there are none."""
    machine = in_motion(name)
    exact = simulate(machine, SECONDS, SECONDS, integrator="dop853").q[-1][hinge_places(machine)]
    for peer, make in PEERS.items():
        here = {"machine": name, "peer": peer}
        if find_spec(MODULES[peer]) is None:
            yield {**here, "reason": f"{peer} is not installed: pip install 'linkwork[bench]'"}
            continue
        try:
            theirs = _tuned(machine, make, exact, error)
        except NotCarried as cause:
            yield {**here, "reason": str(cause)}
            continue
        ours = _tuned(machine, in_linkwork, exact, theirs[2])
        times = _times({"linkwork": ours[0], peer: theirs[0]}, rounds)
        yield {
            **here,
            "seconds": {who: median(values) for who, values in times.items()},
            "step_ms": {"linkwork": 1e3 * ours[1], peer: 1e3 * theirs[1]},
            "error_rad": {"linkwork": ours[2], peer: theirs[2]},
            "ratio": quantiles([a / b for a, b in zip(times["linkwork"], times[peer], strict=True)], n=4),
        }


def _times(runs: dict[str, Run], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of a call of each run in each round."""
    times: dict[str, list[float]] = {who: [] for who in runs}
    calls = {who: max(1, math.ceil(BLOCK_S / _seconds(run, 1))) for who, run in runs.items()}
    since = time.perf_counter()
    for done in range(rounds):
        if done >= 2 and time.perf_counter() - since > LONG_S:
            break
        for who, run in runs.items():
            times[who].append(_seconds(run, calls[who]))
    return times


def _seconds(run: Run, calls: int) -> float:
    """Return the seconds of a call."""
    began = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - began) / calls


def _tuned(
    machine: Machine, make: Callable[[Machine, float, float], Run], exact: Floats, error: float
) -> tuple[Run, float, float]:
    """Return a run, its step (s) and its error: the longest step with at most this error, or the best."""
    best: tuple[Run, float, float] | None = None
    for step_s in STEPS_S:
        run = make(machine, step_s, SECONDS)
        try:
            off = run() - exact
        except (RuntimeError, ValueError):  # a solver that does not converge at so long a step
            continue
        found = float(np.abs(np.remainder(off + np.pi, 2.0 * np.pi) - np.pi).max())
        if np.isfinite(found) and (best is None or found < best[2]):
            best = run, step_s, found
        if found <= error:
            break
    if best is None:
        raise NotCarried("its solver fails at every step")
    return best


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--machine", action="append", help="repeatable; default: " + ", ".join(MACHINES))
    parser.add_argument("--error", type=float, default=1e-4, help="rad")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.rounds < 2:
        parser.error("--rounds must be at least 2")
    found = [
        one for name in options.machine or MACHINES for one in measure(name, options.error, options.rounds)
    ]
    if options.json:
        print(json.dumps(found, indent=1))
        return
    for one in found:
        print(f"{one['machine']:<15}{_line(one)}")


def _line(one: dict[str, Any]) -> str:
    peer = one["peer"]
    if "reason" in one:
        return f"{peer}: {one['reason']}"
    parts = [
        f"{who} {1e3 * one['seconds'][who]:.3g} ms (step {one['step_ms'][who]:.3g} ms, "
        f"error {one['error_rad'][who]:.0e} rad)"
        for who in ("linkwork", peer)
    ]
    return f"{', '.join(parts)}: {one['ratio'][1]:.2g}"


if __name__ == "__main__":
    main()
