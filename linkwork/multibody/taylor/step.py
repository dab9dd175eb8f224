"""One step: reactions by plain elimination, accelerations, and the state moved by them to second order.

    r += v dt + a dt²/2,  v += a dt,  w' += α' dt,  attitude turned by exp(ω dt + α dt²/2)

after Huang et al. 2000. The gap of every closure stays of third order in dt, without stabilisation, as each
step starts from the gap that the last one left. Velocities and the motion as a whole are of first order,
where the reactions are taken at the beginning of the step; taken half way, what remains of that order comes
from gyroscopic moments, friction and loads, which are held during the step.
"""

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    INTEGERS,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    boolean,
    float64,
    int64,
    kernel,
    void,
)
from linkwork.multibody.kernels.views import fill_matrix, matrix, table, vector
from linkwork.multibody.linalg.linear import lu_solve
from linkwork.multibody.linalg.vectors import (
    add,
    apply,
    dot,
    load,
    store,
    times,
)
from linkwork.multibody.taylor.attitude import turn
from linkwork.multibody.taylor.rigid_motion import locate, of_body, to_body, to_world
from linkwork.multibody.taylor.taylor_layout import (
    ACCELERATION,
    ANGULAR_ACCELERATION,
    ARMATURE,
    ATTITUDE,
    AXES,
    B_AT,
    COLUMNS,
    DIRECTIONS,
    FREE_ACCELERATION,
    FREE_ANGULAR,
    GRAVITY,
    INERTIA,
    JOINTS,
    MASS,
    MATRIX,
    N_BODIES,
    N_DOF,
    N_JOINTS,
    N_ROWS,
    OMEGA,
    PIVOT_RATIO,
    POSITION,
    RATE,
    REACTION,
    ROW_BODIES,
    SPIN,
    TURN_MAX,
    UNKNOWNS,
    VELOCITY,
)
from linkwork.multibody.taylor.taylor_reactions import assemble


@kernel(boolean(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, float64))
def react(p: Floats, t: Integers, w: Floats, pivots: Integers, dt: float) -> bool:
    """`assemble`, then compute reactions and accelerations of the present state; `pivots` (nr) is scratch.

    They are refused, with the answer False, where the ratio of pivots is not above the least allowed one, a
    body would turn further than the expansion allows, or some acceleration is NaN.
    """
    assemble(p, t, w, dt)
    unknowns, bodies = vector(t, w, UNKNOWNS), table(t, ROW_BODIES, 2)
    vector(t, w, PIVOT_RATIO)[0] = lu_solve(matrix(t, w, MATRIX, t[N_ROWS]), pivots, unknowns)

    linear, angular = matrix(t, w, ACCELERATION, 3), matrix(t, w, ANGULAR_ACCELERATION, 3)
    free_linear, free_angular = matrix(t, w, FREE_ACCELERATION, 3), matrix(t, w, FREE_ANGULAR, 3)
    for i in range(t[N_BODIES]):
        store(linear, i, load(free_linear, i))
        store(angular, i, load(free_angular, i))
    columns = matrix(t, w, COLUMNS, 12)
    for k in range(t[N_ROWS]):
        for end in range(2):
            i = bodies[k, end]
            if i >= 0:
                for n in range(3):
                    linear[i, n] += unknowns[k] * columns[k, 6 * end + n]
                    angular[i, n] += unknowns[k] * columns[k, 6 * end + 3 + n]

    reaction, directions = matrix(t, w, REACTION, 9), matrix(t, w, DIRECTIONS, 6)
    joints, b_at = table(t, JOINTS, 5), matrix(t, p, B_AT, 3)
    axes, position = matrix(t, w, AXES, 3), matrix(t, w, POSITION, 3)
    fill_matrix(reaction, 0.0)
    for j in range(t[N_JOINTS]):
        b = joints[j, 1]
        place = add(of_body(position, b), to_world(axes, b, load(b_at, j)))
        reaction[j, 6], reaction[j, 7], reaction[j, 8] = place
        for row in range(joints[j, 3], joints[j, 4]):
            for n in range(6):
                reaction[j, n] += unknowns[row] * directions[row, n]

    ratio, turning, total = vector(t, w, PIVOT_RATIO), vector(t, w, TURN_MAX), 0.0
    for i in range(t[N_BODIES]):
        for n in range(3):
            total += linear[i, n] + angular[i, n]
    return ratio[0] > ratio[1] and turning[0] <= turning[1] and math.isfinite(total)


@kernel(boolean(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, float64))
def step(p: Floats, t: Integers, w: Floats, pivots: Integers, dt: float) -> bool:
    """`react`, then advance the state by dt (s) and read joint coordinates and rates again; `pivots` (nr):
    scratch.

    Returns False, with the state unchanged, where `react` refuses.
    """
    if not react(p, t, w, pivots, dt):
        return False
    position, velocity = matrix(t, w, POSITION, 3), matrix(t, w, VELOCITY, 3)
    attitude, axes = matrix(t, w, ATTITUDE, 4), matrix(t, w, AXES, 3)
    spin, omega = matrix(t, w, SPIN, 3), matrix(t, w, OMEGA, 3)
    linear, angular = matrix(t, w, ACCELERATION, 3), matrix(t, w, ANGULAR_ACCELERATION, 3)
    half = 0.5 * dt * dt
    for i in range(t[N_BODIES]):
        a, alpha, v = load(linear, i), load(angular, i), load(velocity, i)
        store(position, i, add(load(position, i), add(times(dt, v), times(half, a))))
        store(velocity, i, add(v, times(dt, a)))
        store(spin, i, add(load(spin, i), times(dt, to_body(axes, i, alpha))))
        turn(attitude, i, add(times(dt, load(omega, i)), times(half, alpha)))
    locate(p, t, w)
    return True


@kernel(int64(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, float64, int64))
def run(p: Floats, t: Integers, w: Floats, pivots: Integers, dt: float, count: int) -> int:
    """Make `count` steps of dt (s) with constant loads; return how many were made, fewer if one was refused.

    The smallest pivot ratio of all steps is kept as the result. `pivots` (nr) is scratch.
    """
    ratio, smallest = vector(t, w, PIVOT_RATIO), 1.0
    for k in range(count):
        if not step(p, t, w, pivots, dt):
            return k
        smallest = min(smallest, ratio[0])
        ratio[0] = smallest
    return count


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, VECTOR))
def energy(p: Floats, t: Integers, w: Floats, result: Floats) -> None:
    """After `locate`: write kinetic energy, rotors included, and potential energy -Σ m g'r (J) to `result`
    (2).
    """
    gravity, position = load(matrix(t, p, GRAVITY, 3), 0), matrix(t, w, POSITION, 3)
    mass, inertia = vector(t, p, MASS), matrix(t, p, INERTIA, 6)
    velocity, spin = matrix(t, w, VELOCITY, 3), matrix(t, w, SPIN, 3)
    kinetic = potential = 0.0
    for i in range(t[N_BODIES]):
        v, s = load(velocity, i), load(spin, i)
        kinetic += 0.5 * (mass[i] * dot(v, v) + dot(s, apply(inertia, i, s)))
        potential -= mass[i] * dot(gravity, load(position, i))
    armature, rate = vector(t, p, ARMATURE), vector(t, w, RATE)
    for k in range(t[N_DOF]):
        kinetic += 0.5 * armature[k] * rate[k] * rate[k]
    result[0], result[1] = kinetic, potential
