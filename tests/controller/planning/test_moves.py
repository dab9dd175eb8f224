"""Moves keep every limit, end exactly, and go straight."""

import numpy as np
import pytest
import ruckig
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.interpolate import BPoly

from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.moves import limits_of, path_to
from linkwork.protocol.errors import RequestError
from tests.controller.planning.conftest import limited

JOINTS = (0, 1, 2, 3)
positions = st.tuples(*[st.floats(-1.5, 1.5)] * 3, st.floats(-0.05, 0.2))


def largest(path, order):
    """Largest value of each coordinate's derivative of this order, at both ends and inside of every piece."""
    pieces = BPoly.from_derivatives(path.knots, path.values)
    inner = [
        pieces(path.knots[:-1] + share * np.diff(path.knots), order) for share in (1e-9, 0.3, 0.7, 1 - 1e-9)
    ]
    return np.abs(np.concatenate(inner)).max(axis=0)


@settings(max_examples=60)
@given(positions, positions)
@example((0.0, 0.0, 0.0, 0.06), (0.0, 0.0, 0.0, -1.192092896e-07))  # with a piece of 0.1 µs
def test_a_move_from_rest_keeps_every_limit_and_ends_exactly(scara, here, there):
    present = Start.at_pose(scara, here).present(scara, JOINTS)
    path = path_to(scara, present, np.array(there))
    limits = np.array([limits_of(scara, index) for index in JOINTS]).T
    np.testing.assert_array_equal(path.values[0, :2], [here, np.zeros(4)])
    np.testing.assert_array_equal(path.values[-1, :2], [there, np.zeros(4)])
    for order, tolerance in ((1, 1e-9), (2, 1e-6), (3, 0.2)):  # knots closer than 10 µs are merged
        assert np.all(largest(path, order) <= limits[order - 1] * (1.0 + tolerance) + 1e-9)


@settings(max_examples=60)
@given(positions, positions)
def test_a_move_from_rest_is_a_straight_line(scara, here, there):
    present = Start.at_pose(scara, here).present(scara, JOINTS)
    path = path_to(scara, present, np.array(there))
    pieces = BPoly.from_derivatives(path.knots, path.values)
    way = np.array(there) - here
    along = pieces(np.linspace(0.0, path.duration_s, 50)) - here
    far = float(way @ way)
    if far > 1e-6:
        share = along @ way / far
        np.testing.assert_allclose(along, share[:, None] * way, atol=1e-14)


def test_a_move_is_ruckigs_own_trajectory(scara):
    here, there = [0.5, -0.9, 0.4, 0.0], [0.0, 0.5, 0.2, 0.1]
    path = path_to(scara, Start.at_pose(scara, here).present(scara, JOINTS), np.array(there))
    pieces = BPoly.from_derivatives(path.knots, path.values)
    given = ruckig.InputParameter(4)
    given.current_position, given.target_position = here, there
    given.max_velocity, given.max_acceleration, given.max_jerk = np.array(
        [limits_of(scara, index) for index in JOINTS]
    ).T.tolist()
    given.synchronization = ruckig.Synchronization.Phase
    found = ruckig.Trajectory(4)
    assert ruckig.Ruckig(4).calculate(given, found) == ruckig.Result.Working
    assert path.duration_s == pytest.approx(found.duration, abs=1e-12)
    for s in np.linspace(0.0, found.duration, 101):
        p, v, a = found.at_time(s)
        np.testing.assert_allclose(pieces(s), p, atol=1e-13)
        np.testing.assert_allclose(pieces(s, 1), v, atol=1e-12)
        if np.abs(path.knots - s).min() > 1e-6:
            np.testing.assert_allclose(pieces(s, 2), a, atol=1e-10)


@settings(max_examples=40)
@given(positions, positions, st.tuples(*[st.floats(-0.4, 0.4)] * 4))
@example((0.0, 0.0625, 0.0, 6e-8), (1.0, 0.0625, 0.0, 0.0), (0.0, 0.0625, 0.0, 0.0))  # a knot near the end
def test_a_move_from_motion_begins_with_that_motion(scara, here, there, rate):
    present = Start.at_pose(scara, here, rate).present(scara, JOINTS)
    path = path_to(scara, present, np.array(there))
    np.testing.assert_array_equal(path.values[0, :2], [here, present.rate])
    np.testing.assert_array_equal(path.values[-1, :2], [there, np.zeros(4)])
    limits = np.array([limits_of(scara, index) for index in JOINTS]).T
    assert np.all(largest(path, 1) <= limits[0] * (1.0 + 1e-9) + 1e-9)
    assert np.all(largest(path, 2) <= limits[1] * (1.0 + 1e-3))


def test_a_speed_above_the_limit_is_refused(scara):
    present = Start.at_pose(scara, scara.initial_q, [2.5, 0.0, 0.0, 0.0]).present(scara, JOINTS)
    with pytest.raises(RequestError, match=r"shoulder moves at 2\.5") as caught:
        path_to(scara, present, np.zeros(4))
    assert caught.value.data["limit"] == 2.0


def test_nowhere_to_go_takes_a_moment(scara):
    present = Start.at_pose(scara, scara.initial_q).present(scara, JOINTS)
    path = path_to(scara, present, present.theta)
    assert path.duration_s == pytest.approx(0.1)
    np.testing.assert_array_equal(path.values[:, 1], 0.0)


def test_limits_left_open_are_filled_in(scara):
    free = limited(scara, "shoulder", velocity=np.inf, acceleration=np.inf, jerk=np.inf)
    assert limits_of(free, 0) == (6.0, 24.0, 240.0)  # the motor's speed, 0.25 s, 0.1 s
    free = limited(scara, "x", velocity=np.inf, acceleration=np.inf, jerk=np.inf)
    assert limits_of(free, 4) == (0.25, 1.0, 10.0)
