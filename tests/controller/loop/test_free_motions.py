"""Goals that leave motions free, planned and followed in one process with the simulated machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linkwork.controller.exchange.orders import ChooseLaw
from linkwork.controller.gateway.records.path_reports import PathReports
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.checks.singularity import scaled_jacobian
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.process.planner import plan
from linkwork.controller.planning.walk.walk import walk
from linkwork.machine import load
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.laws import LawKind
from tests.controller.loop.goals_in_process import Planned
from tests.controller.loop.in_process import InProcess, Sample

ENDED = (GoalStatus.SUCCEEDED, GoalStatus.ENDED)


def moved(machine: str, **asked: object) -> tuple[InProcess, list[Sample]]:
    """The rig after a move to coordinates so much away, with its samples."""
    rig = InProcess(load(machine))
    rig.enable()
    planned, names = Planned(rig), rig.machine.mechanism.coordinate_names
    here = rig.controller._now.theta
    target = {name: float(here[names.index(name)]) + by for name, by in asked.pop("by").items()}
    first = planned.order(planned.plan("move", target=target, **asked))
    samples = [first, *rig.until(lambda sample: sample["goal_status"] in ENDED)]
    samples += rig.run(0.1)
    for name, value in target.items():
        assert rig.controller._now.theta[names.index(name)] == pytest.approx(value, abs=1e-3)
    return rig, samples


def positions(samples: list[Sample], joint: int) -> np.ndarray:
    return np.array([sample["q"][joint] for sample in samples])


@pytest.mark.parametrize(("machine", "by"), [("scara", {"z": -0.03}), ("five_bar", {"x": 0.02})])
@pytest.mark.parametrize("rest", ["least", "damp"])
def test_a_move_of_one_row_reaches_it_and_ends_at_rest(machine, by, rest):
    rig, samples = moved(machine, by=by, rest=rest)
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
    assert np.abs(rig.controller._now.v).max() < 1e-2
    assert not any(sample["fault"] for sample in samples)


def five_bar_rows(by_left: float = 0.0) -> dict[str, Any]:
    """Way-points of the tool and of a motor that agree, or whose motor is this much off (rad) at the end."""
    machine = load("five_bar")
    start = Start.at_pose(machine, machine.initial_q)
    names = machine.mechanism.coordinate_names
    x, y = (float(start.theta[names.index(name)]) for name in ("x", "y"))
    along = plan("move", {"target": {"x": x + 0.03, "y": y + 0.01}, "speed": 0.5}, machine, start)
    path = Path.of_block(along.words)
    walked = walk(machine, path, start.q)
    every = np.unique(np.searchsorted(walked.s, np.linspace(0.0, walked.s[-1], 15)))
    rows = np.column_stack([walked.d0[every], walked.q[every, names.index("left")]])
    rows[:, 2] += by_left * (walked.s[every] / walked.s[-1]) ** 3
    points = [
        {"time_from_start_s": 2.0 * float(s), "positions": row.tolist()}
        for s, row in zip(walked.s[every], rows, strict=True)
    ]
    return {"coordinates": ["x", "y", "left"], "points": points}


def followed(trajectory: dict[str, Any]) -> tuple[InProcess, list[Sample]]:
    rig = InProcess(load("five_bar"))
    rig.enable()
    planned = Planned(rig)
    first = planned.order(planned.plan("send", trajectory=trajectory))
    samples = [first, *rig.until(lambda sample: sample["goal_status"] in ENDED)]
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
    return rig, samples


def error_of(rig: InProcess, samples: list[Sample], name: str) -> float:
    column = rig.machine.mechanism.coordinate_names.index(name)
    off = [float(sample["reference"][column] - sample["coordinate"][column]) for sample in samples[:-3]]
    return float(np.nanmax(np.abs(off)))


def test_rows_that_depend_on_each_other_and_agree_are_followed():
    rig, samples = followed(five_bar_rows())
    for name in ("x", "y", "left"):
        assert error_of(rig, samples, name) < 2e-5


def test_rows_that_contradict_are_refused_by_name_or_yield_by_priority():
    with pytest.raises(RequestError, match=r"x, y, left contradict .* is missed by .* allowed"):
        followed(five_bar_rows(by_left=0.05))
    alone = {**five_bar_rows(), "conflict": {"priority": [["x", "y"], ["left"]]}}
    yields = {**five_bar_rows(by_left=0.05), "conflict": {"priority": [["x", "y"], ["left"]]}}
    rig, agreeing = followed(alone)
    _, contradicting = followed(yields)
    assert given_up(rig, agreeing) == []
    assert given_up(rig, contradicting) == ["left"]
    assert {float(sample["task_rank"]) for sample in contradicting} == {2.0}
    for name in ("x", "y"):
        assert error_of(rig, contradicting, name) < error_of(rig, agreeing, name) + 1e-9
    assert error_of(rig, contradicting, "left") == pytest.approx(0.05, abs=1e-3)
    rig, shared = followed({**yields, "conflict": "least_squares"})
    assert all(1e-4 < error_of(rig, shared, name) < 0.05 for name in ("x", "left"))


def given_up(rig: InProcess, samples: list[Sample]) -> list[str]:
    """The coordinates that the result of a goal names as not followed."""
    reports, result = PathReports(rig.machine), {"goal": 1, "code": 0, "time_s": 1.0}
    reports.track(np.array([sample.record for sample in samples]))
    reports.complete(result)
    return [row["coordinate"] for row in result.get("given_up", ())]


@pytest.mark.parametrize(("machine", "rank"), [("scara", 4), ("five_bar", 2)])
def test_each_tick_says_how_many_rows_are_followed(machine, rank):
    rig = InProcess(load(machine))
    assert [float(rig.tick()[name]) for name in ("task_rank", "sigma_task")] == [0.0, 0.0]
    rig.enable()
    held = rig.run(0.05)[-1]
    assert (float(held["task_rank"]), np.abs(held["given_up"]).max() < 1e-9) == (rank, True)
    rig.order(ChooseLaw(int(LawKind.FLOAT)))
    assert [float(rig.tick()[name]) for name in ("task_rank", "sigma_task")] == [0.0, 1.0]


def test_levels_name_each_coordinate_once():
    for levels, said in (([["x", "y"]], "left belong"), ([["x", "y"], ["left", "x"]], "x is in two levels")):
        with pytest.raises(RequestError, match=said):
            followed({**five_bar_rows(), "conflict": {"priority": levels}})


def test_what_gravity_moves_is_refused_by_name_and_can_be_damped():
    rig = InProcess(load("scara"))
    rig.enable()
    planned, here = Planned(rig), rig.controller._now.theta
    x = float(here[rig.machine.mechanism.coordinate_names.index("x")])
    with pytest.raises(
        RequestError, match=r"lift would need position .* not driven: damp them by `rest: damp`"
    ):
        planned.plan("move", target={"x": x + 0.02}, rest="least")
    with pytest.raises(RequestError, match="`rest: hold` leaves none"):
        planned.plan("move", target={"x": x + 0.02}, metric="motors")
    metric = {name: {name: 1.0} for name in ("shoulder", "wrist", "lift")} | {"elbow": {"elbow": -1.0}}
    with pytest.raises(RequestError, match="positive definite"):
        planned.plan("move", target={"x": x + 0.02}, rest="damp", metric=metric)
    moved("scara", by={"x": 0.02}, rest="damp")


def test_free_motions_come_to_the_preferred_posture():
    """Without it the wrist stays where the others carry it; the named coordinates are followed alike."""
    ends = []
    for prefer in (None, {"posture": {"wrist": -0.3}}):
        more = {} if prefer is None else {"prefer": prefer}
        _, samples = moved("scara", by={"x": 0.02, "y": 0.03}, rest="damp", speed=0.3, **more)
        assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
        ends.append(float(positions(samples, 2)[-1]))
    assert abs(ends[1] + 0.3) < 0.1 < abs(ends[0] + 0.3)


@pytest.mark.parametrize(
    ("machine", "by"),
    [
        ("five_bar", {"x": 0.02}),
        pytest.param("scara", {"x": 0.05}, marks=pytest.mark.slow),
        pytest.param("arm_6dof", {"y": -0.05}, marks=pytest.mark.slow),
    ],
)
def test_free_motions_lead_away_from_singular_poses(machine, by):
    """The goal's row becomes longer, without the preference it hardly does; it is followed alike."""
    ends, errors = [], []
    for prefer in ({}, {"prefer": "far_from_singular"}):
        rig, samples = moved(machine, by=by, rest="damp", speed=0.5, **prefer)
        assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
        mechanism, (name,) = rig.machine.mechanism, by
        rows = [
            scaled_jacobian(mechanism, [mechanism.coordinate_index(name)], s["q"])
            for s in (samples[0], samples[-1])
        ]
        ends.append(np.linalg.norm(rows[-1]) / np.linalg.norm(rows[0]))
        errors.append(error_of(rig, samples, name))
    assert ends[1] > 1.01 * ends[0]
    assert errors[1] < errors[0] + 1e-5


@pytest.mark.parametrize(
    ("prefer", "rest", "said"),
    [
        ({"posture": {"wrist": 0.0}}, "hold", "give `rest: damp`"),
        ({"posture": {"wrist": 0.0}}, "least", "give `rest: damp`"),
        ({"posture": {"wrst": 0.0}}, "damp", "did you mean 'wrist'"),
        ({"posture": {"x": 0.0}}, "damp", "x is no joint"),
        ({"posture": {"wrist": 90.0}}, "damp", "beyond its limits"),
        ({"posture": {}}, "damp", "at least 1"),
        ("far_from_singular", "least", "give `rest: damp`"),
        ("far", "damp", "far_from_singular"),
    ],
)
def test_preferences_that_are_none_are_refused(prefer, rest, said):
    machine = load("scara")
    start = Start.at_pose(machine, machine.initial_q)
    with pytest.raises(RequestError, match=said):
        plan("move", {"target": {"x": 0.02}, "rest": rest, "prefer": prefer}, machine, start)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["scara", "five_bar", "five_bar_redundant", "delta", "platform_3rrs", "arm_6dof"]
)
def test_one_row_is_followed_for_20_s_while_the_rest_is_least(name):
    """Where gravity would move what is free beyond its limits, admission says so, and it is damped."""
    machine = load(name)
    row = machine.goal_coordinates[0]
    column = machine.mechanism.coordinate_names.index(row)
    here = float(Start.at_pose(machine, machine.initial_q).theta[column])
    size = 0.05 if machine.coordinates[column].is_angle else 0.01
    times = np.linspace(0.0, 20.0, 201)
    points = [
        {"time_from_start_s": float(t), "positions": [here + size * float(np.sin(np.pi * t / 20.0) ** 2)]}
        for t in times
    ]
    errors = []
    for rests in (("hold",), ("least", "damp")):
        rig = InProcess(machine)
        rig.enable()
        planned, made = Planned(rig), None
        for rest in rests:
            try:
                trajectory = {"coordinates": [row], "points": points, "rest": rest}
                made = planned.plan("send", trajectory=trajectory)
                break
            except RequestError as error:
                if "damp" not in error.message:
                    raise
        assert made is not None
        samples = [planned.order(made), *rig.until(lambda sample: sample["goal_status"] in ENDED, 30.0)]
        assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
        assert not any(sample["fault"] for sample in samples)
        errors.append(error_of(rig, samples, row))
    held, least = errors
    assert least < 1.01 * held + 1e-9
