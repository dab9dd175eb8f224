"""The shipped SCARA is that of Xu & Liu 2017, and its curve is within its limits and its motors' efforts."""

import math

import numpy as np
import pytest

from linkwork import machine

L1, L2, R1, R2 = 0.2, 0.25, 0.1, 0.125
MASSES, INERTIAS = (20.0, 15.0, 15.0, 0.5), (0.27, 0.31, 0.02, 0.0001)


@pytest.fixture(scope="module")
def scara() -> machine.Machine:
    return machine.load("scara")


def test_it_has_the_papers_masses_and_lengths(scara):
    mechanism = scara.mechanism
    assert mechanism.joint_names == ("shoulder", "elbow", "wrist", "lift")
    assert mechanism.coordinate_names == ("shoulder", "elbow", "wrist", "lift", "x", "y", "z", "angle")
    assert list(mechanism.coordinate_is_angle) == [True, True, True, False, False, False, False, True]
    assert tuple(body.mass_kg for body in mechanism.bodies) == MASSES
    assert tuple(body.inertia_kg_m2[2, 2] for body in mechanism.bodies) == INERTIAS
    assert [tuple(joint.at_m) for joint in mechanism.joints] == [(0, 0, 0), (0, L1, 0), (0, L2, 0), (0, 0, 0)]
    assert [tuple(body.com_m) for body in mechanism.bodies[:2]] == [(0, R1, 0), (0, R2, 0)]
    assert np.degrees(scara.initial_q[:3]) == pytest.approx([30, -55, 24])
    assert scara.initial_q[3] == 0
    assert not scara.initial_v.any()
    assert not scara.initial_q.flags.writeable


def test_motors_sensors_and_limits_follow_the_file(scara):
    assert [motor.joint for motor in scara.motors] == list(scara.mechanism.joint_names)
    assert [motor.index for motor in scara.motors] == [0, 1, 2, 3]
    assert all(motor.brake_effort > 0 for motor in scara.motors)
    lift = scara.motors[3]
    assert (lift.is_angle, lift.max_effort, lift.damping) == (False, 100, 100 / 1.5)
    assert all(sensor.velocity and sensor.resolution == 0 and sensor.noise == 0 for sensor in scara.sensors)
    assert scara.joints == scara.coordinates[:4]
    assert scara.joints[0].position == pytest.approx((-math.radians(170), math.radians(170)))
    assert scara.coordinates[4].position == (-math.inf, math.inf)
    assert scara.period_s == scara.plant.period_s == 0.001
    assert scara.coordinate_index("angle") == 7
    assert scara.coordinate_index("nothing") is None


def test_it_loads_without_a_warning():
    assert machine.check("scara") == ()
    assert machine.load("scara").warnings == ()


def helix(s: np.ndarray) -> np.ndarray:
    """Joint coordinates on the curve by the closed inverse kinematics, elbow as where the machine starts."""
    x, y, z = 0.05 * np.sin(0.4 * np.pi * s), 0.35 + 0.05 * np.cos(0.4 * np.pi * s), 0.02 * s
    elbow = -np.arccos((x**2 + y**2 - L1**2 - L2**2) / (2 * L1 * L2))
    shoulder = np.arctan2(-x, y) - np.arctan2(L2 * np.sin(elbow), L1 + L2 * np.cos(elbow))
    return np.stack([shoulder, elbow, -(shoulder + elbow), z], axis=1)


def efforts(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Closed-form inverse dynamics, Xu & Liu 2017 section 4; rows are samples."""
    (m1, m2, m3, m4), (i1, i2, i3, i4) = MASSES, INERTIAS
    alpha = i1 + R1**2 * m1 + L1**2 * (m2 + m3 + m4)
    beta = i2 + i3 + i4 + L2**2 * (m3 + m4) + m2 * R2**2
    gamma, delta = L1 * L2 * (m3 + m4) + L1 * m2 * R2, i3 + i4
    c, s = gamma * np.cos(q[:, 1]), gamma * np.sin(q[:, 1])
    return np.stack(
        [
            (alpha + beta + 2 * c) * a[:, 0]
            + (beta + c) * a[:, 1]
            + delta * a[:, 2]
            - s * v[:, 1] * (2 * v[:, 0] + v[:, 1]),
            (beta + c) * a[:, 0] + beta * a[:, 1] + delta * a[:, 2] + s * v[:, 0] ** 2,
            delta * (a[:, 0] + a[:, 1] + a[:, 2]),
            m4 * (a[:, 3] + 9.81),
        ],
        axis=1,
    )


def test_the_helix_with_one_second_ramps_is_feasible(scara):
    dt = 1e-3
    t = np.arange(0, 7 + dt, dt)
    x = np.clip(np.minimum(t, 7 - t), 0, 1)
    s = np.cumsum(x**3 * (10 - 15 * x + 6 * x**2)) * dt - 0.5
    q = helix(s)
    assert q[:, 3].min() == pytest.approx(-0.01, abs=1e-4)
    assert q[:, 3].max() == pytest.approx(0.11, abs=1e-4)
    v, a, j = (np.diff(q, n, axis=0)[6:6990] / dt**n for n in (1, 2, 3))
    demand = np.abs(efforts(q[6:6990], v, a)).max(axis=0)
    for k, limits in enumerate(scara.joints):
        assert limits.position[0] < q[:, k].min() < q[:, k].max() < limits.position[1]
        assert np.abs(v[:, k]).max() < 0.5 * limits.velocity
        assert np.abs(a[:, k]).max() < 0.5 * limits.acceleration
        assert np.abs(j[:, k]).max() < 0.5 * limits.jerk
        assert demand[k] < 0.5 * scara.motors[k].max_effort


def test_the_motors_can_give_the_accelerations_in_any_pose(scara):
    random = np.random.default_rng(1)
    low, high = np.array([limits.position for limits in scara.joints]).T
    signs = random.choice([-1.0, 1.0], (2, 5000, 4))
    q = random.uniform(low, high, (5000, 4))
    v, a = signs * np.array([[[j.velocity for j in scara.joints]], [[j.acceleration for j in scara.joints]]])
    assert (np.abs(efforts(q, v, a)) < [motor.max_effort for motor in scara.motors]).all()
