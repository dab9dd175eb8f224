"""Kernels of an FMU: assembly of start values, steps of any length, outputs."""

import math

from linkwork.arrays import Floats
from linkwork.multibody.dynamics.projection import (
    TOLERANCE,
    correct_position,
    correct_velocity,
    position_residual,
)
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.workspace import Model, Workspace
from linkwork.plant.simulator.plant_state import PlantState
from linkwork.plant.simulator.resistance import forget, relax, release
from linkwork.plant.simulator.stepping import deliver, resisted_step

PARTS = 16
"""Of the way from the present positions to those that are given."""
MOST = 20
"""Corrections in a part, and iterations of each."""
REACHED = 1e-13
"""Difference from a given start value (rad, m, per second) that is round-off."""
HEAVY = 1e6
"""Inertia of joints whose start values are kept, relative to the largest of the machine."""


@part
def _impose(given: Floats, start: Floats, began: Floats, values: Floats, share: float) -> float:
    """Set the values (n) that were given, at a share of their way; return the largest change."""
    change = 0.0
    for k in range(len(values)):
        if given[k] != 0.0:
            wanted = began[k] + share * (start[k] - began[k])
            change = max(change, abs(wanted - values[k]))
            values[k] = wanted
    return change


@kernel
def fmu_settle(m: Model, w: Workspace, given: Floats, start: Floats, began: Floats) -> float:
    """Bring the state onto the closures, keeping the start values that were given; the others follow.

    given (nq + nv): 1 where q or v was given, else 0. start (nq + nv): [q, v] with those values, which w has
    not yet. began: scratch (2 (nq + nv)). Return the largest difference from the given values, or the
    residual of position (scaled) where that is larger.

    Corrections are shortest in the mass metric: joints that are kept are heavy meanwhile.
    """
    nq, nv = m.nq, m.nv
    copy(w.q, began[:nq])
    copy(w.v, began[nq : nq + nv])
    copy(m.armature, began[nq + nv : nq + 2 * nv])
    dynamics(m, w)
    heaviest = 0.0
    for k in range(nv):
        heaviest = max(heaviest, w.M[k, k])
    for k in range(nv):
        if given[k] != 0.0 or given[nq + k] != 0.0:
            m.armature[k] += HEAVY * heaviest
    for part_of_way in range(1, PARTS + 1):
        for _ in range(MOST):
            change = _impose(given[:nq], start[:nq], began[:nq], w.q, part_of_way / PARTS)
            correct_position(m, w, TOLERANCE, MOST)
            if change <= REACHED:
                break
    for _ in range(MOST):
        change = _impose(given[nq:], start[nq:], began[nq:], w.v, 1.0)
        correct_position(m, w, TOLERANCE, MOST)
        correct_velocity(m, w)
        if change <= REACHED:
            break
    copy(began[nq + nv : nq + 2 * nv], m.armature)
    worst = position_residual(m, w)
    for k in range(nq):
        worst = max(worst, given[k] * abs(w.q[k] - start[k]))
    for k in range(nv):
        worst = max(worst, given[nq + k] * abs(w.v[k] - start[nq + k]))
    return worst


@kernel
def fmu_steps(
    m: Model, w: Workspace, s: PlantState, mode: int, drives: bool, effort: Floats, dt: float, count: int
) -> bool:
    """Make `count` steps of dt (s); return whether the state is finite.

    mode: BRAKE, or EFFORTS without brakes. effort (motors; N m or N): acts as it is, or with `drives` as the
    plant's drives deliver it: within its limit, its rate and behind its lag.
    """
    relax(s)
    forget(s)
    for i in range(s.n_motors):
        s.effort[i] = effort[i]
        s.commanded[i] = min(max(effort[i], -s.max_effort[i]), s.max_effort[i])
        s.most_change[i] *= dt / s.period[0]
    s.period[0] = dt
    for _ in range(count):
        if drives:
            deliver(s)
        fill(w.effort, 0.0)
        for i in range(s.n_motors):
            w.effort[s.motor_at[i]] += s.effort[i]
        resisted_step(m, w, s, mode, dt)
    release(w)
    total = 0.0
    for k in range(m.nq):
        total += w.q[k]
    for k in range(m.nv):
        total += w.v[k]
    return math.isfinite(total)


@kernel
def fmu_look(m: Model, w: Workspace, rates: Floats) -> None:
    """Find the coordinates of interest (`theta`) and their `rates` (coordinates) at the state."""
    dynamics(m, w)
    coordinates(m, w)
    for i in range(m.n_coordinates):
        rate = 0.0
        for k in range(m.nv):
            rate += w.J[i, k] * w.v[k]
        rates[i] = rate
