"""Source of each measured force of a machine: a sensor of the device, or the model.

The model gives the force of a contact from efforts and motion.
"""

from collections.abc import Callable
from typing import Annotated

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.controller.exchange.tick_io import Inputs
from linkwork.controller.laws.contact_forces import contact_effort
from linkwork.machine import Machine
from linkwork.machine.sections.force_settings import ForceRow
from linkwork.multibody.contact.compliant_forces import surface_at
from linkwork.multibody.dynamics.motion_basis import evaluate_motion
from linkwork.multibody.dynamics.reduced_mass import motion_in_basis
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.layout import RANK
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.kernels.views import fill
from linkwork.multibody.linalg.vectors import combine, dot, load
from linkwork.multibody.workspace import Model, Workspace

Sense = Callable[[Inputs, float], float]


@kernel
def along_normal(m: Model, w: Workspace, contact: int, in_body: bool, reading: Floats) -> float:
    """After `kinematics`: the part of a force (3, N) along the normal of a contact's surface.

    The force is given along the world's axes or, with `in_body`, along those of the point's body.
    """
    force = (reading[0], reading[1], reading[2])
    point = m.contact_point[contact]
    place = load(w.point_position, point)
    _, normal = surface_at(m.surfaces, contact, place)
    link = m.point_link[point]
    if in_body and link >= 0:
        x, y, z = load(w.axes, 3 * link), load(w.axes, 3 * link + 1), load(w.axes, 3 * link + 2)
        a, b, c = (
            load(m.point_axes, 3 * point),
            load(m.point_axes, 3 * point + 1),
            load(m.point_axes, 3 * point + 2),
        )
        force = combine(combine(x, y, z, a), combine(x, y, z, b), combine(x, y, z, c), force)
    return dot(normal, force)


class FeltForce(Struct):
    """The arrays of `felt_by_model`: a separate workspace, the motors' joints, and the contact.

    gap: its coordinate; rest, one, motion (nv): scratch.
    """

    m: Model
    w: Workspace
    motor: Annotated[Integers, "motors"]
    contact: int
    gap: int
    rest: Annotated[Floats, "nv"]
    one: Annotated[Floats, "nv"]
    motion: Annotated[Floats, "nv"]


@part
def _along_gap(given: FeltForce, force: Floats) -> float:
    """Acceleration of the gap that a generalized force (nv) causes on the admitted motions."""
    m, w, motion = given.m, given.w, given.motion
    fill(motion, 0.0)
    motion_in_basis(m, w, m.nv - int(w.ranking[RANK]), force, motion)
    total = 0.0
    for i in range(m.nv):
        total += w.J[given.gap, i] * motion[i]
    return total


@kernel
def felt_by_model(
    given: FeltForce, q0: Floats, v0: Floats, q1: Floats, v1: Floats, dt: float, effort: Floats
) -> float:
    """The normal force (N) of a contact over a period dt from (q0, v0) to (q1, v1) under these efforts.

    q0, q1 (nq); v0, v1 (nv); effort (motors). The residual force beyond efforts and friction, r = M Δv/dt +
    h - friction - effort at the middle of the period, is the contact's λ D: D is its generalized force for
    1 N with the friction of the present slip. On the admitted velocities Λ the closures' own multipliers drop
    out, and with the gap's Jacobian N

        λ = N Λ m⁻¹ Λ' r / (N Λ m⁻¹ Λ' D),      m = Λ' M Λ.
    """
    m, w, rest = given.m, given.w, given.rest
    for i in range(len(w.q)):
        w.q[i] = 0.5 * (q0[i] + q1[i])
    for i in range(m.nv):
        w.v[i] = 0.5 * (v0[i] + v1[i])
    evaluate_motion(m, w)
    for i in range(m.nv):
        rest[i] = w.h[i] - w.friction[i]
        for j in range(m.nv):
            rest[i] += w.M[i, j] * (v1[j] - v0[j]) / dt
    for i in range(len(given.motor)):
        rest[given.motor[i]] -= effort[i]
    fill(given.one, 0.0)
    contact_effort(m, w, given.contact, 1.0, w.v, given.one)
    scale = _along_gap(given, given.one)
    return _along_gap(given, rest) / scale if scale > 0.0 else 0.0


def senses_of(machine: Machine, now: Workspace) -> list[Sense]:
    """One for each contact among the machine's forces, in order: call it each tick."""
    return [_sense(machine, row, now) for row in machine.force_rows if row.kind == "contact"]


def _sense(machine: Machine, row: ForceRow, now: Workspace) -> Sense:
    if machine.controller.force.source == "sensor":
        for sensor in machine.force_sensors:
            if sensor.index == row.index:
                return BySensor(row, sensor.numbers, in_body=sensor.axes == "body", now=now)
    return ByModel(machine, row, now)


class BySensor:
    """The normal component of a force sensor's reading."""

    def __init__(self, row: ForceRow, numbers: slice, *, in_body: bool, now: Workspace) -> None:
        self._contact, self._numbers, self._in_body, self._now = row.index, numbers, in_body, now

    def __call__(self, inputs: Inputs, dt: float) -> float:  # noqa: ARG002 - a sensor needs no time
        """Return the normal force (N) that the sensor measures."""
        reading = inputs.force_measured[self._numbers]
        return along_normal(*self._now.arguments, self._contact, self._in_body, reading)


class ByModel:
    """The residual force of the last period beyond the motors' efforts, through a first-order low-pass."""

    def __init__(self, machine: Machine, row: ForceRow, now: Workspace) -> None:
        nv, probe = machine.mechanism.nv, machine.workspace()
        self._now = now
        self._given = FeltForce(
            m=probe.model, w=probe, motor=np.array([motor.index for motor in machine.motors], np.int64),
            contact=row.index, gap=row.gap, rest=np.zeros(nv), one=np.zeros(nv), motion=np.zeros(nv),
        )  # fmt: skip
        self._effort = np.zeros(len(machine.motors))
        self._q, self._v = now.q.copy(), now.v.copy()
        self._cut_off = 2.0 * np.pi * machine.controller.force.estimate_Hz
        self._felt, self._known = 0.0, False

    def __call__(self, inputs: Inputs, dt: float) -> float:
        """Return the normal force (N) that explains the last change of the velocities."""
        if not inputs.fresh or dt <= 0.0:
            self._known = self._known and inputs.fresh
            return self._felt
        now = self._now
        if self._known:
            value: float = felt_by_model(self._given, self._q, self._v, now.q, now.v, dt, self._effort)
            self._felt += (1.0 - np.exp(-self._cut_off * dt)) * (value - self._felt)
        self._q[:], self._v[:], self._effort[:] = now.q, now.v, inputs.device_effort
        self._known = True
        return self._felt
