"""What the page shows: poses of all bodies, sets of jogged coordinates, and states in words."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.controller.gateway.requests.describe import describe
from linkwork.drawing.skeleton import BodyFrames, Skeleton
from linkwork.machine import load
from linkwork.machine.loading import drawable
from linkwork.protocol.codes import Pace

pytest.importorskip("nicegui", reason="the console's extra is not installed")

from linkwork.console.fault_cards import shown_signals
from linkwork.console.machine_feed import flat, jog_groups
from linkwork.console.path_limits import path_limits
from linkwork.console.scene_content import scene_content
from linkwork.console.state_view import recordings, timing_rows, values_table
from linkwork.console.state_words import (
    channel_units,
    clearing,
    doing,
    fault_lines,
    fault_words,
    limited_by,
    next_step,
    result_words,
)
from linkwork.display_units import shown, shown_in


@pytest.mark.parametrize("name", ["five_bar", "scara"])
def test_the_console_draws_the_machine_of_describe(name: str) -> None:
    machine = load(name)
    described: dict[str, Any] = dict(describe(machine, Pace.DEVICE))
    drawn = drawable(described["file"]["text"])
    frames = BodyFrames(drawn.mechanism)
    q = machine.initial_q + 0.1
    found, skeleton = frames.frames_at(q), Skeleton(machine)
    for frame in found:
        np.testing.assert_allclose(frame[:3] @ frame[:3].T, np.eye(3), atol=1e-12)
        assert np.linalg.det(frame[:3]) == pytest.approx(1.0)
    world = np.vstack([np.eye(3), np.zeros(3)])
    places = {"world": world, **dict(zip(frames.bodies, found, strict=True))}
    lines = scene_content(drawn, described)["lines"]
    ends = [
        [np.array(end["at"]) @ places[end["body"]][:3] + places[end["body"]][3] for end in line["ends"]]
        for line in lines
    ]
    np.testing.assert_allclose(ends, skeleton.lines_at(q), atol=1e-8)
    assert [(line["kind"], line["of"]) for line in lines] == [(each.kind, each.of) for each in skeleton.lines]


def test_the_scene_names_motors_joints_closures_and_points() -> None:
    machine = load("five_bar")
    scene = scene_content(drawable(machine.source_text), dict(describe(machine, Pace.DEVICE)))
    assert {each["name"] for each in scene["joints"] if each["most"]} == {
        motor.joint for motor in machine.motors
    }
    assert len(scene["closures"]) == 1
    assert [each["name"] for each in scene["points"]] == [point.name for point in machine.mechanism.points]


def test_task_coordinates_are_jogged_first_and_mixtures_are_not_offered() -> None:
    groups = {
        name: [
            (group["name"], [each["name"] for each in group["coordinates"]])
            for group in jog_groups(dict(describe(load(name), Pace.DEVICE)))
        ]
        for name in ("scara", "five_bar")
    }
    assert groups["five_bar"] == [("task", ["x", "y"]), ("joints", ["left", "right"])]
    assert [name for name, _ in groups["scara"]] == ["task", "joints"]


def test_telemetry_becomes_channels() -> None:
    sample = {
        "timestamp": 5.0,
        "tick": 3,
        "q": {"a": 1.0, "b": float("nan")},
        "text": "no",
        "closed": {"c": True},
    }
    names, values = flat(sample)
    assert names == ["tick", "q/a", "q/b", "closed/c"]
    np.testing.assert_array_equal(values, [3.0, 1.0, np.nan, 1.0])


def test_values_of_a_plant_that_is_gone_are_unknown() -> None:
    sample = {"tick": 3, "connected": 1, "q": {"a": 1.0}, "effort": {"m": 2.0}, "closure_residual": 1e-9}
    assert np.isfinite(flat(sample)[1]).all()
    names, values = flat({**sample, "connected": 0})
    assert names == flat(sample)[0]
    np.testing.assert_array_equal(values, [3.0, 0.0, np.nan, np.nan, np.nan])


TIMING: dict[str, Any] = {
    "duration_s": 2.0,
    "factor": 1.1,
    "limits": [
        {"quantity": "effort", "name": "a", "time_s": 1.5, "share": 0.75},
        {"quantity": "jerk", "name": "x", "time_s": 0.5, "share": 0.25},
    ],
    "stretches": [
        {"from_s": 0.0, "to_s": 0.5, "quantity": "jerk", "name": "x"},
        {"from_s": 0.5, "to_s": 2.0, "quantity": "effort", "name": "a"},
    ],
    "savings": [{"quantity": "effort", "name": "a", "saves_s": 0.031}],
}


@pytest.mark.parametrize("speed", [1.0, 0.5])
def test_each_pose_of_a_path_has_the_color_of_its_limit(speed: float) -> None:
    found = path_limits(TIMING, [at / speed for at in (0.0, 0.3, 0.7, 1.9, 2.0)])
    assert [row["text"] for row in found["limits"]] == ["effort of a", "jerk of x"]
    first, second = (row["hue"] for row in found["limits"])
    assert found["hues"] == [second, second, first, first, first]
    assert [row["time"] for row in found["limits"]] == [f"{1.5 / speed:.3f} s", f"{0.5 / speed:.3f} s"]
    assert sum(row["share"] for row in found["limits"]) == 1.0
    assert (found["limits"][0]["saves"], found["more"]) == ("31.0 ms", 10)


def test_limits_beyond_the_colors_are_grey_and_a_path_without_limits_has_none() -> None:
    limits = [{"quantity": "jerk", "name": str(k), "time_s": 0.1, "share": 0.1} for k in range(10)]
    stretches = [{"from_s": 0.1 * k, "to_s": 0.1 * (k + 1), **limit} for k, limit in enumerate(limits)]
    found = path_limits({"duration_s": 1.0, "limits": limits, "stretches": stretches}, [0.0, 0.95, 1.0])
    hues = [row["hue"] for row in found["limits"]]
    assert len(set(hues)) == 8
    assert len(set(hues[7:])) == 1
    assert found["more"] is None
    assert path_limits(None, [0.0, 1.0]) == path_limits(TIMING, []) == {}


STATE: dict[str, Any] = {"state": "active", "goal": None, "stream": None, "v": {"a": 0.0}, "limited": []}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "holds its position"),
        ({"v": {"a": 0.2}}, "moves by hand or by a jog"),
        ({"goal": {"goal": 7, "status": "running"}}, "moves along goal 7"),
        ({"goal": {"goal": 7, "status": "paused"}}, "pauses on the path of goal 7"),
        ({"state": "fault"}, "braked by a fault"),
    ],
)
def test_states_in_words(change: dict[str, Any], words: str) -> None:
    assert doing(STATE | change, "") == words


def test_limits_faults_and_values_in_words() -> None:
    assert doing(None, "no controller of 'scara' is running") == "no controller of 'scara' is running"
    assert (
        limited_by(STATE | {"limited": ["effort", "unheard_of"]})
        == "a motor is at its largest effort; unheard of"
    )
    assert clearing(STATE | {"state": "fault"}) == "recover"
    assert clearing(STATE) is None
    assert shown(-1e-9, "rad") == "0.000 °"
    assert shown(None, "m") == "–"
    fault = {"text": "too fast", "where": "elbow", "value": 3.0, "limit": 2.0, "unit": "rad/s"}
    fault |= {"tick": 1, "time_s": 0.5, "clears_when": "it rests", "record": None}
    rows = dict(fault_lines(fault))
    assert (rows["value"], rows["limit"]) == ("171.887 °/s", "114.592 °/s")
    assert "flight record" not in rows


def test_what_is_not_measured_is_not_shown_as_if_it_were() -> None:
    described: dict[str, Any] = dict(describe(load("five_bar"), Pace.DEVICE))
    state: dict[str, Any] = {
        "q": {"left": 1.0},
        "coordinates": {},
        "v": {"left": 0.5},
        "effort": {"left": 2.0},
    }
    there = values_table(described, state, ["left"])
    assert "57.296 °" in there
    assert "28.648 °/s" in there
    assert "2.000 N m" in there
    gone = values_table(described, state, ["left"], measured=False)
    assert "last position" in gone
    assert gone.count("not known<") == 2
    assert "°/s" not in gone
    assert "N m" not in gone


@pytest.mark.parametrize("connected", [True, False])
def test_brake_and_homing_are_known_with_a_plant_only(connected: bool) -> None:
    spread = {"p50": 1.0, "p99": 2.0, "max": 3.0}
    overruns: dict[str, Any] = {"overruns": {}, "ticks": 10}
    timing = {"period_us": spread, "latency_us": spread, "ticks": 1, "missed": 0, "lost": 0}
    status: dict[str, Any] = {
        "machine": "five_bar",
        "pace": "device",
        "version": "1",
        "timing": {**timing, "window": overruns, "since_start": overruns},
        "device": {"connected": connected, "text": "", "success_rate": 1.0, "brake": True, "homed": True},
        "lease": {"owner": None},
        **dict.fromkeys(("law", "log", "log_problem", "real_time", "faults"), ""),
    }
    rows = timing_rows(status)
    assert ("not known" in rows["brake"], "not known" in rows["homed"]) == (not connected, not connected)


@pytest.mark.parametrize(
    ("change", "has_plant", "operates", "words"),
    [
        ({"state": "inactive"}, True, False, "Press Operate"),
        ({"state": "inactive"}, True, True, "Enable"),
        ({"state": "fault"}, True, True, "recover"),
        ({"state": "fault"}, False, True, "No plant"),
        ({"state": "active"}, True, True, ""),
    ],
)
def test_the_page_says_what_to_do(
    change: dict[str, Any], has_plant: bool, operates: bool, words: str
) -> None:
    step = next_step(STATE | change, has_plant=has_plant, operates=operates)
    assert words in step
    assert bool(step) == bool(words)


def test_goal_and_fault_are_one_line_each() -> None:
    goal = {"goal": 7, "status": "running", "fraction": 0.5, "path_s": 1.0, "duration_s": 2.0}
    assert result_words(STATE | {"goal": goal}) == "goal 7 running: 1.00 of 2.00 s, 50 %"
    ended = {"goal": 6, "name": "ABORTED", "text": "too far"}
    assert result_words(STATE | {"results": [ended]}) == "goal 6 ended ABORTED: too far"
    fault = {"name": "VELOCITY_LIMIT", "where": "elbow", "text": "too fast"}
    assert fault_words(STATE | {"fault": fault}) == "VELOCITY_LIMIT at elbow: too fast"
    assert fault_words(STATE | {"fault": None}) == ""


def test_plots_and_flight_records_have_the_units_of_the_tables() -> None:
    described: dict[str, Any] = dict(describe(load("five_bar"), Pace.DEVICE))
    channels = ["coordinate/x", "q/left", "v/left_elbow", "effort/left", "tick"]
    units = [shown_in(unit) for unit in channel_units(channels, described)]
    assert [unit for _, unit in units] == ["mm", "°", "°/s", "N m", ""]
    assert [factor for factor, _ in units] == pytest.approx([1e3, 57.29578, 57.29578, 1.0, 1.0])
    panel = {
        "curves": ["measured"],
        "time_s": [0.0, 1.0],
        "values": {"measured": [1.0, None]},
        "limits": [2.0, None],
    }
    [(title, found)] = shown_signals({"left / rad": panel}).items()
    assert title == "left, °"
    assert found["values"]["measured"] == [pytest.approx(57.29578), None]
    assert found["limits"] == [pytest.approx(114.59156), None]


def test_recordings_beside_the_log_are_listed_with_their_sizes(tmp_path: Path) -> None:
    for name in ("a run.mcap", "b.mcap", "notes.txt"):
        (tmp_path / name).write_bytes(b"x" * 200_000)
    listed = recordings(str(tmp_path / "b.mcap"))
    assert listed == dict.fromkeys((tmp_path / "a run.mcap", tmp_path / "b.mcap"), "0.2 MB")
    assert recordings(None) == {}
