"""Assembly of a constrained machine: some coordinates keep their given values, the others follow.

As many values are kept as the machine has degrees of freedom, the first independent ones of those that are
named: coordinates of joints, and roll, pitch and yaw of quaternion joints (kept_values.py). All other values
are the start of the search, which selects the assembly mode.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine.building.kept_values import balls, directions, keeping, values_of, way_between
from linkwork.machine.description import Assembly
from linkwork.multibody.assembly.assembly import (
    AssembledState,
    AssemblyError,
    assemble,
    assemble_workspace,
    decide_rank,
)
from linkwork.multibody.assembly.branch_velocities import BranchTangents, branch_velocities, tangents
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.formulations.projector import pseudo_inverse
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.tree.rotations import move_by
from linkwork.multibody.workspace import Workspace

_STRIDE = 0.1
"""Longest way of a kept coordinate from one assembled pose to the next, rad or m."""
_INDEPENDENT = 1e-5
_CONTRADICTION = 1e-6
_EXACT, _ROUNDED = 1e-12, 1e-7
"""Residuals (typical lengths or rad): the one asked for, and what rounded redundant closures may leave."""
_KEPT = 1e-6
"""Largest error of a kept value, rad or m."""
_STANDS = 1e-13
"""Speed of prescribed values, in typical lengths or rad per second, that is round-off."""
_HALVINGS = 20
SHOWN = 4
"""Branches that a message names."""


class ValueNotKept(AssemblyError):
    """A value cannot be kept together with the constraints and the values named before it.

    `name` of the value, what was `wanted`, and the nearest that was `reached` (rad or m). `residual` and
    `rows` are those of the constraints just beyond.
    """

    def __init__(self, name: str, wanted: float, reached: float, beyond: AssemblyError) -> None:
        """Make the message: which value, and by how much."""
        super().__init__(beyond.residual, beyond.rows)
        self.name, self.wanted, self.reached = name, wanted, reached
        text = f"{name} cannot be kept at {wanted:.6g}, only at {reached:.6g} (off by "
        text += f"{abs(wanted - reached):.3g} rad or m), with the constraints and the values before it"
        self.args = (text,)


class SpeedsOfNoBranch(AssemblyError):
    """Branches of the motion meet at this pose, and the speeds of the joints `held` belong to none of them.

    `choices` are speeds that do, as text, with the first of those held kept.
    """

    def __init__(self, held: tuple[str, ...], choices: tuple[str, ...]) -> None:
        """Name the speeds and the choices."""
        super().__init__(0.0, ())
        self.held, self.choices = held, choices
        there = "; or ".join(choices[:SHOWN]) or "none was found with the first of them"
        text = "branches of the motion meet at this pose, and the speeds of "
        text += f"{', '.join(held)} belong to none of them. Speeds of one branch: {there}"
        self.args = (text,)


def assembled(
    mechanism: Mechanism,
    q: Floats,
    v: Floats,
    first: Sequence[str] = (),
    speeds: Sequence[str] = (),
    near: Floats | None = None,
) -> tuple[Floats, Floats, Assembly]:
    """Return q (nq; rad or m) and v (nv) on the manifold near the given ones, and how they were found.

    `first` names values to be kept rather than others, `speeds` degrees of freedom whose speed in v is kept;
    others keep the speed 0 in the order of `first`. `near` (nq) is a pose on the manifold, or close to it,
    from which the kept values travel instead of a search from q. Where branches of the motion meet, v is of
    one of them. Raises multibody.assembly.assembly.AssemblyError, which is a ValueNotKept where the
    constraints could be met without the kept values.
    """
    start, tolerance = _closed(mechanism, q if near is None else near)
    ways = admitted(mechanism, start.q, positions=True)
    kept = _first_independent(ways, directions(mechanism, start.q, first))
    found = _keeping(mechanism, kept, q, start, tolerance, travel=near is not None) if kept else start
    motions = admitted(mechanism, found.q)
    moving = _first_independent(motions, _own_rows(mechanism, [*speeds, *_dof(mechanism, first)]))
    velocity = _velocity(mechanism, found.q, v, motions, moving)
    velocity, branches = _of_one_branch(
        mechanism, found.q, start.ordinary_rank, v, velocity, [*speeds, *_dof(mechanism, first)], speeds
    )
    _refuse_contradiction(mechanism, found.q, velocity)
    decision = decide_rank(mechanism, found.q, start.ordinary_rank)
    return (
        found.q,
        velocity,
        Assembly(
            mechanism.nv - start.ordinary_rank,
            sum(len(constraint.rows) for constraint in mechanism.constraints if constraint.on),
            decision.rank,
            start.ordinary_rank,
            found.residual,
            found.iterations,
            tuple(kept),
            branches=branches,
            limit=decision.limit,
            smallest=decision.smallest,
            largest_dropped=decision.largest_dropped,
        ),
    )


def _of_one_branch(
    mechanism: Mechanism,
    q: Floats,
    ordinary_rank: int,
    given: Floats,
    velocity: Floats,
    names: Sequence[str],
    speeds: Sequence[str],
) -> tuple[Floats, tuple[str, ...]]:
    """Return the velocity and, where branches meet and several have the given speeds, these as text.

    Of several, the one nearest to the given velocity in kinetic energy is taken. Raises SpeedsOfNoBranch.
    """
    if not velocity.any():
        return velocity, ()
    equations = tangents(mechanism, q, ordinary_rank, _driven(mechanism, q, _terms(mechanism, q)))
    if equations is None:
        return velocity, ()
    scaled = equations.basis / _columns(mechanism)[:, None]
    held = _first_independent(scaled, _own_rows(mechanism, speeds))
    dof = mechanism.nv - ordinary_rank
    for name in _first_independent(scaled, _own_rows(mechanism, [*held, *names])):
        if name not in held and len(held) < dof:
            held.append(name)
    found = _branches(mechanism, equations, held, given)
    shown = _first_independent(scaled, _own_rows(mechanism, [*names, *mechanism.joint_names]))
    if found:
        texts = tuple(_speeds_as_text(mechanism, one, shown) for one in found)
        return found[0], texts if len(texts) > 1 else ()
    found = _branches(mechanism, equations, held[:dof], given)
    raise SpeedsOfNoBranch(tuple(held), tuple(_speeds_as_text(mechanism, one, shown) for one in found))


def _branches(
    mechanism: Mechanism, equations: BranchTangents, held: Sequence[str], given: Floats
) -> list[Floats]:
    places = [mechanism.joint_index(name) for name in held]
    return branch_velocities(equations, np.eye(mechanism.nv)[places], given[places], given)


def _speeds_as_text(mechanism: Mechanism, v: Floats, names: Sequence[str]) -> str:
    found = [(mechanism.joint_index(name), name) for name in names]
    return ", ".join(
        f"{name} {v[place] + 0.0:.5g} {'rad/s' if mechanism.joint_is_angle[place] else 'm/s'}"
        for place, name in found
    )


def _refuse_contradiction(mechanism: Mechanism, q: Floats, v: Floats) -> None:
    """Raise AssemblyError where no velocity obeys all rows, as prescribed ones contradict each other."""
    terms = _terms(mechanism, q)
    open_by = np.abs(_row_scales(mechanism) * (terms.A @ v + terms.explicit))
    if open_by.max(initial=0.0) > _CONTRADICTION * max(1.0, float(np.abs(v / _columns(mechanism)).max())):
        worst = np.flatnonzero(open_by > 0.5 * open_by.max())[:3]
        rows = tuple(mechanism.row_names[i] for i in worst)
        raise AssemblyError(float(open_by.max()), rows, of_velocity=True)


def _closed(mechanism: Mechanism, q: Floats) -> tuple[AssembledState, float]:
    """Return the assembled state near q and the tolerance that could be met."""
    try:
        return assemble(mechanism, q, tolerance=_EXACT), _EXACT
    except AssemblyError as error:
        if error.residual > _ROUNDED:
            raise
    return assemble(mechanism, q, tolerance=_ROUNDED), _ROUNDED


def admitted(mechanism: Mechanism, q: Floats, *, positions: bool = False) -> Floats:
    """Return a basis of the velocities that the constraints admit, nv × dof, in scaled units.

    For `positions`, rows on the level of velocities (rolling) are left out: they admit any displacement.
    """
    if not mechanism.constraints:
        return np.eye(mechanism.nv)  # a machine without constraints needs none of their kernels
    return decide_rank(mechanism, q, positions=positions).basis


def admitted_velocities(mechanism: Mechanism, q: Floats) -> Floats:
    """Return a basis of the admitted velocities at q (nq), nv × dof, in rad/s and m/s."""
    return _columns(mechanism)[:, None] * admitted(mechanism, q)


def neighbours(mechanism: Mechanism, q: Floats) -> Iterator[Floats]:
    """Yield the pose q (nq) and a few assembled ones near it."""
    yield q
    rng = np.random.default_rng(0)
    for _ in range(3):
        near = q.copy()
        move_by(mechanism.model, near, _columns(mechanism) * rng.normal(size=mechanism.nv), 0.05)
        with suppress(AssemblyError):
            yield assemble(mechanism, near, tolerance=_ROUNDED).q


def independent(mechanism: Mechanism, tangents: Floats, names: Sequence[str]) -> list[str]:
    """Return the first of these joints whose motions in `tangents` (nv × dof) are independent."""
    return _first_independent(
        tangents, _own_rows(mechanism, [name for name in names if name in mechanism.coordinate_names])
    )


def independent_values(mechanism: Mechanism, tangents: Floats, q: Floats, names: Sequence[str]) -> list[str]:
    """Return the first of these values at q (nq; kept_values.py) that move independently in `tangents`."""
    return _first_independent(tangents, directions(mechanism, q, names))


def _own_rows(mechanism: Mechanism, names: Sequence[str]) -> Iterator[tuple[str, Floats]]:
    """Return the degrees of freedom among the names, once each, and their unit vectors (nv)."""
    for name in dict.fromkeys(names):
        if name in mechanism.joint_names:
            unit = np.zeros(mechanism.nv)
            unit[mechanism.joint_index(name)] = 1.0
            yield name, unit


def _dof(mechanism: Mechanism, names: Sequence[str]) -> list[str]:
    """Return the degrees of freedom that belong to kept values: of roll, pitch and yaw rx, ry and rz."""
    own = {
        value: mechanism.joint_names[ball.place + k]
        for ball in balls(mechanism)
        for k, value in enumerate(ball.values())
    }
    return [own.get(name, name) for name in names]


def _first_independent(tangents: Floats, rows: Iterator[tuple[str, Floats]]) -> list[str]:
    """Return the names of the first rows that are independent on the tangents, at most one per tangent."""
    chosen: list[str] = []
    span = np.zeros((tangents.shape[1], tangents.shape[1]))
    for name, direction in rows:
        known = span[: len(chosen)]
        if len(known) == len(span):
            break
        row = direction @ tangents
        row = row - known.T @ (known @ row)
        size = float(np.linalg.norm(row))
        if size > _INDEPENDENT:
            span[len(chosen)] = row / size
            chosen.append(name)
    return chosen


def _keeping(
    mechanism: Mechanism, kept: list[str], q: Floats, near: AssembledState, tolerance: float, *, travel: bool
) -> AssembledState:
    """Return the state in which these values are those of q.

    The search begins at q; where it fails or is not wanted (`travel`), the values go there step by step from
    the pose that is near, at first all together, then one after the other.
    """
    wanted = values_of(mechanism, q)
    if not travel:
        with suppress(AssemblyError):
            found = _held(mechanism, kept, wanted, q, tolerance)
            if _are_kept(mechanism, kept, wanted, found.q):
                return found
    way = way_between(mechanism, values_of(mechanism, near.q), wanted)
    strides = max(1, math.ceil(max(abs(way[name]) for name in kept) / _STRIDE))
    found = near
    with suppress(AssemblyError):
        for stride in range(1, strides + 1):
            left = 1.0 - stride / strides
            values = {name: wanted[name] - way[name] * left for name in kept}
            found = _held(mechanism, kept, values, found.q, tolerance)
        if _are_kept(mechanism, kept, wanted, found.q):
            return found
    found = near
    for count in range(1, len(kept) + 1):
        found = _brought(mechanism, kept[:count], wanted, found, tolerance)
    reached = values_of(mechanism, found.q)
    for name, error in way_between(mechanism, reached, wanted).items():
        if name in kept and abs(error) > _KEPT:
            raise ValueNotKept(name, wanted[name], reached[name], AssemblyError(found.residual, ()))
    return found


def _held(
    mechanism: Mechanism, kept: Sequence[str], values: Mapping[str, float], q: Floats, tolerance: float
) -> AssembledState:
    """Return the state near q with these values kept; an error names the mechanism's own rows."""
    wider = keeping(mechanism, kept, values)
    work = wider.workspace(q)
    try:
        return assemble_workspace(wider, work, tolerance)
    except AssemblyError as error:
        rows = tuple(row for row in error.rows if row in mechanism.row_names)
        raise AssemblyError(error.residual, rows or mechanism.row_names[:1]) from None


def _are_kept(mechanism: Mechanism, kept: Sequence[str], wanted: Mapping[str, float], q: Floats) -> bool:
    way = way_between(mechanism, values_of(mechanism, q), wanted)
    return all(abs(way[name]) < _KEPT for name in kept)


def _brought(
    mechanism: Mechanism,
    kept: Sequence[str],
    wanted: Mapping[str, float],
    found: AssembledState,
    tolerance: float,
) -> AssembledState:
    """Return the state in which the last of these values has come to where it is wanted too.

    Raises ValueNotKept with the nearest value that could be reached.
    """
    last = kept[-1]
    way = way_between(mechanism, values_of(mechanism, found.q), wanted)[last]
    gone, stride, halvings = 0.0, min(1.0, _STRIDE / max(abs(way), _STRIDE)), 0
    while gone < 1.0:
        reach = min(1.0, gone + stride)
        try:
            there = {name: wanted[name] for name in kept} | {last: wanted[last] - (1.0 - reach) * way}
            found = _held(mechanism, kept, there, found.q, tolerance)
            gone = reach
        except AssemblyError as error:
            stride, halvings = 0.5 * stride, halvings + 1
            if halvings > _HALVINGS:
                reached = wanted[last] - (1.0 - gone) * way
                raise ValueNotKept(last, wanted[last], reached, error) from None
    return found


def _velocity(mechanism: Mechanism, q: Floats, v: Floats, tangents: Floats, moving: list[str]) -> Floats:
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


def _driven(mechanism: Mechanism, q: Floats, terms: Workspace) -> Floats:
    """Return the smallest velocity (scaled) with A v = -Φ_t."""
    right = -_row_scales(mechanism) * terms.explicit
    if np.abs(right).max(initial=0.0) <= _STANDS:
        return np.zeros(mechanism.nv)
    rows = _scaled_rows(mechanism, q)
    return np.asarray(_columns(mechanism) * (pseudo_inverse(rows, decide_rank(mechanism, q).rank) @ right))


def _terms(mechanism: Mechanism, q: Floats, positions: bool = False) -> Workspace:
    work = mechanism.workspace(q)
    work.level[0] = float(positions)
    dynamics(*work.arguments)
    constraint_rows(*work.arguments)
    return work


def _columns(mechanism: Mechanism) -> Floats:
    return mechanism.model.column_scale


def _row_scales(mechanism: Mechanism) -> Floats:
    return mechanism.model.row_scale


def _scaled_rows(mechanism: Mechanism, q: Floats, positions: bool = False) -> Floats:
    terms = _terms(mechanism, q, positions)
    return np.asarray(_row_scales(mechanism)[:, None] * terms.A * _columns(mechanism))


def holding(mechanism: Mechanism, switchable: Collection[str], closed: Collection[str]) -> Mechanism:
    """Return the mechanism in which, of these constraints, those that are closed hold."""
    constraints = tuple(
        replace(one, on=one.name in closed) if one.name in switchable else one
        for one in mechanism.constraints
    )
    model = mechanism.model.changed({"on_given": np.array([float(one.on) for one in constraints])})
    return replace(mechanism, constraints=constraints, model=model)
