"""Faults of motors: detected by their effect on the motion, or tolerated."""

import pytest

from linkwork.rig.suites.standard.sizes import DETECTED_BY_MOTION, effort_unit, motor_of, struck
from linkwork.rig.under_test import RigUnderTest

pytestmark = pytest.mark.rig(controller=True, needs=["inject:actuator"])
BORNE = "feedback keeps the machine within its path tolerance"


def test_a_weak_motor(rig: RigUnderTest) -> None:
    """A motor that gives half of the required effort is detected, unless feedback compensates for it."""
    usual = rig.run(rig.motions.fast, title="as usual")
    motor = motor_of(rig)
    half = 0.5 * float(usual.effort(motor.joint).max)
    record = struck(rig, {"actuator": "saturate", "of": motor.joint, f"at_{effort_unit(motor)}": half})
    record.detected_or_tolerated(*DETECTED_BY_MOTION, because=BORNE)


def test_a_motor_that_gives_nothing(rig: RigUnderTest) -> None:
    """A motor that gives no effort is detected, unless other motors compensate for it."""
    record = struck(rig, {"actuator": "lose", "of": motor_of(rig).joint}, settle_s=0.5)
    record.detected_or_tolerated(*DETECTED_BY_MOTION, because=BORNE)


def test_a_reversed_motor(rig: RigUnderTest) -> None:
    """A motor whose effort has the wrong sign is detected during the motion."""
    record = struck(rig, {"actuator": "reverse", "of": motor_of(rig).joint}, settle_s=0.5)
    record.fault(*DETECTED_BY_MOTION).within(seconds=rig.motions.fast_s + 0.5)


def test_a_motor_that_does_not_listen(rig: RigUnderTest) -> None:
    """A motor that ignores commands is detected, unless other motors compensate for it."""
    record = struck(rig, {"actuator": "freeze", "of": motor_of(rig).joint}, settle_s=0.5)
    record.detected_or_tolerated(*DETECTED_BY_MOTION, because=BORNE)


@pytest.mark.rig(brakes=True, needs=["inject:actuator.stick"])
def test_a_brake_that_sticks(rig: RigUnderTest) -> None:
    """A brake that closes during the motion is detected, unless the motor overcomes it."""
    record = struck(rig, {"actuator": "stick", "of": motor_of(rig).joint}, settle_s=0.5)
    record.detected_or_tolerated(*DETECTED_BY_MOTION, because="the motor overcomes its brake")


def test_a_lagging_motor(rig: RigUnderTest) -> None:
    """A motor whose effort lags with a time constant of three ticks is tolerated or detected."""
    entry = {"actuator": "lag", "of": motor_of(rig).joint, "time_constant_s": 3.0 * rig.period_s}
    record = struck(rig, entry)
    record.detected_or_tolerated(*DETECTED_BY_MOTION, because="the loop is slower than the lag")


def test_more_friction(rig: RigUnderTest) -> None:
    """Dry friction of a twentieth of the motor's largest effort is tolerated or detected."""
    motor = motor_of(rig)
    friction = 0.05 * motor.max_effort
    record = struck(
        rig, {"actuator": "friction", "of": motor.joint, f"coulomb_{effort_unit(motor)}": friction}
    )
    record.detected_or_tolerated(*DETECTED_BY_MOTION, because=BORNE)
