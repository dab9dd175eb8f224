"""The walk along a path for machines whose joints close on each other.

At every sample Newton's method finds the pose that meets both the constraints and the goal; the rates follow
in the basis of the admitted velocities (`laws.closed_chain` has the equations). Where branches of the
closure meet, the goal's coordinates may not determine the rates; there they are carried on from the sample
before.
"""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Flags, Floats, Integers, Matrix
from linkwork.controller.goal_block import hermite, places
from linkwork.controller.laws.closed_chain import evaluate_closed
from linkwork.controller.laws.motor_allocation import motor_map
from linkwork.controller.laws.motor_conditioning import leverage
from linkwork.controller.planning.path import Path
from linkwork.controller.planning.walk import CLOSE, LONGEST_STEP, NEWTON_STEPS, Walk, samples
from linkwork.machine import Machine
from linkwork.multibody import Workspace
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.coordinate_scales import scales
from linkwork.multibody.formulations.projection import position_residual
from linkwork.multibody.formulations.rank import admitted, factor, particular, scaled_right_side
from linkwork.multibody.kernels.compiling import block, kernel
from linkwork.multibody.kernels.layout import LOST, RANK, SMALLEST
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.linalg.linear import cholesky, cholesky_solve, lu_apply, lu_factor, products
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.rotations import move, move_by, wrapped
from linkwork.multibody.workspace import Model

OPEN_AT_A_BRANCH = 1e-6
"""Scaled residual that may stay where branches meet: the lost row cannot be corrected there."""
NEAR_A_BRANCH = 5e-3
"""Distance (scaled, about radians) to a pose where branches meet, below which a path may not end."""
PROBE = 1e-3
"""Length of the steps (scaled) by which the slope of the smallest singular value is found."""


def closed_walk(machine: Machine, path: Path, q: Floats, time_s: float) -> Walk:
    """Walk along a path from q (nq; rad or m), see `controller.planning.walk.walk`."""
    mechanism = machine.mechanism
    words = path.pack(machine, np.ones((3, 1)), {}, None)
    piece, offset = samples(path.knots)
    chosen = np.array(path.coordinates, np.int64)
    k, nv, count = len(chosen), mechanism.nv, len(piece)
    workspace = machine.workspace()
    workspace.q[:], workspace.clock[0] = q, time_s
    rows, columns = scales(mechanism, path.coordinates)
    wraps = np.array(mechanism.coordinate_wraps)[chosen]
    motor = np.array([motor.index for motor in machine.motors], np.int64)
    weight = machine.effort_weights
    joints, goal = np.zeros((count, 5 * nv)), np.zeros((count, 4 * k + 3))
    maps = np.zeros((count, len(motor) * nv))
    poses = np.zeros((count, mechanism.nq))
    reached = walk_closed_samples(
        *workspace.arguments, words, piece, offset, chosen, wraps, rows, columns, motor, weight,
        poses, joints, goal, maps,
    )  # fmt: skip

    def part(table: Floats, number: int, width: int) -> Floats:
        return np.ascontiguousarray(table[:, number * width : (number + 1) * width])

    return Walk(
        s=path.knots[piece] + offset,
        piece=piece,
        q=poses,
        q1=part(joints, 0, nv),
        q2=part(joints, 1, nv),
        inertia=part(joints, 2, nv),
        rest=part(joints, 3, nv),
        motion=part(joints, 4, nv),
        d0=part(goal, 0, k),
        d1=part(goal, 1, k),
        d2=part(goal, 2, k),
        d3=part(goal, 3, k),
        hold=goal[:, 4 * k].copy(),
        closures=goal[:, 4 * k + 1].copy() if machine.assembly.ordinary_rank else None,
        leverage=goal[:, 4 * k + 2].copy(),
        reached=int(reached),
        motors=maps.reshape(count, len(motor), nv),
        ends_at_branch=_branches_meet(workspace, poses[reached - 1]) if reached else False,
    )


def _branches_meet(workspace: Workspace, q: Floats) -> bool:
    """Whether the closures are so close to losing a row at q that rest would leave the way out open.

    The smallest singular value σ of the rows is then small, and zero within `NEAR_A_BRANCH` by its slope
    along the admitted velocities: in a machine with many loops σ is small everywhere. Where no constraint
    holds, there is no row to lose.
    """
    lost, held, smallest = _closeness(workspace, q)
    if lost > 0.0 or held == 0.0 or smallest >= NEAR_A_BRANCH:
        return lost > 0.0
    admitted(*workspace.arguments)
    model, columns = workspace.model, workspace.model.column_scale
    motions = np.linalg.qr((workspace.basis[: int(model.nv - held)] / columns).T)[0].T
    slopes = np.zeros(len(motions))
    for i, motion in enumerate(motions):
        for side in (-PROBE, PROBE):
            near = q.copy()
            move_by(model, near, columns * motion, side)
            slopes[i] = max(slopes[i], abs(_closeness(workspace, near)[2] - smallest) / PROBE)
    steepest = float(np.linalg.norm(slopes))
    farthest = float(np.abs(slopes @ motions).max(initial=0.0))
    return smallest * farthest < NEAR_A_BRANCH * steepest**2


def _closeness(workspace: Workspace, q: Floats) -> tuple[float, float, float]:
    """Return at q the rows that are lost, the rank, and the smallest singular value of the scaled rows."""
    workspace.q[:], workspace.v[:] = q, 0.0
    kinematics(*workspace.arguments)
    constraint_rows(*workspace.arguments)
    factor(*workspace.arguments)
    lost, held, smallest = (float(workspace.ranking[entry]) for entry in (LOST, RANK, SMALLEST))
    return lost, held, 0.0 if lost > 0.0 else smallest


@kernel  # fmt: skip
def walk_closed_samples(
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
        evaluate_closed(m, w)
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
                    total += (rates[j, c] / (columns[j] * rows[c])) ** 2
            goal[4 * k] = 1.0 / np.sqrt(total)
            for j in range(nv):
                w.v[j] = 0.0
                for c in range(k):
                    w.v[j] += rates[j, c] * goal[k + c]
        else:
            goal[4 * k] = goals[n - 1, 4 * k]
            for j in range(nv):
                w.v[j] = joints[n - 1, j] + ds * joints[n - 1, nv + j]
        evaluate_closed(m, w)
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
