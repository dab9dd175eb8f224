"""States that a machine's closures admit: random ones, for what holds in every pose."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.multibody.assembly.assembly import AssemblyError, RankDecision, assemble, decide_rank
from linkwork.multibody.dynamics.constrained_dynamics import constrained_terms, least_motion
from linkwork.multibody.dynamics.projection import correct_velocity
from linkwork.multibody.kernels.layout import ORDINARY
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.tree.rotations import move_by

_LONGEST_STEP = 0.3
"""Longest step along the admitted velocities from one pose to the next, in scaled coordinates."""
_LEAST_STRAIGHT = 0.3
"""Share of its step by which closing the loops may move a pose: beyond it another assembly mode may begin."""
_RATE = 3.0
"""Standard deviation of scaled velocities, 1/s; accelerations have its square."""
_TRIES = 20


@dataclass(frozen=True, eq=False)
class AdmissibleState:
    """q (nq), v and v̇ (nv) that obey the closures, and a basis L (nv × dof) of the admitted velocities."""

    q: Floats
    v: Floats
    vdot: Floats
    basis: Floats


class NoStates(ValueError):
    """Too few poses near the initial one, within the limits of the joints, obey the closures."""


def random_states(
    machine: Machine, mechanism: Mechanism, count: int, seed: int = 0
) -> Iterator[AdmissibleState]:
    """Yield `count` random states in the assembly mode of the initial pose, within the limits of the joints.

    mechanism: the machine's, or one with other masses or gravity. Each pose is one step along the admitted
    velocities away from an earlier one; poses that lose rank are left out. Raises NoStates.
    """
    rng = np.random.default_rng(seed)
    found = [(machine.initial_q, _decided(mechanism, machine.initial_q, machine.assembly.ordinary_rank))]
    scale, tries = mechanism.model.column_scale, 0
    for _ in range(count):
        while True:
            q, decision = found[int(rng.integers(len(found)))]
            near = _step(machine, mechanism, q, decision, rng)
            if near is not None:
                break
            tries += 1
            if tries > _TRIES * count:
                raise NoStates(
                    f"no {count} poses of {machine.name} within the limits of its joints were found"
                )
        found.append(near)
        q, decision = near
        basis = scale[:, None] * decision.basis
        v = _RATE * basis @ rng.normal(size=basis.shape[1])
        yield _with_accelerations(mechanism, q, v, basis, decision, rng)


def _decided(mechanism: Mechanism, q: Floats, ordinary_rank: int) -> RankDecision:
    if mechanism.constraints:
        return decide_rank(mechanism, q, ordinary_rank)
    return RankDecision(0, 0, np.eye(mechanism.nv), np.zeros((0, mechanism.nv)), 0.0)


def _step(
    machine: Machine, mechanism: Mechanism, q: Floats, decision: RankDecision, rng: np.random.Generator
) -> tuple[Floats, RankDecision] | None:
    """Return a pose one random step away with its rank, or None where there is none."""
    scale = mechanism.model.column_scale
    way = decision.basis @ rng.normal(size=decision.basis.shape[1])
    size = _LONGEST_STEP * rng.uniform()
    way *= size / max(1e-300, float(np.abs(way).max()))
    near = q.copy()
    move_by(mechanism.model, near, scale * way, 1.0)
    if mechanism.constraints:
        try:
            closed = assemble(mechanism, near).q
        except AssemblyError:
            return None
        if float(np.abs((closed - near)[: mechanism.nv] / scale).max()) > _LEAST_STRAIGHT * size:
            return None
        near = closed
    if any(
        beyond > 0.0 and beyond > was
        for was, beyond in zip(_beyond(machine, q), _beyond(machine, near), strict=True)
    ):
        return None
    found = _decided(mechanism, near, decision.ordinary_rank)
    return None if found.rank < found.ordinary_rank else (near, found)


def _beyond(machine: Machine, q: Floats) -> list[float]:
    """Return how far each degree of freedom is beyond its limits (nv; negative inside)."""
    return [
        max(limits.position[0] - value, value - limits.position[1])
        for limits, value in zip(machine.joints, q[: len(machine.joints)].tolist(), strict=True)
    ]


def _with_accelerations(
    mechanism: Mechanism,
    q: Floats,
    v: Floats,
    basis: Floats,
    decision: RankDecision,
    rng: np.random.Generator,
) -> AdmissibleState:
    """Complete a state with a random acceleration that the closures admit."""
    free = _RATE**2 * basis @ rng.normal(size=basis.shape[1])
    if not mechanism.constraints:
        return AdmissibleState(q, v, free, basis)
    w = mechanism.workspace()
    w.q[:], w.v[:], w.ranking[ORDINARY] = q, v, decision.ordinary_rank
    constrained_terms(*w.arguments)
    correct_velocity(*w.arguments)  # where closures move with time
    constrained_terms(*w.arguments)
    vdot = np.zeros(mechanism.nv)
    least_motion(*w.arguments, np.zeros(mechanism.nv), vdot)
    return AdmissibleState(q, w.v.copy(), vdot + free, basis)
