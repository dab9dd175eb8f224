"""Goals whose coordinates stay between bounds, followed in one process with the simulated machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linkwork.controller.motion.limits.effort_limits import Limited
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.process.planner import Plan
from linkwork.machine import load
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from tests.controller.loop.goals_in_process import Planned
from tests.controller.loop.in_process import InProcess, Sample, with_encoders

ENDED = (GoalStatus.SUCCEEDED, GoalStatus.ENDED)
MACHINES = ("scara", "five_bar", "delta", "five_bar_redundant", "platform_3rrs", "arm_6dof")


class Kept:
    """A rig, and its goals with bounds."""

    def __init__(self, machine: str, *, exact: bool = False) -> None:
        found = load(machine)
        self.rig = InProcess(with_encoders(found, 0) if exact else found)
        self.rig.enable()
        self.planned = Planned(self.rig)
        self.names = list(self.rig.machine.mechanism.coordinate_names)

    @property
    def stands(self) -> bool:
        """Whether the machine is at rest, now or soon."""
        for _ in range(300):
            if np.abs(self.rig.controller._now.v).max() < 1e-6:
                return True
            self.rig.tick()
        return False

    def at(self, name: str) -> float:
        return float(self.rig.controller._now.theta[self.names.index(name)])

    def plan(self, by: dict[str, float], keep: dict[str, tuple[float, float]], **asked: Any) -> Plan:
        """A move to coordinates so much away, with bounds so much away."""
        target = {name: self.at(name) + way for name, way in by.items()}
        bounds = {name: [self.at(name) + way for way in ways] for name, ways in keep.items()}
        return self.planned.plan("move", target=target, keep=bounds, **asked)

    def run(self, plan: Plan) -> list[Sample]:
        first = self.planned.order(plan)
        longest_s = float(plan.report["duration_s"]) + 20.0
        samples = self.rig.until(lambda sample: sample["goal_status"] in ENDED, longest_s)
        return [first, *samples, *self.rig.run(0.02)]

    def passed(self, samples: list[Sample], keep: dict[str, tuple[float, float]]) -> float:
        """How far the bounds, so much from the first sample, are passed."""
        most = -np.inf
        for name, (low, high) in keep.items():
            way = self.values(samples, name)
            most = max(most, low - way.min(), way.max() - high)
        return most

    def values(self, samples: list[Sample], name: str) -> np.ndarray:
        """Positions of a coordinate, less the first one."""
        values = np.array([sample["coordinate"][self.names.index(name)] for sample in samples])
        return values - values[0]


def random_goal(
    rig: Kept, rng: np.random.Generator
) -> tuple[dict[str, float], dict[str, Any], dict[str, Any]]:
    """A move of one coordinate or some, bounds of one coordinate or two, and what free motions do."""
    machine = rig.rig.machine
    count = int(rng.integers(1, machine.dof)) if machine.dof > 1 else 1
    named = rng.choice(len(rig.names), size=count, replace=False)
    others = [i for i in range(len(rig.names)) if i not in named]
    kept = rng.choice(others, size=int(rng.integers(1, 3)), replace=False)

    def size(index: int) -> float:
        return 1.0 if machine.coordinates[index].is_angle else 0.25

    by = {rig.names[i]: 0.3 * size(i) * float(rng.uniform(-1.0, 1.0)) for i in named}
    ways = 10.0 ** rng.uniform(-3.5, -0.5, size=(len(kept), 2)) * [-1.0, 1.0]
    keep = {rig.names[i]: tuple((size(i) * way).tolist()) for i, way in zip(kept, ways, strict=True)}
    rest = ("hold", "damp", "least")[int(rng.integers(3))]
    return by, keep, {"rest": rest, "speed": float(rng.uniform(0.2, 1.0))}


def random_goals(machine: str, seed: int, goals: int) -> int:
    """Follow random goals; return in how many a bound was met."""
    rng, done, met, rig = np.random.default_rng(seed), 0, 0, Kept(machine)
    while done < goals:
        rig = rig if rig.stands and done % 5 else Kept(machine)
        by, keep, asked = random_goal(rig, rng)
        try:
            made = rig.plan(by, keep, **asked)
        except RequestError:
            continue
        samples = rig.run(made)
        done += 1
        met += any(int(sample["limited"]) & Limited.KEEP for sample in samples)
        assert rig.passed(samples, keep) <= 1e-6, (machine, seed, done, by, keep, asked)
        assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL, (machine, seed, done, by, keep, asked)
        assert not samples[-1]["fault"]
    return met


@pytest.mark.parametrize(("machine", "goals"), [("scara", 4), ("five_bar", 2)])
def test_bounds_are_kept(machine, goals):
    assert random_goals(machine, 0, goals) > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
@pytest.mark.parametrize("machine", MACHINES)
def test_bounds_are_kept_in_many_random_goals(machine, seed):
    assert random_goals(machine, seed, 84) > 0


def test_free_motions_give_way_first_and_named_coordinates_keep_their_path():
    """A bound across the way of the wrist, which the others carry past it."""
    errors = []
    for keep in ({}, {"wrist": (-0.05, 1.0)}):
        rig = Kept("scara")
        samples = rig.run(rig.plan({"x": 0.02, "y": 0.03}, keep, rest="damp", speed=0.3))
        errors.append([np.nanmax(np.abs(s["reference"] - s["coordinate"])) for s in samples[:-30]])
        lowest = float(rig.values(samples, "wrist").min())
        assert lowest >= -0.05 if keep else lowest < -0.1
        assert any(int(sample["limited"]) & Limited.KEEP for sample in samples) == bool(keep)
    assert max(errors[1]) < 2.0 * max(errors[0]) + 1e-9


def test_coordinates_that_only_hold_give_way_before_named_ones():
    rig, keep = Kept("scara"), {"x": (-0.001, 0.005)}
    samples = rig.run(rig.plan({"shoulder": 0.3 - rig.at("shoulder")}, keep))
    assert rig.passed(samples, keep) <= 1e-6
    assert rig.at("shoulder") == pytest.approx(0.3, abs=1e-5)
    assert abs(rig.values(samples, "elbow")[-1]) > 0.01


def test_a_bound_that_leads_free_motions_to_a_pose_without_inertia_is_refused():
    rig, by = Kept("arm_6dof"), {"y": -0.0704, "elbow": 0.2369}
    with pytest.raises(RequestError, match=r"wrist\.1, wrist\.3 move .* with hardly any inertia"):
        rig.plan(by, {"wrist.1": (-0.00366, 0.0286)}, rest="damp", speed=0.478)
    samples = rig.run(rig.plan(by, {}, rest="damp", speed=0.478))
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL


def test_a_kept_angle_that_jumps_on_the_way_is_refused():
    """Free motions pass a pitch of 90°, where roll and yaw jump by half a turn."""
    rig = Kept("arm_6dof")
    with pytest.raises(RequestError, match=r"yaw cannot be kept .*, 20 is allowed") as refused:
        rig.plan({"shoulder.1": -0.2494}, {"yaw": (-0.00277, 0.0696)}, rest="damp", speed=0.94)
    assert refused.value.data["coordinate"] == "yaw"
    rig.plan({"shoulder.1": -0.02}, {"yaw": (-0.00277, 0.0696)}, rest="damp", speed=0.94)


def test_a_path_across_a_bound_is_refused_with_its_name():
    rig = Kept("scara")
    with pytest.raises(RequestError, match="x, y cannot be followed while `keep` holds elbow"):
        rig.plan({"x": 0.02, "y": 0.03}, {"elbow": (-0.02, 0.02)}, rest="damp")


@pytest.mark.parametrize(
    ("keep", "said"),
    [
        ({"elbow": [0.5, 1.0]}, "elbow is at -0.9.* move there first"),
        ({"elbow": "below 1"}, "write '> 0.02'"),
        ({"elbow": "> nan"}, "is no bound"),
        ({"elbow": [1.0, -1.0]}, "must be below the upper one"),
        ({"elbw": [-1.0, 1.0]}, "did you mean 'elbow'"),
        ({"angle": "> -3"}, "jumps by a whole turn"),
        ({"elbow": [-1.0]}, "keep"),
    ],
)
def test_bounds_that_are_none_are_refused(keep, said):
    rig = Kept("scara")
    with pytest.raises(RequestError, match=said):
        rig.planned.plan("move", target={"x": rig.at("x")}, rest="damp", keep=keep)


def test_one_bound_is_written_as_text():
    rig = Kept("scara")
    made = rig.planned.plan(
        "move", target={"x": rig.at("x") + 0.02}, rest="damp", keep={"z": "> -1", "y": "<= 1"}
    )
    assert made.report["limits"]["keep"]["z"]["limit"] == pytest.approx(-1.0, abs=1e-4)
