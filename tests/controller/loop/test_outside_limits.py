"""A joint outside its position limits moves inwards and holds there; farther outwards is a fault."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linkwork.controller.exchange.faults import FaultCode
from linkwork.controller.exchange.orders import Enable, JogCoordinates, OrderOutcome, Recover
from linkwork.controller.supervision.brakes import Phase
from linkwork.controller.supervision.state_machine import State
from linkwork.machine import Machine, load
from tests.controller.loop.in_process import COUNTS, InProcess, with_encoders
from tests.controller.planning.conftest import limited

COARSE = 20_000


def sensed(machine: Machine, counts: int, noise: float = 0.0) -> Machine:
    """The machine with ideal sensors (0 counts), or encoders alone; with noise of positions and speeds."""
    changed = with_encoders(machine, counts) if counts else machine
    sensors = [one.with_values(noise=noise, velocity_noise=100.0 * noise) for one in changed.sensors]
    return replace(changed, sensors=tuple(sensors))


def outside(name: str, joint: str, counts: int, noise: float = 0.0, beyond: float = 0.2) -> InProcess:
    """The machine enabled, with this joint `beyond` its upper limit."""
    machine = sensed(load(name), counts, noise)
    at = machine.mechanism.joint_names.index(joint)
    here = float(machine.initial_q[at])
    rig = InProcess(limited(machine, joint, position=(here - beyond - 1.0, here - beyond)))
    rig.enable()
    return rig


def jogged(rig: InProcess, joint: int, speed: float, seconds: float) -> None:
    """Jog for so long, and come to rest."""
    for _ in range(round(seconds / 0.1)):
        rig.order(JogCoordinates(((joint, speed),)))
        rig.run(0.1)
    rig.run(1.0)


def active(rig: InProcess) -> bool:
    """Whether the machine holds without a fault."""
    return (rig.supervisor.state, rig.supervisor.fault.code) == (State.ACTIVE, FaultCode.NONE)


SENSORS = [(0, 0.0), (COUNTS, 0.0), (COARSE, 0.0), (0, 1e-4), (COARSE, 1e-4)]


@pytest.mark.parametrize(("counts", "noise"), SENSORS)
@pytest.mark.parametrize(("name", "joint", "other"), [("scara", "shoulder", 1), ("five_bar", "left", 1)])
def test_a_joint_outside_is_jogged_inwards_while_another_one_moves(
    name: str, joint: str, other: int, counts: int, noise: float
) -> None:
    rig = outside(name, joint, counts, noise)
    at = rig.machine.mechanism.joint_names.index(joint)
    begin = rig.simulator.q[at]
    jogged(rig, at, -0.1, 0.5)
    assert active(rig), rig.supervisor.fault
    assert rig.simulator.q[at] == pytest.approx(begin - 0.05, abs=0.02)
    jogged(rig, rig.machine.home_coordinates[other], 0.5, 0.4)
    jogged(rig, rig.machine.home_coordinates[other], -0.5, 0.4)
    assert active(rig), rig.supervisor.fault
    jogged(rig, at, -0.2, 1.5)
    assert active(rig), rig.supervisor.fault
    assert rig.simulator.q[at] < rig.machine.joints[at].position[1]


@pytest.mark.parametrize(("counts", "noise"), SENSORS)
def test_a_joint_that_is_pushed_outwards_is_a_fault_and_may_be_enabled_there(
    counts: int, noise: float
) -> None:
    rig = outside("scara", "shoulder", counts, noise)
    rig.run(0.5)
    begin = rig.simulator.q[0]
    while active(rig):
        rig._effort += [60.0, 0.0, 0.0, 0.0]
        rig.tick()
        assert rig.simulator.q[0] < begin + 0.02, "it may move outwards"
    assert rig.supervisor.fault.code == FaultCode.POSITION_LIMIT
    rig.run(1.0)
    assert rig.order(Recover())["order_outcome"] == OrderOutcome.DONE
    assert rig.order(Enable())["order_outcome"] == OrderOutcome.DONE
    rig.until(lambda sample: sample["phase"] == Phase.RELEASED)
    jogged(rig, 0, -0.1, 0.5)
    assert active(rig), rig.supervisor.fault
    assert rig.simulator.q[0] < begin
