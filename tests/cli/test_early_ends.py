"""Inputs that end early, and files that never end: a named error, neither silence nor waiting."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from linkwork.command_line import call
from linkwork.machine.visuals import file_hash
from linkwork.protocol.errors import EndpointError
from linkwork.protocol.keys import read_public
from linkwork.recordings.recording import read_truth
from linkwork.rig.report.report_files import NoReport, read_report
from linkwork.terminal.failures import run
from tests.command import linkwork


def test_an_early_end_of_input_is_no_interrupt(capsys: pytest.CaptureFixture[str]) -> None:
    @click.command()
    def read() -> None:
        raise EOFError("nothing more to read")

    assert run(lambda: call(read, [], "linkwork"), as_json=True) == 2
    shown = capsys.readouterr()
    assert "END_OF_INPUT" in shown.out
    assert "nothing more to read" in shown.err


@pytest.mark.parametrize("command", ["check", "model"])
def test_a_pipe_or_device_in_place_of_a_file_is_refused(tmp_path: Path, command: str) -> None:
    pipe = tmp_path / "machine.yaml"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        ran = linkwork(command, str(path))
        assert ran.returncode == 2
        assert "a pipe, a socket or a device" in " ".join((ran.stdout + ran.stderr).split())


@pytest.mark.parametrize("command", ["replay", "plot"])
def test_a_pipe_in_place_of_a_recording_is_refused(tmp_path: Path, command: str) -> None:
    pipe = tmp_path / "run.mcap"
    os.mkfifo(pipe)
    ran = linkwork(command, str(pipe))
    assert ran.returncode == 2
    assert "a pipe, a socket or a device" in " ".join((ran.stdout + ran.stderr).split())


def test_pipes_in_place_of_keys_reports_truths_and_sheets_are_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "client.public"
    os.mkfifo(pipe)
    expected = "a pipe, a socket or a device"
    with pytest.raises(EndpointError, match=expected):
        read_public(pipe)
    with pytest.raises(NoReport, match=expected):
        read_report(pipe)
    with pytest.raises(OSError, match=expected):
        read_truth(pipe)
    assert file_hash(pipe) is None
    robot = tmp_path / "arm.urdf"
    robot.write_text('<robot name="arm"><link name="base"/></robot>')
    os.mkfifo(tmp_path / "robot.yaml")
    assert linkwork("import", str(robot), "--json").returncode in (0, 2)


@pytest.mark.parametrize(
    "words",
    [
        ("demo", "scara", "--write", "/proc/nowhere"),
        ("service", "scara", "--output", "/proc/nowhere"),
        ("convert", "scara", "--to", "urdf", "--lossy", "--out", "/proc/nowhere/scara.urdf"),
    ],
)
def test_a_place_that_cannot_be_written_is_a_wrong_usage(words: tuple[str, ...]) -> None:
    ended = linkwork(*words)
    assert ended.returncode == 2
    assert "/proc/nowhere" in ended.stderr
    assert "cannot be written" in ended.stderr
    assert "Traceback" not in ended.stderr
