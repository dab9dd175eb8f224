"""One step of a streamed reference: towards its target, and never beyond a state from which it can stop.

Each coordinate is a triple integrator. Its *stop* is the shortest motion to rest, and a state is safe when
its stop stays within the limits (coordinate_stops.py). A step over one period is

    next = stop + λ (wanted - stop)        with the largest λ in [0, 1] for which next is safe,

where `wanted` is the state that the tracking law asks for and `stop` the state after one period of the stop.
Both are reached within A and J, and the dynamics are linear, so next is too. λ = 0 continues the stop, which
was found safe a period ago: a safe step always exists.

The limits of other joints, of the points of the section `workspace`, of the motors' efforts, and the distance
from singular poses depend on the pose. They are checked at poses along the stops of all coordinates, which
Newton's method finds on the closures. If one is beyond its limit there, all coordinates stop for this period.
At the side of a box of `workspace` one coordinate stops and the others move on, where that keeps the limits:
the point slides along the side. A period tries one coordinate, that which was held before; the next period
the next. Near the limits of other joints all stop: there, joints turn far between the poses that are checked.
A singular pose that lies between two of these poses shows in the sign of a determinant (assembly_mode.py has
the equations).
"""

import math

import numpy as np

from linkwork.arrays import Floats, Matrix
from linkwork.controller.actuation.motor_allocation import motor_forces, solved
from linkwork.controller.actuation.motor_conditioning import leverage
from linkwork.controller.motion.streams.coordinate_stops import along, pull, stop_phases, stopping, unsafe
from linkwork.controller.motion.streams.stream_limits import (
    DRIVE,
    HOLD,
    LEVER,
    NEXT_LEVER,
    NEXT_SHARE,
    SHARE,
    TRIED,
    TURN,
    StreamStep,
    inertia_limit,
    joint_limit,
    overshoots,
    region_limit,
    signs,
    singularity_limit,
    turn_limit,
    turn_to,
)
from linkwork.multibody.closure.rank import admitted, factor, particular, scaled_right_side
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.motion_basis import evaluate_motion
from linkwork.multibody.dynamics.projection import position_residual
from linkwork.multibody.dynamics.reduced_mass import free_inertia
from linkwork.multibody.dynamics.tree_dynamics import mass_times
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.layout import LOST, RANK
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.linalg.linear import lu_apply, lu_factor, products
from linkwork.multibody.linalg.vectors import squared
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.rotations import move, wrapped
from linkwork.multibody.workspace import Model, Workspace

SHARE_OF_LIMITS = 0.98
"""Share of the limits of velocity, acceleration and jerk that a stream uses: room for rounding, and for what
the interpolation between two steps adds."""
EFFORT_SHARE = 0.9
"""Share of the motors' largest efforts that a stop may need: the rest is for feedback."""
RESERVE_SHARE = 0.05
"""Share of the acceleration limits that the motors keep in reserve for feedback, in all coordinates at once.
In a weak pose a small acceleration needs much effort: without the reserve, a machine that is a little off
its reference there cannot come back, and gravity takes it further into the weak pose."""
UNLIMITED = 5e3
"""Acceleration limit from which a coordinate counts as one without."""
RISE_S = 0.05
"""Time in which the acceleration of such a coordinate reaches its limit."""
SAMPLE_S, MOST_SAMPLES = 0.025, 6
"""Longest interval between the poses that are checked along a stop, and their largest number."""
CLOSE = 1e-10
"""Scaled residual at which Newton's method ends for the pose of the step itself."""
NEAR = 1e-4
"""Scaled residual at which it ends for the poses along a stop."""
_STEPS = 8
_HALVINGS = 14
NO_POSE = -1.0
_JUMP = 0.3
"""Scaled way of Newton's method from the predicted pose beyond which it has found another assembly mode."""


@part
def _step_alone(g: StreamStep, i: int, period: float, ease: float, cap: float) -> int:
    """Coordinate i's step within its own limits, to `tried`, with its stop in `stop`; the limit met."""
    limits, state = g.limits[i], g.state[i]
    most, jerk = limits[1], limits[2]
    p, v, a = state[0], state[1], state[2]
    asked = pull(state, g.now[i], g.then[i], limits, period, ease, cap)
    least, largest = max(a - jerk * period, -most), min(a + jerk * period, most)
    met = 0
    if asked > largest or asked < least:
        met = 3 if abs(asked) >= most and abs(a) >= 0.95 * most else 4
        asked = min(max(asked, least), largest)
    wanted, stop, tried = g.wanted[i], g.stop[i], g.tried[i]
    wanted[0], wanted[1], wanted[2] = along(p, v, a, (asked - a) / period, period)
    stop[0], stop[1], stop[2] = stopping(p, v, a, most, jerk, period)
    why = unsafe(wanted[0], wanted[1], wanted[2], limits)
    if why == 0:
        copy(wanted, tried)
        return met
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        for n in range(3):
            tried[n] = stop[n] + middle * (wanted[n] - stop[n])
        if unsafe(tried[0], tried[1], tried[2], limits) == 0:
            low = middle
        else:
            high = middle
    for n in range(3):
        tried[n] = stop[n] + low * (wanted[n] - stop[n])
    return why


@part
def _combine(rows: Matrix, shares: Floats, x: Floats) -> None:
    """x (n) := Σ shares[i] rows[i], for rows (k × n) and shares (k)."""
    fill(x, 0.0)
    _add_rows(rows, shares, x)


@part
def _add_rows(rows: Matrix, shares: Floats, x: Floats) -> None:
    """x (n) += Σ shares[i] rows[i], for rows (k × n) and shares (k), many of which may be 0."""
    for i in range(len(shares)):
        if shares[i] != 0.0:
            for c in range(len(x)):
                x[c] += rows[i, c] * shares[i]


@part
def _set_rates(g: StreamStep) -> None:
    """After `_find_pose`: v in w for the coordinates' rates in z."""
    lu_apply(g.held, g.pivots, g.z)
    _combine(g.basis, g.z, g.w.v)


@part
def _accelerations(g: StreamStep, states: Matrix, basis: Matrix) -> None:
    """After the efforts: write to `gain` (k × motors) the efforts for each acceleration of 1, to `push`
    (motors) those for the accelerations in column 2 of `states` alone, and to `kept` (motors) those that
    `RESERVE_SHARE` of all acceleration limits needs.

    Each acceleration of the share may have either sign, so that the sizes of its efforts add up.
    """
    m, w = g.m, g.w
    nv, k, closes = m.nv, len(g.chosen), m.n_rows > 0
    z, change = g.z, g.change
    fill(g.kept, 0.0)
    fill(g.push, 0.0)
    for j in range(k):
        fill(z, 0.0)
        z[j] = 1.0
        lu_apply(g.held, g.pivots, z)
        _combine(basis, z, w.vdot)
        mass_times(m, w, w.vdot, change)
        if closes:
            for i in range(k):
                z[i] = 0.0
                for c in range(nv):
                    z[i] += basis[i, c] * change[c]
            fill(change, 0.0)
            solved(basis, g.motor, g.weight, g.levers[: k * k], z, change)
        for i in range(len(g.motor)):
            g.gain[j, i] = change[g.motor[i]]
            g.kept[i] += abs(g.gain[j, i]) * RESERVE_SHARE * g.limits[j, 1]
            g.push[i] += g.gain[j, i] * states[j, 2]


@part
def _accept(g: StreamStep, states: Matrix) -> None:
    for i in range(len(g.goal)):
        copy(states[i], g.state[i])
    copy(g.next_pose, g.pose)
    copy(g.next_rates, g.rates)


@part
def _limit_by_motors(g: StreamStep) -> None:
    """Give coordinates without limits of acceleration and jerk those that the motors allow at this pose:
    all of them together need half of the effort that holding leaves.
    """
    k = len(g.chosen)
    for j in range(k):
        if g.limits[j, 1] >= UNLIMITED:
            most = UNLIMITED
            for m in range(len(g.motor)):
                free = max(EFFORT_SHARE * g.most[m] - abs(g.force[g.motor[m]]), 0.1 * g.most[m])
                most = min(most, 0.5 * free / (k * max(abs(g.gain[j, m]), 1e-12)))
            g.limits[j, 1] = most
            g.limits[j, 2] = min(g.limits[j, 2], most / RISE_S)


@part
def _lever(g: StreamStep) -> float:
    """Distance of the motors from a singular pose; none in an open chain, with a motor on each joint."""
    if g.m.n_rows == 0:
        return math.inf
    return float(leverage(g.basis, g.m.column_scale, g.motor, g.levers))


@part
def _tangents(g: StreamStep, step: Floats) -> float:
    """The admitted velocities at the pose in w, to `basis`, and a step (nv) that closes the closures.

    Returns their scaled residual, or `NO_POSE`.
    """
    m, w = g.m, g.w
    k = len(g.chosen)
    if m.n_rows == 0:
        for j in range(k):
            fill(g.basis[j], 0.0)
            g.basis[j, j] = 1.0
        return 0.0
    constraint_rows(m, w)
    size: float = position_residual(m, w)
    factor(m, w)
    if w.ranking[LOST] > 0.0 or m.nv - int(w.ranking[RANK]) != k:
        return NO_POSE
    scaled_right_side(m, w, -1.0, w.phi)
    particular(m, w, w.right_side, step)
    admitted(m, w)
    for j in range(k):
        copy(w.basis[j], g.basis[j])
    return size


@part
def _motion(m: Model, w: Workspace, k: int) -> bool:
    """Evaluate the dynamics at the state in w; False where k coordinates do not determine the motion."""
    evaluate_motion(m, w)
    return bool(m.nv - int(w.ranking[RANK]) == k)


@part
def _pose_limit(g: StreamStep, hold: float, least_hold: float, least_lever: float, first: bool) -> int:
    """The limit that the pose and speed in w violate, as `joint_limit`; 0 for none.

    A distance that is beyond its limit already may come back, but not get worse.
    """
    why = singularity_limit(g, hold, least_hold)
    if why != 0:
        return int(why)
    distance = _lever(g)
    if distance < min(least_lever, g.told[LEVER] - 1e-9):
        return 10
    if first:
        g.told[NEXT_LEVER] = distance
    return int(joint_limit(g, first))


@part
def _find_pose(g: StreamStep, close: float) -> float:
    """Newton's method from q in w to the pose with the coordinates `goal`; its distance from singularity.

    `NO_POSE` where there is none. Leaves the admitted velocities in `basis` and the factors of the
    coordinates' Jacobian along them in `held`.
    """
    m, w = g.m, g.w
    nv, k = m.nv, len(g.chosen)
    basis, z = g.basis, g.z
    found, way = False, 0.0
    for _ in range(_STEPS):
        kinematics(m, w)
        coordinates(m, w)
        fill(w.shift, 0.0)
        size = _tangents(g, w.shift)
        if size < 0.0:
            return NO_POSE
        for i in range(k):
            z[i] = g.goal[i] - w.theta[g.chosen[i]]
            if g.wraps[i]:
                z[i] = wrapped(z[i])
            size = max(size, abs(g.rows[i] * z[i]))
            for c in range(nv):
                z[i] -= w.J[g.chosen[i], c] * w.shift[c]
            products(w.J[g.chosen[i]], basis, g.held[i])
        for i in range(k):
            copy(g.held[i], g.square[i])
        if not (size < 1e6 and lu_factor(g.held, g.pivots) > 1e-12):
            return NO_POSE
        lu_apply(g.held, g.pivots, z)
        for j in range(k):
            for c in range(nv):
                w.shift[c] += basis[j, c] * z[j]
        move(m, w.q, w.shift, 1.0)
        longest = 0.0
        for c in range(nv):
            longest = max(longest, abs(w.shift[c] / m.column_scale[c]))
        way += longest
        if way > _JUMP:
            return NO_POSE
        if size < close:
            found = True
            break
    if not found:
        return NO_POSE
    total = 0.0
    for c in range(k):
        for i in range(k):
            z[i] = 1.0 if i == c else 0.0
        lu_apply(g.held, g.pivots, z)
        _combine(basis, z, w.shift)
        for n in range(nv):
            total += squared(w.shift[n] / (g.columns[n] * g.rows[c]))
    return float(1.0 / np.sqrt(total))


@part
def _motor_efforts(g: StreamStep, states: Matrix) -> bool:
    """Write the motors' efforts to `force` (nv) at q and v in w, for the accelerations of `states`.

    False where the coordinates do not determine the acceleration.
    """
    m, w = g.m, g.w
    nv, k, closes = m.nv, len(g.chosen), m.n_rows > 0
    if not _motion(m, w, k):
        return False
    basis = w.basis[:k] if closes else g.basis
    z, force = g.z, g.force
    for i in range(k):
        row = w.J[g.chosen[i]]
        z[i] = states[i, 2] - w.Jdv[g.chosen[i]]
        for c in range(nv):
            z[i] -= row[c] * w.vdot[c]
        products(row, basis, g.held[i])
    if not lu_factor(g.held, g.pivots) > 1e-12:
        return False
    lu_apply(g.held, g.pivots, z)
    _add_rows(basis, z, w.vdot)
    mass_times(m, w, w.vdot, force)
    for c in range(nv):
        force[c] += w.h[c] - w.friction[c]
    if closes:
        for i in range(k):
            z[i] = 0.0
            for c in range(nv):
                z[i] += basis[i, c] * force[c]
        motor_forces(basis, g.motor, g.weight, g.levers[: k * k], z, force)
    _accelerations(g, states, basis)
    return True


@part
def _place(g: StreamStep, states: Matrix, period: float) -> float:
    """Find pose and rates for these states a period after `pose`, into w, next_pose and next_rates."""
    m, w = g.m, g.w
    copy(g.pose, w.q)
    move(m, w.q, g.rates, period)
    for i in range(len(g.goal)):
        g.goal[i] = states[i, 0]
    hold: float = _find_pose(g, CLOSE)
    if hold < 0.0:
        return hold
    for i in range(len(g.goal)):
        g.z[i] = states[i, 1]
    _set_rates(g)
    copy(w.q, g.next_pose)
    copy(w.v, g.next_rates)
    return hold


@part
def _effort_limit(g: StreamStep, states: Matrix, first: bool, last: bool) -> int:
    """The motor that would need more than its share, as `joint_limit`; one above it already may stay.

    The accelerations alone may not need more than the motor's largest effort either. In a weak pose they
    could where velocities need the opposite, but both change a lot from one checked pose to the next.
    first: at the next pose; last: at the end of the stop, where the machine rests.
    """
    if not _motor_efforts(g, states):
        return 9
    why: int = inertia_limit(g, first)
    if why != 0:
        return why
    for m in range(len(g.motor)):
        needed, kept = max(abs(g.force[g.motor[m]]), EFFORT_SHARE * abs(g.push[m])), g.kept[m]
        if first:
            g.next_effort[m], g.next_reserve[m] = needed, kept
        if last:
            g.next_rest[m] = needed + kept
        if needed > EFFORT_SHARE * g.most[m] and needed > g.effort[m] * (1.0 + 1e-9):
            return 11 + 16 * m
        worse = needed + kept > g.rest[m] * (1.0 + 1e-9) if last else kept > g.reserve[m] * (1.0 + 1e-9)
        if needed + kept > g.most[m] and worse:
            return 11 + 16 * m
    return 0


@part
def _blocked(g: StreamStep, period: float, least_hold: float, least_lever: float, here: Floats) -> int:
    """The limit that is violated at `tried`, or at a pose along the stops from there; 0 for none."""
    m, w = g.m, g.w
    hold = _place(g, g.tried, period)
    if hold < 0.0:
        return 9
    why = _pose_limit(g, hold, least_hold, least_lever, True)
    if why == 0:
        why = region_limit(g, here, True)
    if why == 0:
        why = _effort_limit(g, g.tried, True, False)
    if why != 0:
        return int(why)
    for i in range(len(g.goal)):
        copy(g.basis[i], g.next_basis[i])
    length = hardest = 0.0
    for i in range(len(g.goal)):
        _, first, second, third = stop_phases(g.tried[i, 1], g.tried[i, 2], g.limits[i, 1], g.limits[i, 2])
        if first + second + third > length:
            length, hardest = first + second + third, first + second
    count = min(1 + int(np.ceil(length / SAMPLE_S)), MOST_SAMPLES)
    before = 0.0
    copy(g.next_pose, g.last_pose)
    copy(g.next_rates, g.last_rates)
    for n in range(count):
        after = length * squared((n + 1) / count)  # denser where it is fast
        if n + 2 == count and hardest > before:
            after = hardest  # the largest deceleration
        move(m, w.q, w.v, (1.0 if n + 1 < count else 0.5) * (after - before))
        for i in range(len(g.goal)):
            state = g.tried[i]
            g.wanted[i, 0], g.wanted[i, 1], g.wanted[i, 2] = stopping(
                state[0], state[1], state[2], g.limits[i, 1], g.limits[i, 2], after
            )
            g.goal[i] = g.wanted[i, 0]
        along_hold = _find_pose(g, NEAR)
        if along_hold < 0.0:
            return 9
        for i in range(len(g.goal)):
            g.z[i] = g.wanted[i, 1]
        _set_rates(g)
        why = _pose_limit(g, along_hold, least_hold, least_lever, False)
        if why == 0:
            why = turn_limit(g, after - before)
        before = after
        if why == 0:
            why = region_limit(g, here, False)
        if why == 0:
            why = _effort_limit(g, g.wanted, False, n + 1 == count)
        if why != 0:
            return int(why)
    g.told[HOLD], g.told[SHARE] = hold, g.told[NEXT_SHARE]
    copy(g.next_effort, g.effort)
    copy(g.next_reserve, g.reserve)
    copy(g.next_rest, g.rest)
    if m.n_rows > 0:
        g.told[LEVER] = g.told[NEXT_LEVER]
        turn_to(g, g.next_basis)
    return 0


@kernel
def stream_step(
    g: StreamStep, here: Floats, period: float, ease: float, least_hold: float, least_lever: float
) -> None:
    """Advance `state` by one period towards the target; `told` gives the limit that held it back.

    Here (points × 4, flat): scratch. ease: share of the acceleration limits that the
    tracking law may use. least_hold, least_lever: least distances from singular poses of coordinates and
    motors.
    """
    g.told[0] = g.told[1] = 0.0
    for i in range(len(g.chosen)):
        g.stopped[i] = 0
        met = _step_alone(g, i, period, ease, g.caps[i])
        if met != 0 and (g.told[0] == 0.0 or met < g.told[0]):
            g.told[0], g.told[1] = met, i
    overshoots(g, here)
    one = int(g.told[TRIED])
    for attempt in range(2):  # the second one with one coordinate's stop
        why = _blocked(g, period, least_hold, least_lever, here)
        if why == 0:
            g.stopped[one] = attempt
            _accept(g, g.tried)
            return
        if attempt == 1:
            g.told[TRIED] = (one + 1) % len(g.chosen)
            break
        g.told[0], g.told[1] = why % 16, why // 16
        if len(g.chosen) == 1 or why % 16 not in (7, 8):
            break
        copy(g.stop[one], g.tried[one])
    for i in range(len(g.chosen)):
        g.stopped[i] = 1
    hold = _place(g, g.stop, period)
    if hold < 0.0:
        copy(g.pose, g.next_pose)
        copy(g.rates, g.next_rates)
    elif _motion(g.m, g.w, len(g.chosen)):
        g.told[SHARE] = math.sqrt(free_inertia(g.m, g.w, len(g.chosen)))
    _accept(g, g.stop)


@kernel
def begin_stream(g: StreamStep) -> int:
    """Find the pose of `state` from `pose`, and its distances from singular poses; 0 where it has none."""
    fill(g.rates, 0.0)
    hold = _place(g, g.state, 0.0)
    if hold < 0.0:
        return 0
    copy(g.next_pose, g.pose)
    for i in range(len(g.chosen)):
        copy(g.basis[i], g.origin[i])
    g.told[HOLD], g.told[LEVER] = hold, _lever(g)
    g.told[TURN], g.told[DRIVE] = signs(g)
    if not _motor_efforts(g, g.state):
        return 0
    g.told[SHARE] = math.sqrt(free_inertia(g.m, g.w, len(g.chosen)))
    _limit_by_motors(g)
    _accelerations(g, g.state, g.w.basis[: len(g.chosen)] if g.m.n_rows > 0 else g.basis)
    for i in range(len(g.motor)):
        g.effort[i], g.reserve[i] = abs(g.force[g.motor[i]]), g.kept[i]
        g.rest[i] = g.effort[i] + g.kept[i]
    return 1
