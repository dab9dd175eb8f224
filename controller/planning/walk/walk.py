"""The walk along a path: at every sample the machine's pose, speeds, accelerations and efforts, at full
speed.

At the path parameter s, with rate r = ds/dt and its change s¨, the motors must give

    effort = rest + motion r² + drag r + friction(r) + inertia s¨

    rest = h(q, 0),   motion = M q'' + h₂(q, q'),   drag = h₁(q, q'),   inertia = M q'

where ' is d/ds, h₂ the part of h(q, q') - h(q, 0) that is even in the speed (Coriolis) and h₁ the odd one
(dampers and applied forces). So one walk at r = 1 gives the efforts at every speed. Applied forces that
depend on time are taken at the times of this walk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats, Integers
from linkwork.controller.exchange.goal_force_part import ForcePart
from linkwork.controller.laws.away_from_singular import away_for
from linkwork.controller.laws.hybrid import opened_basis
from linkwork.controller.motion.references.reference import newly_fixed
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.walk.crossing import Crossing, cross
from linkwork.controller.planning.walk.walk_samples import WalkedTask, room_for, walk_samples
from linkwork.machine import Machine
from linkwork.machine.constraint_sets import under
from linkwork.multibody import Workspace
from linkwork.multibody.closure.rank import admitted, factor
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.coordinate_scales import scales
from linkwork.multibody.dynamics.kept_rows import kept_for
from linkwork.multibody.dynamics.reduced_mass import NEARLY_LOST
from linkwork.multibody.dynamics.task_motion import task_for
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.kernels.layout import LOST, RANK, SMALLEST
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.rotations import move_by

STEP_S = 0.005
MOST_SAMPLES = 400_000
FEWEST_SAMPLES = 200
"""Also of the shortest path: a peak of its jerk is met within a thousandth, slowed down or not."""
NEAR_A_BRANCH = 5e-3
"""Distance (scaled, about radians) to a pose where branches meet, below which a path may not end."""
PROBE = 1e-3
"""Length of the steps (scaled) by which the slope of the smallest singular value is found."""


@dataclass(frozen=True)
class Walk:
    """Results at n samples; derivatives are with respect to s.

    `s`, `piece` (n). `q` (n × nq), `q1`, `q2` (n × nv): joints and their derivatives; `inertia`, `rest`,
    `motion`, `drag` (None without springs and applied forces): efforts at the joints, see above; `d0` …
    `d3`: the goal coordinates and their derivatives (n × k). `motors` (n × motors × nv): takes forces on all
    joints to efforts of the motors that move the machine alike, None where every joint has its own.
    `determined`: whether these efforts are the only ones, because forces of constraints are wanted too;
    `carried` (n × nv): these forces on all joints, which `rest` has without them.
    `ends_at_branch`: whether branches of the closures meet at the path's end. `hold` (n): a lower bound of
    the smallest singular value of the scaled Jacobian. `crossings`: changes of constraints, in their order,
    the last one perhaps at one that is impossible. `closures` (n): smallest singular value of the
    closures' scaled rows, of their ordinary size; `leverage` (n): that of the motors' map
    (motor_conditioning.py); both None without closures.
    `shares` (n): least share of a joint's inertia that is left while the others yield (`free_inertia`), at a
    sample or between it and its neighbours. `missed` (n × k): by how much the goal coordinates are missed,
    where they contradict each other. `reached`: samples that could be reached, n when all of them.
    """

    s: Floats
    piece: Integers
    q: Floats
    q1: Floats
    q2: Floats
    inertia: Floats
    rest: Floats
    motion: Floats
    d0: Floats
    d1: Floats
    d2: Floats
    d3: Floats
    hold: Floats
    reached: int
    motors: Floats | None = None
    drag: Floats | None = None
    determined: bool = False
    carried: Floats | None = None
    ends_at_branch: bool = False
    closures: Floats | None = None
    leverage: Floats | None = None
    missed: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    shares: Floats = field(default_factory=lambda: np.zeros(0))
    crossings: tuple[Crossing, ...] = ()

    def since(self, s: float) -> Walk:
        """The samples from the last one before s on."""
        first = max(int(np.searchsorted(self.s, s, "right")) - 1, 0)
        if first == 0:
            return self
        changed: dict[str, Any] = {"reached": self.reached - first}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, np.ndarray):
                changed[each.name] = value[first:]
        return replace(self, **changed)

    def under(self, machine: Machine, sample: int) -> Machine:
        """The machine under the constraints that hold at a sample; `machine`: where the walk begins."""
        for crossing in self.crossings:
            if crossing.sample <= sample:
                machine = crossing.machine
        return machine

    def over(self, first: Floats, second: Floats) -> Walk:
        """The walk with derivatives with respect to another parameter r; s' and s'' (n each) are ds/dr and
        d²s/dr². Jerks stay those of s.
        """
        a, b = first[:, None], second[:, None]
        return replace(
            self,
            q1=self.q1 * a,
            q2=self.q2 * a**2 + self.q1 * b,
            inertia=self.inertia * a,
            motion=self.motion * a**2 + self.inertia * b,
            drag=None if self.drag is None else self.drag * a,
            d1=self.d1 * a,
            d2=self.d2 * a**2 + self.d1 * b,
        )

    @property
    def joined(self) -> NDArray[np.bool_]:
        """Whether sample i and the next one lie on the same piece, one behind the other (n - 1)."""
        return np.asarray((np.diff(self.piece) == 0) & (np.diff(self.s) > 0.0))


def samples(knots: Floats) -> tuple[Integers, Floats]:
    """Return piece and offset (n each) of the samples: both ends of every piece, and at most 5 ms apart
    between them.

    On paths above half an hour they are farther apart, on paths below a second closer.
    """
    lengths = np.diff(knots)
    step = min(max(STEP_S, float(knots[-1]) / MOST_SAMPLES), float(knots[-1]) / FEWEST_SAMPLES)
    parts = np.ceil(lengths / step - 1e-9).astype(np.int64).clip(1)
    piece = np.repeat(np.arange(len(lengths)), parts + 1)
    first = np.concatenate([[0], np.cumsum(parts + 1)[:-1]])
    number = np.arange(len(piece)) - first[piece]
    return piece, lengths[piece] * (number / parts[piece])


def walk(
    machine: Machine,
    path: Path,
    q: Floats,
    time_s: float = 0.0,
    at: tuple[Integers, Floats] | None = None,
) -> Walk:
    """Walk along a path, from the joint positions q (nq; rad or m; warm start of the inverse kinematics).

    The walk begins at the machine time `time_s`, for applied forces that depend on it. Where the goal's
    events change the constraints it goes through the impulse, and on under the new ones. at: piece and offset
    (n each) of the samples, ascending; default: those of `samples`.
    """
    piece, offset = samples(path.knots) if at is None else at
    switches = path.task.switches
    if not len(switches):
        return _walk(machine, path, piece, offset, q, time_s)
    places = np.searchsorted(path.knots[piece], switches[1:, 0], "left").tolist()
    ends, v, fixed = [*places, len(piece)], np.zeros(machine.mechanism.nv), None
    found: list[Walk] = []
    crossings: list[Crossing] = []
    first = 0
    for number, last in enumerate(ends):
        if number:
            after = under(machine, int(switches[number, 1]))
            assert isinstance(after, Machine), "the schedule has runnable sets alone"
            crossing = cross(machine, after, q, v, float(switches[number, 0]), first)
            crossings.append(crossing)
            if not crossing.possible:
                break
            chosen, machine, q, v = list(path.coordinates), after, crossing.q, crossing.v
            fixed = newly_fixed(fixed, crossing.before[chosen], crossing.fixed[chosen], path.task.held)
        if first < last:
            way = path if fixed is None else path.resting_in(fixed, crossing.theta[chosen][fixed])
            found.append(_walk(machine, way, piece[first:last], offset[first:last], q, time_s))
            if found[-1].reached < last - first:
                break
            q, v, first = found[-1].q[-1], found[-1].q1[-1], last
    found = found or [_walk(machine, path, piece, offset, q, time_s)]
    walked = _joined(found, len(piece))
    return replace(walked, s=path.knots[piece] + offset, piece=piece, crossings=tuple(crossings))


def _joined(parts: Sequence[Walk], count: int) -> Walk:
    """Walks behind each other as one, with zeros at samples up to `count` that they do not have.

    The efforts are the least ones: sets of constraints differ in the choice that redundant motors have.
    """
    behind = count - sum(len(part.s) for part in parts)
    changed: dict[str, Any] = {"determined": True, "ends_at_branch": parts[-1].ends_at_branch}
    for each in fields(Walk):
        values = [getattr(part, each.name) for part in parts]
        if each.name == "closures":
            values = [np.ones(len(part.s)) if part.closures is None else part.closures for part in parts]
        if isinstance(values[0], np.ndarray):
            changed[each.name] = np.concatenate([*values, np.zeros((behind, *values[0].shape[1:]))])
    return replace(parts[0], reached=sum(part.reached for part in parts), **changed)


def _walk(machine: Machine, path: Path, piece: Integers, offset: Floats, q: Floats, time_s: float) -> Walk:
    """Walk along the samples of a path (piece, offset: n each), under the constraints of `machine`."""
    mechanism = machine.mechanism
    words = path.pack(machine, np.ones((3, 1)), {}, None)
    k, nv, count, dof = len(path.coordinates), mechanism.nv, len(piece), machine.dof
    workspace, task = machine.workspace(), path.task
    levels = task.levels.tolist() if len(task.levels) else [0] * k
    workspace.q[:], workspace.clock[0] = q, time_s
    whole, columns = scales(mechanism, range(len(mechanism.coordinate_names)))
    rows = np.ascontiguousarray(whole[list(path.coordinates)])
    chosen = np.array(path.coordinates, np.int64)
    motor = np.array([motor.index for motor in machine.motors], np.int64)
    none, longest = np.zeros((2, nv)), float(np.diff(path.knots[piece] + offset).max(initial=STEP_S))
    keep, omega = task.keep.copy(), min(machine.controller.bandwidth_rad_s, 0.25 / longest)
    keep[3] = np.minimum(keep[3], 0.25 / longest)
    given = WalkedTask(
        task=task_for(nv, levels, task.keep.shape[1]), kept=kept_for(nv, keep, whole), dof=dof,
        displaced=np.zeros(1, np.int64), chosen=chosen, rows=rows, columns=columns,
        wraps=np.array(mechanism.coordinate_wraps)[chosen], motor=motor, weight=machine.effort_weights,
        full=task.full if task.full.size else np.zeros((nv, nv)),
        posture=task.posture.copy() if task.posture.size else none, none=none,
        away=away_for(machine.workspace(), chosen, whole, motor, on=task.avoids),
        room=np.zeros(room_for(dof, k, len(motor))),
    )  # fmt: skip
    joints, goal = np.zeros((count, 5 * nv)), np.zeros((count, 5 * k + 4))
    maps = np.zeros((count, len(motor) * nv))
    poses = np.zeros((count, mechanism.nq))
    reached: int = walk_samples(
        *workspace.arguments, words, piece, offset, given, task.rest, task.metric, task.damping_per_s, omega,
        poses, joints, goal, maps,
    )  # fmt: skip
    q1, q2, inertia, rest, motion = map(np.ascontiguousarray, np.split(joints, 5, axis=1))
    d0, d1, d2, d3 = map(np.ascontiguousarray, np.split(goal[:, : 4 * k], 4, axis=1))
    hold, closures, motors = goal[:, 4 * k : 4 * k + 3].T.copy()
    closed = machine.is_constrained
    walked = Walk(
        path.knots[piece] + offset, piece, poses,
        q1, q2, inertia, rest, motion, d0, d1, d2, d3, hold, reached,
        motors=maps.reshape(count, len(motor), nv) if closed else None,
        ends_at_branch=_branches_meet(workspace, poses[reached - 1]) if closed and reached else False,
        closures=closures if machine.assembly.ordinary_rank else None,
        leverage=motors if closed else None,
        missed=np.ascontiguousarray(goal[:, 4 * k + 3 : 5 * k + 3]),
        shares=_between(goal[:, 5 * k + 3]),
    )  # fmt: skip
    return _with_drag(machine, walked, time_s) if mechanism.elements else walked


def _between(shares: Floats) -> Floats:
    """Return at each sample the least share of inertia there or near it, from the shares at the samples (n).

    Near a pose where it is 0, the share grows as the square of the distance: roots lie on straight lines.
    """
    roots = np.sqrt(shares)
    steps = np.abs(np.diff(roots, prepend=roots[:1], append=roots[-1:]))
    least = np.maximum(roots - np.maximum(steps[:-1], steps[1:]), 0.0)
    return np.asarray(np.where(roots < NEARLY_LOST, least, roots) ** 2)


def _with_drag(machine: Machine, walked: Walk, time_s: float) -> Walk:
    """Separate what dampers and applied forces ask, odd in the speed, from `motion`."""
    work = machine.workspace()
    drag = np.zeros_like(walked.motion)
    for n in range(walked.reached):
        work.q[:], work.v[:], work.clock[0] = walked.q[n], walked.q1[n], time_s + walked.s[n]
        dynamics(*work.arguments)
        drag[n] = work.h
        work.v[:] = -walked.q1[n]
        dynamics(*work.arguments)
        drag[n] = 0.5 * (drag[n] - work.h)
    return replace(walked, motion=walked.motion - drag, drag=drag)


def _branches_meet(workspace: Workspace, q: Floats) -> bool:
    """Whether the closures are so close to losing a row at q that rest would leave the way out open.

    The smallest singular value σ of the rows is then small, and zero within `NEAR_A_BRANCH` by its slope
    along the admitted velocities: in a machine with many loops σ is small everywhere. Where no constraint
    holds, there is no row to lose.
    """
    lost, held, smallest = _closeness(workspace, q)
    if lost > 0.0 or held == 0.0 or smallest >= NEAR_A_BRANCH:
        return lost > 0.0
    admitted(*workspace.arguments)
    model, columns = workspace.model, workspace.model.column_scale
    motions = np.linalg.qr((workspace.basis[: int(model.nv - held)] / columns).T)[0].T
    slopes = np.zeros(len(motions))
    for i, motion in enumerate(motions):
        for side in (-PROBE, PROBE):
            near = q.copy()
            move_by(model, near, columns * motion, side)
            slopes[i] = max(slopes[i], abs(_closeness(workspace, near)[2] - smallest) / PROBE)
    steepest = float(np.linalg.norm(slopes))
    farthest = float(np.abs(slopes @ motions).max(initial=0.0))
    return smallest * farthest < NEAR_A_BRANCH * steepest**2


def _closeness(workspace: Workspace, q: Floats) -> tuple[float, float, float]:
    """Return at q the rows that are lost, the rank, and the smallest singular value of the scaled rows."""
    workspace.q[:], workspace.v[:] = q, 0.0
    kinematics(*workspace.arguments)
    constraint_rows(*workspace.arguments)
    factor(*workspace.arguments)
    lost, held, smallest = (float(workspace.ranking[entry]) for entry in (LOST, RANK, SMALLEST))
    return lost, held, 0.0 if lost > 0.0 else smallest


def opened(machine: Machine, walk: Walk, part: ForcePart) -> Walk:
    """Return the walk with the rows of wanted constraint forces released; the walk itself without any.

    As in `laws.hybrid`, the force that released rows carry, A'λ, is one more force on the joints. The least
    efforts of the motors, which leave the rows exactly these forces, are then the only choice.
    """
    wanted = [
        (machine.force_rows[index], np.interp(walk.s, part.times_s, part.values[number]))
        for number, index in enumerate(part.rows.tolist())
        if machine.force_rows[index].kind == "constraint"
    ]
    if not wanted:
        return walk
    rows = [row for row, _ in wanted]
    joints = [motor.index for motor in machine.motors]
    weight = machine.effort_weights
    work, whole = machine.workspace(), machine.workspace()
    on = work.on.copy()
    carried, maps = np.zeros_like(walk.rest), np.zeros((len(walk.s), len(joints), len(walk.q1[0])))
    for n, q in enumerate(walk.q):
        whole.q[:], whole.v[:] = q, 0.0
        kinematics(*whole.arguments)
        constraint_rows(*whole.arguments)
        for row, force in wanted:
            carried[n] += whole.A[row.row] * force[n]
        work.q[:], work.v[:] = q, walk.q1[n]
        basis = opened_basis(work, on, rows)
        lever = basis[:, joints] * weight
        held = lever @ basis[:, joints].T
        maps[n] = lever.T @ np.linalg.pinv(held, hermitian=True) @ basis
    return replace(walk, rest=walk.rest - carried, carried=carried, motors=maps, determined=True)
