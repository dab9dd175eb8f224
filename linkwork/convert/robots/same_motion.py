"""Comparison of a simplified robot with the robot as it was read: accelerations of the links that both have.

Random closed poses of the one and velocities of the other are passed on by the places of common links; both
are driven by the same motors and springs.
"""

import math
from contextlib import suppress

import numpy as np

from linkwork.arrays import Floats
from linkwork.convert.robots.machine_writing import MachineWriter
from linkwork.convert.robots.pose_search import random_poses
from linkwork.convert.robots.proof import built, with_any_inertias
from linkwork.convert.robots.robot_model import RobotModel
from linkwork.machine import Machine, MachineError
from linkwork.machine.building.initial_assembly import admitted_velocities
from linkwork.machine.building.kept_values import balls
from linkwork.machine.loading import mechanism_of
from linkwork.multibody.assembly.assembly import AssemblyError, assemble
from linkwork.multibody.formulations.acceleration import acceleration
from linkwork.multibody.formulations.evaluation import constraint_evaluation
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import ModelError, Point
from linkwork.multibody.tree.kinematics import kinematics, point_jacobian
from linkwork.multibody.tree.rotations import move_by

STATES = 3
_CLOSED = 1e-7
"""Residual (typical lengths, rad) of closed loops, which rounded redundant closures may have."""
_ON_THE_WAY, _STEPS, _MET = 10, 20, 1e-13
"""Poses from zero to the compared one, steps to reach each, and their residual (m)."""


def motion_difference(source: RobotModel, robot: RobotModel, machine: Machine, seed: int = 1) -> float:
    """Return the largest difference of accelerations, relative to the largest acceleration (m/s²).

    source: as it was read; robot: simplified, of which the machine was made. NaN where no common closed
    pose is found.
    """
    try:
        return _difference(source, robot, machine, seed)
    except (MachineError, ModelError, AssemblyError, RuntimeError, np.linalg.LinAlgError):
        return math.nan  # the literal robot is no machine, or is singular


def _difference(source: RobotModel, robot: RobotModel, machine: Machine, seed: int) -> float:
    common = [name for name in robot.links if name in source.links and robot.carrier(name) is not None]
    size = max([1e-3, *(float(np.abs(each.pose.at).max()) for each in source.joints.values())])
    literal = with_any_inertias(source)
    one = _Placed(literal, built(MachineWriter(literal).text()), common, size)
    # the controller's model holds idle degrees of freedom
    plain = mechanism_of(machine.source_text) if machine.assembly.idle else machine.mechanism
    other = _Placed(robot, plain, common, size)
    rng = np.random.default_rng(seed)
    closed, worst = one.closed(rng), 0.0
    if closed is None:
        return math.nan
    for _ in range(STATES):
        here = one.near(closed, rng)
        there = other.followed([one.places(each) for each in one.way_to(here)])
        if there is None:
            return math.nan
        ways = other.ways(there)
        v = ways @ rng.normal(size=ways.shape[1])
        efforts = {name: float(rng.normal()) for name in robot.motors or ()}
        wanted = one.accelerations(here, one.velocities(here, other.jacobian(there) @ v), efforts)
        found = other.accelerations(there, v, efforts)
        worst = max(worst, float(np.abs(found - wanted).max(initial=0.0) / max(1.0, np.abs(wanted).max())))
    return worst


class _Placed:
    """A mechanism with three points on each of the given links."""

    def __init__(self, robot: RobotModel, plain: Mechanism, links: list[str], size: float) -> None:
        self._writer = MachineWriter(robot)
        self._writer.text()  # finds the names
        corners = size * np.vstack([np.zeros(3), np.eye(3)[:2]])
        names = [self._writer.names.of("link", name) for name in links]
        points = [Point(f"{name}/{k}", name, corner) for name in names for k, corner in enumerate(corners)]
        self._points = len(points)  # the first ones; springs have others
        self._mechanism = Mechanism.build(
            plain.bodies, plain.joints, plain.gravity_m_s2, [*points, *plain.points], (), plain.constraints,
            rank_tolerance=plain.rank_tolerance, elements=plain.elements,
        )  # fmt: skip
        self._work = self._mechanism.workspace()

    def near(self, q: Floats, rng: np.random.Generator) -> Floats:
        """Return a closed pose (nq) near q."""
        near, ways = q.copy(), self.ways(q)
        move_by(self._mechanism.model, near, ways @ rng.normal(size=ways.shape[1]), 0.3)
        try:
            return assemble(self._mechanism, near, tolerance=_CLOSED).q
        except AssemblyError:
            return q

    def ways(self, q: Floats) -> Floats:
        """Return a basis of the velocities that the closures admit."""
        return admitted_velocities(self._mechanism, q)

    def places(self, q: Floats) -> Floats:
        """Return the positions of all points, m."""
        self._work.q[:] = q
        kinematics(*self._work.arguments)
        return np.asarray(self._work.point_position[: self._points].ravel().copy())

    def jacobian(self, q: Floats, v: Floats | None = None) -> Floats:
        """Return the Jacobian of `places`; with v (nv) its rate times v is a last column."""
        work, nv = self._work, self._mechanism.nv
        work.q[:], work.v[:] = q, 0.0 if v is None else v
        kinematics(*work.arguments)
        found = np.empty((self._points, 3, nv + 1))
        rows, rate = np.empty((6, nv)), np.empty(6)
        for k in range(self._points):
            point_jacobian(*work.arguments, k, rows, rate)
            found[k, :, :nv], found[k, :, nv] = rows[3:], rate[3:]
        table = found.reshape(-1, nv + 1)
        return table[:, :nv] if v is None else table

    def way_to(self, q: Floats) -> list[Floats]:
        """Return poses (nq) from zero to q, whose loops are open on the way."""
        zero = self._mechanism.workspace().q.copy()
        found = []
        for share in np.linspace(0.0, 1.0, _ON_THE_WAY):
            here = zero + share * (q - zero)
            for ball in balls(self._mechanism):
                own = [*range(ball.place, ball.place + 3), ball.scalar]
                here[own] /= np.linalg.norm(here[own])
            found.append(here)
        return found

    def closed(self, rng: np.random.Generator) -> Floats | None:
        """Return a pose (nq) with closed loops, from zero or from random poses; None if none is found."""
        mechanism = self._mechanism
        zero, unlimited = np.zeros(mechanism.nv), np.full((mechanism.nv, 2), np.inf)
        for q in random_poses(mechanism, zero, unlimited, rng):
            with suppress(AssemblyError):
                return assemble(mechanism, q, tolerance=_CLOSED).q
        return None

    def followed(self, way: list[Floats]) -> Floats | None:
        """Return the pose whose points are at the last of these places; None if the loops are open there.

        Both robots are the same at zero: from there the points are followed.
        """
        mechanism = self._mechanism
        q = mechanism.workspace().q.copy()
        for places in way:
            for _ in range(_STEPS):
                off = places - self.places(q)
                if np.abs(off).max(initial=0.0) < _MET:
                    break
                rows = self.jacobian(q)
                step = np.asarray(
                    np.linalg.lstsq(rows.T @ rows, rows.T @ off, rcond=1e-12)[0], dtype=np.float64
                )
                move_by(mechanism.model, q, step, 1.0)
        closures = constraint_evaluation(mechanism, q, np.zeros(mechanism.nv)).phi
        off = places - self.places(q)
        return q if max(np.abs(off).max(initial=0.0), np.abs(closures).max(initial=0.0)) < _CLOSED else None

    def velocities(self, q: Floats, rates: Floats) -> Floats:
        """Return the admitted velocity with which the points have these velocities (m/s)."""
        ways = self.ways(q)
        return np.asarray(ways @ np.linalg.lstsq(self.jacobian(q) @ ways, rates, rcond=1e-9)[0])

    def accelerations(self, q: Floats, v: Floats, efforts: dict[str, float]) -> Floats:
        """Return the accelerations of all points (m/s²) with these efforts of motors (N m or N)."""
        mechanism = self._mechanism
        effort = np.zeros(mechanism.nv)
        for name, value in efforts.items():
            effort[mechanism.joint_index(self._writer.names.of("joint", name))] = value
        vdot = acceleration(mechanism, q, v, effort).vdot
        rows = self.jacobian(q, v)
        return np.asarray(rows[:, :-1] @ vdot + rows[:, -1])
