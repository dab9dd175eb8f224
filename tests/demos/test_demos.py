"""The demos of closed machines without daemons: only motors driven and measured, and how closely they follow.

Errors are the plant's own, in the goals' independent coordinates, with the exact model at 1 kHz.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import judge, plan
from linkwork.demos import DEMOS, demo_named
from linkwork.demos.demo_figures import DemoRun, tracking_figures
from linkwork.demos.demo_run import changed_machine
from linkwork.demos.force_figures import bearing_figures
from linkwork.demos.waypoints import along, begin
from linkwork.machine import load
from linkwork.plant.simulator.simulator import RecordedSimulator
from linkwork.protocol.trajectory import read_trajectory
from linkwork.recordings.recording import read_truth
from tests.client.in_process_robot import perform
from tests.controller.loop.in_process import with_encoders

CLOSED = ("five_bar", "delta", "platform_3rrs", "slider_crank", "four_bar")
SOME = [
    pytest.param(name, marks=() if name in ("five_bar", "slider_crank") else pytest.mark.slow)
    for name in CLOSED
]
SECONDS = {"slider_crank": 3.0, "platform_3rrs": 2.0}
SLOWLY = {"five_bar": 0.45, "delta": 0.3, "platform_3rrs": 0.7, "slider_crank": 0.55, "four_bar": 0.6}
"""Shares of the speed at which the reference's jerk stays below 5 per s³."""


@pytest.mark.parametrize("name", SOME)
def test_with_encoders_on_the_motors_alone_the_path_is_followed(name: str, tmp_path: Path) -> None:
    machine, demo = load(name), demo_named(name)
    assert {sensor.joint for sensor in machine.sensors} == {motor.joint for motor in machine.motors}
    assert all(
        sensor.position.counts_per_turn == 1 << 20 and not sensor.velocity for sensor in machine.sensors
    )
    recording = perform(demo, machine, SECONDS.get(name, 1.5))
    figures = tracking_figures(recording)
    assert 5.0 < figures["reference_jerk_max"] <= 200.0
    assert figures["tracking_error_max"] <= 1e-4
    assert set(figures["peak_effort"]) == {motor.joint for motor in machine.motors}
    assert min(figures["peak_effort"].values()) > 0.0
    plant = figures["plant"]
    assert set(plant["passive_effort_max"]) == set(machine.mechanism.joint_names) - set(
        figures["peak_effort"]
    )
    assert set(plant["passive_effort_max"].values()) == {0.0}
    assert plant["closure_residual_max"] <= 1e-9
    demo.draw(recording, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", SOME)
def test_slowly_and_with_exact_positions_to_a_millionth(name: str) -> None:
    machine = with_encoders(load(name), 0)
    figures = tracking_figures(perform(demo_named(name), machine, SECONDS.get(name, 1.5), SLOWLY[name]))
    assert figures["reference_jerk_max"] <= 5.0
    assert figures["tracking_error_max"] <= 1e-6


def test_the_crank_passes_branch_poses_and_the_slider_moves_as_a_sine() -> None:
    recording = perform(demo_named("slider_crank"), load("slider_crank"), 5.0)
    swings, turns = (part.tracking for part in recording.parts)
    for tracking, stroke in ((swings, 1.6), (turns, 2.0)):
        inside = tracking.measured
        time_s = tracking.time_s[inside] - tracking.time_s[inside][0]
        slider = 2.0 * np.cos(tracking.actual[inside, 0])
        waves = np.stack([np.sin(0.8 * np.pi * time_s), np.cos(0.8 * np.pi * time_s)], axis=1)
        found, *_ = np.linalg.lstsq(waves, slider, rcond=None)
        np.testing.assert_allclose(slider, waves @ found, atol=1e-5)
        assert np.hypot(*found) == pytest.approx(stroke, abs=1e-5)
        passed = np.diff(np.floor(tracking.actual[inside, 0] / np.pi - 0.5))
        assert np.count_nonzero(passed) == 2, "odd multiples of a right angle"


def test_a_free_wrist_leaves_its_limit_while_x_and_y_are_followed() -> None:
    machine = load("scara")
    recording = perform(demo_named("scara_free_wrist"), machine, 4.0)
    tracking = recording.parts[0].tracking
    wrist = recording.ticks.table["q"][tracking.rows, machine.mechanism.joint_names.index("wrist")]
    assert wrist[0] == pytest.approx(6.1, abs=1e-3)
    assert abs(wrist[-1]) < 0.1 < machine.joints[2].position[1] - wrist.max()
    assert tracking_figures(recording)["tracking_error_max"] < 1e-7


@pytest.mark.slow
def test_a_load_limit_keeps_a_bearing_on_one_side(tmp_path: Path) -> None:
    demo = demo_named("five_bar_one_side")
    machine = load(changed_machine(demo.machine, tmp_path, demo.patch))
    recording = perform(demo, machine, 2.0)
    least, _ = bearing_figures(recording, "tip.y")["bearing"]["tip.y_N"]
    assert least > 4.0
    assert tracking_figures(recording)["tracking_error_max"] < 1e-6
    without = perform(demo, load(demo.machine), 2.0)
    least, most = bearing_figures(without, "tip.y")["bearing"]["tip.y_N"]
    assert least < 0.0 < most


def test_an_arm_catches_a_moving_carriage_and_travels_on_with_it() -> None:
    machine, demo = load("catch"), demo_named("catch")
    recording = perform(demo, machine, 1.6)
    tracking, table = recording.parts[0].tracking, recording.ticks.table
    (caught,) = np.flatnonzero(table["switched"][tracking.rows, 0] > 0.0)
    rows = np.arange(len(table))[tracking.rows]
    before, at = rows[caught - 1], rows[caught]
    reach, height, rail = 3, 4, 2
    assert table["v"][before, rail] > 0.2
    assert table["switch_impulse"][at, 0] > 0.01
    assert 0.0 < table["switch_energy_loss"][at, 0] < 0.01
    after = table["coordinate"][at : rows[-1]]
    assert np.abs(after[:, height] - 0.3).max() < 1e-6
    assert np.abs(after[:, reach] - after[:, rail]).max() < 1e-6
    step = np.abs(np.diff(table["effort"][rows], axis=0)).max(axis=0)
    rates = np.array([motor.max_effort_rate for motor in machine.motors])
    assert np.all(step <= rates * machine.period_s * (1.0 + 1e-9))
    assert tracking_figures(recording)["tracking_error_max"] < 3e-4
    assert table["fault"].max() == 0


WITHOUT_TRAJECTORY = ("pick_and_place",)
"""Demos that move from rest to rest alone."""


@pytest.mark.parametrize("name", sorted({*DEMOS} - {"leader_follower", "delta_belt"}))  # these react
def test_every_demo_says_what_it_does_in_trajectories_that_files_may_hold(name: str) -> None:
    sent: list[Any] = []

    class RecordingRobot:
        def move(self, target: Any, **_: Any) -> None:
            assert all(isinstance(value, float) for value in target.values())

        def switch(self, constraint: str, on: bool) -> None:
            assert (constraint, on) in (("slot", True), ("slot", False))

        def set(self, **outputs: bool) -> None:
            assert set(outputs) == {"gripper"}

        def preload(self, **efforts: float) -> None:
            assert set(efforts) == {"left_elbow"}

        def send(self, trajectory: Any) -> None:
            sent.append(read_trajectory(json.loads(json.dumps(trajectory))))

    stage = type("Stage", (), {"robot": RecordingRobot(), "home": {"left": 0.0}})()
    steps = demo_named(name).steps(1.0, 1.0)
    measured = []
    for step in steps:
        step.begin(stage)
        measured += [] if step.measured is None else [step.measured]
    assert measured
    for part in measured if name not in WITHOUT_TRAJECTORY else ():
        assert any(set(part.coordinates) == set(trajectory.coordinates) for trajectory in sent)


def test_a_demo_that_does_not_exist_is_named_with_those_that_do() -> None:
    with pytest.raises(KeyError, match="five_bar"):
        demo_named("nothing")


def test_way_points_begin_and_end_at_rest_and_keep_their_pace_between() -> None:
    path = along(lambda u: {"x": (2.0 * u, 2.0, 0.0)}, 1.0, 0.4)
    points = path["points"]
    assert points[0]["velocities"] == points[-1]["velocities"] == [0.0]
    assert begin(path) == {"x": pytest.approx(-0.4)}
    assert points[-1]["positions"] == [pytest.approx(2.4)]
    between = [point for point in points if 0.4 <= point["time_from_start_s"] <= 1.4]
    assert {point["velocities"][0] for point in between} == {2.0}
    times = [point["time_from_start_s"] for point in points]
    assert max(np.diff(times)) <= 0.02 + 1e-12


def test_the_plant_s_record_is_read_back_bit_for_bit(tmp_path: Path) -> None:
    simulator, q = RecordedSimulator(load("four_bar"), 0, tmp_path / "record"), []
    for _ in range(5):
        q.append(simulator.q.copy())
        simulator.integrate()
    simulator.close()
    with (tmp_path / "record").open("ab") as cut_off:
        cut_off.write(b"\0" * 21)
    truth = read_truth(tmp_path / "record")
    np.testing.assert_array_equal(truth.q, q)
    np.testing.assert_array_equal(truth.tick, range(5))
    assert truth.effort.shape == (5, 3)
    np.testing.assert_array_equal(truth.rows_at(np.array([0.003, 0.001])), [3, 1])
    with pytest.raises(ValueError, match="does not hold"):
        truth.rows_at(np.array([0.007]))


@pytest.fixture(scope="module")
def placed() -> DemoRun:
    """The demo pick_and_place, done."""
    return perform(demo_named("pick_and_place"), load("scara_gripper"), 1.0)


def test_parts_are_picked_and_placed(placed: DemoRun, tmp_path: Path) -> None:
    figures = demo_named("pick_and_place").report(placed)
    found = figures["handling"]
    assert json.loads(json.dumps(found)) == found
    assert (found["placed"], found["misses"]) == (3, 0)
    assert set(found["place_error_m"]) == {"block_1", "block_2", "block_3"}
    assert max(found["place_error_m"].values()) < 1e-6
    assert 1.0 < found["cycle_s"] < 3.0
    assert figures["tracking_error_max"] < 1e-5, "the feed-forward knows the part that is carried"
    demo_named("pick_and_place").draw(placed, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_the_lift_carries_the_weight_of_the_part(placed: DemoRun) -> None:
    table = placed.ticks.table
    closed, lift = table["output"][:, 0] > 0.5, table["effort"][:, 3]
    high = abs(table["coordinate"][:, list(placed.ticks.names["coordinate"]).index("z")] - 0.06) < 1e-5
    rise = np.median(lift[high & closed]) - np.median(lift[high & ~closed])
    assert rise == pytest.approx(0.8 * 9.81, abs=0.01)


def test_a_delta_picks_from_a_running_belt(tmp_path: Path) -> None:
    demo = demo_named("delta_belt")
    run = perform(demo, load("delta_gripper"), 2.0)
    figures = demo.report(run)
    found = figures["belt"]
    assert json.loads(json.dumps(figures)) == figures
    assert (found["placed"], found["misses"], found["passed_by"]) == (3, 0, 0)
    assert found["place_error_rms_m"] < 3e-4
    assert found["cycle_s"] < 1.2
    low, high = found["belt_speed_m_s"]
    assert 0.45 < low < high < 0.73
    demo.draw(run, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_the_fastest_timing_is_followed_beside_the_uniform_one(tmp_path: Path) -> None:
    demo = demo_named("fastest")
    first, second = (perform(each, load(each.machine), 1.0) for each in (demo, demo.second))
    for part in (*tracking_figures(first)["parts"], *tracking_figures(second)["parts"]):
        assert "uniform" in part["name"] or max(part["error_max"].values()) < 1e-4
    run = replace(first, beside=second)
    figures = demo.report(run)
    assert json.loads(json.dumps(figures)) == figures
    for machine in (demo.machine, demo.beside):
        uniform, fastest = (figures["fastest"][f"{machine}_{kind}_s"] for kind in ("uniform", "fastest"))
        assert fastest < 0.8 * uniform
        assert sum(figures["fastest"][f"{machine}_limited_by_s"].values()) == pytest.approx(fastest, rel=1e-3)
    for each in (first, run):
        demo.draw(each, tmp_path / "picture.png")
        assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("machine", ["five_bar", "delta"])
def test_uniform_timing_is_as_fast_as_the_limits_admit(machine: str) -> None:
    """A hundredth faster, the path that the demo follows uniformly is refused."""
    demo = demo_named("fastest")
    shown = demo if machine == demo.machine else demo.second
    made = load(machine)
    for speed, feasible in ((1.0, True), (1.01, False)):
        paths = [step.trajectory for step in shown.steps(1.0, speed) if step.trajectory is not None]
        start = Start.at_pose(made, made.initial_q)
        there = plan("move", {"target": begin(paths[0])}, made, start).poses
        assert there is not None
        found = judge({"trajectory": paths[0]}, made, Start.at_pose(made, there[-1, 1:]))
        assert found["feasible"] is feasible


def test_a_press_with_one_degree_of_freedom_touches_and_presses(tmp_path: Path) -> None:
    recording = perform(demo_named("press"), load("press"), 0.5)
    found = demo_named("press").report(recording)
    assert found["force_error_max_N"] < 8.0
    assert 50.0 <= found["touch_peak_N"] < 75.0
    assert found["bounces"] == 0
    assert found["peak_effort"]["ram"] == pytest.approx(40.0 * 9.81, rel=0.15)
    demo_named("press").draw(recording, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
