"""What the page shows: poses of all bodies, sets of jogged coordinates, and states in words."""

from typing import Any

import numpy as np
import pytest

from linkwork.controller.gateway.requests.describe import describe
from linkwork.drawing.body_frames import BodyFrames
from linkwork.drawing.skeleton import Skeleton
from linkwork.machine import load
from linkwork.machine.loading import drawable
from linkwork.protocol.codes import Pace

pytest.importorskip("nicegui", reason="the console's extra is not installed")

from linkwork.console.jog_groups import jog_groups
from linkwork.console.machine_feed import flat
from linkwork.console.scene_content import scene_content
from linkwork.console.state_words import clearing, doing, fault_lines, limited_by, shown


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
    assert rows["value"] == "3 rad/s"
    assert "flight record" not in rows
