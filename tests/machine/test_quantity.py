"""Numbers with units: what a section with quantities reads, refuses, and holds."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from linkwork import machine
from linkwork.machine.sections.fields import Section
from linkwork.machine.sections.motors import AngleMotor, LengthMotor, Motor
from linkwork.machine.sections.quantity import EFFORT, POSITION, Quantity, RangeQuantity

NUMBERS = st.floats(1e-6, 1e6)


class SectionOfBoth(Section):
    """A section that does not know whether it is about an angle or a length."""

    effort = Quantity("push", EFFORT, "The {effort}", gt=0)
    at = Quantity("at", POSITION, "Where", None)
    near = Quantity("near", POSITION, "About where", 0.5)
    within = RangeQuantity("within", POSITION, "Between which places")


class SectionOfAngle(Section):
    """One about an angle."""

    is_angle = True
    effort = Quantity("most_{effort}", EFFORT, "The {effort}", gt=0)


@given(NUMBERS)
def test_each_unit_gives_the_value_in_si(number):
    assert SectionOfBoth(push_N=number).effort == SectionOfBoth(push_N_m=number).effort == number
    assert SectionOfBoth(push_N=1, at_deg=number).at == math.radians(number)
    assert SectionOfBoth(push_N=1, at_rad=number).at == SectionOfBoth(push_N=1, at_m=number).at == number
    assert SectionOfBoth(push_N=1, within_deg=[-number, number]).within == (
        -math.radians(number),
        math.radians(number),
    )


@given(NUMBERS)
def test_a_section_with_another_value_reads_that_value(number):
    push = SectionOfBoth(push_N=1, at_deg=90).with_values(effort=number, at=number)
    assert (push.effort, push.at) == (number, number)
    motor = LengthMotor(max_force_N=1, max_speed_m_s=1).with_values(bandwidth=number)
    assert motor.bandwidth == pytest.approx(number)
    assert motor.max_effort == 1


def test_what_is_not_given_has_its_default():
    push = SectionOfBoth(push_N=1)
    assert (push.at, push.near, push.within) == (None, 0.5, (-math.inf, math.inf))
    motor = AngleMotor(max_torque_N_m=6, max_speed_rad_s=3)
    assert (motor.damping, motor.max_effort_rate, motor.bandwidth, motor.gear_ratio) == (
        2,
        math.inf,
        math.inf,
        1,
    )


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, "push_N_m or push_N is missing"),
        ({"push_N": 1, "push_N_m": 1}, "push_N_m and push_N give the same value twice"),
        ({"push_N": 1, "at_m": 0, "at_deg": 0}, "at_deg and at_m give the same value twice"),
        ({"push_N": -1}, "greater than 0"),
        ({"push_N": math.nan}, "finite"),
        ({"push_N": 1, "within_m": [2, 1]}, "the lower limit is not below the upper"),
    ],
)
def test_what_does_not_go_together_is_refused(keys, message):
    with pytest.raises(ValidationError, match=message):
        SectionOfBoth(**keys)


def test_a_section_about_an_angle_has_the_keys_of_angles():
    assert set(SectionOfAngle.model_fields) == {"most_torque_N_m"}
    assert SectionOfAngle.model_fields["most_torque_N_m"].description == "The torque [N m]"
    assert SectionOfAngle.model_json_schema()["required"] == ["most_torque_N_m"]
    assert not set(Motor.model_fields) & {"max_torque_N_m", "max_force_N"}


def test_a_machine_holds_its_sections():
    scara = machine.load("scara")
    kinds = [(motor.joint, type(motor)) for motor in scara.motors]
    assert kinds == [
        ("shoulder", AngleMotor),
        ("elbow", AngleMotor),
        ("wrist", AngleMotor),
        ("lift", LengthMotor),
    ]
    assert [motor.index for motor in scara.motors] == [0, 1, 2, 3]
    assert all(a != b for a, b in pairwise(scara.motors))


@pytest.mark.parametrize(
    ("old", "new", "key", "remedy"),
    [
        ("max_torque_N_m: 60", "max_force_N: 60", "motors.shoulder.max_force_N", "write max_torque_N_m"),
        ("max_torque_N_m: 60", "max_torqe_N_m: 60", "motors.shoulder.max_torqe_N_m", "write max_torque_N_m"),
    ],
)
def test_a_key_of_the_other_kind_is_refused_with_its_place(old, new, key, remedy, scara_text, problems_of):
    (problem,) = problems_of(scara_text.replace(old, new, 1))
    assert (problem.key, problem.line is not None) == (key, True)
    assert "max_torque_N_m" in problem.allowed
    assert remedy in problem.remedy


def test_a_copy_with_a_value_that_the_section_does_not_have_is_an_error() -> None:
    controller = machine.load("scara").controller
    assert controller.with_values(law="servo").law == "servo"
    with pytest.raises(TypeError, match="no value 'bandwith_rad_s'"):
        controller.with_values(bandwith_rad_s=20.0)
