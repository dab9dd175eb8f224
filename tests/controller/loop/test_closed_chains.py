"""Machines whose joints close on each other, in closed loop with the simulated plant.

Motors alone drive, and they alone are measured.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.large_machines import ladder
from linkwork.controller.exchange.orders import (
    ChooseLaw,
    Disable,
    EmergencyStop,
    JogCoordinates,
    OrderOutcome,
    Stop,
)
from linkwork.controller.laws import laws_of
from linkwork.controller.laws.law_motors import Motors
from linkwork.controller.motion.limits.effort_limits import Limited
from linkwork.controller.motion.motion_executor import LONGEST_DAMPING_S
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import plan
from linkwork.controller.supervision.state_machine import State
from linkwork.demos.demo_run import moved_by_hand
from linkwork.machine import load
from linkwork.multibody.dynamics.constrained_dynamics import projected
from linkwork.multibody.dynamics.motion_basis import evaluate_shortest
from linkwork.offline.run import simulate
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.laws import LawKind
from linkwork.protocol.requests import MoveParams
from tests.controller.loop.in_process import InProcess, Sample, with_encoders

MOVES = {
    "five_bar": {"left": 1.9, "right": 1.2},
    "slider_crank": {"crank": 1.2},
    "delta": {"x": 0.05, "y": -0.03, "z": -0.42},
    "four_bar": {"a1": 2.2},
    "platform_3rrs": {"motor_1": 0.1, "motor_2": 0.05, "motor_3": -0.05},
    "platform_huang": {"motor_1": 0.1, "motor_2": 0.05, "motor_3": -0.05},
}


def move(rig: InProcess, target: dict[str, float]) -> Sample:
    """A planned move from where the machine holds."""
    start = Start.at_pose(rig.machine, rig.controller._now.q)
    made = plan("move", MoveParams.model_validate({"target": target}), rig.machine, start)
    return rig.start_goal(made.words)


@pytest.fixture(params=list(MOVES))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_enabling_and_holding_move_nothing(name: str) -> None:
    rig = InProcess(load(name))
    before = rig.simulator.q.copy()
    rig.enable()
    rig.run(0.3)
    np.testing.assert_allclose(rig.simulator.q, before, atol=1e-5)


def test_after_an_emergency_stop_lockstep_time_stands_once_the_machine_rests() -> None:
    """Its observer's speeds fade for ever, to the smallest numbers there are, but not to zero."""
    rig = InProcess(load("delta"))
    rig.enable()
    move(rig, MOVES["delta"])
    rig.run(0.15)
    rig.order(EmergencyStop())
    assert rig.supervisor.busy
    rig.until(lambda _: not rig.supervisor.busy, most_s=0.5)
    assert np.all(rig.simulator.v == 0.0)


def test_lockstep_time_stands_in_the_end_though_the_readings_never_do() -> None:
    machine = load("delta")
    noisy = tuple(sensor.with_values(noise=1e-4) for sensor in machine.sensors)
    rig = InProcess(replace(machine, sensors=noisy))
    rig.enable()
    rig.order(EmergencyStop())
    last = rig.until(lambda _: not rig.supervisor.busy, most_s=6.0)[-1]
    assert np.any(np.abs(last["v"]) > 1e-4)


def test_a_move_is_followed_and_the_joints_without_sensors_are_known(name: str) -> None:
    rig = InProcess(load(name))
    rig.enable()
    assert move(rig, MOVES[name])["order_outcome"] == OrderOutcome.DONE
    worst = 0.0
    for _ in range(8000):
        before = rig.simulator.q.copy()
        sample = rig.tick()
        worst = max(worst, float(np.abs(sample["q"] - before).max()))
        if sample["goal_status"] == GoalStatus.SUCCEEDED:
            break
        moving = np.isfinite(sample["reference"])
        errors = (sample["reference"] - sample["coordinate"])[moving]
        assert np.abs(errors).max() < 1e-4
        assert sample["state"] == State.ACTIVE
    assert sample["goal_code"] == ResultCode.SUCCESSFUL
    assert worst < 2e-5


def test_exact_positions_of_the_motors_tell_the_joints_without_sensors_exactly(name: str) -> None:
    rig = InProcess(with_encoders(load(name), 0))
    rig.enable()
    move(rig, MOVES[name])
    for _ in range(300):
        before = rig.simulator.q.copy(), rig.simulator.v.copy()
        sample = rig.tick()
        np.testing.assert_allclose(sample["q"], before[0], atol=1e-10)
        np.testing.assert_allclose(sample["v"], before[1], atol=1e-8)


def test_a_jog_stays_where_the_motors_control_the_machine() -> None:
    """Regression: jogged apart, the motors lost the five-bar in a singular pose (BRANCH_FLIP)."""
    rig = InProcess(load("five_bar"))
    rig.enable()
    samples = []
    for n in range(600):
        jog = JogCoordinates(((0, 2.0), (1, -2.0)))
        samples.append(rig.order(jog) if n % 100 == 0 else rig.tick())
    assert samples[-1]["state"] == State.ACTIVE
    assert samples[-1]["sigma_motors"] < 0.2
    assert any(int(sample["limited"]) & Limited.JOG_POSE for sample in samples)
    off = [np.abs(sample["reference"][:2] - sample["coordinate"][:2]).max() for sample in samples]
    assert max(off) < 1e-4


def test_the_slider_crank_goes_through_its_branch_pose() -> None:
    rig = InProcess(load("slider_crank"))
    rig.enable()
    move(rig, {"crank": np.radians(150.0)})
    sample = rig.until(lambda sample: sample["goal_status"] == GoalStatus.SUCCEEDED)[-1]
    assert sample["goal_code"] == ResultCode.SUCCESSFUL
    crank, knee = rig.simulator.q
    assert crank == pytest.approx(np.radians(150.0), abs=1e-5)
    assert knee == pytest.approx(-2.0 * crank, abs=1e-6)


@pytest.mark.parametrize("kind", [LawKind.FLOAT, LawKind.DAMP])
def test_floating_holds_against_gravity_and_damping_takes_speed(name: str, kind: LawKind) -> None:
    rig = InProcess(load(name))
    rig.enable()
    before = rig.simulator.q.copy()
    assert rig.order(ChooseLaw(int(kind)))["order_outcome"] == OrderOutcome.DONE
    rig.run(0.3)
    np.testing.assert_allclose(rig.simulator.q, before, atol=1e-6)


def test_a_stop_keeps_the_closures_and_the_path(name: str) -> None:
    rig = InProcess(load(name))
    rig.enable()
    move(rig, MOVES[name])
    rig.run(0.05)
    assert rig.order(Stop())["state"] == State.STOPPING
    samples = rig.until(lambda sample: sample["state"] == State.ACTIVE)
    assert samples[-1]["goal_code"] == ResultCode.CANCELLED
    for sample in samples:
        moving = np.isfinite(sample["reference"])
        np.testing.assert_allclose(sample["coordinate"][moving], sample["reference"][moving], atol=1e-4)


def test_the_motors_alone_make_the_acceleration_that_all_joints_would_make(name: str) -> None:
    machine = load(name)
    pose = simulate(machine, 0.05)
    work, full, passive = machine.workspace(), machine.workspace(), machine.workspace()
    motors, force = Motors(machine), np.zeros(machine.mechanism.nv)
    rng = np.random.default_rng(7)
    for workspace in (work, full, passive):
        workspace.q[:], workspace.v[:] = pose.q[-1], pose.v[-1]
    full.effort[:] = rng.normal(size=machine.mechanism.nv)
    projected(*full.arguments)
    evaluate_shortest(*work.arguments)
    motors.drive(work, full.vdot, full.vdot, force)
    assert motors.report.leverage > 0.05
    without = np.delete(force, motors.index)
    assert not np.any(without)
    passive.effort[:] = force
    projected(*passive.arguments)
    np.testing.assert_allclose(passive.vdot, full.vdot, rtol=1e-9, atol=1e-9 * np.abs(full.vdot).max())


def test_a_move_that_would_end_where_branches_meet_is_refused() -> None:
    rig = InProcess(load("slider_crank"))
    rig.enable()
    with pytest.raises(RequestError, match="branches of the closures meet"):
        move(rig, {"crank": np.pi / 2})


def test_a_machine_with_many_loops_may_end_anywhere_but_close_to_a_branch_pose(tmp_path: Path) -> None:
    """In a ladder of 40 loops the smallest singular value is below a hundredth at every pose."""
    machine = ladder(40)
    file = tmp_path / "ladder.yaml"
    file.write_text(json.dumps(machine), "utf-8")
    rig = InProcess(load(file))
    rig.enable()
    flat = np.pi / 2
    with pytest.raises(RequestError, match="branches of the closures meet"):
        move(rig, {"bar_0": flat - 0.004})
    move(rig, {"bar_0": 0.6})
    ended = rig.until(lambda sample: sample["goal_status"] not in (GoalStatus.RUNNING, GoalStatus.SETTLING))
    assert ended[-1]["goal_status"] == GoalStatus.SUCCEEDED
    assert ended[-1]["sigma_motors"] > 0.3
    bars = [rig.machine.mechanism.joint_index(f"bar_{k}") for k in range(41)]
    np.testing.assert_allclose(rig.simulator.q[bars], 0.6, atol=1e-3)


def test_servo_is_not_among_the_laws_of_closed_machines() -> None:
    assert LawKind.SERVO not in laws_of(load("five_bar"))


def test_a_machine_that_a_hand_moves_on_is_held_after_two_seconds_of_damping(tmp_path: Path) -> None:
    rig = InProcess(load(moved_by_hand("five_bar", tmp_path)))
    rig.enable()
    assert rig.order(ChooseLaw(int(LawKind.FLOAT)))["order_outcome"] == OrderOutcome.DONE
    moving = rig.run(0.5)[-1]
    assert np.abs(moving["v"]).max() > 0.1
    rig.order(Disable())
    damped = rig.run(LONGEST_DAMPING_S - 0.1)[-1]
    assert (damped["law"], damped["state"]) == (LawKind.DAMP, State.STOPPING)
    rig.until(lambda sample: sample["state"] == State.INACTIVE, most_s=1.0)
