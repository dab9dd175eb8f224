"""The answer of `send --check` as text."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.cli.motion_commands import lines
from linkwork.controller.planning.checks.kinematic_check import share_of_range


def test_the_smallest_singular_value_is_a_whole_sentence() -> None:
    report = {"singularities": {"goal": {"smallest": 0.0481, "time_s": 1.25, "limit": 0.001}}}
    found: Any = {
        "feasible": True, "duration_s": 1.0, "coordinates": ["x"], "violations": [],
        "largest_speed": None, "report": report,
    }  # fmt: skip
    told = list(lines(found))
    assert told[-1] == "smallest singular value of the goal: 0.0481 at 1.250 s, at least 0.001 is needed"


@given(low=st.floats(-10, 10), width=st.floats(1e-3, 10), at=st.floats(-0.5, 1.5))
def test_the_share_of_a_range_is_1_at_both_ends_and_0_in_the_middle(
    low: float, width: float, at: float
) -> None:
    high, value = low + width, low + at * width
    shares = [share_of_range(value, low, high, sign) for sign in (-1.0, 1.0)]
    assert max(shares) == pytest.approx(abs(2.0 * at - 1.0), abs=1e-9)


@pytest.mark.parametrize(("value", "share"), [(0.0, 1.0), (0.1, 0.0), (-0.1, 1.0)])
def test_a_range_with_one_end_at_zero(value: float, share: float) -> None:
    assert share_of_range(value, 0.0, math.inf, -1.0) == share
