"""A blade that moves along its edge only: a constraint on velocities, under the controller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.paths.path import Path as GoalPath
from linkwork.controller.planning.walk.walk import walk
from linkwork.machine import load
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from tests.controller.loop.goals_in_process import Planned
from tests.controller.loop.in_process import InProcess, Sample

KNIFE = Path(__file__).parents[3] / "docs/examples/machines/tangential_knife.yaml"
ENDED = (GoalStatus.SUCCEEDED, GoalStatus.ENDED)


@pytest.fixture
def rig() -> InProcess:
    made = InProcess(load(str(KNIFE)))
    made.enable()
    made.run(0.2)
    return made


def followed(rig: InProcess, planned: Any, goal: Any) -> list[Sample]:
    first = planned.order(goal)
    samples = [first, *rig.until(lambda sample: sample["goal_status"] in ENDED)]
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
    return samples


def across(samples: list[Sample]) -> float:
    """Largest speed across the edge, m/s."""
    v, heading = np.array([each["v"] for each in samples]), np.array([each["q"][2] for each in samples])
    return float(np.abs(np.cos(heading) * v[:, 1] - np.sin(heading) * v[:, 0]).max())


def test_a_steered_move_ends_where_admission_walked_it(rig: InProcess) -> None:
    planned, here = Planned(rig), rig.simulator.q.copy()
    goal = planned.plan("move", target={"x": 0.3, "heading": 0.6}, speed=0.5)
    walked = walk(rig.machine, GoalPath.of_block(goal.words), here)
    samples = followed(rig, planned, goal)
    assert here[1] + 0.05 < rig.simulator.q[1]
    np.testing.assert_allclose(rig.simulator.q, walked.q[-1], atol=2e-5)
    np.testing.assert_allclose(rig.controller._now.q, rig.simulator.q, atol=1e-5)
    assert across(samples) < 1e-9


def arc(bent: float = 1.0) -> dict[str, Any]:
    """A cut along an arc of 0.4 m from 5° on, in three coordinates; `bent`: of its sideways part."""
    first, points = np.radians(5.0), []
    for s in np.linspace(0.0, 1.0, 41)[1:]:
        heading = first + 0.8 * (10 * s**3 - 15 * s**4 + 6 * s**5)
        x, y = 0.4 * (np.sin(heading) - np.sin(first)), 0.4 * (np.cos(first) - np.cos(heading))
        points.append(
            {"time_from_start_s": 2.0 * s, "positions": [float(x), bent * float(y), float(heading)]}
        )
    return {"coordinates": ["x", "y", "heading"], "points": points}


def test_a_path_along_the_edge_is_followed_in_more_coordinates_than_velocities(rig: InProcess) -> None:
    planned = Planned(rig)
    cut = arc()
    followed(rig, planned, planned.plan("send", trajectory=cut))
    np.testing.assert_allclose(rig.simulator.q, cut["points"][-1]["positions"], atol=2e-5)


@pytest.mark.parametrize(
    ("method", "asked"),
    [("send", {"trajectory": arc(bent=1.2)}), ("move", {"target": {"x": 0.1, "y": 0.1}})],
)
def test_a_path_across_the_edge_is_refused_with_sample_and_amount(
    rig: InProcess, method: str, asked: dict[str, Any]
) -> None:
    with pytest.raises(RequestError, match=r"contradict each other at .* \(sample \d+\): .* is missed by"):
        Planned(rig).plan(method, **asked)


def test_readings_correct_the_place_across_the_edge(rig: InProcess) -> None:
    """The estimate follows the sensors also where the edge admits no velocity."""
    rig.simulator.q[1] += 0.004  # as after a slip that the model does not know
    rig.run(0.5)
    assert rig.controller._now.q[1] == pytest.approx(rig.simulator.q[1], abs=1e-5)
    assert not int(rig.record["fault"])
