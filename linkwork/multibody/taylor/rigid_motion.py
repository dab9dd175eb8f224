"""Motion of every body in a step without joint reactions: the free part of Huang et al. 2000.

    N' = A' T - w' × J' w',  C = A J'⁻¹ N',  a = F / m + g         loads only, motors and friction included
    shift x = v dt + a dt²/2,  turn θ = ω dt + C dt²/2             displacement and rotation vector

In world axes, where nothing else is said; primes on vectors mean body axes.
"""

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import BUFFER, PARAMETERS, TOPOLOGY, float64, kernel, part, void
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
from linkwork.multibody.taylor.attitude import axes_of
from linkwork.multibody.taylor.taylor_layout import (
    A_AT,
    A_AXES,
    ACCELERATION,
    ANGULAR_ACCELERATION,
    ATTITUDE,
    AXES,
    B_AT,
    B_AXES,
    COORDINATE,
    COULOMB,
    COULOMB_SPEED,
    DOF,
    EFFORT,
    FORCE,
    FREE_ACCELERATION,
    FREE_ANGULAR,
    FREE_SHIFT,
    FREE_TURN,
    GRAVITY,
    INERTIA,
    INVERSE_INERTIA,
    JOINTS,
    MASS,
    N_BODIES,
    N_DOF,
    OMEGA,
    POSITION,
    RATE,
    SPIN,
    TORQUE,
    TURN,
    TURN_MAX,
    VELOCITY,
    VISCOUS,
)

STEP = void(PARAMETERS, TOPOLOGY, BUFFER, float64)


@part
def to_world(axes: Floats, i: int, a: Vector) -> Vector:
    """Rotate a vector (3) from the axes of body i, or of the world for i = -1, to world axes.

    `axes` (3 nb × 3): three rows a body, its axes in world axes.
    """
    if i < 0:
        return a
    return combine(load(axes, 3 * i), load(axes, 3 * i + 1), load(axes, 3 * i + 2), a)


@part
def to_body(axes: Floats, i: int, a: Vector) -> Vector:
    """Rotate a vector (3) from world axes to the axes of body i; `axes` (3 nb × 3) as of `to_world`."""
    return dot(load(axes, 3 * i), a), dot(load(axes, 3 * i + 1), a), dot(load(axes, 3 * i + 2), a)


@part
def of_body(rows: Floats, i: int) -> Vector:
    """Return row i of `rows` (nb × 3), or zeros for the world, i = -1."""
    if i < 0:
        return 0.0, 0.0, 0.0
    return load(rows, i)


@part
def angular_response(p: Floats, t: Integers, w: Floats, i: int, moment: Vector) -> Vector:
    """A J'⁻¹ A' moment: angular acceleration from a moment about the centre of mass."""
    axes = matrix(t, w, AXES, 3)
    return to_world(axes, i, apply(matrix(t, p, INVERSE_INERTIA, 6), i, to_body(axes, i, moment)))


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER))
def locate(p: Floats, t: Integers, w: Floats) -> None:
    """Write axes and angular velocity of every body, coordinate and rate of every degree of freedom.

    Angles are read by projection and unwrapped from their present value, to the nearest turn.
    """
    attitude, axes = matrix(t, w, ATTITUDE, 4), matrix(t, w, AXES, 3)
    spin, omega = matrix(t, w, SPIN, 3), matrix(t, w, OMEGA, 3)
    for i in range(t[N_BODIES]):
        x, y, z = axes_of(attitude, i)
        store(axes, 3 * i, x)
        store(axes, 3 * i + 1, y)
        store(axes, 3 * i + 2, z)
        store(omega, i, combine(x, y, z, load(spin, i)))

    position, velocity = matrix(t, w, POSITION, 3), matrix(t, w, VELOCITY, 3)
    joints, dofs = table(t, JOINTS, 5), table(t, DOF, 3)
    a_at, a_axes = matrix(t, p, A_AT, 3), matrix(t, p, A_AXES, 3)
    b_at, b_axes = matrix(t, p, B_AT, 3), matrix(t, p, B_AXES, 3)
    coordinate, rate = vector(t, w, COORDINATE), vector(t, w, RATE)
    for k in range(t[N_DOF]):
        j = dofs[k, 0]
        b, a = joints[j, 1], joints[j, 2]
        axis = to_world(axes, a, load(a_axes, 3 * j + 2))
        w_b, w_a = of_body(omega, b), of_body(omega, a)
        if dofs[k, 1] == TURN:
            x_a, x_b = to_world(axes, a, load(a_axes, 3 * j)), to_world(axes, b, load(b_axes, 3 * j))
            angle = math.atan2(dot(axis, cross(x_a, x_b)), dot(x_a, x_b))
            turns = (coordinate[k] - angle) / (2.0 * math.pi)
            coordinate[k] = angle + 2.0 * math.pi * math.floor(turns + 0.5)
            rate[k] = dot(axis, subtract(w_b, w_a))
        else:
            d_b = to_world(axes, b, load(b_at, j))
            place = add(of_body(position, b), d_b)
            lever = subtract(place, of_body(position, a))
            coordinate[k] = dot(axis, subtract(lever, to_world(axes, a, load(a_at, j))))
            v_b = add(of_body(velocity, b), cross(w_b, d_b))
            v_a = add(of_body(velocity, a), cross(w_a, lever))
            rate[k] = dot(axis, subtract(v_b, v_a))


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER))
def drive(p: Floats, t: Integers, w: Floats) -> None:
    """Add efforts and friction of all joints to the loads, which are in the place of the accelerations."""
    axes, position = matrix(t, w, AXES, 3), matrix(t, w, POSITION, 3)
    joints, dofs = table(t, JOINTS, 5), table(t, DOF, 3)
    a_axes, b_at = matrix(t, p, A_AXES, 3), matrix(t, p, B_AT, 3)
    effort, rate = vector(t, w, EFFORT), vector(t, w, RATE)
    viscous, coulomb, speed = vector(t, p, VISCOUS), vector(t, p, COULOMB), vector(t, p, COULOMB_SPEED)
    force, moment = matrix(t, w, ACCELERATION, 3), matrix(t, w, ANGULAR_ACCELERATION, 3)
    for k in range(t[N_DOF]):
        load_on_b = effort[k] - viscous[k] * rate[k]
        if coulomb[k] != 0.0:
            load_on_b -= coulomb[k] * math.tanh(rate[k] / speed[k])
        if load_on_b == 0.0:
            continue
        j = dofs[k, 0]
        b, a = joints[j, 1], joints[j, 2]
        along = times(load_on_b, to_world(axes, a, load(a_axes, 3 * j + 2)))
        m_b = m_a = along
        if dofs[k, 1] != TURN:
            d_b = to_world(axes, b, load(b_at, j))
            lever = subtract(add(of_body(position, b), d_b), of_body(position, a))
            m_b, m_a = cross(d_b, along), cross(lever, along)
            if b >= 0:
                increase(force, b, along)
            if a >= 0:
                increase(force, a, times(-1.0, along))
        if b >= 0:
            increase(moment, b, m_b)
        if a >= 0:
            increase(moment, a, times(-1.0, m_a))


@kernel(STEP)
def free_motion(p: Floats, t: Integers, w: Floats, dt: float) -> None:
    """`locate`, then accelerations, shifts and turns (dt in s) with no reactions."""
    locate(p, t, w)
    applied_force, applied_torque = matrix(t, w, FORCE, 3), matrix(t, w, TORQUE, 3)
    force, moment = matrix(t, w, ACCELERATION, 3), matrix(t, w, ANGULAR_ACCELERATION, 3)
    for i in range(t[N_BODIES]):
        store(force, i, load(applied_force, i))
        store(moment, i, load(applied_torque, i))
    drive(p, t, w)

    gravity = load(matrix(t, p, GRAVITY, 3), 0)
    mass, inertia = vector(t, p, MASS), matrix(t, p, INERTIA, 6)
    axes, omega = matrix(t, w, AXES, 3), matrix(t, w, OMEGA, 3)
    velocity, spin = matrix(t, w, VELOCITY, 3), matrix(t, w, SPIN, 3)
    linear, angular = matrix(t, w, FREE_ACCELERATION, 3), matrix(t, w, FREE_ANGULAR, 3)
    shift, rotation = matrix(t, w, FREE_SHIFT, 3), matrix(t, w, FREE_TURN, 3)
    half, largest = 0.5 * dt * dt, 0.0
    for i in range(t[N_BODIES]):
        acceleration = add(gravity, times(1.0 / mass[i], load(force, i)))
        gyroscopic = cross(load(spin, i), apply(inertia, i, load(spin, i)))
        total = subtract(load(moment, i), to_world(axes, i, gyroscopic))
        turning = angular_response(p, t, w, i, total)
        store(linear, i, acceleration)
        store(angular, i, turning)
        store(shift, i, add(times(dt, load(velocity, i)), times(half, acceleration)))
        store(rotation, i, add(times(dt, load(omega, i)), times(half, turning)))
        largest = max(largest, dot(load(rotation, i), load(rotation, i)))
    vector(t, w, TURN_MAX)[0] = math.sqrt(largest)
