"""Estimate the full state of a machine from its measured joints.

Without constraints every joint is measured, and the estimate is what `sensor_estimate` makes of the readings.
With constraints it is the state nearest to the prediction that meets the closures and in which the measured
joints agree with the sensors. Each Newton step is

    shift = x + Λ z,    A x = -Φ,    z = least squares of W (wanted - now - x - Λ z) on the measured joints,

with Λ the velocities that the closures admit, and W the sensors' accuracy: redundant sensors share their
disagreement (redundant_sensors.py monitors it). Directions of Λ in which hardly any sensor moves are left to
the prediction. The rows and their factors are those next to the prediction; they serve for all steps that are
small, and for the velocities, with A v in the place of Φ. Where branches of the closure meet, the lost row of
A is replaced by its next derivative, so that Λ is the tangent of the branch it is on.
"""

from typing import Annotated

import numpy as np

from linkwork.arrays import Floats, Integers, Matrix
from linkwork.controller.estimation.assembly_mode import NUMBER, AssemblyModeMemory, follow_branch
from linkwork.controller.estimation.sensor_estimate import (
    MISSING,
    TO_Q,
    TO_V,
    WEIGHT,
    Estimator,
    missing_positions,
    read_sensors,
    take_positions,
)
from linkwork.multibody import Workspace
from linkwork.multibody.closure.branches import replace_lost_rows
from linkwork.multibody.closure.rank import admitted, factor, particular, scaled_right_side
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.projection import position_residual
from linkwork.multibody.kernels.compiling import block, flat, kernel, part
from linkwork.multibody.kernels.layout import LOST, RANK, REPLACED, SMALLEST
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.kernels.views import copy
from linkwork.multibody.linalg.orthogonal import back_substitute, exchange_back, pivoted_qr, reflect
from linkwork.multibody.linalg.vectors import squared
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.rotations import move
from linkwork.multibody.workspace import Model

UNDETERMINED = 5e-3
"""Share of a motion that sensors see (weighted as the least accurate one), below which the prediction has it.
"""
SMALL = 1e-5
"""Largest scaled step for which rows and factors are reused: the remaining error is of the order of its
square."""
LONGEST = 0.5
"""Longest step, scaled."""
TOLD = ("steps", "residual", "rank", "lost rows", "smallest singular value", "assembly")


def scratch_words(nv: int, sensors: int) -> int:
    """Numbers of scratch that `observe` needs."""
    return sensors * nv + 3 * nv + max(sensors, nv)


@part
def _tangents(m: Model, w: Workspace, open_rows: Floats) -> None:
    """After `constraint_rows`: the factors, `basis`, and in `shift` some x with A x = -open_rows."""
    factor(m, w)
    scaled_right_side(m, w, -1.0, open_rows)
    if w.ranking[LOST] > 0.0:
        kept = int(w.ranking[RANK])
        replace_lost_rows(m, w)
        if w.ranking[REPLACED] > 0.0:
            for i in range(kept, len(w.right_side)):
                w.right_side[i] = 0.0
    particular(m, w, w.right_side, w.shift)
    admitted(m, w)


@part
def _closing(m: Model, w: Workspace, values: Floats) -> None:
    """After `_tangents`: in `shift` some x with A x = -values, by the factors in w."""
    for i in range(m.n_rows):
        w.right_side[i] = -m.row_scale[i] * values[i]
    particular(m, w, w.right_side, w.shift)


@part
def _see(m: Model, w: Workspace, joint: Integers, weight: Floats, scratch: Floats) -> int:
    """Factor W Λ on the sensors' joints, in scratch; return how many motions the sensors see."""
    nv, sensors = m.nv, len(joint)
    free = nv - int(w.ranking[RANK])
    basis = w.basis[:free]
    rows, end = block(scratch, 0, sensors, free), sensors * nv
    exchanges, reflected = block(scratch, end, 1, nv)[0], block(scratch, end + nv, 1, nv)[0]
    size = block(scratch, end + 2 * nv, 1, nv)[0]
    for j in range(free):
        square = 0.0
        for c in range(nv):
            square += squared(basis[j, c] / m.column_scale[c])
        size[j] = np.sqrt(square)
    least = 1.0
    for i in range(sensors):
        c = joint[i]
        least = min(least, weight[i] * m.column_scale[c])
        for j in range(free):
            rows[i, j] = weight[i] * basis[j, c] / size[j]
    return pivoted_qr(rows, exchanges, reflected, UNDETERMINED * least)


@part
def _toward(
    m: Model, w: Workspace, joint: Integers, weight: Floats, missing: Floats, seen: int, scratch: Floats
) -> None:
    """After `_see`: `shift` += Λ z, the weighted least-squares fit of the measured joints to their
    targets."""
    nv, sensors = m.nv, len(joint)
    free = nv - int(w.ranking[RANK])
    basis = w.basis[:free]
    rows, end = block(scratch, 0, sensors, free), sensors * nv
    exchanges, reflected = block(scratch, end, 1, nv)[0], block(scratch, end + nv, 1, nv)[0]
    size = block(scratch, end + 2 * nv, 1, nv)[0]
    right = block(scratch, end + 3 * nv, 1, max(sensors, nv))[0]
    for i in range(sensors):
        right[i] = weight[i] * (missing[i] - w.shift[joint[i]])
    reflect(rows, reflected, seen, right[:sensors])
    back_substitute(rows, seen, right)
    for j in range(seen, len(right)):
        right[j] = 0.0
    exchange_back(exchanges, seen, right)
    for j in range(free):
        for c in range(nv):
            w.shift[c] += basis[j, c] * right[j] / size[j]


@part
def _missing_speeds(joint: Integers, wanted: Floats, v: Floats, missing: Floats) -> None:
    """missing = wanted - v for every sensor."""
    for i in range(len(joint)):
        missing[i] = wanted[i] - v[joint[i]]


@part
def _meet(
    m: Model,
    now: Workspace,
    near: Workspace,
    stands: bool,
    joint: Integers,
    balls: Integers,
    table: Matrix,
    most: int,
    scratch: Floats,
) -> int:
    """Write to `now` the state nearest to the one in `near` that meets the closures and the sensors.

    Returns the number of steps. stands: whether `near` already has rows, factors and basis close to its
    state. joint, balls and table: the sensors'. Afterwards now has kinematics, rows, coordinates and basis.
    """
    weight, to_q, to_v, missing = table[WEIGHT], table[TO_Q], table[TO_V], table[MISSING]
    lost = near.ranking[LOST:]
    if stands and lost[0] == 0.0:
        _closing(m, near, near.phi)
    else:
        kinematics(m, near)
        constraint_rows(m, near)
        _tangents(m, near, near.phi)
    steps, size, seen = 0, 1.0, 0
    while True:
        seen = _see(m, near, joint, weight, scratch)
        missing_positions(joint, balls, to_q, near.q, missing)
        _toward(m, near, joint, weight, missing, seen, scratch)
        size = 0.0
        for c in range(m.nv):
            size = max(size, abs(near.shift[c] / m.column_scale[c]))
        move(m, near.q, near.shift, 1.0 if size <= LONGEST else LONGEST / size)
        steps += 1
        if steps == most or not size > SMALL:
            break
        kinematics(m, near)
        constraint_rows(m, near)
        _tangents(m, near, near.phi)

    at_branch = lost[0] > 0.0
    if at_branch:  # the row in place of the lost one holds at one pose only
        kinematics(m, near)
        constraint_rows(m, near)
        _tangents(m, near, near.phi_rate)
        seen = _see(m, near, joint, weight, scratch)
        _missing_speeds(joint, to_v, near.v, missing)
        _toward(m, near, joint, weight, missing, seen, scratch)
        for c in range(m.nv):
            near.v[c] += near.shift[c]
    copy(near.q, now.q)
    copy(near.v, now.v)
    kinematics(m, now)
    constraint_rows(m, now)
    if not at_branch:
        _closing(m, near, now.phi)
        missing_positions(joint, balls, to_q, now.q, missing)
        _toward(m, near, joint, weight, missing, seen, scratch)
        move(m, now.q, near.shift, 1.0)
        _closing(m, near, now.phi_rate)
        _missing_speeds(joint, to_v, now.v, missing)
        _toward(m, near, joint, weight, missing, seen, scratch)
        for c in range(m.nv):
            now.v[c] += near.shift[c]
    coordinates(m, now)
    copy(flat(near.basis), flat(now.basis))
    copy(near.ranking, now.ranking)
    return steps


@part
def _take_readings(m: Model, now: Workspace, joint: Integers, balls: Integers, table: Matrix) -> None:
    """Write to `now` the state that the readings determine, where every joint is measured."""
    take_positions(joint, balls, table[TO_Q], table[MISSING], now.q)
    for i in range(len(joint)):
        now.v[joint[i]] = table[TO_V, i]
    kinematics(m, now)
    coordinates(m, now)


class Observation(Struct):
    """The arrays of `observe`: the model, the workspaces, `Estimator.wiring`, `AssemblyModeMemory`.

    near: without constraints `now` itself.

    scratch: `scratch_words`; told: written, see `TOLD`.
    """

    m: Model
    now: Workspace
    near: Workspace
    joint: Annotated[Integers, "sensors"]
    has_velocity: Annotated[Integers, "sensors"]
    table: Annotated[Floats, "targets, sensors"]
    balls: Integers
    measured: Integers
    sensed: Integers
    memory: Floats
    scratch: Floats
    told: Floats


def observation(
    now: Workspace, near: Workspace, estimator: Estimator, branch: AssemblyModeMemory, told: Floats
) -> Observation:
    """Return the arrays that `observe` works on; told (6): written, see `TOLD`."""
    scratch = np.zeros(scratch_words(len(now.v), estimator.table.shape[1]))
    joint, has_velocity, table, balls = estimator.wiring
    return Observation(
        m=now.model, now=now, near=near, joint=joint, has_velocity=has_velocity, table=table, balls=balls,
        measured=branch.measured, sensed=branch.sensed, memory=branch.memory, scratch=scratch, told=told,
    )  # fmt: skip


@kernel
def observe(
    given: Observation,
    q_measured: Floats,
    v_measured: Floats,
    dt: float,
    cut_off_hz: float,
    bandwidth: float,
    believed: float,
    first: bool,
    predicted: bool,
    fresh: bool,
    stands: bool,
    most: int,
) -> int:
    """Make `now` a state of the machine, from the prediction in `near` if `stands`, else from its own state.

    Q_measured, v_measured (sensors) and how they are read: see `read_sensors`.
    The assembly is followed while the residual is at most `believed`. most: steps. Writes `TOLD`. Returns the
    first sensor without a finite reading, or −1.
    """
    m, now, near, told, memory = given.m, given.now, given.near, given.told, given.memory
    joint, table, balls = given.joint, given.table, given.balls
    near.clock[0] = now.clock[0]
    if not stands:
        copy(now.q, near.q)
        copy(now.v, near.v)
    bad = read_sensors(
        q_measured, v_measured, joint, given.has_velocity, table, balls, dt, cut_off_hz, bandwidth,
        first, predicted, fresh, near.q, near.v,
    )  # fmt: skip
    if m.n_rows == 0:
        _take_readings(m, now, joint, balls, table)
        return bad
    told[0] = _meet(m, now, near, stands, joint, balls, table, most, given.scratch)
    told[1] = position_residual(m, now)
    if told[1] <= believed:
        follow_branch(m, now, given.measured, given.sensed, memory)
    told[2], told[3], told[4], told[5] = (
        now.ranking[RANK],
        now.ranking[LOST],
        now.ranking[SMALLEST],
        memory[NUMBER],
    )
    return bad


@kernel
def obey_speeds(given: Observation, m: Model, w: Workspace) -> None:
    """Bring the velocities of w onto all rows of its model, those of velocities too, and to the sensors.

    After `observe` with a model without such rows, whose q and v w has. Writes rows, basis and coordinates.
    """
    joint, table = given.joint, given.table
    kinematics(m, w)
    constraint_rows(m, w)
    _tangents(m, w, w.phi_rate)
    seen = _see(m, w, joint, table[WEIGHT], given.scratch)
    _missing_speeds(joint, table[TO_V], w.v, table[MISSING])
    _toward(m, w, joint, table[WEIGHT], table[MISSING], seen, given.scratch)
    for c in range(m.nv):
        w.v[c] += w.shift[c]
    kinematics(m, w)
    constraint_rows(m, w)
    coordinates(m, w)
    admitted(m, w)
