"""Tracking: the machine follows references within its tolerances."""

import numpy as np
import pytest

from linkwork.rig.under_test import RigUnderTest

pytestmark = pytest.mark.rig(controller=True)


def test_follows_a_slow_motion(rig: RigUnderTest) -> None:
    """A slow motion of all goal coordinates is followed within a tenth of the path tolerances."""
    record = rig.run(rig.motions.slow, title="slow")
    record.succeeded()
    record.no_fault()
    for coordinate in rig.motions.coordinates:
        record.tracking_error(coordinate)
    assert record.worst_error.max <= 0.1


def test_follows_a_fast_motion(rig: RigUnderTest) -> None:
    """A motion near the machine's limits is followed within the path tolerances."""
    record = rig.run(rig.motions.fast, title="fast")
    record.succeeded()
    record.no_fault()
    for coordinate in rig.motions.coordinates:
        record.tracking_error(coordinate)
    assert record.worst_error.max <= 1.0


def test_moves_each_goal_coordinate_by_itself(rig: RigUnderTest) -> None:
    """Each goal coordinate moves while the others hold, all within their path tolerances."""
    for coordinate in rig.motions.coordinates:
        record = rig.run(rig.motions.of(coordinate), title=coordinate)
        record.succeeded()
        assert record.position(coordinate).range > 0.0
        assert record.worst_error.max <= 1.0


@pytest.mark.rig(task_coordinates=True)
def test_follows_a_motion_in_task_coordinates(rig: RigUnderTest) -> None:
    """A motion given in task coordinates is followed within their path tolerances."""
    motion = rig.motions.task
    assert motion is not None
    record = rig.run(motion, title="task")
    record.succeeded()
    for coordinate in motion["coordinates"]:
        record.tracking_error(coordinate)
    assert record.worst_error.max <= 1.0


def test_goes_there_and_back_by_moves(rig: RigUnderTest) -> None:
    """A point-to-point move ends within the goal tolerance of its target, and so does the way back."""
    out = rig.motions.turning_point
    for target in (out, rig.home):
        record = rig.move(target)
        record.succeeded()
        record.no_fault()
        there = rig.positions
        for name, wanted in target.items():
            at = rig.machine.mechanism.coordinate_names.index(name)
            goal = rig.machine.tolerances[at].goal
            miss, unit = abs(there[name] - wanted), record.position(name).unit
            assert record.noted(f"miss({name})", miss, unit) <= goal


def test_holds_still(rig: RigUnderTest) -> None:
    """An enabled machine without a goal stays at its position."""
    with rig.recording("hold"):
        rig.pass_time(0.5)
    assert rig.record is not None
    rig.record.no_fault()
    assert rig.record.worst_error.max <= 0.1


@pytest.mark.rig(pace="lockstep", truth=True)
def test_does_the_same_again(rig: RigUnderTest) -> None:
    """The same motion twice gives the same efforts, except for rounding and sensor noise."""
    motion = rig.motions.fast
    one, other = (rig.run(motion, title=f"run {number}", settle_s=0.0) for number in (1, 2))
    assert len(one) == len(other)
    for motor in rig.machine.motors:
        efforts = one.effort(motor.joint).values - other.effort(motor.joint).values
        difference = float(np.max(np.abs(efforts))) / motor.max_effort
        assert one.noted(f"difference({motor.joint})", difference, "of max. effort") <= 0.05


@pytest.mark.rig(closures=True)
def test_keeps_its_closures(rig: RigUnderTest) -> None:
    """In fast motion the closures stay closed, by the controller's estimate and in the simulated machine."""
    record = rig.run(rig.motions.fast, title="fast")
    assert record.closure_residual.max <= 1e-4
    if rig.can("truth"):
        assert record.true_closure_residual.max <= 1e-6


@pytest.mark.rig(truth=True)
def test_creates_no_energy(rig: RigUnderTest) -> None:
    """The simulated machine never has more energy than its motors have supplied."""
    record = rig.run(rig.motions.fast, title="fast")
    moved = max(float(record.energy.range), 1e-3)
    gained = float(np.nanmax(record.energy_gain.values))
    assert record.noted("energy gained", gained / moved, "of the energy moved") <= 1e-3
