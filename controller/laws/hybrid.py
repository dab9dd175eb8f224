"""Hybrid control: motion where the machine is free, force where it is held (Aghili 2005).

With P = I - A⁺A the projector on the motions that the pressed rows A admit, c = A⁺b, μ = (I - P) M (M + P M -
M P)⁻¹ and u_F the wanted constraint force with its correction, the law reads

    f = h + μ M c + (I + μ) P M u_p - u_F          (the velocity term with M, which (51) and (54) leave out).

The wanted acceleration obeys A u_p = b, hence P u_p + c = u_p and μ (P M u_p + M c) = (I - P) M u_p, so that

    f = h + M u - u_F,        J u = θ̈_d + 2 ζ ω ė + ω² e - J̇ v,        A u = b,        u_F = A'λ,

which is computed here: v̇ = u and a constraint force of just u_F, at once. A pressed contact is a row N of
its gap's Jacobian; λ is the wanted force, its correction, and the damping d ṅ that the motors add along the
normal. Friction of the contact is taken off by the model, in the direction of the reference's motion.

Where joints close on each other, a row of a constraint may be pressed too. The loads of the other constraints
are not controlled. So the pressed rows are released: with Λ spanning the velocities that the *other*
constraints admit, only Λ'f matters, and

    τ = W B'Λ (Λ'B W B'Λ)⁻¹ Λ'f

is the smallest τ'W⁻¹τ that gives it. The acceleration u obeys all constraints, so that the released rows stay
met and carry just λ. It takes a motor for each degree of freedom of the released machine; where there are
fewer, the force follows from the motion and cannot be wanted.
"""

from typing import Annotated

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.controller.laws.contact_forces import contact_effort
from linkwork.controller.laws.feedback import Feedback, PositionFeedback, wanted_acceleration
from linkwork.controller.laws.force_reference import ForceReference, Grip
from linkwork.controller.laws.law import Reference
from linkwork.controller.laws.law_motors import Motors
from linkwork.controller.laws.pidc import GoalRows, along, smallest_of, take_rows, want
from linkwork.machine import Machine
from linkwork.machine.sections.force_settings import ForceRow
from linkwork.multibody import Workspace
from linkwork.multibody.coordinate_scales import scales
from linkwork.multibody.dynamics.motion_basis import evaluate_shortest
from linkwork.multibody.dynamics.task_motion import follow_levels, task_for
from linkwork.multibody.kernels.compiling import block, kernel, part
from linkwork.multibody.kernels.layout import RANK
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.kernels.views import fill

LEAST_LEVERAGE = 1e-7
"""Square of the smallest over the largest singular value of the motors' map; below it no force is applied."""
DEPENDENT = 1e-9
"""Singular value of the scaled rows, over the largest, below which a row depends on others."""


class PressedMotion(Struct):
    """The rows of goal coordinates and gaps, the forces of the machine, and scratch.

    gaps: their coordinates (-1: no contact); contacts: their numbers; constraint_rows: rows of A (-1: none);
    the others: `ForceReference`. room: two vectors (nv) and one (k).
    """

    rows: GoalRows
    gaps: Annotated[Integers, "forces"]
    contacts: Annotated[Integers, "forces"]
    constraint_rows: Annotated[Integers, "forces"]
    grip: Annotated[Integers, "forces"]
    wanted: Annotated[Floats, "forces"]
    push: Annotated[Floats, "forces"]
    damping: Annotated[Floats, "forces"]
    gap: Annotated[Floats, "forces"]
    room: Floats


@part
def _pressed_force(given: PressedMotion, speed: Floats, force: Floats) -> None:
    """force (nv) := the generalized force of what is pressed, where contacts slide at `speed` (nv)."""
    m, w, grip, gaps = given.rows.m, given.rows.w, given.grip, given.gaps
    fill(force, 0.0)
    for f in range(len(grip)):
        if grip[f] != Grip.PRESS:
            continue
        if gaps[f] < 0:
            for j in range(m.nv):
                force[j] += w.A[given.constraint_rows[f], j] * given.push[f]
            continue
        contact_effort(m, w, given.contacts[f], given.wanted[f], speed, force)
        more = given.push[f] - given.wanted[f]
        for j in range(m.nv):
            more += given.damping[f] * w.J[gaps[f], j] * w.v[j]
        for j in range(m.nv):
            force[j] += w.J[gaps[f], j] * more


@kernel
def press_and_move(
    given: PressedMotion,
    index: Integers,
    theta: Floats,
    velocity: Floats,
    acceleration: Floats,
    feedback: Feedback,
    force: Floats,
) -> float:
    """After `evaluate_motion`: force (nv) = M u + h - friction - u_F, on all joints, see above.

    index, theta, velocity, acceleration: the `Reference`; feedback also holds gaps. Returns the smallest
    singular value of the rows; 0 where goal coordinates and gaps do not determine the motion, and the force
    is unchanged then.
    """
    rows, room, grip, gaps = given.rows, given.room, given.grip, given.gaps
    m, w, t = rows.m, rows.w, rows.task
    nv, k, count = m.nv, t.k, len(index)
    free = nv - int(w.ranking[RANK])
    if count > k:
        return 0.0
    u, speed, task = block(room, 0, 1, nv)[0], block(room, nv, 1, nv)[0], block(room, 2 * nv, 1, k)[0]
    wanted_acceleration(
        w.theta, w.J, w.Jdv, w.v, feedback, index,
        theta, velocity, acceleration, task[:count],
    )  # fmt: skip
    fill(t.wanted, 0.0)
    for i in range(count):
        rows.index[i], t.wanted[i] = index[i], rows.scale[index[i]] * velocity[i]
    for f in range(len(grip)):
        if grip[f] == Grip.FREE or gaps[f] < 0:
            continue
        if count == k:
            return 0.0
        row = gaps[f]
        rows.index[count], task[count] = row, -w.Jdv[row]
        if grip[f] == Grip.HOLD_GAP:
            rate = 0.0
            for j in range(nv):
                rate += w.J[row, j] * w.v[j]
            task[count] += feedback.position[row, row] * (given.gap[f] - w.theta[row])
            task[count] -= feedback.rate[row, row] * rate
        count += 1
    if count != k:
        return 0.0
    take_rows(rows, free)
    if follow_levels(t, free) > 0:
        return 0.0
    for c in range(nv):
        speed[c] = 0.0
        for j in range(free):
            speed[c] += w.basis[j, c] * t.motion[j]
    want(rows, task)
    follow_levels(t, free)
    along(rows, free, u)
    _pressed_force(given, speed, force)
    for i in range(nv):
        total = w.h[i] - w.friction[i] - force[i]
        for j in range(nv):
            total += w.M[i, j] * u[j]
        force[i] = total
    return smallest_of(t)


def opened_basis(work: Workspace, on: Floats, rows: list[ForceRow]) -> Floats:
    """Return the velocities (free × nv) that all rows of constraints but these admit, at the state in `work`.

    `on` (nk): which constraints hold. Leaves M, h and friction in `work`.
    """
    work.on[:] = on
    for row in rows:
        work.on[row.index] = 0.0 if row.whole else work.on[row.index]
    evaluate_shortest(*work.arguments)
    if not all(row.whole for row in rows):
        return _without_rows(work, [row.row for row in rows])
    free = len(work.v) - int(work.ranking[RANK])
    basis: Floats = work.basis[:free]
    return basis


def _without_rows(work: Workspace, rows: list[int]) -> Floats:
    """After `evaluate_shortest`: the velocities that all rows of A admit but these."""
    scale = work.model.column_scale
    kept = np.delete(work.A, rows, axis=0) * scale
    _, sizes, right = np.linalg.svd(kept)
    rank = int(np.count_nonzero(sizes > DEPENDENT * max(float(sizes.max(initial=0.0)), 1e-300)))
    return np.asarray(right[rank:] * scale)


def force_controllability(machine: Machine, row: ForceRow) -> str:
    """Why the motors cannot control the force of a row, in the initial pose; '' where they can."""
    motors = [motor.index for motor in machine.motors]
    work = machine.workspace()
    basis = opened_basis(work, work.on.copy(), [row])
    scale = np.array([motor.max_effort for motor in machine.motors])
    sizes = np.linalg.svd(basis[:, motors] * scale, compute_uv=False)
    held = int(np.count_nonzero(sizes > 1e-6 * max(float(sizes.max(initial=0.0)), 1e-300)))
    if len(basis) == machine.dof:
        return f"the force of {row.name} cannot be wanted: other constraints already ask for the same"
    if held < len(basis):
        return (
            f"the motors cannot control the force of {row.name} in addition to the motion: one motor is"
            f" needed for each of {len(basis)} degrees of freedom, and {len(motors)} motors hold {held}. The"
            " force follows from the motion: add a motor, or leave the force out"
        )
    return ""


class Hybrid(PositionFeedback):
    """The law for a machine that presses contacts or constraints."""

    def __init__(self, machine: Machine, motors: Motors) -> None:
        super().__init__(machine)
        nv, k, rows = machine.mechanism.nv, machine.dof, machine.force_rows
        self._rows = rows
        self._gaps = np.array([row.gap for row in rows], np.int64)
        self._contacts = np.array([row.index for row in rows], np.int64)
        self._constraint_rows = np.array([row.row for row in rows], np.int64)
        self._chosen, self._task = np.zeros(k, np.int64), task_for(nv, [0] * k)
        self._scale = scales(machine.mechanism, range(len(machine.mechanism.coordinate_names)))[0]
        self._room = np.zeros(2 * nv + k)
        self._ahead: Workspace | None = None
        self._forces: ForceReference | None = None
        """What `_given` is for."""
        self._motors, self._needed = motors, np.zeros(nv)
        self._released = machine.workspace()
        self._on = self._released.on.copy()

    def __call__(self, ahead: Workspace, reference: Reference, force: Floats) -> float:
        """Write the force (nv; N m or N) for motion and pressed forces; return the smallest singular value of
        the rows, or less.
        """
        forces, self.used = reference.forces, reference.index
        if ahead is not self._ahead or forces is not self._forces:
            self._ahead, self._forces = ahead, forces
            rows = GoalRows(m=ahead.model, w=ahead, task=self._task, index=self._chosen, scale=self._scale)
            self._given = PressedMotion(
                rows=rows, gaps=self._gaps, contacts=self._contacts,
                constraint_rows=self._constraint_rows, grip=forces.grip, wanted=forces.wanted,
                push=forces.push, damping=forces.damping, gap=forces.gap,
                room=self._room,
            )  # fmt: skip
        constrained = ahead.model.n_rows > 0
        needed = self._needed if constrained else force
        ratio: float = press_and_move(
            self._given, reference.index, reference.theta, reference.velocity, reference.acceleration,
            self._feedback, needed,
        )  # fmt: skip
        if not constrained or ratio == 0.0:
            return ratio
        return min(ratio, self._by_motors(ahead, needed, force))

    def _by_motors(self, ahead: Workspace, needed: Floats, force: Floats) -> float:
        """Write the least efforts (nv) that act as `needed` (nv) on the motions of the released machine.

        Returns the ratio of the smallest to the largest singular value of the motors' map.
        """
        given = self._given
        pressed = [
            (row, push)
            for row, grip, push in zip(self._rows, given.grip, given.push, strict=True)
            if row.kind == "constraint" and grip == Grip.PRESS
        ]
        basis: Floats = ahead.basis[: len(ahead.v) - int(ahead.ranking[RANK])]
        if pressed:
            self._released.q[:], self._released.v[:] = ahead.q, ahead.v
            basis = opened_basis(self._released, self._on, [row for row, _ in pressed])
        motors = self._motors
        lever = basis[:, motors.index]
        held = (lever * motors.weight) @ lever.T
        sizes = np.linalg.eigvalsh(held)
        force[:] = 0.0
        ratio = float(sizes[0] / sizes[-1]) if sizes[-1] > 0.0 else 0.0
        if ratio < LEAST_LEVERAGE:
            return 0.0
        force[motors.index] = motors.weight * (lever.T @ np.linalg.solve(held, basis @ needed))
        if motors.bears:
            carried = sum((push * ahead.A[row.row] for row, push in pressed), needed)
            motors.relieve(ahead, basis, carried, force)
        return float(np.sqrt(ratio))
