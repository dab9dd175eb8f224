"""A step in parts: the length of the next part, and event location where contact begins or ends.

The integrator asks for the next length and reports when it has moved (step.py):

    begin_parts(t, w, dt)
    while (h := next_part(p, t, w, dt)) > 0.0:
        ...  # move on by h
        judge_part(p, t, w, dt, h)

Where a side changes within a part, the part is taken back and its end is sought at that very time by the rule
of false position after Illinois, from the side beyond; `search` in the workspace has the state of the search.
"""

import math

from linkwork.arrays import Floats
from linkwork.multibody.closure.rank import admitted, factor_rows
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.contact.compliance import DAMPER, RUBBING, SPRING
from linkwork.multibody.contact.compliant_forces import compliant_forces, surface_at
from linkwork.multibody.dynamics.reduced_mass import reduce_mass
from linkwork.multibody.dynamics.tree_dynamics import dynamics, factor_mass, solve_mass_root
from linkwork.multibody.kernels.compiling import block, kernel, part
from linkwork.multibody.kernels.layout import (
    AFTER,
    BEFORE,
    HIGH,
    LOW,
    PART,
    PARTS,
    PHASE,
    RANK,
    RANKING_SIZE,
    REST,
    TRIALS,
)
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.linalg.linear import lower_solve
from linkwork.multibody.linalg.vectors import add, cross, load, subtract, times
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.workspace import Model, Workspace

MOST_PARTS = 2000
"""Most parts of one step; the rest of the step is one part without event location."""
_SHORTEST, _MOST_TRIALS, _FOUND = 1e-6, 40, 1e-9
_GO, _SEEK, _END = 0.0, 1.0, 2.0
"""Phases: a part is moved, a trial of its length, and the length that was found."""


@part
def _save(m: Model, w: Workspace) -> None:
    nq, nv = m.nq, m.nv
    copy(w.q, w.backup)
    copy(w.v, w.backup[nq:])
    w.backup[nq + nv] = w.clock[0]
    copy(w.losses[2:4], w.backup[nq + nv + 1 :])
    w.backup[nq + nv + 3] = w.driven_work[0]
    copy(w.ranking, w.backup[nq + nv + 4 :])


@part
def _restore(m: Model, w: Workspace) -> None:
    nq, nv = m.nq, m.nv
    copy(w.backup[:nq], w.q)
    copy(w.backup[nq : nq + nv], w.v)
    w.clock[0], w.losses[2] = w.backup[nq + nv], w.backup[nq + nv + 1]
    w.driven_work[0] = w.backup[nq + nv + 3]
    copy(w.backup[nq + nv + 4 : nq + nv + 4 + RANKING_SIZE], w.ranking)


@part
def beyond_touch(w: Workspace) -> float:
    """Distance of the first side beyond the limit of the held force (N or N m), after `compliant_forces`."""
    beyond = -math.inf
    for i in range(w.touching.shape[0]):
        beyond = max(beyond, -w.pressure[i] if w.touching[i] != 0.0 else w.pressure[i])
    return beyond


@part
def _quickness(mobility: float, stiffness: float, damping: float, rubbing: float) -> float:
    """One over the longest part for one side that presses, 1/s."""
    return max(
        math.sqrt(stiffness * mobility) / SPRING, damping * mobility / DAMPER, rubbing * mobility / RUBBING
    )


@part
def _factor_inertia(m: Model, w: Workspace) -> int:
    """After `dynamics`: factor the inertia of the admitted velocities; return their number, -1: all."""
    if m.n_rows == 0:
        factor_mass(m, w)
        return -1
    constraint_rows(m, w)
    factor_rows(m, w)
    admitted(m, w)
    free: int = m.nv - int(w.ranking[RANK])
    reduce_mass(m, w, free)
    return free


@part
def _mobility(m: Model, w: Workspace, free: int, x: Floats) -> float:
    """x' Λ (Λ' M Λ)⁻¹ Λ' x, Λ a basis of the admitted velocities; x' M⁻¹ x for free = -1. x is scratch."""
    total = 0.0
    if free < 0:
        solve_mass_root(m, w, x)
        for k in range(m.nv):
            total += x[k] * x[k]
        return total
    for i in range(free):
        w.free_motion[i] = 0.0
        for k in range(m.nv):
            w.free_motion[i] += w.basis[i, k] * x[k]
    lower_solve(block(w.reduced, 0, free, free), w.free_motion[:free])
    for i in range(free):
        total += w.free_motion[i] * w.free_motion[i]
    return total


@kernel
def quickest(m: Model, w: Workspace) -> float:
    """One over the longest part that follows the pressing contacts (1/s), 0 without contact; after
    `dynamics`.

    A contact has the mobility that the constraints leave it (inverse operational-space inertia).
    """
    reference = load(w.reference, 0)
    sides, free, most = 2 * m.stop_at.shape[0], -2, 0.0
    for i in range(w.touching.shape[0]):
        if w.touching[i] == 0.0:
            continue
        if free == -2:
            free = _factor_inertia(m, w)
        mobility = 0.0
        if i < sides:
            fill(w.sum_v, 0.0)
            w.sum_v[m.stop_at[i // 2]] = 1.0
            mobility = _mobility(m, w, free, w.sum_v)
            stiffness, damping, rubbing = m.stop_law[i // 2, 0], m.stop_law[i // 2, 1], 0.0
        else:
            c = i - sides
            point = m.contact_point[c]
            place = load(w.point_position, point)
            if m.contact_law[c, 4] > 0.0:
                _, normal = surface_at(m.surfaces, c, place)
                place = subtract(place, times(m.contact_law[c, 4], normal))
            r = subtract(place, reference)
            for axis in range(3):
                fill(w.sum_v, 0.0)
                link = m.point_link[point]
                while link >= 0:
                    motion = add(load(w.screw_linear, link), cross(load(w.screw_angular, link), r))
                    w.sum_v[m.in_v[link]] = (
                        motion[0] if axis == 0 else (motion[1] if axis == 1 else motion[2])
                    )
                    link = m.parent[link]
                mobility += _mobility(m, w, free, w.sum_v)
            f = load(w.contact_force, c)
            size = math.sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2])
            stiffness, damping, rubbing = (
                m.contact_law[c, 0],
                m.contact_law[c, 1],
                m.contact_law[c, 2] * size / m.contact_law[c, 3],
            )
        most = max(most, _quickness(mobility, stiffness, damping, rubbing))
    return most


@part
def begin_parts(w: Workspace, dt: float) -> None:
    """Begin a step of dt seconds."""
    fill(w.search, 0.0)
    w.search[REST] = dt


@kernel
def next_part(m: Model, w: Workspace, dt: float) -> float:
    """Return the length of the next move (s) from the workspace's state; 0 where all is done."""
    if w.search[PHASE] != _GO:
        _restore(m, w)
        margin = 0.1 * _FOUND * w.search[PART]
        return w.search[HIGH] if w.search[PHASE] == _END else trial_length(w.search, margin)
    w.held[0] = 0.0
    rest: float = w.search[REST]
    if not rest > 1e-12 * dt:
        return 0.0
    dynamics(m, w)
    quick = quickest(m, w)
    if w.search[PARTS] < MOST_PARTS and quick * rest > 1.0:
        rest /= math.ceil(min(quick * rest, 1.0 * MOST_PARTS))
    w.search[PARTS] += 1.0
    _save(m, w)
    w.held[0] = 1.0
    return rest


@part
def trial_length(search: Floats, margin: float) -> float:
    """Return the next length to try, at least `margin` from LOW and HIGH of `search` (a field: 1 × n)."""
    low, high, before, after = search[LOW], search[HIGH], search[BEFORE], search[AFTER]
    trial: float = 0.5 * (low + high)
    if before < 0.0:
        trial = min(max(low - before * (high - low) / (after - before), low + margin), high - margin)
    return trial


@kernel
def judge_part(m: Model, w: Workspace, dt: float, h: float) -> None:
    """After a move of h: whether the part is done, or where its end is to be sought."""
    kinematics(m, w)
    compliant_forces(m, w)
    w.losses[2] += w.backup[m.nq + m.nv + 2] - w.losses[3]
    beyond, phase = beyond_touch(w), w.search[PHASE]
    if not math.isfinite(beyond):
        w.search[REST], w.search[PHASE] = 0.0, _GO
    elif phase == _SEEK:
        narrow(w.search, beyond, h)
        _end_search(w.search, dt)
    elif phase == _GO and beyond > 0.0 and w.search[PARTS] < MOST_PARTS and h > _SHORTEST * dt:
        w.search[PART] = w.search[HIGH] = h
        w.search[AFTER], w.search[LOW], w.search[TRIALS], w.search[PHASE] = beyond, 0.0, 0.0, _SEEK
        _restore(m, w)
        kinematics(m, w)
        compliant_forces(m, w)
        w.search[BEFORE] = beyond_touch(w)
        _end_search(w.search, dt)
    else:
        w.search[REST] -= h
        w.search[PHASE] = _GO


@part
def narrow(search: Floats, beyond: float, h: float) -> None:
    """Account for a trial of length h in the bounds of `search` (a field: 1 × n)."""
    done = abs(search[TRIALS]) + 1.0
    if beyond > 0.0:
        search[HIGH], search[AFTER] = h, beyond
        if search[TRIALS] > 0.0:
            search[BEFORE] *= 0.5
        search[TRIALS] = done
    else:
        search[LOW], search[BEFORE] = h, beyond
        if search[TRIALS] < 0.0:
            search[AFTER] *= 0.5
        search[TRIALS] = -done


@part
def _end_search(search: Floats, dt: float) -> None:
    """End the search where it has found the time, or has tried often enough."""
    shortest = _SHORTEST * dt
    found = search[HIGH] - search[LOW] <= _FOUND * search[PART] or search[HIGH] <= shortest
    if found or abs(search[TRIALS]) >= _MOST_TRIALS:
        search[HIGH] = max(search[HIGH], min(shortest, search[PART]))
        search[PHASE] = _END
