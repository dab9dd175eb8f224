"""Times the fastest timing of second order with known poses, beside toppra with as many stations.

Both include the limits' coefficients at the stations; neither includes the making of a trajectory.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from timeit import timeit

import numpy as np
import toppra
from scipy.interpolate import BPoly

from linkwork.controller.planning.timing.profile import second_order
from linkwork.controller.planning.timing.stations import Stations, grid_of
from tests.controller.planning.test_fastest import seven_hinges, spline_of


def solvers(folder: Path, stations: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return both solves for a random path of an open chain of seven hinges: linkwork's, toppra's."""
    machine = seven_hinges(folder)
    ways = np.cumsum(np.random.default_rng(3).normal(0.0, 0.5, (4, 7)), axis=0)
    path, start = spline_of(machine, machine.mechanism.joint_names, [tuple(way) for way in ways])
    grid = grid_of(machine, path, 2, in_motion=False, intervals=stations)
    walked = Stations.along(machine, path, start.q, 0.0, grid, 1.0).walk

    def ours() -> object:
        return second_order(Stations(machine, path, grid, walked, 1.0), np.ones(stations), -1.0, {})

    pieces = BPoly.from_derivatives(path.knots, path.values)

    class Given(toppra.interpolator.AbstractGeometricPath):  # type: ignore[misc]
        dof, waypoints = 7, None
        path_interval = np.array([0.0, path.duration_s])

        def __call__(self, s: object, order: int = 0) -> object:
            return pieces(s, order)

    velocity, acceleration = (
        np.array([[-getattr(one, name), getattr(one, name)] for one in machine.joints])
        for name in ("velocity", "acceleration")
    )
    limits = [
        toppra.constraint.JointVelocityConstraint(velocity),
        toppra.constraint.JointAccelerationConstraint(acceleration),
    ]
    points = np.linspace(0.0, path.duration_s, stations + 1)

    def theirs() -> object:
        solver = toppra.algorithm.TOPPRA(limits, Given(), gridpoints=points, solver_wrapper="seidel")
        return solver.compute_parameterization(0.0, 0.0)

    return ours, theirs


def main() -> None:
    """Print the medians of the rounds (ms), and of their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stations", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=21)
    chosen = parser.parse_args()
    toppra.setup_logging("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        both = solvers(Path(folder), chosen.stations)
        times = [[1e3 * timeit(solve, number=3) / 3 for solve in both] for _ in range(chosen.rounds)]
    ours, other = (median(each) for each in zip(*times, strict=True))
    ratio = median(one / two for one, two in times)
    print(json.dumps({"linkwork_ms": ours, "toppra_ms": other, "ratio": ratio}))


if __name__ == "__main__":
    main()
