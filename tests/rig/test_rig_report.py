"""The report of rig tests: one page that needs nothing else, JUnit XML, and numbers that can be compared."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwork.cli.options.study import RigCompareOptions
from linkwork.cli.rig_commands import compare
from linkwork.machine import load
from linkwork.reports.chart import HEIGHT, WIDTH, Chart
from linkwork.reports.pages import prose
from linkwork.reports.provenance import provenance, without_folders, without_paths
from linkwork.reports.quantities import amount
from linkwork.rig.report.evidence import fault_windows
from linkwork.rig.report.logs import Logs
from linkwork.rig.report.report_data import MachineReport, RigReport
from linkwork.rig.report.report_files import (
    NoReport,
    ReportFiles,
    differences,
    junit,
    read_report,
    write_report,
)
from linkwork.rig.report.rig_page import page
from tests.rig.rig_results import clocked_log, findings, reported, short_log

SCARA = load("scara")
VOID = {"meta", "br", "hr", "path", "line", "rect", "circle"}


class Page(HTMLParser):
    """The text, the elements and what they refer to; unclosed elements raise."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = ""
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rig")


@pytest.fixture(scope="module")
def lockstep(folder: Path) -> MachineReport:
    return reported(SCARA, short_log(SCARA, folder), folder, "lockstep")


@pytest.fixture(scope="module")
def report(lockstep: MachineReport) -> RigReport:
    return RigReport([lockstep], provenance(["rig", "test", "/home/me/mine.py", "--out=/a/b"], 3.0))


def test_the_page_names_every_test_and_needs_nothing_else(report: RigReport) -> None:
    text = page(report)
    shown = Page(text)
    for test in findings(Path("log"), "q"):
        assert test.node in shown.text
        assert test.requirement in shown.text
    assert "test_never_done" in shown.text
    for told in ("✓ passed", "✕ failed", "– skipped", "✕ error", "✕ not run", "it has no force"):
        assert told in shown.text
    assert not {"script", "link", "img", "iframe", "object", "embed"} & set(shown.tags)
    refers = [value for name, value in shown.attributes if name in ("src", "href", "xlink:href", "data")]
    assert all(value.startswith("#") for value in refers)
    assert not re.search(r"url\(|@import|https?://", text)
    assert len(text) < 200_000


def test_names_are_text_in_the_page_and_equal_data_give_equal_bytes(lockstep: MachineReport) -> None:
    hostile = "<script>alert('&')</script>{{ 7 * 7 }}"
    tests = [replace(test, requirement=hostile, reason=hostile) for test in lockstep.tests]
    one = replace(
        lockstep, name=hostile, problem=hostile, tests=tests, facts={"law": hostile, hostile: hostile}
    )
    made = RigReport([one, lockstep], provenance([hostile], 3.0))
    text = page(made)
    shown = Page(text)
    assert "script" not in shown.tags
    assert shown.text.count(hostile) > 2 * len(tests)
    assert page(made) == text


def test_the_page_tells_numbers_beside_limits_and_what_came_of_faults(report: RigReport) -> None:
    told = Page(page(report)).text
    for part in ("21\u202fµrad", "< 1\u202fmrad", "400\u202fms", "≤ 300\u202fms"):
        assert part in told
    for part in ("sensor: bias, elbow", "by 0.01\u202frad", "SENSOR_DISAGREES", "2 ticks", "3 allowed"):
        assert part in told
    assert "12\u202fmrad, shoulder" in told
    assert "500\u202fµm, lift" in told
    assert "tolerated by design" in told
    assert "fewer than <20> in a row" in told
    assert "E  no & <x>" in told
    assert "Lockstep: no clock" in told
    assert "tests/a.py" in told
    assert str(Path.cwd()) not in told
    assert "linkwork rig test mine.py --out=b" in told
    assert "FIFO 60" in told


def test_what_was_followed_is_drawn_from_the_log_with_its_limit(lockstep: MachineReport) -> None:
    [motion] = lockstep.evidence.motions
    [coordinate] = motion.coordinates
    assert coordinate.limit == 1e-3
    assert 0.0 < coordinate.rms <= coordinate.worst
    [energy] = lockstep.evidence.energies
    assert energy.exchanged > 1e-3
    assert np.abs(energy.left_over).max() < 1e-9 * energy.exchanged, "the sensors of the SCARA are ideal"
    shown = Page(page(RigReport([lockstep], provenance([], 1.0))))
    assert shown.tags.count("svg") == 5, "one of them around the fault that is borne"
    assert "time / s" in shown.text
    assert "limit 1\u202fmrad" in shown.text


def test_around_a_fault_the_joint_concerned_is_drawn_with_what_happened_when(folder: Path) -> None:
    tests = findings(short_log(SCARA, folder / "around"), "shoulder")
    bias, drop = tests[1], tests[2]
    bias.spans = list(drop.spans)
    [found, borne] = fault_windows(SCARA, [bias, drop], Logs(folder))
    assert (found.joint, found.found, found.unit) == ("elbow", "SENSOR_DISAGREES", "rad/s")
    assert 0.0 < found.detected_s < found.at_rest_s
    assert found.time_s[0] < 0.0 < found.time_s[-1]
    assert np.isfinite(found.velocity).all()
    assert not np.isfinite(found.predicted).any()
    assert borne.found == ""
    assert np.isnan(borne.detected_s)


def test_with_a_clock_there_are_histograms(folder: Path) -> None:
    made = reported(SCARA, clocked_log(SCARA, folder), folder, "device")
    timing = made.evidence.timing
    assert timing is not None
    assert (timing.ticks, timing.lost, timing.missed) == (400, 1, 2)
    assert len(timing.period_us) == 397, "neither from nor to the tick without a state"
    assert np.median(timing.period_us) == 1000.0
    assert timing.latency_us.max() == pytest.approx(80.0)
    shown = Page(page(RigReport([made], provenance([], 1.0))))
    assert shown.tags.count("svg") == 7
    assert "latency, state to command" in shown.text
    assert "no clock" not in shown.text


def test_junit_has_a_suite_a_machine_and_a_case_a_test(report: RigReport) -> None:
    root = ElementTree.fromstring(junit(report).partition("\n")[2])
    assert root.tag == "testsuites"
    [suite] = root
    counted = {name: suite.get(name) for name in ("name", "tests", "failures", "errors", "skipped")}
    assert counted == {"name": "scara", "tests": "7", "failures": "1", "errors": "2", "skipped": "1"}
    assert {each.get("name"): each.get("value") for each in suite.findall("properties/property")}[
        "seed"
    ] == "7"
    cases = {case.get("name"): case for case in suite.findall("testcase")}
    assert len(cases) == 7
    follows = cases["test_follows"]
    assert follows.get("classname") == "scara.test_motion"
    assert float(follows.get("time", "nan")) == 0.5
    told = {each.get("name"): each.get("value") for each in follows.findall("properties/property")}
    assert told["requirement"] == "It follows."
    [number] = [value for name, value in told.items() if name and name.startswith("tracking_error")]
    assert number == "2.1e-05 rad < 0.001 rad"
    kinds = {name: [child.tag for child in case if child.tag != "properties"] for name, case in cases.items()}
    assert kinds["test_follows"] == []
    assert kinds["test_stop[<a>]"] == ["failure"]
    assert kinds["test_force"] == ["skipped"]
    assert kinds["test_other"] == kinds["test_never_done"] == ["error"]
    failure = cases["test_stop[<a>]"].find("failure")
    assert failure is not None
    assert (failure.get("message"), failure.text) == ("no & <x>", "E  no & <x>")


def written(report: RigReport, folder: Path) -> ReportFiles:
    folder.mkdir(exist_ok=True)
    return write_report(report, folder)


def test_two_equal_runs_differ_in_their_provenance_alone(
    report: RigReport, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = written(report, tmp_path / "one")
    again = reported(SCARA, short_log(SCARA, tmp_path), tmp_path, "lockstep", seconds=0.9)
    other = written(RigReport([again], provenance(["rig"], 99.0)), tmp_path / "other")
    first, second = json.loads(one.json.read_text()), json.loads(other.json.read_text())
    assert first.pop("provenance") != second.pop("provenance")
    assert first == second
    assert compare(RigCompareOptions(one=one.json, other=other.json)) == 0
    assert capsys.readouterr().out == "the same\n"


def test_a_number_that_differs_is_told_with_its_place(
    report: RigReport, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = written(report, tmp_path / "one").json
    changed = read_report(one)
    changed["machines"][0]["tests"][0]["numbers"][0]["value"] *= 1.001
    changed["machines"][0]["tests"].pop()
    other = tmp_path / "other.json"
    other.write_text(json.dumps(changed))
    assert compare(RigCompareOptions(one=one, other=other)) == 1
    told = capsys.readouterr().out.splitlines()
    place = "scara / tests / test_motion.py::test_follows / numbers / tracking_error("
    assert told[0].startswith(place)
    assert "2.1e-05" in told[0]
    assert told[1].startswith("scara / tests / test_last.py::test_never_done: {")
    assert told[1].endswith("not there")
    assert told[2] == "2 differences"
    assert len(differences(read_report(one), changed, tolerance=0.01)) == 1


def test_what_is_no_report_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "b.json").write_text("<")
    for name, says in (("a.json", "format"), ("b.json", "not JSON"), ("c.json", "cannot be read")):
        with pytest.raises(NoReport, match=says):
            read_report(tmp_path / name)
    with pytest.raises(NoReport, match="cannot be read"):
        compare(RigCompareOptions(one=tmp_path / "c.json", other=tmp_path / "c.json"))


def test_a_log_that_is_gone_costs_its_pictures_alone(folder: Path) -> None:
    made = reported(SCARA, folder / "gone.mcap", folder, "lockstep")
    assert not made.evidence.motions
    assert "It follows." in Page(page(RigReport([made], provenance([], 1.0)))).text


def test_quantities_are_told_with_prefixes_and_round_limits_shortly() -> None:
    given = ((2.78e-7, "m"), (1e-3, "rad"), (-31.25, "N m"), (3, "ticks"))
    told = [amount(value, unit) for value, unit in given]
    assert told == ["278\u202fnm", "1\u202fmrad", "−31.2\u202fN m", "3\u202fticks"]
    assert amount(1e-4, "1") == "10⁻⁴"
    assert amount(3.14e-14, "1") == "3.14·10⁻¹⁴"
    assert amount(-6.7e-16, "rad") == "0\u202frad", "round-off"
    assert amount(5e-11, "m") == "50\u202fpm"
    assert amount(None, "m") == amount(float("nan"), "m") == "–"


def drawn(svg: str) -> list[list[tuple[float, float]]]:
    """The points of each curve with a colour of lines, in the units of the drawing."""
    curves = re.findall(r'<path d="([^"]*)" style="[^"]*stroke: var\(--h\d\)', svg)
    return [[(float(x), float(y)) for x, y in re.findall(r"[ML] ([\d.-]+) ([\d.-]+)", d)] for d in curves]


def test_a_long_line_is_thinned_and_keeps_its_peaks() -> None:
    x = np.arange(100_000.0)
    y = np.sin(x / 5000.0)
    y[73210] = 5.0
    y[12340] = np.nan
    chart = Chart("Motion", "time / s", "position / m")
    chart.line("x", x, y)
    [points] = drawn(chart.svg)
    assert len(points) < 1000
    top = min(points, key=lambda point: point[1])
    left, right = points[0][0], points[-1][0]
    assert (top[0] - left) / (right - left) == pytest.approx(0.7321, abs=0.002)
    again = Chart("Motion", "time / s", "position / m")
    again.line("x", x, y)
    assert again.svg == chart.svg, "equal input gives equal bytes"


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(-1e12, 1e12) | st.just(float("nan")), min_size=1, max_size=40),
    st.text(max_size=8),
    st.booleans(),
    st.booleans(),
)
def test_any_line_is_drawn_within_its_chart(values: list[float], name: str, log: bool, level: bool) -> None:
    chart = Chart("<script>", "time / s", f"{name} / m", log=log)
    chart.line(name, np.arange(float(len(values))), np.array(values))
    if level:
        chart.limit(1e-3, name)
        chart.moment(0.0, name)
    shown = Page(chart.svg)
    assert set(shown.tags) <= {"svg", "title", "g", "path", "text", "defs"}
    for x, y in chain.from_iterable(drawn(chart.svg)):
        assert 0.0 <= x <= 0.75 * WIDTH + 0.1
        assert 0.0 <= y <= 0.75 * HEIGHT + 0.1


def test_folders_of_this_computer_are_left_out() -> None:
    assert without_folders("/home/me/tests/test_a.py") == "test_a.py"
    assert without_folders("tcp://127.0.0.1:5555") == "tcp://127.0.0.1:5555"
    assert without_paths(f"{Path.home()}/x.py at 0x7f00, /tmp/abc/y.py") == "x.py at 0x…, …/y.py"


def test_words_of_code_in_a_sentence_are_set_as_code() -> None:
    assert prose("`stop` from <anybody>") == "<code>stop</code> from &lt;anybody&gt;"
    assert prose("half a ` tick") == "half a ` tick"
