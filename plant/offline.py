"""The machine alone, offline: no brakes, no sockets, no clock; motors give nothing or a constant effort."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from machine import Machine
from multibody.dynamics import dynamics, energy
from multibody.formulations import FORMULATIONS as ACCELERATIONS
from multibody.layout import PASSAGES, RANK
from multibody.workspace import Workspace
from plant import offline_kernels as kernels
from plant.layout import METHODS
from plant.offline_outputs import Reactions, Tracks, columns_of, known_points, tracked
from plant.offline_ways import (
    FORMULATIONS,
    INTEGRATORS,
    Steps,
    integrator_of,
    reactions_of,
    steps_by,
)
from plant.simulator import SimulationDiverged
from plant.start import put_together
from plant.switching import Switch, SwitchedAt, perform, refuse_switches, schedule

Floats = NDArray[np.float64]
MOST_STEPS: Final = 100_000_000
_CHUNK: Final = 20_000
_WHOLE: Final = 1e-9
"""Part of a step below which the rest of the duration is round-off."""


_SETTLED: Final = (100.0, 2500.0)
"""Baumgarte's α (1/s) and β (1/s²) where the file gives a constraint none: critically damped at 50 rad/s."""
STABILISATIONS: Final = ("none", "baumgarte", "projection")


@dataclass(frozen=True)
class Balance:
    """What the constraints and the energy did, over all steps.

    Largest residuals, of position in m or rad and of velocity per second; least and largest rank of the
    constraints' rows, the smallest singular value of theirs that was kept (scaled rows, 1 is ordinary; all
    of these None without constraints), and how many branch poses were passed. Work of the motors; the
    largest difference between the gain of energy and the work of motors, friction, stops, contacts, impulses
    and moving constraints; the work of these last; all in J. `lost_J`: what friction, stops, contacts and
    impulses took. What was `switched`.
    """

    residual_position_max: float
    residual_velocity_max: float
    rank_min: int | None
    rank_max: int | None
    sigma_min: float | None
    singular_passages: int
    motor_work_J: float
    energy_balance_error_J: float
    constraint_work_J: float
    lost_J: float
    switched: tuple[SwitchedAt, ...]


@dataclass(frozen=True, eq=False)
class Motion:
    """What was simulated: row k of `q` and `v` is the state at `time_s[k]`.

    The columns of `v` are `joint_names`, those of `q` `position_names`. rad or m, and per second. Energies
    are kinetic plus potential, in joules; `steps_per_s` counts wall time. `switches`: how many times
    `minimal` changed its independent coordinates. `points` and `reactions`: where they were asked for.
    """

    joint_names: tuple[str, ...]
    position_names: tuple[str, ...]
    time_s: Floats
    q: Floats
    v: Floats
    energy_start_J: float
    energy_end_J: float
    balance: Balance
    steps: int
    steps_per_s: float
    switches: int | None = None
    points: Tracks | None = None
    reactions: Reactions | None = None

    def columns(self) -> dict[str, Floats]:
        """All that is known of each sample, by the names that files use."""
        states = zip(self.position_names, self.q.T, strict=True)
        rates = zip(self.joint_names, self.v.T, strict=True)
        return {
            "time_s": self.time_s,
            **dict(states),
            **{f"{name}_velocity": values for name, values in rates},
            **columns_of(self.points, self.reactions),
        }


def simulate(
    machine: Machine,
    duration_s: float,
    dt_s: float | None = None,
    initial: Mapping[str, float] | None = None,
    integrator: str | None = None,
    effort: ArrayLike | None = None,
    every: int = 1,
    formulation: str = "projected",
    stabilisation: str = "projection",
    track: Sequence[str] = (),
    reactions: bool = False,
    switches: Sequence[Switch] = (),
) -> Motion:
    """Let the plant's mechanism move for `duration_s` from its initial state.

    dt_s: step (none: the plant's period over its substeps); the last one is shorter where the duration
    demands it. initial: joint positions by name (rad or m) in place of the file's; under constraints the
    other joints follow. integrator: "adaptive_rk4", "rk4", "gauss" or "semi_implicit" (none: the file's,
    see `integrator_of`), or for reference "dop853" or "lsoda", whose steps are their own and whose samples
    are dt apart. effort: one number per motor (N m or N), held. every: keep each so-manieth state, and
    always the last.
    formulation: "projected", "udwadia_kalaba" or "lagrange" (of the constrained acceleration), "minimal" or
    "taylor" (with steps of its own). stabilisation: "projection" of position and velocity after each step,
    "baumgarte" (with the file's α and β, else 100 and 2500) or "none". track: points whose motion is
    wanted. reactions: whether those of joints and closures are. switches: constraints to be switched on the
    way (plant/switching.py).

    Raises ValueError for an argument out of bounds and for initial positions that cannot be assembled
    or a constraint that cannot be switched on, SimulationDiverged when the state leaves the finite numbers.
    """
    dt = machine.plant.period_s / machine.plant.substeps if dt_s is None else dt_s
    method = integrator_of(machine, formulation) if integrator is None else integrator
    _check(duration_s, dt, method, every)
    _known("formulation", formulation, FORMULATIONS)
    _known("stabilisation", stabilisation, STABILISATIONS)
    points = known_points(machine.plant_mechanism, track)
    whole = math.floor(duration_s / dt + _WHOLE)
    rest = duration_s - whole * dt if duration_s - whole * dt > _WHOLE * dt else 0.0
    work = begin(machine, initial or {}, effort)
    _choose(work, formulation, stabilisation)
    figures = np.empty(kernels.FIGURES + len(work.q))
    kernels.look(*work.arguments, 0.0, figures)
    if formulation == "lagrange":
        _check_independence(machine, work)
    events = schedule(machine.plant_mechanism, switches, dt, whole)
    refuse_switches(switches, formulation, reactions)
    switched: list[SwitchedAt] = []

    def at_step(done: int) -> None:
        for event in events.pop(done, ()):
            switched.append(perform(machine.plant_mechanism, work, event, done * dt, figures))
            if restart is not None:
                restart()
            if formulation == "lagrange":
                _check_independence(machine, work)

    steps_of = steps_by(machine, work, formulation, method, stabilisation, bool(switches))
    restart = getattr(steps_of, "restart", None)
    at_step(0)
    start = work.buffer.copy()
    recorded, seconds = _run(
        machine, work, figures, steps_of, METHODS.get(method, 0), dt, whole, rest, every, at_step, events
    )
    times = np.concatenate([np.arange(0, whole + 1, every) * dt, [duration_s]])[: len(recorded)]
    times[-1] = duration_s
    steps = whole + (rest > 0.0)
    mechanism = machine.plant_mechanism
    q, v = recorded[:, : mechanism.nq], recorded[:, mechanism.nq :]
    return Motion(
        mechanism.joint_names,
        mechanism.position_names,
        times,
        q,
        v,
        float(figures[kernels.ENERGY_START]),
        _energy(work),
        _balance(work, figures, switched),
        steps,
        steps / seconds if seconds > 0.0 else 0.0,
        steps_of.switches,
        tracked(mechanism, points, q, v) if points else None,
        reactions_of(mechanism, steps_of, start, times, q, v, every, dt) if reactions else None,
    )


def _check_independence(machine: Machine, work: Workspace) -> None:
    constraints = machine.plant_mechanism.constraints
    rows, rank = (
        sum(len(c.rows) for c, on in zip(constraints, work.on, strict=True) if on),
        work.ranking[RANK],
    )
    if rows > 0 and rank < rows:
        raise ValueError(
            f"lagrange needs independent rows, but the {rows} rows of {machine.name} have rank {rank:.0f}: "
            "take projected or udwadia_kalaba"
        )


def _known(what: str, name: str, there: Iterable[str]) -> None:
    if name not in there:
        raise ValueError(f"there is no {what} {name!r}; there are {', '.join(there)}")


def _choose(work: Workspace, formulation: str, stabilisation: str) -> None:
    work.choice[:] = ACCELERATIONS.get(formulation, 0), stabilisation == "projection"
    if stabilisation == "baumgarte":
        work.baumgarte[~work.baumgarte.any(axis=1)] = _SETTLED
    else:
        work.baumgarte[:] = 0.0


def _balance(work: Workspace, figures: Floats, switched: Sequence[SwitchedAt]) -> Balance:
    constrained, sigma = len(work.phi) > 0, float(figures[kernels.SIGMA])
    return Balance(
        float(figures[kernels.POSITION]),
        float(figures[kernels.VELOCITY]),
        int(figures[kernels.RANK_LEAST]) if constrained else None,
        int(figures[kernels.RANK_MOST]) if constrained else None,
        sigma if constrained and math.isfinite(sigma) else None,
        int(work.ranking[PASSAGES]),
        float(figures[kernels.MOTOR_WORK]),
        float(figures[kernels.IMBALANCE]),
        float(work.driven_work[0]),
        float(figures[kernels.LOST]),
        tuple(switched),
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
    if method not in INTEGRATORS:
        raise ValueError(f"{method!r} is no integrator; there are {', '.join(INTEGRATORS)}")
    if every < 1:
        raise ValueError(f"`every` must be at least 1, not {every}")


def begin(machine: Machine, initial: Mapping[str, float], effort: ArrayLike | None = None) -> Workspace:
    """The plant's state at the start, put together, in a new workspace; arguments as of `simulate`."""
    mechanism = machine.plant_mechanism
    work = mechanism.workspace()
    work.q[:], work.v[:] = machine.initial_q, machine.initial_v
    own = [name for name in mechanism.joint_names if name in mechanism.coordinate_names]
    for name, value in initial.items():
        if name not in own:
            raise ValueError(f"there is no joint {name!r}; there are {', '.join(own)}")
        if not math.isfinite(value):
            raise ValueError(f"the initial position of {name} must be finite, not {value}")
        work.q[mechanism.joint_index(name)] = value
    put_together(machine, work, list(initial))
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
    machine: Machine,
    work: Workspace,
    figures: Floats,
    run: Steps,
    method: int,
    dt: float,
    whole: int,
    rest: float,
    every: int,
    at_step: Callable[[int], None],
    events: Iterable[int],
) -> tuple[Floats, float]:
    """The recorded states, the initial one first, and the wall time that the steps took.

    `at_step` is called after each of the numbers of steps in `events`; the state recorded there is the one
    before.
    """
    width = len(work.q) + len(work.v)
    chunk = np.empty((min(_CHUNK, whole + 1), width))
    kept = [np.concatenate([work.q, work.v])[None, :]]
    run(*work.arguments, method, dt, 0, chunk, figures)  # loads the kernel before the clock runs
    seconds, done = 0.0, 0
    for count, step in [
        *((n, dt) for n in _chunks(whole, len(chunk), events)),
        *([(1, rest)] if rest else []),
    ]:
        began = time.perf_counter()
        finite = run(*work.arguments, method, step, count, chunk, figures)
        seconds += time.perf_counter() - began
        if finite < count:
            raise SimulationDiverged(_why(machine, (done + finite + 1) * dt, run.stopped))
        first = (-done - 1) % every
        kept.append(chunk[first:count:every].copy())
        done += count
        at_step(done)
    last = np.concatenate([work.q, work.v])[None, :]
    if done % every:
        kept.append(last)
    return np.concatenate(kept), seconds


def _why(machine: Machine, at_s: float, stopped: str) -> str:
    if stopped:
        return f"the simulation of {machine.name} stopped at {at_s:g} s: {stopped}"
    return f"the simulation of {machine.name} diverged at {at_s:g} s; shorten the step"


def _chunks(total: int, size: int, cuts: Iterable[int]) -> list[int]:
    """Steps of each call: none longer than `size`, and an end at each cut."""
    ends = sorted({*range(size, total, size), *(cut for cut in cuts if 0 < cut < total), total} - {0})
    return [b - a for a, b in itertools.pairwise([0, *ends])]
