"""The samples of a walk: kernels for inverse kinematics and dynamics along a path.

At every sample Newton's method finds the pose that meets both the constraints and the goal; the rates follow
in the basis of the admitted velocities (`laws.pidc` has the equations), all velocities in a machine
without constraints. Where branches of the closure meet, the goal's coordinates may not determine the rates;
there they are carried on from the sample before.
"""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Flags, Floats, Integers, Matrix
from linkwork.controller.actuation.motor_allocation import motor_map
from linkwork.controller.actuation.motor_conditioning import leverage
from linkwork.controller.exchange.goal_block import hermite, places
from linkwork.multibody.closure.rank import admitted, factor, particular, scaled_right_side
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.motion_basis import evaluate_shortest
from linkwork.multibody.dynamics.projection import position_residual
from linkwork.multibody.kernels.compiling import block, kernel
from linkwork.multibody.kernels.layout import LOST, RANK, SMALLEST
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.linalg.linear import cholesky, cholesky_solve, lu_apply, lu_factor, products
from linkwork.multibody.linalg.vectors import squared
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.rotations import move, wrapped
from linkwork.multibody.workspace import Model, Workspace

NEWTON_STEPS = 40
LONGEST_STEP = 0.5
"""Longest Newton step, rad or machine lengths."""
CLOSE = 1e-9
"""Scaled residual below which one more Newton step reaches round-off."""
OPEN_AT_A_BRANCH = 1e-6
"""Scaled residual that may stay where branches meet: the lost row cannot be corrected there."""


@kernel  # fmt: skip
def walk_samples(
    m: Model,
    w: Workspace,
    words: Floats,
    piece: Integers,
    offset: Floats,
    chosen: Integers,
    wraps: Flags,
    rows: Floats,
    columns: Floats,
    motor: Integers,
    weight: Floats,
    poses: Matrix,
    joints: Matrix,
    goals: Matrix,
    maps: Matrix,
) -> int:
    """Fill, sample by sample, poses, joints, goals and maps (n rows each); return how many samples were
    reached.

    poses: q (nq); joints: q', q'', inertia, rest, motion (nv each); goals: θ to θ''' (k each), hold,
    closures, leverage; maps: see `Walk.motors`. words: the goal block; piece, offset (n): the samples; w
    holds the pose to begin from.
    """
    nv, k = m.nv, len(chosen)
    _, order, _, knots, values = places(words)
    stride = order * k
    held, pivots, z, rates = np.empty((k, k)), np.empty(k, np.int64), np.empty(k), np.empty((nv, k))
    square, share = np.empty(k * k), np.empty(k)
    ahead, levers = np.empty(nv), np.empty(k * (3 * k + len(motor) + 1))
    before = 0.0
    began = w.clock[0]
    for n in range(len(piece)):
        at, goal = joints[n], goals[n]
        start = words[knots + piece[n]]
        length = words[knots + piece[n] + 1] - start
        for i in range(k):
            goal[i], goal[k + i], goal[2 * k + i], goal[3 * k + i] = hermite(
                words, values + piece[n] * stride + i, stride, k, order, length, offset[n]
            )
        ds = start + offset[n] - before if n > 0 else 0.0
        before = start + offset[n]
        w.clock[0] = began + before
        if n > 0:
            for j in range(nv):
                ahead[j] = joints[n - 1, j] + 0.5 * ds * joints[n - 1, nv + j]
            move(m, w.q, ahead, ds)
        fill(w.v, 0.0)
        if not reach(m, w, goal[:k], chosen, wraps, rows, columns):
            return n
        evaluate_shortest(m, w)
        determined = nv - int(w.ranking[RANK]) == k
        if not determined and n == 0:
            return n
        basis = w.basis[:k]
        goal[4 * k + 1] = 0.0 if w.ranking[LOST] > 0.0 else w.ranking[SMALLEST]
        for j in range(len(w.q)):
            poses[n, j] = w.q[j]
        for j in range(nv):
            at[3 * nv + j] = w.h[j]
        if determined:
            for i in range(k):
                products(w.J[chosen[i]], basis, held[i])
            if not lu_factor(held, pivots) > 1e-14:
                return n
            total = 0.0
            for c in range(k):
                for i in range(k):
                    z[i] = 1.0 if i == c else 0.0
                lu_apply(held, pivots, z)
                for j in range(nv):
                    rates[j, c] = 0.0
                    for i in range(k):
                        rates[j, c] += basis[i, j] * z[i]
                    total += squared(rates[j, c] / (columns[j] * rows[c]))
            goal[4 * k] = 1.0 / np.sqrt(total)
            for j in range(nv):
                w.v[j] = 0.0
                for c in range(k):
                    w.v[j] += rates[j, c] * goal[k + c]
        else:
            goal[4 * k] = goals[n - 1, 4 * k]
            for j in range(nv):
                w.v[j] = joints[n - 1, j] + ds * joints[n - 1, nv + j]
        evaluate_shortest(m, w)
        if determined and nv - int(w.ranking[RANK]) == k:
            for i in range(k):
                z[i] = goal[2 * k + i] - w.Jdv[chosen[i]]
                for c in range(nv):
                    z[i] -= w.J[chosen[i], c] * w.vdot[c]
                products(w.J[chosen[i]], basis, held[i])
            if not lu_factor(held, pivots) > 1e-14:
                return n
            lu_apply(held, pivots, z)
            for j in range(nv):
                at[nv + j] = w.vdot[j]
                for i in range(k):
                    at[nv + j] += basis[i, j] * z[i]
            if m.n_rows > 0:  # else each motor moves its joint alone
                goal[4 * k + 2] = leverage(basis, m.column_scale, motor, levers)
                motor_map(basis, motor, weight, square, share, block(maps[n], 0, len(motor), nv))
        else:
            goal[4 * k + 2] = goals[n - 1, 4 * k + 2] if n > 0 else 0.0
            for j in range(nv):
                at[nv + j] = joints[max(n - 1, 0), nv + j]
            copy(maps[max(n - 1, 0)], maps[n])
        for j in range(nv):
            inertia, motion = 0.0, w.h[j] - at[3 * nv + j]
            for c in range(nv):
                inertia += w.M[j, c] * w.v[c]
                motion += w.M[j, c] * at[nv + c]
            at[j], at[2 * nv + j], at[4 * nv + j] = w.v[j], inertia, motion
    return len(piece)


@kernel
def reach(
    m: Model, w: Workspace, goal: Floats, chosen: Integers, wraps: Flags, rows: Floats, columns: Floats
) -> int:
    """Newton's method from q in w to the pose that meets the constraints and the goal (k); 1 when it is
    there.

    Each step is the shortest (in the basis) that the linearised equations ask for.
    """
    nv, k = m.nv, len(goal)
    z, held = np.empty(k), np.empty((k, k))
    along = np.empty((k, nv))
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
        free = nv - int(w.ranking[RANK])
        basis = w.basis[:free]
        for i in range(k):
            z[i] = goal[i] - w.theta[chosen[i]]
            if wraps[i]:
                z[i] = wrapped(z[i])
            size = max(size, abs(rows[i] * z[i]))
            for c in range(nv):
                z[i] -= w.J[chosen[i], c] * w.shift[c]
            fill(along[i], 0.0)
            products(w.J[chosen[i]], basis, along[i])
        for i in range(k):
            products(along[i], along, held[i])
        if not cholesky(held, held) > 1e-26:
            return 0
        cholesky_solve(held, z)
        for j in range(free):
            share = 0.0
            for i in range(k):
                share += along[i, j] * z[i]
            for c in range(nv):
                w.shift[c] += basis[j, c] * share
        longest = 0.0
        for j in range(nv):
            longest = max(longest, abs(w.shift[j] / columns[j]))
        shorten = 1.0 if longest <= LONGEST_STEP else LONGEST_STEP / longest
        move(m, w.q, w.shift, shorten)
        if size < CLOSE and shorten == 1.0:
            return 1
    return 0
