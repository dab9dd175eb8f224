"""Load limits of closures as bounds on the choice that redundant motors have.

With efforts τ the closures carry A' λ = h + M u - friction - B τ. Efforts Π τ do not move the machine, with
Π = 1 - W G' (G W G')⁻¹ G (motor_allocation.py), and change λ alone. Where |λ| of a limit's rows is too large,
the change of τ that is the smallest in the norm τ' W⁻¹ τ takes it back along its own direction,

    τ ← τ - (|λ| - most) Π W a / (a' Π W a),     a = ∂|λ| / ∂τ,

limit after limit, until all are kept or a motor is at its own limit. Where efforts have one free direction
that is the least change of them; where they have more, nearly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.controller.actuation.motor_allocation import motor_map
from linkwork.machine.description import LoadLimit
from linkwork.multibody.dynamics.constrained_dynamics import multipliers_of
from linkwork.multibody.dynamics.tree_dynamics import mass_times
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.layout import RANK
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.workspace import Model, Workspace

KEPT = 0.995
"""Share of a limit up to which loads are taken back."""
_STEPS = 200
_NO_CHOICE = 1e-12


class LoadChoice(Struct):
    """Load limits, and scratch of `relieve`: limit i has the rows of `row` before `ends[i]`.

    free (motors × motors): Π; through: change of the multipliers (rows) for each motor's effort; load: the
    multipliers.
    """

    ends: Annotated[Integers, "limits"]
    row: Integers
    most: Annotated[Floats, "limits"]
    load: Annotated[Floats, "rows"]
    through: Annotated[Floats, "motors, rows"]
    free: Annotated[Floats, "motors, motors"]
    slope: Annotated[Floats, "motors"]
    change: Annotated[Floats, "motors"]
    effort: Annotated[Floats, "motors"]
    map: Annotated[Floats, "motors, nv"]
    room: Floats


def choice_for(limits: Sequence[LoadLimit], motors: int, rows: int, nv: int) -> LoadChoice:
    """Return the arguments of `relieve` for a machine's limits, number of motors, of rows, and velocities."""
    ends = np.cumsum([len(limit.rows) for limit in limits]).astype(np.int64)
    return LoadChoice(
        {"limits": len(limits), "rows": rows, "motors": motors, "nv": nv},
        ends=ends, row=np.array([row for limit in limits for row in limit.rows], np.int64),
        most=KEPT * np.array([limit.most for limit in limits]), room=np.zeros(nv * (nv + 2)),
    )  # fmt: skip


@part
def _beyond(given: LoadChoice) -> int:
    """Return the limit that the load exceeds most, relative to it; -1: none."""
    worst, beyond, at = -1, 1.0, 0
    for i in range(len(given.ends)):
        square = 0.0
        while at < given.ends[i]:
            square += given.load[given.row[at]] * given.load[given.row[at]]
            at += 1
        share = np.sqrt(square) / given.most[i]
        if share > beyond:
            worst, beyond = i, share
    return worst


@kernel
def relieve(given: LoadChoice, weight: Floats, most: Floats) -> None:
    """Change `effort` (motors) and `load` until all limits are kept, as far as motors can.

    `load`, `through`, `free` and `effort` are set; weight (motors): W's diagonal; most (motors): limits.
    """
    motors = len(given.effort)
    for _ in range(_STEPS):
        worst = _beyond(given)
        if worst < 0:
            return
        first, last = given.ends[worst - 1] if worst > 0 else 0, given.ends[worst]
        square = 0.0
        for at in range(first, last):
            square += given.load[given.row[at]] * given.load[given.row[at]]
        size = np.sqrt(square)
        for j in range(motors):
            given.slope[j] = 0.0
            for at in range(first, last):
                given.slope[j] += given.load[given.row[at]] / size * given.through[j, given.row[at]]
        rise, largest = 0.0, 0.0
        for j in range(motors):
            given.change[j] = 0.0
            for c in range(motors):
                given.change[j] += given.free[j, c] * weight[c] * given.slope[c]
            rise += given.slope[j] * given.change[j]
            largest += given.slope[j] * weight[j] * given.slope[j]
        if not rise > _NO_CHOICE * largest:
            return
        step = (given.most[worst] - size) / rise
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
    m: Model, w: Workspace, u: Floats, motor: Integers, weight: Floats, most: Floats, given: LoadChoice,
    force: Floats,
) -> None:  # fmt: skip
    """After `drive` for the acceleration u (nv): change the motors' forces in `force` (nv) by `relieve`."""
    motors, free = len(motor), m.nv - int(w.ranking[RANK])
    mass_times(m, w, u, w.constraint_force)
    for c in range(m.nv):
        w.constraint_force[c] += w.h[c] - w.friction[c] - force[c]
    multipliers_of(m, w)
    copy(w.multipliers, given.load)
    if _beyond(given) < 0:
        return
    square, share = given.room[: m.nv * m.nv], given.room[m.nv * m.nv :]
    motor_map(w.basis[:free], motor, weight, square, share[:free], given.map)
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
