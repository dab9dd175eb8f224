"""Constraints that a signal closes and opens while a goal moves the machine: the goal is carried on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.arrays import Floats
from linkwork.controller.exchange.faults import FaultCode
from linkwork.controller.exchange.orders import Order, SetOutputs
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import Plan, judge, plan
from linkwork.controller.supervision.state_machine import State
from linkwork.machine import Machine, for_controller, load, shipped_path
from linkwork.machine.constraint_sets import constraint_sets
from linkwork.multibody.dynamics.motion_basis import evaluate_motion
from linkwork.protocol.codes import RequestCode, ResultCode
from linkwork.protocol.errors import RequestError
from tests.controller.loop.goals_in_process import Planned
from tests.controller.loop.in_process import InProcess, Sample
from tests.controller.loop.test_switching import two_arms

SLOT = 0
RATE_N_M_S = 2000.0
CLAMPED = "signals: {clamp: {type: digital, direction: output, on_fault: off}}\n"


def clamped(folder: Path, *, exact: bool, **replaced: str) -> Machine:
    """The arm whose slot follows a signal, with bounded effort rates; exact: sensors without errors."""
    text = shipped_path("slot_arm").read_text()
    changes = {
        "on: false, switchable: true, about: The pin runs": "closed_when: clamp, on: false, switchable: true,"
        " about: The pin runs",
        "brake_release_s: 0.05,": f"brake_release_s: 0.05, max_torque_rate_N_m_s: {RATE_N_M_S},",
        "acceleration_deg_s2: 600, jerk_deg_s3: 6000": "acceleration_deg_s2: 6000, jerk_deg_s3: 900000",
        "acceleration_m_s2: 3, jerk_m_s3: 40": "acceleration_m_s2: 60, jerk_m_s3: 9000",
        **replaced,
    }
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    path = folder / "slot_arm.yaml"
    path.write_text(text + CLAMPED)
    machine = load(path)
    if exact:
        sensors = [each.with_values(resolution=0.0, noise=0.0) for each in machine.sensors]
        machine = replace(machine, sensors=tuple(sensors))
    return machine


class Clamped(InProcess):
    """The arm, its planner, and the plant's state on both sides of the last impulse."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.sets = constraint_sets(machine)
        self.goals = Planned(self)
        self.before, self.after = (np.zeros((2, 2)) for _ in range(2))
        put = self.simulator.set_outputs

        def noted(values: Floats) -> None:
            before = np.array([self.simulator.q, self.simulator.v])
            put(values)
            if self.simulator.v.tolist() != before[1].tolist():
                self.before, self.after = before, np.array([self.simulator.q, self.simulator.v])

        self.simulator.set_outputs = noted  # type: ignore[method-assign]

    def planned(self, trajectory: dict[str, Any]) -> Plan:
        """The goal as planned where the machine holds."""
        now, names = self.supervisor.executor.now, self.machine.mechanism.coordinate_names
        held = {names[i]: float(x) for i, x in zip(now.index, now.theta, strict=True)}
        machine = self.sets[self.simulator.closed]
        assert isinstance(machine, Machine)
        start = Start.at_pose(machine, self.controller.now._now.q, None, held)
        method, params = ("send", {"trajectory": trajectory})
        if "target" in trajectory:
            method, params = "move", trajectory
        return plan(method, params, machine, start)

    def follow(self, trajectory: dict[str, Any]) -> list[Sample]:
        """The goal, to its end."""
        self.goals.order(self.planned(trajectory))
        samples = self.until(lambda sample: sample["goal_status"] >= GoalStatus.SUCCEEDED)
        assert samples[-1]["goal_status"] == GoalStatus.SUCCEEDED, samples[-1].record
        return samples


def impulse(machine: Machine, q: Floats, v: Floats) -> tuple[Floats, float, float]:
    """v+, impulse and energy lost by the closed slot, densely."""
    work = machine.workspace()
    work.q[:], work.v[:] = q, v
    evaluate_motion(*work.arguments)
    first = int(work.model.first_row[SLOT])
    row, mass = work.A[first : first + 1].copy(), work.M.copy()
    through = np.linalg.solve(mass, row.T)
    size = float(np.linalg.solve(row @ through, -row @ v)[0])
    lost = -size * (through[:, 0])
    return v - lost, abs(size), 0.5 * float(lost @ mass @ lost)


def crossings(count: int, seed: int) -> dict[str, Any]:
    """A path that crosses the height of the slot so often, with random places and velocities there."""
    random = np.random.default_rng(seed)
    points, time_s, up = [], 0.0, 1.0
    for _ in range(count):
        time_s, up = time_s + 0.2, -up
        reach = float(random.uniform(0.48, 0.52))
        velocities = [float(random.uniform(-0.15, 0.15)), float(up * random.uniform(0.05, 0.3))]
        points.append({"time_from_start_s": time_s, "positions": [reach, 0.3], "velocities": velocities})
    last = {"time_from_start_s": time_s + 1.0, "positions": [0.5, 0.3], "velocities": [0.0, 0.0]}
    wide = {"path": 0.2, "goal": 0.2}
    return {
        "coordinates": ["reach", "height"],
        "points": [*points, last],
        "tolerances": {"reach": wide, "height": wide},
    }


def check_impulses(folder: Path, count: int, seed: int, least: int) -> None:
    """Close the slot at every crossing, for three periods; the plant refuses where the pin is 1 mm off.

    least: of the slot's closings.
    """
    arm = Clamped(clamped(folder, exact=True))
    closed = arm.sets[1 << SLOT]
    assert isinstance(closed, Machine)
    arm.enable()
    arm.follow({"target": {"reach": 0.5, "height": 0.3}, "speed": 0.5})
    arm.goals.order(arm.planned(crossings(count, seed)))
    last, found = arm.tick(), 0
    due = [200 * (number + 1) for number in range(count)]
    for k in range(3, 200 * count + 3):
        order: Order | None = None
        if k + 1 in due or k - 2 in due:
            order = SetOutputs(((SLOT, float(k + 1 in due)),), id=1000 + k)
        sample = arm.tick(order)
        assert sample["fault"] == FaultCode.NONE
        assert sample["goal_status"] == GoalStatus.RUNNING
        step = np.abs(sample["effort"] - last["effort"])
        assert step.max() <= RATE_N_M_S * arm.period_s * (1.0 + 1e-9)
        if sample["switched"][SLOT] == 1.0 and sample["closed"][SLOT] == 1.0:
            found += 1
            after, size, lost = impulse(closed, arm.after[0], arm.before[1])
            assert np.abs(sample["v"] - after).max() < 1e-9
            assert np.abs(arm.after[1] - after).max() < 1e-9
            assert sample["switch_impulse"][SLOT] == pytest.approx(size, rel=1e-9)
            assert sample["switch_energy_loss"][SLOT] == pytest.approx(lost, rel=1e-6)
            assert size > 1e-3
        last = sample
    assert found >= least


def test_a_slot_that_closes_in_motion_acts_as_its_impulse(tmp_path: Path) -> None:
    check_impulses(tmp_path, 30, 1, 30)


@pytest.mark.slow
def test_a_slot_that_closes_in_500_random_states_acts_as_its_impulse(tmp_path: Path) -> None:
    check_impulses(tmp_path, 510, 2, 500)


def line(*heights: float, seconds: float = 0.5) -> dict[str, Any]:
    """The pin moves on in steps of 60 mm, through these heights."""
    points = [
        {"time_from_start_s": seconds * k, "positions": [0.44 + 0.06 * k, height]}
        for k, height in enumerate(heights)
    ]
    return {"coordinates": ["reach", "height"], "points": points}


@pytest.mark.parametrize("velocity", ["true", "false"])
def test_a_goal_is_carried_on_when_a_signal_closes_and_opens_the_slot(tmp_path: Path, velocity: str) -> None:
    """With encoders alone too: the estimate goes through the impulse, and need not find it in differences."""
    arm = Clamped(clamped(tmp_path, exact=False, **{"velocity: true": f"velocity: {velocity}"}))
    arm.enable()
    arm.follow({"target": {"reach": 0.44, "height": 0.35}})
    arm.goals.order(arm.planned(line(0.35, 0.3, 0.29, 0.28) | {"tolerances": {"height": {"path": 0.03}}}))
    arm.until(lambda sample: sample["coordinate"][3] < 0.3003)
    arm.order(SetOutputs(((SLOT, 1.0),)))
    closed = arm.tick()
    assert (closed["closed"][SLOT], closed["rank"]) == (1.0, 1)
    assert closed["goal_status"] == GoalStatus.RUNNING
    assert np.abs(closed["v"] - arm.after[1]).max() < 2e-3
    assert np.abs(arm.after[1] - arm.before[1]).max() > 0.1
    inside = arm.run(0.3)
    assert max(abs(sample["coordinate"][3] - 0.3) for sample in inside) < 1e-9
    assert max(abs(sample["reference"][3] - 0.3) for sample in inside) < 1e-9
    assert max(abs(sample["coordinate"][2] - sample["reference"][2]) for sample in inside) < 2e-3
    arm.order(SetOutputs(((SLOT, 0.0),)))
    samples = arm.until(lambda sample: sample["goal_status"] >= GoalStatus.SUCCEEDED)
    assert (samples[0]["rank"], samples[-1]["goal_status"]) == (0, GoalStatus.SUCCEEDED)
    assert samples[-1]["coordinate"][3] == pytest.approx(0.28, abs=1e-3)
    efforts = np.array([sample["effort"] for sample in [closed, *inside, *samples]])
    assert np.abs(np.diff(efforts, axis=0)).max() <= RATE_N_M_S * arm.period_s * (1.0 + 1e-9)
    arm.run(0.2)
    assert arm.supervisor.fault.code == FaultCode.NONE


def test_a_motion_that_opening_leaves_free_is_damped(tmp_path: Path) -> None:
    """A goal along the slot alone: once the slot is open, its height is not the goal's any more."""
    arm = Clamped(clamped(tmp_path, exact=False))
    arm.enable()
    arm.follow({"target": {"reach": 0.44, "height": 0.3}})
    arm.run(0.1)
    arm.order(SetOutputs(((SLOT, 1.0),)))
    arm.run(0.1)
    path = line(0.3, 0.3, 0.3)
    points = [{**point, "positions": point["positions"][:1]} for point in path["points"]]
    arm.goals.order(arm.planned({"coordinates": ["reach"], "points": points}))
    arm.run(0.4)
    arm.order(SetOutputs(((SLOT, 0.0),)))
    samples = arm.until(lambda sample: sample["goal_status"] >= GoalStatus.SUCCEEDED)
    assert (samples[0]["rank"], samples[-1]["goal_status"]) == (0, GoalStatus.SUCCEEDED)
    assert samples[-1]["coordinate"][2] == pytest.approx(0.56, abs=1e-3)
    assert max(abs(sample["coordinate"][3] - 0.3) for sample in samples) < 0.06
    assert np.abs(arm.run(0.5)[-1]["v"]).max() < 1e-3


def test_what_a_slot_bears_fades_before_the_goal_opens_it(tmp_path: Path) -> None:
    """It bears 6.5 N; let go at once, efforts would step by their rate limit, 2 N m, for three ticks."""
    arm = Clamped(clamped(tmp_path, exact=True))
    arm.enable()
    arm.follow({"target": {"reach": 0.44, "height": 0.3}})
    points = [
        {
            "time_from_start_s": 0.5 * k,
            "positions": [0.44 + 0.04 * k, height],
            "velocities": [0.08 if k < 4 else 0.0, 0.0],
        }
        for k, height in enumerate((0.3, 0.3, 0.3, 0.33), 1)
    ]
    events = [{"at": {"point": k}, "set": {"clamp": on}} for k, on in ((0, True), (2, False))]
    trajectory = {"coordinates": ["reach", "height"], "points": points, "events": events}
    samples = arm.follow(trajectory | {"tolerances": {"height": {"path": 0.05}}})
    closed = np.array([sample["closed"][SLOT] for sample in samples])
    (opened,) = np.flatnonzero(np.diff(closed) < 0.0) + 1
    load = np.abs([sample["constraint_force"][SLOT] for sample in samples])
    steps = np.abs(np.diff([sample["effort"] for sample in samples], axis=0)).max(axis=1)
    assert load[opened - 150] > 6.0
    assert load[opened - 2] < 0.1
    assert steps[opened - 110 : opened + 100].max() < 0.3


def catching(**changed: Any) -> dict[str, Any]:
    """Down to the slot, along it once it has closed, and off again."""
    points = [
        {"time_from_start_s": 0.5 * k, "positions": [0.44 + 0.04 * k, height]}
        for k, height in enumerate((0.35, 0.3, 0.29, 0.3, 0.33))
    ]
    events = [{"at": {"point": k}, "set": {"clamp": on}} for k, on in ((1, True), (3, False))]
    wide = {"reach": {"path": 0.02}, "height": {"path": 0.02}}
    return {
        "coordinates": ["reach", "height"], "points": points, "events": events, "tolerances": wide, **changed,
    }  # fmt: skip


def arm_above(folder: Path) -> Clamped:
    """The arm above its slot."""
    arm = Clamped(clamped(folder, exact=True))
    arm.enable()
    arm.follow({"target": {"reach": 0.44, "height": 0.35}})
    arm.run(0.2)
    return arm


@pytest.fixture(scope="module")
def above(tmp_path_factory: pytest.TempPathFactory) -> Clamped:
    """The arm above its slot, for plans that it does not follow."""
    return arm_above(tmp_path_factory.mktemp("above"))


def test_the_walk_goes_through_the_impulse_as_plant_and_loop_do(tmp_path: Path) -> None:
    above = arm_above(tmp_path)
    made = above.planned(catching())
    closing, opening = made.report["switches"]
    assert (closing["closed"], closing["opened"], closing["time_s"]) == (["slot"], [], 0.5)
    assert (opening["closed"], opening["opened"], opening["time_s"]) == ([], ["slot"], 1.5)
    assert (opening["energy_loss_J"], opening["impulse"]) == (0.0, 0.0)
    samples = [above.goals.order(made), *above.run(0.1)]
    for method, params in (("speed", {"fraction": 1.5}), ("move", {"target": {"reach": 0.5, "height": 0.4}})):
        with pytest.raises(RequestError, match="switch constraints") as refused:
            above.goals.plan(method, lead_s=0.05, **params)
        assert refused.value.code == RequestCode.BUSY
    samples += above.until(lambda sample: sample["goal_status"] >= GoalStatus.SUCCEEDED)
    assert samples[-1]["goal_status"] == GoalStatus.SUCCEEDED
    first, second = [k for k, sample in enumerate(samples) if sample["switched"][SLOT]]
    assert (float(samples[first]["path_s"]), float(samples[second]["path_s"])) == pytest.approx((0.5, 1.5))
    assert samples[first]["switch_impulse"][SLOT] == pytest.approx(closing["impulse"], rel=0.02)
    assert samples[first]["switch_energy_loss"][SLOT] == pytest.approx(closing["energy_loss_J"], rel=0.04)
    assert max(abs(sample["reference"][3] - 0.3) for sample in samples[first:second]) < 1e-12
    off = [np.abs(sample["coordinate"][2:4] - sample["reference"][2:4]).max() for sample in samples]
    assert max(off) < 0.02
    efforts = np.array([sample["effort"] for sample in samples])
    assert np.abs(np.diff(efforts, axis=0)).max() <= RATE_N_M_S * above.period_s * (1.0 + 1e-9)
    assert samples[-1]["coordinate"][3] == pytest.approx(0.33, abs=1e-3)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"events": [{"at": {"time_s": 0.3}, "set": {"clamp": True}}]}, "slot cannot close at 0.300 s"),
        ({"tolerances": {"reach": {"path": 1e-4}}}, "leaves its path where the events close slot"),
        (
            {"events": [{"at": {"point": k}, "set": {"clamp": k == 1}} for k in (1, 2)],
             "tolerances": {"height": {"path": 0.005}}},
            "height leaves its path where the events open slot, at 1.000 s",
        ),
        ({"events": [{"at": {"path_m": 0.1}, "set": {"clamp": True}}]}, "use time_s or point"),
    ],
)  # fmt: skip
def test_switches_that_a_goal_cannot_follow_are_refused_with_their_sample(
    above: Clamped, changed: dict[str, Any], says: str
) -> None:
    with pytest.raises(RequestError, match=says) as refused:
        above.planned(catching(**changed))
    if "cannot close" in says or "leaves" in says:
        assert refused.value.data["sample"] > 0
    start = Start.at_pose(above.machine, above.controller.now._now.q)
    if refused.value.code == ResultCode.INFEASIBLE:
        found = judge({"trajectory": catching(**changed)}, above.machine, start)
        assert not found["feasible"]
        assert says in found["violations"][0]["text"]


def test_a_set_that_cannot_be_run_is_refused_at_admission(tmp_path: Path) -> None:
    carriage = {"on: false, switchable: true, about: The pin is": "closed_when: clamp, on: false,"
                " switchable: true, about: The pin is"}  # fmt: skip
    arm = Clamped(clamped(tmp_path, exact=True, **carriage))
    arm.enable()
    arm.follow({"target": {"reach": 0.44, "height": 0.35}})
    with pytest.raises(RequestError, match="cannot run the machine with slot, carriage"):
        arm.planned(catching())


def test_a_goal_stops_on_its_path_when_the_plant_does_not_close_what_it_closes(tmp_path: Path) -> None:
    above = arm_above(tmp_path)
    refusal = {"name": "slot", "on": False, "refused": "jammed", "residual": 0.0}
    above.simulator.switch = lambda closed: [refusal]  # type: ignore[method-assign]
    above.goals.order(above.planned(catching()))
    samples = above.until(lambda sample: sample["goal_status"] >= GoalStatus.SUCCEEDED)
    assert samples[-1]["goal_code"] == ResultCode.CONSTRAINT_OPEN
    assert 0.5 < samples[-2]["path_s"] < 1.0
    assert above.supervisor.state is State.ACTIVE


def test_a_latch_that_the_plant_closes_by_its_own_input_is_followed(tmp_path: Path) -> None:
    """The goal knows nothing of it: its path goes on below the slot, and the pin runs along the slot."""
    path = tmp_path / "slot_arm.yaml"
    clamped(tmp_path, exact=True)
    own = 'signals: {clamp: {type: digital, direction: input, simulated: "pin.z < 0.3003"}}\n'
    path.write_text(path.read_text().replace(CLAMPED, own))
    arm = Clamped(load(path))
    arm.enable()
    arm.follow({"target": {"reach": 0.44, "height": 0.35}})
    samples = arm.follow(line(0.35, 0.31, 0.28, 0.27))
    closed = next(k for k, sample in enumerate(samples) if sample["closed"][SLOT])
    assert 0.5 < samples[closed]["path_s"] < 1.0
    assert samples[closed]["switch_impulse"][SLOT] > 0.01
    assert max(abs(sample["coordinate"][3] - 0.3) for sample in samples[closed:]) < 1e-6
    assert samples[-1]["coordinate"][2] == pytest.approx(0.62, abs=1e-3)


def test_two_arms_that_let_go_of_each_other_in_motion_hold_where_they_are(tmp_path: Path) -> None:
    """A loop of five rows opens: of four degrees of freedom the goal names two, the others are held."""
    path = tmp_path / "five_bar_redundant.yaml"
    two_arms(path)
    grip = "signals: {grip: {type: digital, direction: output, initial: on, on_fault: keep}}\n"
    switchable = "switchable: true\n"
    text = path.read_text()
    path.write_text(text.replace(switchable, f"{switchable}    closed_when: grip\n") + grip)
    arms = Clamped(for_controller(load(path)))
    arms.enable()
    arms.follow({"target": {"x": 0.0, "y": 0.34}})
    places = [(0.0, 0.34), (0.03, 0.33), (0.05, 0.32), (0.02, 0.30)]
    points = [{"time_from_start_s": 0.6 * k, "positions": [*place]} for k, place in enumerate(places)]
    events = [{"at": {"point": 2}, "set": {"grip": False}}]
    samples = arms.follow({"coordinates": ["x", "y"], "points": points, "events": events})
    (opened,) = (k for k, sample in enumerate(samples) if sample["switched"][0])
    assert [samples[k]["rank"] for k in (opened - 1, opened)] == [2, 0]
    still = [arms.machine.mechanism.joint_names.index(name) for name in ("left", "left_elbow")]
    others = np.array([sample["q"][still] for sample in samples[opened:]])
    assert np.abs(others - others[0]).max() < 0.02
    assert np.abs(others[-1] - others[0]).max() < 1e-4
