"""Reports of goals from records: events by output, captured edges with their lengths, the condition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linkwork.controller.exchange.records import layout_for
from linkwork.controller.gateway.records.event_detection import EventDetector
from linkwork.controller.gateway.records.messages import Messages
from linkwork.controller.gateway.records.path_reports import MOST_EDGES, PathReports
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.machine import Machine
from tests.signal_machine import signal_machine

TICKS = 600


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return signal_machine(tmp_path_factory.mktemp("machine"))


def goal_records(machine: Machine) -> tuple[np.ndarray, np.ndarray]:
    """Goal 1, under way from tick 10 to the last one, on a path of 1 s."""
    layout = layout_for(machine)
    words = np.zeros((TICKS, layout.words))
    table = words.view(layout.dtype)[:, 0]
    table["tick"] = np.arange(TICKS)
    table["time_s"] = table["tick"] * 1e-3
    table["fault_tick"] = table["fault_index"] = table["goal_coordinate"] = -1
    table["goal_id"][10:] = 1
    table["goal_status"][10:] = GoalStatus.RUNNING
    table["goal_status"][-1] = GoalStatus.SUCCEEDED
    table["path_length_s"][10:-1] = 1.0
    table["path_s"][10:-1] = (table["tick"][10:-1] - 10) * 1e-3
    return words, table


def result(machine: Machine, words: np.ndarray, plan: dict[str, Any]) -> dict[str, Any]:
    """The goal's result from the records that a gateway looks at."""
    layout, reports = layout_for(machine), PathReports(machine)
    story = EventDetector(layout, Messages(machine))
    empty = {"duration_s": 1.0, "events": [], "captures": {}, "lengths": {}, "until": None, "pauses": False}
    reports.plan(1, empty | plan)
    table = words.view(layout.dtype)[:, 0]
    found = []
    for row in story.rows(words):
        reports.observe(table[row])
        found += [content for _, name, content in story.detect(row, table[row]) if name == "goal.result"]
    (content,) = found
    reports.complete(content)
    return content


def test_events_are_found_by_the_counts_of_their_outputs(machine: Machine) -> None:
    words, table = goal_records(machine)
    events = [
        {"event": 0, "time_s": 0.4, "set": {"gripper": False}},
        {"event": 1, "time_s": 0.1, "set": {"gripper": True, "flow": 1.0}},
        {"event": 2, "time_s": 0.9, "set": {"lamp": True}},
    ]
    table["output_events"][100:, 0], table["output_events"][100:, 2] = 1.0, 1.0
    table["output_events"][400:, 0] = 2.0
    found = result(machine, words, {"events": events})
    assert [(told["event"], told["tick"], told["time_s"]) for told in found["events"]] == [
        (0, 400, pytest.approx(0.401)),
        (1, 100, pytest.approx(0.101)),
        (2, None, None),
    ]
    assert found["text"] == "the end of the path was reached within the goal tolerances"
    assert "captures" not in found


@pytest.mark.parametrize("size", [1, 7, 64, TICKS])
def test_a_result_has_its_duration_and_largest_errors_however_records_come(
    machine: Machine, size: int
) -> None:
    words, table = goal_records(machine)
    table["reference"] = np.nan
    table["reference"][:, :2] = 3.1
    table["coordinate"][:, :2] = 3.1
    table["coordinate"][40, 0] -= 0.25
    table["coordinate"][41, 1] = -3.1  # the short way round
    table["coordinate"][5] = 9.0  # before the goal
    reports, story = PathReports(machine), EventDetector(layout_for(machine), Messages(machine))
    found = []
    for first in range(0, TICKS, size):
        part = words[first : first + size]
        rows = part.view(table.dtype)[:, 0]
        reports.track(rows)
        for row in story.rows(part):
            found += [told for _, name, told in story.detect(row, rows[row]) if name == "goal.result"]
    (content,) = found
    reports.complete(content)
    assert content["took_s"] == pytest.approx(1e-3 * (TICKS - 11))
    first, second = content["largest_errors"]
    assert first == {"coordinate": "shoulder", "value": pytest.approx(0.25), "unit": "rad"}
    assert (second["coordinate"], second["value"]) == ("elbow", pytest.approx(2.0 * np.pi - 6.2))


def test_edges_get_their_place_on_a_slowed_path(machine: Machine) -> None:
    words, table = goal_records(machine)
    s = np.linspace(0.0, 0.5, 21)  # planned for half a second, followed half as fast; length s²
    lengths = {"tool": np.stack([s, s**2, 2.0 * s]).tobytes()}
    table["input"][5:8, 0] = 1.0  # before the goal
    table["input"][200:300, 0] = 1.0
    table["coordinate"][200] = np.arange(table["coordinate"].shape[1])
    captures = {
        "camera": {"input": "part_present", "edge": "both", "of": "tool"},
        "off": {"input": "part_present", "edge": "falling", "of": None},
    }
    plan = {"duration_s": 0.5, "captures": captures, "lengths": lengths}
    found = result(machine, words, plan)
    told = [(edge["capture"], edge["tick"], edge["value"], edge["path_m"]) for edge in found["captures"]]
    assert told == [
        ("camera", 200, True, pytest.approx(0.095**2, abs=1e-12)),
        ("camera", 300, False, pytest.approx(0.145**2, abs=1e-12)),
        ("off", 300, False, None),
    ]
    assert found["captures"][0]["path_time_s"] == pytest.approx(0.095)
    assert found["captures"][0]["coordinates"]["elbow"] == 1.0
    assert found["captures_more"] == 0


def test_edges_are_bounded_and_counted(machine: Machine) -> None:
    words, table = goal_records(machine)
    table["input"][20:-1, 0] = table["tick"][20:-1] % 2
    captures = {"camera": {"input": "part_present", "edge": "both", "of": None}}
    found = result(machine, words, {"captures": captures})
    assert len(found["captures"]) == MOST_EDGES
    assert found["captures_more"] == TICKS - 1 - 21 - MOST_EDGES


@pytest.mark.parametrize(
    ("pauses", "text"),
    [
        (False, "its condition was met; the machine stopped on its path"),
        (True, "the end of the path was reached within the goal tolerances"),
    ],
)
def test_the_condition_is_in_the_result(machine: Machine, pauses: bool, text: str) -> None:
    words, table = goal_records(machine)
    table["until_met"][300:] = 1
    table["until_met"][500:] = 2
    found = result(machine, words, {"until": "part_present", "pauses": pauses})
    assert found["until"] == {"met": 2, "tick": 500, "time_s": 0.5}
    assert found["text"] == text


def test_outputs_that_follow_the_speed_are_no_events(machine: Machine) -> None:
    words, table = goal_records(machine)
    table["output"][50:300, 2] = np.arange(250) * 1e-3
    table["output_followed"][49:299, 2] = 1.0
    table["output"][300:, 2] = 0.2
    story = EventDetector(layout_for(machine), Messages(machine))
    found = [
        content["tick"]
        for row in story.rows(words)
        for _, name, content in story.detect(row, table[row])
        if name == "signal.changed"
    ]
    assert found == [300]
