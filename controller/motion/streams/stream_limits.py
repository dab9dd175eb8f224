"""Limits of the poses and speeds that a step of a stream, and the stop from there, would lead to.

The step is that of stream_steps.py; its arrays are here. A limit is coded as HeldBack + 16 × the index of
what it belongs to, 0 for none.
"""

import math
from typing import Annotated

import numpy as np

from linkwork.arrays import Floats, Integers, Matrix
from linkwork.controller.estimation.assembly_mode import determinant
from linkwork.multibody.dynamics.reduced_mass import LEAST_INERTIA, free_inertia, least_nearby
from linkwork.multibody.kernels.compiling import part
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.kernels.views import copy
from linkwork.multibody.linalg.linear import reach
from linkwork.multibody.linalg.vectors import squared
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.workspace import Model, Workspace

POSE_MARGIN = 5e-4
"""rad or m inside the limits of other joints and of points where a stop has to end: poses along a stop are
checked at intervals."""
JOINT_MARGIN = 4e-3
"""rad or m inside the limits of other joints: near a stretched pose the machine lags by as much."""
STOP_MARGIN = 0.015
"""rad or m inside the limits of other joints that a stop keeps: near a stretched pose, a joint turns far
between two poses that are checked."""
SPEED_MARGIN, STOP_SPEED_MARGIN = 0.97, 0.85
"""Shares of the speeds of other joints and of points that a step, and a stop, may reach. Between the poses
that are checked along a stop, a joint may be faster than at these."""
HOLD, LEVER, TURN, DRIVE, NEXT_LEVER, TRIED, SHARE, NEXT_SHARE, LAST_SHARE = range(2, 11)
"""Of `told`, at the reference's pose: least distance from singular poses of the coordinates, of the motors;
signs of the determinants of the coordinates' Jacobian and of the motors' map (0: not square); the least
distance of the motors at the next pose; the coordinate to stop first where a limit of the pose forbids a
step; and the root of the least share of inertia (`free_inertia`) there, at the next pose, at the last one
checked."""


class StreamStep(Struct):
    """The arrays of `stream_step` for k coordinates of a machine with nv joint rates and m regions.

    p, t, w: the model and a separate workspace. chosen: the coordinates; wraps: 1 for angles that wrap.
    rows, columns: scales of the coordinates' Jacobian. limits: V, A, J, lowest, highest. joints: lowest,
    highest position and largest speed of each joint, infinite where not checked. points, regions: of the
    section workspace, lowest x, y, z, highest x, y, z, speed. motor: joints with motors. pose (nq), rates
    (nv): of the reference. state: position, velocity, acceleration; now, then: those of the target at the
    state's time and one period later; wanted, stop, tried: scratch. caps: shares of the velocity limits that
    the tracking law may use. stopped: 1 where a limit of the pose stopped the coordinate. told: HeldBack, its
    index, and what `HOLD` to `TRIED` say. most: largest effort of each motor, weight: in the metric of
    efforts; effort, next_effort: of the reference. reserve, next_reserve: what `RESERVE_SHARE` needs at the
    reference's pose; rest, next_rest: what holding and that need at the end of its stop. origin: admitted
    velocities at the reference's pose.
    """

    m: Model
    w: Workspace
    chosen: Annotated[Integers, "k"]
    wraps: Annotated[Integers, "k"]
    rows: Annotated[Floats, "k"]
    columns: Annotated[Floats, "nv"]
    limits: Annotated[Floats, "k, 5"]
    joints: Annotated[Floats, "nv, 3"]
    points: Annotated[Integers, "n_regions"]
    regions: Annotated[Floats, "n_regions, 7"]
    motor: Annotated[Integers, "motors"]
    most: Annotated[Floats, "motors"]
    weight: Annotated[Floats, "motors"]
    effort: Annotated[Floats, "motors"]
    next_effort: Annotated[Floats, "motors"]
    kept: Annotated[Floats, "motors"]
    push: Annotated[Floats, "motors"]
    gain: Annotated[Floats, "k, motors"]
    reserve: Annotated[Floats, "motors"]
    next_reserve: Annotated[Floats, "motors"]
    rest: Annotated[Floats, "motors"]
    next_rest: Annotated[Floats, "motors"]
    force: Annotated[Floats, "nv"]
    change: Annotated[Floats, "nv"]
    pose: Annotated[Floats, "nq"]
    rates: Annotated[Floats, "nv"]
    state: Annotated[Floats, "k, 3"]
    now: Annotated[Floats, "k, 3"]
    then: Annotated[Floats, "k, 3"]
    wanted: Annotated[Floats, "k, 3"]
    stop: Annotated[Floats, "k, 3"]
    tried: Annotated[Floats, "k, 3"]
    caps: Annotated[Floats, "k"]
    stopped: Annotated[Integers, "k"]
    told: Annotated[Floats, "11"]
    goal: Annotated[Floats, "k"]
    z: Annotated[Floats, "k"]
    held: Annotated[Floats, "k, k"]
    square: Annotated[Floats, "k, k"]
    pivots: Annotated[Integers, "k"]
    basis: Annotated[Floats, "k, nv"]
    origin: Annotated[Floats, "k, nv"]
    next_basis: Annotated[Floats, "k, nv"]
    next_pose: Annotated[Floats, "nq"]
    next_rates: Annotated[Floats, "nv"]
    last_pose: Annotated[Floats, "nq"]
    last_rates: Annotated[Floats, "nv"]
    levers: Floats


@part
def orientation(g: StreamStep, basis: Matrix) -> float:
    """Return a number with the sign of the orientation of a basis (k × nv) to `origin`; destroys `square`."""
    k = len(g.chosen)
    for i in range(k):
        first, end = reach(g.origin[i])
        for j in range(k):
            g.square[i, j] = 0.0
            for c in range(first, end):
                g.square[i, j] += g.origin[i, c] * basis[j, c] / (g.m.column_scale[c] * g.m.column_scale[c])
    return determinant(g.square)


@part
def signs(g: StreamStep) -> tuple[float, float]:
    """After `_find_pose`: `TURN` and `DRIVE` at this pose, for a basis oriented as `origin`.

    Destroys `square`.
    """
    k = len(g.chosen)
    turn = determinant(g.square)
    drive = 0.0
    if g.m.n_rows > 0:
        side = orientation(g, g.basis)
        turn *= side
        if len(g.motor) == k:
            for i in range(k):
                for j in range(k):
                    g.square[i, j] = g.basis[j, g.motor[i]]
            drive = side * determinant(g.square)
    return np.sign(turn), np.sign(drive)


@part
def singularity_limit(g: StreamStep, hold: float, least_hold: float) -> int:
    """The singular pose that the pose in w is too close to, or behind, as HeldBack; 0 for none."""
    turn, drive = signs(g)
    if hold < min(least_hold, g.told[HOLD] - 1e-9) or turn != g.told[TURN]:
        return 9
    return 0 if drive == g.told[DRIVE] else 10


@part
def inertia_limit(g: StreamStep, first: bool) -> int:
    """After `evaluate_motion`: 12 where joints move against each other with hardly any inertia, or
    did so between the pose in w and the one before; 0 where not.

    The rule of admission (reduced_mass.py). What is below it already may come back, but not get worse.
    """
    share: float = free_inertia(g.m, g.w, len(g.chosen))
    root: float = math.sqrt(share)
    least = least_nearby(share, root - (g.told[SHARE] if first else g.told[LAST_SHARE]))
    g.told[LAST_SHARE] = root
    if first:
        g.told[NEXT_SHARE] = root
    return 12 if least < LEAST_INERTIA and root < g.told[SHARE] - 1e-9 else 0


@part
def joint_limit(g: StreamStep, first: bool) -> int:
    """The joint's limit that the pose and speed in w violate, as HeldBack + 16 × index; 0 for none.

    A position that is beyond its limit already may come back, but not get worse.
    """
    m, w = g.m, g.w
    share = SPEED_MARGIN if first else STOP_SPEED_MARGIN
    margin = JOINT_MARGIN if first else STOP_MARGIN
    for n in range(m.nv):
        low, high, fastest = g.joints[n, 0], g.joints[n, 1], g.joints[n, 2]
        if (w.q[n] > high - margin and w.q[n] > g.pose[n] + 1e-9) or (
            w.q[n] < low + margin and w.q[n] < g.pose[n] - 1e-9
        ):
            return 5 + 16 * n
        if abs(w.v[n]) > share * fastest and abs(w.v[n]) > abs(g.rates[n]):
            return 6 + 16 * n
    return 0


@part
def turn_limit(g: StreamStep, seconds: float) -> int:
    """The joint that turns round beyond its limit between the stop's last pose and that in w; 0 for none.

    Coded as by `joint_limit`. A joint's speed is taken to change evenly over the `seconds` between both.
    """
    m, w = g.m, g.w
    for n in range(m.nv):
        if w.v[n] * g.last_rates[n] < 0.0:
            turn = g.last_pose[n] + 0.5 * seconds * squared(g.last_rates[n]) / (g.last_rates[n] - w.v[n])
            if (turn > g.joints[n, 1] - STOP_MARGIN and turn > g.pose[n] + 1e-9) or (
                turn < g.joints[n, 0] + STOP_MARGIN and turn < g.pose[n] - 1e-9
            ):
                return 5 + 16 * n
    copy(w.q, g.last_pose)
    copy(w.v, g.last_rates)
    return 0


@part
def region_limit(g: StreamStep, here: Floats, first: bool) -> int:
    """Return the point of the section `workspace` beyond its region or speed, as HeldBack; 0 for none.

    here (m × 4): overshoots and square of the speed at the present pose. first: try the limits of the motion,
    not those of a stop.
    """
    w = g.w
    if len(g.points) == 0:
        return 0
    kinematics(g.m, w)
    for m in range(len(g.points)):
        square = 0.0
        for axis in range(3):
            at = w.point_position[g.points[m], axis]
            over = max(g.regions[m, axis] - at, at - g.regions[m, 3 + axis]) + POSE_MARGIN
            if over > 0.0 and over > here[4 * m + axis] + 1e-9:
                return 7 + 16 * m
            square += squared(w.point_velocity[g.points[m], axis])
        fastest = (SPEED_MARGIN if first else STOP_SPEED_MARGIN) * g.regions[m, 6]
        if square > fastest * fastest and (first or square > here[4 * m + 3]):
            return 8 + 16 * m
    return 0


@part
def overshoots(g: StreamStep, here: Floats) -> None:
    """Write how far each point is beyond its box at the reference's pose, with the margin, and its squared
    speed (m × 4).
    """
    w = g.w
    if len(g.points) == 0:
        return
    copy(g.pose, w.q)
    copy(g.rates, w.v)
    kinematics(g.m, w)
    for i in range(len(g.points)):
        here[4 * i + 3] = 0.0
        for axis in range(3):
            at = w.point_position[g.points[i], axis]
            here[4 * i + axis] = max(g.regions[i, axis] - at, at - g.regions[i, 3 + axis]) + POSE_MARGIN
            here[4 * i + 3] += squared(w.point_velocity[g.points[i], axis])


@part
def turn_to(g: StreamStep, basis: Matrix) -> None:
    """Take a basis (k × nv) as `origin`, oriented like the one before."""
    side = np.sign(orientation(g, basis))
    for i in range(len(g.chosen)):
        copy(basis[i], g.origin[i])
    for c in range(basis.shape[1]):
        g.origin[0, c] *= side
