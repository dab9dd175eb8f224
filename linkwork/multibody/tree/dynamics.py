"""Tree dynamics by recursion: M(q) v̇ + h(q, v) = effort + friction + compliant.

h by the recursive Newton-Euler algorithm and M by composite rigid bodies, both in world axes about one
reference point (see `kinematics`), where inertias and wrenches of a subtree simply add up. The equations are
those of Kwatny & Blankenship 1995, section 5, with p = v and without the transformations from link to link.
"""

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.contact.compliant_forces import compliant_forces
from linkwork.multibody.forces.element_forces import element_forces
from linkwork.multibody.kernels.compiling import ON_MECHANISM, kernel, part
from linkwork.multibody.kernels.layout import (
    ANGULAR,
    ANGULAR_BIAS,
    ARMATURE,
    AXES,
    COM,
    COMPLIANT,
    COMPOSITE_FIRST,
    COMPOSITE_MASS,
    COMPOSITE_SECOND,
    COULOMB,
    COULOMB_SPEED,
    DAMPERS,
    EFFORT,
    ELEMENTS,
    ENERGY,
    FACTOR,
    FORCE,
    FRICTION,
    GRAVITY,
    INERTIA,
    LINEAR,
    LINEAR_BIAS,
    LINKS,
    LOSSES,
    MASS,
    MOMENT,
    N_LINKS,
    NV,
    ORIGIN,
    REFERENCE,
    SCREW_ANGULAR,
    SCREW_LINEAR,
    SLIPPING,
    STUCK_COUNT,
    TOUCHING,
    VDOT,
    VISCOUS,
    H,
    M,
    V,
)
from linkwork.multibody.kernels.views import matrix, table, vector
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
from linkwork.multibody.steps.sticking import accelerate_others
from linkwork.multibody.tree.kinematics import kinematics


@part
def _second_moment(
    x: Vector, y: Vector, z: Vector, inertia: Floats, i: int, mass: float, c: Vector, out: Floats
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


@kernel(ON_MECHANISM)
def dynamics(p: Floats, t: Integers, w: Floats) -> None:
    """From q and v: `kinematics`, then M, h, friction, and the forces of stops and contacts.

    h contains springs and applied forces (forces/element_forces.py). Of M only entries of links that carry
    one another are written; all others stay 0.
    """
    kinematics(p, t, w)
    links = table(t, LINKS, 3)
    gravity = load(matrix(t, p, GRAVITY, 3), 0)
    own_mass, com, inertia = vector(t, p, MASS), matrix(t, p, COM, 3), matrix(t, p, INERTIA, 6)
    axes, origin, reference = (
        matrix(t, w, AXES, 3),
        matrix(t, w, ORIGIN, 3),
        load(matrix(t, w, REFERENCE, 3), 0),
    )
    angular, linear = matrix(t, w, ANGULAR, 3), matrix(t, w, LINEAR, 3)
    angular_bias, linear_bias = matrix(t, w, ANGULAR_BIAS, 3), matrix(t, w, LINEAR_BIAS, 3)
    moment, force = matrix(t, w, MOMENT, 3), matrix(t, w, FORCE, 3)
    mass, first, second = (
        vector(t, w, COMPOSITE_MASS),
        matrix(t, w, COMPOSITE_FIRST, 3),
        matrix(t, w, COMPOSITE_SECOND, 6),
    )

    for i in range(t[N_LINKS]):
        x, y, z = load(axes, 3 * i), load(axes, 3 * i + 1), load(axes, 3 * i + 2)
        m = own_mass[i]
        c = subtract(add(load(origin, i), combine(x, y, z, load(com, i))), reference)
        mc = times(m, c)
        _second_moment(x, y, z, inertia, i, m, c, second)
        mass[i] = m
        store(first, i, mc)

        # wrench = I V̇ + V ×* (I V), gravity as an acceleration of the world
        w_i, u_i = load(angular, i), load(linear, i)
        wd, ud = load(angular_bias, i), subtract(load(linear_bias, i), gravity)
        momentum = add(times(m, u_i), cross(w_i, mc))
        spin = add(apply(second, i, w_i), cross(mc, u_i))
        store(force, i, add(add(times(m, ud), cross(wd, mc)), cross(w_i, momentum)))
        turning = add(apply(second, i, wd), cross(mc, ud))
        store(moment, i, add(turning, add(cross(w_i, spin), cross(u_i, momentum))))

    mass_matrix, h = matrix(t, w, M, t[NV]), vector(t, w, H)
    screw_angular, screw_linear = matrix(t, w, SCREW_ANGULAR, 3), matrix(t, w, SCREW_LINEAR, 3)
    for i in range(t[N_LINKS] - 1, -1, -1):
        parent, k = links[i, 0], links[i, 2]
        s_w, s_u = load(screw_angular, i), load(screw_linear, i)
        # h_k = S_k' (sum of the wrenches carried);  M_jk = S_j' I_k S_k, with I_k the composite inertia
        h[k] = dot(s_w, load(moment, i)) + dot(s_u, load(force, i))
        f = add(times(mass[i], s_u), cross(s_w, load(first, i)))
        n = add(apply(second, i, s_w), cross(load(first, i), s_u))
        mass_matrix[k, k] = dot(s_w, n) + dot(s_u, f)
        a = parent
        while a >= 0:
            j = links[a, 2]
            mass_matrix[j, k] = dot(load(screw_angular, a), n) + dot(load(screw_linear, a), f)
            mass_matrix[k, j] = mass_matrix[j, k]
            a = links[a, 0]
        if parent >= 0:
            increase(moment, parent, load(moment, i))
            increase(force, parent, load(force, i))
            mass[parent] += mass[i]
            increase(first, parent, load(first, i))
            for b in range(6):
                second[parent, b] += second[i, b]

    v, friction = vector(t, w, V), vector(t, w, FRICTION)
    armature, viscous = vector(t, p, ARMATURE), vector(t, p, VISCOUS)
    coulomb, coulomb_speed = vector(t, p, COULOMB), vector(t, p, COULOMB_SPEED)
    dampers, slipping = vector(t, w, DAMPERS), vector(t, w, SLIPPING)
    losses = vector(t, w, LOSSES)
    losses[0] = losses[1] = 0.0
    for k in range(t[NV]):
        mass_matrix[k, k] += armature[k]
        friction[k] = -(viscous[k] + dampers[k]) * v[k]
        if slipping[k] != 0.0:
            friction[k] += slipping[k]
        if coulomb[k] != 0.0:
            friction[k] -= coulomb[k] * math.tanh(v[k] / coulomb_speed[k])
        losses[0] -= friction[k] * v[k]
    if t[ELEMENTS + 1] > t[ELEMENTS]:
        element_forces(p, t, w)
    if t[TOUCHING + 1] > t[TOUCHING]:
        compliant_forces(p, t, w)


@part
def mass_times(t: Integers, w: Floats, x: Floats, y: Floats) -> None:
    """y := M x, for x and y (nv), by the entries of links that carry one another."""
    links, mass_matrix = table(t, LINKS, 3), matrix(t, w, M, t[NV])
    for i in range(t[N_LINKS]):
        k, a = links[i, 2], links[i, 0]
        total = mass_matrix[k, k] * x[k]
        while a >= 0:
            j = links[a, 2]
            total += mass_matrix[k, j] * x[j]
            y[j] += mass_matrix[k, j] * x[k]
            a = links[a, 0]
        y[k] = total


@kernel(ON_MECHANISM)
def factor_mass(p: Floats, t: Integers, w: Floats) -> None:  # noqa: ARG001  the arguments of every kernel
    """After `dynamics`: `FACTOR` := L with M = L'L, in the entries of links that carry one another.

    No others appear, so that the cost grows with the depth of the tree (Featherstone 2005, Efficient
    factorization of the joint-space inertia matrix for branched kinematic trees). Where M is singular, L is
    not a number.
    """
    links, mass, root = table(t, LINKS, 3), matrix(t, w, M, t[NV]), matrix(t, w, FACTOR, t[NV])
    for i in range(t[N_LINKS]):
        k, a = links[i, 2], i
        while a >= 0:
            root[k, links[a, 2]] = mass[k, links[a, 2]]
            a = links[a, 0]
    for i in range(t[N_LINKS] - 1, -1, -1):
        k = links[i, 2]
        pivot = math.sqrt(root[k, k]) if root[k, k] > 0.0 else math.nan
        root[k, k] = pivot
        a = links[i, 0]
        while a >= 0:
            root[k, links[a, 2]] /= pivot
            a = links[a, 0]
        a = links[i, 0]
        while a >= 0:
            j, b = links[a, 2], a
            share = root[k, j]
            while b >= 0:
                root[j, links[b, 2]] -= share * root[k, links[b, 2]]
                b = links[b, 0]
            a = links[a, 0]


@part
def solve_mass_root(t: Integers, w: Floats, x: Floats) -> None:
    """After `factor_mass`: solve L'x = b in place; x (nv) holds b on entry. Then x'x = b'M⁻¹b."""
    links, root = table(t, LINKS, 3), matrix(t, w, FACTOR, t[NV])
    for i in range(t[N_LINKS] - 1, -1, -1):
        k, a = links[i, 2], links[i, 0]
        x[k] /= root[k, k]
        while a >= 0:
            x[links[a, 2]] -= root[k, links[a, 2]] * x[k]
            a = links[a, 0]


@part
def solve_mass(t: Integers, w: Floats, x: Floats) -> None:
    """After `factor_mass`: solve M x = b in place; x (nv) holds b on entry."""
    solve_mass_root(t, w, x)
    links, root = table(t, LINKS, 3), matrix(t, w, FACTOR, t[NV])
    for i in range(t[N_LINKS]):
        k, a = links[i, 2], links[i, 0]
        while a >= 0:
            x[k] -= root[k, links[a, 2]] * x[links[a, 2]]
            a = links[a, 0]
        x[k] /= root[k, k]


@kernel(ON_MECHANISM)
def forward_dynamics(p: Floats, t: Integers, w: Floats) -> None:
    """`dynamics`, then v̇ = M⁻¹ (effort + friction + compliant - h); NaN where M is singular.

    Stuck velocities are held (sticking.py).
    """
    dynamics(p, t, w)
    effort, friction, h = vector(t, w, EFFORT), vector(t, w, FRICTION), vector(t, w, H)
    compliant, vdot = vector(t, w, COMPLIANT), vector(t, w, VDOT)
    for k in range(t[NV]):
        vdot[k] = effort[k] + friction[k] + compliant[k] - h[k]
    if vector(t, w, STUCK_COUNT)[0] > 0.0:
        accelerate_others(p, t, w)
        return
    factor_mass(p, t, w)
    solve_mass(t, w, vdot)


@kernel(ON_MECHANISM)
def energy(p: Floats, t: Integers, w: Floats) -> None:
    """After `dynamics`: kinetic energy v' M v / 2 (with armature), and potential -Σ m g'c + springs (J)."""
    v, mass_matrix, result = vector(t, w, V), matrix(t, w, M, t[NV]), vector(t, w, ENERGY)
    gravity, own_mass, com = load(matrix(t, p, GRAVITY, 3), 0), vector(t, p, MASS), matrix(t, p, COM, 3)
    axes, origin = matrix(t, w, AXES, 3), matrix(t, w, ORIGIN, 3)
    kinetic = 0.0
    links = table(t, LINKS, 3)
    for i in range(t[N_LINKS]):
        k, a = links[i, 2], links[i, 0]
        share = 0.5 * mass_matrix[k, k] * v[k]
        while a >= 0:
            share += mass_matrix[k, links[a, 2]] * v[links[a, 2]]
            a = links[a, 0]
        kinetic += share * v[k]
    potential = vector(t, w, LOSSES)[1]
    for i in range(t[N_LINKS]):
        x, y, z = load(axes, 3 * i), load(axes, 3 * i + 1), load(axes, 3 * i + 2)
        potential -= own_mass[i] * dot(gravity, add(load(origin, i), combine(x, y, z, load(com, i))))
    result[0], result[1] = kinetic, potential
