"""Steps of time with stops or contacts: exact where touch begins and ends, short where it is stiff.

A step is taken in parts. During a part what presses is held fixed, so that the motion is smooth and the
integrator keeps its order; where a side would begin or cease to press within it, the part ends at that very
time. A part is also so short that springs, dampers and friction are followed: for the mobility μ (the largest
diagonal entry, or trace, of J M⁻¹ J') of what is pressed,
    h √(stiffness μ) ≤ SPRING,   h damping μ ≤ DAMPER,   h μ friction N / slip_speed ≤ RUBBING
of which the last keeps the classical step of Runge and Kutta stable up to 2.7.
"""

import math

from multibody.compiling import BUFFER, PARAMETERS, TOPOLOGY, float64, int64, kernel, part, void
from multibody.compliance import DAMPER, RUBBING, SPRING
from multibody.compliant_forces import compliant_forces
from multibody.constrained_steps import constrained_rk4, constrained_semi_implicit
from multibody.divided_steps import divided_constrained_rk4, divided_rk4
from multibody.dynamics import dynamics
from multibody.integrate import rk4, semi_implicit
from multibody.kinematics import kinematics
from multibody.layout import (
    BACKUP,
    CLOCK,
    CONTACT_FORCE,
    CONTACT_LAW,
    CONTACTS,
    DRIVEN_WORK,
    FACTOR,
    HELD,
    LINKS,
    LOSSES,
    NQ,
    NV,
    POINT_POSITION,
    POINTS,
    PRESSURE,
    RANKING,
    RANKING_SIZE,
    REFERENCE,
    SCREW_ANGULAR,
    SCREW_LINEAR,
    STOP_LAW,
    STOPS,
    SUM_V,
    TOUCHING,
    M,
    Q,
    V,
)
from multibody.linear import cholesky, lower_solve
from multibody.model import Integers
from multibody.vectors import Rows, add, cross, load, subtract
from multibody.views import copy, fill, matrix, table, vector

MOST_PARTS = 2000
"""Of one step; what is left after them is done as one part without looking for touch."""
_SHORTEST, _TRIALS, _FOUND = 1e-6, 40, 1e-9


@part
def _save(t: Integers, w: Rows) -> None:
    backup, nq, nv, ranking = vector(t, w, BACKUP), t[NQ], t[NV], vector(t, w, RANKING)
    copy(vector(t, w, Q), backup)
    copy(vector(t, w, V), backup[nq:])
    backup[nq + nv] = vector(t, w, CLOCK)[0]
    copy(vector(t, w, LOSSES)[2:4], backup[nq + nv + 1 :])
    backup[nq + nv + 3] = vector(t, w, DRIVEN_WORK)[0]
    copy(ranking, backup[nq + nv + 4 :])


@part
def _restore(t: Integers, w: Rows) -> None:
    backup, nq, nv = vector(t, w, BACKUP), t[NQ], t[NV]
    copy(backup[:nq], vector(t, w, Q))
    copy(backup[nq : nq + nv], vector(t, w, V))
    vector(t, w, CLOCK)[0], vector(t, w, LOSSES)[2] = backup[nq + nv], backup[nq + nv + 1]
    vector(t, w, DRIVEN_WORK)[0] = backup[nq + nv + 3]
    copy(backup[nq + nv + 4 : nq + nv + 4 + RANKING_SIZE], vector(t, w, RANKING))


@part
def _move(p: Rows, t: Integers, w: Rows, constrained: int | None, classical: int, h: float) -> float:
    """One part of h seconds; returns how far the first side is beyond the end of what is held (N or N m).

    `constrained` is 1 or None, by whose type the compiler leaves out the integrators that are not needed.
    """
    if constrained is None:
        if classical == 2:
            divided_rk4(p, t, w, h)
        elif classical == 1:
            rk4(p, t, w, h)
        else:
            semi_implicit(p, t, w, h)
    elif classical == 2:
        divided_constrained_rk4(p, t, w, h)
    elif classical == 1:
        constrained_rk4(p, t, w, h)
    else:
        constrained_semi_implicit(p, t, w, h)
    kinematics(p, t, w)
    compliant_forces(p, t, w)
    losses = vector(t, w, LOSSES)
    losses[2] += vector(t, w, BACKUP)[t[NQ] + t[NV] + 2] - losses[3]
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


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER))
def quickest(p: Rows, t: Integers, w: Rows) -> float:
    """After `dynamics`: one over the longest part that follows what presses now (1/s), 0 if nothing does."""
    touching, forces = vector(t, w, TOUCHING), matrix(t, w, CONTACT_FORCE, 3)
    stops, contacts = table(t, STOPS, 1), table(t, CONTACTS, 1)
    stop_laws, laws = matrix(t, p, STOP_LAW, 2), matrix(t, p, CONTACT_LAW, 4)
    points, position, links = table(t, POINTS, 1), matrix(t, w, POINT_POSITION, 3), table(t, LINKS, 3)
    root, x = matrix(t, w, FACTOR, t[NV]), vector(t, w, SUM_V)
    reference = load(matrix(t, w, REFERENCE, 3), 0)
    screw_angular, screw_linear = matrix(t, w, SCREW_ANGULAR, 3), matrix(t, w, SCREW_LINEAR, 3)
    sides, factored, most = 2 * stops.shape[0], False, 0.0
    for i in range(touching.shape[0]):
        if touching[i] == 0.0:
            continue
        if not factored:
            cholesky(matrix(t, w, M, t[NV]), root)
            factored = True
        mobility = 0.0
        if i < sides:
            fill(x, 0.0)
            x[stops[i // 2, 0]] = 1.0
            lower_solve(root, x)
            for k in range(t[NV]):
                mobility += x[k] * x[k]
            stiffness, damping, rubbing = stop_laws[i // 2, 0], stop_laws[i // 2, 1], 0.0
        else:
            c = i - sides
            point = contacts[c, 0]
            r = subtract(load(position, point), reference)
            for axis in range(3):
                fill(x, 0.0)
                link = points[point, 0]
                while link >= 0:
                    motion = add(load(screw_linear, link), cross(load(screw_angular, link), r))
                    x[links[link, 2]] = motion[0] if axis == 0 else (motion[1] if axis == 1 else motion[2])
                    link = links[link, 0]
                lower_solve(root, x)
                for k in range(t[NV]):
                    mobility += x[k] * x[k]
            f = load(forces, c)
            size = math.sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2])
            stiffness, damping, rubbing = laws[c, 0], laws[c, 1], laws[c, 2] * size / laws[c, 3]
        most = max(most, _quickness(mobility, stiffness, damping, rubbing))
    return most


@part
def _step(p: Rows, t: Integers, w: Rows, constrained: int | None, classical: int, dt: float) -> None:
    held, rest, parts = vector(t, w, HELD), dt, 0
    while rest > 1e-12 * dt:
        held[0] = 0.0
        dynamics(p, t, w)
        h, quick = rest, quickest(p, t, w)
        if parts < MOST_PARTS and quick * rest > 1.0:
            h = rest / math.ceil(min(quick * rest, 1.0 * MOST_PARTS))
        parts += 1
        _save(t, w)
        held[0] = 1.0
        beyond = _move(p, t, w, constrained, classical, h)
        if not math.isfinite(beyond):
            break
        if beyond > 0.0 and parts < MOST_PARTS and h > _SHORTEST * dt:
            h = _first_touch(p, t, w, constrained, classical, h, beyond, _SHORTEST * dt)
        rest -= h
    held[0] = 0.0


@part
def _first_touch(
    p: Rows,
    t: Integers,
    w: Rows,
    constrained: int | None,
    classical: int,
    h: float,
    beyond: float,
    shortest: float,
) -> float:
    """From the end of a part that went too far: back to where the first side changes; returns its length.

    The time is found by the rule of false position after Illinois, from the side beyond.
    """
    low, high = 0.0, h
    _restore(t, w)
    kinematics(p, t, w)
    compliant_forces(p, t, w)
    touching, pressure = vector(t, w, TOUCHING), vector(t, w, PRESSURE)
    before = -math.inf
    for i in range(touching.shape[0]):
        before = max(before, -pressure[i] if touching[i] != 0.0 else pressure[i])
    after, last = beyond, 0
    for _ in range(_TRIALS):
        if high - low <= _FOUND * h or high <= shortest:
            break
        trial = 0.5 * (low + high)
        if before < 0.0:
            trial = low - before * (high - low) / (after - before)
            trial = min(max(trial, low + 0.1 * _FOUND * h), high - 0.1 * _FOUND * h)
        _restore(t, w)
        value = _move(p, t, w, constrained, classical, trial)
        if value > 0.0:
            high, after = trial, value
            if last == 1:
                before *= 0.5
            last = 1
        else:
            low, before = trial, value
            if last == -1:
                after *= 0.5
            last = -1
    high = max(high, min(shortest, h))
    _restore(t, w)
    _move(p, t, w, constrained, classical, high)
    return high


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, int64, float64))
def compliant_step(p: Rows, t: Integers, w: Rows, classical: int, dt: float) -> None:
    """One step of dt seconds without constraints; there must be sides.

    `classical` is 0 for the semi-implicit step, 1 for that of Runge and Kutta, 2 where that divides itself.
    """
    _step(p, t, w, None, classical, dt)


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, int64, float64))
def compliant_constrained_step(p: Rows, t: Integers, w: Rows, classical: int, dt: float) -> None:
    """The same under constraints."""
    _step(p, t, w, 1, classical, dt)
