"""Goals that press are steered, replaced and followed like others; contact is made and broken at rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.controller.exchange.orders import (
    After,
    CancelGoal,
    OrderOutcome,
    Pause,
    Resume,
    Retime,
    SetSpeed,
    Splice,
)
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.process.planner import Plan
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.laws import LawKind
from tests.controller.loop.goals_in_process import Planned
from tests.controller.loop.in_process import Sample
from tests.controller.loop.pressing_rig import ENDED, PressingRig, polisher


class Polishing:
    """The tool on the table with 20 N, on its way along `s`; what it did, and the true force."""

    def __init__(self, folder: Path) -> None:
        self.rig = PressingRig(polisher(folder))
        self.rig.enable()
        self.planned = Planned(self.rig)
        self.samples: list[Sample] = []
        self.forces: list[float] = []
        self.order("move", target={"n": -0.005}, until_force={"table": 20.0})
        self.to_the_end()
        self.first = self.rig.at("s")[0]
        self.order("send", trajectory=self.way(0.06, 1.5))
        self.samples.clear()
        self.forces.clear()
        self.run(0.6)

    def way(self, far: float, seconds: float, **more: Any) -> dict[str, Any]:
        points = [{"time_from_start_s": seconds, "positions": [self.first + far]}]
        return {"coordinates": ["s"], "points": points, "force": {"table": 20.0}, **more}

    def order(self, method: str, lead_s: float | None = None, **params: Any) -> Plan:
        made = self.planned.plan(method, lead_s, **params)
        self.keep(self.planned.order(made))
        return made

    def keep(self, sample: Sample) -> Sample:
        self.samples.append(sample)
        self.forces.append(self.rig.pressed_N())
        return sample

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / self.rig.period_s)):
            self.keep(self.rig.tick())

    def to_the_end(self, goal: int | None = None) -> Sample:
        wanted = self.planned.goal if goal is None else goal
        for _ in range(10_000):
            last = self.keep(self.rig.tick())
            if last["goal_status"] in ENDED and last["goal_id"] == wanted:
                return last
        raise AssertionError("the goal never ended")

    def smooth(self) -> bool:
        """Whether the reference along `s` has kept within the limit of jerk of the file, without a jump."""
        at = self.rig.machine.mechanism.coordinate_index("s")
        place = np.array([each["reference"][at] for each in self.samples])
        place = place[np.isfinite(place)]
        steepest = np.abs(np.diff(place, 2)).max() / self.rig.period_s**2
        return bool(steepest <= 1.01 * self.rig.machine.coordinates[at].acceleration)


@pytest.fixture
def polishing(tmp_path: Path) -> Polishing:
    return Polishing(tmp_path)


def check_pressed(polishing: Polishing) -> None:
    np.testing.assert_allclose(polishing.forces, 20.0, atol=0.3)
    assert polishing.rig.law is LawKind.HYBRID
    assert polishing.smooth()


def test_it_is_replaced_in_motion_by_a_goal_that_presses_the_same(polishing: Polishing) -> None:
    made = polishing.order("send", 0.05, trajectory=polishing.way(-0.02, 1.5))
    assert isinstance(made.begin, Splice)
    assert made.begin.rate == 1.0
    last = polishing.to_the_end()
    told = next(each for each in polishing.samples if each["order_id"] and each["goal_id"] == 3)
    assert (told["replaced_goal"], told["replaced_code"]) == (2, ResultCode.REPLACED)
    assert last["goal_code"] == ResultCode.SUCCESSFUL
    assert polishing.rig.at("s")[0] == pytest.approx(polishing.first - 0.02, abs=1e-3)
    check_pressed(polishing)


def test_it_goes_on_with_another_force(polishing: Polishing) -> None:
    polishing.order("send", 0.05, trajectory=polishing.way(0.08, 1.0, force={"table": 30.0}))
    assert polishing.to_the_end()["goal_code"] == ResultCode.SUCCESSFUL
    assert polishing.forces[-1] == pytest.approx(30.0, abs=0.1)
    assert np.abs(np.diff(polishing.forces)).max() < 0.2, "the force goes over in a ramp"


def test_it_pauses_resumes_changes_its_speed_and_is_cancelled(polishing: Polishing) -> None:
    rig = polishing.rig
    polishing.keep(rig.order(Pause()))
    polishing.run(1.0)
    assert polishing.samples[-1]["goal_status"] == GoalStatus.PAUSED
    assert polishing.samples[-1]["path_rate"] == 0.0
    polishing.keep(rig.order(Resume()))
    polishing.keep(rig.order(SetSpeed(0.5)))
    polishing.run(0.5)
    assert polishing.samples[-1]["path_rate"] == pytest.approx(0.5)
    made = polishing.order("speed", 0.0, fraction=1.6)
    assert isinstance(made.begin, Retime)
    assert polishing.samples[-1]["order_outcome"] == OrderOutcome.DONE
    polishing.run(0.1)
    polishing.keep(rig.order(CancelGoal()))
    assert polishing.to_the_end()["goal_code"] == ResultCode.CANCELLED
    polishing.run(0.2)
    check_pressed(polishing)


def test_another_goal_follows_it_pressing_or_letting_go(polishing: Polishing) -> None:
    first = polishing.order("append", 0.0, trajectory=polishing.way(0.0, 1.0))
    assert isinstance(first.begin, After)
    points = [{"time_from_start_s": 1.0, "positions": [0.01]}]
    polishing.order("append", 0.0, trajectory={"coordinates": ["n"], "points": points})
    while polishing.samples[-1]["goal_id"] != 4:
        polishing.run(0.001)
    check_pressed(polishing)
    last = polishing.to_the_end(4)
    assert last["goal_code"] == ResultCode.SUCCESSFUL
    assert (last["replaced_goal"], last["replaced_code"]) == (3, ResultCode.SUCCESSFUL)
    assert polishing.forces[-1] == 0.0
    assert polishing.rig.at("n")[0] == pytest.approx(0.01, abs=1e-3)


def test_a_trajectory_that_fits_goes_on_in_motion(polishing: Polishing) -> None:
    half = polishing.way(0.0, 1.0)
    at = polishing.planned.running(0.3)
    theta, rate, _ = at.path.evaluate(at.s)
    place, speed = float(theta[0]), float(rate[0])
    half["points"] = [
        {"time_from_start_s": 0.0, "positions": [place], "velocities": [speed]},
        {"time_from_start_s": 1.0, "positions": [place + 0.5 * speed], "velocities": [0.0]},
    ]
    made = polishing.order("append", 0.0, trajectory=half)
    assert isinstance(made.begin, Splice)
    assert made.begin.s == pytest.approx(at.s, abs=1e-3)
    assert polishing.to_the_end()["goal_code"] == ResultCode.SUCCESSFUL
    check_pressed(polishing)


@pytest.mark.parametrize(
    ("method", "params", "text"),
    [
        ("move", {"target": {"n": 0.01}}, "released only at rest. Stop"),
        ("move", {"target": {"n": -0.01}, "until_force": {"table": 5.0}}, "at rest for nothing"),
    ],
)
def test_what_would_break_contact_in_motion_is_refused(
    polishing: Polishing, method: str, params: dict[str, Any], text: str
) -> None:
    with pytest.raises(RequestError, match=text):
        polishing.planned.plan(method, 0.05, **params)
    made = polishing.planned.running(0.05)
    assert made.path.gaps == 1
    assert polishing.to_the_end()["goal_code"] == ResultCode.SUCCESSFUL


def test_a_guarded_move_is_steered_until_it_touches(tmp_path: Path) -> None:
    rig = PressingRig(polisher(tmp_path, initial="0.03"))
    rig.enable()
    planned = Planned(rig)
    guard = {"target": {"n": -0.005}, "until_force": {"table": 5.0}}
    planned.order(planned.plan("move", speed=0.6, **guard))
    rig.run(0.2)
    assert planned.order(planned.plan("speed", 0.0, fraction=1.5))["order_outcome"] == OrderOutcome.DONE
    with pytest.raises(RequestError, match=r"approach speed .* at most"):
        planned.plan("speed", 0.0, fraction=2.0)
    with pytest.raises(RequestError, match="not known in advance"):
        planned.plan("append", 0.0, trajectory={"coordinates": ["n"], "points": [
            {"time_from_start_s": 1.0, "positions": [0.01]}]})  # fmt: skip
    rig.until(lambda sample: sample["goal_status"] == GoalStatus.SETTLING)
    for order in (Pause(), Resume()):
        assert rig.order(order)["order_outcome"] == OrderOutcome.NOTHING_TO_DO
    samples, forces = rig.to_the_end()
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
    assert forces[-1] == pytest.approx(5.0, abs=0.1)


def test_a_move_takes_over_from_one_that_waits_for_the_release(polishing: Polishing) -> None:
    polishing.to_the_end()
    polishing.order("move", target={"n": 0.02})
    polishing.run(0.05)
    assert polishing.rig.law is LawKind.HYBRID
    polishing.order("move", 0.0, target={"n": 0.01})
    assert polishing.samples[-1]["order_outcome"] == OrderOutcome.DONE
    last = polishing.to_the_end()
    assert (last["goal_code"], last["replaced_goal"]) == (ResultCode.SUCCESSFUL, 3)
    assert polishing.rig.at("n")[0] == pytest.approx(0.01, abs=1e-3)
