"""Estimate the full state of a closed-chain machine from its measured joints.

The estimate is the state nearest to the prediction that meets the closures and in which the measured joints
agree with the sensors (estimator.py). Each Newton step is

    shift = x + Λ z,    A x = -Φ,    z = least squares of W (wanted - now - x - Λ z) on the measured joints,

with Λ the velocities that the closures admit, and W the sensors' accuracy: redundant sensors share their
disagreement (redundant_sensors.py monitors it). Directions of Λ in which hardly any sensor moves are left to
the prediction. The rows and their factors are those next to the prediction; they serve for all steps that are
small, and for the velocities, with A v in the place of Φ. Where branches of the closure meet, the lost row of
A is replaced by its next derivative, so that Λ is the tangent of the branch it is on.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.controller.estimation.assembly_mode import NUMBER, Branch, follow_branch
from linkwork.controller.estimation.sensor_estimate import (
    MISSING,
    TO_Q,
    TO_V,
    WEIGHT,
    Estimator,
    missing_positions,
    read_sensors,
)
from linkwork.multibody import Workspace
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.formulations.branches import replace_lost_rows
from linkwork.multibody.formulations.projection import position_residual
from linkwork.multibody.formulations.rank import admitted, factor, particular, scaled_right_side
from linkwork.multibody.kernels.bundles import BUNDLE, Bundle, reader
from linkwork.multibody.kernels.compiling import VECTOR, boolean, float64, int64, kernel, part
from linkwork.multibody.kernels.layout import (
    BASIS,
    COLUMN_SCALE,
    LOST,
    N_ROWS,
    NV,
    PHI,
    PHI_RATE,
    RANK,
    RANKING,
    REPLACED,
    RIGHT_SIDE,
    ROW_SCALE,
    SHIFT,
    SMALLEST,
    Q,
    V,
)
from linkwork.multibody.kernels.views import block, copy, vector
from linkwork.multibody.linalg.orthogonal import pivoted_qr
from linkwork.multibody.linalg.reflections import back_substitute, exchange_back, reflect
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.rotations import move

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
    """Numbers of scratch that `observe_closed` needs."""
    return sensors * nv + 3 * nv + max(sensors, nv)


@part
def _tangents(p: Floats, t: Integers, w: Floats, open_rows: int) -> None:
    """After `constraint_rows`: the factors, `BASIS`, and in `SHIFT` some x with A x = -(field open_rows)."""
    factor(p, t, w)
    scaled_right_side(t, p, w, -1.0, open_rows)
    ranking, right = vector(t, w, RANKING), vector(t, w, RIGHT_SIDE)
    if ranking[LOST] > 0.0:
        kept = int(ranking[RANK])
        replace_lost_rows(p, t, w)
        if ranking[REPLACED] > 0.0:
            for i in range(kept, len(right)):
                right[i] = 0.0
    particular(p, t, w, right, vector(t, w, SHIFT))
    admitted(p, t, w)


@part
def _closing(p: Floats, t: Integers, w: Floats, values: Floats) -> None:
    """After `_tangents`: in `SHIFT` some x with A x = -values, by the factors in w."""
    right, rows = vector(t, w, RIGHT_SIDE), vector(t, p, ROW_SCALE)
    for i in range(t[N_ROWS]):
        right[i] = -rows[i] * values[i]
    particular(p, t, w, right, vector(t, w, SHIFT))


@part
def _see(p: Floats, t: Integers, w: Floats, joint: Integers, weight: Floats, scratch: Floats) -> int:
    """Factor W Λ on the sensors' joints, in scratch; return how many motions the sensors see."""
    nv, sensors = t[NV], len(joint)
    free = nv - int(vector(t, w, RANKING)[RANK])
    basis, columns = block(w, t[BASIS], free, nv), vector(t, p, COLUMN_SCALE)
    rows, end = block(scratch, 0, sensors, free), sensors * nv
    exchanges, reflected = block(scratch, end, 1, nv)[0], block(scratch, end + nv, 1, nv)[0]
    size = block(scratch, end + 2 * nv, 1, nv)[0]
    for j in range(free):
        square = 0.0
        for c in range(nv):
            square += (basis[j, c] / columns[c]) ** 2
        size[j] = np.sqrt(square)
    least = 1.0
    for i in range(sensors):
        c = joint[i]
        least = min(least, weight[i] * columns[c])
        for j in range(free):
            rows[i, j] = weight[i] * basis[j, c] / size[j]
    seen: int = pivoted_qr(rows, exchanges, reflected, UNDETERMINED * least)
    return seen


@part
def _toward(
    t: Integers, w: Floats, joint: Integers, weight: Floats, missing: Floats, seen: int, scratch: Floats
) -> None:  # fmt: skip
    """After `_see`: `SHIFT` += Λ z, the weighted least-squares fit of the measured joints to their
    targets."""
    nv, sensors = t[NV], len(joint)
    free = nv - int(vector(t, w, RANKING)[RANK])
    basis, shift = block(w, t[BASIS], free, nv), vector(t, w, SHIFT)
    rows, end = block(scratch, 0, sensors, free), sensors * nv
    exchanges, reflected = block(scratch, end, 1, nv)[0], block(scratch, end + nv, 1, nv)[0]
    size = block(scratch, end + 2 * nv, 1, nv)[0]
    right = block(scratch, end + 3 * nv, 1, max(sensors, nv))[0]
    for i in range(sensors):
        right[i] = weight[i] * (missing[i] - shift[joint[i]])
    reflect(rows, reflected, seen, right[:sensors])
    back_substitute(rows, seen, right)
    for j in range(seen, len(right)):
        right[j] = 0.0
    exchange_back(exchanges, seen, right)
    for j in range(free):
        for c in range(nv):
            shift[c] += basis[j, c] * right[j] / size[j]


@part
def _missing_speeds(joint: Integers, wanted: Floats, v: Floats, missing: Floats) -> None:
    """missing = wanted - v for every sensor."""
    for i in range(len(joint)):
        missing[i] = wanted[i] - v[joint[i]]


@part
def _meet(
    p: Floats, t: Integers, now: Floats, near: Floats, stands: bool, joint: Integers, balls: Integers,
    table: Floats, most: int, scratch: Floats,
) -> int:  # fmt: skip
    """Write to `now` the state nearest to the one in `near` that meets the closures and the sensors.

    Returns the number of steps. stands: whether `near` already has rows, factors and basis close to its
    state. joint, balls and table: the sensors'. Afterwards now has kinematics, rows, coordinates and basis.
    """
    weight, to_q, to_v, missing = table[WEIGHT], table[TO_Q], table[TO_V], table[MISSING]
    q, v, shift, columns = (
        vector(t, near, Q),
        vector(t, near, V),
        vector(t, near, SHIFT),
        vector(t, p, COLUMN_SCALE),
    )
    lost = vector(t, near, RANKING)[LOST:]
    if stands and lost[0] == 0.0:
        _closing(p, t, near, vector(t, near, PHI))
    else:
        kinematics(p, t, near)
        constraint_rows(p, t, near)
        _tangents(p, t, near, PHI)
    steps, size, seen = 0, 1.0, 0
    while True:
        seen = _see(p, t, near, joint, weight, scratch)
        missing_positions(joint, balls, to_q, q, missing)
        _toward(t, near, joint, weight, missing, seen, scratch)
        size = 0.0
        for c in range(t[NV]):
            size = max(size, abs(shift[c] / columns[c]))
        move(t, q, shift, 1.0 if size <= LONGEST else LONGEST / size)
        steps += 1
        if steps == most or not size > SMALL:
            break
        kinematics(p, t, near)
        constraint_rows(p, t, near)
        _tangents(p, t, near, PHI)

    at_branch = lost[0] > 0.0
    if at_branch:  # the row in place of the lost one holds at one pose only
        kinematics(p, t, near)
        constraint_rows(p, t, near)
        _tangents(p, t, near, PHI_RATE)
        seen = _see(p, t, near, joint, weight, scratch)
        _missing_speeds(joint, to_v, v, missing)
        _toward(t, near, joint, weight, missing, seen, scratch)
        for c in range(t[NV]):
            v[c] += shift[c]
    now_q, now_v = vector(t, now, Q), vector(t, now, V)
    copy(q, now_q)
    copy(v, now_v)
    kinematics(p, t, now)
    constraint_rows(p, t, now)
    if not at_branch:
        _closing(p, t, near, vector(t, now, PHI))
        missing_positions(joint, balls, to_q, now_q, missing)
        _toward(t, near, joint, weight, missing, seen, scratch)
        move(t, now_q, shift, 1.0)
        _closing(p, t, near, vector(t, now, PHI_RATE))
        _missing_speeds(joint, to_v, now_v, missing)
        _toward(t, near, joint, weight, missing, seen, scratch)
        for c in range(t[NV]):
            now_v[c] += shift[c]
    coordinates(p, t, now)
    copy(vector(t, near, BASIS), vector(t, now, BASIS))
    copy(vector(t, near, RANKING), vector(t, now, RANKING))
    return steps


_HOW = (boolean, boolean, boolean, boolean, int64)


class ClosedObservation(NamedTuple):
    """The arrays of `observe_closed`: the model, the workspaces, `Estimator.wiring`, `Branch.arguments`.

    scratch: `scratch_words`; told: written, see `TOLD`.
    """

    p: Floats
    t: Integers
    now: Floats
    near: Floats
    joint: Annotated[Integers, "sensors"]
    has_velocity: Annotated[Integers, "sensors"]
    table: Annotated[Floats, "targets", "sensors"]
    balls: Integers
    measured: Integers
    sensed: Integers
    memory: Floats
    scratch: Floats
    told: Floats


read_observation = reader(ClosedObservation)


def observation(
    now: Workspace, near: Workspace, estimator: Estimator, branch: Branch, told: Floats
) -> Bundle[ClosedObservation]:
    """Return the arrays that `observe_closed` works on; told (6): written, see `TOLD`."""
    scratch = np.zeros(scratch_words(len(now.v), estimator.table.shape[1]))
    model = (now.parameters, now.topology, now.buffer, near.buffer)
    return Bundle(ClosedObservation(*model, *estimator.wiring, *branch.arguments, scratch, told))


@kernel(int64(BUNDLE, VECTOR, VECTOR, *(float64,) * 4, *_HOW))
def observe_closed(
    bundle: Integers, q_measured: Floats, v_measured: Floats,
    dt: float, cut_off_hz: float, bandwidth: float, believed: float,
    first: bool, predicted: bool, fresh: bool, stands: bool, most: int,
) -> int:  # fmt: skip
    """Make `now` a state of the machine, from the prediction in `near` if `stands`, else from its own state.

    bundle: `ClosedObservation`; q_measured, v_measured (sensors) and how they are read: see `read_sensors`.
    The assembly is followed while the residual is at most `believed`. most: steps. Writes `TOLD`. Returns the
    first sensor without a finite reading, or −1.
    """
    given = read_observation(bundle)
    p, t, now, near, told, memory = given.p, given.t, given.now, given.near, given.told, given.memory
    joint, table, balls = given.joint, given.table, given.balls
    q, v = vector(t, near, Q), vector(t, near, V)
    if not stands:
        copy(vector(t, now, Q), q)
        copy(vector(t, now, V), v)
    bad = read_sensors(
        q_measured, v_measured, joint, given.has_velocity, table, balls, dt, cut_off_hz, bandwidth,
        first, predicted, fresh, q, v,
    )  # fmt: skip
    told[0] = _meet(p, t, now, near, stands, joint, balls, table, most, given.scratch)
    told[1] = position_residual(p, t, now)
    if told[1] <= believed:
        follow_branch(p, t, now, given.measured, given.sensed, memory)
    ranking = vector(t, now, RANKING)
    told[2], told[3], told[4], told[5] = ranking[RANK], ranking[LOST], ranking[SMALLEST], memory[NUMBER]
    return bad
