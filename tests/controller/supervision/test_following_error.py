"""A machine that is too far from where it should be is braked, whatever it does."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.controller.exchange.faults import FaultCode
from linkwork.controller.exchange.orders import CancelGoal, ChooseLaw, JogCoordinates, OrderOutcome, Recover
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.supervision.state_machine import State
from linkwork.protocol.codes import Mode, ResultCode
from linkwork.protocol.laws import LawKind
from tests.controller.loop.in_process import InProcess, Sample

FOLLOWING = 0.1
"""Ten path tolerances of the SCARA, rad."""
JOINT = 1


@pytest.fixture
def rig() -> InProcess:
    rig = InProcess()
    rig.enable()
    return rig


def carried_off(rig: InProcess, by: float) -> Sample:
    """The tick after something carried a joint off, at rest."""
    rig.simulator.q[JOINT] += by
    rig.simulator.integrate()
    rig.tick()
    return rig.tick()


def assert_braked(sample: Sample, off: float) -> None:
    assert (sample["fault"], sample["state"]) == (FaultCode.FOLLOWING_ERROR, State.FAULT)
    assert (sample["fault_index"], sample["fault_limit"]) == (JOINT, pytest.approx(FOLLOWING))
    assert sample["fault_value"] == pytest.approx(off, rel=0.05)
    assert sample["mode"] == Mode.BRAKE


def test_holding(rig: InProcess) -> None:
    assert_braked(carried_off(rig, 0.12), 0.12)
    assert rig.order(Recover())["order_outcome"] == OrderOutcome.DONE
    there = float(rig.simulator.q[JOINT])
    rig.enable()
    rig.run(0.2)
    assert rig.simulator.q[JOINT] == pytest.approx(there, abs=1e-6), "enabled where it was braked"


def test_a_machine_that_is_nearer_goes_back(rig: InProcess) -> None:
    there = float(rig.simulator.q[JOINT])
    carried_off(rig, 0.08)
    assert {int(sample["fault"]) for sample in rig.run(1.0)} == {FaultCode.NONE}
    assert rig.simulator.q[JOINT] == pytest.approx(there, abs=1e-6)


def test_coming_to_rest_on_the_path(rig: InProcess) -> None:
    rig.send(*rig.swing())
    rig.run(0.5)
    rig.order(CancelGoal())
    braked = carried_off(rig, 0.12)
    assert_braked(braked, 0.12)
    assert (braked["goal_status"], braked["goal_code"]) == (GoalStatus.ENDED, ResultCode.CANCELLED)


def test_a_goal_that_runs_is_stopped_by_its_path_tolerance_before(rig: InProcess) -> None:
    rig.send(*rig.swing())
    rig.run(0.5)
    stopping = carried_off(rig, 0.05)
    assert stopping["goal_status"] == GoalStatus.STOPPING
    last = rig.until(lambda sample: sample["goal_status"] == GoalStatus.ENDED)[-1]
    assert (last["goal_code"], last["fault"]) == (ResultCode.PATH_TOLERANCE_VIOLATED, FaultCode.NONE)


def test_a_goal_with_wider_tolerances_comes_to_rest_within_them(rig: InProcess) -> None:
    rig.send(*rig.swing(), path=0.5)
    rig.run(0.5)
    carried_off(rig, 0.12)
    rig.order(CancelGoal())
    last = rig.until(lambda sample: sample["goal_status"] == GoalStatus.ENDED)[-1]
    assert last["fault"] == FaultCode.NONE


def test_jogging(rig: InProcess) -> None:
    rig.order(JogCoordinates(((JOINT, 0.1),)))
    assert_braked(carried_off(rig, 0.12), 0.12)


def test_a_machine_led_by_hand_has_no_reference(rig: InProcess) -> None:
    rig.order(ChooseLaw(int(LawKind.FLOAT)))
    assert carried_off(rig, 0.3)["fault"] == FaultCode.NONE
    here = rig.simulator.q.copy()
    rig.order(ChooseLaw(int(LawKind.HOLD)))
    assert {int(sample["fault"]) for sample in rig.run(0.2)} == {FaultCode.NONE}
    np.testing.assert_allclose(rig.simulator.q, here, atol=1e-6)
