"""The histogram against sorting all values."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.timing.statistics import Histogram

durations = st.lists(
    st.integers(0, 10**13).flatmap(lambda top: st.integers(0, top)), min_size=1, max_size=200
)


def filled(values: list[int]) -> Histogram:
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    return histogram


@given(values=durations, fraction=st.floats(0, 1))
def test_a_quantile_is_the_sorted_value_within_half_a_bin(values: list[int], fraction: float) -> None:
    clipped = sorted(min(value, 2**42 - 1) for value in values)
    exact = clipped[max(math.ceil(fraction * len(values)), 1) - 1]
    assert filled(values).quantile(fraction) == pytest.approx(exact, rel=1 / 62, abs=1e-9)


@given(values=durations)
def test_count_mean_and_extremes_are_exact(values: list[int]) -> None:
    clipped = [min(value, 2**42 - 1) for value in values]
    histogram = filled(values)
    summary = histogram.summary()
    assert summary.count == len(values)
    assert summary.max_ns == max(clipped)
    assert histogram.min_ns == min(clipped)
    assert summary.mean_ns == pytest.approx(sum(clipped) / len(clipped))


@given(values=durations)
def test_every_value_lies_in_the_bin_that_counts_it(values: list[int]) -> None:
    bins = list(filled(values).bins())
    for low, high, count in bins:
        assert count == sum(low <= min(value, 2**42 - 1) < high for value in values)
    assert bins == sorted(bins)


@given(first=durations, second=durations)
def test_many_at_once_are_the_same_as_one_by_one(first: list[int], second: list[int]) -> None:
    histogram = filled(first)
    histogram.add_all(np.array([*second, -5], np.int64))
    one_by_one = filled([*first, *second, -5])
    assert histogram.summary() == one_by_one.summary()
    assert list(histogram.bins()) == list(one_by_one.bins())
    histogram.add_all(np.empty(0, np.int64))
    assert histogram.summary() == one_by_one.summary()


def test_reset_forgets() -> None:
    histogram = filled([5, 10**6])
    histogram.reset()
    assert list(histogram.bins()) == []
    assert histogram.summary() == Histogram().summary()
    histogram.add(7)
    assert histogram.summary().max_ns == histogram.min_ns == 7


def test_what_is_out_of_range_is_counted_at_the_edge() -> None:
    histogram = filled([-5, 2**60])
    assert histogram.min_ns == 0
    assert histogram.max_ns == 2**42 - 1


@pytest.mark.parametrize("fraction", [-0.01, 1.01, math.nan])
def test_a_fraction_lies_between_0_and_1(fraction: float) -> None:
    with pytest.raises(ValueError, match="fraction"):
        Histogram().quantile(fraction)


def test_an_empty_histogram_answers_zero() -> None:
    assert Histogram().quantile(0.5) == 0.0


def test_json_has_microseconds() -> None:
    assert filled([1500, 1500]).summary().in_microseconds() == {
        "count": 2,
        "mean_us": 1.5,
        "p50_us": 1.5,
        "p99_us": 1.5,
        "p999_us": 1.5,
        "max_us": 1.5,
    }
