"""The walk along a path of a machine without closures: inverse kinematics and dynamics at every sample."""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Flags, Floats, Integers, Matrix
from linkwork.controller.goal_block import hermite, places
from linkwork.controller.planning.path import Path
from linkwork.controller.planning.walk import CLOSE, LONGEST_STEP, NEWTON_STEPS, Walk, samples
from linkwork.machine import Machine
from linkwork.multibody.coordinate_scales import scales
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.kernels.views import copy
from linkwork.multibody.linalg.linear import lu_apply, lu_factor, lu_solve
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.dynamics import dynamics
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.rotations import move, wrapped
from linkwork.multibody.workspace import Model, Workspace


def tree_walk(machine: Machine, path: Path, q: Floats, time_s: float) -> Walk:
    """`controller.planning.walk_choice.walk` for a machine without closures."""
    mechanism = machine.mechanism
    words = path.pack(machine, np.ones((3, 1)), {}, None)
    piece, offset = samples(path.knots)
    chosen = np.array(path.coordinates, np.int64)
    k, nv = len(chosen), mechanism.nv
    workspace = mechanism.workspace()
    workspace.q[:], workspace.clock[0] = q, time_s
    rows, columns = scales(mechanism, path.coordinates)
    wraps = np.array(mechanism.coordinate_wraps)[chosen]
    poses, out = np.zeros((len(piece), mechanism.nq)), np.zeros((len(piece), 5 * nv + 4 * k + 1))
    reached = walk_samples(
        *workspace.arguments, words, piece, offset, chosen, wraps, rows, columns, poses, out
    )

    def part(start: int, width: int) -> Floats:
        return np.ascontiguousarray(out[:, start : start + width])

    goal = 5 * nv
    return Walk(
        s=path.knots[piece] + offset,
        piece=piece,
        q=poses,
        q1=part(0, nv),
        q2=part(nv, nv),
        inertia=part(2 * nv, nv),
        rest=part(3 * nv, nv),
        motion=part(4 * nv, nv),
        d0=part(goal, k),
        d1=part(goal + k, k),
        d2=part(goal + 2 * k, k),
        d3=part(goal + 3 * k, k),
        hold=out[:, -1].copy(),
        reached=int(reached),
    )


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
    poses: Matrix,
    out: Matrix,
) -> int:
    """Fill `poses` (n × nq) and `out` (columns as in `Walk`, q' first) sample by sample.

    Returns how many samples could be reached. words: the goal block; piece, offset (n): the samples; w holds
    the pose to begin from. Inverse kinematics by Newton's method from the pose extrapolated from the last
    sample.
    """
    nv, k, count = m.nv, len(chosen), len(piece)
    _, order, _, knots, values = places(words)
    stride = order * k
    goal, d1, d2, x = np.empty(k), np.empty(k), np.empty(k), np.empty(nv)
    a, inverse, pivots = np.empty((k, nv)), np.empty((nv, k)), np.empty(nv, np.int64)
    before = 0.0
    began = w.clock[0]
    for n in range(count):
        start = words[knots + piece[n]]
        length = words[knots + piece[n] + 1] - start
        for i in range(k):
            goal[i], d1[i], d2[i], third = hermite(
                words, values + piece[n] * stride + i, stride, k, order, length, offset[n]
            )
            at = 5 * nv + i
            out[n, at], out[n, at + k], out[n, at + 2 * k], out[n, at + 3 * k] = goal[i], d1[i], d2[i], third
        if n > 0:
            ds = start + offset[n] - before
            for j in range(nv):
                x[j] = out[n - 1, j] + 0.5 * ds * out[n - 1, nv + j]
            move(m, w.q, x, ds)
        before = start + offset[n]
        w.clock[0] = began + before

        found = False
        for _ in range(NEWTON_STEPS):
            kinematics(m, w)
            coordinates(m, w)
            size = 0.0
            for i in range(k):
                x[i] = goal[i] - w.theta[chosen[i]]
                if wraps[i]:
                    x[i] = wrapped(x[i])
                size = max(size, abs(rows[i] * x[i]))
                for j in range(nv):
                    a[i, j] = w.J[chosen[i], j]
            if not lu_solve(a, pivots, x) > 1e-14:
                return n
            longest = 0.0
            for j in range(nv):
                longest = max(longest, abs(x[j] / columns[j]))
            shorten = 1.0 if longest <= LONGEST_STEP else LONGEST_STEP / longest
            move(m, w.q, x, shorten)
            if size < CLOSE and shorten == 1.0:
                found = True
                break
        if not found:
            return n

        for j in range(nv):
            w.v[j] = 0.0
        dynamics(m, w)
        coordinates(m, w)
        for i in range(k):
            for j in range(nv):
                a[i, j] = w.J[chosen[i], j]
        if not lu_factor(a, pivots) > 1e-14:
            return n
        square = 0.0
        for c in range(k):
            for i in range(k):
                x[i] = 1.0 if i == c else 0.0
            lu_apply(a, pivots, x)
            for j in range(nv):
                inverse[j, c] = x[j]
                square += (x[j] / (columns[j] * rows[c])) ** 2
        copy(w.q, poses[n])
        for j in range(nv):
            rate = 0.0
            for c in range(k):
                rate += inverse[j, c] * d1[c]
            w.v[j] = rate
            out[n, j], out[n, 3 * nv + j] = rate, w.h[j]
        dynamics(m, w)
        coordinates(m, w)
        for j in range(nv):
            change = 0.0
            for c in range(k):
                change += inverse[j, c] * (d2[c] - w.Jdv[chosen[c]])
            out[n, nv + j] = change
        for j in range(nv):
            inertia, motion = 0.0, w.h[j] - out[n, 3 * nv + j]
            for c in range(nv):
                inertia += w.M[j, c] * w.v[c]
                motion += w.M[j, c] * out[n, nv + c]
            out[n, 2 * nv + j], out[n, 4 * nv + j] = inertia, motion
        out[n, 5 * nv + 4 * k] = 1.0 / np.sqrt(square)
    return count
