"""Jogs: velocity by hand, to rest when it is not repeated, within the limits that hold for streams too.

The section `workspace` of the machine file also limits the speeds of points.
"""

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.motion.limits.effort_limits import HeldBack, Limited
from linkwork.controller.motion.streams.planned_reference import PlannedReference
from linkwork.controller.motion.streams.stream_limiter import StreamLimiter
from linkwork.controller.motion.streams.stream_limits import SPEED_MARGIN
from linkwork.machine import Machine
from linkwork.multibody import Workspace
from linkwork.multibody.tree.kinematics import kinematics

_LIMITED = {
    HeldBack.POSITION: int(Limited.JOG_POSITION),
    HeldBack.JOINT_POSITION: int(Limited.JOG_POSITION),
    HeldBack.REGION: int(Limited.JOG_POSITION),
    HeldBack.JOINT_VELOCITY: int(Limited.JOG_VELOCITY),
    HeldBack.POINT_SPEED: int(Limited.JOG_VELOCITY),
    HeldBack.SINGULAR: int(Limited.JOG_POSE),
    HeldBack.LEVERAGE: int(Limited.JOG_POSE),
    HeldBack.EFFORT: int(Limited.JOG_POSE),
    HeldBack.INERTIA: int(Limited.JOG_POSE),
}


class Jog(PlannedReference):
    """The jog of one machine, used by one after another (`begin`).

    `estimate` is the workspace that the tick keeps current. `limited`: Limited bits of this tick.
    """

    def __init__(self, machine: Machine, limiter: StreamLimiter, estimate: Workspace) -> None:
        super().__init__(limiter)
        self._points = WorkspaceLimits(machine, estimate) if machine.regions else None
        self._fastest = SPEED_MARGIN * np.array([joint.velocity for joint in machine.joints])
        self._motions, self._J = estimate.basis, estimate.J
        self._wanted = np.zeros(len(limiter.state))
        self._expires_s = -np.inf
        self.limited = 0

    def begin(self, index: NDArray[np.int64], theta: Floats, time_s: float) -> bool:
        """Begin at rest at theta (k); return False where the coordinates do not determine the motion."""
        self._wanted = np.zeros(len(index))
        return self.rest_at(index, theta, time_s)

    def want(self, velocity: Floats, until_s: float) -> bool:
        """Set the velocity (k; rad/s or m/s) until this device time. Return True if one was clipped to its
        limit.
        """
        most = self.limiter.limits[:, 0]
        self._wanted, self._expires_s = np.clip(velocity, -most, most), until_s
        return bool(np.any(self._wanted != velocity))

    def stop(self) -> None:
        """Come to rest."""
        self._wanted[:], self._expires_s = 0.0, -np.inf

    def advance(self, time_s: float) -> None:
        """Move to the device time of this tick; past the dead-man time the jog comes to rest."""
        self.limited = 0
        if time_s >= self._expires_s:
            self._wanted[:] = 0.0
        super().advance(time_s)
        self.limited |= _LIMITED.get(self.limiter.met, 0)

    def aim(self) -> bool:
        """Write the target: where the reference is, with the velocity asked for, or a share of it."""
        share = self._share() if self._wanted.any() else 1.0
        if share < 1.0:
            self.limited |= int(Limited.JOG_VELOCITY)
        now = self.limiter.now
        now[:, 0] = self.limiter.state[:, 0]
        now[:, 1] = share * self._wanted
        now[:, 2] = 0.0
        self.limiter.then[:] = now
        return False

    def _share(self) -> float:
        """The largest share of the velocities asked for that joints and points may reach, up to 1."""
        motions = self._motions[: len(self._wanted)]
        try:
            v = motions.T @ np.linalg.solve(self._J[self.index] @ motions.T, self._wanted)
        except np.linalg.LinAlgError:
            return 0.0
        share = min(1.0, float(np.min(self._fastest / np.maximum(np.abs(v), 1e-12))))
        return share if self._points is None else min(share, self._points.share(v))

    @property
    def resting(self) -> bool:
        """Whether the jog has come to rest and no velocity is asked for."""
        return not self._wanted.any() and self.still


_SPEED_SHARE = 0.96
"""Of the largest speed that jogs aim at: they are checked a little ahead."""


class WorkspaceLimits:
    """The points of one machine; `estimate` is the workspace that the tick keeps current."""

    def __init__(self, machine: Machine, estimate: Workspace) -> None:
        self._estimate, self._work = estimate, machine.workspace()
        self._points = np.array([region.index for region in machine.regions], np.int64)
        self._velocity = self._work.point_velocity
        self._speed = np.array([region.speed for region in machine.regions])

    def share(self, v: Floats) -> float:
        """The largest factor, up to 1, on the joints' velocities v (nv) that keeps every point's speed."""
        work = self._work
        work.q[:], work.v[:] = self._estimate.q, v
        kinematics(*work.arguments)
        speeds = np.linalg.norm(self._velocity[self._points], axis=1)
        return float(min(1.0, np.min(_SPEED_SHARE * self._speed / np.maximum(speeds, 1e-12))))
