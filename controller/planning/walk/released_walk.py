"""A walk with wanted constraint forces: the efforts that leave the rows exactly these forces.

As in `laws.hybrid`: the rows are released, and the force that they carry, A'λ, is one more force
on the joints. The least efforts of the motors are then the only choice.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linkwork.controller.exchange.goal_force_part import ForcePart
from linkwork.controller.laws.hybrid import opened_basis
from linkwork.controller.planning.walk.walk import Walk
from linkwork.machine import Machine
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.tree.kinematics import kinematics


def opened(machine: Machine, walk: Walk, part: ForcePart) -> Walk:
    """The walk with the rows of the goal's constraint forces opened; the walk itself where it wants none."""
    wanted = [
        (machine.force_rows[index], np.interp(walk.s, part.times_s, part.values[number]))
        for number, index in enumerate(part.rows.tolist())
        if machine.force_rows[index].kind == "constraint"
    ]
    if not wanted:
        return walk
    rows = [row for row, _ in wanted]
    joints = [motor.index for motor in machine.motors]
    weight = machine.effort_weights
    work, whole = machine.workspace(), machine.workspace()
    on = work.on.copy()
    rest, maps = walk.rest.copy(), np.zeros((len(walk.s), len(joints), len(walk.q1[0])))
    for n, q in enumerate(walk.q):
        whole.q[:], whole.v[:] = q, 0.0
        kinematics(*whole.arguments)
        constraint_rows(*whole.arguments)
        for row, force in wanted:
            rest[n] -= whole.A[row.row] * force[n]
        work.q[:], work.v[:] = q, walk.q1[n]
        basis = opened_basis(work, on, rows)
        lever = basis[:, joints] * weight
        held = lever @ basis[:, joints].T
        maps[n] = lever.T @ np.linalg.pinv(held, hermitian=True) @ basis
    return replace(walk, rest=rest, motors=maps, determined=True)
