"""Events told from records: each once, the same however the records arrive."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.exchange.faults import FAULTS, FaultCode
from linkwork.controller.exchange.records import layout_for
from linkwork.controller.gateway.records.event_detection import STICKS_TICKS, EventDetector
from linkwork.controller.gateway.records.messages import Messages
from linkwork.controller.motion.limits.effort_limits import Limited
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.supervision.state_machine import State
from linkwork.machine import load
from linkwork.protocol.codes import OverrunCause, ResultCode

MACHINE = load("scara")
LAYOUT = layout_for(MACHINE)


def blank(count: int) -> tuple[Floats, NDArray[Any]]:
    words = np.zeros((count, LAYOUT.words))
    table = words.view(LAYOUT.dtype)[:, 0]
    table["tick"] = np.arange(count)
    table["time_s"] = table["tick"] * 1e-3
    table["fault_tick"] = table["fault_index"] = table["goal_coordinate"] = -1
    return words, table


def told(words: Floats, cuts: list[int] | None = None) -> list[tuple[int, str, dict[str, Any]]]:
    story = EventDetector(LAYOUT, Messages(MACHINE))
    found = []
    for begin, end in itertools.pairwise([0, *sorted(cuts or []), len(words)]):
        batch = words[begin:end]
        table = batch.view(LAYOUT.dtype)[:, 0]
        for row in story.rows(batch):
            found += [(begin + row, name, content) for _, name, content in story.detect(row, table[row])]
    return found


def test_a_run_is_told_in_order() -> None:
    words, table = blank(100)
    table["state"][5:] = State.INACTIVE
    table["state"][10:] = State.ACTIVE
    table["goal_id"][20:] = 1
    table["goal_status"][20:] = GoalStatus.RUNNING
    table["path_length_s"][20:] = 1.5
    table["goal_status"][40:] = GoalStatus.SUCCEEDED
    table["fault"][60:] = FaultCode.VELOCITY_LIMIT
    table["fault_index"][60:], table["fault_tick"][60:] = 1, 60
    table["fault_value"][60:], table["fault_limit"][60:] = 3.1, 2.5
    table["state"][60:] = State.FAULT
    events = told(words)
    assert [(row, name) for row, name, _ in events] == [
        (5, "state"), (10, "state"), (20, "goal.accepted"), (40, "goal.result"), (60, "state"), (60, "fault"),
    ]  # fmt: skip
    assert events[1][2] == {"state": "active", "before": "inactive", "tick": 10, "time_s": 0.01}
    assert events[2][2]["duration_s"] == 1.5
    assert events[3][2]["name"] == "SUCCESSFUL"
    fault = events[5][2]
    assert (fault["name"], fault["where"], fault["value"], fault["limit"]) == (
        "VELOCITY_LIMIT",
        "elbow",
        3.1,
        2.5,
    )
    assert fault["text"] == "a joint is faster than its velocity limit: elbow (3.1, allowed 2.5 rad/s)"
    assert fault["clears_when"] == FAULTS[FaultCode.VELOCITY_LIMIT].clears_when


def test_a_goal_that_ends_in_the_tick_it_began_is_accepted_and_ended() -> None:
    words, table = blank(10)
    table["goal_id"][4:] = 3
    table["goal_status"][4:] = GoalStatus.ENDED
    table["goal_code"][4:] = ResultCode.CANCELLED
    assert [name for _, name, _ in told(words)] == ["goal.accepted", "goal.result"]


def test_a_second_fault_after_a_recovery_is_a_new_event() -> None:
    words, table = blank(30)
    for begin, end in ((5, 10), (15, 20)):
        table["fault"][begin:end] = FaultCode.LINK_LOST
        table["fault_tick"][begin:end] = begin
    assert [(row, name) for row, name, _ in told(words)] == [(5, "fault"), (15, "fault")]


def test_a_limit_that_flickers_is_told_once() -> None:
    words, table = blank(600)
    table["limited"][100:300:7] = Limited.EFFORT
    table["limited"][150:160] |= Limited.EFFORT_RATE
    texts = [content["text"] for _, name, content in told(words) if name == "limited"]
    assert "effort limit" in texts[0]
    assert texts[-1] == ""
    events = [(row, content["limited"]) for row, name, content in told(words) if name == "limited"]
    last = 100 + 7 * (199 // 7)
    assert events == [
        (100, ["effort"]),
        (150, ["effort", "effort_rate"]),
        (159 + STICKS_TICKS, ["effort"]),
        (last + STICKS_TICKS, []),
    ]


@pytest.mark.parametrize("code", [ResultCode.PATH_TOLERANCE_VIOLATED, ResultCode.GOAL_TOLERANCE_VIOLATED])
def test_a_violated_tolerance_names_coordinate_value_and_limit(code: ResultCode) -> None:
    words, table = blank(3)
    table["goal_id"], table["goal_status"], table["goal_code"] = 1, GoalStatus.ENDED, code
    table["goal_coordinate"], table["goal_value"], table["goal_limit"] = 4, 0.0123, 0.01
    result = next(content for _, name, content in told(words) if name == "goal.result")
    assert (result["coordinate"], result["value"], result["limit"]) == ("x", 0.0123, 0.01)
    assert "x" in result["text"]
    assert "0.0123 m" in result["text"]
    assert "0.01 m" in result["text"]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 400), max_size=8))
def test_the_story_does_not_depend_on_how_the_records_arrive(seed: int, cuts: list[int]) -> None:
    random = np.random.default_rng(seed)
    words, table = blank(400)
    for name, most in (("state", 6), ("goal_status", 7), ("fault", 12), ("limited", 16), ("connected", 2)):
        changes = np.sort(random.integers(0, 400, 6))
        for begin, end in itertools.pairwise([*changes, 400]):
            table[name][begin:end] = random.integers(most)
    table["goal_id"] = np.sort(random.integers(0, 4, 400))
    table["fault_tick"] = np.where(table["fault"] > 0, table["tick"] // 50, -1)
    assert told(words, cuts) == told(words)


@pytest.mark.parametrize(
    ("missed", "overrun", "took_ms", "allowed", "says"),
    [
        (0, OverrunCause.LATE_STATE, 8.0, 20.0, "the plant's process was not scheduled"),
        (0, OverrunCause.NONE, 8.0, 20.0, "the plant's process was not scheduled"),
        (
            7,
            OverrunCause.LATE_WAKE,
            8.0,
            20.0,
            "the controller's loop was not scheduled in time (its period took 8.0 ms)",
        ),
        (0, OverrunCause.STOLEN, 8.0, 20.0, "the controller's loop was not scheduled in time"),
        (0, OverrunCause.LATE_WAKE, 1.0, 3.0, "the plant's process was not scheduled"),
        (1, OverrunCause.STOLEN, 2.2, 1000.0, "the plant's process was not scheduled"),
    ],
)
def test_a_lost_link_names_the_side_that_was_late(
    missed: int, overrun: OverrunCause, took_ms: float, allowed: float, says: str
) -> None:
    _, table = blank(1)
    table["fault"], table["fault_tick"], table["tick"] = FaultCode.LINK_LOST, 5, 5
    table["fault_value"] = table["fault_limit"] = allowed
    table["missed"], table["overrun"] = missed, overrun
    table["phase_ns"][:, 1] = 1e6 * took_ms
    text = Messages(MACHINE).fault(table[0])["text"]
    assert says in text
    assert "--pace lockstep" in text
    table["tick"] = 6  # a later record does not show why
    assert Messages(MACHINE).fault(table[0])["text"].endswith("periods)")


def test_every_fault_has_words() -> None:
    _, table = blank(1)
    for code, kind in FAULTS.items():
        table["fault"], table["fault_tick"], table["fault_index"] = code, 0, 0 if kind.index else -1
        table["fault_limit"], table["fault_value"] = np.inf, 1.0
        fault = Messages(MACHINE).fault(table[0])
        assert fault["text"].startswith(kind.text)
        if kind.index in ("constraint", "load", "switch"):
            continue  # the machine here has none
        assert (fault["where"] is not None) == bool(kind.index)
        assert fault["limit"] is None
        assert " or " not in fault["unit"]
