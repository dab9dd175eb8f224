"""Many slider-cranks at once beside MuJoCo's rollout, at the error that MuJoCo reaches.

    python benchmarks/batch.py [--cases 1000] [--steps 1000] [--threads 2] [--rounds 5] [--json]

Slider-cranks turn freely from different angles and speeds for `steps` ms. MuJoCo (`rollout`, one thread for
each processor) takes steps of 1 ms with its soft closures. linkwork takes the longest step, a multiple of
1 ms, with which its own error is at most MuJoCo's. Errors are medians over the cases, of the crank's angle at
the end against linkwork with steps of 0.25 ms. Times are medians over rounds in turns; the last lines are
linkwork at MuJoCo's step, and the same with another mass of the crank in each case beside it.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from statistics import median, quantiles
from typing import Any

import mujoco
import mujoco.rollout
import numpy as np

from linkwork import Machine, load, simulate_batch
from linkwork.arrays import Floats

STEP_S, EXACT_S = 1e-3, 0.25e-3
STEPS_MS = (25, 20, 10, 5, 4, 2, 1)
"""Longest first; each divides the duration."""


def starts(machine: Machine, cases: int) -> Floats:
    """States of cranks at many angles and speeds (cases × (nq + nv)), along motions of the machine."""
    rng = np.random.default_rng(1)
    first = np.concatenate([machine.initial_q, machine.initial_v])
    torques = rng.uniform(-1.0, 1.0, (cases, 1)) * machine.motors[0].max_effort * 0.3
    return simulate_batch(machine, first, 0.5, effort=torques, integrator="rk4")


def measure(cases: int, steps: int, threads: int, rounds: int) -> dict[str, Any]:
    """Seconds of both, their errors and the ratios."""
    machine = load("slider_crank")
    states, duration = starts(machine, cases), steps * STEP_S
    exact = simulate_batch(machine, states, duration, dt_s=EXACT_S, integrator="rk4")[:, 0]
    theirs = _mujoco(in_mujoco(), states, steps, threads)
    error = float(np.median(np.abs(theirs() - exact)))
    step_ms, own = next(
        (ms, found)
        for ms in STEPS_MS
        if (found := _error(machine, states, duration, ms, exact)) <= error or ms == STEPS_MS[-1]
    )
    calls: dict[str, Callable[[], Any]] = {
        "mujoco": theirs,
        "same_error": lambda: simulate_batch(
            machine, states, duration, dt_s=1e-3 * step_ms, integrator="rk4", workers=threads
        ),
        "same_step": lambda: simulate_batch(
            machine, states, duration, dt_s=STEP_S, integrator="rk4", workers=threads
        ),
    }
    masses = {"bodies.crank.mass_kg": np.linspace(0.9, 1.1, cases)}
    calls["parameters"] = lambda: simulate_batch(
        machine, states, duration, parameters=masses, dt_s=STEP_S, integrator="rk4", workers=threads
    )
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - began)

    def ratio(one: str, other: str) -> list[float]:
        return quantiles([a / b for a, b in zip(times[one], times[other], strict=True)], n=4)

    return {
        "cases": cases,
        "seconds": {name: median(values) for name, values in times.items()},
        "error_rad": {"mujoco": error, "linkwork": own},
        "step_ms": step_ms,
        "ratio": {
            "same_error": ratio("same_error", "mujoco"),
            "same_step": ratio("same_step", "mujoco"),
            "parameters": ratio("parameters", "same_step"),
        },
    }


def in_mujoco() -> mujoco.MjModel:
    """The slider-crank: point masses at the ends of crank and rod, half of the last one on a slide."""
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><option gravity="0 -9.81 0"><flag contact="disable"/></option>
        <worldbody>
          <body><joint axis="0 0 1"/><inertial pos="1 0 0" mass="1" diaginertia="2e-14 2e-14 2e-14"/>
            <body name="rod" pos="1 0 0"><joint axis="0 0 1"/>
              <inertial pos="1 0 0" mass="0.5" diaginertia="2e-14 2e-14 2e-14"/></body></body>
          <body name="slider" pos="2 0 0"><joint type="slide" axis="1 0 0"/>
            <inertial pos="0 0 0" mass="0.5" diaginertia="1e-6 1e-6 1e-6"/></body>
        </worldbody>
        <equality><connect body1="slider" body2="rod" anchor="0 0 0"/></equality></mujoco>"""
    )
    model.opt.timestep = STEP_S
    return model


def _mujoco(model: mujoco.MjModel, states: Floats, steps: int, threads: int) -> Callable[[], Floats]:
    """A call that simulates all states and returns the crank's angles at the end (cases; rad)."""
    datas = [mujoco.MjData(model) for _ in range(threads)]
    given = np.zeros((len(states), mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    crank, knee, crank_rate, knee_rate = states.T
    rod, rod_rate = crank + knee, crank_rate + knee_rate
    slider = np.cos(crank) + np.cos(rod) - 2.0
    slider_rate = -np.sin(crank) * crank_rate - np.sin(rod) * rod_rate
    given[:, 1:7] = np.column_stack([crank, knee, slider, crank_rate, knee_rate, slider_rate])

    def call() -> Floats:
        found, _ = mujoco.rollout.rollout(model, datas, initial_state=given, nstep=steps)
        angles: Floats = found[:, -1, 1]
        return angles

    return call


def _error(machine: Machine, states: Floats, duration_s: float, step_ms: int, exact: Floats) -> float:
    found = simulate_batch(machine, states, duration_s, dt_s=1e-3 * step_ms, integrator="rk4")[:, 0]
    return float(np.median(np.abs(found - exact)))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.cases, options.steps, options.threads, options.rounds)
    if options.json:
        print(json.dumps(found, indent=1))
        return
    seconds, ratio, error = found["seconds"], found["ratio"], found["error_rad"]
    print(
        f"{options.cases} slider-cranks × {options.steps} ms, {options.threads} threads: "
        f"MuJoCo {seconds['mujoco']:.2f} s, median error {error['mujoco']:.1e} rad"
    )
    for name, step in (("same_error", found["step_ms"]), ("same_step", 1)):
        low, middle, high = ratio[name]
        print(
            f"linkwork, steps of {step} ms: {seconds[name]:.2f} s, ratio {middle:.2f} ({low:.2f}-{high:.2f})"
            + (f", median error {error['linkwork']:.1e} rad" if name == "same_error" else "")
        )
    low, middle, high = ratio["parameters"]
    print(
        f"{options.cases} sets of parameters, steps of 1 ms: {seconds['parameters']:.2f} s, "
        f"{middle:.2f} of the same without ({low:.2f}-{high:.2f})"
    )


if __name__ == "__main__":
    main()
