"""Loads along a sampled path: of closures, where the machine file limits them, and of contacts that press.

The motors supply the component of the forces that moves the machine; the closures carry the rest, F = (forces
on all joints) − (forces of the motors): A' λ = F with the multipliers λ of the rows. Slower by the factor c
it is λ = λ_rest + λ_motion / c². Redundant motors load the closures too; their efforts are those of the loop,
with the file's pre-load, and do not scale this way. Rows whose force is wanted carry that force too.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np

from linkwork.arrays import Flags, Floats, Matrix
from linkwork.controller.actuation.load_relief import choice_for, relieve
from linkwork.controller.exchange.goal_force_part import ForcePart
from linkwork.controller.laws.contact_forces import contact_effort
from linkwork.controller.limit_tolerance import exceeds
from linkwork.controller.planning.checks.effort_check import Efforts, smallest
from linkwork.controller.planning.checks.kinematic_check import LimitCheck
from linkwork.controller.planning.walk.crossing import Crossing
from linkwork.controller.planning.walk.walk import Walk
from linkwork.machine import Machine
from linkwork.machine.description import LoadLimit
from linkwork.multibody.closure.rank import factor
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.constrained_dynamics import multipliers_of
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.workspace import Model, Workspace


def bearing_demands(machine: Machine, walked: Walk, efforts: Efforts) -> Iterator[LimitCheck]:
    """One demand for each load limit; none where the file has no limit."""
    if not machine.load_limits:
        return
    bears = cache((_of_redundant if len(machine.motors) > machine.dof else _of)(machine, walked, efforts))
    for limit in machine.held_limits():
        if math.isfinite(limit.most):
            yield _demand(limit, bears)


Bears = Callable[[float], Floats]
"""n × rows: all multipliers along the walk, at a speed lower by a factor."""


def _of(machine: Machine, walked: Walk, efforts: Efforts) -> Bears:
    """Return the loads without a choice of the motors: the least efforts, which rest and motion share."""
    least = efforts.least
    resting = walked.rest + least.joint_friction() - least.rest - least.friction()
    rest, motion = multipliers_along(
        machine, walked.q, (resting, walked.motion - least.motion), walked.crossings
    )
    return lambda slower: np.asarray(rest + motion / slower**2)


def _of_redundant(machine: Machine, walked: Walk, efforts: Efforts) -> Bears:
    """With the efforts that the loop gives: the motors may strain the closures against each other, and they
    relieve them where a limit would be exceeded.
    """
    nv, motors = machine.mechanism.nv, machine.motors
    index = [motor.index for motor in motors]
    most, weight = np.array([motor.max_effort for motor in motors]), machine.effort_weights
    choice = choice_for(machine.held_limits(), len(motors), len(machine.mechanism.row_names), nv)
    units = [np.tile(row, (len(walked.q), 1)) for row in np.eye(nv)]
    through = np.stack(multipliers_along(machine, walked.q, units, walked.crossings), axis=2)

    def bears(slower: float) -> Floats:
        forces = walked.rest + efforts.least.joint_friction(slower) + walked.motion / slower**2
        forces = forces if walked.carried is None else forces + walked.carried
        given = efforts.given(slower)
        loads = np.einsum("nij,nj->ni", through, forces - given)
        for n in np.flatnonzero(_exceeded(machine, loads)):
            if walked.motors is None:
                break
            choice.load[:], choice.effort[:] = loads[n], given[n, index]
            choice.through[:], choice.free[:] = -through[n][:, index].T, np.eye(len(index))
            choice.free[:] -= walked.motors[n][:, index]
            relieve(choice, weight, most)
            loads[n] = choice.load
        return np.asarray(loads)

    return bears


def _exceeded(machine: Machine, loads: Floats) -> Flags:
    """Return at which of n samples multipliers (n × rows) are beyond what `relieve` leaves them."""
    over = [limit.load(loads) > limit.kept for limit in machine.held_limits()]
    return np.asarray(np.any(over, axis=0))


def _demand(limit: LoadLimit, bears: Bears) -> LimitCheck:
    def loads(slower: float) -> Floats:
        return limit.load(bears(slower))

    here = loads(1.0)
    sample = int(np.argmax(here))
    value, stretch = float(here[sample]), 1.0
    if exceeds(value, limit.most):
        stretch = smallest(lambda slower: not exceeds(loads(slower).max(), limit.most))
    kind, unit = ("bearing force", "N") if limit.is_force else ("bearing torque", "N m")
    used, sign = 1.0 + (value - limit.most) / limit.scale, limit.side or 1
    return LimitCheck(kind, limit.name, unit, sign * value, sign * limit.most, sample, used, stretch)


def multipliers_along(
    machine: Machine, poses: Floats, forces: Sequence[Floats], crossings: Sequence[Crossing] = ()
) -> list[Floats]:
    """For each of the forces (n × nv) the multipliers (n × rows) with A' λ = force, the shortest.

    crossings: changes of the constraints on the way.
    """
    work = machine.workspace()
    found = [np.zeros((len(poses), len(machine.mechanism.row_names))) for _ in forces]
    changes = {crossing.sample: crossing.machine for crossing in crossings}
    for n, q in enumerate(poses):
        if n in changes:
            work = changes[n].workspace()
        work.q[:], work.v[:] = q, 0.0
        kinematics(*work.arguments)
        constraint_rows(*work.arguments)
        factor(*work.arguments)
        for force, multipliers in zip(forces, found, strict=True):
            work.constraint_force[:] = force[n]
            multipliers_of(*work.arguments)
            multipliers[n] = work.multipliers
    return found


@kernel  # fmt: skip
def touch_samples(
    m: Model,
    w: Workspace,
    poses: Matrix,
    rates: Matrix,
    contact: int,
    gap: int,
    force: Floats,
    efforts: Matrix,
    approach: Floats,
) -> None:
    """Write joint forces and rates of a pressing contact at n samples of joints (n × nq), rates (n × nv).

    With `force` (n, N); it is added to `efforts` (n × nv). `approach` (n): how fast the gap changes (m/s).
    """
    nv = m.nv
    back = np.empty(nv)
    for n in range(len(force)):
        for i in range(len(w.q)):
            w.q[i] = poses[n, i]
        for i in range(nv):
            w.v[i], back[i] = rates[n, i], 0.0
        kinematics(m, w)
        coordinates(m, w)
        approach[n] = 0.0
        for i in range(nv):
            approach[n] += w.J[gap, i] * w.v[i]
        contact_effort(m, w, contact, force[n], w.v, back)
        for i in range(nv):
            efforts[n, i] -= back[i]


def touched(machine: Machine, walk: Walk, part: ForcePart) -> tuple[Floats, Floats]:
    """Efforts (n × nv) that a goal's contacts ask for along its walk, and the rate of the first's gap (n).

    A guard's contact asks for none: the motion ends where the contact begins.
    """
    efforts, first = np.zeros_like(walk.rest), np.zeros(len(walk.s))
    work = machine.workspace()
    for number, index in enumerate(part.rows.tolist()):
        row = machine.force_rows[index]
        if row.kind != "contact":
            continue
        force = np.interp(walk.s, part.times_s, part.values[number]) * (index in part.pressed)
        rates = np.zeros(len(walk.s))
        touch_samples(*work.arguments, walk.q, walk.q1, row.index, row.gap, force, efforts, rates)
        if number == 0:
            first = rates
    return efforts, first
