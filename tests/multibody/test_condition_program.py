"""Conditions as programs: the same answer as the condition itself, for any numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwork.multibody.expressions.condition_program import ConditionProgram, can_hold, program_rows
from linkwork.multibody.expressions.conditions import parse_condition

WORDS = {"a": (0, False), "b": (1, False), "on": (2, False), "tick": (3, True)}
TEXTS = (
    "a > b",
    "on",
    "on=off or a >= 2",
    "sqrt(a) < 1 and (b > 0 or on)",
    "a / b > 0.5",
    "a ** b <= 3 or abs(a - b) < 0.1",
    "min(a, 2 * b) > max(b, -1)",
    "log(a) > -100 and tick > 5",
    "exp(b) > a or 1 / log(a) > 1",
    "a ** (1 / b) > 0",
    "atan2(a, b) > asin(a) or -acos(b) < a",
    "tanh(a) + cos(b) > tan(a) - sin(b)",
)
NUMBERS = st.one_of(st.floats(-5, 5), st.sampled_from([0.0, math.nan, math.inf, 1e300]))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(a=NUMBERS, b=NUMBERS, on=st.booleans(), tick=st.integers(0, 2**53))
def test_a_program_answers_as_its_condition(a: float, b: float, on: bool, tick: int) -> None:
    values = {"a": a, "b": b, "on": float(on), "tick": float(tick)}
    words = np.array([a, b, float(on), 0.0])
    words.view(np.int64)[3] = tick
    for text in TEXTS:
        condition = parse_condition(text, ["on"])
        made = ConditionProgram(program_rows(condition, WORDS))
        assert made.holds(words) == condition.met(values), text
        columns = {name: np.array([1.0, value, 0.5]) for name, value in values.items()}
        assert (1 in condition.met_rows(columns, 3)) == condition.met(values), text


def test_damaged_programs_are_refused() -> None:
    good = program_rows(parse_condition("a > b"), WORDS)
    for rows in (good[:-1], good[1:], np.vstack([good, [99, 0]]), np.vstack([good, [3, 5]])):
        with pytest.raises(ValueError, match="condition"):
            ConditionProgram(rows)


@pytest.mark.parametrize(
    ("text", "possible"),
    [
        ("a > 1", False),
        ("a >= 1", True),
        ("a > 0.5 and b > 3", True),
        ("a > 2 or a < -0.1", False),
        ("on and a > 2", False),
        ("2 * a - 1 > 1", False),
        ("abs(a - 0.5) > 0.5", False),
        ("sqrt(b) < 0", False),
        ("max(a, b) > 100", True),
        ("min(a, b) > 1.5", False),
    ],
)
def test_conditions_that_ranges_exclude_cannot_hold(text: str, possible: bool) -> None:
    spans = {"a": (0.0, 1.0), "on": (0.0, 1.0)}
    assert can_hold(parse_condition(text, ["on"]), spans) == possible
