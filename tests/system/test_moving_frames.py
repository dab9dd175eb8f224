"""A goal on a running belt, and a stream from a program in C, through daemons in lockstep."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from linkwork import Robot
from linkwork.launch.daemons import Rig
from linkwork.recordings.log_file import read_ticks
from tests.belt_machine import write_belt_machine
from tests.system.conformance.c_controller import built
from tests.system.running import answer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rig(folder: Path) -> Iterator[Rig]:
    """The five-bar beside its belt, in lockstep."""
    arguments = [str(write_belt_machine(folder)), "--pace", "lockstep", "--realtime", "ignore"]
    with Rig("five_bar", arguments, [*arguments, "--log", str(folder / "log")], folder) as rig:
        rig.wait_ready(lambda _: None)
        yield rig


def goal_on_the_belt(folder: Path, part: float, *, meets_s: float = 0.8, stays_s: float = 0.4) -> str:
    """A file that meets a part at x = `part` (m) in the frame, stays with it, and moves back."""
    rest = {"velocities": [0, 0], "accelerations": [0, 0]}
    times = (meets_s, meets_s + stays_s, meets_s + stays_s + 0.8)
    places = ([part, 0.33], [part, 0.33], [0, 0.32])
    points = [
        {"time_from_start_s": time, "positions": place, **rest}
        for time, place in zip(times, places, strict=True)
    ]
    points[0]["in"] = points[1]["in"] = "belt"
    path = folder / "pick.yaml"
    path.write_text(json.dumps({"coordinates": ["x", "y"], "points": points}))
    return str(path)


def test_a_part_on_the_belt_is_met(rig: Rig, folder: Path) -> None:
    answer(folder, "enable")
    with Robot(endpoint=rig.requests, lease=False) as robot:
        moved = 0.1 * robot.state["time_s"]
        log = robot.status["log"]
    part = -0.1 - moved
    assert answer(folder, "send", goal_on_the_belt(folder, part))["name"] == "SUCCESSFUL"
    refused = answer(folder, "send", goal_on_the_belt(folder, part, stays_s=3.0), status=3)["error"]
    assert refused["name"] == "INFEASIBLE"
    assert "window" in refused["message"]
    answer(folder, "disable")
    table = read_ticks(Path(log)).table
    there = table[(table["goal_id"] > 0) & (table["path_s"] > 0.82) & (table["path_s"] < 1.18)]
    off = there["coordinate"][:, 4] - there["input"][:, 0] - part
    assert len(there) > 300
    assert np.abs(off).max() < 2e-5


def test_the_client_in_c_streams_a_circle_and_leaks_nothing(rig: Rig, folder: Path) -> None:
    words = [str(built("stream")), rig.requests, "--lockstep", "--radius", "0.03", "--seconds", "2"]
    with Robot(endpoint=rig.requests, lease=False) as robot:
        began = robot.state["coordinates"]
        first = robot.state["tick"]
        ran = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert ran.stdout.startswith("SUCCESSFUL")
        assert robot.state["coordinates"]["x"] == pytest.approx(began["x"], abs=1e-4)
        table = read_ticks(Path(robot.status["log"])).table
    moved = table["coordinate"][table["tick"] > first][:, 4:6] - [began["x"], began["y"]]
    np.testing.assert_allclose(np.ptp(moved, axis=0), 0.06, atol=1e-4)
    away = np.abs(np.hypot(moved[:, 0], moved[:, 1] + 0.03) - 0.03)
    assert away.max() < 1e-4
    wrong = subprocess.run([words[0]], capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    if shutil.which("valgrind"):
        under = [
            "valgrind",
            "-q",
            "--leak-check=full",
            "--errors-for-leak-kinds=definite",
            "--error-exitcode=9",
        ]
        ran = subprocess.run(
            [*under, *words, "--seconds", "0.2"], capture_output=True, text=True, timeout=120, check=False
        )
        assert (ran.returncode, ran.stderr) == (0, "")
