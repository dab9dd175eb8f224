"""Redundant motors in the loop: the pre-load, motors too weak for the path, motors on every joint."""

from dataclasses import replace

import numpy as np
import pytest

from controller.loop.goals import GoalStatus
from controller.loop.limits import Limited
from controller.orders import OrderKind, OrderOutcome
from controller.trajectories.planner import plan
from controller.trajectories.start import Start
from machine import Machine, MachineError, load
from machine.catalogue import shipped_path
from machine.description import Motor
from protocol.codes import ResultCode
from protocol.requests import MoveParams
from tests.controller.loop.in_process import InProcess, Sample
from tests.controller.loop.test_closed import move

TARGET = {"left": 1.9, "right": 1.2}


@pytest.fixture(scope="module")
def redundant() -> Machine:
    return load("five_bar_redundant")


def motion(rig: InProcess) -> list[Sample]:
    move(rig, TARGET)
    ends = (GoalStatus.SUCCEEDED, GoalStatus.ENDED)
    return rig.until(lambda sample: sample["goal_status"] in ends)


def test_a_pre_load_is_set_within_its_bounds_and_moves_nothing(redundant: Machine) -> None:
    rig = InProcess(redundant)
    rig.enable()
    rig.run(0.3)
    before = rig.simulator.q.copy()
    assert rig.order(OrderKind.PRELOAD, length=1, arguments=(2.0, 9.0))["order_outcome"] == -8
    assert rig.order(OrderKind.PRELOAD, length=1, arguments=(0.0, 0.1))["order_outcome"] == -8
    assert rig.order(OrderKind.PRELOAD, length=1, arguments=(2.0, 2.0))["order_outcome"] == OrderOutcome.DONE
    samples = rig.run(1.0)
    efforts = np.array([sample["effort"] for sample in samples])
    assert np.abs(np.diff(efforts, axis=0)).max() < 0.1  # no step
    assert 0.2 < efforts[-1][2] <= 2.0
    np.testing.assert_allclose(rig.simulator.q, before, atol=1e-5)


def test_a_pre_load_that_cannot_be_is_refused_when_the_file_is_loaded(tmp_path: object) -> None:
    text = shipped_path("five_bar").read_text()
    file = tmp_path / "one.yaml"  # type: ignore[operator]
    file.write_text(text.replace("controller:\n", "controller:\n  preload: {left: {effort: 5, most: 20}}\n"))
    with pytest.raises(MachineError) as caught:
        load(file)
    said = str(caught.value)
    assert "the motor cannot give so much" in said
    assert "no more motors than freedoms" in said


@pytest.mark.parametrize("name", ["five_bar", "five_bar_redundant"])
def test_motors_that_cannot_follow_slow_the_goal_down_on_its_path(name: str) -> None:
    """Planned for the motors of the file; those that are there give less than the plan's peak."""
    strong = load(name)
    start = Start.at(strong, strong.initial_q)
    report = plan("move", MoveParams.model_validate({"target": TARGET}), strong, start).report
    share = 0.8 * max(peak["used"] for peak in report["effort_peaks"].values())
    weak = replace(
        strong, motors=tuple(replace(one, max_effort=share * one.max_effort) for one in strong.motors)
    )
    rig = InProcess(weak)
    rig.enable()
    rig.machine = strong
    samples = motion(rig)
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
    efforts = np.array([sample["effort"] for sample in samples])
    assert np.all(np.abs(efforts) <= [one.max_effort for one in weak.motors])
    seen = np.bitwise_or.reduce([int(sample["limited"]) for sample in samples])
    assert seen & Limited.EFFORT
    assert seen & Limited.PATH_RATE
    assert min(float(sample["path_rate"]) for sample in samples[5:-5]) < 0.98


def test_passive_joints_get_nothing_and_the_motion_is_that_of_motors_everywhere(redundant: Machine) -> None:
    five_bar = load("five_bar")
    every = tuple(
        replace(five_bar.motors[0], joint=name, index=index)
        for index, name in enumerate(five_bar.mechanism.joint_names)
    )
    assert all(isinstance(motor, Motor) for motor in every)
    few, all_of_them = InProcess(five_bar), InProcess(replace(five_bar, motors=every))
    moves = []
    for rig in (few, all_of_them):
        rig.enable()
        samples = motion(rig)
        moves.append(np.array([sample["q"] for sample in samples]))
    assert moves[0].shape == moves[1].shape
    np.testing.assert_allclose(moves[0], moves[1], atol=1e-9)


def test_near_a_pose_without_leverage_the_law_says_so_and_stays_finite() -> None:
    five_bar = load("five_bar")
    reach = np.arccos(0.75)
    near = np.array([np.pi - reach - 0.004, reach + 0.004, 0.0, 0.0])
    from multibody.assembly import assemble

    near[2], near[3] = -near[0], np.pi - near[1]
    q = assemble(five_bar.mechanism, near).q
    rig = InProcess(replace(five_bar, initial_q=q))
    rig.enable()
    samples = rig.run(0.2)
    assert np.all(np.isfinite([sample["effort"] for sample in samples]))
    assert all(sample["fault"] == 0 for sample in samples)
    weak = [sample for sample in samples if float(sample["sigma_motors"]) < 0.05]
    assert weak
    assert all(int(sample["limited"]) & Limited.LEVERAGE for sample in weak[1:])
