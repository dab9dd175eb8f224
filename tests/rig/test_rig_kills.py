"""Daemons that are killed in a record: detection, delay and way; failures, noted numbers and the index."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from linkwork.machine import load, shipped_path
from linkwork.reports.provenance import provenance
from linkwork.rig.collected import Number, TestFindings
from linkwork.rig.collecting import Collected, read_collected
from linkwork.rig.report.report_data import RigReport
from linkwork.rig.report.report_files import write_index, write_report
from linkwork.rig.series import MeasuredValue
from tests.rig.rig_results import reported, short_log
from tests.rig.test_rig_plugin import found, rig_pytest

SCARA = load("scara")
KILLS = '''
import pytest

def killed(rig, role):
    with rig.recording(role):
        rig.robot.send(rig.motions.slow)
        rig.pass_time(0.2)
        rig.kill(role)
    return rig.record

def test_plant(rig):
    """The death of the plant is found."""
    record = killed(rig, "plant")
    assert record.kills[0]["of"] == "plant"
    record.fault("LINK_LOST").within(ticks=1000)
    with pytest.raises(AssertionError, match="a simulated machine ends with its plant"):
        record.stopped_within(10.0)
    rig.restart("plant")

@pytest.mark.rig(real_time=True)
@pytest.mark.parametrize("role", ["controller", "loop"])
def test_watchdog(rig, role):
    """The plant brakes when nothing commands it."""
    record = killed(rig, role)
    record.fault("DEVICE_WATCHDOG").within(ticks=1000)
    record.stopped_within(10.0)
    if role == "controller":
        rig.restart(role)
    rig.ready()

@pytest.mark.rig(real_time=True)
def test_gateway(rig):
    """The loop stops the machine by itself."""
    record = killed(rig, "gateway")
    record.noted("way", record.stopping_distance("shoulder"), "rad")
    assert record.stopping_distance("shoulder") < 1.0
    record.stopped_within(10.0)
    rig.restart("controller")

def test_follows_afterwards(rig):
    """The next test gets the rig ready, and its record holds this test alone."""
    record = rig.run(rig.motions.slow)
    record.succeeded()
    assert record.kills == []

def test_fails(rig):
    """A failure says why."""
    record = rig.run(rig.motions.slow)
    assert record.tracking_error("shoulder").max < 1e-15, "the shoulder " + "w" * 400
'''


def ran(folder: Path, pace: str) -> tuple[subprocess.CompletedProcess[str], Collected]:
    """These tests on a SCARA that is slow enough for a loaded computer."""
    (folder / "pytest.ini").touch()
    (folder / "test_kills.py").write_text(KILLS)
    text = shipped_path("scara").read_text()
    assert "period_s: 0.001" in text
    (folder / "scara.yaml").write_text(text.replace("period_s: 0.001", "period_s: 0.004"))
    done = rig_pytest(folder, "--rig", "scara.yaml", "--rig-pace", pace, "--rig-out", "out")
    return done, read_collected(folder / "out" / "collected.jsonl")


@pytest.mark.slow
def test_a_dead_plant_in_lockstep_and_a_failure_that_says_why(tmp_path: Path) -> None:
    done, collected = ran(tmp_path, "lockstep")
    verdicts = {test.name: test.verdict for test in collected.tests if test.verdict != "skipped"}
    assert verdicts == {"test_plant": "passed", "test_follows_afterwards": "passed", "test_fails": "failed"}
    (seen,) = found(collected, "test_plant").faults
    assert (seen.injected["of"], seen.found, seen.reaction) == ("plant", "LINK_LOST", "fault")
    assert seen.delay_ticks is not None
    summary = done.stdout.partition("= rig tests =")[2]
    assert "the shoulder " + "w" * 400 in summary
    assert re.search(r"tracking_error\(shoulder\)\.max = \S+ rad, not < 1e-15", summary)


@pytest.mark.slow
def test_deaths_in_real_time_have_reaction_times_and_ways(tmp_path: Path) -> None:
    done, collected = ran(tmp_path, "device")
    failed = [test.name for test in collected.tests if test.verdict != "passed"]
    assert failed == ["test_fails"], done.stdout
    for role in ("controller", "loop"):
        test = found(collected, f"test_watchdog[{role}]")
        (seen,) = test.faults
        assert (seen.found, seen.reaction, seen.delay_ticks) == ("DEVICE_WATCHDOG", "brake", 19)
        assert seen.stopping_s is not None
        assert seen.stopping_distance["shoulder"] > 0.0
        assert [number.name for number in test.numbers] == ["stopping_time"]
        assert test.numbers[0].value > seen.stopping_s
    numbers = {number.name: number for number in found(collected, "test_gateway").numbers}
    assert 0.0 < numbers["way"].value < 1.0
    assert numbers["way"].value == numbers["stopping_distance(shoulder)"].value
    assert numbers["stopping_time"].value > 0.0


def test_a_number_is_noted_once_and_with_its_limit_where_it_has_one() -> None:
    findings = TestFindings("node", "name", "requirement")
    alone = MeasuredValue(0.2, "alone", "m", findings).note()
    compared = MeasuredValue(0.1, "compared", "m", findings).note()
    assert alone.findings is findings
    assert compared < 1.0
    assert [(each.name, each.relation) for each in findings.numbers] == [("alone", ""), ("compared", "<")]
    assert findings.numbers[1] == Number("compared", 0.1, "m", "<", 1.0, holds=True)


def test_a_long_failure_wraps_and_noted_numbers_are_shown(tmp_path: Path) -> None:
    made = reported(SCARA, short_log(SCARA, tmp_path), tmp_path, "lockstep")
    failure = next(test for test in made.tests if test.verdict == "failed")
    failure.text = (
        "def test():\n>   f()\nE   AssertionError: first\nE     " + "m" * 3000 + "\nE    +  where x\n"
    )
    MeasuredValue(0.0123, "overshoot", "m", failure).note()
    written = write_report(RigReport([made], provenance([], 1.0)), tmp_path)
    page = written.html.read_text()
    assertion = re.search(r'<p class="assertion bad">(.*?)</p>', page, re.DOTALL)
    assert assertion is not None
    assert assertion[1] == "AssertionError: first\n" + "m" * 3000
    assert "12.3\u202fmm" in page
    assert '<property name="overshoot" value="0.0123 m" />' in written.junit.read_text()


def test_an_index_lists_all_reports_newest_first(tmp_path: Path) -> None:
    made = reported(SCARA, short_log(SCARA, tmp_path), tmp_path, "lockstep")
    for name, when in (("a", "2026-01-01 10:00 UTC"), ("b", "2026-01-02 10:00 UTC")):
        (tmp_path / name).mkdir()
        write_report(RigReport([made], provenance([], 1.0) | {"made": when}), tmp_path / name)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "report.json").write_text("{}")
    page = write_index(tmp_path).read_text()
    assert re.findall('href="([^"]+)"', page) == [
        "b/report.html#machine-scara",
        "a/report.html#machine-scara",
    ]
    assert "2 reports" in page
    assert "test_stop[&lt;a&gt;]" in page
