"""By how much half the step divides the error: the slider-crank through its branch poses.

    python benchmarks/halving.py [--phases 20] [--json]

Two coordinates under one constraint (`plant`) and, beside them, the one degree of freedom that is left
(`bare`),

    (1 + 4 sin² q) q¨ + 4 sin q cos q q˙² + g cos q = 0

by the same integrator at 1 ms and at 0.5 ms, against DOP853 at 1e-13. A ratio is that of the largest errors
of all phases. 16 is what a local error of dt⁵ gives where it adds up in proportion to time. In fast motion
over several turns that part of the classical method's error nearly cancels, and dt⁵ t² of its slow loss of
energy remains, which is divided by 32; a symmetric method of the same order (Gauss, two stages) loses none.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.integrate import solve_ivp

from linkwork.arrays import Floats
from linkwork.machine import Machine, load
from linkwork.offline.run import simulate

STEP_S = 1e-3
SPEEDS, HORIZONS = (3.0, 6.0, 10.0), (0.2, 0.5, 1.0, 3.0)
_ROOT = math.sqrt(3.0)
_GAUSS = ((0.25, 0.25 - _ROOT / 6.0), (0.25 + _ROOT / 6.0, 0.25))


def rates(y: Floats) -> Floats:
    """y' of y = (angle, speed), 2 × phases."""
    s, c = np.sin(y[0]), np.cos(y[0])
    return np.array([y[1], -(4.0 * s * c * y[1] ** 2 + 9.81 * c) / (1.0 + 4.0 * s * s)])


def classical(y: Floats, h: float) -> Floats:
    """One step of Runge and Kutta's classical method."""
    a = rates(y)
    b = rates(y + 0.5 * h * a)
    c = rates(y + 0.5 * h * b)
    d = rates(y + h * c)
    return y + h / 6.0 * (a + 2.0 * b + 2.0 * c + d)


def gauss(y: Floats, h: float) -> Floats:
    """One step of the two-stage method of Gauss, solved by repetition."""
    one = two = rates(y)
    for _ in range(12):
        one, two = (rates(y + h * (row[0] * one + row[1] * two)) for row in _GAUSS)
    return y + 0.5 * h * (one + two)


def bare(
    step: Callable[[Floats, float], Floats], start: Floats, dt: float, counts: list[int]
) -> list[Floats]:
    """Angles of all phases after so many steps of 1 ms."""
    found, y = [], start
    for k in range(1, max(counts) + 1):
        for _ in range(round(STEP_S / dt)):
            y = step(y, dt)
        if k in counts:
            found.append(y[0])
    return found


def plant(machine: Machine, integrator: str, start: Floats, dt: float, counts: list[int]) -> list[Floats]:
    """The same of the simulated slider-crank."""
    runs = []
    for angle, speed in start.T:
        begun = replace(
            machine, initial_q=np.array([angle, -2.0 * angle]), initial_v=np.array([speed, -2.0 * speed])
        )
        motion = simulate(begun, max(counts) * STEP_S, dt, integrator=integrator, every=round(STEP_S / dt))
        runs.append(motion.q[counts, 0])
    return list(np.array(runs).T)


def measure(speed: float, phases: int, only: Sequence[str] = ()) -> list[dict[str, float]]:
    """For each horizon: the largest error at 1 ms, and its ratio to that at 0.5 ms; by all ways or some."""
    rng = np.random.default_rng(0)
    angles = rng.uniform(-math.pi, math.pi, phases)
    start = np.array([angles, speed * rng.choice([-1.0, 1.0], phases)])
    counts = [round(horizon / STEP_S) for horizon in HORIZONS]
    machine = load("slider_crank")
    exact = np.array(
        [
            solve_ivp(
                lambda _, y: rates(y), (0.0, HORIZONS[-1]), one, "DOP853", HORIZONS, rtol=1e-13, atol=1e-13
            ).y[0]
            for one in start.T
        ]
    ).T
    ways: dict[str, Callable[[float], list[Floats]]] = {
        "plant_rk4": lambda dt: plant(machine, "rk4", start, dt, counts),
        "bare_rk4": lambda dt: bare(classical, start, dt, counts),
        "plant_adaptive_rk4": lambda dt: plant(machine, "adaptive_rk4", start, dt, counts),
        "plant_gauss": lambda dt: plant(machine, "gauss", start, dt, counts),
        "bare_gauss": lambda dt: bare(gauss, start, dt, counts),
    }
    rows = [{"speed_rad_s": speed, "horizon_s": horizon} for horizon in HORIZONS]
    for name in only or ways:
        way = ways[name]
        coarse, fine = (np.abs(np.array(way(dt)) - exact).max(axis=1) for dt in (STEP_S, 0.5 * STEP_S))
        for row, error, half in zip(rows, coarse, fine, strict=True):
            row[f"{name}_error_rad"], row[f"{name}_ratio"] = float(error), float(error / half)
    return rows


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--phases", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [row for speed in SPEEDS for row in measure(speed, options.phases)]
    if options.json:
        print(json.dumps(rows, indent=1))
        return 0
    names = [key.removesuffix("_ratio") for key in rows[0] if key.endswith("_ratio")]
    print(f"{'rad/s':>6}{'s':>5}" + "".join(f"{name:>22}" for name in names))
    for row in rows:
        cells = (f"{row[f'{name}_error_rad']:>14.1e} ÷{row[f'{name}_ratio']:>6.1f}" for name in names)
        print(f"{row['speed_rad_s']:>6g}{row['horizon_s']:>5g}" + "".join(cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())
