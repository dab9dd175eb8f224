"""The estimate, as far as the sensors go: what each measured joint should take as its position and velocity.

The orientation of a joint with a quaternion is measured as a whole: its three readings are the rotation
vector φ of R = exp(φ^), rad, and its velocities are the angular velocity in the child's axes. Differences of
orientations, here y - q⁻, are rotation vectors in the child's axes too.

Where a sensor measures velocity both are taken as they are. Elsewhere there are two ways. The *observer*
(Luenberger's) has the model's prediction q⁻, v⁻, made under the effort that acted, and corrects it by the
measured position y:

    q = q⁻ + (1 - z²) (y - q⁻),    v = v⁻ + (1 - z)² / T (y - q⁻),    z = exp(-ω T),

so that an error of the estimate decays with the double pole z; where the model is exact the estimate does not
lag. The *filtered difference* of positions is a first-order low-pass; it lags by 1 / (2π cut-off) + half a
period, 2.1 ms at 100 Hz and 1 kHz. It also serves the observer wherever no prediction is to be had: while the
brakes are not fully open, their force being unknown.
"""

from typing import Self

import numpy as np

from linkwork.arrays import Floats, Integers, Matrix
from linkwork.machine import Machine
from linkwork.multibody.kernels.compiling import part
from linkwork.multibody.linalg.vectors import Vector, add, cross, dot, squared, times
from linkwork.multibody.tree.rotations import quaternion_of, rotation_vector, turn_between

BEFORE, SLOPE, TO_Q, TO_V, WEIGHT, MISSING, CHANGE = range(7)
"""Rows of an estimator's table, one number a sensor: last reading, filtered difference, the two targets, one
over the sensor's deviation, the distance of a position from its target, and the reading's change.
"""
BALL_WORDS = 5
"""Of each orientation that is measured: the sensors of its three readings, x, y and z, the indices in q of
its quaternion's vector and scalar parts."""


@part
def _vector_at(values: Floats, balls: Integers, ball: int) -> Vector:
    """The three numbers of an orientation among those of all sensors."""
    at = BALL_WORDS * ball
    return values[balls[at]], values[balls[at + 1]], values[balls[at + 2]]


@part
def _set_vector(values: Floats, balls: Integers, ball: int, x: Vector) -> None:
    """Write them."""
    at = BALL_WORDS * ball
    values[balls[at]], values[balls[at + 1]], values[balls[at + 2]] = x


@part
def _quaternion_at(q: Floats, balls: Integers, ball: int) -> tuple[float, Vector]:
    """Scalar and vector part of a measured orientation in q."""
    k, scalar = balls[BALL_WORDS * ball + 3], balls[BALL_WORDS * ball + 4]
    return q[scalar], (q[k], q[k + 1], q[k + 2])


@part
def missing_positions(joint: Integers, balls: Integers, wanted: Floats, q: Floats, missing: Floats) -> None:
    """missing (sensors; rad or m) = wanted - q, along the degree of freedom of each sensor.

    joint (sensors): places in v; balls: `BALL_WORDS` for each orientation; wanted (sensors), q (nq).
    """
    for i in range(len(joint)):
        missing[i] = wanted[i] - q[joint[i]]
    for ball in range(len(balls) // BALL_WORDS):
        s, u = _quaternion_at(q, balls, ball)
        s2, u2 = quaternion_of(_vector_at(wanted, balls, ball))
        _set_vector(missing, balls, ball, turn_between(s, u, s2, u2))


@part
def _changes(joint: Integers, balls: Integers, readings: Floats, before: Floats, change: Floats) -> None:
    """change = readings - before for every sensor, along the degrees of freedom that it measures."""
    for i in range(len(joint)):
        change[i] = readings[i] - before[i]
    for ball in range(len(balls) // BALL_WORDS):
        s, u = quaternion_of(_vector_at(before, balls, ball))
        s2, u2 = quaternion_of(_vector_at(readings, balls, ball))
        _set_vector(change, balls, ball, turn_between(s, u, s2, u2))


@part
def _present(joint: Integers, balls: Integers, q: Floats, positions: Floats) -> None:
    """positions = the predicted sensor readings at q."""
    for i in range(len(joint)):
        positions[i] = q[joint[i]]
    for ball in range(len(balls) // BALL_WORDS):
        s, u = _quaternion_at(q, balls, ball)
        _set_vector(positions, balls, ball, rotation_vector(s, u))


@part
def take_positions(joint: Integers, balls: Integers, wanted: Floats, missing: Floats, q: Floats) -> None:
    """Write the targets `wanted` (sensors) to q (nq), orientations by their distance from
    `missing_positions`.
    """
    for i in range(len(joint)):
        if not _is_of_ball(balls, i):
            q[joint[i]] = wanted[i]
    for ball in range(len(balls) // BALL_WORDS):
        k, scalar = balls[BALL_WORDS * ball + 3], balls[BALL_WORDS * ball + 4]
        s, u = _quaternion_at(q, balls, ball)
        c, a = quaternion_of(_vector_at(missing, balls, ball))
        q[scalar] = s * c - dot(u, a)
        q[k], q[k + 1], q[k + 2] = add(add(times(c, u), times(s, a)), cross(u, a))


@part
def _is_of_ball(balls: Integers, sensor: int) -> bool:
    for ball in range(len(balls) // BALL_WORDS):
        at = BALL_WORDS * ball
        if balls[at] == sensor or balls[at + 1] == sensor or balls[at + 2] == sensor:
            return True
    return False


@part
def read_sensors(
    q_measured: Floats, v_measured: Floats, joint: Integers, has_velocity: Integers, table: Matrix,
    balls: Integers, dt: float, cut_off_hz: float, bandwidth: float, first: bool, predicted: bool,
    fresh: bool, q: Floats, v: Floats,
) -> int:  # fmt: skip
    """Write the targets of the table; return the first sensor whose reading is not finite, or −1.

    q and v (nv) hold the prediction if `predicted`, else the last estimate; without a `fresh` reading, or
    after one that is not finite, the targets are these. `first` starts the filtered difference afresh. dt:
    seconds since the last reading (of the device); `bandwidth` is the observer's in rad/s, 0 for the
    difference alone.
    """
    bad = -1
    for i in range(len(joint) if fresh else 0):
        if bad < 0 and not (np.isfinite(q_measured[i]) and np.isfinite(v_measured[i])):
            bad = i
    if bad >= 0 or not fresh:
        _present(joint, balls, q, table[TO_Q])
        for i in range(len(joint)):
            table[TO_V, i], table[MISSING, i] = v[joint[i]], 0.0
        return bad
    missing, change = table[MISSING], table[CHANGE]
    missing_positions(joint, balls, q_measured, q, missing)
    _changes(joint, balls, q_measured, table[BEFORE], change)
    blend = 1.0 - np.exp(-2.0 * np.pi * cut_off_hz * dt)
    z = np.exp(-bandwidth * dt)
    for i in range(len(joint)):
        if first:
            table[SLOPE, i] = 0.0
        elif dt > 0.0:
            table[SLOPE, i] += blend * (change[i] / dt - table[SLOPE, i])
        table[BEFORE, i] = table[TO_Q, i] = q_measured[i]
        if has_velocity[i] != 0:
            table[TO_V, i] = v_measured[i]
        elif predicted and bandwidth > 0.0:
            j, error = joint[i], missing[i]
            table[TO_Q, i] = q[j] + (1.0 - z * z) * error
            table[TO_V, i] = v[j]
            if dt > 0.0:
                table[TO_V, i] += squared(1.0 - z) / dt * error
            missing[i] *= 1.0 - z * z
        else:
            table[TO_V, i] = table[SLOPE, i]
    for ball in range(len(balls) // BALL_WORDS):
        s, u = _quaternion_at(q, balls, ball)
        c, a = quaternion_of(_vector_at(missing, balls, ball))
        reached = add(add(times(c, u), times(s, a)), cross(u, a))
        _set_vector(table[TO_Q], balls, ball, rotation_vector(s * c - dot(u, a), reached))
    return -1


def measured_balls(machine: Machine) -> Integers:
    """Return `BALL_WORDS` numbers for each orientation that has sensors (5 × n, flat)."""
    model = machine.mechanism.model
    sensors = [sensor.index for sensor in machine.sensors]
    found: list[int] = []
    for k, scalar in zip(model.ball_vector.tolist(), model.ball_scalar.tolist(), strict=True):
        if k in sensors:
            found += [sensors.index(k), sensors.index(k + 1), sensors.index(k + 2), k, scalar]
    return np.array(found, np.int64)


class Estimator:
    """The sensors of one machine, as the kernels want them.

    `wiring` is (joint, has_velocity, table, balls), balls as of `BALL_WORDS`.
    """

    def __init__(self, machine: Machine) -> None:
        sensors, settings = machine.sensors, machine.controller.estimator
        has_velocity = np.array([sensor.velocity for sensor in sensors], np.int64)
        joint, self.table = (
            np.array([sensor.index for sensor in sensors], np.int64),
            np.zeros((CHANGE + 1, len(sensors))),
        )
        self.wiring = (joint, has_velocity, self.table, measured_balls(machine))
        self.cut_off_hz = settings.difference_cut_off_hz
        self.bandwidth = (
            machine.controller.observer_bandwidth_rad_s if settings.velocity == "observer" else 0.0
        )
        self.first = True
        """Whether there is no past estimate: the next reading restarts the filter."""
        blend = -np.expm1(-2.0 * np.pi * self.cut_off_hz * machine.period_s)
        gain = max(blend / machine.period_s, self.bandwidth)
        self.speed_uncertainty = np.array([sensor.speed_uncertainty(gain) for sensor in sensors])
        """Error of a measured joint's speed (sensors; rad/s or m/s) that its sensor explains."""
        unmeasured = len(sensors) < machine.mechanism.nv
        self.predicts = unmeasured or bool(self.bandwidth and not np.all(has_velocity))
        """Whether every tick needs the model's prediction, not only those without a fresh state."""

    def adopt(self, other: Self, step: Floats) -> None:
        """Continue with the readings of the estimator of other constraints, past an impulse.

        step (nv): the change of the velocities.
        """
        self.first = other.first
        self.table[[BEFORE, SLOPE]] = other.table[[BEFORE, SLOPE]]
        self.table[SLOPE] += step[self.wiring[0]]
