"""The end of every tick: finite check, filter, rate limit, saturation, finite check. Always in that order.

Before that the law's effort is reduced by the estimated disturbance (disturbance_observer.py), corrected for
its own effect (laws/feedback.py), and compensated for drive lag (motor_lag.py).
"""

from enum import IntEnum, IntFlag
from typing import Annotated

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.kernels.structs import Struct


class Limited(IntFlag):
    """Limits that applied to a command. None of these is a fault.

    EFFORT: a motor is at its largest effort; the direction of the wanted motion is kept. EFFORT_RATE: the
    effort-rate limit is reached; all changes are scaled by the same factor. LEVERAGE: the pose is close to an
    actuator singularity. PATH_RATE: the goal is slowed down on its path, because the motors could not follow.
    CONSTRAINT_FORCE: a bearing is above its limit. STREAM: a stream is held back from its set-points.
    JOG_POSE: a jog is held back from a pose in which the motors cannot control or hold the machine.
    HEAT: the largest effort of a motor is lowered, because it is hot.
    KEEP: a goal's coordinate is at a bound of its `keep`.
    """

    NOTHING = 0
    EFFORT = 1
    EFFORT_RATE = 2
    JOG_VELOCITY = 4
    JOG_POSITION = 8
    LEVERAGE = 16
    PATH_RATE = 32
    CONSTRAINT_FORCE = 64
    STREAM = 128
    JOG_POSE = 256
    HEAT = 512
    KEEP = 1024


class EffortLimits(Struct):
    """The arrays of `limit_effort`: force per joint (N m or N), the joint of each motor; then per motor.

    most: the largest effort; step: its largest change in a tick; disturbance, level and lead of its drive;
    wanted: written.
    """

    force: Floats
    motor: Annotated[Integers, "motors"]
    most: Annotated[Floats, "motors"]
    step: Annotated[Floats, "motors"]
    disturbance: Annotated[Floats, "motors"]
    level: Annotated[Floats, "motors"]
    lead: Annotated[Floats, "motors"]
    wanted: Annotated[Floats, "motors"]


@kernel
def limit_effort(
    given: EffortLimits,
    share: float,
    lag: float,
    blend: float,
    acted: Floats,
    last: Floats,
    sent: Floats,
    out: Floats,
) -> int:
    """Convert the law's force (nv) to the effort sent (motors; N m or N); return Limited bits.

    `share` scales the law's effort while brakes change, `lag` is the law's correction
    for its own effect (0 where it does not act), `blend` is the first-order filter's share of the new value,
    1 without a filter. `acted` (motors) is the effort that acts until the command does, `last` the command
    before. Writes wanted, and the command to `sent` and `out` (motors); returns −1 − i when entry i is not
    finite.
    """
    limited = 0
    force, motor, most, largest_step = given.force, given.motor, given.most, given.step
    disturbance, level, lead, wanted = given.disturbance, given.level, given.lead, given.wanted
    for i in range(len(motor)):
        effort = (force[motor[i]] - disturbance[i] + lag * acted[i]) / (1.0 + lag)
        wanted[i] = share * ((effort - level[i]) * lead[i] + level[i])
        if not np.isfinite(wanted[i]):
            return -1 - i
    share_of_change = 1.0
    for i in range(len(motor)):
        change, step = abs(blend * (wanted[i] - last[i])), largest_step[i]
        if change > step:
            share_of_change, limited = min(share_of_change, step / change), limited | 2
    for i in range(len(motor)):
        effort, top = wanted[i], most[i]
        if blend < 1.0 or share_of_change < 1.0:
            effort = last[i] + share_of_change * blend * (wanted[i] - last[i])
        if effort > top:
            effort, limited = top, limited | 1
        elif effort < -top:
            effort, limited = -top, limited | 1
        if not np.isfinite(effort):
            return -1 - i
        sent[i] = out[i] = effort
    return limited


def filter_share(cut_off_hz: float, period_s: float) -> float:
    """Share of the new value in a first-order low-pass of this cut-off, held over one period; 1 when the
    cut-off is 0 (off).
    """
    return 1.0 if cut_off_hz <= 0.0 else float(-np.expm1(-2.0 * np.pi * cut_off_hz * period_s))


class HeldBack(IntEnum):
    """Limits that keep a streamed reference from its target."""

    NOTHING = 0
    POSITION = 1
    """Position limit of a streamed coordinate."""
    VELOCITY = 2
    ACCELERATION = 3
    JERK = 4
    JOINT_POSITION = 5
    """Position limit of another joint."""
    JOINT_VELOCITY = 6
    REGION = 7
    """A point would leave its box in the section `workspace`."""
    POINT_SPEED = 8
    SINGULAR = 9
    """A pose in which the streamed coordinates do not determine the machine's motion."""
    LEVERAGE = 10
    """A pose in which the motors cannot control one motion."""
    EFFORT = 11
    """A motor would need more than its largest effort."""
    INERTIA = 12
    """A pose in which joints move against each other with hardly any inertia."""
