"""Machines whose rods turn about themselves: the controller ignores these motions, and the plant has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.supervision.state_machine import State
from linkwork.machine import load
from linkwork.protocol.codes import ResultCode
from tests.controller.loop.in_process import InProcess
from tests.controller.loop.test_closed_chains import move
from tests.machine.ball_ended import delta, stewart, text_of

SPEED = 20.0


@pytest.mark.parametrize(
    ("data", "target", "turning"),
    [
        (delta(), {"x": 0.05, "y": -0.03, "z": -0.42}, "upper_a_2.rx"),
        (stewart(), {"x": 0.05, "y": 0.04, "z": 0.65, "roll": 0.1, "yaw": 0.2}, "foot_3.rx"),
    ],
    ids=["delta", "platform_sps"],
)
def test_a_move_is_followed_while_a_rod_turns(
    tmp_path: Path, data: dict[str, Any], target: dict[str, float], turning: str
) -> None:
    (tmp_path / "machine.yaml").write_text(text_of(data))
    rig = InProcess(load(tmp_path / "machine.yaml"))
    place = rig.machine.mechanism.joint_index(turning)
    rig.enable()
    rig.simulator.v[place] = SPEED
    began = float(rig.simulator.tick)
    move(rig, target)
    worst = fastest = 0.0
    sample = rig.tick()
    while sample["goal_status"] != GoalStatus.SUCCEEDED:
        errors = (sample["reference"] - sample["coordinate"])[np.isfinite(sample["reference"])]
        worst = max(worst, float(np.abs(errors).max(initial=0.0)))
        fastest = max(fastest, abs(float(rig.simulator.v[place])))
        assert sample["state"] == State.ACTIVE
        sample = rig.tick()
    assert sample["goal_code"] == ResultCode.SUCCESSFUL
    assert worst < 1e-5
    assert fastest <= SPEED
    passed_s = (rig.simulator.tick - began) * rig.period_s
    assert abs(float(rig.simulator.v[place])) == pytest.approx(SPEED * np.exp(-passed_s), rel=0.01)
