"""The machine alone, offline: no brakes, no sockets, no clock; motors give nothing or a constant effort."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from machine import Machine
from multibody.compiling import BUFFER, MATRIX, PARAMETERS, TOPOLOGY, float64, int64, kernel
from multibody.dynamics import dynamics, energy
from multibody.integrate import rk4, semi_implicit
from multibody.layout import NQ, NV, Q, V
from multibody.model import Integers
from multibody.vectors import Rows
from multibody.views import vector
from multibody.workspace import Workspace
from plant.layout import METHODS, RK4
from plant.simulator import SimulationDiverged

Floats = NDArray[np.float64]
MOST_STEPS: Final = 100_000_000
_CHUNK: Final = 20_000
_WHOLE: Final = 1e-9
"""Part of a step below which the rest of the duration is round-off."""


@dataclass(frozen=True, eq=False)
class Motion:
    """What was simulated: row k of `q` and `v` is the state at `time_s[k]`, columns as in `joint_names`.

    rad or m, and per second. Energies are kinetic plus potential, in joules; `steps_per_s` counts wall
    time.
    """

    joint_names: tuple[str, ...]
    time_s: Floats
    q: Floats
    v: Floats
    energy_start_J: float
    energy_end_J: float
    steps: int
    steps_per_s: float


@kernel(int64(PARAMETERS, TOPOLOGY, BUFFER, int64, float64, int64, MATRIX))
def _steps(p: Rows, t: Integers, w: Rows, method: int, dt: float, count: int, rows: Rows) -> int:
    """So many steps of dt, the state after each in a row [q, v]; returns how many came out finite."""
    q, v = vector(t, w, Q), vector(t, w, V)
    for step in range(count):
        if method == RK4:
            rk4(p, t, w, dt)
        else:
            semi_implicit(p, t, w, dt)
        total = 0.0
        for k in range(t[NQ]):
            rows[step, k] = q[k]
            total += q[k]
        for k in range(t[NV]):
            rows[step, t[NQ] + k] = v[k]
            total += v[k]
        if not math.isfinite(total):
            return step
    return count


def simulate(
    machine: Machine,
    duration_s: float,
    dt_s: float | None = None,
    initial: Mapping[str, float] | None = None,
    integrator: str | None = None,
    effort: ArrayLike | None = None,
    every: int = 1,
) -> Motion:
    """Let the plant's mechanism move for `duration_s` from its initial state.

    dt_s: step (none: the plant's period over its substeps); the last one is shorter where the duration
    demands it. initial: joint positions by name (rad or m) in place of the file's. integrator: "rk4" or
    "semi_implicit" (none: the file's). effort: one number per motor (N m or N), held. every: keep each
    so-manieth state, and always the last. Raises ValueError for an argument out of bounds,
    SimulationDiverged when the state leaves the finite numbers.
    """
    dt = machine.plant.period_s / machine.plant.substeps if dt_s is None else dt_s
    method = machine.plant.integrator if integrator is None else integrator
    _check(duration_s, dt, method, every)
    whole = math.floor(duration_s / dt + _WHOLE)
    rest = duration_s - whole * dt if duration_s - whole * dt > _WHOLE * dt else 0.0
    work = _begin(machine, initial or {}, effort)
    energy_start = _energy(work)
    recorded, seconds = _run(machine, work, METHODS[method], dt, whole, rest, every)
    times = np.concatenate([np.arange(0, whole + 1, every) * dt, [duration_s]])[: len(recorded)]
    times[-1] = duration_s
    steps = whole + (rest > 0.0)
    nq = machine.plant_mechanism.nq
    return Motion(
        machine.plant_mechanism.joint_names,
        times,
        recorded[:, :nq],
        recorded[:, nq:],
        energy_start,
        _energy(work),
        steps,
        steps / seconds if seconds > 0.0 else 0.0,
    )


def _check(duration_s: float, dt: float, method: str, every: int) -> None:
    if not (math.isfinite(duration_s) and duration_s > 0.0):
        raise ValueError(f"the duration must be positive and finite, not {duration_s} s")
    if not (math.isfinite(dt) and dt > 0.0):
        raise ValueError(f"the step must be positive and finite, not {dt} s")
    if duration_s / dt > MOST_STEPS:
        raise ValueError(
            f"{duration_s:g} s in steps of {dt:g} s are more than {MOST_STEPS} steps; take a longer step"
        )
    if method not in METHODS:
        raise ValueError(f"{method!r} is no integrator; there are {', '.join(METHODS)}")
    if every < 1:
        raise ValueError(f"`every` must be at least 1, not {every}")


def _begin(machine: Machine, initial: Mapping[str, float], effort: ArrayLike | None) -> Workspace:
    mechanism = machine.plant_mechanism
    work = mechanism.workspace()
    work.q[:], work.v[:] = machine.initial_q, machine.initial_v
    for name, value in initial.items():
        if name not in mechanism.joint_names:
            raise ValueError(f"there is no joint {name!r}; there are {', '.join(mechanism.joint_names)}")
        if not math.isfinite(value):
            raise ValueError(f"the initial position of {name} must be finite, not {value}")
        work.q[mechanism.joint_index(name)] = value
    given = np.zeros(len(machine.motors)) if effort is None else np.asarray(effort, np.float64)
    if given.shape != (len(machine.motors),) or not np.all(np.isfinite(given)):
        raise ValueError(f"`effort` must be {len(machine.motors)} finite numbers, one per motor")
    for motor, value in zip(machine.motors, given, strict=True):
        work.effort[motor.index] += value
    return work


def _energy(work: Workspace) -> float:
    dynamics(*work.arguments)
    energy(*work.arguments)
    return float(work.energy.sum())


def _run(
    machine: Machine, work: Workspace, method: int, dt: float, whole: int, rest: float, every: int
) -> tuple[Floats, float]:
    """The recorded states, the initial one first, and the wall time that the steps took."""
    width = len(work.q) + len(work.v)
    chunk = np.empty((min(_CHUNK, whole + 1), width))
    kept = [np.concatenate([work.q, work.v])[None, :]]
    _steps(*work.arguments, method, dt, 0, chunk)  # loads the kernel before the clock runs
    seconds, done = 0.0, 0
    for count, step in [*((n, dt) for n in _chunks(whole, len(chunk))), *([(1, rest)] if rest else [])]:
        began = time.perf_counter()
        finite = _steps(*work.arguments, method, step, count, chunk)
        seconds += time.perf_counter() - began
        if finite < count:
            at_s = (done + finite + 1) * dt
            raise SimulationDiverged(
                f"the simulation of {machine.name} diverged at {at_s:g} s; shorten the step"
            )
        first = (-done - 1) % every
        kept.append(chunk[first:count:every].copy())
        done += count
    last = np.concatenate([work.q, work.v])[None, :]
    if done % every:
        kept.append(last)
    return np.concatenate(kept), seconds


def _chunks(total: int, size: int) -> list[int]:
    return [size] * (total // size) + ([total % size] if total % size else [])
