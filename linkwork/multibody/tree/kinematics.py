"""Poses and twists of all links, for trees of elementary screws.

Every joint turns its link about, and moves it along, the z axis of its frame in fixed proportion: the
elementary joint of Kwatny & Blankenship 1995 with the unit twist (turn z; travel z). Link frames are chosen
so that the axis is z. A ball is three links: the first takes its pose from a quaternion, the others are axes
of the turned body (tree.py). Twists are (angular; linear), in world axes, and the linear part is the velocity
of the link's material at one common reference point, the first link's origin where it is at this instant. So
twists add up without any transformation.
"""

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    MATRIX,
    ON_MECHANISM,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    int64,
    kernel,
    void,
)
from linkwork.multibody.kernels.layout import (
    ANGULAR,
    ANGULAR_BIAS,
    AXES,
    FIXED_AXES,
    FIXED_ORIGIN,
    LINEAR,
    LINEAR_BIAS,
    LINKS,
    N_LINKS,
    N_POINTS,
    ORIGIN,
    POINT_AT,
    POINT_BIAS,
    POINT_POSITION,
    POINT_VELOCITY,
    POINTS,
    POSES,
    REFERENCE,
    SCREW_ANGULAR,
    SCREW_LINEAR,
    TRAVEL,
    TURN,
    Q,
    V,
)
from linkwork.multibody.kernels.views import fill, fill_matrix, matrix, table, vector
from linkwork.multibody.linalg.vectors import (
    add,
    combine,
    cross,
    load,
    store,
    subtract,
    times,
)
from linkwork.multibody.tree.link_tree import SCREW
from linkwork.multibody.tree.rotations import turned


@kernel(ON_MECHANISM)
def kinematics(p: Floats, t: Integers, w: Floats) -> None:
    """From q and v: pose, twist and its rate for v̇ = 0, of every link; then the same for every point."""
    q, v = vector(t, w, Q), vector(t, w, V)
    links, poses = table(t, LINKS, 3), table(t, POSES, 2)
    fixed_axes, fixed_origin = matrix(t, p, FIXED_AXES, 3), matrix(t, p, FIXED_ORIGIN, 3)
    turn, travel = vector(t, p, TURN), vector(t, p, TRAVEL)
    axes, origin, reference = matrix(t, w, AXES, 3), matrix(t, w, ORIGIN, 3), matrix(t, w, REFERENCE, 3)
    screw_angular, screw_linear = matrix(t, w, SCREW_ANGULAR, 3), matrix(t, w, SCREW_LINEAR, 3)
    angular, linear = matrix(t, w, ANGULAR, 3), matrix(t, w, LINEAR, 3)
    angular_bias, linear_bias = matrix(t, w, ANGULAR_BIAS, 3), matrix(t, w, LINEAR_BIAS, 3)

    for i in range(t[N_LINKS]):
        parent = links[i, 0]
        x, y, z = load(fixed_axes, 3 * i), load(fixed_axes, 3 * i + 1), load(fixed_axes, 3 * i + 2)
        o = load(fixed_origin, i)
        w_p = u_p = wd_p = ud_p = (0.0, 0.0, 0.0)
        if parent >= 0:
            px, py, pz = load(axes, 3 * parent), load(axes, 3 * parent + 1), load(axes, 3 * parent + 2)
            x, y, z = combine(px, py, pz, x), combine(px, py, pz, y), combine(px, py, pz, z)
            o = add(load(origin, parent), combine(px, py, pz, o))
            w_p, u_p = load(angular, parent), load(linear, parent)
            wd_p, ud_p = load(angular_bias, parent), load(linear_bias, parent)

        k, scalar = links[i, 1], poses[i, 0]
        if scalar == SCREW:
            e = q[k]
            if turn[i] != 0.0:
                c, s = math.cos(turn[i] * e), math.sin(turn[i] * e)
                x, y = add(times(c, x), times(s, y)), subtract(times(c, y), times(s, x))
            o = add(o, times(travel[i] * e, z))
        elif scalar >= 0:
            x, y, z = turned(x, y, z, q[scalar], (q[k], q[k + 1], q[k + 2]))
        if i == 0:
            store(reference, 0, o)

        s_w = times(turn[i], z)
        s_u = add(times(travel[i], z), cross(subtract(o, load(reference, 0)), s_w))
        rate = v[links[i, 2]]
        store(angular, i, add(w_p, times(rate, s_w)))
        store(linear, i, add(u_p, times(rate, s_u)))
        if poses[i, 1] != parent:
            w_p = u_p = (0.0, 0.0, 0.0)
            if poses[i, 1] >= 0:
                w_p, u_p = load(angular, poses[i, 1]), load(linear, poses[i, 1])
        # V_i = V_p + S v,  its rate for v̇ = 0: V̇_i = V̇_p + V_b × S v, b: what carries the axis
        store(angular_bias, i, add(wd_p, times(rate, cross(w_p, s_w))))
        store(linear_bias, i, add(ud_p, times(rate, add(cross(w_p, s_u), cross(u_p, s_w)))))
        store(screw_angular, i, s_w)
        store(screw_linear, i, s_u)
        store(axes, 3 * i, x)
        store(axes, 3 * i + 1, y)
        store(axes, 3 * i + 2, z)
        store(origin, i, o)

    points, at = table(t, POINTS, 1), matrix(t, p, POINT_AT, 3)
    position, velocity = matrix(t, w, POINT_POSITION, 3), matrix(t, w, POINT_VELOCITY, 3)
    bias = matrix(t, w, POINT_BIAS, 3)
    for k in range(t[N_POINTS]):
        i = points[k, 0]
        if i < 0:
            store(position, k, load(at, k))
            continue
        x, y, z = load(axes, 3 * i), load(axes, 3 * i + 1), load(axes, 3 * i + 2)
        place = add(load(origin, i), combine(x, y, z, load(at, k)))
        r = subtract(place, load(reference, 0))
        speed = add(load(linear, i), cross(load(angular, i), r))
        store(position, k, place)
        store(velocity, k, speed)
        # acceleration of a material point: u̇ + ω̇ × r + ω × ṙ
        turning = add(cross(load(angular_bias, i), r), cross(load(angular, i), speed))
        store(bias, k, add(load(linear_bias, i), turning))


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, int64, MATRIX, VECTOR))
def point_jacobian(
    p: Floats,  # noqa: ARG001  the arguments of every kernel
    t: Integers,
    w: Floats,
    point: int,
    jacobian: Floats,
    rate: Floats,
) -> None:
    """After `kinematics`: Jacobian (6 × nv) of a point's twist (angular; linear) and its rate times v (6).

    The twist of the point's body, taken at the point, is `jacobian` v; its derivative is `jacobian` v̇ +
    `rate`. World axes; rad/s and m/s.
    """
    links = table(t, LINKS, 3)
    screw_angular, screw_linear = matrix(t, w, SCREW_ANGULAR, 3), matrix(t, w, SCREW_LINEAR, 3)
    r = subtract(load(matrix(t, w, POINT_POSITION, 3), point), load(matrix(t, w, REFERENCE, 3), 0))
    fill_matrix(jacobian, 0.0)
    fill(rate, 0.0)
    i = table(t, POINTS, 1)[point, 0]
    if i >= 0:
        rate[0], rate[1], rate[2] = load(matrix(t, w, ANGULAR_BIAS, 3), i)
        rate[3], rate[4], rate[5] = load(matrix(t, w, POINT_BIAS, 3), point)
    while i >= 0:
        k = links[i, 2]
        s_w, s_u = load(screw_angular, i), load(screw_linear, i)
        jacobian[0, k], jacobian[1, k], jacobian[2, k] = s_w
        jacobian[3, k], jacobian[4, k], jacobian[5, k] = add(s_u, cross(s_w, r))
        i = links[i, 0]
