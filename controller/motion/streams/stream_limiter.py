"""The limiter of a streamed reference: `stream_step` for one machine, and what held it back."""

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.actuation.motor_conditioning import scratch_words
from linkwork.controller.motion.limits.effort_limits import HeldBack
from linkwork.controller.motion.references.path_rate import TimeScaling
from linkwork.controller.motion.streams.stream_limits import HOLD, TRIED, StreamStep
from linkwork.controller.motion.streams.stream_steps import SHARE_OF_LIMITS, begin_stream, stream_step
from linkwork.machine import Machine
from linkwork.machine.checks.controllability import WEAK_LEVERAGE
from linkwork.multibody import Workspace
from linkwork.multibody.coordinate_scales import SINGULAR_BELOW, scales

DEPENDENT_BELOW = 1e-6
"""Distance from singular poses below which coordinates count as dependent."""
LAG = 1e-4
"""rad or m between reference and target from which a limit of a coordinate counts as holding it back."""
CAP_FALL, CAP_LEAST, CAP_RISE_S = 0.8, 0.02, 0.5
"""The share of a coordinate's velocity limit in use: how it falls in a tick in which a limit of the pose
stops the coordinate, its least value, and the time in which it rises from 0 to 1."""
_BIG = (1e3, 1e4, 1e6)
"""Limits of velocity, acceleration and jerk of coordinates for which the machine file gives none; those of
acceleration and jerk become what the motors allow."""


class StreamLimiter:
    """The limited state of the streamed coordinates, step by step.

    `estimate` is the workspace that the tick keeps current. held_back, held_index: what keeps the state from
    its target, and the coordinate, joint, motor or point concerned (-1: none). easing: share of the
    acceleration limits in use while the motors are at their largest effort.
    """

    def __init__(self, machine: Machine, estimate: Workspace) -> None:
        mechanism, k = machine.mechanism, machine.dof
        nv, motors = mechanism.nv, len(machine.motors)
        self._machine, self._estimate = machine, estimate
        self.period_s = machine.period_s
        self._wraps = np.array(mechanism.coordinate_wraps, np.bool_)
        regions = [(*region.low, *region.high, region.speed) for region in machine.regions]
        model, work = machine.workspace().arguments
        self._arrays = StreamStep(
            {"k": k, "nq": mechanism.nq, "nv": nv},
            m=model,
            w=work,
            points=np.array([region.index for region in machine.regions], np.int64),
            regions=np.array(regions).reshape(-1, 7),
            motor=np.array([motor.index for motor in machine.motors], np.int64),
            most=np.array([motor.max_effort for motor in machine.motors]),
            weight=machine.effort_weights,
            levers=np.zeros(max(scratch_words(k, motors), 1)),
        )
        for ones in (self._arrays.rows, self._arrays.columns, self._arrays.limits, self._arrays.caps):
            ones[:] = 1.0
        self._here = np.zeros(4 * len(regions))
        self.index: NDArray[np.int64] = self._arrays.chosen
        self.easing = TimeScaling()
        self.held_back, self.held_index = HeldBack.NOTHING, -1
        self.met = HeldBack.NOTHING
        """The limit that the last step met, whether or not the state is at its target."""

    @property
    def state(self) -> Floats:
        """Position, velocity and acceleration of the coordinates (k × 3): a view."""
        return self._arrays.state

    @property
    def now(self) -> Floats:
        """The target at the state's time (k × 3), written by the caller."""
        return self._arrays.now

    @property
    def then(self) -> Floats:
        """The target a period later (k × 3), written by the caller."""
        return self._arrays.then

    @property
    def limits(self) -> Floats:
        """Velocity, acceleration, jerk, lowest and highest position of each coordinate (k × 5)."""
        return self._arrays.limits

    def begin(self, index: NDArray[np.int64], theta: Floats) -> bool:
        """Begin at rest at theta (k; rad or m) of the coordinates `index` (k).

        Returns False where they are not independent at the machine's pose.
        """
        arrays, machine = self._arrays, self._machine
        self.index = index
        arrays.chosen[:], arrays.wraps[:] = index, self._wraps[index]
        arrays.rows[:], arrays.columns[:] = scales(machine.mechanism, index.tolist())
        arrays.state[:] = 0.0
        arrays.state[:, 0] = theta
        self._set_limits(index)
        arrays.pose[:] = self._estimate.q
        self.easing = TimeScaling()
        arrays.caps[:], arrays.told[TRIED] = 1.0, 0.0
        self.held_back, self.held_index = HeldBack.NOTHING, -1
        begun: int = begin_stream(self._arrays)
        return bool(begun) and bool(arrays.told[HOLD] >= DEPENDENT_BELOW)

    def _set_limits(self, index: NDArray[np.int64]) -> None:
        arrays, machine = self._arrays, self._machine
        for row, number, at in zip(arrays.limits, index.tolist(), arrays.state[:, 0], strict=True):
            given = machine.coordinates[number]
            rates = (given.velocity, given.acceleration, given.jerk)
            row[:3] = [SHARE_OF_LIMITS * min(each, most) for each, most in zip(rates, _BIG, strict=True)]
            row[3:] = min(given.position[0], at), max(given.position[1], at)
        names, streamed = machine.mechanism.joint_names, {machine.coordinates[i].name for i in index}
        for row, joint, name in zip(arrays.joints, machine.joints, names, strict=True):
            row[:] = (-np.inf, np.inf, np.inf) if name in streamed else (*joint.position, joint.velocity)

    def step(self, *, follows: bool) -> None:
        """Advance the state by one period towards the target. follows: whether that is of set-points."""
        arrays, period = self._arrays, self.period_s
        stream_step(self._arrays, self._here, period, self.easing.told, SINGULAR_BELOW, WEAK_LEVERAGE)
        limit, index = HeldBack(int(arrays.told[0])), int(arrays.told[1])
        self.met = limit
        forbidden = limit > HeldBack.JERK
        caps = arrays.caps
        caps[:] = np.where(
            arrays.stopped,
            np.maximum(CAP_FALL * caps, CAP_LEAST),
            np.minimum(1.0, caps + period / CAP_RISE_S),
        )
        late = bool(np.any(np.abs(arrays.then[:, 0] - arrays.state[:, 0]) > LAG))
        if not forbidden and not (late and follows):
            limit = HeldBack.NOTHING
        if limit is HeldBack.NOTHING:
            if late and self.easing.active:
                limit = HeldBack.EFFORT
            index = -1
        elif limit <= HeldBack.JERK:
            index = int(self.index[index])
        elif limit in (HeldBack.REGION, HeldBack.POINT_SPEED):
            index = int(arrays.points[index])
        elif limit in (HeldBack.SINGULAR, HeldBack.LEVERAGE, HeldBack.INERTIA):
            index = -1
        self.held_back, self.held_index = limit, index
