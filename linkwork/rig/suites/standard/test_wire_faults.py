"""Faults of the link: messages that are lost, late, repeated, reordered, corrupted, or absent."""

import pytest

from linkwork.rig.suites.standard.sizes import struck
from linkwork.rig.under_test import RigUnderTest

pytestmark = pytest.mark.rig(controller=True, needs=["inject:wire"])
LINK = ("LINK_LOST", "LINK_LOSS_RATIO", "DEVICE_WATCHDOG")


def test_bears_a_few_lost_states(rig: RigUnderTest) -> None:
    """The model bridges a few lost states, and the motion continues."""
    record = struck(rig, {"wire": "drop", "direction": "states", "probability": 0.05, "for_s": 0.2})
    assert record.lost > 0
    record.tolerates("a lost state is replaced by the model's prediction", record.worst_error.max, 1.0)


def test_detects_a_dead_link(rig: RigUnderTest) -> None:
    """When states stop arriving, the machine is braked within the allowed number of losses."""
    record = struck(rig, {"wire": "drop", "direction": "states"})
    record.fault("LINK_LOST").within(ticks=rig.machine.controller.loss_limit)


def test_detects_lost_commands(rig: RigUnderTest) -> None:
    """When commands stop arriving, the plant brakes within its time-out and reports it."""
    record = struck(rig, {"wire": "drop", "direction": "commands"})
    record.fault("DEVICE_WATCHDOG").within(ticks=rig.machine.plant.command_timeout_periods + 2)


def test_detects_a_pulled_cable(rig: RigUnderTest) -> None:
    """A link that is cut is detected within the allowed number of losses; then the machine can move again."""
    record = struck(rig, {"wire": "disconnect", "for_s": 0.1})
    record.fault("LINK_LOST").within(ticks=rig.machine.controller.loss_limit)
    rig.ready()
    rig.run(rig.motions.slow, title="afterwards").succeeded()


def test_bears_short_delays(rig: RigUnderTest) -> None:
    """Messages that arrive a tick late are used, or the delay is detected."""
    record = struck(rig, {"wire": "delay", "by_ticks": 1})
    because = "loops this slow tolerate a tick of delay"
    record.detected_or_tolerated(*LINK, "PATH_TOLERANCE_VIOLATED", because=because)


def test_detects_long_delays(rig: RigUnderTest) -> None:
    """Messages that are as late as the allowed losses are detected, and the machine is braked."""
    late = rig.machine.controller.loss_limit + 10
    record = struck(rig, {"wire": "delay", "by_ticks": late})
    record.fault(*LINK).within(ticks=late)


def test_bears_jitter_or_says_so(rig: RigUnderTest) -> None:
    """Random delays of up to two ticks are tolerated; too many missed messages are reported."""
    record = struck(rig, {"wire": "jitter", "up_to_ticks": 2})
    because = "a late state counts as lost, and the model replaces it"
    record.detected_or_tolerated(*LINK, "PATH_TOLERANCE_VIOLATED", because=because)


def test_bears_duplicates(rig: RigUnderTest) -> None:
    """A message that arrives twice has no effect the second time."""
    record = struck(rig, {"wire": "duplicate"})
    record.tolerates("a number that was used is not used again", record.worst_error.max, 1.0)


def test_bears_reordering(rig: RigUnderTest) -> None:
    """A message that is overtaken is dropped and counts as lost."""
    record = struck(rig, {"wire": "reorder", "probability": 0.1, "for_s": 0.2})
    because = "a message older than the newest is dropped, and the model replaces it"
    record.detected_or_tolerated(*LINK, because=because)


def test_bears_corrupted_messages(rig: RigUnderTest) -> None:
    """A message that cannot be decoded counts as lost; none of its content is used."""
    record = struck(rig, {"wire": "corrupt", "probability": 0.05, "for_s": 0.2})
    because = "an unreadable message is dropped, and the model replaces it"
    record.detected_or_tolerated(*LINK, because=because)
