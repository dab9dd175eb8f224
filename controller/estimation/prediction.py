"""State prediction over the delay for a closed-chain machine.

Under the efforts that act, from the estimate q, v at t on, with T the period,

    a₀ at t,
    a₁ at (q + T/2 v + T²/8 a₀, v + T/2 a₀ + T²/8 j),
    a₂ at (q + T v + T²/6 (a₀ + 2 a₁), v + T a₁),

and between them the parabola a(t + s T) = a₀ + s (4 a₁ - 3 a₀ - a₂) + s² (2 a₀ - 4 a₁ + 2 a₂). Integrated, it
is Simpson's rule at s = 1, as in Nyström's schemes, and reaches a little beyond. j is the parabola's slope at
the end of the period before; without it a₁ would lack the third order in what depends on velocities.

The workspace `near` keeps the terms of the motion where a₂ was taken: next to the state of the next tick. Its
estimate finds the rows and their factors there (closure_observer.py), and its a₀ differs from a₂ by what the
effort changed, v̇ += Λ (Λ' M Λ)⁻¹ Λ' Δτ. The workspace `ahead` keeps the factors at the state that the law
used: half a period into the present hold. There a₁ is found by one step of Newton's method with them, from a₀
+ T/2 j and the multipliers of a₂, as exactly as with its own. So a tick factors the rows twice.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.arrays import Floats, Integers
from linkwork.controller.estimation.applied_forces import act
from linkwork.controller.laws.closed_chain import evaluate_motion
from linkwork.multibody import Workspace
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.formulations.constrained_dynamics import (
    free_forces,
    least_motion,
    motion_terms,
    projected,
)
from linkwork.multibody.formulations.elimination import rows_both_ways
from linkwork.multibody.formulations.rank import particular
from linkwork.multibody.formulations.reduced_mass import motion_in_basis
from linkwork.multibody.kernels.bundles import BUNDLE, Bundle, reader
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    INTEGERS,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    boolean,
    float64,
    kernel,
    part,
    void,
)
from linkwork.multibody.kernels.layout import (
    BASIS,
    CLOCK,
    EFFORT,
    LOST,
    MULTIPLIERS,
    N_ROWS,
    NV,
    RANK,
    RANKING,
    REDUCED,
    RIGHT_SIDE,
    ROW_SCALE,
    SECOND,
    SHIFT,
    SUM_V,
    VDOT,
    A,
    B,
    Q,
    V,
)
from linkwork.multibody.kernels.views import block, copy, fill, matrix, vector
from linkwork.multibody.linalg.linear import cholesky_solve
from linkwork.multibody.steps.constrained_steps import constrained_rk4
from linkwork.multibody.tree.dynamics import dynamics, mass_times
from linkwork.multibody.tree.rotations import go


@part
def under(t: Integers, w: Floats, effort: Floats) -> None:
    """After `least_motion`: `VDOT` under another effort (nv) than `EFFORT`, which becomes this one."""
    nv = t[NV]
    free = nv - int(vector(t, w, RANKING)[RANK])
    basis, before, vdot = block(w, t[BASIS], free, nv), vector(t, w, EFFORT), vector(t, w, VDOT)
    z = vector(t, w, SHIFT)[:free]
    for i in range(free):
        z[i] = 0.0
        for c in range(nv):
            z[i] += basis[i, c] * (effort[c] - before[c])
    cholesky_solve(block(w, t[REDUCED], free, free), z)
    for i in range(free):
        for c in range(nv):
            vdot[c] += basis[i, c] * z[i]
    copy(effort, before)


@part
def next_to(p: Floats, t: Integers, w: Floats, multipliers: Floats, guess: Floats, vdot: Floats) -> None:
    """vdot (nv) at the state of w, by the factors and the basis that w has of a state close by.

    One step of Newton's method from a guess of it and of the multipliers (rows): of their errors, that share
    is left by which the two states differ.
    """
    dynamics(p, t, w)
    constraint_rows(p, t, w)
    nv, missing = t[NV], vector(t, w, RIGHT_SIDE)
    b, force, scale = vector(t, w, B), vector(t, w, SHIFT), vector(t, p, ROW_SCALE)
    free_forces(t, w, force)
    mass_times(t, w, guess, vdot)
    for c in range(nv):
        force[c] -= vdot[c]
    rows_both_ways(t, matrix(t, w, A, nv), guess, missing, multipliers, force)
    for i in range(t[N_ROWS]):
        missing[i] = scale[i] * (b[i] - missing[i])
    particular(p, t, w, missing, vdot)
    motion_in_basis(t, w, nv - int(vector(t, w, RANKING)[RANK]), force, vdot)
    for c in range(nv):
        vdot[c] += guess[c]


class ClosedOutlook(NamedTuple):
    """The arrays of `foresee_closed`: the model, the workspaces, the motors' joints, the forces felt (nv)."""

    p: Floats
    t: Integers
    now: Floats
    near: Floats
    ahead: Floats
    motor: Integers
    felt: Floats


read_outlook = reader(ClosedOutlook)


def outlook(
    now: Workspace, near: Workspace, ahead: Workspace, motor: Integers, felt: Floats
) -> Bundle[ClosedOutlook]:
    """Return the arrays that `foresee_closed` works on; motor (motors): their joints; felt (nv; N m or N)."""
    return Bundle(
        ClosedOutlook(now.parameters, now.topology, now.buffer, near.buffer, ahead.buffer, motor, felt)
    )


@kernel(void(BUNDLE, VECTOR, boolean, float64, float64))
def foresee_closed(bundle: Integers, sent: Floats, stands: bool, period: float, beyond: float) -> None:
    """Write the state a period after `now` to `near`, and the one `beyond` that, evaluated, to `ahead`.

    bundle: `ClosedOutlook`. The efforts sent and the forces felt (nv) act meanwhile. stands: whether `near`
    already has the terms of the motion close to `now`. It then has those next to its own state, with the
    constraints' multipliers. ahead is then what this kernel left a period ago, or the law after it.
    """
    given = read_outlook(bundle)
    p, t, now, near = given.p, given.t, given.now, given.near
    ahead, motor, felt = given.ahead, given.motor, given.felt
    act(t, now, motor, sent, felt)
    effort = vector(t, now, EFFORT)
    nv = t[NV]
    q, v, mean = vector(t, now, Q), vector(t, now, V), vector(t, now, SUM_V)
    near_q, near_v, near_vdot = vector(t, near, Q), vector(t, near, V), vector(t, near, VDOT)
    ahead_q, ahead_v, middle = vector(t, ahead, Q), vector(t, ahead, V), vector(t, ahead, VDOT)
    first, jerk = vector(t, now, SECOND), vector(t, near, SECOND)
    began = vector(t, now, CLOCK)[0]
    if stands:
        under(t, near, effort)
    else:
        vector(t, near, CLOCK)[0] = began
        copy(q, near_q)
        copy(v, near_v)
        copy(effort, vector(t, near, EFFORT))
        projected(p, t, near)
        fill(jerk, 0.0)
    copy(near_vdot, first)

    copy(q, ahead_q)
    for c in range(nv):
        mean[c] = v[c] + 0.25 * period * first[c]
        ahead_v[c] = v[c] + 0.5 * period * (first[c] + 0.25 * period * jerk[c])
    go(t, ahead_q, v, first, mean, 0.5 * period)
    copy(effort, vector(t, ahead, EFFORT))
    vector(t, ahead, CLOCK)[0] = began + 0.5 * period
    if stands and beyond == 0.5 * period and vector(t, ahead, RANKING)[LOST] == 0.0:
        for c in range(nv):
            near_vdot[c] = first[c] + 0.5 * period * jerk[c]
        next_to(p, t, ahead, vector(t, near, MULTIPLIERS), near_vdot, middle)
    else:
        motion_terms(p, t, ahead)
        free_forces(t, ahead, vector(t, ahead, SHIFT))
        least_motion(p, t, ahead, vector(t, ahead, SHIFT), middle)

    copy(q, near_q)
    for c in range(nv):
        mean[c] = v[c] + period / 6.0 * (first[c] + 2.0 * middle[c])
        near_v[c] = v[c] + period * middle[c]
    go(t, near_q, v, first, mean, period)
    vector(t, near, CLOCK)[0] = began + period
    projected(p, t, near)

    far = period + beyond
    s = far / period
    copy(q, ahead_q)
    for c in range(nv):
        last = near_vdot[c]
        near_v[c] = v[c] + period / 6.0 * (first[c] + 4.0 * middle[c] + last)
        slope, bend = 4.0 * middle[c] - 3.0 * first[c] - last, 2.0 * (first[c] - 2.0 * middle[c] + last)
        jerk[c] = (slope + 2.0 * bend) / period
        mean[c] = v[c] + far * (first[c] / 2.0 + s * slope / 6.0 + s * s * bend / 12.0)
        ahead_v[c] = v[c] + far * (first[c] + s * slope / 2.0 + s * s * bend / 3.0)
    go(t, ahead_q, v, first, mean, far)
    vector(t, ahead, CLOCK)[0] = began + far
    evaluate_motion(p, t, ahead)


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, VECTOR, VECTOR, float64))
def predict_closed(
    p: Floats, t: Integers, now: Floats, motor: Integers, sent: Floats, felt: Floats, seconds: float
) -> None:
    """Advance `now` by a time (s) under the efforts sent and the measured contact forces (nv)."""
    act(t, now, motor, sent, felt)
    constrained_rk4(p, t, now, seconds)
