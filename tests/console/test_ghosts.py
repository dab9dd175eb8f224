"""Ghosts: goals before they are sent, the digital twin, and assembly modes."""

import base64
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("nicegui", reason="the console's extra is not installed")

from linkwork.console.assembly_view import present_mode
from linkwork.console.goal_preview import PlannedMotion, verdict_text, violation_text
from linkwork.console.machine_feed import PathDrawing
from linkwork.console.twin_ghost import SPAN_S, TwinGhost
from linkwork.drawing.skeleton import BodyFrames
from linkwork.machine import load
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.tree.kinematics import kinematics


def test_a_drawn_path_has_the_frames_of_each_pose() -> None:
    machine = load("five_bar")
    content: Any = SimpleNamespace(version=1, drawn=SimpleNamespace(mechanism=machine.mechanism))
    poses = [machine.initial_q, machine.initial_q + 0.1]
    drawn = PathDrawing().drawn(content, [pose.tolist() for pose in poses])
    frames = np.frombuffer(base64.b64decode(drawn["frames"]), dtype="<f4").reshape(2, drawn["bodies"], 4, 3)
    for pose, found in zip(poses, frames, strict=True):
        np.testing.assert_allclose(found, BodyFrames(machine.mechanism).frames_at(pose), atol=1e-6)
    assert PathDrawing().drawn(content, []) == {}


VIOLATION: dict[str, Any] = {"coordinate": "elbow", "quantity": "velocity", "value": 1.0, "limit": 0.5}
VIOLATION |= {"unit": "rad/s", "text": "elbow would need velocity 1 rad/s at 0.500 s"}


def test_a_verdict_in_words() -> None:
    assert violation_text(VIOLATION) == "elbow: velocity 57.296 °/s, allowed 28.648 °/s"
    assert violation_text({"coordinate": "x", "quantity": "reach"}) == "x: reach"
    answer = {"feasible": False, "violations": [VIOLATION] * 3, "min_time_stretch": 2.0, "duration_s": 1.0}
    told = verdict_text(answer)
    assert "2 more limits are exceeded" in told
    assert "Feasible in 2 times that time." in told
    assert "does not help" in verdict_text({**answer, "min_time_stretch": None})
    assert verdict_text({**answer, "feasible": True}) == "feasible: 1.00 s"


def test_a_slower_motion_keeps_its_path() -> None:
    move = PlannedMotion("there", None, {"x": 0.1}, 0.5)
    assert move.slower(2.0).request == ("move", {"target": {"x": 0.1}, "speed": 0.25})
    points = [{"time_from_start_s": 1.0, "positions": [0.1]}]
    file = PlannedMotion("a file", {"coordinates": ["x"], "points": points})
    method, params = file.slower(1.5).request
    assert method == "send"
    assert params["trajectory"]["points"][0]["time_from_start_s"] == 1.5


def test_the_ghost_of_the_twin_lags_by_what_its_model_lacks() -> None:
    machine = load("double_pendulum")
    mechanism, q = machine.mechanism, machine.initial_q
    ghost = TwinGhost(mechanism, list(mechanism.joint_names))
    np.testing.assert_array_equal(ghost.pose(q), q)
    work = mechanism.workspace()
    work.q[:] = q
    kinematics(*work.arguments)
    dynamics(*work.arguments)
    acceleration = np.array([0.2, -0.1])
    ghost.learn(q, (work.M @ acceleration).tolist())
    np.testing.assert_allclose(ghost.pose(q), q - 0.5 * SPAN_S**2 * acceleration, atol=1e-12)


def test_the_ghost_of_a_closed_machine_stays_closed() -> None:
    machine = load("five_bar")
    mechanism, q = machine.mechanism, machine.initial_q
    ghost = TwinGhost(mechanism, [motor.joint for motor in machine.motors])
    ghost.learn(q, [0.2, -0.1])
    pose = ghost.pose(q)
    moved = float(np.abs(pose - q).max())
    assert moved > 1e-3
    work = mechanism.workspace()
    work.q[:] = pose
    kinematics(*work.arguments)
    constraint_rows(*work.arguments)
    assert float(np.abs(work.phi).max()) < 0.02 * moved


def test_the_present_mode_is_found_with_whole_turns() -> None:
    described = {"joints": [{"name": "crank", "unit": "rad"}, {"name": "slide", "unit": "m"}]}
    modes = [[0.5, 0.1], [0.5 - 2.0 * np.pi, 0.3]]
    assert present_mode(modes, {"crank": 0.5, "slide": 0.3}, described) == 1
    assert present_mode(modes, {"crank": 0.5, "slide": 0.2}, described) is None
