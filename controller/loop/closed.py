"""The model that a tick uses for a machine whose joints close on each other.

From the measured joints to the whole state: the model carries the last estimate on to this tick; then the
state nearest to it is sought that meets the closures and in which the measured joints have what the
sensors say (estimator.py): Newton steps for the positions, one linear step for the velocities. Every step is

    shift = x + Λ z,    A x = -Φ,    z = least squares of W (wanted - now - x - Λ z) on the measured joints,

with Λ the velocities that the closures admit, and W the sensors' accuracy: sensors that are redundant share
what they disagree about (redundancy.py looks at that). Directions of Λ in which hardly any sensor moves are
left to the prediction. Where branches of the closure meet, the lost row of A is replaced by its next
derivative, so that Λ is the tangent of the branch that the machine is on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from controller.laws.closed import evaluate_closed
from controller.laws.driving import motor_forces
from controller.laws.leverage import FADING
from controller.loop.branch import Branch
from controller.loop.quality import Quality
from controller.loop.redundancy import Redundancy, weights
from controller.loop.untouched import without_touch
from machine import Machine
from multibody.branches import replace_lost_rows
from multibody.compiling import (
    BUFFER,
    INTEGERS,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    float64,
    int64,
    kernel,
    part,
    void,
)
from multibody.constrained_steps import constrained_rk4
from multibody.coordinates import coordinates
from multibody.kinematics import kinematics
from multibody.layout import (
    BASIS,
    COLUMN_SCALE,
    EFFORT,
    LOST,
    NV,
    PHI,
    PHI_RATE,
    RANK,
    RANKING,
    REPLACED,
    RIGHT_SIDE,
    SECOND,
    SHIFT,
    SMALLEST,
    SUM_V,
    VDOT,
    M,
    Q,
    V,
)
from multibody.orthogonal import pivoted_qr
from multibody.projection import position_residual
from multibody.rank import (
    admitted,
    back_substitute,
    exchange_back,
    factor,
    particular,
    reflect,
    scaled_right_side,
)
from multibody.rotations import move
from multibody.rows import constraint_rows
from multibody.views import block, copy, fill, matrix, vector

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

UNDETERMINED = 5e-3
"""Share of a motion that sensors see (weighted as the least accurate one), below which the prediction has it.
"""
CLOSED = 1e-12
"""Scaled residual at which the Newton steps end."""
SMALL, NOTHING = 1e-5, 1e-14
"""Scaled steps: after the first no other is needed, as the next would have its square's size, and after the
second none helps.
"""
LONGEST = 0.5
"""Longest step, scaled."""
FAR = 0.2
"""rad or typical lengths that the sensors may be from the last estimate when the machine is seen again;
beyond it the search begins in the initial pose.
"""
STEPS, FIRST_STEPS = 5, 40
"""Most Newton steps of a tick, and of the first one, which may begin far away."""


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, BUFFER, INTEGERS, VECTOR, VECTOR, float64))
def predict_closed(
    p: Floats, t: Integers, now: Floats, ahead: Floats,
    motor: Integers, sent: Floats, felt: Floats, seconds: float,
) -> None:  # fmt: skip
    """Writes to `ahead` the state so many seconds later, under the efforts sent and the forces felt (nv)."""
    copy(vector(t, now, Q), vector(t, ahead, Q))
    copy(vector(t, now, V), vector(t, ahead, V))
    effort = vector(t, ahead, EFFORT)
    copy(felt, effort)
    for i in range(len(motor)):
        effort[motor[i]] += sent[i]
    constrained_rk4(p, t, ahead, seconds)


@part
def _tangents(p: Floats, t: Integers, w: Floats, open_rows: int) -> None:
    """`BASIS`, and in `SHIFT` some x with A x = −(the residuals in the field `open_rows`)."""
    factor(p, t, w)
    scaled_right_side(t, p, w, -1.0, open_rows)
    ranking, right = vector(t, w, RANKING), vector(t, w, RIGHT_SIDE)
    if ranking[LOST] > 0.0:
        kept = int(ranking[RANK])
        replace_lost_rows(p, t, w)
        if ranking[REPLACED] > 0.0:
            for i in range(kept, len(right)):
                right[i] = 0.0
    particular(p, t, w, right, vector(t, w, SHIFT))
    admitted(p, t, w)


@part
def _toward(
    p: Floats, t: Integers, w: Floats, joint: Integers, weight: Floats, wanted: Floats, have: Floats,
    scratch: Floats,
) -> None:  # fmt: skip
    """`SHIFT` += Λ z, so that the sensors' joints come nearest to what is wanted, weighted."""
    nv, sensors = t[NV], len(joint)
    free = nv - int(vector(t, w, RANKING)[RANK])
    if free == 0:
        return
    basis, shift, columns = block(w, t[BASIS], free, nv), vector(t, w, SHIFT), vector(t, p, COLUMN_SCALE)
    rows, end = block(scratch, 0, sensors, free), sensors * nv
    exchanges, reflected = block(scratch, end, 1, nv)[0], block(scratch, end + nv, 1, nv)[0]
    size = block(scratch, end + 2 * nv, 1, nv)[0]
    right = block(scratch, end + 3 * nv, 1, max(sensors, nv))[0]
    for j in range(free):
        square = 0.0
        for c in range(nv):
            square += (basis[j, c] / columns[c]) ** 2
        size[j] = np.sqrt(square)
    fill(right, 0.0)
    least = 1.0
    for i in range(sensors):
        c = joint[i]
        least = min(least, weight[i] * columns[c])
        right[i] = weight[i] * (wanted[i] - have[c] - shift[c])
        for j in range(free):
            rows[i, j] = weight[i] * basis[j, c] / size[j]
    rank = pivoted_qr(rows, exchanges, reflected, UNDETERMINED * least)
    reflect(rows, reflected, rank, right[:sensors])
    back_substitute(rows, rank, right)
    for j in range(rank, len(right)):
        right[j] = 0.0
    exchange_back(exchanges, rank, right)
    for j in range(free):
        for c in range(nv):
            shift[c] += basis[j, c] * right[j] / size[j]


@kernel(int64(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, VECTOR, VECTOR, VECTOR, int64, VECTOR))
def meet(
    p: Floats, t: Integers, w: Floats, joint: Integers, weight: Floats, to_q: Floats, to_v: Floats,
    most: int, scratch: Floats,
) -> int:  # fmt: skip
    """Takes q and v in w to the nearest state that meets the closures and the sensors; returns the steps.

    joint, weight, to_q, to_v: of each sensor. `scratch` holds sensors · nv + 3 nv + max(sensors, nv) numbers.
    Afterwards kinematics, rows, factors, basis and coordinates are those of the new state.
    """
    q, v, shift, columns = vector(t, w, Q), vector(t, w, V), vector(t, w, SHIFT), vector(t, p, COLUMN_SCALE)
    kinematics(p, t, w)
    constraint_rows(p, t, w)
    steps, size = 0, 1.0
    while steps < most and (size > SMALL or (size > NOTHING and position_residual(p, t, w) > CLOSED)):
        _tangents(p, t, w, PHI)
        _toward(p, t, w, joint, weight, to_q, q, scratch)
        size = 0.0
        for c in range(t[NV]):
            size = max(size, abs(shift[c] / columns[c]))
        move(t, q, shift, 1.0 if size <= LONGEST else LONGEST / size)
        kinematics(p, t, w)
        constraint_rows(p, t, w)
        steps += 1
    _tangents(p, t, w, PHI_RATE)
    _toward(p, t, w, joint, weight, to_v, v, scratch)
    for c in range(t[NV]):
        v[c] += shift[c]
    kinematics(p, t, w)
    constraint_rows(p, t, w)
    coordinates(p, t, w)
    return steps


@kernel(void(TOPOLOGY, BUFFER, INTEGERS, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR))
def forces_for(
    t: Integers, w: Floats, motor: Integers, weight: Floats, acceleration: Floats,
    square: Floats, needed: Floats, force: Floats,
) -> None:  # fmt: skip
    """force (nv) of the motors whose share along the admitted motions is Λ' M acceleration.

    After `evaluate_closed`; arguments as of `controller.laws.driving.motor_forces`. Zero at a pose with more
    freedoms than `needed` has numbers.
    """
    nv = t[NV]
    free = nv - int(vector(t, w, RANKING)[RANK])
    fill(force, 0.0)
    if free > len(needed):
        return
    basis, mass = block(w, t[BASIS], free, nv), matrix(t, w, M, nv)
    fill(needed, 0.0)
    for c in range(nv):
        momentum = 0.0
        for d in range(nv):
            momentum += mass[c, d] * acceleration[d]
        for i in range(free):
            needed[i] += basis[i, c] * momentum
    motor_forces(basis, motor, weight, square, needed[:free], force)


@kernel(
    void(PARAMETERS, TOPOLOGY, BUFFER, BUFFER, INTEGERS, VECTOR, VECTOR, float64, float64, VECTOR, VECTOR)
)
def foresee_closed(
    p: Floats, t: Integers, now: Floats, ahead: Floats, motor: Integers, sent: Floats, felt: Floats,
    period: float, beyond: float, coming_q: Floats, coming_v: Floats,
) -> None:  # fmt: skip
    """Writes the state a period later to coming_q (nq), coming_v (nv), and the one `beyond` that to `ahead`.

    Over the second, short way the acceleration goes on as it changed in the second half of the first one.
    """
    predict_closed(p, t, now, ahead, motor, sent, felt, period)
    q, v, mean = vector(t, ahead, Q), vector(t, ahead, V), vector(t, ahead, SUM_V)
    last, middle = vector(t, ahead, VDOT), vector(t, ahead, SECOND)
    copy(q, coming_q)
    copy(v, coming_v)
    for c in range(t[NV]):
        change = (last[c] - middle[c]) * beyond / (0.5 * period)
        mean[c] = v[c] + beyond * (0.5 * last[c] + change / 6.0)
        v[c] += beyond * (last[c] + 0.5 * change)
    move(t, q, mean, beyond)


class Closed:
    """See `controller.loop.model.Model`."""

    def __init__(self, machine: Machine) -> None:
        self.now, self.ahead = without_touch(machine.workspace()), without_touch(machine.workspace())
        self.ahead.choice[1] = 0.0  # a step or two leave the closures by 1e-12; `meet` closes them each tick
        self.felt = np.zeros(machine.mechanism.nv)
        nv, rows, sensors = machine.mechanism.nv, len(machine.mechanism.row_names), len(machine.sensors)
        self.quality = Quality(rows)
        self.quality.branch = 1
        self._joint = np.array([sensor.index for sensor in machine.sensors], np.int64)
        self._weight = np.array(weights(machine))
        self._scratch = np.zeros(sensors * nv + 3 * nv + max(sensors, nv))
        self._coming_q, self._coming_v = self.now.q.copy(), self.now.v.copy()
        self._machine, self._seen, self._branch = machine, False, Branch(machine)
        self._redundancy = Redundancy(machine)
        self._believed = machine.controller.estimator.closure_residual_max
        t = machine.mechanism.topology
        columns = machine.mechanism.parameters[t[COLUMN_SCALE] : t[COLUMN_SCALE + 1]]
        self._far = FAR * columns[self._joint]
        self._motor = np.array([motor.index for motor in machine.motors], np.int64)
        self._motor_weight = np.array([motor.max_effort**2 for motor in machine.motors])
        free = machine.freedoms
        self._square, self._needed, self._force = np.zeros(free**2), np.zeros(free), np.zeros(nv)

    def predict(self, motor: Integers, sent: Floats, seconds: float) -> None:
        """Writes to `ahead` the state that much later."""
        p, t, now = self.now.arguments
        predict_closed(p, t, now, self.ahead.buffer, motor, sent, self.felt, seconds)

    def foresee(self, motor: Integers, sent: Floats, period: float, beyond: float) -> bool:
        """See `Model`."""
        p, t, now = self.now.arguments
        foresee_closed(
            p,
            t,
            now,
            self.ahead.buffer,
            motor,
            sent,
            self.felt,
            period,
            beyond,
            self._coming_q,
            self._coming_v,
        )
        return True

    def come(self) -> None:
        """See `Model`."""
        self.ahead.q[:], self.ahead.v[:] = self._coming_q, self._coming_v

    def settle(self, q: Floats, v: Floats) -> None:
        """See `Model`: the joints that are not measured follow those that are."""
        now, quality, ranking = self.now, self.quality, self.now.ranking
        if not self._seen and np.any(np.abs(q - now.q[self._joint]) > self._far):
            now.q[:], now.v[:] = self._machine.initial_q, 0.0
        most = STEPS if self._seen else FIRST_STEPS
        quality.newton_iterations = meet(*now.arguments, self._joint, self._weight, q, v, most, self._scratch)
        quality.closure_residual = position_residual(*now.arguments)
        if quality.closure_residual <= self._believed:
            self._branch.follow(now)
        quality.branch, self._seen = self._branch.number, True
        quality.rank = int(ranking[RANK])
        quality.sigma_closures = 0.0 if ranking[LOST] > 0.0 else float(ranking[SMALLEST])

    def forget(self) -> None:
        """See `Model`."""
        self._seen = False
        self._branch.forget()

    def compare(self, readings: Floats) -> None:
        """See `Model`."""
        redundancy, quality = self._redundancy, self.quality
        redundancy.look(readings, self.now)
        quality.group, quality.suspect = redundancy.group, redundancy.suspect
        quality.error, quality.error_limit = redundancy.error, redundancy.limit

    def evaluate(self) -> None:
        """What laws need, at the state in `ahead`."""
        evaluate_closed(*self.ahead.arguments)

    def effort_for(self, acceleration: Floats, effort: Floats) -> bool:
        """See `Model`."""
        if self.quality.sigma_motors < FADING:
            return False
        forces_for(
            *self.ahead.arguments[1:], self._motor, self._motor_weight, acceleration,
            self._square, self._needed, self._force,
        )  # fmt: skip
        effort[:] = self._force[self._motor]
        return True
