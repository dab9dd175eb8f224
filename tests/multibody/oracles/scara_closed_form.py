"""The SCARA of Xu & Liu 2017 in closed form: mass matrix, Coriolis terms, gravity, tool and its rates."""

import numpy as np

from linkwork.arrays import Floats

M1, M2, M3, M4 = 20.0, 15.0, 15.0, 0.5
L1, L2, R1, R2 = 0.2, 0.25, 0.1, 0.125
I1, I2, I3, I4 = 0.27, 0.31, 0.02, 0.0001
G = 9.81

ALPHA = I1 + R1**2 * M1 + L1**2 * (M2 + M3 + M4)
BETA = I2 + I3 + I4 + L2**2 * (M3 + M4) + M2 * R2**2
GAMMA = L1 * L2 * (M3 + M4) + L1 * M2 * R2
DELTA = I3 + I4


def mass_matrix(q: Floats) -> Floats:
    c2 = np.cos(q[1])
    m11, m12, m22 = ALPHA + BETA + 2 * GAMMA * c2, BETA + GAMMA * c2, BETA
    return np.array(
        [[m11, m12, DELTA, 0.0], [m12, m22, DELTA, 0.0], [DELTA, DELTA, DELTA, 0.0], [0.0, 0.0, 0.0, M4]]
    )


def coriolis(q: Floats, v: Floats) -> Floats:
    s2 = GAMMA * np.sin(q[1])
    c = np.zeros((4, 4))
    c[0, 0], c[0, 1], c[1, 0] = -s2 * v[1], -s2 * (v[0] + v[1]), s2 * v[0]
    return c


def gravity() -> Floats:
    return np.array([0.0, 0.0, 0.0, M4 * G])


def tool(q: Floats) -> Floats:
    """x, y, z and angle."""
    q12 = q[0] + q[1]
    return np.array(
        [
            -L1 * np.sin(q[0]) - L2 * np.sin(q12),
            L1 * np.cos(q[0]) + L2 * np.cos(q12),
            q[3],
            q12 + q[2],
        ]
    )


def tool_jacobian(q: Floats) -> Floats:
    x, y = tool(q)[:2]
    q12 = q[0] + q[1]
    return np.array(
        [
            [-y, -L2 * np.cos(q12), 0.0, 0.0],
            [x, -L2 * np.sin(q12), 0.0, 0.0],
            [0.0, 0.0, 0.0, 1.0],
            [1.0, 1.0, 1.0, 0.0],
        ]
    )


def tool_jacobian_rate(q: Floats, v: Floats) -> Floats:
    """J̇ v: the centripetal accelerations of both arms."""
    q12, w1, w12 = q[0] + q[1], v[0] ** 2, (v[0] + v[1]) ** 2
    return np.array(
        [
            L1 * np.sin(q[0]) * w1 + L2 * np.sin(q12) * w12,
            -L1 * np.cos(q[0]) * w1 - L2 * np.cos(q12) * w12,
            0.0,
            0.0,
        ]
    )
