"""Projected inverse dynamics in goal coordinates θ (Aghili 2005).

The law asks for the acceleration u that the constraints A v = 0 admit, A u = b, and with which the error of
the goal coordinates obeys ë + G_D ė + G_P e = 0:

    J u = t,     t = θ̈_d + G_D (θ̇_d − J v) + G_P (θ_d − θ) − J̇ v,          J = ∂θ/∂q.

With Λ (nv × degrees of freedom) spanning the admitted velocities and A x = b it is u = x + Λ a with
J Λ a = t − J x. `task_motion` finds a for any number of rows J, also fewer or more than degrees of freedom,
and `free_motion` says what happens in directions that they leave free; `kept_rows` bounds the result.
`motor_allocation` maps u to the motors, Λ' f = Λ' (h + M u − friction); joints without a motor get exactly
zero force. Without constraints Λ is diagonal, x is zero, and f = h + M u − friction.
"""

from typing import Annotated

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.controller.actuation.motor_allocation import SHARE, drive
from linkwork.controller.exchange.goal_task_part import DAMP, HOLD, TaskPart
from linkwork.controller.laws.away_from_singular import AwayFromSingular, away_for, lead_away
from linkwork.controller.laws.feedback import Feedback, PositionFeedback, wanted_acceleration
from linkwork.controller.laws.free_motion import free_reference
from linkwork.controller.laws.law import Reference
from linkwork.controller.laws.law_motors import Motors
from linkwork.machine import Machine
from linkwork.multibody import Workspace
from linkwork.multibody.coordinate_scales import scales
from linkwork.multibody.dynamics.kept_rows import (
    ACCELERATION,
    KeptRows,
    bound_motion,
    farthest_passed,
    keep_between,
    kept_for,
)
from linkwork.multibody.dynamics.task_motion import TaskRows, follow_levels, settle, task_for
from linkwork.multibody.kernels.compiling import block, kernel, part
from linkwork.multibody.kernels.layout import RANK
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.linalg.linear import products
from linkwork.multibody.workspace import Model


class GoalRows(Struct):
    """Rows of goal coordinates at a state: the task that they are, and its units.

    task (k rows, nv); index (k): coordinates; scale (nc): of each coordinate, a length over the machine's.
    """

    m: Model
    w: Workspace
    task: TaskRows
    index: Integers
    scale: Floats


@part
def take_rows(rows: GoalRows, free: int) -> None:
    """The task's rows := J Λ, scaled, with `free` columns."""
    w, t, first = rows.w, rows.task, rows.task.kept
    for i in range(len(rows.index)):
        products(w.J[rows.index[i]], w.basis[:free], t.rows[first + i])
        for j in range(free):
            t.rows[first + i, j] *= rows.scale[rows.index[i]]


@part
def want(rows: GoalRows, acceleration: Floats) -> None:
    """The task's wanted values := acceleration (k) − J x, scaled."""
    w, t, first = rows.w, rows.task, rows.task.kept
    for i in range(len(rows.index)):
        row = rows.index[i]
        t.wanted[first + i] = acceleration[i]
        for c in range(rows.m.nv):
            t.wanted[first + i] -= w.J[row, c] * w.vdot[c]
        t.wanted[first + i] *= rows.scale[row]


@part
def along(rows: GoalRows, free: int, u: Floats) -> None:
    """u (nv) := x + Λ a, for the a (free) that the task has found."""
    w, t = rows.w, rows.task
    for c in range(rows.m.nv):
        u[c] = w.vdot[c]
        for j in range(free):
            u[c] += w.basis[j, c] * t.motion[j]


@part
def smallest_of(t: TaskRows) -> float:
    """Return the smallest singular value, about, of any level."""
    smallest = 1.0
    for level in range(t.n):
        smallest = min(smallest, t.smallest[level])
    return smallest


class MotionDrive(Struct):
    """The rows of the goal, those that are kept between bounds, the arrays of `drive`, and scratch.

    full (nv × nv): the goal's metric; posture (2 × nv): see `free_reference`; room: two vectors (nv), one
    (k), and that of `free_reference`. binding: a result of `keep_between`, 0 where it was not called.
    followed (2 + coordinates): see `LawReport.rows`.
    """

    rows: GoalRows
    kept: KeptRows
    motor: Annotated[Integers, "motors"]
    most: Annotated[Floats, "motors"]
    weight: Annotated[Floats, "motors"]
    preload: Annotated[Floats, "motors"]
    scratch: Floats
    told: Floats
    full: Annotated[Floats, "nv, nv"]
    posture: Annotated[Floats, "2, nv"]
    room: Floats
    binding: Annotated[Integers, "1"]
    followed: Floats
    away: AwayFromSingular


@kernel
def inverse_dynamics(
    given: MotionDrive,
    theta: Floats,
    velocity: Floats,
    acceleration: Floats,
    feedback: Feedback,
    rest: int,
    metric: int,
    damping: float,
    force: Floats,
) -> float:
    """After `evaluate_motion`: `wanted_acceleration`, the motion of the rows, and `drive`.

    theta, velocity, acceleration (k): the `Reference`; rest, metric, damping: of the directions that the
    rows leave free, see `free_reference`. Returns the smallest singular value of the rows, about; 0 where
    nothing decides on a direction, and force (nv; N m or N) is unchanged then.
    """
    rows, room = given.rows, given.room
    m, w, t = rows.m, rows.w, rows.task
    nv, k = m.nv, len(rows.index)
    free = nv - int(w.ranking[RANK])
    u, coast = block(room, 0, 1, nv)[0], block(room, nv, 1, nv)[0]
    task = block(room, 2 * nv, 1, k)[0]
    take_rows(rows, free)
    wanted_acceleration(
        w.theta, w.J, w.Jdv, w.v, feedback, rows.index,
        theta, velocity, acceleration, task,
    )  # fmt: skip
    want(rows, task)
    left = follow_levels(t, free)
    if left > 0:
        if rest == HOLD:
            return 0.0
        _reference(given, free, left, rest, metric, damping)
        settle(t, free, left)
    smallest = smallest_of(t)
    if given.kept.c > 0:
        bound_motion(m, w, given.kept, free, ACCELERATION, w.vdot)
        _keep(given, free, left, metric, damping)
    _report_rows(given, smallest)
    along(rows, free, u)
    drive(m, w, given.motor, given.most, given.weight, given.preload, u, u, given.scratch, force, given.told)
    if given.told[SHARE] != 1.0:  # a motor's limit: what is beyond it is taken off u, not off coasting
        for i in range(k):
            task[i] = -w.Jdv[rows.index[i]]
        want(rows, task)
        left = follow_levels(t, free)
        if left > 0:
            settle(t, free, left)
        if given.kept.c > 0:
            _keep(given, free, left, metric, damping)
        along(rows, free, coast)
        drive(
            m, w, given.motor, given.most, given.weight, given.preload,
            u, coast, given.scratch, force, given.told,
        )  # fmt: skip
    return smallest


@part
def _report_rows(given: MotionDrive, smallest: float) -> None:
    """Write what became of the rows; those that are kept between bounds do not count."""
    rows, t, told = given.rows, given.rows.task, given.followed
    told[0], told[1] = 0.0, smallest
    for level in range(1 if given.kept.c > 0 else 0, t.n):
        told[0] += t.rank[level]
    for i in range(len(rows.index)):
        place = 2 + rows.index[i]
        if place < len(told):
            told[place] = t.given_up[t.kept + i] / rows.scale[rows.index[i]]


@part
def _reference(given: MotionDrive, free: int, left: int, rest: int, metric: int, damping: float) -> None:
    """Metric and reference of the motions, `left` of which the task leaves free."""
    rows, nv = given.rows, given.rows.m.nv
    scratch = block(given.room, 2 * nv + len(rows.index), 1, 2 * nv * nv + nv)[0]
    if given.away.on > 0:
        lead_away(rows.m, rows.w, given.away, rows.task, free, left, damping, given.posture)
    free_reference(
        rows.m, rows.w, rows.task, free, rest, metric, damping, given.motor, given.weight, given.full,
        given.posture, scratch,
    )  # fmt: skip


@part
def _keep(given: MotionDrive, free: int, left: int, metric: int, damping: float) -> None:
    """Bring the task's motion between the bounds; `left` directions of it were free."""
    t, kept = given.rows.task, given.kept
    if left == 0 and farthest_passed(t, kept, free) >= 0:
        _reference(given, free, 0, DAMP, metric, damping)
    given.binding[0] = keep_between(t, kept, free)


class ProjectedInverseDynamics(PositionFeedback):
    """The law for one machine; `hold` uses it too, with a reference at rest."""

    def __init__(self, machine: Machine, motors: Motors) -> None:
        super().__init__(machine)
        self._motors, self._none = motors, np.zeros((machine.mechanism.nv,) * 2)
        self._mechanism, self._trial = machine.mechanism, machine.workspace()
        self._given: MotionDrive | None = None
        self._for: tuple[Workspace | None, Integers | None, TaskPart | None] = (None, None, None)
        """The workspace, the coordinates and the task that `_given` is for."""

    def __call__(self, ahead: Workspace, reference: Reference, force: Floats) -> float:
        """Write the generalized force (nv; N m or N) that the motors should apply.

        Returns the smallest singular value of the goal's rows, in common units.
        """
        motors, part, (work, index, known) = self._motors, reference.task, self._for
        given = self._given
        if given is None or ahead is not work or reference.index is not index or part is not known:
            given = self._given = self._fit(ahead, reference)
        least: float = inverse_dynamics(
            given, reference.theta, reference.velocity, reference.acceleration,
            self._feedback, reference.rest, part.metric, part.damping_per_s, force,
        )  # fmt: skip
        if least > 0.0:
            motors.report_allocation(force)
            if motors.bears:
                u, coast = given.room[: 2 * len(ahead.v)].reshape(2, -1)
                motors.relieve_motion(ahead, u, coast, force)
            motors.report.binding = int(given.binding[0])
        return least

    def _fit(self, ahead: Workspace, reference: Reference) -> MotionDrive:
        """Return the law's arguments for the rows of a reference."""
        motors, part, index, nv = self._motors, reference.task, reference.index, len(ahead.v)
        levels = part.levels if len(part.levels) == len(index) else np.zeros(len(index), np.int64)
        scale = scales(self._mechanism, range(len(self._mechanism.coordinate_names)))[0]
        task = task_for(nv, levels.tolist(), part.keep.shape[1])
        rows = GoalRows(m=ahead.model, w=ahead, task=task, index=index, scale=scale)
        self._for, self.used = (ahead, reference.index, part), reference.index
        return MotionDrive(
            rows=rows, kept=kept_for(nv, part.keep, scale), binding=np.zeros(1, np.int64),
            followed=motors.report.rows,
            away=away_for(self._trial, index, scale, motors.index, on=part.avoids),
            motor=motors.index, most=motors.most, weight=motors.weight, preload=motors.preload,
            scratch=motors.scratch, told=motors.told, full=part.full if part.full.size else self._none,
            posture=part.posture.copy() if part.posture.size else np.zeros((2, nv)),
            room=np.zeros(3 * nv + len(index) + 2 * nv * nv),
        )  # fmt: skip
