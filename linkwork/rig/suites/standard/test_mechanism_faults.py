"""Faults of the mechanism: differences between the machine and its model."""

import pytest

from linkwork.rig.suites.standard.sizes import DETECTED_BY_MOTION, struck
from linkwork.rig.under_test import RigUnderTest

pytestmark = pytest.mark.rig(controller=True, needs=["inject:mechanism"])


def test_a_heavier_body(rig: RigUnderTest) -> None:
    """A last body that is a tenth heavier than in the model is tolerated or detected."""
    body = rig.machine.mechanism.body_names[-1]
    record = struck(rig, {"mechanism": "change", "set": [f"{body}.mass_kg=+10%"]})
    record.detected_or_tolerated(*DETECTED_BY_MOTION, because="feedback compensates the weight")


@pytest.mark.rig(closures=True)
def test_a_closure_that_breaks(rig: RigUnderTest) -> None:
    """A closure that opens is detected, unless no sensor measures it and the motors can continue."""
    constraint = rig.machine.mechanism.constraint_names[-1]
    record = struck(rig, {"mechanism": "open", "of": constraint}, settle_s=0.5)
    because = "no sensor measures the separated parts, and the driven parts continue"
    watch = record.fault(*DETECTED_BY_MOTION)
    if watch.came or record.fault_names:
        watch.within(seconds=rig.motions.fast_s + 0.5)
    else:
        record.tolerates(because, record.worst_error.max, 1.0)
