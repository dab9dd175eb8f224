"""The block: what is packed is read back as the pieces it was made of, and damage is noticed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BPoly

from linkwork.controller.exchange.goal_block import BlockError, GoalBlock, check_block, pack_block


def _block(knots, values, windows=3, **changes):
    count = values.shape[2]
    options = {
        "path_tolerance": [0.1] * count,
        "goal_tolerance": [0.01] * count,
        "goal_time_s": 0.5,
        "stopping": np.arange(1.0, 3 * windows + 1).reshape(3, windows),
    }
    return pack_block(range(count), knots, values, **{**options, **changes})


@st.composite
def paths(draw):
    rows, count = draw(st.sampled_from([2, 3])), draw(st.integers(1, 6))
    gaps = draw(st.lists(st.floats(0.01, 3.0), min_size=1, max_size=12))
    seed = draw(st.integers(0, 2**32 - 1))
    knots = np.concatenate([[0.0], np.cumsum(gaps)])
    return knots, np.random.default_rng(seed).normal(size=(len(knots), rows, count))


@given(paths(), st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20))
def test_a_block_is_the_hermite_interpolation_of_its_knots(path, shares):
    knots, values = path
    block = GoalBlock(_block(knots, values))
    reference = BPoly.from_derivatives(knots, values)
    found = np.empty((3, values.shape[2]))
    shortest = np.diff(knots).min()
    for share in shares:
        s = share * block.duration_s
        block.evaluate(s, *found)
        for order in range(3):
            if order == 2 and values.shape[1] == 2 and np.abs(knots - s).min() < 1e-9:
                continue  # cubic pieces jump in their second derivative
            scale = 10.0 / shortest**order
            np.testing.assert_allclose(found[order], reference(s, order), rtol=0, atol=1e-12 * scale)


@given(paths())
def test_knots_are_met_exactly_and_outside_it_rests(path):
    knots, values = path
    block = GoalBlock(_block(knots, values))
    found = np.empty((3, values.shape[2]))
    for s, row in zip(knots[:-1], values, strict=False):
        block.evaluate(s, *found)
        np.testing.assert_array_equal(found[: values.shape[1]][:2], row[:2])
    for s, row in ((-1e-9, values[0]), (-5.0, values[0]), (block.duration_s + 1e-9, values[-1])):
        block.evaluate(s, *found)
        np.testing.assert_array_equal(found, [row[0], np.zeros_like(row[0]), np.zeros_like(row[0])])


def test_the_header_tells_what_was_packed():
    words = _block(
        np.array([0.0, 1.0, 4.0]),
        np.zeros((3, 2, 2)),
        windows=4,
        path_tolerance=[0.1, 0.2],
        goal_tolerance=[0.3, 0.4],
        goal_time_s=2.5,
        full_speed=(1.0, 3.0),
    )
    block = GoalBlock(words)
    assert block.coordinates.tolist() == [0, 1]
    assert block.path_tolerance.tolist() == [0.1, 0.2]
    assert block.goal_tolerance.tolist() == [0.3, 0.4]
    assert (block.duration_s, block.goal_time_s, block.full_speed) == (4.0, 2.5, (1.0, 3.0))
    assert check_block(words) is None


def test_stopping_limits_are_those_of_the_window():
    block = GoalBlock(_block(np.array([0.0, 4.0]), np.zeros((2, 2, 1)), windows=4))
    assert block.stop_limits(-1.0) == block.stop_limits(0.5) == (1.0, 9.0)
    assert block.go_limits(1.5) == (6.0, 10.0)
    assert block.stop_limits(4.0) == block.stop_limits(9.0) == (4.0, 12.0)


def _damage(words, at, value):
    words[at] = value
    return words


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda w: w[:10], "at least 16"),
        (lambda w: w[:-1], "words"),
        (lambda w: np.append(w, 0.0), "words"),
        (lambda w: _damage(w, 0, 7.0), "version 7"),
        (lambda w: _damage(w, 2, np.nan), "finite"),
        (lambda w: _damage(w, 3, 4.0), "4 rows"),
        (lambda w: _damage(w, 6, -1.0), "duration"),
        (lambda w: _damage(w, 16, 0.5), "indices"),
        (lambda w: _damage(w, 16, -1.0), "indices"),
    ],
)
def test_a_damaged_header_is_refused(damage, says):
    words = damage(_block(np.array([0.0, 1.0, 4.0]), np.zeros((3, 2, 2))))
    with pytest.raises(BlockError, match=says):
        GoalBlock(words)
    assert says in (check_block(words) or "")


@pytest.mark.parametrize(
    ("at", "value", "says"),
    [(-1, np.inf, "finite"), (-14, 9.0, "knots"), (18, 0.0, "above 0"), (24, -1.0, "above 0")],
)
def test_the_full_check_looks_at_every_word(at, value, says):
    words = _block(np.array([0.0, 1.0, 4.0]), np.zeros((3, 2, 2)))
    assert check_block(words) is None
    words[at] = value
    GoalBlock(words)  # the header is sound
    assert says in (check_block(words) or "")


def test_random_words_never_crash():
    rng = np.random.default_rng(3)
    for _ in range(200):
        words = rng.normal(size=rng.integers(0, 60)) * 10.0 ** rng.integers(-3, 12)
        assert check_block(words) is not None
