"""How far the formulations agree: accelerations and constraint forces at random states of every machine.

    python -m benchmarks.formulations [--states 1000] [MACHINE ...]

The reference is the saddle-point (KKT) system on independent combinations of the scaled rows (those of the
singular value decomposition, of the rank that all formulations share). States whose smallest singular value
is below 1e-3 of the largest are left out. Printed: the largest difference over the size of the result.
"""

from __future__ import annotations

import argparse
from typing import get_args

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine, load, shipped
from linkwork.multibody.assembly.assembly import AssemblyError, assemble
from linkwork.multibody.formulations.acceleration import Formulation, RedundantRows, acceleration
from linkwork.multibody.formulations.evaluation import constraint_evaluation
from linkwork.multibody.formulations.projector import saddle_point
from linkwork.multibody.functions import bias, coordinate_values, friction, mass_matrix

LEAST_RATIO = 1e-3


def random_states(machine: Machine, count: int, seed: int = 0) -> list[tuple[Floats, Floats, Floats]]:
    """States (q, v, effort) on the manifold around the initial pose, away from singular poses."""
    mechanism, rng, found = machine.mechanism, np.random.default_rng(seed), []
    while len(found) < count:
        q = machine.initial_q + rng.normal(size=mechanism.nq) * 0.3
        try:
            state = assemble(mechanism, q, rng.normal(size=mechanism.nv), tolerance=1e-11)
        except AssemblyError:
            continue
        if mechanism.constraints:
            there = constraint_evaluation(mechanism, state.q, state.v)
            values = there.singular_values
            if there.rank < state.ordinary_rank or values[there.rank - 1] < LEAST_RATIO * values[0]:
                continue
        if in_the_air(machine, state.q):
            found.append((state.q, state.v, rng.normal(size=mechanism.nv) * 5.0))
    return found


def in_the_air(machine: Machine, q: Floats) -> bool:
    """Whether no point is pressed against its plane at q; forces of contacts belong to no formulation."""
    there = coordinate_values(machine.mechanism, q)
    return all(there[row.gap] > 0.0 for row in machine.force_rows if row.gap >= 0)


def reference(machine: Machine, q: Floats, v: Floats, effort: Floats) -> tuple[Floats, Floats]:
    """v̇ and Fc by the saddle-point system on independent combinations of the scaled rows."""
    mechanism = machine.mechanism
    mass = mass_matrix(mechanism, q)
    r = effort + friction(mechanism, q, v) - bias(mechanism, q, v)
    there = constraint_evaluation(mechanism, q, v)
    scale, rank = there.velocity_scale, there.rank
    left = np.linalg.svd(there.scaled_rows)[0][:, :rank]
    a, b = left.T @ there.scaled_rows, left.T @ (there.row_scale * there.b)
    vdot, multipliers = saddle_point(scale[:, None] * mass * scale, scale * r, a, b)
    return scale * vdot, a.T @ multipliers / scale


def differences(machine: Machine, count: int, seed: int = 0) -> dict[str, tuple[float, float]]:
    """Of each formulation that takes the machine: largest relative difference of v̇, and of Fc."""
    worst: dict[str, tuple[float, float]] = {}
    for q, v, effort in random_states(machine, count, seed):
        vdot, force = reference(machine, q, v, effort)
        sizes = max(1.0, np.abs(vdot).max()), max(1.0, np.abs(force).max())
        for name in get_args(Formulation):
            try:
                found = acceleration(machine.mechanism, q, v, effort, name)
            except RedundantRows:
                continue
            now = (
                float(np.abs(found.vdot - vdot).max() / sizes[0]),
                float(np.abs(found.constraint_force - force).max() / sizes[1]),
            )
            before = worst.get(name, (0.0, 0.0))
            worst[name] = max(now[0], before[0]), max(now[1], before[1])
    return worst


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("machines", nargs="*", default=list(shipped()))
    parser.add_argument("--states", type=int, default=1000)
    asked = parser.parse_args()
    for name in asked.machines:
        for formulation, (vdot, force) in differences(load(name), asked.states).items():
            print(f"{name:18s} {formulation:15s} acceleration {vdot:8.1e}   constraint force {force:8.1e}")


if __name__ == "__main__":
    main()
