"""docs/plant.md says how far the SCARA travels after the last fresh command; here it travels."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import load
from linkwork.multibody.functions import inverse_dynamics, point_position
from linkwork.plant.simulator.plant_state import EFFORTS
from linkwork.plant.simulator.simulator import Simulator

PAGE = Path(__file__).parents[2] / "docs" / "plant.md"
SCARA = load("scara")
L1, L2 = 0.2, 0.25


def helix(t: float) -> Floats:
    """Joint positions on the demo's helix (Xu & Liu 2017), by the arm's closed inverse kinematics."""
    x, y, z = 0.05 * np.sin(0.4 * np.pi * t), 0.35 + 0.05 * np.cos(0.4 * np.pi * t), 0.02 * t
    q2 = -np.arccos((x * x + y * y - L1 * L1 - L2 * L2) / (2 * L1 * L2))
    q1 = np.arctan2(-x, y) - np.arctan2(L2 * np.sin(q2), L1 + L2 * np.cos(q2))
    return np.array([q1, q2, -(q1 + q2), z])


def stop_from(q: Floats, v: Floats, effort: Floats) -> tuple[Floats, Floats, int]:
    """Way of each joint, the pose at rest, and the periods it took since the last fresh command."""
    simulator = Simulator(SCARA)
    simulator.q[:], simulator.v[:] = q, v
    simulator.latch(EFFORTS, effort)
    simulator.integrate(SCARA.plant.command_timeout_periods)
    simulator.act("brake")
    while not simulator.resting:
        simulator.integrate()
    return simulator.travel.copy(), simulator.q.copy(), simulator.tick


def test_from_the_helix() -> None:
    h = 1e-4
    for t in np.linspace(0.0, 5.0, 41):
        before, q, after = helix(t - h), helix(t), helix(t + h)
        v, a = (after - before) / (2 * h), (after - 2 * q + before) / h**2
        way, rest, periods = stop_from(q, v, inverse_dynamics(SCARA.mechanism, q, v, a))
        assert np.all(way <= [0.0084, 0.0108, 0.0057, 0.00041])
        tool = point_position(SCARA.mechanism, "tool", rest) - point_position(SCARA.mechanism, "tool", q)
        assert np.linalg.norm(tool) <= 0.0020
        assert periods <= 39
    for words in ("0.0084, 0.0108 and 0.0057 rad and 0.4 mm", "within 2.0 mm", "rest 39 periods"):
        assert words in PAGE.read_text()


def test_from_all_limits_at_once() -> None:
    for q2 in np.linspace(-2.6, 2.6, 14):
        for signs in ([1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [-1, 1, 1, 1]):
            q = SCARA.initial_q.copy()
            q[1] = q2
            v = np.array([joint.velocity for joint in SCARA.joints]) * signs
            effort = np.array([motor.max_effort for motor in SCARA.motors]) * signs
            way, _, periods = stop_from(q, v, effort)
            assert np.all(way <= [0.71, 0.85, 0.56, 0.14])
            assert periods <= 460
    assert "0.71, 0.85 and 0.56 rad and 0.14 m, at rest after 460" in PAGE.read_text()
