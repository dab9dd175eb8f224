"""What a session of rig tests found is read back as it was, also where it broke off."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from linkwork.rig.collected import FaultSeen, Number, Span, TestFindings, Tolerated
from linkwork.rig.collecting import Collecting, read_collected

NUMBER = Number("tracking_error(x).max", 0.02, "m", "<", 0.01, holds=False)
FAULT = FaultSeen(
    {"wire": "drop"}, ("LINK_LOST",), "LINK_LOST", "text", 3, 0.003, 5, "braked", 0.2, {"left": 0.1}, True
)


def findings(folder: Path) -> TestFindings:
    return TestFindings(
        "test_stops.py::test_brakes",
        "test_brakes",
        "The machine brakes.",
        "five_bar",
        "failed",
        numbers=[NUMBER],
        faults=[FAULT],
        tolerated=[Tolerated({"sensor": "noise"}, "observer", NUMBER)],
        spans=[Span(str(folder / "logs" / "one-0000.mcap"), 3, 90, tracked={"x": 1e-3, "y": None})],
    )


def test_a_session_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "collected.jsonl"
    failed = findings(tmp_path)
    skipped = TestFindings("test_a.py::test_b[é]", "test_b", "B", verdict="skipped", reason="it has no brake")
    with Collecting(path) as collecting:
        collecting.plan([failed.node, skipped.node])
        collecting.rig("five_bar", {"pace": "lockstep"})
        for test in (failed, skipped):
            collecting.begin(test.node)
            collecting.test(test)
        collecting.end(1)
    found = read_collected(path)
    there = replace(failed, spans=[replace(failed.spans[0], log="logs/one-0000.mcap")])
    assert found.tests == [there, skipped]
    assert found.rigs == {"five_bar": {"pace": "lockstep"}}
    assert found.planned == (failed.node, skipped.node)
    assert (found.begun, found.exit_status, found.no_rig) == (skipped.node, 1, None)


def test_of_a_session_that_broke_off_the_whole_lines_are_left(tmp_path: Path) -> None:
    path = tmp_path / "collected.jsonl"
    with Collecting(path) as collecting:
        collecting.test(findings(tmp_path))
        collecting.no_rig(4, "nobody there")
    path.write_text(path.read_text() + '{"kind": "test", "node": "half')
    found = read_collected(path)
    assert [test.name for test in found.tests] == ["test_brakes"]
    assert (found.exit_status, found.no_rig) == (None, (4, "nobody there"))


def test_numbers_that_are_none_stay_none(tmp_path: Path) -> None:
    path = tmp_path / "collected.jsonl"
    strange = replace(findings(tmp_path), numbers=[replace(NUMBER, value=math.inf)])
    with Collecting(path) as collecting:
        collecting.test(strange)
    assert math.isnan(read_collected(path).tests[0].numbers[0].value)
