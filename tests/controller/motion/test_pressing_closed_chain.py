"""Forces of machines whose joints close on each other: a wall that is pressed, a component of a closure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linkwork.controller.exchange.orders import OrderOutcome
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.machine import Machine, load
from linkwork.machine.catalogue import shipped_path
from linkwork.multibody.dynamics.constrained_dynamics import projected
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.laws import LawKind
from tests.controller.loop.goals_in_process import Planned
from tests.controller.loop.pressing_rig import ENDED, PressingRig

WALL = """\
contacts:
  wall:
    point: tool
    plane: {{at_m: [0, {at:.6f}, 0], normal: [0, -1, 0]}}
    stiffness_N_m: 2.0e+4
    damping_ratio: 0.3
    friction: 0.2
    slip_speed_m_s: 0.01

motors:"""


@pytest.fixture
def walled(tmp_path: Path) -> Machine:
    """The five-bar, 10 mm before a wall across its y."""
    plain = load("five_bar")
    rig = PressingRig(plain)
    rig.tick()
    text = shipped_path("five_bar").read_text().replace("motors:", WALL.format(at=rig.at("y")[0] + 0.01), 1)
    path = tmp_path / "walled.yaml"
    path.write_text(text)
    return load(path)


def test_a_five_bar_presses_a_wall_and_moves_along_it(walled: Machine) -> None:
    rig = PressingRig(walled)
    rig.enable()
    planned = Planned(rig)
    planned.order(planned.plan("move", target={"y": rig.at("y")[0] + 0.03}, until_force={"wall": 10.0}))
    samples, forces = rig.to_the_end()
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
    touched = int(np.argmax(forces > 0.0))
    assert forces[touched:].min() > 0.0, "the tool left the wall again"
    assert rig.law is LawKind.HYBRID
    for far in (0.03, -0.03):  # the second takes over from the first in motion
        points = [{"time_from_start_s": 0.6, "positions": [far]}]
        trajectory = {"coordinates": ["x"], "points": points, "force": {"wall": 10.0}}
        lead = 0.05 if far < 0.0 else None
        assert planned.order(planned.plan("send", lead, trajectory=trajectory))["order_outcome"] in (0, 1)
        if far > 0.0:
            rig.run(0.35)
    samples, forces = rig.to_the_end()
    assert (samples[-1]["goal_id"], samples[-1]["goal_code"]) == (3, ResultCode.SUCCESSFUL)
    np.testing.assert_allclose(forces, 10.0, atol=0.5)
    assert rig.at("x")[0] == pytest.approx(-0.03, abs=1e-3)
    passive = rig.simulator.joint_effort[2:]
    np.testing.assert_array_equal(passive, 0.0)
    planned.order(planned.plan("move", target={"y": rig.at("y")[0] - 0.02}))
    samples, forces = rig.to_the_end()
    assert (samples[-1]["goal_code"], forces[-1]) == (ResultCode.SUCCESSFUL, 0.0)


def test_a_component_of_a_closure_carries_what_is_wanted() -> None:
    machine = load("five_bar_redundant")
    assert [row.name for row in machine.force_rows][:3] == ["tip.x", "tip.y", "tip.z"]
    rig = PressingRig(machine)
    rig.enable()
    points = [{"time_from_start_s": 1.0, "positions": [1.9, 1.2]}]
    trajectory = {"coordinates": ["left", "right"], "points": points, "force": {"tip.y": -4.0}}
    assert rig.ask("send", trajectory=trajectory)["order_outcome"] == OrderOutcome.DONE
    truth, forces, driven = machine.workspace(), [], [motor.index for motor in machine.motors]
    while True:
        sample = rig.tick()
        truth.q[:], truth.v[:] = rig.simulator.q, rig.simulator.v
        truth.effort[driven] = rig.simulator.measured.effort
        projected(*truth.arguments)
        forces.append(float(truth.multipliers[1]))
        if sample["goal_status"] in ENDED:
            break
    assert sample["goal_status"] == GoalStatus.SUCCEEDED
    np.testing.assert_allclose(forces[400:], -4.0, atol=0.1)
    with pytest.raises(RequestError, match="would need effort"):
        rig.ask("send", trajectory={**trajectory, "force": {"tip.y": -40.0}})


@pytest.mark.parametrize(
    ("name", "force", "text"),
    [
        ("five_bar_redundant", "tip.z", "other constraints already ask for the same"),
        ("five_bar", "tip.x", "has no forces to name"),
    ],
)
def test_components_that_motors_cannot_choose_are_refused(name: str, force: str, text: str) -> None:
    rig = PressingRig(load(name))
    rig.enable()
    points = [{"time_from_start_s": 1.0, "positions": [1.9, 1.2]}]
    trajectory = {"coordinates": ["left", "right"], "points": points, "force": {force: 5.0}}
    with pytest.raises(RequestError, match=text):
        rig.ask("send", trajectory=trajectory)
