"""Motions that the rows of a goal leave free: least constraint in a metric, or damping.

With Λ the basis of the admitted velocities, x an admitted acceleration, Mr = Λ' M Λ and g = Λ' (h + M x -
friction), the motors' efforts give Mr a + g. Metric and reference of `task_motion` are

    rest: least    Q = Mr,                   Q a₀ = -g:  the motors do not drive the free motions (Gauss)
    rest: damp     Q = Mr,                   Q a₀ = -Λ' M (d v + x)
    metric: motors Q = Mr (G W G')⁻¹ Mr,     Q a₀ = -Mr (G W G')⁻¹ g, G = Λ' B:  least τ' W⁻¹ τ
    metric: full   Q = Λ' Q_n Λ,             Q a₀ = -Q Mr⁻¹ g, or Q a₀ = -Λ' Q_n (d v + x)

Roots Q = R R' are those of Cholesky; with G W G' = L L' that of the motors is R = Mr L⁻ᵀ.

A preferred posture q* replaces v by v - s in d v, with s = d / 4 (q* - q), at most the largest speed of each
joint: within that bound free motions come to the posture with critical damping.
"""

from linkwork.arrays import Floats, Integers, Matrix
from linkwork.controller.actuation.motor_allocation import held_by
from linkwork.controller.exchange.goal_task_part import DAMP, FULL, LEAST, MOTORS
from linkwork.multibody.dynamics.task_motion import TaskRows
from linkwork.multibody.dynamics.tree_dynamics import mass_times
from linkwork.multibody.kernels.compiling import block, kernel, part
from linkwork.multibody.kernels.views import fill
from linkwork.multibody.linalg.linear import cholesky, cholesky_solve, lower_solve
from linkwork.multibody.workspace import Model, Workspace


@kernel
def free_reference(
    m: Model,
    w: Workspace,
    t: TaskRows,
    f: int,
    rest: int,
    metric: int,
    damping: float,
    motor: Integers,
    weight: Floats,
    full: Matrix,
    posture: Matrix,
    room: Floats,
) -> None:
    """Write R and R' a₀ of a task on f motions: M, h, friction, `basis`, and x in `vdot` are the workspace's.

    rest, metric: see `goal_task_part`; damping: d (1/s); motor, weight (motors): joints with motors and
    W's diagonal; full (nv × nv): Q_n, used by `FULL` alone; posture (2 × nv): q* and the largest speed
    toward it, 0 without one; room: 2 f² + f numbers of scratch.
    """
    nv = m.nv
    mass, square = block(room, 0, f, f), block(room, f * f, 1, f * f)[0]
    share = block(room, 2 * f * f, 1, f)[0]
    mass_times(m, w, w.vdot, w.shift)
    for c in range(nv):
        w.shift[c] += w.h[c] - w.friction[c]
    for i in range(f):
        mass_times(m, w, w.basis[i], w.momenta[i])
        t.pull[i] = 0.0
        for c in range(nv):
            if rest == DAMP:
                t.pull[i] -= w.momenta[i, c] * (_damped(w, posture, damping, c) + w.vdot[c])
            else:
                t.pull[i] -= w.basis[i, c] * w.shift[c]
        for j in range(f):
            t.metric[i, j] = 0.0
            for c in range(nv):
                t.metric[i, j] += w.momenta[i, c] * w.basis[j, c]
    if metric == MOTORS and rest == LEAST and held_by(w.basis[:f], motor, weight, square):
        root = block(square, 0, f, f)
        for i in range(f):
            lower_solve(root, t.metric[i])
    else:
        if metric == FULL:
            _in_full_metric(m, w, t, f, rest, damping, full, posture, mass, share)
        root = t.metric[:f]
        cholesky(root, root)
        for i in range(f):
            fill(root[i, i + 1 :], 0.0)
    lower_solve(root, t.pull)


@part
def _damped(w: Workspace, posture: Matrix, damping: float, c: int) -> float:
    """d (v - s) of joint velocity c."""
    most: float = posture[1, c]
    toward: float = min(max(0.25 * damping * (posture[0, c] - w.q[c]), -most), most)
    speed: float = w.v[c]
    return damping * (speed - toward)


@part
def _in_full_metric(
    m: Model, w: Workspace, t: TaskRows, f: int, rest: int, damping: float, full: Matrix, posture: Matrix,
    mass: Matrix, share: Floats,
) -> None:  # fmt: skip
    """Q := Λ' Q_n Λ, and Q a₀ for the same reference a₀ as in the metric of the mass."""
    nv = m.nv
    if rest == LEAST:
        for i in range(f):
            for j in range(f):
                mass[i, j] = t.metric[i, j]
        cholesky(mass, mass)
        for i in range(f):
            share[i] = t.pull[i]
        cholesky_solve(mass, share)
    for i in range(f):
        for c in range(nv):
            w.momenta[i, c] = 0.0
            for j in range(nv):
                w.momenta[i, c] += full[c, j] * w.basis[i, j]
    for i in range(f):
        t.pull[i] = 0.0
        for j in range(f):
            t.metric[i, j] = 0.0
            for c in range(nv):
                t.metric[i, j] += w.momenta[i, c] * w.basis[j, c]
            if rest == LEAST:
                t.pull[i] += t.metric[i, j] * share[j]
        if rest == DAMP:
            for c in range(nv):
                t.pull[i] -= w.momenta[i, c] * (_damped(w, posture, damping, c) + w.vdot[c])
