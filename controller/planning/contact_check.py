"""Contacts along a walk: the efforts that pressing needs, and how fast a point nears its surface."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.goal_force_part import ForcePart
from linkwork.controller.laws.contact_forces import contact_effort
from linkwork.controller.planning.walk import Walk
from linkwork.machine import Machine
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    MATRIX,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    int64,
    kernel,
    void,
)
from linkwork.multibody.kernels.layout import NV, J, Q, V
from linkwork.multibody.kernels.views import matrix, vector
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.kinematics import kinematics


@kernel(
    void(PARAMETERS, TOPOLOGY, BUFFER, MATRIX, MATRIX, int64, int64, VECTOR, MATRIX, VECTOR), allocates=True
)  # fmt: skip
def touch_samples(
    p: Floats, t: NDArray[np.int64], w: Floats, poses: Floats, rates: Floats, contact: int, gap: int,
    force: Floats, efforts: Floats, approach: Floats,
) -> None:  # fmt: skip
    """Write joint forces and rates of a pressing contact at n samples of joints (n × nq), rates (n × nv).

    With `force` (n, N); it is added to `efforts` (n × nv). `approach` (n): how fast the gap changes (m/s).
    """
    nv, q, v, jacobian = t[NV], vector(t, w, Q), vector(t, w, V), matrix(t, w, J, t[NV])
    back = np.empty(nv)
    for n in range(len(force)):
        for i in range(len(q)):
            q[i] = poses[n, i]
        for i in range(nv):
            v[i], back[i] = rates[n, i], 0.0
        kinematics(p, t, w)
        coordinates(p, t, w)
        approach[n] = 0.0
        for i in range(nv):
            approach[n] += jacobian[gap, i] * v[i]
        contact_effort(p, t, w, contact, force[n], v, back)
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
