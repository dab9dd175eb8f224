"""A step in parts: the length of the next part, and event location where contact begins or ends.

The integrator asks for the next length and reports when it has moved (compliant_steps.py):

    begin_parts(t, w, dt)
    while (h := next_part(p, t, w, dt)) > 0.0:
        ...  # move on by h
        judge_part(p, t, w, dt, h)

Where a side changes within a part, the part is taken back and its end is sought at that very time by the rule
of false position after Illinois, from the side beyond; `SEARCH` in the workspace has the state of the search.
"""

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.contact.compliance import DAMPER, RUBBING, SPRING
from linkwork.multibody.contact.compliant_forces import compliant_forces
from linkwork.multibody.contact.surfaces import surface_at
from linkwork.multibody.formulations.rank import admitted, factor_rows
from linkwork.multibody.formulations.reduced_mass import reduce_mass
from linkwork.multibody.kernels.compiling import BUFFER, PARAMETERS, TOPOLOGY, float64, kernel, part, void
from linkwork.multibody.kernels.layout import (
    AFTER,
    BACKUP,
    BASIS,
    BEFORE,
    CLOCK,
    CONTACT_FORCE,
    CONTACT_LAW,
    CONTACTS,
    DRIVEN_WORK,
    FREE_MOTION,
    HELD,
    HIGH,
    LINKS,
    LOSSES,
    LOW,
    N_ROWS,
    NQ,
    NV,
    PART,
    PARTS,
    PHASE,
    POINT_POSITION,
    POINTS,
    PRESSURE,
    RANK,
    RANKING,
    RANKING_SIZE,
    REDUCED,
    REFERENCE,
    REST,
    SCREW_ANGULAR,
    SCREW_LINEAR,
    SEARCH,
    STOP_LAW,
    STOPS,
    SUM_V,
    SURFACES,
    TOUCHING,
    TRIALS,
    Q,
    V,
)
from linkwork.multibody.kernels.views import block, copy, fill, matrix, table, vector
from linkwork.multibody.linalg.linear import lower_solve
from linkwork.multibody.linalg.vectors import (
    add,
    cross,
    load,
    subtract,
    times,
)
from linkwork.multibody.tree.dynamics import dynamics, factor_mass, solve_mass_root
from linkwork.multibody.tree.kinematics import kinematics

MOST_PARTS = 2000
"""Most parts of one step; the rest of the step is one part without event location."""
_SHORTEST, _MOST_TRIALS, _FOUND = 1e-6, 40, 1e-9
_GO, _SEEK, _END = 0.0, 1.0, 2.0
"""Phases: a part is moved, a trial of its length, and the length that was found."""


@part
def _save(t: Integers, w: Floats) -> None:
    backup, nq, nv, ranking = vector(t, w, BACKUP), t[NQ], t[NV], vector(t, w, RANKING)
    copy(vector(t, w, Q), backup)
    copy(vector(t, w, V), backup[nq:])
    backup[nq + nv] = vector(t, w, CLOCK)[0]
    copy(vector(t, w, LOSSES)[2:4], backup[nq + nv + 1 :])
    backup[nq + nv + 3] = vector(t, w, DRIVEN_WORK)[0]
    copy(ranking, backup[nq + nv + 4 :])


@part
def _restore(t: Integers, w: Floats) -> None:
    backup, nq, nv = vector(t, w, BACKUP), t[NQ], t[NV]
    copy(backup[:nq], vector(t, w, Q))
    copy(backup[nq : nq + nv], vector(t, w, V))
    vector(t, w, CLOCK)[0], vector(t, w, LOSSES)[2] = backup[nq + nv], backup[nq + nv + 1]
    vector(t, w, DRIVEN_WORK)[0] = backup[nq + nv + 3]
    copy(backup[nq + nv + 4 : nq + nv + 4 + RANKING_SIZE], vector(t, w, RANKING))


@part
def beyond_touch(t: Integers, w: Floats) -> float:
    """Distance of the first side beyond the limit of the held force (N or N m), after `compliant_forces`."""
    touching, pressure = vector(t, w, TOUCHING), vector(t, w, PRESSURE)
    beyond = -math.inf
    for i in range(touching.shape[0]):
        beyond = max(beyond, -pressure[i] if touching[i] != 0.0 else pressure[i])
    return beyond


@part
def _quickness(mobility: float, stiffness: float, damping: float, rubbing: float) -> float:
    """One over the longest part for one side that presses, 1/s."""
    return max(
        math.sqrt(stiffness * mobility) / SPRING, damping * mobility / DAMPER, rubbing * mobility / RUBBING
    )


@part
def _factor_inertia(p: Floats, t: Integers, w: Floats) -> int:
    """After `dynamics`: factor the inertia of the admitted velocities; return their number, -1: all."""
    if t[N_ROWS] == 0:
        factor_mass(p, t, w)
        return -1
    constraint_rows(p, t, w)
    factor_rows(p, t, w)
    admitted(p, t, w)
    free: int = t[NV] - int(vector(t, w, RANKING)[RANK])
    reduce_mass(t, w, free)
    return free


@part
def _mobility(t: Integers, w: Floats, free: int, x: Floats) -> float:
    """x' Λ (Λ' M Λ)⁻¹ Λ' x, Λ a basis of the admitted velocities; x' M⁻¹ x for free = -1. x is scratch."""
    total = 0.0
    if free < 0:
        solve_mass_root(t, w, x)
        for k in range(t[NV]):
            total += x[k] * x[k]
        return total
    basis, z = matrix(t, w, BASIS, t[NV]), vector(t, w, FREE_MOTION)
    for i in range(free):
        z[i] = 0.0
        for k in range(t[NV]):
            z[i] += basis[i, k] * x[k]
    lower_solve(block(w, t[REDUCED], free, free), z[:free])
    for i in range(free):
        total += z[i] * z[i]
    return total


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER))
def quickest(p: Floats, t: Integers, w: Floats) -> float:
    """One over the longest part that follows the pressing contacts (1/s), 0 without contact; after
    `dynamics`.

    A contact has the mobility that the constraints leave it (inverse operational-space inertia).
    """
    touching, forces = vector(t, w, TOUCHING), matrix(t, w, CONTACT_FORCE, 3)
    stops, contacts = table(t, STOPS, 1), table(t, CONTACTS, 1)
    stop_laws, laws = matrix(t, p, STOP_LAW, 2), matrix(t, p, CONTACT_LAW, 5)
    points, position, links = table(t, POINTS, 1), matrix(t, w, POINT_POSITION, 3), table(t, LINKS, 3)
    x = vector(t, w, SUM_V)
    reference = load(matrix(t, w, REFERENCE, 3), 0)
    screw_angular, screw_linear = matrix(t, w, SCREW_ANGULAR, 3), matrix(t, w, SCREW_LINEAR, 3)
    sides, free, most = 2 * stops.shape[0], -2, 0.0
    for i in range(touching.shape[0]):
        if touching[i] == 0.0:
            continue
        if free == -2:
            free = _factor_inertia(p, t, w)
        mobility = 0.0
        if i < sides:
            fill(x, 0.0)
            x[stops[i // 2, 0]] = 1.0
            mobility = _mobility(t, w, free, x)
            stiffness, damping, rubbing = stop_laws[i // 2, 0], stop_laws[i // 2, 1], 0.0
        else:
            c = i - sides
            point = contacts[c, 0]
            place = load(position, point)
            if laws[c, 4] > 0.0:
                _, normal = surface_at(matrix(t, p, SURFACES, 7), c, place)
                place = subtract(place, times(laws[c, 4], normal))
            r = subtract(place, reference)
            for axis in range(3):
                fill(x, 0.0)
                link = points[point, 0]
                while link >= 0:
                    motion = add(load(screw_linear, link), cross(load(screw_angular, link), r))
                    x[links[link, 2]] = motion[0] if axis == 0 else (motion[1] if axis == 1 else motion[2])
                    link = links[link, 0]
                mobility += _mobility(t, w, free, x)
            f = load(forces, c)
            size = math.sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2])
            stiffness, damping, rubbing = laws[c, 0], laws[c, 1], laws[c, 2] * size / laws[c, 3]
        most = max(most, _quickness(mobility, stiffness, damping, rubbing))
    return most


@part
def begin_parts(t: Integers, w: Floats, dt: float) -> None:
    """Begin a step of dt seconds."""
    search = vector(t, w, SEARCH)
    fill(search, 0.0)
    search[REST] = dt


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER, float64))
def next_part(p: Floats, t: Integers, w: Floats, dt: float) -> float:
    """Return the length of the next move (s) from the workspace's state; 0 where all is done."""
    search, held = vector(t, w, SEARCH), vector(t, w, HELD)
    if search[PHASE] != _GO:
        _restore(t, w)
        margin = 0.1 * _FOUND * search[PART]
        found: float = search[HIGH] if search[PHASE] == _END else trial_length(search, margin)
        return found
    held[0] = 0.0
    rest: float = search[REST]
    if not rest > 1e-12 * dt:
        return 0.0
    dynamics(p, t, w)
    quick = quickest(p, t, w)
    if search[PARTS] < MOST_PARTS and quick * rest > 1.0:
        rest /= math.ceil(min(quick * rest, 1.0 * MOST_PARTS))
    search[PARTS] += 1.0
    _save(t, w)
    held[0] = 1.0
    return rest


@part
def trial_length(search: Floats, margin: float) -> float:
    """Return the next length to try, at least `margin` from LOW and HIGH of `search` (a field: 1 × n)."""
    low, high, before, after = search[LOW], search[HIGH], search[BEFORE], search[AFTER]
    trial: float = 0.5 * (low + high)
    if before < 0.0:
        trial = min(max(low - before * (high - low) / (after - before), low + margin), high - margin)
    return trial


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, float64, float64))
def judge_part(p: Floats, t: Integers, w: Floats, dt: float, h: float) -> None:
    """After a move of h: whether the part is done, or where its end is to be sought."""
    search, losses = vector(t, w, SEARCH), vector(t, w, LOSSES)
    kinematics(p, t, w)
    compliant_forces(p, t, w)
    losses[2] += vector(t, w, BACKUP)[t[NQ] + t[NV] + 2] - losses[3]
    beyond, phase = beyond_touch(t, w), search[PHASE]
    if not math.isfinite(beyond):
        search[REST], search[PHASE] = 0.0, _GO
    elif phase == _SEEK:
        narrow(search, beyond, h)
        _end_search(search, dt)
    elif phase == _GO and beyond > 0.0 and search[PARTS] < MOST_PARTS and h > _SHORTEST * dt:
        search[PART] = search[HIGH] = h
        search[AFTER], search[LOW], search[TRIALS], search[PHASE] = beyond, 0.0, 0.0, _SEEK
        _restore(t, w)
        kinematics(p, t, w)
        compliant_forces(p, t, w)
        search[BEFORE] = beyond_touch(t, w)
        _end_search(search, dt)
    else:
        search[REST] -= h
        search[PHASE] = _GO


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
