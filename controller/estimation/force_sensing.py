"""Forces of contacts: as a sensor gives them, and as the model finds them from efforts and motion."""

from __future__ import annotations

from linkwork.arrays import Floats, Integers, Matrix
from linkwork.controller.laws.contact_forces import contact_effort
from linkwork.multibody.contact.surfaces import surface_at
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.kernels.views import fill
from linkwork.multibody.linalg.linear import cholesky, cholesky_solve
from linkwork.multibody.linalg.vectors import combine, dot, load
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.workspace import Model, Workspace


@kernel
def along_normal(m: Model, w: Workspace, contact: int, in_body: bool, reading: Floats) -> float:
    """After `kinematics`: the part of a force (3, N) along the normal of a contact's surface.

    The force is given along the world's axes or, with `in_body`, along those of the point's body.
    """
    force = (reading[0], reading[1], reading[2])
    point = m.contact_point[contact]
    place = load(w.point_position, point)
    _, normal = surface_at(m.surfaces, contact, place)
    link = m.point_link[point]
    if in_body and link >= 0:
        x, y, z = load(w.axes, 3 * link), load(w.axes, 3 * link + 1), load(w.axes, 3 * link + 2)
        a, b, c = (
            load(m.point_axes, 3 * point),
            load(m.point_axes, 3 * point + 1),
            load(m.point_axes, 3 * point + 2),
        )
        force = combine(combine(x, y, z, a), combine(x, y, z, b), combine(x, y, z, c), force)
    return dot(normal, force)


@kernel  # fmt: skip
def felt_by_model(
    m: Model,
    w: Workspace,
    q0: Floats,
    v0: Floats,
    q1: Floats,
    v1: Floats,
    dt: float,
    motor: Integers,
    effort: Floats,
    contact: int,
    gap: int,
    left: Floats,
    one: Floats,
    row: Floats,
    root: Matrix,
) -> float:
    """The normal force (N) of a contact over a period dt from (q0, v0) to (q1, v1) under these efforts.

    The residual force beyond efforts and friction, r = M Δv/dt + h - friction - effort at the middle of
    the period, is the contact's λ D: D is its generalized force for 1 N with the friction of the present
    slip, and λ = N M⁻¹ r / (N M⁻¹ D) with the gap's Jacobian N. w: a separate workspace; the vectors (nv)
    and root (nv × nv) are scratch.
    """
    nv = m.nv
    for i in range(len(w.q)):
        w.q[i] = 0.5 * (q0[i] + q1[i])
    for i in range(nv):
        w.v[i] = 0.5 * (v0[i] + v1[i])
    dynamics(m, w)
    coordinates(m, w)
    for i in range(nv):
        left[i] = w.h[i] - w.friction[i]
        for j in range(nv):
            left[i] += w.M[i, j] * (v1[j] - v0[j]) / dt
        row[i] = w.J[gap, i]
    for j in range(len(motor)):
        left[motor[j]] -= effort[j]
    fill(one, 0.0)
    contact_effort(m, w, contact, 1.0, w.v, one)
    cholesky(w.M, root)
    cholesky_solve(root, row)
    felt = scale = 0.0
    for i in range(nv):
        felt += row[i] * left[i]
        scale += row[i] * one[i]
    return felt / scale if scale > 0.0 else 0.0
