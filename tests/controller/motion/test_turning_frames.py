"""Goals in a frame that turns: a tool that meets a rotary table, turns with it, and leaves it again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.controller.exchange.goal_block import GoalBlock
from linkwork.controller.exchange.goal_frame_part import FramePart, Turn
from linkwork.controller.exchange.orders import OrderOutcome, Pause
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.process.planner import Plan
from linkwork.machine import Machine, MachineError, load, shipped_path
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.recordings.recording import read_recording
from linkwork.recordings.replay import replay
from tests.controller.loop.goals_in_process import Planned
from tests.controller.loop.in_process import InProcess, Sample
from tests.controller.motion.test_frame_goals import planned
from tests.recordings.recorded import InProcessRecorder

X, Y, YAW = 4, 5, 7
MEETS_S, LEAVES_S, ENDS_S = 1.0, 1.4, 2.6
"""The goal is wholly in the frame from the first to the second; then it moves back."""
CENTER = np.array([0.0, 0.55])
TABLE = """
signals:
  table_angle: {{type: analog, direction: input, unit: deg, range: [-400, 400], simulated: "{motion}"}}
frames:
  table: {{signal: table_angle, deg_per_unit: 1, about: [0, 0, {sense}], center_m: [0, 0.55, 0],
          speed_deg_s: [15, 25], acceleration_deg_s2: 50, window_deg: [{window}]}}
"""


def beside_a_table(
    folder: Path, motion: str = "20*time_s", sense: int = 1, window: str = "-130, -60"
) -> Machine:
    """A SCARA beside a rotary table. motion: the angle of the table, deg; sense: of its axis along z."""
    path = folder / "scara.yaml"
    table = TABLE.format(motion=motion, sense=sense, window=window)
    path.write_text(shipped_path("scara").read_text() + table)
    return load(path)


def rotation(angle: float) -> np.ndarray:
    """Rotation (2 × 2) by an angle, rad."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


def turned(rig: InProcess, sense: int = 1) -> float:
    """Angle of the table about z, rad."""
    return sense * float(np.radians(rig.inputs.input[0]))


def part_in_table(rig: InProcess, sense: int = 1) -> list[float]:
    """x, y and yaw in the frame of a part that will be nearest to the machine when the goal meets it."""
    angle = sense * (np.radians(-20.0) * MEETS_S) - turned(rig, sense)
    return [*(CENTER + rotation(angle) @ [0.0, -0.2]).tolist(), angle]


def points(part: list[float]) -> list[dict[str, Any]]:
    """To a part on the table (x, y, yaw in the frame), with it for a while, and back."""
    rest = {"velocities": [0.0] * 3, "accelerations": [0.0] * 3}
    return [
        {"time_from_start_s": MEETS_S, "positions": part, **rest, "in": "table"},
        {"time_from_start_s": LEAVES_S, "positions": part, **rest, "in": "table"},
        {"time_from_start_s": ENDS_S, "positions": [0.0, 0.35, 0.0], **rest},
    ]


def ready(machine: Machine) -> InProcess:
    """The machine holds beside the table."""
    return beside(InProcess(machine))


def beside(rig: InProcess) -> InProcess:
    """The rig, enabled and moved to the table."""
    rig.enable()
    chain = Planned(rig)
    chain.order(chain.plan("move", target={"x": 0.0, "y": 0.34, "angle": 0.0}))
    rig.until(lambda sample: sample["goal_status"] == GoalStatus.SUCCEEDED)
    return rig


def goal(rig: InProcess, given: list[dict[str, Any]], **more: Any) -> Plan:
    """A goal in x, y and angle."""
    return planned(rig, given, coordinates=["x", "y", "angle"], **more)


def off_the_part(samples: list[Sample], part: list[float], sense: int = 1) -> np.ndarray:
    """Distance (m) of the tool, and its angle (rad), from the part while the goal is in the frame (n × 2)."""
    rows = []
    for each in samples:
        if MEETS_S + 0.01 <= each["path_s"] <= LEAVES_S - 0.01:
            angle = sense * np.radians(float(each["input"][0]))
            place = CENTER + rotation(angle) @ (part[:2] - CENTER)
            yaw = float(each["coordinate"][YAW]) - part[2] - angle
            rows.append([np.linalg.norm(each["coordinate"][[X, Y]] - place), np.sin(yaw)])
    return np.array(rows)


ENCODER = "180/pi*atan2(sin(pi/9*time_s + {0}), cos(pi/9*time_s + {0}))"
"""A signal that begins again after each turn, deg."""


@pytest.mark.parametrize(("sense", "motion"), [(1, "20*time_s"), (-1, "20*time_s"), (1, ENCODER.format(2.4))])
def test_the_tool_turns_with_a_part_on_the_table(tmp_path: Path, sense: int, motion: str) -> None:
    rig = ready(beside_a_table(tmp_path, motion, sense, "-130, -60" if sense > 0 else "60, 130"))
    part = part_in_table(rig, sense)
    made = goal(rig, points(part))
    assert made.report["frame"]["name"] == "table"
    before = float(rig.inputs.input[0])
    assert rig.start_goal(made.words, 2)["order_outcome"] == OrderOutcome.DONE
    samples = rig.until(lambda sample: sample["goal_status"] == GoalStatus.SUCCEEDED, most_s=3.0)
    assert (float(rig.inputs.input[0]) < before) == ("atan2" in motion), "the encoder begins again"
    off = off_the_part(samples, part, sense)
    assert len(off) > 300
    assert np.abs(off).max() < 3e-5
    velocity = np.array([sample["reference_velocity"][[X, Y, YAW]] for sample in samples[:-1]])
    reference = np.array([sample["reference"][[X, Y, YAW]] for sample in samples[:-1]])
    np.testing.assert_allclose(np.diff(reference, axis=0), velocity[1:] * rig.period_s, atol=2e-5)
    acceleration = np.diff(velocity, axis=0) / rig.period_s
    for column, index in enumerate((X, Y, YAW)):
        limits = rig.machine.coordinates[index]
        assert np.abs(velocity[:, column]).max() < limits.velocity
        assert np.abs(acceleration[:, column]).max() < limits.acceleration
        jerk = np.diff(acceleration[:, column]) / rig.period_s
        assert np.abs(jerk).max() < 1.02 * limits.jerk


def test_the_goal_ends_where_the_table_leaves_its_range(tmp_path: Path) -> None:
    """At the stated speed, and at the end of the window while the goal is paused."""
    rig = ready(beside_a_table(tmp_path, "20*time_s + 30*max(time_s - 3.5, 0)"))
    while rig.inputs.time_s < 2.5:
        rig.tick()
    rig.start_goal(goal(rig, points(part_in_table(rig)), frame={"speed_rad_s": [0.3, 0.4]}).words, 2)
    last = rig.until(lambda sample: sample["goal_status"] == GoalStatus.ENDED, most_s=3.0)[-1]
    assert (last["goal_code"], last["goal_limit"]) == (ResultCode.FRAME_LEFT, pytest.approx(0.4))
    assert np.abs(rig.run(0.4)[-1]["v"]).max() < 1e-3


def test_a_paused_goal_turns_until_the_window_ends(tmp_path: Path) -> None:
    rig = ready(beside_a_table(tmp_path))
    rig.start_goal(goal(rig, points(part_in_table(rig))).words, 2)
    rig.until(lambda sample: sample["path_s"] > 1.0, most_s=2.0)
    rig.order(Pause())
    last = rig.until(lambda sample: sample["goal_status"] == GoalStatus.ENDED, most_s=3.0)[-1]
    assert last["goal_code"] == ResultCode.FRAME_LEFT
    assert last["goal_limit"] == pytest.approx(np.radians(-60.0))


SCENE = """
scene:
  planes:
    plate: {at_m: [0, 0.55, -0.02], normal: [0, 0, 1], friction: 0.6, turn_rad_s: pi/9}
  parts: {block: {mass_kg: 0.01, size_m: [0.03, 0.03, 0.04], at_m: [-0.18, 0.45, 0]}}
  grippers: {jaws: {point: tool, closed_when: gripper, reach_m: 0}}
"""


def test_a_part_is_gripped_on_a_turning_table(tmp_path: Path) -> None:
    """The part lies on a plane that turns; the encoder measures it; the gripper closes within the frame."""
    beside_a_table(tmp_path)
    path = tmp_path / "scara.yaml"
    text = path.read_text().replace("20*time_s", "180/pi*plate.displacement")
    gripper = "  gripper: {type: digital, direction: output}\nframes:"
    path.write_text(text.replace("frames:", gripper, 1) + SCENE)
    rig = ready(load(path))
    block = rig.simulator.parts[0]
    while (arm := block.centre[:2] - CENTER)[0] < -0.075:  # it comes from the left
        rig.tick()
    place = CENTER + rotation(-turned(rig)) @ arm
    part = [*place.tolist(), -turned(rig)]
    made = goal(rig, points(part), events=[{"at": {"time_s": MEETS_S + 0.2}, "set": {"gripper": True}}])
    rig.start_goal(made.words, 2)
    rig.until(lambda sample: sample["path_s"] > MEETS_S + 0.15, most_s=2.0)
    assert np.linalg.norm(rig.record["coordinate"][[X, Y]] - block.centre[:2]) < 1e-4
    last = rig.until(lambda sample: sample["goal_status"] in (GoalStatus.SUCCEEDED, GoalStatus.ENDED))[-1]
    assert last["goal_code"] == ResultCode.SUCCESSFUL
    assert block.held
    assert np.linalg.norm(rig.record["coordinate"][[X, Y]] - block.centre[:2]) < 1e-4


def test_a_run_on_a_table_is_replayed_to_the_last_bit(tmp_path: Path) -> None:
    machine = beside_a_table(tmp_path, ENCODER.format(0.0))
    run = InProcessRecorder(machine, tmp_path / "log")
    made = goal(beside(run), points(part_in_table(run)))
    assert GoalBlock(made.words).frame is not None
    run.start_goal(made.words, 2)
    run.run(3.0)
    recording = read_recording(run.close())
    assert recording.table["goal_status"][-1] == GoalStatus.SUCCEEDED
    found = replay(recording, machine)
    assert (found.ticks, found.difference) == (len(recording.table), None)


def test_what_cannot_turn_is_refused_with_the_field(tmp_path: Path) -> None:
    rig = ready(beside_a_table(tmp_path))
    part = part_in_table(rig)

    def refused(given: list[dict[str, Any]], **more: Any) -> RequestError:
        with pytest.raises(RequestError) as found:
            planned(rig, given, **more)
        return found.value

    alone = [
        {key: row[:1] if isinstance(row, list) else row for key, row in each.items()} for each in points(part)
    ]
    error = refused(alone, coordinates=["x"])
    assert (error.code, error.path[-1]) == (ResultCode.INVALID_COORDINATES, "coordinates")
    assert "x, y" in error.message
    error = refused(points(part), coordinates=["x", "y", "angle"], frame={"speed_m_s": [0.1, 0.2]})
    assert (error.path[-1], "give speed_rad_s" in error.message) == ("speed_m_s", True)
    error = refused(points(part), coordinates=["x", "y", "angle"], frame={"speed_rad_s": [0.1, 0.4]})
    assert error.path[-1] == "speed_rad_s"
    away = [*(CENTER + rotation(0.8) @ (part[:2] - CENTER)).tolist(), part[2]]
    error = refused(points(away), coordinates=["x", "y", "angle"])
    assert (error.code, error.data["quantity"], error.data["unit"]) == (
        ResultCode.INFEASIBLE, "frame window", "rad",
    )  # fmt: skip
    assert "rad/s of the frame" in error.message


def test_motion_about_a_tilted_line_agrees_with_finite_differences() -> None:
    """Place, velocity and acceleration of a point on a path that turns with the frame."""
    axis = np.array([1.0, -2.0, 2.0]) / 3.0
    turn = Turn((2, 0, 1), (axis[0], axis[1], axis[2]), (0.1, 0.2, -0.3))
    part = FramePart(0, (0.0, 1.0), (2.0, 3.0), 0.0, (-1.0, 1.0), (-1.0, 1.0), (0.0, 0.0), np.zeros(3), turn)

    def at(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows = np.array([0.3 + t * t, np.sin(t), t]), np.array([2 * t, np.cos(t), 1.0])
        path = *rows, np.array([2.0, -np.sin(t), 0.0])
        part.carry((0.4 * t + t**3, 0.4 + 3.0 * t * t, 6.0 * t), *path)
        return path

    step, t = 1e-4, 0.7
    _, velocity, acceleration = at(t)
    before, now, after = (at(t + each)[0] for each in (-step, 0.0, step))
    np.testing.assert_allclose((after - before) / (2.0 * step), velocity, atol=1e-6)
    np.testing.assert_allclose((after - 2.0 * now + before) / step**2, acceleration, atol=1e-5)
    angle = 0.4 * t + t**3
    start = np.array([t, 0.3 + t * t, np.sin(t)]) - turn.center_m  # x, y, z
    cross, along = np.cross(axis, start), axis * (axis @ start)
    wanted = along + np.cos(angle) * (start - along) + np.sin(angle) * cross + turn.center_m
    np.testing.assert_allclose(now[[2, 0, 1]], wanted, atol=1e-12)
    assert FramePart.from_words(part.words()).turn == turn


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("about: [0, 0, 1]", "about: [0, 0, 0]", "about"),
        ("deg_per_unit: 1", "deg_per_unit: 0", "would not move"),
        ("deg_per_unit: 1", "deg_per_unit: 1, rad_per_unit: 1", "twice"),
        ("window_deg: [-130, -60]", "window_deg: [-200, 200]", "more than a turn"),
        ("speed_deg_s: [15, 25], ", "", "speed_rad_s or speed_deg_s is missing"),
        ("about: [0, 0, 1]", "about: [0, 0, 1], along: [1, 0, 0]", "along"),
    ],
)
def test_what_is_wrong_in_the_file_is_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    beside_a_table(tmp_path)
    path = tmp_path / "scara.yaml"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(MachineError, match=says) as refused:
        load(path)
    assert refused.value.problems[0].key.startswith("frames.table")
