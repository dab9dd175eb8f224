"""Contacts along a walk: the efforts that pressing needs, and how fast a point nears its surface."""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats, Matrix
from linkwork.controller.exchange.goal_force_part import ForcePart
from linkwork.controller.laws.contact_forces import contact_effort
from linkwork.controller.planning.walk.walk import Walk
from linkwork.machine import Machine
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.workspace import Model, Workspace


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
