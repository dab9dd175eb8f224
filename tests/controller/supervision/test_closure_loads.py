"""What a closure may bear: in the machine file, before a path is accepted, and in motion."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from linkwork.controller.exchange.faults import FaultCode
from linkwork.controller.motion.limits.effort_limits import Limited
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import plan
from linkwork.controller.supervision.closure_loads import BearingLoads
from linkwork.controller.supervision.state_machine import State
from linkwork.machine import Machine, MachineError, load
from linkwork.machine.building.initial_assembly import holding
from linkwork.machine.catalogue import shipped_path
from linkwork.protocol.errors import RequestError
from linkwork.protocol.requests import MoveParams
from tests.controller.loop.in_process import InProcess
from tests.controller.loop.test_closed_chains import move

TARGET = {"left": 1.9, "right": 1.2}


def limited_to(machine: Machine, **limits: object) -> Machine:
    return replace(machine, load_limits=tuple(replace(one, **limits) for one in machine.load_limits))


@pytest.fixture(scope="module")
def weak(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """The five-bar whose tip may bear 1 kN, said in its file."""
    text = shipped_path("five_bar").read_text()
    file = tmp_path_factory.mktemp("machines") / "weak.yaml"
    file.write_text(
        text.replace("    type: revolute\n    a: {", "    type: revolute\n    max_force_N: 1000\n    a: {")
    )
    return load(file)


def test_the_file_says_which_rows_are_limited(weak: Machine) -> None:
    (limit,) = weak.load_limits
    names = [weak.mechanism.row_names[row] for row in limit.rows]
    assert names == ["tip.x", "tip.y", "tip.z"]
    assert (limit.constraint, limit.most, limit.is_force, limit.faults) == ("tip", 1000.0, True, True)


def test_a_constraint_without_such_a_load_is_refused(tmp_path: object) -> None:
    text = shipped_path("slider_crank").read_text()
    file = tmp_path / "wrong.yaml"  # type: ignore[operator]
    file.write_text(text.replace("equals_m: 0}", "equals_m: 0, max_torque_N_m: 3}"))
    with pytest.raises(MachineError, match="has no torque"):
        load(file)


def test_a_path_with_too_much_load_is_refused_or_slowed_down(weak: Machine) -> None:
    start = Start.at_pose(weak, weak.initial_q)
    params = MoveParams.model_validate({"target": TARGET})
    free = plan("move", params, weak, start).report
    load_ = free["limits"]["bearing force"]["tip"]
    assert 1.0 < load_["value"] < 1000.0
    tight = limited_to(weak, most=0.25 * load_["value"])
    slower = plan("move", params, tight, start).report
    assert slower["time_stretch"] == pytest.approx(2.0, rel=0.03)  # inertia alone: loads fall with the square
    assert slower["limits"]["bearing force"]["tip"]["used"] <= 1.0 + 1e-6


def test_the_load_at_admission_is_the_one_in_motion(weak: Machine) -> None:
    rig = InProcess(weak)
    bearings = BearingLoads(weak)
    rig.enable()
    made = plan(
        "move", MoveParams.model_validate({"target": TARGET}), weak, Start.at_pose(weak, rig.simulator.q)
    )
    move(rig, TARGET)
    worst = 0.0
    for sample in rig.until(lambda sample: sample["goal_status"] == GoalStatus.SUCCEEDED):
        bearings.check(sample["constraint_force"])
        worst = max(worst, float(bearings.loads[0]))
    assert worst == pytest.approx(made.report["limits"]["bearing force"]["tip"]["value"], rel=0.02)


def test_redundant_motors_load_closures_by_what_the_loop_gives(tmp_path: Path) -> None:
    """A pre-load strains the loop; at admission as in motion."""
    text = shipped_path("five_bar_redundant").read_text()
    text = text.replace("    type: revolute\n    a: {", "    type: revolute\n    max_force_N: 1000\n    a: {")
    path = tmp_path / "strained.yaml"
    path.write_text(text.replace("effort: 0, most: 2", "effort: 1.5, most: 2"))
    machine = load(path)
    rig, bearings = InProcess(machine), BearingLoads(machine)
    rig.enable()
    start = Start.at_pose(machine, rig.simulator.q)
    told = plan("move", MoveParams.model_validate({"target": TARGET}), machine, start).report
    load_ = told["limits"]["bearing force"]["tip"]["value"]
    free = plan(
        "move", MoveParams.model_validate({"target": TARGET}), replace(machine, preload=()), start
    ).report["limits"]["bearing force"]["tip"]["value"]
    assert load_ > 1.1 * free
    move(rig, TARGET)
    worst = 0.0
    for sample in rig.until(lambda sample: sample["goal_status"] == GoalStatus.SUCCEEDED):
        bearings.check(sample["constraint_force"])
        worst = max(worst, float(bearings.loads[0]))
    assert worst == pytest.approx(load_, rel=0.02)


@pytest.mark.parametrize("faults", [True, False])
def test_a_load_above_its_limit_in_motion(weak: Machine, faults: bool) -> None:
    rig = InProcess(weak)
    rig.enable()
    move(rig, TARGET)  # admitted with 1 kN; the bearing that is watched is weaker
    rig.controller._bearings = BearingLoads(limited_to(weak, most=4.0, faults=faults))
    samples = rig.until(lambda sample: sample["goal_status"] in (GoalStatus.SUCCEEDED, GoalStatus.ENDED))
    if faults:
        assert samples[-1]["fault"] == FaultCode.CONSTRAINT_FORCE
        assert samples[-1]["fault_index"] == 0
        assert samples[-1]["fault_value"] > samples[-1]["fault_limit"] == 4.0
        assert samples[-1]["state"] == State.FAULT
    else:
        seen = np.bitwise_or.reduce([int(sample["limited"]) for sample in samples])
        assert seen & Limited.CONSTRAINT_FORCE
        assert seen & Limited.PATH_RATE
        assert samples[-1]["goal_status"] == GoalStatus.SUCCEEDED
        assert min(float(sample["path_rate"]) for sample in samples[20:-20]) < 0.9


def test_a_path_that_cannot_be_slowed_enough_names_the_constraint(weak: Machine) -> None:
    tight = limited_to(weak, most=1e-6)
    with pytest.raises(RequestError, match="tip would need bearing force"):
        plan(
            "move", MoveParams.model_validate({"target": TARGET}), tight, Start.at_pose(weak, weak.initial_q)
        )


def bounded(folder: Path, name: str, bound: str, more: str = "") -> Machine:
    """The machine whose tip has a bound on its force along y."""
    text = shipped_path(name).read_text()
    path = folder / "bounded.yaml"
    limits = f"    load_limits: {{y: {bound}}}\n{more}"
    path.write_text(text.replace("    type: revolute\n    a: {", f"    type: revolute\n{limits}    a: {{"))
    return load(path)


@pytest.mark.parametrize(
    ("bound", "says"),
    [
        ("2", "load_limits.y"),
        ("'2'", "'2' is no bound: write '> 0.02', '< 0.3'"),
        ("[3, 2]", "the lower bound 3 must be below the upper one, 2"),
        ("'> 2', xx: '< 3'", r"tip has no such row with a force\s+found +xx\s+allowed +x, y, z"),
    ],
)
def test_a_bound_that_is_none_is_refused_with_its_place(tmp_path: Path, bound: str, says: str) -> None:
    with pytest.raises(MachineError, match=says):
        bounded(tmp_path, "five_bar", bound)


@pytest.mark.parametrize(("bound", "low", "high"), [("'> 2'", 2.0, 9.0), ("[-4, -2]", -4.0, -2.0)])
def test_redundant_motors_keep_a_bearing_on_one_side(
    tmp_path: Path, bound: str, low: float, high: float
) -> None:
    """At admission as in motion; without the bound the force changes its sign on this way."""
    machine = bounded(tmp_path, "five_bar_redundant", bound)
    rig = InProcess(machine)
    rig.enable()
    rig.run(0.3)
    start = Start.at_pose(machine, rig.simulator.q)
    known = plan("move", MoveParams.model_validate({"target": TARGET}), machine, start).report["limits"]
    move(rig, TARGET)
    samples = rig.until(lambda sample: sample["goal_status"] in (GoalStatus.SUCCEEDED, GoalStatus.ENDED))
    forces = np.array([sample["constraint_force"][1] for sample in samples])
    assert samples[-1]["goal_status"] == GoalStatus.SUCCEEDED
    assert low < forces.min()
    assert forces.max() < high
    assert {int(sample["limited"]) for sample in samples} == {0}
    assert known["bearing force"]["tip.y"]["value"] == pytest.approx(
        forces[np.abs(forces).argmin()], rel=0.02
    )


def test_without_a_choice_a_bearing_that_changes_its_side_is_refused_or_a_fault(tmp_path: Path) -> None:
    machine, params = bounded(tmp_path, "five_bar", "'> 0.5'"), MoveParams.model_validate({"target": TARGET})
    with pytest.raises(
        RequestError, match=r"tip\.y would need bearing force .* 0\.5 N is allowed"
    ) as refused:
        plan("move", params, machine, Start.at_pose(machine, machine.initial_q))
    assert refused.value.data["value"] < 0.5 == refused.value.data["limit"]
    rig = InProcess(load("five_bar"))
    rig.enable()
    move(rig, TARGET)
    rig.controller._bearings = BearingLoads(machine)
    last = rig.until(lambda sample: sample["goal_status"] in (GoalStatus.SUCCEEDED, GoalStatus.ENDED))[-1]
    assert last["fault"] == FaultCode.CONSTRAINT_FORCE
    assert last["fault_value"] < last["fault_limit"] == 0.5


def test_the_fastest_timing_uses_a_bound_of_one_side_and_no_more(tmp_path: Path) -> None:
    params = MoveParams.model_validate({"target": {"x": 0.1, "y": 0.3}, "timing": "fastest"})
    took = {}
    for bound in ("'> -3'", "'> -0.9'"):
        machine = bounded(tmp_path, "five_bar", bound)
        found = plan("move", params, machine, Start.at_pose(machine, machine.initial_q)).report
        took[bound] = found["duration_s"], found["limits"]["bearing force"]["tip.y"]["value"]
    assert took["'> -3'"][1] < -1.0
    assert took["'> -0.9'"][1] == pytest.approx(-0.9, abs=1e-3)
    assert took["'> -0.9'"][0] > took["'> -3'"][0]


def test_a_constraint_that_is_open_has_no_least_load(tmp_path: Path) -> None:
    machine = bounded(tmp_path, "five_bar", "'> 2'", "    switchable: true\n")
    (held,) = machine.held_limits()
    (opened,) = replace(machine, mechanism=holding(machine.mechanism, ["tip"], [])).held_limits()
    assert (held.most, opened.most) == (-2.0, np.inf)
