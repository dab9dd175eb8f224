"""The samples of a walk: kernels for inverse kinematics and dynamics along a path.

At every sample Newton's method finds the pose that meets both the constraints and the goal; the rates follow
in the basis of the admitted velocities (`laws.pidc` has the equations), all velocities in a machine
without constraints. Where branches of the closure meet, the goal's coordinates may not determine the rates;
there they are carried on from the sample before.
"""

import math
from typing import Annotated

import numpy as np

from linkwork.arrays import Flags, Floats, Integers, Matrix
from linkwork.controller.actuation.motor_allocation import motor_map
from linkwork.controller.actuation.motor_conditioning import leverage
from linkwork.controller.exchange.goal_block import hermite, places
from linkwork.controller.exchange.goal_task_part import DAMP, HOLD, MASS
from linkwork.controller.laws.away_from_singular import AwayFromSingular, lead_away
from linkwork.controller.laws.free_motion import free_reference
from linkwork.multibody.closure.rank import admitted, factor, particular, scaled_right_side
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.kept_rows import (
    ACCELERATION,
    DISPLACES,
    POSITION,
    VELOCITY,
    KeptRows,
    bound_motion,
    keep_between,
)
from linkwork.multibody.dynamics.motion_basis import evaluate_shortest
from linkwork.multibody.dynamics.projection import position_residual
from linkwork.multibody.dynamics.reduced_mass import free_inertia
from linkwork.multibody.dynamics.task_motion import TaskRows, follow_levels, settle
from linkwork.multibody.kernels.compiling import block, kernel, part
from linkwork.multibody.kernels.layout import LOST, RANK, SMALLEST
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.linalg.linear import products
from linkwork.multibody.linalg.orthogonal import complete, minimum_norm, pivoted_qr
from linkwork.multibody.linalg.vectors import squared
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.rotations import move, wrapped
from linkwork.multibody.workspace import Model, Workspace

NEWTON_STEPS = 40
JERK_ROUNDING = 1.4e-14
"""Round-off of θ''' on a piece of 1 s, relative to θ: it comes from differences of the values at its ends."""
TOO_FAST = 1e4
"""Speed of a joint at which a walk ends, rad/s or lengths of the machine per s."""
LONGEST_STEP = 0.5
"""Longest Newton step, rad or machine lengths."""
ROW_LOST = 1e-9
"""Length, in common units, below which a row of the goal depends on the others."""
CLOSE = 1e-9
"""Scaled residual below which one more Newton step reaches round-off."""
BACK = 1e-6
"""Scaled error from which on rows that yielded to bounds are followed exactly again."""
OPEN_AT_A_BRANCH = 1e-6
"""Scaled residual that may stay where branches meet: the lost row cannot be corrected there."""


class WalkedTask(Struct):
    """A goal of k rows for `walk_samples`, on a machine with `dof` degrees of freedom.

    `rows` and `columns` scale rows and velocities to common units; `full`: the goal's own metric; `posture`:
    see `free_reference`, and `none` is without one; `kept`: rows between bounds, to which the first level
    yields where it is `displaced`.
    """

    task: TaskRows
    kept: KeptRows
    displaced: Annotated[Integers, "1"]
    dof: int
    chosen: Annotated[Integers, "k"]
    wraps: Annotated[Flags, "k"]
    rows: Annotated[Floats, "k"]
    columns: Annotated[Floats, "nv"]
    motor: Annotated[Integers, "motors"]
    weight: Floats
    full: Annotated[Floats, "nv, nv"]
    posture: Annotated[Floats, "2, nv"]
    none: Annotated[Floats, "2, nv"]
    away: AwayFromSingular
    room: Floats


def room_for(dof: int, k: int, motors: int) -> int:
    """Return the length of `WalkedTask.room` for k rows."""
    return max(dof * (3 * dof + motors + 1), k * dof + 4 * k + dof)


@kernel  # fmt: skip
def walk_samples(
    m: Model,
    w: Workspace,
    words: Floats,
    piece: Integers,
    offset: Floats,
    given: WalkedTask,
    rest: int,
    metric: int,
    damping: float,
    omega: float,
    poses: Matrix,
    joints: Matrix,
    goals: Matrix,
    maps: Matrix,
) -> int:
    """Fill, sample by sample, poses, joints, goals and maps (n rows each); return how many samples were
    reached.

    poses: q (nq); joints: q', q'', inertia, rest, motion (nv each); goals: θ to θ''' (k each), hold,
    closures, leverage, what θ misses (k), `Walk.shares`; maps: see `Walk.motors`. words: the goal block;
    piece, offset (n): the samples; rest, metric, damping: what the goal's rows leave free, see
    `free_reference`. w holds the pose to begin from. omega (rad/s): bandwidth with which
    lower levels come back to the path, which yield to bounds.
    """
    nv, k = m.nv, len(given.chosen)
    _, order, _, knots, values = places(words)
    stride = order * k
    ahead = np.empty(nv)
    before, began = 0.0, w.clock[0]
    for n in range(len(piece)):
        at, goal, last = joints[n], goals[n], max(n - 1, 0)
        start = words[knots + piece[n]]
        length = words[knots + piece[n] + 1] - start
        for i in range(k):
            goal[i], goal[k + i], goal[2 * k + i], goal[3 * k + i] = hermite(
                words, values + piece[n] * stride + i, stride, k, order, length, offset[n]
            )
            unsure = JERK_ROUNDING * abs(goal[i]) / (length * length * length)
            jerk = goal[3 * k + i]
            goal[3 * k + i] = math.copysign(max(0.0, abs(jerk) - unsure), jerk)
        ds = start + offset[n] - before if n > 0 else 0.0
        before = start + offset[n]
        w.clock[0] = began + before
        if n > 0:
            for j in range(nv):
                ahead[j] = joints[n - 1, j] + 0.5 * ds * joints[n - 1, nv + j]
            move(m, w.q, ahead, ds)
        fill(w.v, 0.0)
        if not reach(m, w, given, goal[:k]):
            return n
        for j in range(len(w.q)):
            poses[n, j] = w.q[j]
        for j in range(nv):
            ahead[j] = joints[last, j] + ds * joints[last, nv + j]
        motors = block(maps[n], 0, len(given.motor), nv)
        state = _sample(m, w, given, rest, metric, damping, omega, ahead, goal, at, motors)
        if state == SINGULAR or (state == UNDETERMINED and n == 0):
            return n
        for j in range(nv):
            if not abs(w.v[j]) < TOO_FAST * given.columns[j]:  # free motions that nothing stops
                return n
        if state == UNDETERMINED:
            goal[4 * k], goal[4 * k + 2] = goals[last, 4 * k], goals[last, 4 * k + 2]
            goal[5 * k + 3] = goals[last, 5 * k + 3]
            for j in range(nv):
                at[nv + j] = joints[last, nv + j]
            copy(maps[last], maps[n])
        for j in range(nv):
            inertia, motion = 0.0, w.h[j] - at[3 * nv + j]
            for c in range(nv):
                inertia += w.M[j, c] * w.v[c]
                motion += w.M[j, c] * at[nv + c]
            at[j], at[2 * nv + j], at[4 * nv + j] = w.v[j], inertia, motion
    return len(piece)


DETERMINED, UNDETERMINED, SINGULAR = range(3)
"""Of a sample: its motion follows from the goal; it is carried on, at a branch; the goal's rows lost rank."""


@part
def _sample(
    m: Model,
    w: Workspace,
    given: WalkedTask,
    rest: int,
    metric: int,
    damping: float,
    omega: float,
    ahead: Floats,
    goal: Floats,
    at: Floats,
    motors: Matrix,
) -> int:
    """After `reach`: velocity in `v`, and q'', rest, hold, closures, leverage and motors' map of the sample.

    ahead (nv): the velocity that the sample before leads to.
    """
    t, nv, k, above = given.task, m.nv, len(given.chosen), given.task.kept
    evaluate_shortest(m, w)
    for i in range(k):
        off = goal[i] - w.theta[given.chosen[i]]
        goal[4 * k + 3 + i] = wrapped(off) if given.wraps[i] else off
    goal[4 * k + 1] = 0.0 if w.ranking[LOST] > 0.0 else w.ranking[SMALLEST]
    for j in range(nv):
        at[3 * nv + j] = w.h[j]
    f = given.dof
    determined = nv - int(w.ranking[RANK]) == f
    if determined:
        if not _follow_velocities(m, w, given, rest, ahead, goal, at[:nv]):
            return SINGULAR
    else:
        copy(ahead, w.v)
    evaluate_shortest(m, w)
    if not determined or nv - int(w.ranking[RANK]) != f:
        return UNDETERMINED
    _scaled_rows(w, given, f)
    t.use[1] = t.n
    for i in range(k):
        row = given.chosen[i]
        t.wanted[above + i] = goal[2 * k + i] - w.Jdv[row]
        if given.kept.c > 0:
            t.wanted[above + i] += omega * (omega * goal[4 * k + 3 + i] + 2.0 * goal[k + i])
        for c in range(nv):
            t.wanted[above + i] -= w.J[row, c] * w.vdot[c]
            if given.kept.c > 0:
                t.wanted[above + i] -= 2.0 * omega * w.J[row, c] * w.v[c]
        t.wanted[above + i] *= given.rows[i]
    free = follow_levels(t, f)
    if rest == HOLD and free > 0:
        return SINGULAR
    if free > 0 or given.kept.c > 0:
        if given.away.on > 0:
            lead_away(m, w, given.away, t, f, free, damping, given.posture)
        free_reference(
            m, w, t, f, DAMP if rest == HOLD else rest, metric, damping,
            given.motor, given.weight, given.full, given.posture, given.room,
        )  # fmt: skip
    if free > 0:
        settle(t, f, free)
    bound_motion(m, w, given.kept, f, ACCELERATION, w.vdot)
    off = 0.0
    for i in range(k):
        if above + i < int(t.ends[min(t.n, 2) - 1]):
            off = max(off, abs(given.rows[i] * goal[4 * k + 3 + i]))
    displaces: bool = keep_between(t, given.kept, f) == DISPLACES
    given.displaced[0] = int(displaces or (bool(given.displaced[0]) and off > BACK))
    for j in range(nv):
        at[nv + j] = w.vdot[j]
        for i in range(f):
            at[nv + j] += w.basis[i, j] * t.motion[i]
    goal[5 * k + 3] = free_inertia(m, w, f)
    if m.n_rows > 0:  # else each motor moves its joint alone
        basis = w.basis[:f]
        goal[4 * k + 2] = leverage(basis, m.column_scale, given.motor, given.room)
        square, share = block(given.room, 0, 1, f * f)[0], block(given.room, f * f, 1, f)[0]
        motor_map(basis, given.motor, given.weight, square, share, motors)
    return DETERMINED


@part
def _follow_velocities(
    m: Model, w: Workspace, given: WalkedTask, rest: int, ahead: Floats, goal: Floats, driven: Floats
) -> bool:
    """Velocity in `v` for the goal's; return False where its rows lost rank. driven (nv): scratch."""
    t, nv, k, above, f = given.task, m.nv, len(given.chosen), given.task.kept, given.dof
    _scaled_rows(w, given, f)
    goal[4 * k] = _size_of_inverse(m, w, given)
    _driven_velocity(m, w, driven)
    for i in range(k):
        t.wanted[above + i] = goal[k + i]
        for c in range(nv):
            t.wanted[above + i] -= w.J[given.chosen[i], c] * driven[c]
        t.wanted[above + i] *= given.rows[i]
    free = follow_levels(t, f)
    if rest == HOLD and free > 0 and t.use[1] == t.n:
        return False
    if free > 0 or given.kept.c > 0:
        copy(driven, w.vdot)
        copy(ahead, w.v)
        free_reference(
            m, w, t, f, DAMP, MASS, -1.0,
            given.motor, given.weight, given.full, given.none, given.room,
        )  # fmt: skip
    if free > 0:
        settle(t, f, free)
    bound_motion(m, w, given.kept, f, VELOCITY, driven)
    keep_between(t, given.kept, f)
    for j in range(nv):
        w.v[j] = driven[j]
        for i in range(f):
            w.v[j] += w.basis[i, j] * t.motion[i]
    return True


@part
def _driven_velocity(m: Model, w: Workspace, driven: Floats) -> None:
    """driven (nv) := some velocity at which constraints move with time; at v = 0, after `factor`."""
    fill(driven, 0.0)
    size = 0.0
    for i in range(m.n_rows):
        size = max(size, abs(w.explicit[i]))
    if size > 0.0:
        scaled_right_side(m, w, -1.0, w.explicit)
        particular(m, w, w.right_side, driven)


@part
def _scaled_rows(w: Workspace, given: WalkedTask, f: int) -> None:
    """Write the goal's rows on f admitted motions, scaled, to the task."""
    t, above = given.task, given.task.kept
    t.use[1] = t.n
    if above > 0:  # what yields to bounds for a while comes back by feedback
        t.use[1] = 1 if given.displaced[0] else min(t.n, 2)
    for i in range(len(given.chosen)):
        products(w.J[given.chosen[i]], w.basis[:f], t.rows[above + i])
        for j in range(f):
            t.rows[above + i, j] *= given.rows[i]


@part
def _size_of_inverse(m: Model, w: Workspace, given: WalkedTask) -> float:
    """Return a lower bound of the smallest singular value of the goal's rows, in common units.

    It is one over the Frobenius norm of a right inverse; rows that depend on each other count as one.
    """
    t, nv = given.task, m.nv
    f, k = given.dof, len(given.chosen)
    least = min(k, f)
    rows, vectors = block(given.room, 0, k, f), k * f
    exchanges, left = block(given.room, vectors, 1, least)[0], block(given.room, vectors + k, 1, least)[0]
    right, unit = block(given.room, vectors + 2 * k, 1, least)[0], block(given.room, vectors + 3 * k, 1, k)[0]
    z = block(given.room, vectors + 4 * k, 1, f)[0]
    for i in range(k):
        for j in range(f):
            rows[i, j] = t.rows[t.kept + i, j]
    rank = pivoted_qr(rows, exchanges, left, ROW_LOST)
    complete(rows, right, rank)
    total = 0.0
    for c in range(k):
        fill(unit, 0.0)
        unit[c] = 1.0
        minimum_norm(rows, exchanges, left, right, rank, unit, z)
        for j in range(nv):
            rate = 0.0
            for i in range(f):
                rate += w.basis[i, j] * z[i]
            total += squared(rate / given.columns[j])
    return 1.0 / math.sqrt(total) if total > 0.0 else math.inf


@kernel
def reach(m: Model, w: Workspace, given: WalkedTask, goal: Floats) -> int:
    """Newton's method from q in w to the pose that meets the constraints and the goal (k); 1 when it is
    there.

    Each step is the shortest (in the basis) that the linearised equations ask for, level by level.
    """
    t, nv = given.task, m.nv
    for _ in range(NEWTON_STEPS):
        kinematics(m, w)
        constraint_rows(m, w)
        coordinates(m, w)
        size = position_residual(m, w)
        factor(m, w)
        if w.ranking[LOST] > 0.0 and size < OPEN_AT_A_BRANCH:
            size = 0.0
        scaled_right_side(m, w, -1.0, w.phi)
        particular(m, w, w.right_side, w.shift)
        admitted(m, w)
        f = nv - int(w.ranking[RANK])
        _scaled_rows(w, given, f)
        for i in range(len(given.chosen)):
            row = given.chosen[i]
            error = goal[i] - w.theta[row]
            if given.wraps[i]:
                error = wrapped(error)
            if t.kept + i < int(t.ends[int(t.use[1]) - 1]):
                size = max(size, abs(given.rows[i] * error))
            for c in range(nv):
                error -= w.J[row, c] * w.shift[c]
            t.wanted[t.kept + i] = given.rows[i] * error
        bound_motion(m, w, given.kept, f, POSITION, w.shift)
        size = max(size, _beyond(w, given.kept))
        _shortest(t, given.kept, f)
        for j in range(f):
            for c in range(nv):
                w.shift[c] += w.basis[j, c] * t.motion[j]
        longest = 0.0
        for j in range(nv):
            longest = max(longest, abs(w.shift[j] / given.columns[j]))
        shorten = 1.0 if longest <= LONGEST_STEP else LONGEST_STEP / longest
        move(m, w.q, w.shift, shorten)
        if shorten == 1.0 and (size < CLOSE or (longest < CLOSE and _dependent(t, given.kept))):
            return 1
    return 0


@part
def _beyond(w: Workspace, kept: KeptRows) -> float:
    """Return how far coordinates are beyond their bounds, scaled."""
    most = 0.0
    for i in range(kept.c):
        value = w.theta[kept.index[i]]
        most = max(most, kept.scale[i] * max(kept.low[i] - value, value - kept.high[i]))
    return most


@part
def _dependent(t: TaskRows, kept: KeptRows) -> bool:
    """Whether rows depend on each other, so that they may contradict each other."""
    levels = int(t.use[1])
    independent, count = 0, int(t.ends[levels - 1]) - t.kept
    for level in range(levels):
        independent += t.rank[level]
    for i in range(kept.c):
        if kept.side[i] != 0:
            count += 1
    return independent < count


@part
def _shortest(t: TaskRows, kept: KeptRows, f: int) -> None:
    """The task's shortest motion (f) that follows its rows, between the bounds."""
    free = follow_levels(t, f)
    if free > 0 or kept.c > 0:
        fill(t.pull, 0.0)
        for i in range(f):
            fill(t.metric[i], 0.0)
            t.metric[i, i] = 1.0
    if free > 0:
        settle(t, f, free)
    keep_between(t, kept, f)
