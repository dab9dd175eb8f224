"""When the estimate is not believed: other assemblies, open closures, sensors that contradict each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from linkwork.controller.estimation.assembly_mode import AssemblyModeMemory
from linkwork.controller.estimation.redundant_sensors import told
from linkwork.controller.exchange.faults import FaultCode
from linkwork.controller.exchange.orders import ConfirmBranch, Enable, OrderOutcome, Recover, SuggestPose
from linkwork.controller.loop.tick import LAST
from linkwork.controller.supervision.state_machine import State
from linkwork.machine import Machine, load
from linkwork.machine.checks.assembly_modes import fitting_poses
from linkwork.multibody.closure.rank import admitted, factor
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.offline.run import simulate
from tests.controller.loop.in_process import InProcess, with_controller


def numbers_along(machine: Machine, poses: np.ndarray) -> list[int]:
    """The branch's number at each of these poses, one after the other."""
    branch, work, found = AssemblyModeMemory(machine), machine.workspace(), []
    for q in poses:
        work.q[:] = q
        for kernel in (kinematics, constraint_rows, factor, admitted):
            kernel(*work.arguments)
        branch.follow(work)
        found.append(branch.number)
    return found


def test_the_branch_changes_where_the_measured_crank_loses_its_hold() -> None:
    machine = load("four_bar")
    poses = simulate(machine, 3.0).q
    side = np.sign(np.sin(poses[:, 2]))
    clear = np.abs(np.sin(poses[:, 2])) > 0.02
    numbers = np.array(numbers_along(machine, poses))
    assert {-1, 1} == set(numbers)
    np.testing.assert_array_equal(numbers[clear], (side * side[0])[clear])


def test_the_branch_stays_where_the_machine_goes_straight_through_a_branch_pose() -> None:
    crank = np.linspace(0.5, 5.5, 2001)
    poses = np.column_stack([crank, -2.0 * crank])
    assert set(numbers_along(load("slider_crank"), poses)) == {1}


def test_another_assembly_is_a_fault_in_the_same_tick_and_must_be_confirmed() -> None:
    rig = InProcess(load("slider_crank"))
    rig.enable()
    assert rig.tick()["branch"] == 1
    rig.controller._now.q[1] = np.pi  # the rod folded back over the crank: it closes too
    rig.controller._prior = LAST
    sample = rig.tick()
    assert (sample["branch"], sample["fault"], sample["state"]) == (-1, FaultCode.BRANCH_FLIP, State.FAULT)
    rig.until(lambda sample: not np.any(sample["v"]))
    assert rig.order(Recover())["order_outcome"] == OrderOutcome.DONE
    assert rig.order(Enable())["order_outcome"] == OrderOutcome.REFUSED_BRANCH
    assert rig.order(ConfirmBranch())["order_outcome"] == OrderOutcome.DONE
    assert rig.order(Enable())["order_outcome"] == OrderOutcome.DONE


def test_a_machine_of_several_assemblies_wants_its_own_confirmed_once() -> None:
    rig = InProcess(with_controller(load("five_bar"), assemblies="several"))
    rig.tick()
    assert rig.order(Enable())["order_outcome"] == OrderOutcome.REFUSED_BRANCH
    assert rig.order(ConfirmBranch())["order_outcome"] == OrderOutcome.DONE
    assert rig.order(ConfirmBranch())["order_outcome"] == OrderOutcome.NOTHING_TO_DO
    rig.enable()


def test_measurements_that_no_pose_fits_name_the_constraint() -> None:
    rig = InProcess(load("five_bar"))
    rig.run(0.01)
    rig.simulator.measured.q[:] = np.pi, 0.0  # the arms are spread further than the forearms reach
    sample = rig.tick()
    assert sample["fault"] == FaultCode.CLOSURE_RESIDUAL
    assert rig.machine.mechanism.constraint_names[int(sample["fault_index"])] == "tip"
    assert sample["fault_value"] > sample["fault_limit"]


def five_bar_with(*elbows: str) -> Machine:
    """The five-bar with encoders on these elbows too."""
    machine = load("five_bar")
    first = machine.sensors[0]
    more = [first.at(name, machine.mechanism.joint_index(name)) for name in elbows]
    return replace(machine, sensors=(*machine.sensors, *more))


def with_error(rig: InProcess, sensor: int, error: float) -> np.void:
    for _ in range(30):
        rig.simulator.measured.q[sensor] += error
        sample = rig.tick()
        if sample["fault"]:
            break
    return sample.record


@pytest.mark.parametrize("sensor", range(4))
def test_two_redundant_sensors_name_the_one_that_is_wrong(sensor: int) -> None:
    rig = InProcess(five_bar_with("left_elbow", "right_elbow"))
    rig.enable()
    assert not rig.run(0.05)[-1]["fault"]
    sample = with_error(rig, sensor, 0.01)
    assert (sample["fault"], sample["fault_index"]) == (FaultCode.SENSOR_DISAGREES, sensor)
    assert sample["fault_value"] == pytest.approx(0.01, rel=0.1)


def test_one_redundant_sensor_names_the_group() -> None:
    rig = InProcess(five_bar_with("left_elbow"))
    rig.enable()
    assert not rig.run(0.05)[-1]["fault"]
    sample = with_error(rig, 1, 0.01)
    assert (sample["fault"], sample["fault_index"]) == (FaultCode.SENSORS_DISAGREE, 0b111)


def test_what_sensors_can_find_out_is_said() -> None:
    assert told(load("scara")).startswith("no redundant sensor")
    assert told(load("five_bar")).startswith("no redundant sensor")
    assert told(five_bar_with("left_elbow")).endswith(
        "among left, right, left_elbow is detected but not located"
    )
    assert told(five_bar_with("left_elbow", "right_elbow")).startswith("2 redundant sensors")


def test_other_assemblies_with_the_same_measurements_are_found() -> None:
    (folded,) = fitting_poses(load("slider_crank")).modes
    np.testing.assert_allclose(np.cos(folded[1]), -1.0)
    assert fitting_poses(five_bar_with("left_elbow")).modes == ()


@pytest.mark.parametrize("name", ["four_bar", "platform_huang"])
def test_the_estimate_begins_in_the_assembly_mode_that_is_suggested(name: str) -> None:
    """The machine was put together in another mode than its file says; several orders give the pose."""
    machine = with_controller(load(name), assemblies="several")
    pose = fitting_poses(machine).modes[0]
    rig = InProcess(machine)
    rig.simulator.q[:] = pose
    assert np.max(np.abs(rig.tick()["q"] - pose)) > 0.1
    orders = suggestions(pose)
    for order in orders:
        assert rig.order(Enable())["order_outcome"] == OrderOutcome.REFUSED_BRANCH
        assert rig.order(order)["order_outcome"] == OrderOutcome.DONE
    assert rig.order(Enable())["order_outcome"] == OrderOutcome.REFUSED_BRANCH
    assert rig.order(ConfirmBranch())["order_outcome"] == OrderOutcome.DONE
    rig.enable()
    held = rig.run(0.2)[-1]
    assert (held["state"], held["fault"]) == (State.ACTIVE, 0)
    np.testing.assert_allclose(held["q"], rig.simulator.q, atol=1e-4)
    assert rig.order(orders[0])["order_outcome"] == OrderOutcome.REFUSED_STATE


def suggestions(pose: np.ndarray) -> list[SuggestPose]:
    pairs = [(index, float(value)) for index, value in enumerate(pose)]
    return [SuggestPose(tuple(pairs[k : k + 4])) for k in range(0, len(pairs), 4)]


def test_a_pose_at_which_the_estimate_does_not_stay_is_not_confirmed() -> None:
    rig = InProcess(with_controller(load("four_bar"), assemblies="several"))
    wrong = rig.tick()["q"] + [0.0, 0.3, 0.0]
    (order,) = suggestions(wrong)
    assert rig.order(order)["order_outcome"] == OrderOutcome.DONE
    assert rig.order(ConfirmBranch())["order_outcome"] == OrderOutcome.REFUSED_VALUE
    assert rig.order(Enable())["order_outcome"] == OrderOutcome.REFUSED_BRANCH
    assert rig.order(ConfirmBranch())["order_outcome"] == OrderOutcome.DONE


def test_a_machine_of_one_assembly_takes_a_pose_only_after_a_flip() -> None:
    rig = InProcess(load("slider_crank"))
    (order,) = suggestions(rig.tick()["q"])
    assert rig.order(order)["order_outcome"] == OrderOutcome.REFUSED_VALUE
    rig.enable()
    rig.controller._now.q[1] = np.pi
    rig.controller._prior = LAST
    assert rig.tick()["fault"] == FaultCode.BRANCH_FLIP
    rig.until(lambda sample: not np.any(sample["v"]))
    (order,) = suggestions(rig.simulator.q)
    assert rig.order(order)["order_outcome"] == OrderOutcome.DONE
    assert rig.order(ConfirmBranch())["order_outcome"] == OrderOutcome.DONE
    assert rig.order(Recover())["order_outcome"] == OrderOutcome.DONE
    rig.enable()
    assert not rig.run(0.05)[-1]["fault"]
