"""Offline simulation of the machine alone: no brakes, no sockets, no clock; prescribed motor efforts."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arrays import Floats
from linkwork.brief import Brief
from linkwork.machine import Machine
from linkwork.machine.building.contact_parameters import refuse_long_steps
from linkwork.multibody.assembly.branch_velocities import SHORT, second_order_closures
from linkwork.multibody.assembly.switching import total_energy
from linkwork.multibody.dynamics.other_formulations import FORMULATIONS as ACCELERATIONS
from linkwork.multibody.kernels.layout import PASSAGES, RANK
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.steps.step import METHODS
from linkwork.multibody.workspace import Workspace
from linkwork.offline import run_kernels as kernels
from linkwork.offline.accuracy import refined
from linkwork.offline.constraint_switching import Switch, SwitchedAt, perform, refuse_switches, schedule
from linkwork.offline.efforts import MotorEfforts
from linkwork.offline.methods import (
    ADAPTIVE,
    FORMULATIONS,
    INTEGRATORS,
    TaylorSteps,
    integrator_of,
    steps_by,
    tolerances_of,
)
from linkwork.offline.offline_steps import OfflineSteps
from linkwork.offline.outputs import (
    ConstraintEfforts,
    ReactionHistory,
    Tracks,
    columns_of,
    known_points,
    reactions_of_steps,
    tracked,
)
from linkwork.offline.reaction_samples import ReactionRecorder, ReactionRequest, place_in_step
from linkwork.offline.start_state import StartState, begin, refuse_start
from linkwork.plant.simulator.simulator import SimulationDiverged

MOST_STEPS: Final = 100_000_000
_CHUNK: Final = 20_000
_LOOKED_AT: Final = 8
_WHOLE: Final = 1e-9
"""Part of a step below which the rest of the duration is round-off."""


_SETTLED: Final = (100.0, 2500.0)
"""Baumgarte's α (1/s) and β (1/s²) where the file gives a constraint none: critically damped at 50 rad/s."""
STABILISATIONS: Final = ("none", "baumgarte", "projection")


@dataclass(frozen=True)
class Balance:
    """Constraint residuals and energy balance over all steps.

    Largest residuals, of position in m or rad and of velocity per second; least and largest rank of the
    constraints' rows, the smallest singular value of theirs that was kept (scaled rows, 1 is ordinary; all
    of these None without constraints), and how many branch poses were passed. Work of the motors; the
    largest difference between the gain of energy and the work of motors, friction, stops, contacts, impulses,
    applied forces and moving constraints; the work of these last two; all in J. `lost_J`: losses to friction,
    stops, contacts and impulses. `switched`: the constraint switches.
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


@dataclass(frozen=True, eq=False, repr=False)
class Motion(Brief):
    """Result of a simulation: row k of `q` and `v` is the state at `time_s[k]`.

    The columns of `v` are `joint_names`, those of `q` `position_names`. rad or m, and per second. Energies
    are kinetic plus potential, in joules; `steps_per_s` counts wall time. `switches`: how many times
    `minimal` changed its independent coordinates. `inertia_condition`: smallest and largest condition number
    of the inertia matrix that `plain`, `symmetric` or `scaled` solved with. `points`, `reactions` and
    `constraint_efforts`: where they were asked for. `dt_s`: the step. `error`: the estimated error, where an
    accuracy was asked for.
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
    reactions: ReactionHistory | None = None
    constraint_efforts: ConstraintEfforts | None = None
    inertia_condition: tuple[float, float] | None = None
    dt_s: float = 0.0
    error: float | None = None
    undetermined: tuple[str, ...] = ()

    def columns(self) -> dict[str, Floats]:
        """Return all columns (samples) of the motion by the names that files use."""
        states = zip(self.position_names, self.q.T, strict=True)
        rates = zip(self.joint_names, self.v.T, strict=True)
        return {
            "time_s": self.time_s,
            **dict(states),
            **{f"{name}_velocity": values for name, values in rates},
            **columns_of(self.points, self.reactions, self.constraint_efforts),
        }


def simulate(
    machine: Machine,
    duration_s: float,
    dt_s: float | None = None,
    initial: Mapping[str, float] | StartState | None = None,
    integrator: str | None = None,
    effort: ArrayLike | Mapping[str, float | str] | MotorEfforts | None = None,
    every: int = 1,
    formulation: str = "projected",
    stabilisation: str = "projection",
    track: Sequence[str] = (),
    reactions: bool | ReactionRequest = False,
    switches: Sequence[Switch] = (),
    rtol: float | None = None,
    atol: float | None = None,
    gamma: float | None = None,
    accuracy: float | None = None,
) -> Motion:
    """Let the plant's mechanism move for `duration_s` from its initial state.

    dt_s: step (none: the plant's period over its substeps); the last one is shorter where the duration
    demands it. initial: joint positions by name (rad or m) in place of the file's, under constraints the
    other joints follow; or a `StartState`, with speeds, or with closures open. integrator: "adaptive_rk4",
    "rk4", "gauss" or "semi_implicit" (none: the file's, see `integrator_of`), or for reference "dop853" or
    "lsoda", whose steps are their own, whose samples are dt apart, with rtol and atol as relative, absolute
    tolerance of a step (rad, m, rad/s, m/s; none: those of a reference). effort (motors; N m or
    N), or numbers and functions of time by motor, see `MotorEfforts`, or an instance of that. every: keep one
    state in `every`, and always the last. formulation: "projected", "udwadia_kalaba" or "lagrange" (of
    the constrained acceleration), "plain", "symmetric" or "scaled" (Aghili's assemblies in numpy, about
    a hundred times slower; `gamma` is that of "scaled", in kg m²), "minimal" or "taylor" (with steps of
    its own).
    stabilisation: "projection" of position and velocity after each step, "baumgarte" (with the file's α and
    β, else 100 and 2500) or "none". track: points whose motion is wanted. reactions: whether those of joints
    and constraints are, or a `ReactionRequest` for a selection. switches: constraints to be switched on the
    way (linkwork/offline/constraint_switching.py).

    Raises ValueError for an argument out of bounds and for initial positions that cannot be assembled
    or a constraint that cannot be switched on, SimulationDiverged when the state leaves the finite numbers,
    TooStiffForStep (a MachineError) where springs, stops or contacts are too fast for steps of this length,
    AccuracyNotReached (a ValueError).
    """
    dt = machine.plant.period_s / machine.plant.substeps if dt_s is None else dt_s
    _known("formulation", formulation, FORMULATIONS)
    method = integrator_of(machine, formulation, integrator)
    wanted = reactions if isinstance(reactions, ReactionRequest) else ReactionRequest(reactions)
    start = initial if isinstance(initial, StartState) else StartState(initial or {})
    _check(duration_s, dt, method, every)
    if accuracy is not None:
        if isinstance(effort, MotorEfforts):
            raise ValueError("accuracy repeats the simulation, which FMUs do not allow: give a step (dt)")
        if rtol is not None or atol is not None:
            raise ValueError("accuracy chooses the tolerances: leave rtol and atol out")
        if method == "adaptive_rk4":  # halved steps that divide themselves may have the same parts
            method = integrator = "rk4"

        def simulated(dt: float, every: int, rtol: float | None, atol: float | None) -> Motion:
            return simulate(
                machine, duration_s, dt, initial, integrator, effort, every, formulation, stabilisation,
                track, reactions, switches, rtol, atol, gamma,
            )  # fmt: skip

        varies = MotorEfforts(machine, effort).vary
        return refined(simulated, accuracy, method, duration_s, dt, every, held=varies)
    if method not in ADAPTIVE:
        refuse_long_steps(machine, dt)
    tolerances = tolerances_of(method, rtol, atol)
    _known("stabilisation", stabilisation, STABILISATIONS)
    refuse_start(machine, start, formulation)
    refuse_switches(switches, formulation)
    place = place_in_step(wanted, formulation)
    mechanism = machine.plant_mechanism
    points = known_points(mechanism, track)
    efforts = effort if isinstance(effort, MotorEfforts) else MotorEfforts(machine, effort)
    times = Schedule.from_duration(duration_s, dt, every)
    work, figures = _begun(machine, start, efforts, formulation, stabilisation)
    switcher = _Switcher(machine, work, figures, schedule(mechanism, switches, dt, times.whole))
    steps_of = steps_by(
        machine, work, formulation, method, stabilisation, bool(switches), tolerances, place, gamma
    )
    switcher.restarts(steps_of, formulation == "lagrange")
    recorder = _recorder_of(mechanism, wanted, every, place, own=steps_of.reactions is not None)
    run = _Run(machine, work, figures, steps_of, METHODS.get(method, 0), times, efforts, switcher, recorder)
    return run.motion(wanted, points)


def _begun(
    machine: Machine, start: StartState, efforts: MotorEfforts, formulation: str, stabilisation: str
) -> tuple[Workspace, Floats]:
    """Return the workspace at the start of a run, and the figures of that state."""
    work = begin(machine, start)
    if not efforts.vary:
        efforts.apply(work, 0.0)
    choose_step(work, formulation, stabilisation)
    figures = np.empty(kernels.FIGURES + len(work.q))
    kernels.look(*work.arguments, 0.0, figures)
    if formulation == "lagrange":
        _check_independence(machine, work)
    return work, figures


def _recorder_of(
    mechanism: Mechanism, wanted: ReactionRequest, every: int, place: float, *, own: bool
) -> ReactionRecorder | None:
    """Return what records reactions and efforts; own: the steps find reactions themselves."""
    if not (wanted.constraint_efforts or (wanted.reactions and not own)):
        return None
    return ReactionRecorder(mechanism, every, place == 1.0 and not own, wanted.reactions and not own)


def _undetermined(mechanism: Mechanism, q: Floats, balance: Balance, ordinary: int) -> tuple[str, ...]:
    """Return the constraints that held to second order only in some of the states (samples × nq)."""
    least, rank = balance.sigma_min or 0.0, balance.rank_min
    if rank is None or (rank == ordinary and least > SHORT):
        return ()
    states = q[:: max(1, len(q) // _LOOKED_AT)]
    names = [name for state in states for name in second_order_closures(mechanism, state)]
    return tuple(dict.fromkeys(names))


def _reactions_of_steps(steps: TaylorSteps, times: Schedule) -> ReactionHistory:
    """Return the stepper's own reactions at each sample; at the last one by a step from there."""
    samples = len(times.samples_s())
    own = steps.reactions[:: times.every][: samples - 1]
    return reactions_of_steps([*own, steps.last_reactions(times.dt)])


@dataclass(frozen=True)
class Schedule:
    """Whole steps of dt, and a shorter one for the `rest` of the duration (0: none); s.

    States are kept after each `every` steps, and the last one.
    """

    duration_s: float
    dt: float
    whole: int
    rest: float
    every: int

    @staticmethod
    def from_duration(duration_s: float, dt: float, every: int) -> Schedule:
        """Divide a duration into steps."""
        whole = math.floor(duration_s / dt + _WHOLE)
        rest = duration_s - whole * dt
        return Schedule(duration_s, dt, whole, rest if rest > _WHOLE * dt else 0.0, every)

    @property
    def steps(self) -> int:
        """Number of steps, the short one included."""
        return self.whole + (self.rest > 0.0)

    def samples_s(self) -> Floats:
        """Times (samples; s) of the states that are kept."""
        times: Floats = np.append(np.arange(0, self.whole + 1, self.every) * self.dt, self.duration_s)
        times = times[: -(-self.steps // self.every) + 1]
        times[-1] = self.duration_s
        return times

    def pieces(self, cuts: Iterable[int], size: int) -> list[tuple[int, float]]:
        """Number of steps in one call, and their length: at most `size`, with an end at each cut."""
        whole = [(count, self.dt) for count in _chunks(self.whole, size, cuts)]
        return [*whole, *([(1, self.rest)] if self.rest else [])]


class _Switcher:
    """Switch constraints after the steps at which that is due; `done`: the switches made."""

    def __init__(
        self, machine: Machine, work: Workspace, figures: Floats, events: dict[int, list[Switch]]
    ) -> None:
        self._machine, self._work, self._figures, self.events = machine, work, figures, events
        self.done: list[SwitchedAt] = []
        self._restart: Callable[[], None] | None = None
        self._independent = False

    def restarts(self, steps: OfflineSteps, independent: bool) -> None:
        """Restart the steps after each switch; `independent`: refuse rows that repeat each other."""
        self._restart, self._independent = steps.restart, independent

    def at_step(self, done: int, time_s: float) -> None:
        """Make the switches that are due after a number of steps."""
        for event in self.events.pop(done, ()):
            mechanism = self._machine.plant_mechanism
            self.done.append(perform(mechanism, self._work, event, time_s, self._figures))
            if self._restart is not None:
                self._restart()
            if self._independent:
                _check_independence(self._machine, self._work)


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


def choose_step(work: Workspace, formulation: str, stabilisation: str) -> None:
    """Select what a step does: the formulation of accelerations, and the stabilisation."""
    work.choice[:2] = ACCELERATIONS.get(formulation, 0), stabilisation == "projection"
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
            f"{duration_s:g} s in steps of {dt:g} s are more than {MOST_STEPS} steps; use a longer step"
        )
    if method not in INTEGRATORS:
        raise ValueError(f"{method!r} is not an integrator; available: {', '.join(INTEGRATORS)}")
    if every < 1:
        raise ValueError(f"`every` must be at least 1, not {every}")


class _Run:
    """One run: the steps, piece by piece, with what happens between the pieces."""

    def __init__(
        self,
        machine: Machine,
        work: Workspace,
        figures: Floats,
        steps: OfflineSteps,
        method: int,
        times: Schedule,
        efforts: MotorEfforts,
        switcher: _Switcher,
        recorder: ReactionRecorder | None,
    ) -> None:
        self._machine, self._work, self._figures, self._steps = machine, work, figures, steps
        self._method, self._times, self._efforts = method, times, efforts
        self._switcher, self._recorder = switcher, recorder

    def states(self) -> tuple[Floats, float]:
        """The recorded states, the initial one first, and the wall time that the steps took."""
        work, times = self._work, self._times
        chunk = np.empty((min(_CHUNK, times.whole + 1), len(work.q) + len(work.v)))
        self._steps(self._method, times.dt, 0, chunk, self._figures)  # loads the kernel
        self._switcher.at_step(0, 0.0)
        kept, seconds, done = [self._state()], 0.0, 0
        size = 1 if self._efforts.vary else len(chunk)
        for count, step in times.pieces(self._switcher.events, size):
            seconds += self._piece(done, count, step, chunk)
            first = (-done - 1) % times.every
            kept.append(chunk[first : count : times.every].copy())
            done += count
            self._switcher.at_step(done, done * times.dt)
        if done % times.every:
            kept.append(self._state())
        if self._recorder is not None:
            self._recorder.finish(work, done)
        return np.concatenate(kept), seconds

    def motion(self, wanted: ReactionRequest, points: Sequence[str]) -> Motion:
        """Make the steps; return the motion, with the wanted reactions and that of the points by name."""
        machine, times, steps = self._machine, self._times, self._steps
        mechanism = machine.plant_mechanism
        recorded, seconds = self.states()
        q, v = recorded[:, : mechanism.nq], recorded[:, mechanism.nq :]
        found = forces = None
        if wanted.reactions and isinstance(steps, TaylorSteps):
            found = _reactions_of_steps(steps, times)
        elif wanted.reactions and self._recorder is not None:
            found = self._recorder.reactions()
        balance = _balance(self._work, self._figures, self._switcher.done)
        if self._recorder is not None and wanted.constraint_efforts:
            forces = self._recorder.constraint_efforts()
        undetermined = _undetermined(mechanism, q, balance, machine.assembly.ordinary_rank)
        if undetermined:
            balance = replace(balance, energy_balance_error_J=math.nan, constraint_work_J=math.nan)
            found, forces = found and found.undetermined(), forces and forces.undetermined()
        return Motion(
            mechanism.joint_names,
            mechanism.position_names,
            times.samples_s(),
            q,
            v,
            float(self._figures[kernels.ENERGY_START]),
            total_energy(self._work),
            balance,
            times.steps,
            times.steps / seconds if seconds > 0.0 else 0.0,
            steps.switches,
            tracked(mechanism, points, q, v) if points else None,
            found,
            forces,
            steps.conditions,
            times.dt,
            undetermined=undetermined,
        )

    def _piece(self, done: int, count: int, step: float, chunk: Floats) -> float:
        """Make a piece of steps; return the wall time that they took."""
        work = self._work
        if self._efforts.vary:
            self._efforts.hold(work, self._figures, done * self._times.dt + 0.5 * step)
        if self._recorder is not None:
            self._recorder.before(work)
        began = time.perf_counter()
        finite = self._steps(self._method, step, count, chunk, self._figures)
        seconds = time.perf_counter() - began
        if finite < count:
            at_s = (done + finite + 1) * self._times.dt
            raise SimulationDiverged(_why(self._machine, at_s, self._steps.stopped))
        if self._recorder is not None:
            self._recorder.after(done, count, step, chunk[:count])
        return seconds

    def _state(self) -> Floats:
        return np.concatenate([self._work.q, self._work.v])[None, :]


def _why(machine: Machine, at_s: float, stopped: str) -> str:
    if stopped:
        return f"the simulation of {machine.name} stopped at {at_s:g} s: {stopped}"
    return f"the simulation of {machine.name} diverged at {at_s:g} s; shorten the step"


def _chunks(total: int, size: int, cuts: Iterable[int]) -> list[int]:
    """Steps of each call: none longer than `size`, and an end at each cut."""
    ends = sorted({*range(size, total, size), *(cut for cut in cuts if 0 < cut < total), total} - {0})
    return [b - a for a, b in itertools.pairwise([0, *ends])]
