"""Faults of motors: found out by the motion that they spoil, or borne within the tolerances."""

from __future__ import annotations

import pytest

from linkwork.rig.suites.standard.sizes import DETECTED_BY_MOTION, effort_unit, motor_of, struck
from linkwork.rig.under_test import RigUnderTest

pytestmark = pytest.mark.rig(controller=True, needs=["inject:actuator"])
BORNE = "feedback keeps the machine within its path tolerance"


def test_a_weak_motor(rig: RigUnderTest) -> None:
    """A motor that gives half of what the motion needs is found out, unless feedback makes up for it."""
    usual = rig.run(rig.motions.fast, title="as usual")
    motor = motor_of(rig)
    half = 0.5 * float(usual.effort(motor.joint).max)
    record = struck(rig, {"actuator": "saturate", "of": motor.joint, f"at_{effort_unit(motor)}": half})
    record.detected_or_tolerated(*DETECTED_BY_MOTION, because=BORNE)


def test_a_motor_that_gives_nothing(rig: RigUnderTest) -> None:
    """A motor that gives no effort is found out, unless others make up for it."""
    record = struck(rig, {"actuator": "lose", "of": motor_of(rig).joint}, settle_s=0.5)
    record.detected_or_tolerated(*DETECTED_BY_MOTION, because=BORNE)


def test_a_reversed_motor(rig: RigUnderTest) -> None:
    """A motor that pushes the wrong way is found out during the motion."""
    record = struck(rig, {"actuator": "reverse", "of": motor_of(rig).joint}, settle_s=0.5)
    record.fault(*DETECTED_BY_MOTION).within(seconds=rig.motions.fast_s + 0.5)


def test_a_motor_that_does_not_listen(rig: RigUnderTest) -> None:
    """A motor that keeps its effort whatever it is told is found out, unless others make up for it."""
    record = struck(rig, {"actuator": "freeze", "of": motor_of(rig).joint}, settle_s=0.5)
    record.detected_or_tolerated(*DETECTED_BY_MOTION, because=BORNE)


@pytest.mark.rig(brakes=True, needs=["inject:actuator.stick"])
def test_a_brake_that_sticks(rig: RigUnderTest) -> None:
    """A brake that closes in motion is found out, unless the motor can pull through it."""
    record = struck(rig, {"actuator": "stick", "of": motor_of(rig).joint}, settle_s=0.5)
    record.detected_or_tolerated(*DETECTED_BY_MOTION, because="the motor overcomes its brake")


def test_a_lagging_motor(rig: RigUnderTest) -> None:
    """A motor whose effort follows with a time constant of three ticks is borne, or found out."""
    entry = {"actuator": "lag", "of": motor_of(rig).joint, "time_constant_s": 3.0 * rig.period_s}
    record = struck(rig, entry)
    record.detected_or_tolerated(*DETECTED_BY_MOTION, because="the loop is slower than the lag")


def test_more_friction(rig: RigUnderTest) -> None:
    """Dry friction of a twentieth of the motor's largest effort is borne, or found out."""
    motor = motor_of(rig)
    friction = 0.05 * motor.max_effort
    record = struck(
        rig, {"actuator": "friction", "of": motor.joint, f"coulomb_{effort_unit(motor)}": friction}
    )
    record.detected_or_tolerated(*DETECTED_BY_MOTION, because=BORNE)
