"""Pytest in a process of its own: followed, interrupted, crashed; and what the command refuses.

The fixture `rig` of these tests is an empty one: no daemon is started.
"""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from linkwork.cli.rig_commands import _check, _machines
from linkwork.machine import load
from linkwork.rig.collecting import Collected
from linkwork.rig.rig_tests import RigTests, run_all
from linkwork.rig.running import Done, RigRun, run_tests
from linkwork.terminal.failures import Misuse
from tests.command import linkwork
from tests.waiting import wait_for

CONFTEST = """
import pytest

@pytest.fixture
def rig():
    return None
"""
TESTS = """
import os, signal, threading
import pytest

def test_first(rig):
    "The first is passed."

def test_second(rig):
    "The second says no."
    assert not "no"

def test_third(rig):
    pytest.skip("too hot")

def test_crashes(rig):
    os.kill(os.getpid(), signal.SIGKILL)

def test_waits(rig):
    threading.Event().wait()

def test_last(rig):
    pass
"""


@pytest.fixture
def tests(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    path = tmp_path / "test_some.py"
    path.write_text(TESTS)
    return path


def run(tests: Path, keyword: str | None, show: object = None, *more: str) -> Done:
    rigs = RigRun((str(tests), *more), keyword=keyword)
    return run_tests(rigs, "scara", tests.parent / "out", show or (lambda _: None))  # type: ignore[arg-type]


def test_verdicts_come_while_they_are_made(tests: Path) -> None:
    seen: list[int] = []
    out = tests.parent / "out"
    out.mkdir()
    for name in ("collected.jsonl", "earlier.mcap"):
        (out / name).touch()
    done = run(tests, "first or second or third", lambda so_far: seen.append(len(so_far.tests)))
    assert (done.status, done.problem) == (1, "")
    assert [test.verdict for test in done.collected.tests] == ["passed", "failed", "skipped"]
    assert done.collected.tests[1].requirement == "The second says no."
    assert done.collected.tests[2].reason == "too hot"
    assert seen == sorted(seen)
    assert seen[-1] == 3
    assert not (out / "earlier.mcap").exists(), "what an earlier run left"


def test_a_crash_leaves_what_was_done_before(tests: Path) -> None:
    done = run(tests, "first or crashes or last")
    assert [test.name for test in done.collected.tests] == ["test_first"]
    assert len(done.collected.planned) == 3
    assert done.problem == "pytest was ended by signal SIGKILL in test_some.py::test_crashes"
    assert done.status == 1


def test_ctrl_c_ends_the_test_under_way_and_keeps_what_was_done(tests: Path) -> None:
    def press(so_far: Collected) -> None:
        if so_far.begun.endswith("test_waits") and not pressed:
            pressed.append(True)
            raise KeyboardInterrupt

    pressed: list[bool] = []
    done = run(tests, "first or waits or last", press)
    assert (done.problem, done.status) == ("interrupted", 130)
    assert [test.name for test in done.collected.tests] == ["test_first"]


def test_ctrl_c_while_verdicts_are_shown_loses_none_of_them(tests: Path) -> None:
    written = tests.parent / "out" / "collected.jsonl"

    def begun() -> bool:
        return any('"begin"' in line and "test_waits" in line for line in written.read_text().splitlines())

    def press(so_far: Collected) -> None:
        if so_far.tests and not pressed:
            pressed.append(True)
            wait_for(begun, "the next test, which is not yet taken in")
            raise KeyboardInterrupt

    pressed: list[bool] = []
    done = run(tests, "first or waits or last", press)
    assert (done.problem, done.status) == ("interrupted", 130)
    assert [test.name for test in done.collected.tests] == ["test_first"]
    assert done.collected.begun.endswith("test_waits")


def test_an_interrupt_while_logs_are_read_costs_the_pictures_alone(
    tests: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("linkwork.rig.rig_tests.evidence", interrupted)
    asked = RigTests(
        RigRun((str(tests),), controller="none", keyword="first"),
        [("scara", load("scara"))] * 2,
        tests.parent / "report",
    )
    done = run_all(asked, Console(file=io.StringIO()), ["rig", "test"], lambda: 1.0)
    assert done.status == 130
    assert [machine.name for machine in done.report.machines] == ["scara"]
    assert "The first is passed." in done.written.html.read_text()


def test_what_pytest_cannot_run_is_told_in_its_words(tests: Path) -> None:
    nothing = run(tests, "nonexistent")
    assert (nothing.status, nothing.collected.tests) == (2, [])
    assert "no test was selected" in nothing.problem
    tests.write_text("def broken(:\n")
    broken = run(tests, None)
    assert broken.status == 2
    assert "SyntaxError" in broken.problem


def test_pytest_s_words(tmp_path: Path) -> None:
    rigs = RigRun(("a.py",), pace="host", seed=3, plant="tcp://h:1", keyword="x and y")
    words = rigs.words("c.yaml", tmp_path)
    said = " ".join(words)
    given = ("--rig c.yaml", f"--rig-out {tmp_path}", "--rig-pace host", "--rig-seed 3", "-k x and y")
    for part in (*given, "--rig-plant tcp://h:1"):
        assert part in said
    assert "--rig-controller" not in said
    assert words[-1] == "a.py"
    assert "-c" not in words, "the tests' own pytest.ini holds"
    suite = RigRun((), suite="standard").words("c.yaml", tmp_path)
    assert Path(suite[-1]).parts[-2:] == ("suites", "standard")
    assert "--rootdir" in suite


def test_refusals() -> None:
    with pytest.raises(Misuse, match=r"nowhere\.py::test_x: no such file or folder"):
        _check(RigRun(("nowhere.py::test_x",)))
    with pytest.raises(Misuse, match="no suite 'odd' ships"):
        _check(RigRun((), suite="odd"))
    for given in ({"plant": "htp://x"}, {"controller": "tcp://:"}):
        with pytest.raises(Misuse, match=f"--{next(iter(given))}: .* is not an endpoint"):
            _check(RigRun((), **given))
    _check(RigRun((), controller="none"))
    for configs, every in (([], False), (["scara"], True)):
        with pytest.raises(Misuse, match="name the machine"):
            _machines(configs, every, attached=False)
    with pytest.raises(Misuse, match="are for one machine"):
        _machines(["scara", "delta"], False, attached=True)


@pytest.mark.slow
def test_the_suite_explore_runs_sessions_of_the_rigs_machine(tmp_path: Path) -> None:
    words = ["rig", "test", "--suite", "explore", "--rig", "scara", "-k", "15", "--out", str(tmp_path)]
    done = linkwork(*words)
    assert (done.returncode, "break_no_rule[15]" in done.stdout) == (0, True), done.stdout
