"""What a session of rig tests collects is read back as it was, also where it broke off."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from station.testing.collected import Collector, Injected, Number, Session, Span, Test, read_collected

SESSION = Session("five_bar", "five_bar", "lockstep", 7, 0.001, "c" * 64, "m" * 64, cannot={"inject": "why"})
TEST = Test(
    "test_stops.py::test_brakes",
    "The machine brakes.",
    "failed",
    numbers=(Number("travel", 0.02, "rad", 0.01, "at most", passed=False),),
    injected=(
        Injected("lost", "wire: drop", from_tick=20, stopping=(Number("left", 0.1, "rad"),), detected="X"),
    ),
    spans=(Span("logs/one-0000.mcap", 3, 90, tracked={"tool.x": 1e-3, "tool.y": None}),),
    faulted=("DEVICE_LOST",),
)


def test_a_session_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "collected.jsonl"
    skipped = Test("test_a.py::test_b[é]", "B", "skipped", reason="it has no brake")
    with Collector(path) as collector:
        collector.plan([TEST.node, skipped.node])
        collector.session(SESSION)
        for test in (TEST, skipped):
            collector.begin(test.node)
            collector.test(test)
        collector.end(1)
    found = read_collected(path)
    assert found.session == SESSION
    assert found.tests == (TEST, skipped)
    assert found.planned == (TEST.node, skipped.node)
    assert found.exit_status == 1


def test_of_a_session_that_broke_off_the_whole_lines_are_left(tmp_path: Path) -> None:
    path = tmp_path / "collected.jsonl"
    with Collector(path) as collector:
        collector.session(SESSION)
        collector.test(TEST)
    path.write_text(path.read_text() + '{"kind": "test", "node": "half')
    found = read_collected(path)
    assert found.tests == (TEST,)
    assert found.exit_status is None


def test_numbers_that_are_none_are_told_as_none(tmp_path: Path) -> None:
    path = tmp_path / "collected.jsonl"
    with Collector(path) as collector:
        collector.test(replace(TEST, numbers=(Number("a", math.nan), Number("b", math.inf))))
    assert [number.value for number in read_collected(path).tests[0].numbers] == [None, None]
