"""`linkwork rig test` with real daemons: a test that passes, Ctrl-C in the next, and what is left."""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.running import answer, command_line, environment, processes_naming
from tests.waiting import PATIENCE_S, wait_for

TESTS = """
import threading

def test_moves(rig):
    "A move is followed."
    record = rig.move({"shoulder": rig.positions["shoulder"] + 0.02})
    assert record.tracking_error("shoulder").max < 1e-3

def test_waits(rig):
    threading.Event().wait()
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        yield Path(made)


@pytest.mark.slow
def test_an_interrupt_ends_the_daemons_and_leaves_a_report(folder: Path) -> None:
    tests, out = folder / "test_rig.py", folder / "out"
    tests.write_text(TESTS)
    words = command_line("rig", "test", str(tests), "--rig", "scara", "--out", str(out), "--json")
    pipe = subprocess.PIPE
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, env=environment(folder / "r")
    ) as run:
        try:
            collected = out / "scara" / "collected.jsonl"

            def waits() -> bool:
                lines = collected.read_text().splitlines() if collected.exists() else []
                begun = any('"begin"' in line and "test_waits" in line for line in lines)
                return begun or run.poll() is not None

            wait_for(waits, "the test that waits")
            run.send_signal(signal.SIGINT)
            said, complained = run.communicate(timeout=PATIENCE_S)
        finally:
            run.kill()
    assert run.returncode == 130, complained
    summary = json.loads(said)
    assert summary["counts"] == {"passed": 1, "failed": 0, "error": 0, "skipped": 0, "not run": 1}
    assert summary["machines"][0]["problem"] == "interrupted"
    told = json.loads((out / "report.json").read_text())
    [motion] = told["machines"][0]["figures"]["motions"]
    assert 0.0 < motion["errors"]["shoulder"]["max"] < 1e-3
    assert "running when the session was aborted" in (out / "report.html").read_text()
    assert "obtained" in json.dumps(told["provenance"])
    assert not processes_naming(str(folder))


@pytest.mark.slow
def test_a_controller_that_is_not_there_is_told_as_such(folder: Path) -> None:
    tests = folder / "test_rig.py"
    tests.write_text(TESTS)
    words = ("--rig", "scara", "--controller", f"ipc://{folder}/none", "--out", str(folder / "out"))
    summary = answer(folder / "r", "rig", "test", str(tests), *words, status=4)
    assert "no answer from" in summary["machines"][0]["problem"]
    assert summary["counts"]["not run"] + summary["counts"]["error"] == 2
