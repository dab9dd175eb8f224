"""Forces of contacts: as a sensor gives them, and as the model finds them from efforts and motion."""

from __future__ import annotations

from linkwork.arrays import Floats, Integers
from linkwork.controller.laws.contact_forces import contact_effort
from linkwork.multibody.contact.surfaces import surface_at
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    INTEGERS,
    MATRIX,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    boolean,
    float64,
    int64,
    kernel,
)
from linkwork.multibody.kernels.layout import (
    AXES,
    CONTACTS,
    FRICTION,
    NV,
    POINT_AXES,
    POINT_POSITION,
    POINTS,
    SURFACES,
    H,
    J,
    M,
    Q,
    V,
)
from linkwork.multibody.kernels.views import fill, matrix, table, vector
from linkwork.multibody.linalg.linear import cholesky, cholesky_solve
from linkwork.multibody.linalg.vectors import combine, dot, load
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.dynamics import dynamics


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER, int64, boolean, VECTOR))
def along_normal(p: Floats, t: Integers, w: Floats, contact: int, in_body: bool, reading: Floats) -> float:
    """After `kinematics`: the part of a force (3, N) along the normal of a contact's surface.

    The force is given along the world's axes or, with `in_body`, along those of the point's body.
    """
    force = (reading[0], reading[1], reading[2])
    point = table(t, CONTACTS, 1)[contact, 0]
    place = load(matrix(t, w, POINT_POSITION, 3), point)
    _, normal = surface_at(matrix(t, p, SURFACES, 7), contact, place)
    link = table(t, POINTS, 1)[point, 0]
    if in_body and link >= 0:
        own, axes = matrix(t, p, POINT_AXES, 3), matrix(t, w, AXES, 3)
        x, y, z = load(axes, 3 * link), load(axes, 3 * link + 1), load(axes, 3 * link + 2)
        a, b, c = load(own, 3 * point), load(own, 3 * point + 1), load(own, 3 * point + 2)
        force = combine(combine(x, y, z, a), combine(x, y, z, b), combine(x, y, z, c), force)
    return dot(normal, force)


@kernel(
    float64(
        PARAMETERS, TOPOLOGY, BUFFER, VECTOR, VECTOR, VECTOR, VECTOR, float64, INTEGERS, VECTOR, int64, int64,
        VECTOR, VECTOR, VECTOR, MATRIX,
    )
)  # fmt: skip
def felt_by_model(
    p: Floats, t: Integers, w: Floats, q0: Floats, v0: Floats, q1: Floats, v1: Floats, dt: float,
    motor: Integers, effort: Floats, contact: int, gap: int,
    left: Floats, one: Floats, row: Floats, root: Floats,
) -> float:  # fmt: skip
    """The normal force (N) of a contact over a period dt from (q0, v0) to (q1, v1) under these efforts.

    The residual force beyond efforts and friction, r = M Δv/dt + h - friction - effort at the middle of
    the period, is the contact's λ D: D is its generalized force for 1 N with the friction of the present
    slip, and λ = N M⁻¹ r / (N M⁻¹ D) with the gap's Jacobian N. w: a separate workspace; the vectors (nv)
    and root (nv × nv) are scratch.
    """
    nv = t[NV]
    q, v = vector(t, w, Q), vector(t, w, V)
    for i in range(len(q)):
        q[i] = 0.5 * (q0[i] + q1[i])
    for i in range(nv):
        v[i] = 0.5 * (v0[i] + v1[i])
    dynamics(p, t, w)
    coordinates(p, t, w)
    mass, h, friction, jacobian = (
        matrix(t, w, M, nv), vector(t, w, H), vector(t, w, FRICTION), matrix(t, w, J, nv),
    )  # fmt: skip
    for i in range(nv):
        left[i] = h[i] - friction[i]
        for j in range(nv):
            left[i] += mass[i, j] * (v1[j] - v0[j]) / dt
        row[i] = jacobian[gap, i]
    for m in range(len(motor)):
        left[motor[m]] -= effort[m]
    fill(one, 0.0)
    contact_effort(p, t, w, contact, 1.0, v, one)
    cholesky(mass, root)
    cholesky_solve(root, row)
    felt = scale = 0.0
    for i in range(nv):
        felt += row[i] * left[i]
        scale += row[i] * one[i]
    return felt / scale if scale > 0.0 else 0.0
