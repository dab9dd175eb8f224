"""The tick in closed loop with the simulated plant: enabling, goals, stops, faults."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linkwork.controller.exchange.faults import FaultCode
from linkwork.controller.exchange.orders import (
    ChooseLaw,
    Disable,
    EmergencyStop,
    Enable,
    JogCoordinates,
    LeaseLost,
    Order,
    OrderOutcome,
    Pause,
    Recover,
    ReportDifference,
    Reset,
    Resume,
    SetSpeed,
    Shutdown,
    StartGoal,
    Stop,
)
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.supervision.brakes import Phase
from linkwork.controller.supervision.state_machine import State
from linkwork.machine import load
from linkwork.protocol.codes import DeviceFault, DeviceStatus, Mode, ResultCode
from linkwork.protocol.laws import LawKind
from tests.controller.loop.in_process import InProcess, with_controller


@pytest.fixture
def rig() -> InProcess:
    return InProcess()


def test_it_starts_unconfigured_and_brakes_every_tick(rig: InProcess) -> None:
    rig.inputs.connected = False
    assert rig.tick()["state"] == State.UNCONFIGURED
    rig.inputs.connected = True
    for sample in rig.run(0.05):
        assert (sample["state"], sample["mode"]) == (State.INACTIVE, Mode.BRAKE)
        assert not np.any(sample["effort"])


def test_enabling_moves_nothing(rig: InProcess) -> None:
    before = rig.simulator.q.copy()
    rig.enable()
    rig.run(0.2)
    np.testing.assert_allclose(rig.simulator.q, before, atol=1e-12)


def test_disabling_moves_nothing_and_ends_inactive(rig: InProcess) -> None:
    rig.enable()
    before = rig.simulator.q.copy()
    assert rig.order(Disable())["state"] == State.STOPPING
    last = rig.until(lambda sample: sample["state"] == State.INACTIVE)[-1]
    assert (last["phase"], last["mode"]) == (Phase.BRAKED, Mode.BRAKE)
    np.testing.assert_allclose(rig.simulator.q, before, atol=1e-12)


@pytest.mark.parametrize("law", ["pidc", "servo"])
def test_a_goal_is_followed_and_succeeds(law: str) -> None:
    rig = InProcess(with_controller(load("scara"), law=law))
    rig.enable()
    assert rig.send(*rig.swing())["order_outcome"] == OrderOutcome.DONE
    samples = rig.until(lambda sample: sample["goal_status"] == GoalStatus.SUCCEEDED)
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
    errors = [sample["reference"][:4] - sample["coordinate"][:4] for sample in samples]
    assert np.abs(errors).max() < 1e-5
    assert len(samples) == pytest.approx(1000, abs=3)
    assert samples[-1]["law"] == LawKind.HOLD


def test_the_error_decays_as_the_sampled_closed_form(rig: InProcess) -> None:
    """From an initial error e0 at rest, each joint follows the sampled second-order law exactly.

    The command computed from state k acts over [t_{k+1}, t_{k+2}); it sees the state predicted to the middle
    of its hold with the command before it:
    a* = -2 w (v + 1.5 T a_k) - w^2 (x + 1.5 T v + 1.125 T^2 a_k),
    and allows for what it changes itself until there, c = w T + w^2 T^2 / 8:
    a_{k+1} = (a* + c a_k) / (1 + c).
    """
    rig.enable()
    rig.run(0.1)
    offset = 1e-3 * np.array([1.0, -0.5, 0.7, 0.2])
    rig.simulator.q += offset
    rig.tick()  # the next state is the first to show it
    T, w = rig.period_s, rig.machine.controller.bandwidth_rad_s
    x, v, a = -offset.copy(), np.zeros(4), np.zeros(4)
    worst = 0.0
    for _ in range(400):
        sample = rig.tick()
        error = sample["reference"][:4] - sample["q"]
        worst = max(worst, float(np.abs(error - x).max()))
        asked = -2 * w * (v + 1.5 * T * a) - w * w * (x + 1.5 * T * v + 1.125 * T * T * a)
        lag = w * T + w * w * T * T / 8
        command = (asked + lag * a) / (1 + lag)
        x, v, a = x + T * v + 0.5 * T * T * a, v + T * a, command
    assert worst < 1e-6 * np.abs(offset).max()


def test_a_stop_keeps_the_machine_on_its_path_and_ends_in_a_hold(rig: InProcess) -> None:
    rig.enable()
    rig.send(*rig.swing())
    rig.run(0.4)
    stopped = rig.order(Stop())
    assert (stopped["state"], stopped["order_outcome"]) == (State.STOPPING, OrderOutcome.DONE)
    samples = rig.until(lambda sample: sample["state"] == State.ACTIVE)
    assert samples[-1]["goal_status"] == GoalStatus.ENDED
    assert samples[-1]["goal_code"] == ResultCode.CANCELLED
    rates = np.array(
        [sample["path_rate"] for sample in samples if sample["goal_status"] == GoalStatus.STOPPING]
    )
    assert np.all(np.diff(rates) <= 1e-12)
    assert np.diff(rates).min() >= -4.0 * rig.period_s * 1.001
    for sample in samples:
        np.testing.assert_allclose(sample["q"][1:], rig.simulator.q[1:], atol=1e-6)
    place = rig.simulator.q.copy()
    rig.run(0.3)
    np.testing.assert_allclose(rig.simulator.q, place, atol=1e-6)


def test_pause_and_resume_reach_the_goal(rig: InProcess) -> None:
    rig.enable()
    index, knots, values = rig.swing()
    rig.send(index, knots, values)
    rig.run(0.3)
    rig.order(Pause())
    rig.until(lambda sample: sample["path_rate"] == 0.0)
    assert not rig.supervisor.busy
    rig.order(Resume(at_tick=int(rig.tick()["tick"]) + 500))
    assert rig.supervisor.busy, "time runs for what is ordered for later"
    last = rig.until(lambda sample: sample["goal_status"] == GoalStatus.SUCCEEDED)[-1]
    np.testing.assert_allclose(last["q"], values[-1, 0], atol=1e-5)


def test_speed_scales_time_and_leaves_the_path_as_it_is(rig: InProcess) -> None:
    rig.enable()
    rig.send(*rig.swing())
    rig.order(SetSpeed(0.5))
    samples = rig.until(lambda sample: sample["goal_status"] == GoalStatus.SUCCEEDED)
    assert 1.8 < len(samples) * rig.period_s < 2.0
    assert rig.order(SetSpeed(0.5))["order_outcome"] == OrderOutcome.NOTHING_TO_DO


def test_a_violated_path_tolerance_is_named_and_stops_the_goal_not_the_machine(rig: InProcess) -> None:
    rig.enable()
    rig.send(*rig.swing(), path=1e-3)
    rig.run(0.3)
    rig.simulator.q[2] += 2e-3
    rig.simulator.integrate()
    samples = rig.until(lambda sample: sample["goal_status"] == GoalStatus.ENDED)
    last = samples[-1]
    assert last["goal_code"] == ResultCode.PATH_TOLERANCE_VIOLATED
    assert last["goal_coordinate"] == 2
    assert last["goal_limit"] == 1e-3
    assert 1.9e-3 < last["goal_value"] < 2.1e-3
    assert last["fault"] == FaultCode.NONE
    assert rig.tick()["state"] == State.ACTIVE


def test_a_goal_that_begins_elsewhere_is_refused(rig: InProcess) -> None:
    rig.enable()
    index, knots, values = rig.swing()
    values[:, 0, 1] += 0.1
    assert rig.send(index, knots, values)["order_outcome"] == OrderOutcome.REFUSED_START
    assert rig.tick()["goal_status"] == GoalStatus.NONE


def test_a_goal_is_refused_while_another_is_under_way(rig: InProcess) -> None:
    rig.enable()
    rig.send(*rig.swing())
    rig.run(0.1)
    assert rig.send(*rig.swing(), goal_id=2)["order_outcome"] == OrderOutcome.REFUSED_BUSY


def test_a_damaged_block_is_refused(rig: InProcess) -> None:
    rig.enable()
    rig.send(*rig.swing())
    rig.until(lambda sample: sample["goal_status"] == GoalStatus.SUCCEEDED)
    rig.slot[0] = 99.0
    refused = rig.order(StartGoal(0, 5000, 0, 1))
    assert refused["order_outcome"] == OrderOutcome.REFUSED_BLOCK


def test_orders_take_effect_at_their_tick(rig: InProcess) -> None:
    first = rig.tick()["tick"]
    rig.order(Enable(at_tick=int(first) + 20))
    samples = rig.run(0.03)
    acted = [int(sample["tick"]) for sample in samples if sample["order_id"]]
    assert acted == [first + 20]
    assert rig.order(Stop(at_tick=3))["order_outcome"] == OrderOutcome.REFUSED_LATE


@pytest.mark.parametrize(
    ("order", "state"),
    [(order, State.INACTIVE) for order in (StartGoal(0, 1, 0, 1), JogCoordinates(((0, 0.1),)), ChooseLaw(1))],
)  # fmt: skip
def test_nothing_moves_before_it_is_enabled(rig: InProcess, order: Order, state: State) -> None:
    rig.tick()
    refused = rig.order(order)
    assert (refused["order_outcome"], refused["state"]) == (OrderOutcome.REFUSED_STATE, state)


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda i: i.q_measured.__setitem__(1, math.nan), FaultCode.MEASUREMENT_NOT_FINITE),
        (lambda i: setattr(i, "device_status", i.device_status | DeviceStatus.STO), FaultCode.DEVICE_STO),
        (lambda i: setattr(i, "lost_in_a_row", 20), FaultCode.LINK_LOST),
        (lambda i: setattr(i, "loss_ratio", 0.5), FaultCode.LINK_LOSS_RATIO),
        (lambda i: setattr(i, "clock_jump_s", -60.0), FaultCode.DEVICE_CLOCK),
        (
            lambda i: i.q_measured.__setitem__(0, 4.0) or i.v_measured.__setitem__(0, 1.0),
            FaultCode.POSITION_LIMIT,
        ),
        (lambda i: i.v_measured.__setitem__(0, 9.0), FaultCode.VELOCITY_LIMIT),
    ],
)
def test_a_cause_is_a_latched_fault_in_the_same_tick(rig: InProcess, spoil: object, code: FaultCode) -> None:
    rig.enable()
    rig.send(*rig.swing())
    rig.run(0.3)
    tick = rig.inputs
    rig.inputs.fresh = False  # the measurements of this tick are ours
    rig.inputs.q_measured[:], rig.inputs.v_measured[:] = rig.simulator.measured.q, rig.simulator.measured.v
    spoil(tick)  # type: ignore[operator]
    rig.inputs.fresh = True
    rig.controller.step(rig.inputs, rig.outputs, rig.period_s)
    rig.controller.note(rig.inputs, rig.outputs)
    record = rig.controller.record.record()
    assert (record["fault"], record["state"], record["mode"]) == (code, State.FAULT, Mode.BRAKE)
    assert (record["goal_status"], record["goal_code"]) == (GoalStatus.ENDED, ResultCode.FAULT)
    assert not np.any(rig.outputs.effort)


def test_a_fault_clears_only_when_its_cause_is_gone(rig: InProcess) -> None:
    rig.enable()
    rig.inputs.device_status |= int(DeviceStatus.STO)
    assert rig.tick()["fault"] == FaultCode.DEVICE_STO
    assert rig.order(Recover())["order_outcome"] == OrderOutcome.NOT_CLEARED
    assert rig.order(Enable())["order_outcome"] == OrderOutcome.REFUSED_STATE
    rig.inputs.device_status &= ~int(DeviceStatus.STO)
    cleared = rig.order(Recover())
    assert (cleared["order_outcome"], cleared["state"]) == (OrderOutcome.DONE, State.INACTIVE)
    before = rig.simulator.q.copy()
    rig.enable()
    rig.run(0.1)
    np.testing.assert_allclose(rig.simulator.q, before, atol=1e-9)


def test_the_first_cause_stays(rig: InProcess) -> None:
    rig.enable()
    rig.inputs.device_status |= int(DeviceStatus.STO)
    first = rig.tick()
    rig.inputs.lost_in_a_row = 30
    later = rig.tick()
    assert (later["fault"], later["fault_tick"]) == (FaultCode.DEVICE_STO, first["tick"])


def test_the_plants_watchdog_asks_for_a_new_handshake(rig: InProcess) -> None:
    rig.enable()
    rig.inputs.device_status |= int(DeviceStatus.FAULT)
    rig.inputs.device_fault = int(DeviceFault.COMMAND_TIMEOUT)
    assert rig.tick()["fault"] == FaultCode.DEVICE_WATCHDOG
    rig.order(Recover())
    assert rig.supervisor.handshake_wanted
    rig.inputs.device_status &= ~int(DeviceStatus.FAULT)
    rig.inputs.device_fault = 0
    assert rig.tick()["state"] == State.INACTIVE
    assert not rig.supervisor.handshake_wanted


def test_an_emergency_stop_brakes_at_once_and_reset_ends_it(rig: InProcess) -> None:
    rig.enable()
    rig.send(*rig.swing())
    rig.run(0.5)
    stopped = rig.order(EmergencyStop())
    assert (stopped["state"], stopped["mode"], stopped["goal_status"]) == (
        State.ESTOP,
        Mode.BRAKE,
        GoalStatus.ENDED,
    )
    rig.until(lambda _: not np.any(rig.simulator.v))
    assert rig.order(Enable())["order_outcome"] == OrderOutcome.REFUSED_STATE
    assert rig.order(Reset())["state"] == State.INACTIVE


def test_a_jog_moves_while_it_is_repeated_and_rests_when_it_is_not(rig: InProcess) -> None:
    rig.enable()
    start = rig.simulator.q.copy()
    for _ in range(10):
        rig.order(JogCoordinates(((0, 0.4),)))
        rig.run(0.1)
    assert rig.simulator.v[0] == pytest.approx(0.4, abs=1e-3)
    samples = rig.until(lambda sample: sample["law"] == LawKind.HOLD)
    assert 0.15 < len(samples) * rig.period_s < 0.6
    assert rig.simulator.q[0] > start[0] + 0.3
    np.testing.assert_allclose(rig.simulator.q[1:], start[1:], atol=1e-5)


def test_a_jog_stops_before_a_joint_limit(rig: InProcess) -> None:
    rig.enable()
    for _ in range(60):
        rig.order(JogCoordinates(((3, 0.4),)))
        rig.run(0.05)
    assert rig.supervisor.state is State.ACTIVE
    assert 0.4 < rig.simulator.q[3] < 0.45 + 1e-9


def test_a_lost_lease_ends_the_goal_by_name(rig: InProcess) -> None:
    rig.enable()
    rig.send(*rig.swing())
    rig.run(0.5)
    rig.order(LeaseLost())
    last = rig.until(lambda sample: sample["state"] == State.ACTIVE)[-1]
    assert last["goal_code"] == ResultCode.LEASE_LOST
    assert last["fault"] == FaultCode.NONE


def test_float_then_stop_damps_and_holds(rig: InProcess) -> None:
    rig.enable()
    assert rig.order(ChooseLaw(int(LawKind.FLOAT)))["order_outcome"] == OrderOutcome.DONE
    rig.simulator.v[0] = 0.5
    rig.run(0.2)
    assert rig.simulator.v[0] > 0.3
    rig.order(Stop())
    rig.until(lambda sample: sample["state"] == State.ACTIVE)
    assert np.abs(rig.simulator.v).max() < 2e-3


def test_a_shutdown_brings_the_machine_to_rest_and_brakes_it(rig: InProcess) -> None:
    rig.enable()
    rig.send(*rig.swing())
    rig.run(0.4)
    rig.order(Shutdown())
    assert rig.supervisor.leaving
    rig.until(lambda sample: sample["state"] == State.INACTIVE)
    assert not np.any(rig.simulator.v)
    assert rig.order(Enable())["order_outcome"] == OrderOutcome.REFUSED_STATE


def test_a_lost_state_is_bridged_by_the_model(rig: InProcess) -> None:
    rig.enable()
    rig.send(*rig.swing())
    rig.run(0.3)
    for _ in range(5):
        rig.inputs.fresh = False
        rig.inputs.lost_in_a_row += 1
        rig.tick()
    np.testing.assert_allclose(rig.controller.record.record()["q"], rig.simulator.q, atol=1e-3)
    rig.inputs.fresh, rig.inputs.lost_in_a_row = True, 0
    last = rig.until(lambda sample: sample["goal_status"] == GoalStatus.SUCCEEDED)[-1]
    assert last["fault"] == FaultCode.NONE


def test_two_runs_of_the_same_orders_are_the_same_to_the_last_bit() -> None:
    def run() -> bytes:
        rig = InProcess()
        rig.enable()
        rig.send(*rig.swing())
        words = [sample.record.tobytes() for sample in rig.run(0.4)]
        rig.order(Stop())
        words += [sample.record.tobytes() for sample in rig.run(0.3)]
        return b"".join(words)

    assert run() == run()


def test_a_machine_that_is_not_homed_only_jogs(rig: InProcess) -> None:
    rig.inputs.device_status = int(DeviceStatus.ENABLED)
    rig.enable()
    assert rig.send(*rig.swing())["order_outcome"] == OrderOutcome.REFUSED_NOT_HOMED
    assert rig.order(JogCoordinates(((3, 0.1),)))["order_outcome"] == OrderOutcome.DONE
    assert rig.run(0.1)[-1]["state"] == State.ACTIVE
    rig.order(Stop())
    rig.until(lambda sample: sample["state"] == State.ACTIVE)
    rig.inputs.device_status |= int(DeviceStatus.HOMED)
    assert rig.send(*rig.swing())["order_outcome"] == OrderOutcome.DONE
    rig.inputs.device_status = int(DeviceStatus.ENABLED)
    assert rig.tick()["fault"] == FaultCode.NOT_HOMED


def test_a_difference_from_the_model_stops_on_the_path_or_brakes() -> None:
    for fault in (0, 1):
        rig = InProcess()
        rig.enable()
        rig.send(*rig.swing())
        rig.run(0.3)
        now = int(rig.tick()["tick"])
        rig.order(ReportDifference(1, 9.0, 4.0, fault, at_tick=now + 13))
        assert rig.supervisor.busy
        assert all(sample["order_id"] == 0 for sample in rig.run(0.011))
        assert rig.tick()["order_outcome"] == OrderOutcome.DONE
        last = rig.run(1.0)[-1]
        code = ResultCode.FAULT if fault else ResultCode.MODEL_DIFFERENCE
        assert last["goal_code"] == code
        assert last["state"] == (State.FAULT if fault else State.ACTIVE)
        assert last["fault"] == (FaultCode.MODEL_DIFFERENCE if fault else FaultCode.NONE)
        assert (last["fault_index"], last["fault_value"], last["fault_limit"]) == (
            (1, 9.0, 4.0) if fault else (-1, 0.0, 0.0)
        )
        again = rig.order(ReportDifference(1, 9.0, 4.0, fault))
        assert again["order_outcome"] == OrderOutcome.NOTHING_TO_DO
