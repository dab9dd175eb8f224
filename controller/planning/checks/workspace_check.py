"""Points along a walk: whether they stay where the file lets them go, and keep below their speed."""

import math
from collections.abc import Iterator

import numpy as np

from linkwork.arrays import Floats, Integers, Matrix
from linkwork.controller.limit_tolerance import exceeds, passes
from linkwork.controller.planning.checks.kinematic_check import LimitCheck, beyond, share_of_range
from linkwork.controller.planning.walk.walk import Walk
from linkwork.machine import Machine
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.workspace import Model, Workspace

_AXES = "xyz"


@kernel
def points_along(m: Model, w: Workspace, q: Matrix, q1: Matrix, points: Integers, out: Matrix) -> None:
    """out (n × 6 m): place and velocity of each of the m points at each of the n samples of q and q'."""
    for n in range(len(q)):
        for j in range(len(w.q)):
            w.q[j] = q[n, j]
        for j in range(len(w.v)):
            w.v[j] = q1[n, j]
        kinematics(m, w)
        for j in range(len(points)):
            for i in range(3):
                out[n, 6 * j + i] = w.point_position[points[j], i]
                out[n, 6 * j + 3 + i] = w.point_velocity[points[j], i]


def region_demands(machine: Machine, walk: Walk) -> Iterator[LimitCheck]:
    """Demands of a sampled path on the section `workspace`: positions and speeds of its points.

    A point that begins outside may come back, but go no farther out.
    """
    points = np.array([region.index for region in machine.regions], np.int64)
    out = np.zeros((len(walk.s), 6 * len(points)))
    workspace = machine.workspace()
    points_along(*workspace.arguments, walk.q, walk.q1, points, out)
    for m, region in enumerate(machine.regions):
        for axis in range(3):
            values = out[:, 6 * m + axis]
            name = f"{region.name}.{_AXES[axis]}"
            yield from within("workspace", name, "m", values, region.low[axis], region.high[axis])
        if math.isfinite(region.speed):
            speeds = np.linalg.norm(out[:, 6 * m + 3 : 6 * m + 6], axis=1)
            yield _speed(region.name, speeds, region.speed)


def within(
    quantity: str, name: str, unit: str, values: Floats, low: float, high: float
) -> Iterator[LimitCheck]:
    """Demands of values (samples) on the bounds that are finite; quantity, name, unit: of them in reports.

    Values that begin outside may come back, but go no farther out.
    """
    for limit, sign in ((low, -1.0), (high, 1.0)):
        if math.isfinite(limit):
            edge = sign * max(sign * limit, sign * float(values[0]))
            outside = passes(sign * values, sign * edge)
            sample = int(np.argmax(sign * values))
            value, violated = float(values[sample]), bool(outside.any())
            used = share_of_range(value, low, high, sign)
            stretch = math.inf if violated else 1.0
            yield LimitCheck(quantity, name, unit, value, limit, sample, used, stretch, beyond(outside))


def _speed(name: str, speeds: Floats, limit: float) -> LimitCheck:
    sample = int(np.argmax(speeds))
    value = float(speeds[sample])
    used = value / limit
    stretch, over = 1.0, (0, 0, 0)
    if exceeds(value, limit):
        stretch, over = used, beyond(exceeds(speeds, limit))
    return LimitCheck("tool speed", name, "m/s", value, limit, sample, used, stretch, over)
