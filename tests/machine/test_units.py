"""Assignments as the command line takes them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork import machine
from linkwork.machine.units import parse_assignment

SCARA = machine.load("scara")


@pytest.mark.parametrize(
    ("text", "index", "value"),
    [
        ("shoulder_deg=30", 0, math.pi / 6),
        (" elbow_rad = -1e-1 ", 1, -0.1),
        ("shoulder=0.5", 0, 0.5),
        ("lift_m=0.05", 3, 0.05),
        ("lift=0.05", 3, 0.05),
        ("x_m=0.1", 4, 0.1),
        ("angle_deg=180", 7, math.pi),
    ],
)
def test_names_units_and_values(text, index, value):
    assert parse_assignment(text, SCARA) == (index, pytest.approx(value))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sholder_deg=30", "write shoulder_deg"),
        ("shoulder_m=30", "shoulder_deg, shoulder_rad"),
        ("lift_deg=3", "write lift_m"),
        ("shoulder_deg_s=3", "shoulder_deg, shoulder_rad"),
        ("shoulder_deg", "NAME_UNIT=VALUE"),
        ("shoulder_deg=", "NAME_UNIT=VALUE"),
        ("shoulder_deg=nan", "a finite number"),
        ("shoulder_deg=1_0", "a finite number"),
        ("shoulder_deg=3O", "a finite number"),
        ("", "write, for example, shoulder_deg=30"),
    ],
)
def test_what_is_no_assignment_says_what_would_be(text, words):
    with pytest.raises(machine.MachineError) as caught:
        parse_assignment(text, SCARA)
    (problem,) = caught.value.problems
    assert words in str(problem)


@given(st.text() | st.from_regex(r"(shoulder|lift|x)(_deg|_m)?=.*"))
def test_no_text_raises_anything_else(text):
    try:
        index, value = parse_assignment(text, SCARA)
    except machine.MachineError:
        return
    assert math.isfinite(value)
    assert 0 <= index < 8
