"""Way-points: what they give decides the kind of pieces; the path goes through all of them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BPoly

from linkwork.controller.planning.messages.planner_start import Present, Start
from linkwork.controller.planning.paths.splines import path_through
from linkwork.controller.planning.process.planner import judge, plan
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.trajectory import Waypoint

HERE = np.array([0.3, -0.2, 1.0])


def present(rate=(0.0, 0.0, 0.0), wraps=(False, False, False), theta=HERE):
    return Present(
        (0, 1, 2), ("a", "b", "c"), np.array(theta), np.array(rate), np.array(wraps), np.full(3, 1e-3)
    )


def points(times, positions, velocities=None, accelerations=None):
    return [
        Waypoint(
            time_from_start_s=t,
            positions=list(positions[i]),
            velocities=None if velocities is None else list(velocities[i]),
            accelerations=None if accelerations is None else list(accelerations[i]),
        )
        for i, t in enumerate(times)
    ]


@st.composite
def way_points(draw):
    gaps = draw(st.lists(st.floats(0.05, 4.0), min_size=1, max_size=10))
    rows = draw(st.integers(1, 3))
    values = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).normal(size=(len(gaps), 3, 3))
    values[-1, 1] = 0.0
    first_at_zero = draw(st.booleans())
    times = np.cumsum(gaps)
    if first_at_zero:
        times = np.concatenate([[0.0], times])
        values = np.concatenate([[[HERE, np.zeros(3), values[0, 2]]], values])
    return times, values, rows


@given(way_points())
def test_the_path_meets_every_way_point_with_the_continuity_of_its_kind(given_points):
    times, values, rows = given_points
    parts = [values[:, row] for row in range(rows)]
    path = path_through(points(times, *parts), [0, 1, 2], present())
    pieces = BPoly.from_derivatives(path.knots, path.values)
    assert path.values.shape[1] == max(rows, 2)
    assert path.duration_s == times[-1]
    for row in range(rows):
        np.testing.assert_allclose(
            pieces(times, row), values[:, row], atol=1e-9 / np.diff(path.knots).min() ** row
        )
    np.testing.assert_array_equal(path.values[0, 0], HERE)
    np.testing.assert_array_equal(path.values[0, 1], 0.0)
    np.testing.assert_array_equal(path.values[-1, 1], 0.0)
    if rows != 2:  # C2: the second derivative is the same from both sides
        gap = np.diff(path.knots).min()
        for knot in path.knots[1:-1]:
            sides = pieces([knot - 1e-9 * gap, knot + 1e-9 * gap], 2)
            np.testing.assert_allclose(*sides, rtol=1e-5, atol=1e-5 / gap**2)


def test_two_points_of_a_spline_are_a_smooth_step():
    path = path_through(points([0.0, 2.0], [HERE, HERE + 1.0]), [0, 1, 2], present())
    pieces = BPoly.from_derivatives(path.knots, path.values)
    x = np.linspace(0.0, 1.0, 11)
    np.testing.assert_allclose(pieces(2.0 * x)[:, 0], HERE[0] + 3 * x**2 - 2 * x**3, atol=1e-15)


def test_named_columns_move_and_the_others_hold():
    path = path_through(points([1.0], [[5.0]]), [1], present())
    np.testing.assert_array_equal(path.values[-1, 0], [HERE[0], 5.0, HERE[2]])
    np.testing.assert_array_equal(path.values[:, 1, [0, 2]], 0.0)


def test_motion_at_the_start_is_continued():
    path = path_through(points([1.0, 2.0], [HERE, HERE]), [0, 1, 2], present(rate=(0.5, 0.0, 0.0)))
    np.testing.assert_array_equal(path.values[0, 1], [0.5, 0.0, 0.0])


def test_an_angle_that_wraps_is_taken_the_short_way():
    here = np.array([3.1, 0.0, 0.0])
    turned = here - [2 * np.pi, 0.0, 0.0]
    path = path_through(
        points([0.0, 1.0], [turned, turned + 0.1]), [0, 1, 2], present(wraps=(True, False, False), theta=here)
    )
    np.testing.assert_allclose(path.values[:, 0, 0], [3.1, 3.2], atol=1e-12)


@pytest.mark.parametrize(
    ("made", "path", "says"),
    [
        (
            lambda: points([0.0, 1.0], [HERE + np.array([0, 0.01, 0]), HERE]),
            (0, "positions", 1),
            "b = -0.19, 0.01 away",
        ),
        (
            lambda: points([0.0, 1.0], [HERE, HERE], [[0.2, 0, 0], [0, 0, 0]]),
            (0, "velocities", 0),
            "a at 0.2 per s, the machine has 0",
        ),
        (
            lambda: points([1.0, 2.0], [HERE, HERE], [[0, 0, 0], [0, 0, 0.1]]),
            (1, "velocities", 2),
            "must end at rest",
        ),
        (lambda: points([1.0, 1.000001], [HERE, HERE]), (1, "time_from_start_s"), "1e-05 s are needed"),
        (lambda: points([1e-6], [HERE]), (0, "time_from_start_s"), "before point 0"),
        (
            lambda: points([1.0], [HERE], [[0.0] * 3]) + points([2.0], [HERE], [[0.0] * 3], [[0.0] * 3]),
            (1, "accelerations"),
            "every way-point or for none",
        ),
    ],
)
def test_way_points_that_do_not_fit_are_refused_with_the_field(made, path, says):
    with pytest.raises(RequestError, match=says) as caught:
        path_through(made(), [0, 1, 2], present())
    assert caught.value.code == ResultCode.INVALID_GOAL
    assert caught.value.path == ("trajectory", "points", *path)


def test_velocities_may_be_given_at_some_way_points_only():
    times = [0.0, 0.7, 1.5, 2.0, 3.0]
    positions = HERE + np.array(
        [[0, 0, 0], [0.1, -0.2, 0.3], [0.4, 0.1, 0.0], [0.2, 0.2, 0.2], [0.0, 0.1, 0.5]]
    )
    rate = [0.25, -0.1, 0.3]
    chosen = points(times, positions)
    chosen[2] = Waypoint(time_from_start_s=1.5, positions=list(positions[2]), velocities=rate)
    path = path_through(chosen, [0, 1, 2], present())
    np.testing.assert_array_equal(path.values[2, 1], rate)
    np.testing.assert_array_equal(path.values[[0, -1], 1], 0.0)
    pieces = BPoly.from_derivatives(path.knots, path.values)
    for time in (0.7, 2.0):  # where the rate was left open the acceleration is continuous
        np.testing.assert_allclose(pieces(time - 1e-9, 2), pieces(time + 1e-9, 2), atol=1e-5)


def test_a_rest_given_at_the_end_alone_changes_nothing():
    times, positions = [0.0, 1.0, 2.0], HERE + np.array([[0, 0, 0], [0.1, 0.1, 0.1], [0.3, 0.2, 0.1]])
    bare, ended = points(times, positions), points(times, positions)
    ended[2] = Waypoint(time_from_start_s=2.0, positions=list(positions[2]), velocities=[0.0, 0.0, 0.0])
    first, second = (path_through(chosen, [0, 1, 2], present()) for chosen in (bare, ended))
    np.testing.assert_array_equal(first.values, second.values)


def test_way_points_of_an_angle_more_than_half_a_turn_apart_are_warned_of(scara):
    start = Start.at_pose(scara, scara.initial_q)
    here = start.theta[7]
    rest = {"coordinates": ["angle"]}

    def warnings(*angles):
        points = [{"time_from_start_s": 4.0 * (i + 1), "positions": [a]} for i, a in enumerate(angles)]
        trajectory = rest | {"points": points}
        planned = plan("send", {"trajectory": trajectory}, scara, start).report
        checked = judge({"trajectory": trajectory}, scara, start)["report"]
        assert planned.get("warnings") == checked.get("warnings")
        return planned.get("warnings", [])

    assert len(warnings(here + 3.0, here - 3.0, here + 3.0)) == 2
    (long,) = warnings(here - 1.0, here + 2.5, here + 1.0)
    assert "angle turns by 200.5° from way-point 0 to 1" in long
    assert f"write {here + 2.5 - 2.0 * math.pi:.6g} rad" in long
    assert warnings(here + 3.0, here, here - 3.1) == []
    assert warnings(here + 2.0 * math.pi, here + 2.0 * math.pi + 0.1) == [], "the first is brought near"
    rest["coordinates"] = ["wrist"]
    assert warnings(-2.5, 2.5) == [], "a joint turns as far as it is asked to"


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_close_way_points_that_begin_beside_the_machine_ask_for_no_jump(rows):
    times = np.linspace(0.0, 1.0, 101)
    beside = 9e-4
    shape = [np.sin(2.0 * times) ** 2, 2.0 * np.sin(4.0 * times), 8.0 * np.cos(4.0 * times)]
    shape[1][-1] = 0.0
    given_points = [np.stack([0.1 * part] * 3, axis=1) for part in shape[:rows]]
    given_points[0] += HERE
    exact = path_through(points(times, *given_points), [0, 1, 2], present())
    path = path_through(points(times, *given_points), [0, 1, 2], present(theta=HERE + beside))
    assert path.evaluate(0.0)[0] == pytest.approx(HERE + beside, abs=0.0)
    off = np.array([np.array(path.evaluate(t)) - np.array(exact.evaluate(t)) for t in np.linspace(0, 1, 501)])
    assert np.abs(off[:, 0]).max() <= beside * (1.0 + 1e-9)
    assert np.abs(off[:, 2]).max() <= 10.0 * beside / 0.25**2
    assert np.abs(off[-1]).max() <= 1e-12
