"""Redundant motors in the loop: the pre-load, motors too weak for the path, motors on every joint."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from linkwork.arrays import Flags, Floats
from linkwork.controller.actuation.load_relief import choice_for, relieve
from linkwork.controller.exchange.orders import OrderOutcome, SetPreload
from linkwork.controller.laws import Reference, laws_of
from linkwork.controller.motion.limits.effort_limits import Limited
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import plan
from linkwork.machine import Machine, MachineError, load
from linkwork.machine.catalogue import shipped_path
from linkwork.machine.description import LoadLimit
from linkwork.multibody.dynamics.constrained_dynamics import projected
from linkwork.multibody.dynamics.motion_basis import evaluate_shortest
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.laws import LawKind
from linkwork.protocol.requests import MoveParams
from tests.controller.loop.in_process import InProcess, Sample
from tests.controller.loop.test_closed_chains import move

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
    assert rig.order(SetPreload(((2, 9.0),)))["order_outcome"] == -8
    assert rig.order(SetPreload(((0, 0.1),)))["order_outcome"] == -8
    assert rig.order(SetPreload(((2, 2.0),)))["order_outcome"] == OrderOutcome.DONE
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
    assert "this exceeds the motor's largest effort" in said
    assert "no more motors than degrees of freedom" in said


@pytest.mark.parametrize("name", ["five_bar", "five_bar_redundant"])
def test_motors_that_cannot_follow_slow_the_goal_down_on_its_path(name: str) -> None:
    """Planned for the motors of the file; those that are there give less than the plan's peak."""
    strong = load(name)
    start = Start.at_pose(strong, strong.initial_q)
    report = plan("move", MoveParams.model_validate({"target": TARGET}), strong, start).report
    share = 0.8 * max(peak["used"] for peak in report["effort_peaks"].values())
    weak = replace(
        strong, motors=tuple(one.with_values(max_effort=share * one.max_effort) for one in strong.motors)
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


def with_motors_everywhere(machine: Machine) -> Machine:
    names = enumerate(machine.mechanism.joint_names)
    every = tuple(machine.motors[0].at(name, index) for index, name in names)
    return replace(
        machine,
        motors=every,
        preload=machine.preload[:1] * len(every),
        effort_scale=machine.effort_scale[:1] * len(every),
    )


def followed_without_a_hold(machine: Machine) -> np.ndarray:
    """Half a second with the law evaluated at every stage of the integration: q and v at its end."""
    law, work, force = laws_of(machine)[LawKind.PIDC], machine.workspace(), np.zeros(4)
    passive = np.setdiff1d(np.arange(4), [motor.index for motor in machine.motors])
    index = np.array([0, 1])
    home = work.q[index].copy()

    def rates(state: np.ndarray, time_s: float) -> np.ndarray:
        work.q[:], work.v[:] = state[:4], state[4:]
        evaluate_shortest(*work.arguments)
        phase = 6.0 * time_s
        swing = 0.2 * np.array([1 - np.cos(phase), 6 * np.sin(phase), 36 * np.cos(phase)])
        law(work, Reference(index, home + swing[0], *np.outer(swing[1:], [1.0, 1.0])), force)
        assert not np.any(force[passive])
        work.effort[:] = force
        projected(*work.arguments)
        return np.concatenate([state[4:], work.vdot])

    state, dt = np.concatenate([work.q, np.zeros(4)]), 1e-3
    for step in range(500):
        first = rates(state, step * dt)
        second = rates(state + 0.5 * dt * first, (step + 0.5) * dt)
        third = rates(state + 0.5 * dt * second, (step + 0.5) * dt)
        last = rates(state + dt * third, (step + 1) * dt)
        state = state + dt / 6 * (first + 2 * second + 2 * third + last)
    return state


def test_passive_joints_get_nothing_and_the_motion_is_that_of_motors_everywhere() -> None:
    five_bar = load("five_bar")
    few, many = (followed_without_a_hold(machine) for machine in (five_bar, with_motors_everywhere(five_bar)))
    assert np.abs(few[:4] - five_bar.initial_q).max() > 0.1
    np.testing.assert_allclose(few, many, rtol=0.0, atol=1e-9)


def test_in_the_loop_the_hold_is_all_that_tells_few_motors_from_many() -> None:
    five_bar = load("five_bar")  # without the encoders' steps, at whose edges round-off would decide
    ideal = tuple(sensor.with_values(resolution=0.0) for sensor in five_bar.sensors)
    five_bar = replace(five_bar, sensors=ideal)
    moves = []
    for machine in (five_bar, with_motors_everywhere(five_bar)):
        rig = InProcess(machine)
        rig.enable()
        moves.append(np.array([sample["q"] for sample in motion(rig)]))
    np.testing.assert_allclose(moves[0], moves[1], rtol=0.0, atol=1e-6)


def test_near_a_pose_without_leverage_the_law_says_so_and_stays_finite() -> None:
    five_bar = load("five_bar")
    reach = np.arccos(0.75)
    near = np.array([np.pi - reach - 0.004, reach + 0.004, 0.0, 0.0])
    from linkwork.multibody.assembly.assembly import assemble

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


def strained(folder: Path, limit: str) -> Machine:
    """The five-bar with a pre-load that loads its tip by up to 8.3 N while it moves, and a limit of that."""
    text = shipped_path("five_bar_redundant").read_text()
    text = text.replace("{effort: 0, most: 2}", "{effort: 2, most: 2}")
    (folder / "strained.yaml").write_text(
        text.replace("    type: revolute\n    a:", f"    type: revolute\n{limit}    a:")
    )
    return load(folder / "strained.yaml")


@pytest.mark.parametrize("most", [8.0, 5.0])
def test_a_load_limit_bounds_the_choice_of_the_motors(tmp_path: Path, most: float) -> None:
    """The pre-load alone is beyond 5 N. A path that 8 N allow is as fast as without a limit."""
    free = strained(tmp_path, "")
    bound = strained(tmp_path, f"    max_force_N: {most:g}\n    on_exceed: limited\n")
    ticks = []
    for machine in (free, bound):
        rig = InProcess(machine)
        rig.enable()
        rig.run(0.3)
        samples = motion(rig)
        loads = [float(np.linalg.norm(sample["constraint_force"][:3])) for sample in samples]
        assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
        assert {int(sample["limited"]) for sample in samples} == {0}
        assert (max(loads) > 8.2) if machine is free else (max(loads) <= most)
        assert (
            max(np.abs(sample["reference"] - sample["coordinate"])[:2].max() for sample in samples[:-1])
            < 1e-4
        )
        ticks.append(len(samples))
    assert (ticks[1] == ticks[0]) == (most == 8.0)


NORM = LoadLimit("tip", (0, 1), is_force=True, most=1.0, faults=False, scale=1.0)
LEAST, MOST = (
    LoadLimit("tip", (0,), is_force=True, most=most, faults=False, scale=1.0, side=side, component="x")
    for side, most in ((-1, -0.5), (1, 0.7))
)


@pytest.mark.parametrize("limits", [(NORM,), (LEAST,), (LEAST, MOST)])
def test_loads_are_taken_back_by_the_least_change_of_efforts(limits: tuple[LoadLimit, ...]) -> None:
    """Against a search along the one direction of efforts that does not move the machine."""
    rng = np.random.default_rng(0)

    def within(loads: Floats, slack: float = 0.0) -> Flags:
        return np.all([limit.load(loads) <= limit.kept + slack for limit in limits], axis=0)

    for _ in range(20):
        choice, weight, most = choice_for(limits, 3, 2, 4), rng.uniform(0.5, 2.0, 3), np.full(3, 50.0)
        G, through = rng.normal(size=(2, 3)), rng.normal(size=(3, 2))
        choice.free[:] = np.eye(3) - np.diag(weight) @ G.T @ np.linalg.solve(G * weight @ G.T, G)
        way = np.linalg.svd(G)[2][2]
        across = np.array([-(way @ through)[1], (way @ through)[0]])
        load = 0.9 * rng.uniform(-1.0, 1.0) * across / np.linalg.norm(across) + 3.0 * way @ through
        choice.load[:], choice.effort[:], choice.through[:] = load, 0.0, through
        relieve(choice, weight, most)
        steps = np.linspace(-100.0, 100.0, 40_001)
        kept = within(load + np.outer(steps, way @ through))
        least = np.abs(steps[kept]).min(initial=np.inf)
        np.testing.assert_allclose(G @ choice.effort, 0.0, atol=1e-9)
        assert np.linalg.norm(choice.effort) == pytest.approx(least, abs=6e-3)
        assert within(choice.load[None], 1e-6)
