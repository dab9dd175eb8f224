"""Teaching: what was captured on a machine, followed by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.controller.gateway.requests.describe import describe
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import judge
from linkwork.machine import load
from linkwork.protocol.codes import Pace, ResultCode
from linkwork.trajectories.teach import TeachList, finished, lesson_text
from linkwork.trajectories.trajectory_file import read_trajectory_file
from tests.controller.loop.goals_in_process import Planned
from tests.controller.loop.in_process import InProcess
from tests.controller.motion.test_goal_splices import FIRST, THEN


class LedRobot:
    """State and check of a rig in this process."""

    def __init__(self, rig: InProcess) -> None:
        self.rig = rig

    @property
    def state(self) -> dict[str, Any]:
        sample, names = self.rig.tick(), self.rig.machine.mechanism.coordinate_names
        return {"q": {}, "coordinates": dict(zip(names, sample["coordinate"].tolist(), strict=True))}

    def check(self, trajectory: Any, /) -> Any:
        start = Start.at_pose(self.rig.machine, self.rig.controller._now.q)
        return judge({"trajectory": trajectory}, self.rig.machine, start)


@pytest.mark.parametrize("name", ["scara", "five_bar", "delta"])
@pytest.mark.parametrize("as_shown", [False, True])
def test_what_was_taught_is_followed(name: str, as_shown: bool, tmp_path: Path) -> None:
    rig = InProcess(load(name))
    rig.enable()
    robot, planned = LedRobot(rig), Planned(rig)
    lesson = TeachList.from_description(describe(rig.machine, Pace.LOCKSTEP))
    assert lesson.capture(robot.state, 0.0)
    assert not lesson.capture(robot.state, 0.01)
    for number, target in enumerate((FIRST[name], THEN[name])):
        planned.order(planned.plan("move", target=target))
        rig.until(lambda sample: sample["goal_status"] == GoalStatus.SUCCEEDED)
        assert lesson.capture(robot.state, 0.1 + 0.1 * number)
    made, stretch = finished(robot, lesson, as_shown=as_shown)
    assert stretch >= 1.0
    assert as_shown or stretch == 1.0
    assert robot.check(made)["feasible"]
    path = tmp_path / "taught.yaml"
    path.write_text(lesson_text(made, name), encoding="utf-8")
    read = read_trajectory_file(path).trajectory
    planned.order(planned.plan("send", trajectory=read.model_dump(exclude_none=True)))
    last = rig.until(lambda sample: sample["goal_status"] in (GoalStatus.SUCCEEDED, GoalStatus.ENDED), 60.0)[
        -1
    ]
    assert last["goal_code"] == ResultCode.SUCCESSFUL
    index = [rig.machine.coordinate_index(each) for each in lesson.coordinates]
    np.testing.assert_allclose(last["coordinate"][index], lesson.points[-1], atol=1e-4)
