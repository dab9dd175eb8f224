"""The stepper for people: a state of a maximal model, moved on by steps, with its reactions.

    r += v dt + a dt²/2,  v += a dt,  w' += α' dt,  attitude turned by exp(ω dt + α dt²/2)

after Huang et al. 2000. The gap of every closure stays of third order in dt, without stabilisation, as each
step starts from the gap that the last one left. Velocities and the motion as a whole are of first order,
where the reactions are taken at the beginning of the step; taken half way, what remains of that order comes
from gyroscopic moments, friction and loads, which are held during the step.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats
from linkwork.multibody import functions
from linkwork.multibody.linalg.linear import lu_solve
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import ModelError, Point
from linkwork.multibody.reactions.reactions import Reaction
from linkwork.multibody.tree import quaternions
from linkwork.offline.taylor.expansion import expand, gaps
from linkwork.offline.taylor.rigid_motion import RigidMotion
from linkwork.offline.taylor.taylor_model import MaximalModel

TURN_LIMIT_RAD = 0.3
"""Of this angle, third-order terms are half a per cent."""


@dataclass(frozen=True, eq=False)
class Pose:
    """Pose of a body's frame in the world: origin (m), axes (columns), their velocity (m/s) and rate (rad/s).

    All components are in world axes; `velocity` is that of the origin.
    """

    origin: Floats
    axes: Floats
    velocity: Floats
    angular_velocity: Floats


class SingularStep(ArithmeticError):
    """The system for the reactions cannot be solved: joints repeat each other, or a pose has lost a row.

    The state is that of the last good step. `steps` were made; `pivot_ratio` is smallest over largest pivot.
    """

    def __init__(self, steps: int, pivot_ratio: float) -> None:
        """Keep the evidence."""
        super().__init__(
            f"the reactions are not determined (pivot ratio {pivot_ratio:.3g}, {steps} steps made): closures "
            "repeat each other, as in planar loops of revolute joints, or the pose is singular at rest; "
            "leave redundant closures out, use spherical and cylindrical joints, or another formulation"
        )
        self.steps = steps
        self.pivot_ratio = pivot_ratio


class StepTooLong(ArithmeticError):
    """A body would turn too far in one step for a second-order expansion: `turn_rad` over `limit_rad`.

    The state is that of the last good step; `steps` were made.
    """

    def __init__(self, steps: int, turn_rad: float, limit_rad: float) -> None:
        """Keep the evidence."""
        super().__init__(
            f"without its joints a body turns by {turn_rad:.3g} rad in this step, but no more than "
            f"{limit_rad:g} can be expanded ({steps} steps made): "
            "shorten the step, or give the body more inertia"
        )
        self.steps = steps
        self.turn_rad = turn_rad
        self.limit_rad = limit_rad


class TaylorStepper:
    """Steps of a maximal model by second-order expansion, after Huang et al. 2000.

    State of the rigid bodies (arrays that may be written): `position` (nb × 3, centres of mass, world),
    `attitude` (nb × 4, unit quaternions w x y z), `velocity` (nb × 3, world), `spin` (nb × 3, angular
    velocity, body axes). `effort` (nf): motors along the joints' axes, on b, N m or N, held until changed.
    `coordinate`, `rate` (nf): angles and slides read from the state after each step. Results of the last
    step: `acceleration`, `angular_acceleration` (nb × 3, world), `pivot_ratio`. Order of degrees of freedom:
    `MaximalModel.dof_names`.
    """

    def __init__(
        self, model: MaximalModel, reactions_at: float = 0.5, pivot_ratio_min: float = 2e-15
    ) -> None:
        """All bodies lie at the world's origin until placed.

        `reactions_at`: the part of a step after which the places and directions of the reactions are taken,
        0 (as the paper has it) to 1. Half way, motion is several times more accurate, and a step may start
        in a singular pose.

        A step whose pivot ratio is not above `pivot_ratio_min` raises SingularStep; redundant closures give
        some multiple of round-off, a landing on a singular pose a continuum down to it.
        """
        self.model = model
        self._motion = motion = RigidMotion(model)
        self.position, self.attitude = motion.position[:-1], motion.attitude[:-1]
        self.velocity, self.spin = motion.velocity[:-1], motion.spin[:-1]
        self.force, self.torque, self.effort = motion.force[:-1], motion.torque[:-1], motion.effort
        self.coordinate, self.rate = motion.coordinate, motion.rate
        self.acceleration = motion.acceleration[:-1, :3]
        self.angular_acceleration = motion.acceleration[:-1, 3:]
        self.pivot_ratio = 0.0
        """Smallest over largest pivot, the least of the last call's steps: how far from singular."""
        self._pivot_ratio_min, self._reactions_at, self._turn = pivot_ratio_min, reactions_at, 0.0
        self._reaction = np.zeros((len(model.joint_names), 9))

    def place(self, body: str, pose: Pose) -> None:
        """Put a body, and all that is fixed to it, where its frame has this pose."""
        seat = self.model.seat(body)
        if seat.rigid < 0:
            raise ModelError("this body is fixed to the world", ("bodies", body))
        axes = np.asarray(pose.axes) @ seat.axes.T
        lever = -axes @ seat.origin
        omega = np.asarray(pose.angular_velocity)
        self.position[seat.rigid] = pose.origin + lever
        self.attitude[seat.rigid] = quaternions.from_matrix(axes)
        self.velocity[seat.rigid] = pose.velocity + np.cross(omega, lever)
        self.spin[seat.rigid] = axes.T @ omega
        self._motion.locate()

    def stand_as(self, mechanism: Mechanism, q: npt.ArrayLike, v: npt.ArrayLike) -> None:
        """Place all bodies as in a tree at q (nq) and v (nv); angles are counted as the tree's are."""
        corners = np.vstack([np.zeros(3), np.eye(3)])
        for body in (rigid.members[0] for rigid in self.model.rigids):
            probe = mechanism.bare([Point(str(k), body, corner) for k, corner in enumerate(corners)])
            origin, *tips = (functions.point_position(probe, str(k), q) for k in range(4))
            twist = functions.point_jacobian(probe, "0", q) @ np.asarray(v, dtype=np.float64)
            axes = np.column_stack([tip - origin for tip in tips])
            self.place(body, Pose(origin, axes, twist[3:], twist[:3]))
        for k, name in enumerate(self.model.dof_names):
            if name in mechanism.joint_names:
                self.coordinate[k] = np.asarray(q, dtype=np.float64)[mechanism.joint_index(name)]
        self._motion.locate()

    def pose(self, body: str) -> Pose:
        """Return pose and velocity of a body's frame."""
        seat = self.model.seat(body)
        if seat.rigid < 0:
            return Pose(seat.origin.copy(), seat.axes.copy(), np.zeros(3), np.zeros(3))
        axes = quaternions.to_matrix(self.attitude[seat.rigid])
        omega, lever = axes @ self.spin[seat.rigid], axes @ seat.origin
        velocity = self.velocity[seat.rigid] + np.cross(omega, lever)
        return Pose(self.position[seat.rigid] + lever, axes @ seat.axes, velocity, omega)

    def apply(
        self,
        body: str,
        force_N: npt.ArrayLike = (0.0, 0.0, 0.0),
        at_m: npt.ArrayLike = (0.0, 0.0, 0.0),
        torque_N_m: npt.ArrayLike = (0.0, 0.0, 0.0),
    ) -> None:
        """Add a load to a body: force (3, N, world axes) at a point (3, m, body axes), torque (3, N m, world
        axes).

        It is held, with the lever that it has now, until `release`.
        """
        seat, pose = self.model.seat(body), self.pose(body)
        if seat.rigid < 0:
            return
        force = np.asarray(force_N, dtype=np.float64)
        lever = pose.origin + pose.axes @ np.asarray(at_m, dtype=np.float64) - self.position[seat.rigid]
        self.force[seat.rigid] += force
        self.torque[seat.rigid] += np.cross(lever, force) + np.asarray(torque_N_m, dtype=np.float64)

    def release(self) -> None:
        """Remove all loads of `apply`."""
        self.force[:] = 0.0
        self.torque[:] = 0.0

    def step(self, dt: float, count: int = 1) -> None:
        """Move on by `count` steps of dt seconds, with loads held. Raises SingularStep, StepTooLong.

        Raises ValueError for a step that is not positive, and for states or loads that are not finite.
        """
        _check_time(dt)
        self._motion.locate()
        least = 1.0
        for done in range(count):
            self._react(dt, done)
            self._motion.advance(dt)
            least = min(least, self.pivot_ratio)
        self.pivot_ratio = least

    def evaluate(self, dt: float) -> None:
        """Reactions and accelerations for the state as it is, as a step of dt would find them.

        Raises as `step` does. Much shorter steps than 1e-5 s lose digits: gaps of round-off are divided by
        dt²/2.
        """
        _check_time(dt)
        self._motion.locate()
        self._react(dt, 0)

    def _react(self, dt: float, steps: int) -> None:
        """Reactions and accelerations in a step of dt (s), after `steps` others; raises why it is refused."""
        motion = self._motion
        with np.errstate(all="ignore"):
            system = expand(motion, dt, self._reactions_at)
            unknowns = system.right.copy()
            pivots = np.zeros(len(unknowns), dtype=np.int64)
            self.pivot_ratio = lu_solve(system.matrix, pivots, unknowns)
            motion.acceleration[:] = system.free + np.tensordot(unknowns, system.responses, 1)
            self._reaction[:, 6:] = motion.position[self.model.b.body] + motion.lever_b
            self._reaction[:, :6] = 0.0
            n = len(system.joint)
            np.add.at(self._reaction[:, :6], system.joint, unknowns[:n, None] * system.pulls[:n])
        for name in ("position", "attitude", "velocity", "spin", "force", "torque", "effort"):
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"{name} is not finite: {getattr(self, name).tolist()}")
        if not system.turn <= TURN_LIMIT_RAD:
            raise StepTooLong(steps, system.turn, TURN_LIMIT_RAD)
        if not (self.pivot_ratio > self._pivot_ratio_min and np.isfinite(motion.acceleration).all()):
            raise SingularStep(steps, self.pivot_ratio)

    def system(self, dt: float) -> tuple[Floats, Floats]:
        """Matrix (nr × nr) and right side (nr) whose solution are the reactions in a step of dt from here."""
        self._motion.locate()
        system = expand(self._motion, dt, self._reactions_at)
        return system.matrix, system.right

    def gap(self) -> Floats:
        """Residuals of all closures now (nr; m or rad); 0 for rotors."""
        self._motion.locate()
        return gaps(self._motion)

    def energy(self) -> tuple[float, float]:
        """Kinetic energy (rotors included) and potential energy -Σ m g'r, in joules."""
        self._motion.locate()
        return self._motion.energy()

    def reactions(self) -> tuple[Reaction, ...]:
        """Return the reactions of all joints, as the last step (at its begin) or `evaluate` found them."""
        joined = (c for c in self.model.connections if c.kind != "fixed")
        return tuple(
            Reaction(c.name, c.b.body, c.a.body, row[6:].copy(), row[:3].copy(), row[3:6].copy())
            for c, row in zip(joined, self._reaction, strict=True)
        )


def _check_time(dt: float) -> None:
    if not 0.0 < dt < np.inf:
        raise ValueError(f"a step takes a positive time, found {dt} s")
