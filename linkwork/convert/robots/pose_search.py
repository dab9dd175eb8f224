"""Search for a pose in which the loops of a robot close, from random poses.

The number of starts is bounded, not the time, and the poses come from a seed: every computer finds the same
pose.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats
from linkwork.machine.building.initial_assembly import admitted_velocities
from linkwork.machine.building.kept_values import keeping, values_of
from linkwork.machine.checks.mode_places import typical_length
from linkwork.multibody.assembly.assembly import (
    AssembledState,
    AssemblyError,
    assemble_workspace,
    decide_rank,
)
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.functions import mass_matrix
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.tree.rotations import move_by

MOST_STARTS, ENOUGH = 1000, 10
"""Most random poses from which the loops are tried to close, and closed ones among which one is chosen."""
_LINEAR, _QUADRATIC = 20_000, 2_500_000
"""Most starts times the number of velocities, or times its square: a second or two where none closes."""
_INSIDE = 0.05
"""Share of a joint's range by which it starts inside its limits."""
_HELD_TRIALS, _HELD_COST = 6, 20
"""Times that a pose is closed with joints held inside their limits, and the cost of one in poses closed."""
_NO_SHARE = 1e-9
"""Entry of a row (m, or without a unit) up to which a joint has no share in it."""
_UNEVEN = 10.0
"""Ratio of the distortion to the least one found, up to which a pose is chosen by distance."""


@dataclass(frozen=True)
class PoseSearch:
    """The result of a search.

    `values` (rad, m; as `kept_values.values_of`) of the pose, None without one; then `outside` are joints
    beyond their limits in a closed pose, and `nearest` is the error of the start nearest to a closed one, of
    `starts` that were tried.
    """

    values: dict[str, float] | None
    nearest: AssemblyError | None = None
    outside: tuple[str, ...] = ()
    starts: int = 0


def _most_starts(nv: int) -> int:
    return max(2, min(MOST_STARTS, _LINEAR // max(nv, 1), _QUADRATIC // max(nv, 1) ** 2))


def random_poses(
    mechanism: Mechanism, first: Floats, reach: Floats, rng: np.random.Generator
) -> Iterator[Floats]:
    """Yield poses (nq): `first` (nv; rad, m), then random ones between limits, from near ones to far ones.

    reach (nv × 2): limits; without one, half a turn or two typical lengths from the first pose.
    """
    nv = mechanism.nv
    free = np.where(mechanism.joint_is_angle, math.pi, 2.0 * typical_length(mechanism))
    low, high = (
        np.where(np.isfinite(edge), edge - first, side * free)
        for edge, side in zip(reach.T, (-1, 1), strict=True)
    )
    for trial in range(_most_starts(nv)):
        work = mechanism.workspace()
        work.q[:nv] = first
        move_by(work.model, work.q, rng.uniform(low, high) * min(1.0, 0.1 * trial), 1.0)
        yield work.q.copy()


def nearest_within(low: float, high: float) -> float:
    """Return the value nearest to 0 within limits: 0, or one that lies inside by a share of the range."""
    if low <= 0.0 <= high:
        return 0.0
    inside = _INSIDE * (high - low) if math.isfinite(high - low) else 0.0
    return low + inside if low > 0.0 else high - inside


def closed_pose(
    mechanism: Mechanism,
    limits: Mapping[str, tuple[float, float]],
    start: Mapping[str, float],
    seed: int,
) -> PoseSearch:
    """Return a pose that closes the loops: near zero and within the limits, but not singular nor stretched.

    limits and start (rad, m) by joints; if the loops close near the given start, that pose is the result.
    """
    names = mechanism.joint_names
    reach = np.array([limits.get(name, (-np.inf, np.inf)) for name in names])
    first = np.array(
        [start.get(name, nearest_within(*edges)) for name, edges in zip(names, reach.tolist(), strict=True)]
    )
    found: list[tuple[float, float, Floats]] = []
    nearest: AssemblyError | None = None
    beyond: tuple[str, ...] = ()
    left = _most_starts(mechanism.nv)
    for trial, pose in enumerate(random_poses(mechanism, first, reach, np.random.default_rng(seed))):
        if left <= 0:
            break
        try:
            state, cost = _closed_within(mechanism, pose, reach)
            left -= cost
        except AssemblyError as error:
            if nearest is None or error.residual < nearest.residual:
                nearest = error
            continue
        own = state.q[: mechanism.nv]
        outside = (own < reach[:, 0]) | (own > reach[:, 1])
        if outside.any():
            beyond = tuple(name for name, is_outside in zip(names, outside, strict=True) if is_outside)
        if state.rank < state.ordinary_rank or outside.any():
            continue
        if trial == 0 and start:
            return PoseSearch(values_of(mechanism, state.q))
        distance = float(np.abs(own - first).max())
        found.append((distance, _distortion(mechanism, state.q, state.ordinary_rank), state.q))
        if len(found) == ENOUGH:
            break
    if not found and beyond:
        whole = _closed_by_parts(mechanism, first, reach, seed)
        if whole is not None:
            return PoseSearch(values_of(mechanism, whole))
    if not found:
        tries = trial + 1 + (_most_starts(mechanism.nv) if beyond else 0)
        return PoseSearch(None, nearest, beyond, tries)
    most = _UNEVEN * min(distortion for _, distortion, _ in found)
    _, _, best = min((each for each in found if each[1] <= most), key=lambda each: each[0])
    return PoseSearch(values_of(mechanism, best))


def _closed_by_parts(mechanism: Mechanism, first: Floats, reach: Floats, seed: int) -> Floats | None:
    """Return a pose (nq) within the limits (nv × 2) that closes the loops, None if none is found.

    Of many loops that do not depend on each other hardly ever all close within limits at once: only those
    that a joint leaves are drawn again.
    """
    rng, nv = np.random.default_rng(seed), mechanism.nv
    free = np.where(mechanism.joint_is_angle, math.pi, 2.0 * typical_length(mechanism))
    low, high = (
        np.where(np.isfinite(edge), edge, first + side * free)
        for edge, side in zip(reach.T, (-1, 1), strict=True)
    )

    def drawn(q: Floats, again: npt.NDArray[np.bool_]) -> Floats:
        work = mechanism.workspace(q)
        way = np.where(again, rng.uniform(low, high) - q[:nv], 0.0)
        move_by(work.model, work.q, way, 1.0)
        return work.q.copy()

    start = mechanism.workspace()
    start.q[:nv] = first
    whole = start.q.copy()
    parts = _parts(_together(mechanism, drawn(whole, np.ones(nv, bool))))
    loops = np.isin(np.arange(nv), np.concatenate([*parts, np.zeros(0, int)]))
    q = drawn(whole, loops)
    for _ in range(_most_starts(nv)):
        again = loops
        with suppress(AssemblyError):
            state = _closed(mechanism, q)
            outside = (state.q[:nv] < reach[:, 0]) | (state.q[:nv] > reach[:, 1])
            if not outside.any() and state.rank == state.ordinary_rank:
                return state.q
            q = state.q
            wrong = [part for part in parts if outside[part].any()]
            again = np.isin(np.arange(nv), np.concatenate(wrong)) if wrong else np.ones(nv, bool)
        q = drawn(q, again)
    return None


def _together(mechanism: Mechanism, q: Floats) -> npt.NDArray[np.bool_]:
    """Return nv × nv whether a row of the closures has both velocities, in a pose q (nq) without symmetry."""
    work = mechanism.workspace(q)
    dynamics(*work.arguments)
    constraint_rows(*work.arguments)
    has = (np.abs(work.A) > _NO_SHARE).astype(float)
    return np.asarray(has.T @ has > 0.0)


def _parts(together: npt.NDArray[np.bool_]) -> list[npt.NDArray[np.intp]]:
    """Return the velocities of parts that meet only in single joints, such as a crank that drives several.

    together (nv × nv): whether some row has both.
    """
    from scipy.sparse.csgraph import connected_components

    held = np.flatnonzero(together.any(axis=1))

    def components(members: npt.NDArray[np.intp]) -> list[npt.NDArray[np.intp]]:
        count, labels = connected_components(together[np.ix_(members, members)], directed=False)
        return [members[labels == k] for k in range(count)]

    whole = len(components(held))
    meeting = [each for each in held if len(components(held[held != each])) > whole]
    return components(np.setdiff1d(held, meeting))


def _closed_within(mechanism: Mechanism, pose: Floats, reach: Floats) -> tuple[AssembledState, int]:
    """Return the closed state near a pose (nq), and the cost in poses closed.

    Joints beyond their limits (nv × 2) are held inside them one after the other, the farthest first, where
    the others can close the loops. Raises AssemblyError.
    """
    low, high = reach.T
    nv, cost = mechanism.nv, 1
    inside = np.array([_INSIDE * (b - a) if math.isfinite(b - a) else 0.0 for a, b in reach.tolist()])
    state = _closed(mechanism, pose)
    held: dict[str, float] = {}
    with suppress(AssemblyError):
        for _ in range(_HELD_TRIALS):
            own = state.q[:nv]
            beyond = np.maximum(low - own, own - high)
            worst = int(beyond.argmax())
            if beyond[worst] <= 0.0:
                break
            value = float(np.clip(own[worst], low[worst] + inside[worst], high[worst] - inside[worst]))
            held[mechanism.joint_names[worst]] = value
            cost += _HELD_COST
            q = state.q.copy()
            q[worst] = value
            state = _closed(mechanism, _closed(keeping(mechanism, list(held), held), q).q)
    return state, cost


def _closed(mechanism: Mechanism, pose: Floats) -> AssembledState:
    work = mechanism.workspace(pose)
    return assemble_workspace(mechanism, work)


def _distortion(mechanism: Mechanism, q: Floats, ordinary_rank: int) -> float:
    """Return the condition number of the inertia in admitted velocities, over the rows' least singular value.

    q (nq). It is large where a leg is stretched, so that its motor hardly moves what the leg carries, and
    near a singular pose, where the smallest singular value of the scaled rows falls to 0.
    """
    ways = admitted_velocities(mechanism, q)
    condition = float(np.linalg.cond(ways.T @ mass_matrix(mechanism, q) @ ways)) if ways.size else 1.0
    return condition / min(1.0, decide_rank(mechanism, q, ordinary_rank).smallest)
