"""Putting a constrained machine together: some coordinates keep what is given, the others follow.

As many coordinates are kept as the machine has freedoms, the first independent ones of those that are named;
all other values are where the search begins, and so choose the branch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from machine.description import Assembly
from multibody import layout
from multibody.assembly import AssembledState, AssemblyError, assemble, assemble_workspace
from multibody.constraints import CoordinateConstraint
from multibody.dynamics import dynamics
from multibody.mechanism import Mechanism
from multibody.rotations import move_by
from multibody.rows import constraint_rows
from multibody.workspace import Workspace

Vector = NDArray[np.float64]
_STRIDE = 0.1
"""Longest way of a kept coordinate from one assembled pose to the next, rad or m."""
_INDEPENDENT = 1e-5
_CONTRADICTION = 1e-6
_DROPPED = 2e-4
"""Singular value of the scaled rows below which a direction counts as dependent (as in multibody.rank)."""
_EXACT, _ROUNDED = 1e-12, 1e-7
"""Residuals (typical lengths or rad): the one asked for, and what rounded redundant closures may leave."""


def assembled(
    mechanism: Mechanism,
    q: Vector,
    v: Vector,
    first: Sequence[str] = (),
    speeds: Sequence[str] = (),
    near: Vector | None = None,
) -> tuple[Vector, Vector, Assembly]:
    """Return q and v on the manifold near the given ones, and how they were found.

    `first` names coordinates to be kept rather than others, `speeds` those whose speed in v is kept; what is
    not named keeps the speed 0 in the order of `first`. `near` is a pose on the manifold, or close to it,
    from which the kept coordinates travel instead of a search from q. Raises
    multibody.assembly.AssemblyError.
    """
    start, tolerance = _closed(mechanism, q if near is None else near)
    kept = independent(mechanism, admitted(mechanism, start.q, positions=True), first)
    found = _keeping(mechanism, kept, q, start, tolerance, travel=near is not None) if kept else start
    tangents = admitted(mechanism, found.q)
    moving = independent(mechanism, tangents, [*speeds, *first])
    velocity = _velocity(mechanism, found.q, v, tangents, moving)
    _refuse_contradiction(mechanism, found.q, velocity)
    return (
        found.q,
        velocity,
        Assembly(
            mechanism.nv - start.ordinary_rank,
            sum(len(constraint.rows) for constraint in mechanism.constraints if constraint.on),
            _rank(mechanism, found.q),
            start.ordinary_rank,
            found.residual,
            found.iterations,
            tuple(kept),
        ),
    )


def _refuse_contradiction(mechanism: Mechanism, q: Vector, v: Vector) -> None:
    """Raise AssemblyError where no velocity obeys all rows, as prescribed ones contradict each other."""
    terms = _terms(mechanism, q)
    open_by = np.abs(_row_scales(mechanism) * (terms.A @ v + terms.explicit))
    if open_by.max(initial=0.0) > _CONTRADICTION * max(1.0, float(np.abs(v / _columns(mechanism)).max())):
        worst = np.flatnonzero(open_by > 0.5 * open_by.max())[:3]
        rows = tuple(mechanism.row_names[i] for i in worst)
        raise AssemblyError(float(open_by.max()), rows, of_velocity=True)


def _closed(mechanism: Mechanism, q: Vector) -> tuple[AssembledState, float]:
    """Return the assembled state near q and the tolerance that could be met."""
    try:
        return assemble(mechanism, q, tolerance=_EXACT), _EXACT
    except AssemblyError as error:
        if error.residual > _ROUNDED:
            raise
    return assemble(mechanism, q, tolerance=_ROUNDED), _ROUNDED


def admitted(mechanism: Mechanism, q: Vector, *, positions: bool = False) -> Vector:
    """Return a basis of the velocities that the constraints admit, nv × freedoms, in scaled units.

    For `positions`, rows on the level of velocities (rolling) are left out: they admit any displacement.
    """
    rows = _scaled_rows(mechanism, q, positions)
    return np.asarray(np.linalg.svd(rows)[2][np.linalg.matrix_rank(rows, tol=_DROPPED) :].T)


def admitted_velocities(mechanism: Mechanism, q: Vector) -> Vector:
    """Return the same basis in rad/s and m/s."""
    return _columns(mechanism)[:, None] * admitted(mechanism, q)


def neighbours(mechanism: Mechanism, q: Vector) -> Iterator[Vector]:
    """Return the pose and a few assembled ones near it."""
    yield q
    rng = np.random.default_rng(0)
    for _ in range(3):
        near = q.copy()
        move_by(mechanism.topology, near, _columns(mechanism) * rng.normal(size=mechanism.nv), 0.05)
        with suppress(AssemblyError):
            yield assemble(mechanism, near, tolerance=_ROUNDED).q


def independent(mechanism: Mechanism, tangents: Vector, names: Sequence[str]) -> list[str]:
    """Return the first of these joints, not more than the freedoms, whose motions are independent."""
    chosen: list[str] = []
    span = np.zeros((0, tangents.shape[1]))
    for name in dict.fromkeys(names):
        if name not in mechanism.coordinate_names or name not in mechanism.joint_names:
            continue
        row = tangents[mechanism.joint_index(name)]
        row = row - span.T @ (span @ row)
        size = float(np.linalg.norm(row))
        if size > _INDEPENDENT and len(span) < tangents.shape[1]:
            span = np.vstack([span, row / size])
            chosen.append(name)
    return chosen


def _keeping(
    mechanism: Mechanism, kept: list[str], q: Vector, near: AssembledState, tolerance: float, *, travel: bool
) -> AssembledState:
    """Return the state in which these joints have the positions that q gives them.

    The search begins at q; where it fails or is not wanted (`travel`), the joints go there step by step from
    the pose that is near.
    """
    held = [CoordinateConstraint(f"initial {name}", of=name) for name in kept]
    wider = Mechanism.build(
        mechanism.bodies,
        mechanism.joints,
        mechanism.gravity_m_s2,
        mechanism.points,
        mechanism.coordinates,
        [*mechanism.constraints, *held],
    )
    places = [mechanism.joint_index(name) for name in kept]
    targets = [wider.target_index(constraint.name) for constraint in held]
    work = wider.workspace()
    work.target[targets, 0] = q[places]
    if not travel:
        work.q[:] = q
        with suppress(AssemblyError):
            return assemble_workspace(wider, work, tolerance)
    work.q[:] = near.q
    begin = near.q[places]
    strides = max(1, math.ceil(float(np.abs(q[places] - begin).max()) / _STRIDE))
    for stride in range(1, strides + 1):
        work.target[targets, 0] = begin + (q[places] - begin) * stride / strides
        try:
            found = assemble_workspace(wider, work, tolerance)
        except AssemblyError as error:
            rows = tuple(row for row in error.rows if row in mechanism.row_names)
            raise AssemblyError(error.residual, rows or mechanism.row_names[:1]) from None
    return found


def _velocity(mechanism: Mechanism, q: Vector, v: Vector, tangents: Vector, moving: list[str]) -> Vector:
    """Return the admitted velocity nearest v in kinetic energy in which some joints have just their speed.

    Where prescribed values move, it is the velocity that they ask for and an admitted one.
    """
    columns = _columns(mechanism)
    basis = columns[:, None] * tangents
    places = [mechanism.joint_index(name) for name in moving]
    terms = _terms(mechanism, q)
    mass = terms.M
    driven = _driven(mechanism, q, terms)
    n, m = basis.shape[1], len(places)
    if n == 0:
        return driven
    v = v - driven
    system = np.zeros((n + m, n + m))
    system[:n, :n] = basis.T @ mass @ basis
    system[n:, :n] = basis[places]
    system[:n, n:] = basis[places].T
    right = np.concatenate([basis.T @ mass @ v, v[places]])
    return np.asarray(driven + basis @ np.linalg.lstsq(system, right, rcond=None)[0][:n]) + 0.0


def _driven(mechanism: Mechanism, q: Vector, terms: Workspace) -> Vector:
    """Return the smallest velocity (scaled) with A v = -Φ_t."""
    if not terms.explicit.any():
        return np.zeros(mechanism.nv)
    right = -_row_scales(mechanism) * terms.explicit
    return np.asarray(
        _columns(mechanism) * (np.linalg.pinv(_scaled_rows(mechanism, q), rcond=_DROPPED) @ right)
    )


def _terms(mechanism: Mechanism, q: Vector, positions: bool = False) -> Workspace:
    work = mechanism.workspace()
    work.q[:] = q
    work.level[0] = float(positions)
    dynamics(*work.arguments)
    constraint_rows(*work.arguments)
    return work


def _columns(mechanism: Mechanism) -> Vector:
    t = mechanism.topology
    return mechanism.parameters[t[layout.COLUMN_SCALE] : t[layout.COLUMN_SCALE + 1]]


def _row_scales(mechanism: Mechanism) -> Vector:
    t = mechanism.topology
    return mechanism.parameters[t[layout.ROW_SCALE] : t[layout.ROW_SCALE + 1]]


def _scaled_rows(mechanism: Mechanism, q: Vector, positions: bool = False) -> Vector:
    terms = _terms(mechanism, q, positions)
    return np.asarray(_row_scales(mechanism)[:, None] * terms.A * _columns(mechanism))


def _rank(mechanism: Mechanism, q: Vector) -> int:
    return int(np.linalg.matrix_rank(_scaled_rows(mechanism, q), tol=_DROPPED))
