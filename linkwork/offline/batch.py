"""Many motions of one machine at once: other initial states, parameters and efforts, on all processors."""

import math
import operator
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from numbers import Real
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.machine.building.contact_parameters import refuse_long_steps
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.steps.step import METHODS
from linkwork.multibody.workspace import Model
from linkwork.offline.efforts import known_motors
from linkwork.offline.parameter_sets import ParameterSets
from linkwork.offline.run_kernels import open_by, opens_at, sampled_steps
from linkwork.offline.start_state import StartState, begin

OPEN = 1e-6
"""Largest closure residual of an initial state, relative to the machine's typical length, and of its speeds,
relative to the largest one."""
_OTHER_KINDS = {"U": "text", "S": "text", "c": "complex numbers", "b": "truth values"}
_FIXED_STEPS = tuple(name for name in METHODS if name != "gauss")


def simulate_batch(
    machine: Machine,
    states: ArrayLike,
    duration_s: float,
    *,
    parameters: Mapping[str, ArrayLike] | None = None,
    effort: ArrayLike | Mapping[str, ArrayLike] | None = None,
    dt_s: float | None = None,
    every: SupportsIndex | None = None,
    integrator: str | None = None,
    workers: SupportsIndex | None = None,
) -> Floats:
    """Simulate the plant's mechanism from many initial states; return the states that follow.

    states (cases × (nq + nv), or one row for all): [q, v] as in `Motion.q` and `Motion.v`, q on the closures
    and v along them; rad, m, rad/s, m/s. parameters: settings of the plant as in `--plant-set`
    ("bodies.crank.mass_kg", "gravity_m_s2[2]"), each a number or one for each case. effort (cases × motors,
    or motors; N m or N; or by the motor's joint, each a number or one for each case): held over the duration;
    zero by default. dt_s: step (none: the plant's period over its substeps), of which the duration is a
    multiple. every: number of steps from one returned state to the next (none: only the last state is
    returned). integrator: rk4, adaptive_rk4 or semi_implicit (none: the file's, or adaptive_rk4 where that is
    gauss). workers: threads (none: one for each processor).

    Return states (cases × samples × (nq + nv)) without the initial one, or (cases × (nq + nv)) where `every`
    is None. A case whose state leaves the finite numbers has NaN from there on. Signals, brakes, delays and
    sensors of the plant have no part in it. Each set of parameters gives the motion of the machine that is
    loaded with it, bit for bit. It costs a part of a millisecond, where contacts or gravity differ some
    milliseconds.

    Raises ValueError for arrays that do not fit, states off the closures or with speeds that open them (with
    the numbers of the first cases), and arguments out of bounds; MachineError for settings that the machine
    file does not allow, and for steps that are too long for springs, stops or contacts.
    """
    if not isinstance(machine, Machine):
        raise ValueError(f"machine must be a Machine, as linkwork.load returns it, not {machine!r}")
    mechanism = machine.plant_mechanism
    dt = machine.plant.period_s / machine.plant.substeps if dt_s is None else _seconds("dt_s", dt_s)
    own = machine.plant.integrator if machine.plant.integrator in _FIXED_STEPS else "adaptive_rk4"
    method = integrator or own
    if method not in _FIXED_STEPS:
        raise ValueError(f"a batch cannot use {method}: use integrator {', '.join(_FIXED_STEPS)}")
    refuse_long_steps(machine, dt)
    steps = _steps(_seconds("duration_s", duration_s), dt)
    between = steps if every is None else _count("every", every)
    if steps % between:
        raise ValueError(f"every must divide the {steps} steps of the duration, not {every}")
    threads = (os.cpu_count() or 1) if workers is None else _count("workers", workers)
    if not isinstance(parameters, Mapping | None):
        raise ValueError(f"parameters must be a mapping of settings to their values, not {parameters!r}")
    given = {name: _column(name, values) for name, values in (parameters or {}).items()}
    starts = _rows("states", states, mechanism.nq + mechanism.nv)
    efforts = _rows("effort", _by_motor(machine, effort), len(machine.motors))
    cases = _cases({"states": starts, "effort": efforts, **given})
    models = _models(machine, given, cases)
    found = np.full((cases, steps // between, starts.shape[1]), np.nan)
    template = begin(machine, StartState())
    places = [motor.index for motor in machine.motors]

    def advance(mine: Sequence[int]) -> None:
        work = mechanism.workspace()
        for case in mine:
            work.buffer[:] = template.buffer
            start = starts[case % len(starts)]
            work.q[:], work.v[:] = start[: mechanism.nq], start[mechanism.nq :]
            work.effort[:] = 0.0
            np.add.at(work.effort, places, efforts[case % len(efforts)])
            model = models[case % len(models)]
            done = sampled_steps(model, work, METHODS[method], dt, between, found[case])
            found[case, done:] = np.nan

    _refuse_open(mechanism, models, starts, cases)
    count = max(1, min(threads, cases))
    with ThreadPoolExecutor(count) as pool:
        for future in [pool.submit(advance, range(k, cases, count)) for k in range(count)]:
            future.result()
    return found[:, -1] if every is None else found


def _seconds(name: str, value: Any) -> float:
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not (number and math.isfinite(value) and value > 0.0):
        raise ValueError(f"{name} must be positive and finite (s), not {value!r}")
    return float(value)


def _steps(duration_s: float, dt: float) -> int:
    steps = round(duration_s / dt)
    if steps < 1 or abs(steps * dt - duration_s) > 1e-9 * duration_s:
        raise ValueError(f"duration_s must be a multiple of the step, {dt:g} s, not {duration_s:g}")
    return steps


def _count(name: str, value: SupportsIndex) -> int:
    try:
        count = 0 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        count = 0
    if count < 1:
        raise ValueError(f"{name} must be an integer, 1 or more, or None, not {value!r}")
    return count


def _numbers(name: str, values: Any) -> Floats:
    """Return an array of real numbers of any shape."""
    try:
        found = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be an array of numbers; the rows have different lengths") from None
    if found.dtype.kind not in "fiu":
        kind = _OTHER_KINDS.get(found.dtype.kind, "other objects")
        raise ValueError(f"{name} must be an array of real numbers, not of {kind}")
    return np.asarray(found, dtype=float)


def _column(name: str, values: ArrayLike) -> Floats:
    column = np.atleast_1d(_numbers(name, values))
    if column.ndim != 1:
        raise ValueError(f"{name} must be a number or one for each case, found an array of {column.shape}")
    return column


def _rows(name: str, values: Any, columns: int) -> Floats:
    rows = np.atleast_2d(_numbers(name, values))
    if rows.ndim != 2 or rows.shape[1] != columns:
        raise ValueError(f"{name} must have {columns} numbers a case, found an array of {np.shape(values)}")
    if not len(rows):
        raise ValueError(f"{name} must have a row for each case, or one for all; there is none")
    if not np.isfinite(rows).all():
        bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        raise ValueError(f"{name} must be finite; not so in case {bad[0]}")
    return rows


def _by_motor(machine: Machine, effort: ArrayLike | Mapping[str, ArrayLike] | None) -> ArrayLike:
    """Return efforts by name as an array (cases × motors); others as they are."""
    if effort is None:
        effort = {}
    if not isinstance(effort, Mapping):
        return effort
    own = known_motors(machine, effort)
    named = [(f"effort of {motor.joint}", own.get(motor.joint, 0.0)) for motor in machine.motors]
    columns = {name: _column(name, values) for name, values in named}
    efforts = np.empty((_cases(columns), len(columns)))
    efforts.T[:] = list(np.broadcast_arrays(*columns.values()))
    return efforts


def _cases(arrays: Mapping[str, Floats]) -> int:
    """Return the number of cases, of arrays with one row or one for each case."""
    lengths = {name: len(values) for name, values in arrays.items()}
    cases = max(lengths.values(), default=1)
    if not set(lengths.values()) <= {1, cases}:
        found = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise ValueError(f"cases: {found}; give one for all, or as many as the others")
    return cases


def _models(machine: Machine, given: Mapping[str, Floats], cases: int) -> list[Model]:
    """Return the model of each case, or one for all; equal values share one."""
    if not given:
        return [machine.plant_mechanism.model]
    sets, built = ParameterSets(machine, list(given)), dict[tuple[float, ...], Model]()
    found = []
    for case in range(cases):
        values = tuple(float(each[case % len(each)]) for each in given.values())
        if values not in built:
            built[values] = sets.model(values)
        found.append(built[values])
    return found


def _refuse_open(mechanism: Mechanism, models: Sequence[Model], starts: Floats, cases: int) -> None:
    """Raise ValueError where initial states are off the closures, or their speeds open these."""
    work = mechanism.workspace()
    if not len(work.phi):
        return
    away, opening = list[tuple[int, float]](), list[tuple[int, float]]()
    for case in range(cases):
        start = starts[case % len(starts)]
        work.q[:], work.v[:] = start[: len(work.q)], start[len(work.q) :]
        model = models[case % len(models)]
        gap, rate = open_by(model, work), opens_at(model, work)
        if not gap <= OPEN:
            away.append((case, gap))
        elif not rate <= OPEN:
            opening.append((case, rate))
    if away:
        raise ValueError(
            f"the closures of {len(away)} initial states are open, in typical lengths of the machine: "
            f"{_first(away)}; at most {OPEN:g} is allowed. Take states of a motion, or assemble them"
        )
    if opening:
        raise ValueError(
            f"the speeds of {len(opening)} initial states open the closures, in parts of the largest speed: "
            f"{_first(opening)}; at most {OPEN:g} is allowed. Take states of a motion, or give the speeds of "
            "some joints to simulate, from which the others follow"
        )


def _first(cases: Sequence[tuple[int, float]]) -> str:
    return ", ".join(f"case {case} by {residual:.2g}" for case, residual in cases[:5])
