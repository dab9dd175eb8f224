"""Poses and twists of all links, for trees of elementary screws.

Every joint turns its link about, and moves it along, the z axis of its frame in fixed proportion: the
elementary joint of Kwatny & Blankenship 1995 with the unit twist (turn z; travel z). Link frames are chosen
so that the axis is z. A ball is three links: the first takes its pose from a quaternion, the others are axes
of the turned body (link_tree.py). Twists are (angular; linear), in world axes. The linear part is the
velocity of the link's material at one common reference point, the first link's origin where it is at this
instant. So twists add up without any transformation.
"""

import math

from linkwork.arrays import Floats, Matrix
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.kernels.views import fill, fill_matrix
from linkwork.multibody.linalg.vectors import add, combine, cross, load, store, subtract, times
from linkwork.multibody.tree.link_tree import SCREW
from linkwork.multibody.tree.rotations import turned
from linkwork.multibody.workspace import Model, Workspace


@kernel
def kinematics(m: Model, w: Workspace) -> None:
    """From q and v: pose, twist and its rate for v̇ = 0, of every link; then the same for every point."""

    for i in range(m.n_links):
        parent = m.parent[i]
        x, y, z = load(m.fixed_axes, 3 * i), load(m.fixed_axes, 3 * i + 1), load(m.fixed_axes, 3 * i + 2)
        o = load(m.fixed_origin, i)
        w_p = u_p = wd_p = ud_p = (0.0, 0.0, 0.0)
        if parent >= 0:
            px, py, pz = load(w.axes, 3 * parent), load(w.axes, 3 * parent + 1), load(w.axes, 3 * parent + 2)
            x, y, z = combine(px, py, pz, x), combine(px, py, pz, y), combine(px, py, pz, z)
            o = add(load(w.origin, parent), combine(px, py, pz, o))
            w_p, u_p = load(w.angular, parent), load(w.linear, parent)
            wd_p, ud_p = load(w.angular_bias, parent), load(w.linear_bias, parent)

        k, scalar = m.in_q[i], m.scalar[i]
        if scalar == SCREW:
            e = w.q[k]
            if m.turn[i] != 0.0:
                c, s = math.cos(m.turn[i] * e), math.sin(m.turn[i] * e)
                x, y = add(times(c, x), times(s, y)), subtract(times(c, y), times(s, x))
            o = add(o, times(m.travel[i] * e, z))
        elif scalar >= 0:
            x, y, z = turned(x, y, z, w.q[scalar], (w.q[k], w.q[k + 1], w.q[k + 2]))
        if i == 0:
            store(w.reference, 0, o)

        s_w = times(m.turn[i], z)
        s_u = add(times(m.travel[i], z), cross(subtract(o, load(w.reference, 0)), s_w))
        rate = w.v[m.in_v[i]]
        store(w.angular, i, add(w_p, times(rate, s_w)))
        store(w.linear, i, add(u_p, times(rate, s_u)))
        if m.base[i] != parent:
            w_p = u_p = (0.0, 0.0, 0.0)
            if m.base[i] >= 0:
                w_p, u_p = load(w.angular, m.base[i]), load(w.linear, m.base[i])
        # V_i = V_p + S v,  its rate for v̇ = 0: V̇_i = V̇_p + V_b × S v, b: what carries the axis
        store(w.angular_bias, i, add(wd_p, times(rate, cross(w_p, s_w))))
        store(w.linear_bias, i, add(ud_p, times(rate, add(cross(w_p, s_u), cross(u_p, s_w)))))
        store(w.screw_angular, i, s_w)
        store(w.screw_linear, i, s_u)
        store(w.axes, 3 * i, x)
        store(w.axes, 3 * i + 1, y)
        store(w.axes, 3 * i + 2, z)
        store(w.origin, i, o)

    for k in range(m.n_points):
        i = m.point_link[k]
        if i < 0:
            store(w.point_position, k, load(m.point_at, k))
            continue
        x, y, z = load(w.axes, 3 * i), load(w.axes, 3 * i + 1), load(w.axes, 3 * i + 2)
        place = add(load(w.origin, i), combine(x, y, z, load(m.point_at, k)))
        r = subtract(place, load(w.reference, 0))
        speed = add(load(w.linear, i), cross(load(w.angular, i), r))
        store(w.point_position, k, place)
        store(w.point_velocity, k, speed)
        # acceleration of a material point: u̇ + ω̇ × r + ω × ṙ
        turning = add(cross(load(w.angular_bias, i), r), cross(load(w.angular, i), speed))
        store(w.point_bias, k, add(load(w.linear_bias, i), turning))


@kernel
def point_jacobian(m: Model, w: Workspace, point: int, jacobian: Matrix, rate: Floats) -> None:
    """After `kinematics`: Jacobian (6 × nv) of a point's twist (angular; linear) and its rate times v (6).

    The twist of the point's body, taken at the point, is `jacobian` v; its derivative is `jacobian` v̇ +
    `rate`. World axes; rad/s and m/s.
    """
    r = subtract(load(w.point_position, point), load(w.reference, 0))
    fill_matrix(jacobian, 0.0)
    fill(rate, 0.0)
    i = m.point_link[point]
    if i >= 0:
        rate[0], rate[1], rate[2] = load(w.angular_bias, i)
        rate[3], rate[4], rate[5] = load(w.point_bias, point)
    while i >= 0:
        k = m.in_v[i]
        s_w, s_u = load(w.screw_angular, i), load(w.screw_linear, i)
        jacobian[0, k], jacobian[1, k], jacobian[2, k] = s_w
        jacobian[3, k], jacobian[4, k], jacobian[5, k] = add(s_u, cross(s_w, r))
        i = m.parent[i]
