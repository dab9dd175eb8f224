"""State prediction over the delay, under the efforts that act, from the estimate q, v at t on.

Without constraints, with h = 2/3 of the way, the accelerations a₀ at (q, v) and

    a₁ at (q + h v + h²/2 a₀ + h³/6 j, v + h a₀ + h²/2 j),    j = (a₁ - a₀) / h of the tick before,

the mean acceleration is (a₀ + 3 a₁) / 4 (Radau's rule), and for the way (a₀ + a₁) / 2. j, which `ahead`
keeps, replaces a third evaluation.

With constraints, with T the period,

    a₀ at t,
    a₁ at (q + T/2 v + T²/8 a₀, v + T/2 a₀ + T²/8 j),
    a₂ at (q + T v + T²/6 (a₀ + 2 a₁), v + T a₁),

and between them the parabola a(t + s T) = a₀ + s (4 a₁ - 3 a₀ - a₂) + s² (2 a₀ - 4 a₁ + 2 a₂). Integrated, it
is Simpson's rule at s = 1, as in Nyström's schemes, and reaches a little beyond. j is the parabola's slope at
the end of the period before; without it a₁ would lack the third order in what depends on velocities.

The workspace `near` keeps the terms of the motion where a₂ was taken: next to the state of the next tick. Its
estimate finds the rows and their factors there (state_observer.py), and its a₀ differs from a₂ by what the
effort changed, v̇ += Λ (Λ' M Λ)⁻¹ Λ' Δτ. The workspace `ahead` keeps the factors at the state that the law
used: half a period into the present hold. There a₁ is found by one step of Newton's method with them, from a₀
+ T/2 j and the multipliers of a₂, as exactly as with its own. So a tick factors the rows twice.
"""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.closure.elimination import rows_both_ways
from linkwork.multibody.closure.rank import particular
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.constrained_dynamics import (
    free_forces,
    least_motion,
    motion_terms,
    projected,
)
from linkwork.multibody.dynamics.motion_basis import evaluate_motion
from linkwork.multibody.dynamics.reduced_mass import motion_in_basis
from linkwork.multibody.dynamics.tree_dynamics import dynamics, forward_dynamics, mass_times
from linkwork.multibody.kernels.compiling import block, kernel, part
from linkwork.multibody.kernels.layout import LOST, RANK
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.linalg.linear import cholesky_solve
from linkwork.multibody.steps.integrate import rk4
from linkwork.multibody.tree.rotations import go
from linkwork.multibody.workspace import Model, Workspace


@part
def act(w: Workspace, motor: Integers, sent: Floats, felt: Floats) -> None:
    """`effort` := the forces felt (nv) and the efforts sent to the joints `motor`."""
    copy(felt, w.effort)
    for i in range(len(motor)):
        w.effort[motor[i]] += sent[i]


@part
def under(m: Model, w: Workspace, effort: Floats) -> None:
    """After `least_motion`: `vdot` under another effort (nv) than `effort`, which becomes this one."""
    nv = m.nv
    free = nv - int(w.ranking[RANK])
    basis = w.basis[:free]
    z = w.shift[:free]
    for i in range(free):
        z[i] = 0.0
        for c in range(nv):
            z[i] += basis[i, c] * (effort[c] - w.effort[c])
    cholesky_solve(block(w.reduced, 0, free, free), z)
    for i in range(free):
        for c in range(nv):
            w.vdot[c] += basis[i, c] * z[i]
    copy(effort, w.effort)


@part
def next_to(m: Model, w: Workspace, multipliers: Floats, guess: Floats, vdot: Floats) -> None:
    """vdot (nv) at the state of w, by the factors and the basis that w has of a state close by.

    One step of Newton's method from a guess of it and of the multipliers (rows): of their errors, that share
    is left by which the two states differ.
    """
    dynamics(m, w)
    constraint_rows(m, w)
    nv = m.nv
    free_forces(m, w, w.shift)
    mass_times(m, w, guess, vdot)
    for c in range(nv):
        w.shift[c] -= vdot[c]
    rows_both_ways(m, w.A, guess, w.right_side, multipliers, w.shift)
    for i in range(m.n_rows):
        w.right_side[i] = m.row_scale[i] * (w.b[i] - w.right_side[i])
    particular(m, w, w.right_side, vdot)
    motion_in_basis(m, w, nv - int(w.ranking[RANK]), w.shift, vdot)
    for c in range(nv):
        vdot[c] += guess[c]


class Prediction(Struct):
    """The arrays of `foresee`: the model, the workspaces, the motors' joints, the forces felt (nv)."""

    m: Model
    now: Workspace
    near: Workspace
    ahead: Workspace
    motor: Integers
    felt: Floats


@part
def _foresee_freely(m: Model, now: Workspace, ahead: Workspace, seconds: float) -> None:
    """Write to `ahead` the state of a machine without constraints that time after `now`."""
    h = seconds / 1.5
    copy(now.effort, ahead.effort)
    forward_dynamics(m, now)
    copy(now.q, ahead.q)
    ahead.clock[0] = now.clock[0] + h
    for c in range(m.nv):
        now.sum_v[c] = now.v[c] + h * (now.vdot[c] / 2.0 + h * ahead.second[c] / 6.0)
        ahead.v[c] = now.v[c] + h * (now.vdot[c] + h * ahead.second[c] / 2.0)
    go(m, ahead.q, now.v, now.vdot, now.sum_v, h)
    forward_dynamics(m, ahead)
    copy(now.q, ahead.q)
    for c in range(m.nv):
        now.sum_v[c] = now.v[c] + seconds * (now.vdot[c] + ahead.vdot[c]) / 4.0
        ahead.v[c] = now.v[c] + seconds * (now.vdot[c] + 3.0 * ahead.vdot[c]) / 4.0
        ahead.second[c] = (ahead.vdot[c] - now.vdot[c]) / h
    go(m, ahead.q, now.v, now.vdot, now.sum_v, seconds)
    ahead.clock[0] = now.clock[0] + seconds


@part
def _foresee_constrained(given: Prediction, stands: bool, period: float, beyond: float) -> None:
    """Write the state a period after `now` to `near`, and the one `beyond` that to `ahead`; see `foresee`."""
    m, now, near, ahead = given.m, given.now, given.near, given.ahead
    nv = m.nv
    began = now.clock[0]
    if stands:
        under(m, near, now.effort)
    else:
        near.clock[0] = began
        copy(now.q, near.q)
        copy(now.v, near.v)
        copy(now.effort, near.effort)
        projected(m, near)
        fill(near.second, 0.0)
    copy(near.vdot, now.second)

    copy(now.q, ahead.q)
    for c in range(nv):
        now.sum_v[c] = now.v[c] + 0.25 * period * now.second[c]
        ahead.v[c] = now.v[c] + 0.5 * period * (now.second[c] + 0.25 * period * near.second[c])
    go(m, ahead.q, now.v, now.second, now.sum_v, 0.5 * period)
    copy(now.effort, ahead.effort)
    ahead.clock[0] = began + 0.5 * period
    if stands and beyond == 0.5 * period and ahead.ranking[LOST] == 0.0:
        for c in range(nv):
            near.vdot[c] = now.second[c] + 0.5 * period * near.second[c]
        next_to(m, ahead, near.multipliers, near.vdot, ahead.vdot)
    else:
        motion_terms(m, ahead)
        free_forces(m, ahead, ahead.shift)
        least_motion(m, ahead, ahead.shift, ahead.vdot)

    copy(now.q, near.q)
    for c in range(nv):
        now.sum_v[c] = now.v[c] + period / 6.0 * (now.second[c] + 2.0 * ahead.vdot[c])
        near.v[c] = now.v[c] + period * ahead.vdot[c]
    go(m, near.q, now.v, now.second, now.sum_v, period)
    near.clock[0] = began + period
    projected(m, near)

    far = period + beyond
    s = far / period
    copy(now.q, ahead.q)
    for c in range(nv):
        last = near.vdot[c]
        near.v[c] = now.v[c] + period / 6.0 * (now.second[c] + 4.0 * ahead.vdot[c] + last)
        slope, bend = (
            4.0 * ahead.vdot[c] - 3.0 * now.second[c] - last,
            2.0 * (now.second[c] - 2.0 * ahead.vdot[c] + last),
        )
        near.second[c] = (slope + 2.0 * bend) / period
        now.sum_v[c] = now.v[c] + far * (now.second[c] / 2.0 + s * slope / 6.0 + s * s * bend / 12.0)
        ahead.v[c] = now.v[c] + far * (now.second[c] + s * slope / 2.0 + s * s * bend / 3.0)
    go(m, ahead.q, now.v, now.second, now.sum_v, far)
    ahead.clock[0] = began + far


@kernel
def foresee(given: Prediction, sent: Floats, stands: bool, period: float, beyond: float) -> None:
    """Write to `ahead` the state `period` + `beyond` after `now`, evaluated; with constraints, to `near` the
    one a period after `now`.

    The efforts sent and the forces felt (nv) act meanwhile. stands: whether `near` already has the terms of
    the motion close to `now`. It then has those next to its own state, with the constraints' multipliers.
    ahead is what this kernel left a period ago, or the law after it.
    """
    act(given.now, given.motor, sent, given.felt)
    if given.m.n_rows == 0:
        _foresee_freely(given.m, given.now, given.ahead, period + beyond)
    else:
        _foresee_constrained(given, stands, period, beyond)
    evaluate_motion(given.m, given.ahead)


@kernel
def predict(m: Model, now: Workspace, motor: Integers, sent: Floats, felt: Floats, seconds: float) -> None:
    """Advance `now` by `seconds` under the efforts sent (motors; N m or N) to the joints `motor`.

    felt (nv): measured contact forces, N m or N.
    """
    act(now, motor, sent, felt)
    rk4(m, now, seconds)
