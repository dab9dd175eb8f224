"""Watchdogs: a controller that stalls or crashes, a plant that crashes, and the recovery."""

from __future__ import annotations

import pytest

from linkwork.rig.suites.standard.sizes import struck
from linkwork.rig.under_test import RigUnderTest

pytestmark = pytest.mark.rig(controller=True)
STALLED = ("DEVICE_WATCHDOG", "LINK_LOST", "LINK_LOSS_RATIO")
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


@pytest.mark.rig(pace=KILLABLE, needs=["kill:controller", "truth"])
def test_a_controller_that_dies(rig: RigUnderTest) -> None:
    """When the controller crashes in motion, the plant brakes; a new controller takes over."""
    rig.robot.send(rig.motions.slow)
    rig.pass_time(0.2)
    rig.kill("controller")
    rig.restart("controller")
    rig.ready()
    rig.run(rig.motions.slow, title="afterwards").succeeded()


@pytest.mark.rig(pace=KILLABLE, needs=["kill:gateway"])
def test_a_gateway_that_dies(rig: RigUnderTest) -> None:
    """When only the gateway crashes, the loop brings the machine to rest; a new gateway takes over."""
    rig.robot.send(rig.motions.slow)
    rig.pass_time(0.2)
    rig.kill("gateway")
    rig.restart("controller")
    state = rig.wait_for(state="active", within_s=3.0)
    assert state["fault"] is None
    rig.ready()
    rig.run(rig.motions.slow, title="afterwards").succeeded()


@pytest.mark.rig(pace=KILLABLE, needs=["kill:plant"])
def test_a_plant_that_dies(rig: RigUnderTest) -> None:
    """When the plant crashes, the controller reports it; with a new plant it recovers and moves again."""
    rig.robot.send(rig.motions.slow)
    rig.pass_time(0.1)
    rig.kill("plant")
    fault = rig.wait_for(state="fault", within_s=3.0)["fault"]
    assert fault is not None
    assert fault["name"] in ("LINK_LOST", "LINK_LOSS_RATIO")
    rig.restart("plant")
    rig.ready()
    rig.run(rig.motions.slow, title="afterwards").succeeded()
