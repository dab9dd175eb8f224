"""The posture that leads free motions away from singular poses, by the volume of rows.

The volume of rows is the product of their distances from each other: 0 where they depend on each other. With
A the constraints, J a goal's rows, E the motors' joints, all in common units,

    μ(q) = log vol(A, J) + log vol(A, E)

falls without bound toward poses where the goal, the closures or the motors lose a direction (Yoshikawa 1985,
for an open chain, where E has no part). Its gradient γ along the directions N that the goal leaves free is
taken by differences; free motions are led to q* = q + N γ / 2.
"""

import math
from typing import Annotated

import numpy as np

from linkwork.arrays import Floats, Integers, Matrix
from linkwork.multibody import Workspace
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.task_motion import TaskRows
from linkwork.multibody.kernels.compiling import block, kernel, part
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.linalg.orthogonal import pivoted_qr
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.rotations import move
from linkwork.multibody.workspace import Model

STEP = 1e-3
"""Of the differences, in rad or typical lengths."""
NONE = 1e-6
"""Distance below which a row counts as dependent."""


class AwayFromSingular(Struct):
    """A separate workspace for trial poses, and the rows of a goal. on: whether the goal prefers it.

    index (k): the goal's coordinates; scale (coordinates): their units.
    """

    on: int
    trial: Workspace
    index: Integers
    scale: Floats
    motor: Annotated[Integers, "motors"]
    room: Floats


def away_for(
    trial: Workspace, index: Integers, scale: Floats, motor: Integers, *, on: bool
) -> AwayFromSingular:
    """Return the arguments of `lead_away`, for a goal's coordinates (k); scale (coordinates): their units."""
    nv, rows = len(trial.v), len(trial.phi) + max(len(index), len(motor))
    room = np.zeros(nv * (nv + 1) + rows * (nv + 2) if on else 0)
    return AwayFromSingular(on=int(on), trial=trial, index=index, scale=scale, motor=motor, room=room)


@kernel
def lead_away(
    m: Model, w: Workspace, away: AwayFromSingular, t: TaskRows, f: int, free: int, damping: float,
    posture: Matrix,
) -> None:  # fmt: skip
    """After `follow_levels` on f admitted motions, which leaves some free: posture[0] (nv) := q*.

    damping, posture: see `free_reference`. q* is so near that no joint is led beyond its largest speed.
    """
    trial, nv = away.trial, m.nv
    ways, toward = block(away.room, 0, free, nv), block(away.room, nv * nv, 1, nv)[0]
    trial.clock[0] = w.clock[0]
    fill(posture[0], 0.0)
    for i in range(free):
        _next_direction(m, w, t, f, ways, i)
        for j in range(nv):
            toward[j] = ways[i, j] * m.column_scale[j]
        rise = 0.0
        for side in range(2):
            copy(w.q, trial.q)
            move(m, trial.q, toward, STEP if side == 0 else -STEP)
            value: float = _measure(m, away)
            rise += value if side == 0 else -value
        for j in range(nv):
            posture[0, j] += 0.25 / STEP * rise * toward[j]
    nearer = 1.0
    for j in range(nv):
        speed = 0.25 * damping * abs(posture[0, j])
        if speed * nearer > posture[1, j]:
            nearer = posture[1, j] / speed
    for j in range(nv):
        posture[0, j] = w.q[j] + nearer * posture[0, j]


@part
def _next_direction(m: Model, w: Workspace, t: TaskRows, f: int, ways: Matrix, i: int) -> None:
    """ways[i] (nv) := the i-th free direction in scaled units, of length 1 and orthogonal to those before.

    So the gradient does not depend on the choice of a basis, which changes by steps.
    """
    nv = m.nv
    for j in range(nv):
        ways[i, j] = 0.0
        for c in range(f):
            ways[i, j] += t.basis[i, c] * w.basis[c, j] / m.column_scale[j]
    for other in range(i + 1):
        share = 0.0
        for j in range(nv):
            share += ways[i, j] * ways[other, j]
        for j in range(nv):
            if other < i:
                ways[i, j] -= share * ways[other, j]
            else:
                ways[i, j] /= math.sqrt(share)


@part
def _measure(m: Model, away: AwayFromSingular) -> float:
    """Return μ at the trial pose."""
    w = away.trial
    kinematics(m, w)
    coordinates(m, w)
    value = 0.0
    if m.n_rows > 0:
        constraint_rows(m, w)
        value = _log_volume(m, away, len(away.motor), 1)
    return value + _log_volume(m, away, len(away.index), 0)


@part
def _log_volume(m: Model, away: AwayFromSingular, k: int, motors: int) -> float:
    """Return the logarithm of the volume of the constraints with k rows: of motors, or of the goal."""
    w, rows, first = away.trial, m.n_rows + k, m.nv * (m.nv + 1)
    columns = block(away.room, first, m.nv, rows)
    exchanges = block(away.room, first + m.nv * rows, 1, rows)[0]
    left = block(away.room, first + (m.nv + 1) * rows, 1, rows)[0]
    for j in range(m.nv):
        fill(columns[j], 0.0)
        for i in range(m.n_rows):
            columns[j, i] = m.row_scale[i] * w.A[i, j] * m.column_scale[j]
        for i in range(k):
            if motors == 0:
                row = away.index[i]
                columns[j, m.n_rows + i] = away.scale[row] * w.J[row, j] * m.column_scale[j]
            elif away.motor[i] == j:
                columns[j, m.n_rows + i] = 1.0
    rank = pivoted_qr(columns, exchanges, left, NONE)
    value = 0.0
    for i in range(rank):
        value += math.log(abs(columns[i, i]))
    return value
