"""Stops: every way to end a motion keeps the machine on its path, or brakes it."""

import pytest

from linkwork.rig.motions import duration_s
from linkwork.rig.under_test import RigUnderTest

pytestmark = pytest.mark.rig(controller=True)
MIDDLE = 0.3
"""Of a motion's length: where it is near its fastest."""
SOON_S = 3.0
"""Within which any stop ends."""


def _middle(rig: RigUnderTest) -> float:
    return MIDDLE * duration_s(rig.motions.fast)


def test_cancel_stops_on_the_path(rig: RigUnderTest) -> None:
    """A cancelled goal comes to rest on its path and ends with CANCELLED; then the machine holds."""
    record = rig.run(rig.motions.fast, during={_middle(rig): "cancel"}, title="cancel")
    record.ended_with("CANCELLED")
    record.no_fault()
    record.stopped_within(SOON_S)
    record.stays_on_path()
    assert rig.state["state"] == "active"


def test_stop_stops_on_the_path(rig: RigUnderTest) -> None:
    """A `stop` from any client brings the machine to rest on its path; then the machine holds."""
    record = rig.run(rig.motions.fast, during={_middle(rig): "stop"}, title="stop")
    record.ended_with("CANCELLED")
    record.stopped_within(SOON_S)
    record.stays_on_path()
    assert rig.state["state"] == "active"


def test_pause_and_resume(rig: RigUnderTest) -> None:
    """A paused goal rests on its path, and succeeds after it is resumed."""
    middle = _middle(rig)
    record = rig.run(rig.motions.fast, during={middle: "pause", middle + 0.6: "resume"}, title="pause")
    record.succeeded()
    record.stopped_within(SOON_S)
    record.stays_on_path()


def test_half_speed(rig: RigUnderTest) -> None:
    """A goal that is slowed down during the motion stays on its path and succeeds later."""
    usual = rig.run(rig.motions.fast, title="own speed")
    record = rig.run(
        rig.motions.fast, during={_middle(rig): ("speed", {"fraction": 0.5})}, title="half speed"
    )
    record.succeeded()
    record.stays_on_path()
    assert record.noted("ticks", len(record), "") > len(usual)


def test_disable_stops_then_brakes(rig: RigUnderTest) -> None:
    """A machine that is disabled in motion stops on its path first, then brakes."""
    record = rig.run(rig.motions.fast, during={_middle(rig): "disable"}, settle_s=0.3, title="disable")
    record.ended_with("CANCELLED")
    record.no_fault()
    record.stopped_within(SOON_S)
    record.stays_on_path()
    assert rig.wait_for(state="inactive", within_s=SOON_S)["mode"] == "brake"


@pytest.mark.rig(brakes=True)
def test_estop_brakes_at_once(rig: RigUnderTest) -> None:
    """An emergency stop near full speed brakes in the same tick; the machine comes to rest, braked."""
    record = rig.run(rig.motions.fast, during={_middle(rig): "estop"}, settle_s=1.0, title="estop")
    record.ended_with("FAULT")
    record.stopped_within(1.0)
    for coordinate in rig.motions.coordinates:
        assert record.stopping_distance(coordinate) <= 1.0
    first = record.table[record.stopping.start]
    assert int(first["mode"]) == 0, "the first command of the stop does not brake"
    assert rig.state["state"] == "estop"
    rig.robot.reset()
    assert rig.state["state"] == "inactive"


def test_recovers_without_a_jump(rig: RigUnderTest) -> None:
    """After an emergency stop in motion, enabling holds the machine where it is, without a jump."""
    rig.run(rig.motions.fast, during={_middle(rig): "estop"}, settle_s=1.0, title="estop")
    rig.robot.reset()
    with rig.recording("enabled again"):
        rig.enable()
        rig.pass_time(0.3)
    assert rig.record is not None
    rig.record.no_fault()
    for name in rig.motions.coordinates:
        at = rig.machine.mechanism.coordinate_names.index(name)
        assert rig.record.position(name).range <= rig.machine.tolerances[at].path


def test_a_jog_ends_by_itself(rig: RigUnderTest) -> None:
    """A jog that is not repeated slows to rest."""
    name = rig.motions.coordinates[0]
    record = rig.jog({name: rig.motions.jog_speed(name)}, seconds=0.2)
    record.no_fault()
    assert record.position(name).range > 0.0
    assert max(map(abs, rig.state["v"].values())) < 0.05 * abs(rig.motions.jog_speed(name))
