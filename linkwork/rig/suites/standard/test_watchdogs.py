"""Watchdogs: a controller that stalls or crashes, a plant that crashes, and the recovery."""

import pytest

from linkwork.rig.record import RigRecord
from linkwork.rig.rig_daemons import Role
from linkwork.rig.suites.standard.sizes import struck
from linkwork.rig.under_test import RigUnderTest

pytestmark = pytest.mark.rig(controller=True)
STALLED = ("DEVICE_WATCHDOG", "LINK_LOST", "LINK_LOSS_RATIO")
SOON_S = 3.0
"""Within which any stop ends."""
KILLABLE = ("device", "host")
"""Paces in which a death is noticed by the machine's own clock: lockstep waits for it, by design."""


@pytest.mark.rig(needs=["inject:processor"])
def test_bears_a_short_stall(rig: RigUnderTest) -> None:
    """A controller that stalls for three ticks continues without a fault."""
    record = struck(rig, {"processor": "stall", "of": "controller", "for_ticks": 3})
    record.tolerates("the plant keeps the last command meanwhile", record.worst_error.max, 1.0)


@pytest.mark.rig(needs=["inject:processor"])
def test_a_controller_that_stalls(rig: RigUnderTest) -> None:
    """A controller that stalls for longer than the time-out finds the machine braked, and recovers."""
    timeout = rig.machine.plant.command_timeout_periods
    record = struck(rig, {"processor": "stall", "of": "controller", "for_ticks": 2 * timeout}, settle_s=0.5)
    record.fault(*STALLED).within(ticks=2 * timeout + 2)
    rig.ready()
    rig.run(rig.motions.slow, title="afterwards").succeeded()


def _recover(rig: RigUnderTest, role: Role) -> None:
    rig.restart(role)
    rig.ready()
    rig.run(rig.motions.slow, title="afterwards").succeeded()


def _killed(rig: RigUnderTest, role: Role) -> RigRecord:
    """The record of a daemon's death in motion, and of the reaction."""
    with rig.recording(f"{role} killed"):
        rig.robot.send(rig.motions.slow)
        rig.pass_time(0.2)
        rig.kill(role)
    assert rig.record is not None
    return rig.record


@pytest.mark.rig(pace=KILLABLE, needs=["kill:controller", "truth"])
def test_a_controller_that_dies(rig: RigUnderTest) -> None:
    """When the controller crashes in motion, the plant brakes; a new controller takes over."""
    record = _killed(rig, "controller")
    record.fault("DEVICE_WATCHDOG").within(ticks=rig.machine.plant.command_timeout_periods + 2)
    record.stopped_within(SOON_S)
    _recover(rig, "controller")


@pytest.mark.rig(pace=KILLABLE, needs=["kill:gateway", "truth"])
def test_a_gateway_that_dies(rig: RigUnderTest) -> None:
    """When only the gateway crashes, the loop brings the machine to rest; a new gateway takes over."""
    record = _killed(rig, "gateway")
    for name in rig.motions.coordinates:
        record.stopping_distance(name).note()
    record.tolerates("the loop stops the machine on its path and holds it", record.stopping_time, SOON_S)
    rig.restart("controller")
    assert rig.wait_for(state="active", within_s=SOON_S)["fault"] is None
    rig.ready()
    rig.run(rig.motions.slow, title="afterwards").succeeded()


@pytest.mark.rig(pace=KILLABLE, needs=["kill:plant"])
def test_a_plant_that_dies(rig: RigUnderTest) -> None:
    """When the plant crashes, the controller reports it; with a new plant it recovers and moves again."""
    record = _killed(rig, "plant")
    record.fault("LINK_LOST", "LINK_LOSS_RATIO").within(ticks=rig.machine.controller.loss_limit)
    _recover(rig, "plant")
