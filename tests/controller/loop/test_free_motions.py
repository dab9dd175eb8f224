"""Goals that leave motions free, planned and followed in one process with the simulated machine."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.machine import load
from linkwork.protocol.codes import ResultCode
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
