"""A machine that a hand moves leads another one: the demo, the command and the example, with real daemons."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from linkwork import Robot
from linkwork.demos.demo_run import moved_by_hand
from linkwork.launch.daemons import Rig
from linkwork.recordings.log_file import read_ticks
from tests.system.running import (
    answer,
    command_line,
    environment,
    linkwork,
    patient_five_bar,
    patient_machine,
)
from tests.waiting import wait_for

pytestmark = pytest.mark.slow
EXAMPLE = Path(__file__).parents[2] / "docs/examples/leader_follower.py"


@pytest.fixture(scope="module")
def both(folder: Path) -> Iterator[Path]:
    """A SCARA, and a five-bar moved by a hand, in one runtime folder."""
    scara, five_bar = str(patient_machine(folder)), moved_by_hand(str(patient_five_bar(folder)), folder)
    with ExitStack() as stack:
        for name, path in (("scara", scara), ("five_bar", five_bar)):
            daemon = [path, "--realtime", "ignore"]
            rig = stack.enter_context(Rig(name, daemon, [*daemon, "--log", str(folder / "log")], folder))
            rig.wait_ready(lambda _: None)
        yield folder


def place(robot: Robot) -> np.ndarray:
    """Return x and y, m."""
    return np.array([robot.state["coordinates"][name] for name in "xy"])


def follows(folder: Path, words: list[str], leader_floats: bool) -> None:
    """Run a program, watch the SCARA follow the five-bar, and interrupt the program."""
    own, its = (f"ipc://{folder}/{name}/requests.ipc" for name in ("scara", "five_bar"))
    with Robot(endpoint=own, lease=False) as scara, Robot(endpoint=its, lease=False) as led:
        begun = place(scara)
        program = subprocess.Popen(
            words, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:

            def until(condition: Callable[[], bool], what: str) -> None:
                wait_for(lambda: program.poll() is not None or condition(), what)
                assert program.poll() is None, program.communicate()

            until(lambda: scara.state["stream"] is not None, "the stream")
            if leader_floats:
                there = place(led)
                answer(folder, "law", "float", "--robot", "five_bar")
            until(lambda: float(np.abs(place(scara) - begun).max()) > 0.02, "a follower that moves")
            if leader_floats:
                until(
                    lambda: float(np.abs(place(scara) - begun - (place(led) - there)).max()) < 0.02,
                    "a follower beside its leader",
                )
        finally:
            program.send_signal(signal.SIGINT)
            out, err = program.communicate(timeout=60)
        assert program.returncode == 0, (out, err)
        assert "Traceback" not in err
        wait_for(lambda: scara.state["stream"] is None, "the end of the stream")
    for name in ("scara", "five_bar"):
        answer(folder, "disable", "--robot", name)


def test_the_command_follows_another_machine(both: Path) -> None:
    answer(both, "enable", "--robot", "five_bar")
    answer(both, "enable", "--robot", "scara")
    answer(both, "move", "x=0", "y=0.33", "--robot", "scara")
    refused = linkwork(both, "stream", "--robot", "scara", "--from", "five_bar", "--map", "x=knee")
    assert refused.returncode == 2
    assert "knee" in refused.stderr
    words = command_line("stream", "--robot", "scara", "--from", "five_bar", "--map", "x=x,y=y")
    follows(both, words, leader_floats=True)


def test_the_example_of_the_documentation_follows(both: Path) -> None:
    answer(both, "enable", "--robot", "scara")
    answer(both, "move", "x=0", "y=0.33", "--robot", "scara")
    follows(both, [sys.executable, str(EXAMPLE), "five_bar", "scara"], leader_floats=False)


def test_a_file_and_a_pipe_are_followed(both: Path) -> None:
    answer(both, "enable", "--robot", "scara")
    answer(both, "move", "x=0", "y=0.33", "--robot", "scara")
    with Robot(endpoint=f"ipc://{both}/scara/requests.ipc", lease=False) as scara:
        begun, log, since = place(scara), Path(scara.status["log"]), scara.state["tick"]
    x0, y0 = begun.tolist()
    times = 0.02 * np.arange(51)
    rows = [(at, x0 + 0.005 * (1.0 - math.cos(2.0 * math.pi * at)), y0) for at in times.tolist()]
    table = "\n".join(["time_s,x,y", *(",".join(map(repr, row)) for row in rows)]) + "\n"
    path = both / "way.csv"
    path.write_text(table)
    done = answer(both, "stream", str(path), "--rate", "50", "--robot", "scara")
    assert (done["name"], done["set_points"]) == ("SUCCESSFUL", len(rows))

    words = command_line("stream", "-", "--rate", "50", "--robot", "scara", "--json")
    program = subprocess.Popen(
        words, env=environment(both), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert program.stdin is not None
    program.stdin.write("x,y\n")
    program.stdin.flush()
    with Robot(endpoint=f"ipc://{both}/scara/requests.ipc", lease=False) as scara:
        wait_for(lambda: scara.state["stream"] is not None, "the stream")
        piped = scara.state["tick"]
    for _, x, y in rows:  # without time_s: stamped when they come
        program.stdin.write(f"{x!r},{y!r}\n")
        program.stdin.flush()
        time.sleep(0.02)
    out, _ = program.communicate(timeout=60)
    assert program.returncode == 0, out
    assert json.loads(out)["set_points"] == len(rows)

    for line, status, says in (
        ("0.0,1.0,0.33", 3, "move there first"),
        (f"0.0,{x0!r},nan", 3, "finite number"),
        ("0.0,here,0.33", 2, "row 2 has to be 3 numbers"),
    ):
        path.write_text(f"time_s,x,y\n{line}\n")
        refused = linkwork(both, "stream", str(path), "--robot", "scara")
        assert (refused.returncode, says in refused.stderr) == (status, True), refused.stderr
    answer(both, "disable", "--robot", "scara")
    ticks = read_ticks(log).table
    moved = ticks["coordinate"][:, 4:6] - begun
    of_file, of_pipe = (ticks["tick"] > since) & (ticks["tick"] <= piped), ticks["tick"] > piped
    # rows of the pipe are stamped as they come: on a busy computer the machine overshoots
    for part, off in ((of_file, 1e-3), (of_pipe, 3e-3)):
        assert moved[part, 0].max() == pytest.approx(0.01, abs=off)
        assert np.abs(moved[part, 1]).max() < 2.0 * off
