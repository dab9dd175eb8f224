"""Load limits of closures as bounds on the choice that redundant motors have.

With F the forces that motors and closures have to give, F = h + M u - friction, and efforts τ the closures
carry A' λ = F - B τ. Efforts Π τ do not move the machine, with Π = 1 - W G' (G W G')⁻¹ G
(motor_allocation.py), and change λ alone. Where the load s(λ) of a limit is too large (the norm of its rows,
or a row with a sign), the change of τ that is the smallest in the norm τ' W⁻¹ τ takes it back along its own
direction,

    τ ← τ - (s - most) Π W a / (a' Π W a),     a = ∂s / ∂τ,

limit after limit, until all are kept or a motor is at its own limit. Where efforts have one free direction
that is the least change of them; where they have more, nearly. Rows whose force is wanted (laws/hybrid.py)
count as released: G then has their motions too, and Π τ does not change their force. Loads of constraints
that are about to open are limited to a share of what they would be: they fade before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from linkwork.arrays import Floats, Integers, Matrix
from linkwork.controller.actuation.motor_allocation import motor_map
from linkwork.machine.description import LoadLimit
from linkwork.multibody.dynamics.constrained_dynamics import multipliers_of
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.workspace import Model, Workspace

_STEPS = 200
_NO_CHOICE = 1e-12


class LoadRows(Struct):
    """Load limits: limit i has the rows of `row` before `ends[i]`; the others: see `LoadLimit`."""

    ends: Annotated[Integers, "limits"]
    row: Integers
    side: Annotated[Floats, "limits"]
    most: Annotated[Floats, "limits"]
    scale: Annotated[Floats, "limits"]


class LoadChoice(Struct):
    """Load limits, and scratch of `relieve`.

    free (motors × motors): Π; through: change of the multipliers (rows) for each motor's effort; load: the
    multipliers; size: the loads. share: of limit i, its share of the load that the motors would leave;
    infinite where its `most` holds. room: scratch for nv (nv + 1) numbers.
    """

    limits: LoadRows
    share: Annotated[Floats, "limits"]
    load: Annotated[Floats, "rows"]
    size: Floats
    through: Annotated[Floats, "motors, rows"]
    free: Annotated[Floats, "motors, motors"]
    slope: Annotated[Floats, "motors"]
    change: Annotated[Floats, "motors"]
    effort: Annotated[Floats, "motors"]
    map: Annotated[Floats, "motors, nv"]
    room: Floats


def rows_of(limits: Sequence[LoadLimit], *, kept: bool = False) -> LoadRows:
    """Return the limits for kernels; kept: those that motors keep."""
    return LoadRows(
        {"limits": len(limits)},
        ends=np.cumsum([len(limit.rows) for limit in limits]).astype(np.int64),
        row=np.array([row for limit in limits for row in limit.rows], np.int64),
        side=np.array([float(limit.side) for limit in limits]),
        most=np.array([limit.kept if kept else limit.most for limit in limits]),
        scale=np.array([limit.scale for limit in limits]),
    )  # fmt: skip


def choice_for(limits: Sequence[LoadLimit], motors: int, rows: int, nv: int) -> LoadChoice:
    """Return the arguments of `relieve` for a machine's limits, number of motors, of rows, and velocities."""
    return LoadChoice(
        {"rows": rows, "motors": motors, "nv": nv, "limits": len(limits)},
        limits=rows_of(limits, kept=True), share=np.full(len(limits), np.inf),
        size=np.zeros(len(limits)), room=np.zeros(nv * (nv + 1)),
    )  # fmt: skip


@kernel
def farthest_beyond(limits: LoadRows, multipliers: Floats, size: Floats) -> int:
    """Write the loads to `size` (limits) for all multipliers; return the limit most exceeded, -1 for none."""
    worst, beyond, at = -1, 0.0, 0
    for i in range(len(limits.ends)):
        square = 0.0
        while at < limits.ends[i]:
            value = multipliers[limits.row[at]]
            square += value * value
            at += 1
        size[i] = np.sqrt(square)
        if limits.side[i] != 0.0:
            size[i] = limits.side[i] * multipliers[limits.row[at - 1]]
        share = (size[i] - limits.most[i]) / limits.scale[i]
        if share > beyond:
            worst, beyond = i, share
    return worst


@part
def _slopes(given: LoadChoice, i: int) -> None:
    """slope (motors) := change of the load of limit i for each motor's effort."""
    limits, size = given.limits, given.size[i]
    fill(given.slope, 0.0)
    for at in range(limits.ends[i - 1] if i > 0 else 0, limits.ends[i]):
        row = limits.row[at]
        factor = limits.side[i] if limits.side[i] != 0.0 else given.load[row] / size
        for j in range(len(given.slope)):
            given.slope[j] += factor * given.through[j, row]


@kernel
def relieve(given: LoadChoice, weight: Floats, most: Floats) -> None:
    """Change `effort` (motors) and `load` until all limits are kept, as far as motors can.

    `load`, `through`, `free` and `effort` are set; weight (motors): W's diagonal; most (motors): limits.
    """
    motors = len(given.effort)
    for _ in range(_STEPS):
        worst = farthest_beyond(given.limits, given.load, given.size)
        if worst < 0:
            return
        _slopes(given, worst)
        rise, largest = 0.0, 0.0
        for j in range(motors):
            given.change[j] = 0.0
            for c in range(motors):
                given.change[j] += given.free[j, c] * weight[c] * given.slope[c]
            rise += given.slope[j] * given.change[j]
            largest += given.slope[j] * weight[j] * given.slope[j]
        if not rise > _NO_CHOICE * largest:
            return
        step = (given.limits.most[worst] - given.size[worst]) / rise
        for j in range(motors):
            room = most[j] - given.effort[j] if step * given.change[j] > 0.0 else most[j] + given.effort[j]
            if abs(step * given.change[j]) > max(room, 0.0):
                step *= max(room, 0.0) / abs(step * given.change[j])
        if step == 0.0:
            return
        for j in range(motors):
            given.effort[j] += step * given.change[j]
            for r in range(len(given.load)):
                given.load[r] += step * given.change[j] * given.through[j, r]


@kernel
def relieve_loads(
    m: Model, w: Workspace, basis: Matrix, needed: Floats, motor: Integers, weight: Floats, most: Floats,
    given: LoadChoice, force: Floats,
) -> None:  # fmt: skip
    """Change the motors' forces in `force` (nv) by `relieve`.

    basis (free × nv): the motions that motors must not change; needed (nv): F.
    """
    motors, free = len(motor), basis.shape[0]
    for c in range(m.nv):
        w.constraint_force[c] = needed[c] - force[c]
    multipliers_of(m, w)
    copy(w.multipliers, given.load)
    farthest_beyond(given.limits, given.load, given.size)
    for i in range(len(given.share)):
        if given.share[i] < 1.0:
            given.limits.most[i] = given.share[i] * given.size[i]
            given.limits.scale[i] = max(given.size[i], _NO_CHOICE)
    if farthest_beyond(given.limits, given.load, given.size) < 0:
        return
    square, share = given.room[: m.nv * m.nv], given.room[m.nv * m.nv :]
    motor_map(basis, motor, weight, square, share[:free], given.map)
    for j in range(motors):
        given.effort[j] = force[motor[j]]
        for c in range(motors):
            given.free[j, c] = (1.0 if c == j else 0.0) - given.map[j, motor[c]]
        fill(w.constraint_force, 0.0)
        w.constraint_force[motor[j]] = -1.0
        multipliers_of(m, w)
        copy(w.multipliers, given.through[j])
    relieve(given, weight, most)
    for j in range(motors):
        force[motor[j]] = given.effort[j]
