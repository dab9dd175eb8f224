"""Stops on the path: wherever one begins, the motors have the effort for it."""

import numpy as np
import pytest
import ruckig
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwork.controller.exchange.goal_block import GoalBlock
from linkwork.controller.planning.checks.stopping import AT_LEAST, stopping_tables
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import plan
from linkwork.multibody.functions import inverse_dynamics
from tests.controller.planning.conftest import joints_at, limited, motored

NAMES = ["lower_hinge", "upper_hinge"]


def hurried(vertical):
    """Limits so wide that the motors decide."""
    machine = vertical
    for name in NAMES:
        machine = limited(machine, name, velocity=np.inf, acceleration=1e3, jerk=np.inf)
        machine = motored(machine, name, max_effort_rate=np.inf)
    return machine


@pytest.fixture(scope="module")
def swung(vertical):
    """A goal as fast as the motors allow, its machine and its block."""
    machine = hurried(vertical)
    start = Start.at_pose(machine, machine.initial_q)
    q = machine.initial_q
    points = [
        {"time_from_start_s": t, "positions": list(q + way)}
        for t, way in ((0.35, [0.5, 0.9]), (0.7, [-0.3, 1.2]), (1.4, [0.2, -0.2]), (1.8, [0.0, 0.0]))
    ]

    def request(stretch):
        stretched = [{**p, "time_from_start_s": p["time_from_start_s"] * stretch} for p in points]
        return {"trajectory": {"coordinates": NAMES, "points": stretched}}

    def feasible(stretch):
        try:
            return plan("send", request(stretch), machine, start)
        except Exception:
            return None

    stretch = next(factor for factor in np.arange(0.5, 5.0, 0.02) if feasible(factor))
    return machine, GoalBlock(feasible(stretch).words)


def rate_profile(begin, rate, target, acceleration, jerk):
    """The path parameter's motion as the loop makes it: jerk-limited from one rate to another."""
    given = ruckig.InputParameter(1)
    given.control_interface = ruckig.ControlInterface.Velocity
    given.current_position, given.current_velocity = [begin], [rate]
    given.target_velocity = [target]
    given.max_acceleration, given.max_jerk = [acceleration], [jerk]
    found = ruckig.Trajectory(1)
    ruckig.Ruckig(1).calculate(given, found)
    return [tuple(part[0] for part in found.at_time(t)) for t in np.linspace(0.0, found.duration, 120)]


def efforts(machine, block, profile):
    """Share of each motor's effort along the profile, by inverse dynamics of the model."""
    limit = np.array([motor.max_effort for motor in machine.motors])
    theta, d1, d2 = np.empty((3, len(block.coordinates)))
    shares = []
    for s, rate, change in profile:
        if s >= block.duration_s:
            break
        block.evaluate(s, theta, d1, d2)
        effort = inverse_dynamics(machine.mechanism, theta, d1 * rate, d2 * rate**2 + d1 * change)
        shares.append(np.abs(effort) / limit)
    return np.array(shares)


@settings(max_examples=25)
@given(st.floats(0.0, 0.999), st.floats(0.05, 1.0))
def test_a_stop_from_anywhere_at_any_rate_keeps_every_effort(swung, share, rate):
    machine, block = swung
    begin = share * block.duration_s
    profile = rate_profile(begin, rate, 0.0, *block.stop_limits(begin))
    assert efforts(machine, block, profile).max() <= 1.01
    assert profile[-1][1] == pytest.approx(0.0, abs=1e-12)


@settings(max_examples=25)
@given(st.floats(0.0, 0.999), st.floats(0.0, 0.95))
def test_speeding_up_from_anywhere_keeps_every_effort(swung, share, rate):
    machine, block = swung
    begin = share * block.duration_s
    profile = rate_profile(begin, rate, 1.0, *block.go_limits(begin))
    assert efforts(machine, block, profile).max(initial=0.0) <= 1.01


def test_the_goal_is_near_its_limits_and_stops_are_quicker_where_there_is_room(swung):
    machine, block = swung
    full = [(s, 1.0, 0.0) for s in np.linspace(0.0, block.duration_s, 400)]
    assert efforts(machine, block, full).max() > 0.9
    found = np.array([block.stop_limits(s)[0] for s in np.linspace(0.0, block.duration_s, 200)])
    assert found.min() >= AT_LEAST
    assert found.max() > 4.0 * AT_LEAST


def test_a_stop_stays_within_the_joints_own_accelerations(scara):
    start = Start.at_pose(scara, scara.initial_q)
    done = plan("move", {"target": {"shoulder": -0.8, "elbow": -1.6, "lift": 0.1}}, scara, start)
    block = GoalBlock(done.words)
    theta, d1, d2 = np.empty((3, 4))
    limits = np.array([joint.acceleration for joint in scara.joints])
    jerks = np.array([joint.jerk for joint in scara.joints])
    for s in np.linspace(0.0, block.duration_s, 300):
        block.evaluate(s, theta, d1, d2)
        deceleration, jerk = block.stop_limits(s)
        assert np.all(np.abs(d1) * deceleration <= np.maximum(limits, np.abs(d1) * AT_LEAST) * (1.0 + 1e-6))
        assert np.all(np.abs(d1) * jerk <= jerks * (1.0 + 1e-6))
    assert done.report["stop"]["slowest_s"] < 2.0


@pytest.mark.slow
def test_in_task_coordinates_too(vertical):
    machine = hurried(vertical)
    start = Start.at_pose(machine, machine.initial_q)
    x, z = start.theta[2:4]
    done = plan("move", {"target": {"x": x - 0.15, "z": z - 0.2}}, machine, start)
    block = GoalBlock(done.words)
    limit = np.array([motor.max_effort for motor in machine.motors])
    theta, d1, d2 = np.empty((3, 2))
    for begin in np.linspace(0.0, 0.95, 7) * block.duration_s:
        near = machine.initial_q
        for s, rate, change in rate_profile(begin, 1.0, 0.0, *block.stop_limits(begin))[::8]:
            if s >= block.duration_s:
                break
            block.evaluate(s, theta, d1, d2)
            near = joints_at(machine, ["x", "z"], theta, near)
            workspace = Start.at_pose(machine, near)
            assert workspace.theta[2] == pytest.approx(theta[0], abs=1e-9)
            v, change_v = joint_motion(machine, near, d1 * rate, d2 * rate**2 + d1 * change)
            assert np.all(np.abs(inverse_dynamics(machine.mechanism, near, v, change_v)) <= limit * 1.005)


def joint_motion(machine, q, rate, change):
    """Joint velocities and accelerations for those of x and z, by finite differences of the coordinates."""

    def jacobian(at):
        step = 1e-6
        columns = [
            (
                Start.at_pose(machine, at + step * e).theta[2:4]
                - Start.at_pose(machine, at - step * e).theta[2:4]
            )
            / (2 * step)
            for e in np.eye(2)
        ]
        return np.array(columns).T

    v = np.linalg.solve(jacobian(q), rate)
    drift = (jacobian(q + 1e-4 * v) - jacobian(q - 1e-4 * v)) @ v / 2e-4
    return v, np.linalg.solve(jacobian(q), change - drift)


@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.floats(0.5, 20.0),
    st.floats(1.0, 500.0),
)
def test_made_up_paths_stop_within_their_efforts(seed, duration, jerk):
    """The tables against a plain simulation, on efforts that no machine needs to have."""
    rng = np.random.default_rng(seed)
    s = np.linspace(0.0, duration, int(duration / 0.005) + 1)

    def wave(size):
        phase, speed = rng.uniform(0, 6, (2, 2))
        return size * np.sin(phase + s[:, None] * (0.3 + speed))

    inertia, rest, motion, friction = wave(3.0), wave(1.0), wave(2.0), wave(0.5)
    reserve = np.maximum.reduce([np.abs(rest), np.abs(rest + friction), np.abs(rest + motion + friction)])
    limit = (reserve + AT_LEAST * np.abs(inertia)).max(axis=0) * rng.uniform(1.0, 1.5)
    tables = stopping_tables(s, duration, inertia, rest, motion, friction, limit, np.full(len(s), 1e9), jerk)
    assert np.all(tables >= AT_LEAST)
    for begin in rng.uniform(0.0, duration, 12):
        window = min(int(begin * tables.shape[1] / duration), tables.shape[1] - 1)
        for target, row in ((0.0, 0), (1.0, 1)):
            rate = rng.uniform(0.05, 1.0) if target == 0.0 else rng.uniform(0.0, 0.9)
            for at, r, change in rate_profile(begin, rate, target, tables[row, window], tables[2, window]):
                if at >= duration:
                    break
                j = [np.interp(at, s, column) for column in inertia.T]
                e = [
                    np.interp(at, s, rest[:, i])
                    + np.interp(at, s, motion[:, i]) * r**2
                    + np.interp(at, s, friction[:, i]) * r
                    for i in range(2)
                ]
                assert np.all(np.abs(np.array(e) + np.array(j) * change) <= limit * 1.02)
