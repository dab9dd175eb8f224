"""Requirements on signals in rig tests, and their part of the report."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from linkwork.controller.exchange.orders import SetOutputs
from linkwork.machine import Machine
from linkwork.recordings.recording import read_recording
from linkwork.reports.chart import spans_on
from linkwork.reports.provenance import provenance
from linkwork.rig.collected import Span, TestFindings
from linkwork.rig.collecting import read_collected
from linkwork.rig.record import RigRecord
from linkwork.rig.report.evidence import evidence
from linkwork.rig.report.logs import Logs
from linkwork.rig.report.report_data import MachineReport, RigReport
from linkwork.rig.report.rig_page import page
from tests.recordings.recorded import InProcessRecorder
from tests.rig.test_rig_plugin import PAGE, rig_pytest
from tests.rig.test_rig_report import Page
from tests.signal_machine import signal_machine

GRIPPER, LAMP, FLOW = range(3)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return signal_machine(tmp_path_factory.mktemp("machine"))


@pytest.fixture(scope="module")
def log(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The gripper closes in tick 20, the part is seen in tick 51, the flow rises in tick 81."""
    run = InProcessRecorder(machine, tmp_path_factory.mktemp("log"))
    run.run(0.02)
    run.order(SetOutputs(((GRIPPER, 1.0),)))
    run.run(0.03)
    run.simulator.measured.inputs[0] = 1.0
    run.run(0.03)
    run.order(SetOutputs(((FLOW, 2.0),)))
    run.run(0.03)
    return run.close()


@pytest.fixture
def record(machine: Machine, log: Path) -> RigRecord:
    findings = TestFindings("test_a.py::test_b", "test_b", "It grips.")
    return RigRecord(machine, read_recording(log).ticks, findings=findings)


def test_changes_are_required_with_their_delay(record: RigRecord) -> None:
    closed = record.signal("gripper").changes_to("on", within_s=0.03)
    seen = record.signal("part_present").changes_to(True, within_s=0.031, after=closed)
    assert seen.tick - closed.tick == 30
    assert (closed.text, seen.value) == ("gripper on", 1.0)
    record.signal("gripper").stays("on", after=closed)
    record.signal("part_present").stays("off", for_s=0.04)
    assert record.signal("flow").reaches(1.5).tick == record.signal("flow").changes[0].tick
    assert record.signal("flow").values.max == 2.0
    assert record.findings is not None
    first, second = record.findings.numbers[:2]
    assert first.holds
    assert second.name == "part_present on after gripper on"
    assert second.value == pytest.approx(0.03)


def test_what_the_signal_did_instead_is_told(record: RigRecord) -> None:
    closed = record.signal("gripper").changes_to("on")
    with pytest.raises(AssertionError, match=r"part_present on after gripper on: 0.03 s; 0.01 s are allowed"):
        record.signal("part_present").changes_to("on", within_s=0.01, after=closed)
    with pytest.raises(AssertionError, match=r"lamp on was expected; lamp off to the end of the record"):
        record.signal("lamp").changes_to("on")
    with pytest.raises(AssertionError, match=r"flow 2.5 l/min was expected; flow 2 l/min at 0.0\d+ s"):
        record.signal("flow").reaches(2.5)
    with pytest.raises(AssertionError, match=r"gripper off was expected throughout; gripper on at 0.0\d+ s"):
        record.signal("gripper").stays("off")
    with pytest.raises(KeyError, match="there is no signal 'griper', did you mean 'gripper'"):
        record.signal("griper")
    with pytest.raises(ValueError, match="allowed: on or off"):
        record.signal("gripper").stays(0.5)


def test_the_report_draws_signals_and_lists_their_changes(machine: Machine, log: Path) -> None:
    stuck = {"signal": "stuck", "kind": "signal.stuck", "of": "lamp", "from_tick": 40}
    test = TestFindings("test_a.py::test_b", "test_b", "It grips.", verdict="passed", injected=[stuck])
    test.spans = [Span(log.name, 0, 10_000, "pick")]
    calm = replace(test, node="test_a.py::test_c", injected=[], spans=[Span(log.name, 25, 45)])
    made = MachineReport(machine.name, {}, [test, calm], machine=machine)
    made.evidence = evidence(machine, made.tests, Logs(log.parent))
    (run,) = made.evidence.signals
    assert [signal.name for _, signal in run.changes] == ["gripper", "part_present", "flow"]
    assert made.evidence.figures()["signals"][0]["changes"] == 3
    shown = Page(page(RigReport([made], provenance([], 1.0))))
    for text in (
        "Digital signals",
        "flow",
        "0.5 l/min → 2 l/min",
        "off → on",
        "signal: stuck",
        "value / bar",
    ):
        assert text in shown.text


def test_bands_are_the_spans_in_which_a_signal_is_on() -> None:
    values = np.array([1.0, 1.0, 0.0, np.nan, 1.0, 1.0])
    assert spans_on(np.arange(6.0), values) == [(0.0, 2.0), (4.0, 5.0)]


@pytest.mark.slow
def test_the_pages_example_with_a_gripper_runs_as_printed(tmp_path: Path) -> None:
    example = re.search(r"```python\n(# test_gripper\.py\n.*?)```", PAGE.read_text(), re.DOTALL)
    assert example is not None
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "test_gripper.py").write_text(example[1])
    ran = rig_pytest(tmp_path, "--rig", "scara_gripper", "--rig-out", "out")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    picks, stuck = read_collected(tmp_path / "out" / "collected.jsonl").tests
    assert picks.numbers[0].name == "gripper on after the beginning"
    assert stuck.faults[0].found == "GOAL_TOLERANCE_VIOLATED"
