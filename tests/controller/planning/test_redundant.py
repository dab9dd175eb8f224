"""Admission with redundant motors: a motion is feasible if any efforts within the limits make it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from linkwork.controller.actuation.effort_program import allocate
from linkwork.controller.motion.limits.effort_limits import Limited
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.checks.effort_check import Efforts
from linkwork.controller.planning.checks.zonotope import ZonotopeEfforts, directions, shares
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.process.planner import judge, plan
from linkwork.controller.planning.walk.walk import Walk, walk
from linkwork.machine import Machine, load
from linkwork.machine.sections.settings import PreloadLimit
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from tests.controller.loop.goals_in_process import Planned
from tests.controller.loop.in_process import InProcess

TARGET = {"left": 2.4, "right": 1.2}


@pytest.fixture(scope="module")
def redundant() -> Machine:
    return load("five_bar_redundant")


def quick(seconds: float = 0.2) -> dict[str, Any]:
    points = [{"time_from_start_s": seconds, "positions": list(TARGET.values())}]
    return {"coordinates": list(TARGET), "points": points}


def walk_of(machine: Machine) -> Walk:
    made = plan("send", {"trajectory": quick()}, machine, Start.at_pose(machine, machine.initial_q))
    return walk(machine, Path.of_block(made.words), machine.initial_q)


def with_limits(machine: Machine, factor: float) -> Machine:
    """All motors with this part of their limits."""
    motors = tuple(one.with_values(max_effort=factor * one.max_effort) for one in machine.motors)
    return replace(machine, motors=motors)


def test_the_shares_say_what_the_program_of_the_loop_says(redundant: Machine) -> None:
    maps = walk_of(redundant).motors
    assert maps is not None
    through, (across, least) = shares(redundant, maps), directions(redundant, maps)
    chance, seen = np.random.default_rng(3), {True: 0, False: 0}
    for n in range(len(maps)):
        force = chance.normal(size=redundant.mechanism.nv) * [8.0, 8.0, 3.0, 3.0]
        largest = np.abs(through[n] @ force).max()
        wanted = across[n].T @ (least[n] @ force)
        rows, nothing, x = np.ascontiguousarray(across[n].T), np.zeros(2), np.zeros(3)
        feasible = allocate(rows, wanted, nothing, np.zeros(3), x) == 1.0
        assert feasible == (largest <= 1.0)
        seen[feasible] += 1
        border = wanted / largest
        assert allocate(rows, border * (1.0 - 1e-6), nothing, np.zeros(3), x) == 1.0
        assert allocate(rows, border * (1.0 + 1e-4), nothing, np.zeros(3), x) < 1.0
    assert min(seen.values()) > 5


def test_a_motion_beyond_the_least_efforts_is_admitted_and_followed(redundant: Machine) -> None:
    """The least efforts of the motion are above a motor's limit; other efforts make the same motion."""
    efforts = Efforts(redundant, walk_of(redundant))
    used = max(
        np.abs(efforts.least.efforts(1.0, one.index)).max() / one.max_effort for one in redundant.motors
    )
    together = efforts.shared.with_reserve().max()
    assert used * 0.8 > 1.01 * together
    machine = with_limits(redundant, together / 0.8)
    rig = InProcess(machine)
    rig.enable()
    planned = Planned(rig)
    made = planned.plan("send", trajectory=quick())
    peaks = made.report["effort_peaks"].values()
    assert 0.9 < max(peak["used"] for peak in peaks) <= 1.0
    planned.order(made)
    ended = (GoalStatus.SUCCEEDED, GoalStatus.ENDED)
    samples = rig.until(lambda sample: sample["goal_status"] in ended)
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
    assert not any(int(sample["limited"]) & Limited.EFFORT for sample in samples)


def test_what_no_efforts_can_make_is_refused_and_says_who(redundant: Machine) -> None:
    together = Efforts(redundant, walk_of(redundant)).shared.with_reserve().max()
    machine = with_limits(redundant, together / 1.1)
    start = Start.at_pose(machine, machine.initial_q)
    with pytest.raises(RequestError, match="of the combined effort limits is allowed; stretch") as caught:
        plan("send", {"trajectory": quick()}, machine, start)
    assert set(caught.value.data["coordinate"].split(", ")) < {"left", "right", "left_elbow"}
    slower = judge({"trajectory": quick()}, machine, start)["min_time_stretch"]
    assert 1.0 < slower < 1.1
    assert judge({"trajectory": quick(0.2 * slower)}, machine, start)["feasible"]


def smooth(seconds: float = 0.22) -> dict[str, Any]:
    """As `quick`, but efforts begin and end without a step."""
    (end,) = quick(seconds)["points"]
    still = {"velocities": [0.0, 0.0], "accelerations": [0.0, 0.0]}
    return {"coordinates": list(TARGET), "points": [{**end, **still}]}


def test_rates_are_those_of_the_efforts_that_the_loop_gives(redundant: Machine) -> None:
    """Where one motor is at its limit the others change faster than the least efforts do."""
    start = Start.at_pose(redundant, redundant.initial_q)
    weak = {"left": 0.105, "right": 0.42, "left_elbow": 0.105}
    rates = {"left_elbow": 15.0}
    motors = [
        one.with_values(
            max_effort=weak[one.joint] * one.max_effort,
            max_effort_rate=rates.get(one.joint, one.max_effort_rate),
        )
        for one in redundant.motors
    ]
    machine = replace(redundant, motors=tuple(motors))
    made = plan("send", {"trajectory": smooth()}, redundant, start)
    walked = walk(machine, Path.of_block(made.words), machine.initial_q)
    efforts, elbow = Efforts(machine, walked), machine.motors[2].index
    least = np.abs(np.diff(efforts.least.efforts(1.0, elbow))) / np.diff(walked.s)
    assert least.max() < 12.0 < 15.0 < 18.0 < efforts.rates(elbow).max()
    assert efforts.shared.with_reserve().max() < 1.0
    told = judge({"trajectory": smooth()}, machine, start)
    assert [one["quantity"] for one in told["violations"]] == ["effort rate"]
    rig = InProcess(machine)
    rig.enable()
    planned = Planned(rig)
    planned.order(planned.plan("send", trajectory=smooth(0.22 * 1.001 * told["min_time_stretch"])))
    samples = rig.until(lambda sample: sample["goal_status"] in (GoalStatus.SUCCEEDED, GoalStatus.ENDED))
    given = np.abs(np.diff([sample["effort"][2] for sample in samples])) / machine.period_s
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
    assert not any(int(sample["limited"]) & Limited.EFFORT_RATE for sample in samples)
    assert 12.0 < given.max() < 15.0, "slower by 3 % only, and above what the least efforts would have told"


def test_the_metric_decides_who_gives_how_much_not_what_is_possible(redundant: Machine) -> None:
    """The planner's efforts are those of the loop, in any metric; the shares of the facets stay."""
    scaled = replace(redundant, effort_scale=(20.0, 10.0, 2.0))
    maps, other = walk_of(redundant).motors, walk_of(scaled).motors
    assert maps is not None
    assert other is not None
    np.testing.assert_allclose(np.abs(shares(scaled, other)), np.abs(shares(redundant, maps)), atol=1e-9)
    joints = [motor.index for motor in redundant.motors]
    chance = np.random.default_rng(4)
    for wish in (np.zeros(3), np.array([0.0, 0.0, 1.5])):
        machine = replace(scaled, preload=tuple(PreloadLimit(effort=one, most=2.0) for one in wish))
        force = chance.normal(size=(len(other), machine.mechanism.nv)) * [1.0, 1.0, 0.3, 0.3]
        found = ZonotopeEfforts(machine, other)(np.einsum("nij,nj->ni", other, force))
        scale = np.array([20.0, 10.0, 2.0])
        across = directions(machine, other)[0]
        limits = np.array([motor.max_effort for motor in machine.motors])
        for n in range(0, len(other), 25):
            rows = across[n].T / limits
            needed = rows @ (other[n] @ force[n])[joints]
            best = wish + np.linalg.lstsq(rows * scale, needed - rows @ wish, rcond=None)[0] * scale
            assert np.abs(best / limits).max() < 1.0
            np.testing.assert_allclose(found[n, joints], best, atol=1e-8)
