"""Tree dynamics by recursion: M(q) v̇ + h(q, v) = effort + friction + compliant.

h by the recursive Newton-Euler algorithm and M by composite rigid bodies, both in world axes about one
reference point (see `kinematics`), where inertias and wrenches of a subtree simply add up. The equations are
those of Kwatny & Blankenship 1995, section 5, with p = v and without the transformations from link to link.
"""

import math

from linkwork.arrays import Floats, Matrix
from linkwork.multibody.contact.compliant_forces import compliant_forces
from linkwork.multibody.dynamics.sticking import accelerate_others
from linkwork.multibody.forces.element_forces import element_forces
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.linalg.vectors import (
    Vector,
    add,
    apply,
    combine,
    cross,
    dot,
    increase,
    load,
    store,
    subtract,
    times,
)
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.workspace import Model, Workspace


@part
def _second_moment(
    x: Vector, y: Vector, z: Vector, inertia: Matrix, i: int, mass: float, c: Vector, out: Matrix
) -> None:
    """Row i of `out`: R I R' + m (c'c 1 - c c'), the inertia about a point; c leads from it to the centre."""
    a = combine(x, y, z, apply(inertia, i, (x[0], y[0], z[0])))
    b = combine(x, y, z, apply(inertia, i, (x[1], y[1], z[1])))
    d = combine(x, y, z, apply(inertia, i, (x[2], y[2], z[2])))
    out[i, 0] = a[0] + mass * (c[1] * c[1] + c[2] * c[2])
    out[i, 1] = a[1] - mass * c[0] * c[1]
    out[i, 2] = a[2] - mass * c[0] * c[2]
    out[i, 3] = b[1] + mass * (c[0] * c[0] + c[2] * c[2])
    out[i, 4] = b[2] - mass * c[1] * c[2]
    out[i, 5] = d[2] + mass * (c[0] * c[0] + c[1] * c[1])


@kernel
def dynamics(m: Model, w: Workspace) -> None:
    """From q and v: `kinematics`, then M, h, friction, and the forces of stops and contacts.

    h contains springs and applied forces (forces/element_forces.py). Of M only entries of links that carry
    one another are written; all others stay 0.
    """
    kinematics(m, w)
    gravity = load(m.gravity, 0)
    reference = load(w.reference, 0)

    for i in range(m.n_links):
        x, y, z = load(w.axes, 3 * i), load(w.axes, 3 * i + 1), load(w.axes, 3 * i + 2)
        own = m.mass[i]
        c = subtract(add(load(w.origin, i), combine(x, y, z, load(m.com, i))), reference)
        mc = times(own, c)
        _second_moment(x, y, z, m.inertia, i, own, c, w.composite_second)
        w.composite_mass[i] = own
        store(w.composite_first, i, mc)

        # wrench = I V̇ + V ×* (I V), gravity as an acceleration of the world
        w_i, u_i = load(w.angular, i), load(w.linear, i)
        wd, ud = load(w.angular_bias, i), subtract(load(w.linear_bias, i), gravity)
        momentum = add(times(own, u_i), cross(w_i, mc))
        spin = add(apply(w.composite_second, i, w_i), cross(mc, u_i))
        store(w.force, i, add(add(times(own, ud), cross(wd, mc)), cross(w_i, momentum)))
        turning = add(apply(w.composite_second, i, wd), cross(mc, ud))
        store(w.moment, i, add(turning, add(cross(w_i, spin), cross(u_i, momentum))))

    for i in range(m.n_links - 1, -1, -1):
        parent, k = m.parent[i], m.in_v[i]
        s_w, s_u = load(w.screw_angular, i), load(w.screw_linear, i)
        # h_k = S_k' (sum of the wrenches carried);  M_jk = S_j' I_k S_k, with I_k the composite inertia
        w.h[k] = dot(s_w, load(w.moment, i)) + dot(s_u, load(w.force, i))
        f = add(times(w.composite_mass[i], s_u), cross(s_w, load(w.composite_first, i)))
        n = add(apply(w.composite_second, i, s_w), cross(load(w.composite_first, i), s_u))
        w.M[k, k] = dot(s_w, n) + dot(s_u, f)
        a = parent
        while a >= 0:
            j = m.in_v[a]
            w.M[j, k] = dot(load(w.screw_angular, a), n) + dot(load(w.screw_linear, a), f)
            w.M[k, j] = w.M[j, k]
            a = m.parent[a]
        if parent >= 0:
            increase(w.moment, parent, load(w.moment, i))
            increase(w.force, parent, load(w.force, i))
            w.composite_mass[parent] += w.composite_mass[i]
            increase(w.composite_first, parent, load(w.composite_first, i))
            for b in range(6):
                w.composite_second[parent, b] += w.composite_second[i, b]

    w.losses[0] = w.losses[1] = 0.0
    for k in range(m.nv):
        w.M[k, k] += m.armature[k]
        w.friction[k] = -(m.viscous[k] + w.dampers[k]) * w.v[k]
        if w.slipping[k] != 0.0:
            w.friction[k] += w.slipping[k]
        if m.coulomb[k] != 0.0:
            w.friction[k] -= m.coulomb[k] * math.tanh(w.v[k] / m.coulomb_speed[k])
        w.losses[0] -= w.friction[k] * w.v[k]
    if m.n_elements > 0:
        element_forces(m, w)
    if m.n_stops + m.n_contacts > 0:
        compliant_forces(m, w)


@part
def mass_times(m: Model, w: Workspace, x: Floats, y: Floats) -> None:
    """y := M x, for x and y (nv), by the entries of links that carry one another."""
    for i in range(m.n_links):
        k, a = m.in_v[i], m.parent[i]
        total = w.M[k, k] * x[k]
        while a >= 0:
            j = m.in_v[a]
            total += w.M[k, j] * x[j]
            y[j] += w.M[k, j] * x[k]
            a = m.parent[a]
        y[k] = total


@kernel
def factor_mass(m: Model, w: Workspace) -> None:
    """After `dynamics`: `factor` := L with M = L'L, in the entries of links that carry one another.

    No others appear, so that the cost grows with the depth of the tree (Featherstone 2005, Efficient
    factorization of the joint-space inertia matrix for branched kinematic trees). Where M is singular, L is
    not a number.
    """
    for i in range(m.n_links):
        k, a = m.in_v[i], i
        while a >= 0:
            w.factor[k, m.in_v[a]] = w.M[k, m.in_v[a]]
            a = m.parent[a]
    for i in range(m.n_links - 1, -1, -1):
        k = m.in_v[i]
        pivot = math.sqrt(w.factor[k, k]) if w.factor[k, k] > 0.0 else math.nan
        w.factor[k, k] = pivot
        a = m.parent[i]
        while a >= 0:
            w.factor[k, m.in_v[a]] /= pivot
            a = m.parent[a]
        a = m.parent[i]
        while a >= 0:
            j, b = m.in_v[a], a
            share = w.factor[k, j]
            while b >= 0:
                w.factor[j, m.in_v[b]] -= share * w.factor[k, m.in_v[b]]
                b = m.parent[b]
            a = m.parent[a]


@part
def solve_mass_root(m: Model, w: Workspace, x: Floats) -> None:
    """After `factor_mass`: solve L'x = b in place; x (nv) holds b on entry. Then x'x = b'M⁻¹b."""
    for i in range(m.n_links - 1, -1, -1):
        k, a = m.in_v[i], m.parent[i]
        x[k] /= w.factor[k, k]
        while a >= 0:
            x[m.in_v[a]] -= w.factor[k, m.in_v[a]] * x[k]
            a = m.parent[a]


@part
def solve_mass(m: Model, w: Workspace, x: Floats) -> None:
    """After `factor_mass`: solve M x = b in place; x (nv) holds b on entry."""
    solve_mass_root(m, w, x)
    for i in range(m.n_links):
        k, a = m.in_v[i], m.parent[i]
        while a >= 0:
            x[k] -= w.factor[k, m.in_v[a]] * x[m.in_v[a]]
            a = m.parent[a]
        x[k] /= w.factor[k, k]


@kernel
def forward_dynamics(m: Model, w: Workspace) -> None:
    """`dynamics`, then v̇ = M⁻¹ (effort + friction + compliant - h); NaN where M is singular.

    Stuck velocities are held (sticking.py).
    """
    dynamics(m, w)
    for k in range(m.nv):
        w.vdot[k] = w.effort[k] + w.friction[k] + w.compliant[k] - w.h[k]
    if w.stuck_count[0] > 0.0:
        accelerate_others(m, w)
        return
    factor_mass(m, w)
    solve_mass(m, w, w.vdot)


@kernel
def energy(m: Model, w: Workspace) -> None:
    """After `dynamics`: kinetic energy v' M v / 2 (with armature), and potential -Σ m g'c + springs (J)."""
    gravity = load(m.gravity, 0)
    kinetic = 0.0
    for i in range(m.n_links):
        k, a = m.in_v[i], m.parent[i]
        share = 0.5 * w.M[k, k] * w.v[k]
        while a >= 0:
            share += w.M[k, m.in_v[a]] * w.v[m.in_v[a]]
            a = m.parent[a]
        kinetic += share * w.v[k]
    potential = w.losses[1]
    for i in range(m.n_links):
        x, y, z = load(w.axes, 3 * i), load(w.axes, 3 * i + 1), load(w.axes, 3 * i + 2)
        potential -= m.mass[i] * dot(gravity, add(load(w.origin, i), combine(x, y, z, load(m.com, i))))
    w.energy[0], w.energy[1] = kinetic, potential
