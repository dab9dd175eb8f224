"""`linkwork demo scara` as people run it."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from linkwork.demos import demo_named
from linkwork.demos.demo_motions import HELIX_RAMP_S, HELIX_RATE_RAD_S
from linkwork.demos.demo_options import DemoOptions
from linkwork.demos.demo_run import run_demo
from linkwork.recordings.log_file import read_ticks
from tests import command
from tests.system.running import patient_five_bar, patient_machine
from tests.waiting import wait_for

KEYS = {
    "result", "law", "mode", "tool_error_max_m", "tool_error_rms_m", "angle_error_max_rad", "peak_effort",
    "ticks", "missed_ticks", "period_us", "latency_us", "plot", "log",
}  # fmt: skip
JOINTS = {"shoulder", "elbow", "wrist", "lift"}
PNG = b"\x89PNG\r\n\x1a\n"


def start(out: Path, *words: str, demo: str = "scara") -> "subprocess.Popen[str]":
    """A demo in lockstep, with a runtime folder of its own beside its output."""
    command = [
        sys.executable,
        "-m",
        "linkwork",
        "demo",
        demo,
        "--lockstep",
        "--json",
        "--out",
        str(out),
        *words,
    ]
    env = {**os.environ, "LINKWORK_RUNTIME_DIR": str(out.parent / "r")}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=env, stdin=subprocess.DEVNULL)


def finish(demo: "subprocess.Popen[str]") -> tuple[int, dict[str, Any]]:
    stdout, stderr = demo.communicate(timeout=110)
    assert "Traceback" not in stderr, stderr
    assert stdout.count("\n") == 1, stdout + stderr
    return demo.returncode, json.loads(stdout)


def left_behind(folder: Path) -> list[str]:
    """Processes that name the folder in command line or environment, and runtime folders not removed."""
    found = [str(path) for path in (folder / "r").glob("rig-*")]
    for path in Path("/proc").glob("[0-9]*"):
        try:
            state = (path / "stat").read_text().rpartition(")")[2].split()[0]
            told = (path / "cmdline").read_bytes() + (path / "environ").read_bytes()
        except OSError:
            continue
        if state != "Z" and str(folder).encode() in told:
            found.append(path.name)
    return found


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        yield Path(made)


@pytest.fixture(scope="module")
def runs(folder: Path) -> dict[str, dict[str, Any]]:
    """Summaries of a run with `pidc` and two equal short ones with `servo`, two at a time in one folder."""
    short = ["--law", "servo", "--seconds", "1"]
    words = {"pidc": [], "servo": short, "again": short}

    def run(name: str) -> dict[str, Any]:
        status, summary = finish(start(folder / "out", *words[name]))
        assert status == 0, summary
        return summary

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(words, pool.map(run, words), strict=True))


@pytest.mark.parametrize(("law", "ticks"), [("pidc", 5001), ("servo", 1001)])
def test_both_laws_follow_the_helix(runs: dict[str, dict[str, Any]], law: str, ticks: int) -> None:
    summary = runs[law]
    assert set(summary) >= KEYS
    assert (summary["result"], summary["law"], summary["mode"]) == ("SUCCESSFUL", law, "lockstep")
    assert summary["tool_error_max_m"] <= 1e-7
    assert summary["tool_error_rms_m"] <= summary["tool_error_max_m"]
    assert summary["angle_error_max_rad"] <= 1e-7
    assert set(summary["peak_effort"]) == JOINTS
    assert summary["peak_effort"]["lift"] == pytest.approx(0.5 * 9.81, rel=1e-3)
    assert summary["missed_ticks"] == 0
    assert summary["measured_ticks"] == ticks
    for name in ("period_us", "latency_us"):
        assert 0 < summary[name]["p50"] <= summary[name]["p99"] <= summary[name]["max"]
    assert Path(summary["plot"]).read_bytes().startswith(PNG)


def test_the_reference_is_the_curve_of_the_paper(runs: dict[str, dict[str, Any]]) -> None:
    ticks = read_ticks(Path(runs["pidc"]["log"]))
    table = ticks.table[(ticks.table["goal_id"] == 2) & (ticks.table["path_rate"] == 1.0)]
    time_s = table["path_s"] - HELIX_RAMP_S
    inside = (time_s >= 0) & (time_s <= 5)
    time_s, turn = time_s[inside], HELIX_RATE_RAD_S * time_s[inside]
    wanted = {
        "x": 0.05 * np.sin(turn),
        "y": 0.35 + 0.05 * np.cos(turn),
        "z": 0.02 * time_s,
        "angle": 0 * turn,
    }
    for name, values in wanted.items():
        column = ticks.names["reference"].index(name)
        np.testing.assert_allclose(table["reference"][inside, column], values, rtol=0, atol=1e-12)


def test_the_plant_returns_to_where_it_began_and_brakes(runs: dict[str, dict[str, Any]]) -> None:
    table = read_ticks(Path(runs["servo"]["log"])).table
    np.testing.assert_allclose(table["q"][-1], table["q"][0], atol=1e-6)
    assert table["mode"][-1] == 0


def test_the_same_run_twice_gives_the_same_bytes(runs: dict[str, dict[str, Any]]) -> None:
    one, again = Path(runs["servo"]["log"]), Path(runs["again"]["log"])
    assert one != again
    assert one.read_bytes() == again.read_bytes()


def test_nothing_is_left_behind(runs: dict[str, dict[str, Any]], folder: Path) -> None:
    assert runs
    assert left_behind(folder) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupt_stops_the_machine_and_leaves_nothing_behind(number: signal.Signals) -> None:
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        folder = Path(made)
        demo = start(folder / "out", "--seconds", "20")

        def moves() -> bool:
            assert demo.poll() is None, demo.communicate()
            return any(path.stat().st_size > 100_000 for path in (folder / "out").glob("*.mcap"))

        wait_for(moves, "a log that grows")
        demo.send_signal(number)
        status, summary = finish(demo)
        assert (status, summary["result"]) == (0, "CANCELLED")
        assert left_behind(folder) == []
        table = read_ticks(Path(summary["log"])).table
        assert table["mode"][-1] == 0
        np.testing.assert_array_equal(table["v"][-1], 0.0)


@pytest.mark.slow
def test_a_killed_demo_takes_its_daemons_with_it() -> None:
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        folder = Path(made)
        demo = start(folder / "out")
        wait_for(lambda: any((folder / "out").glob("*.mcap")), "a log")
        demo.kill()
        demo.communicate()
        wait_for(lambda: not any(name.isdigit() for name in left_behind(folder)), "the end of its daemons")


@pytest.mark.slow
def test_a_goal_the_machine_cannot_do_is_refused_with_the_reason() -> None:
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        status, summary = finish(start(Path(made) / "out", "--seconds", "30"))
        assert (status, summary["result"]) == (1, "INFEASIBLE")
        assert "lift" in summary["text"]


@pytest.mark.slow
def test_both_wrists_of_the_arm_agree_through_daemons() -> None:
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        folder = Path(made)
        status, summary = finish(start(folder / "out", "--seconds", "2", demo="arm_6dof"))
        assert (status, summary["result"], summary["missed_ticks"]) == (0, "SUCCESSFUL", 0), summary["text"]
        assert summary["beside"]["missed_ticks"] == 0
        assert set(summary["peak_effort"]) >= {"shoulder.1", "wrist.3"}
        same = summary["congruence"]
        assert summary["measured_ticks"] == 2001 >= same["ticks"] >= 1990
        assert same["effort_max_N_m"] > 10.0
        assert same["effort_difference_max_N_m"] < 2e-3
        assert same["place_difference_max_m"] < 1e-6
        assert same["angle_difference_max_rad"] < 2e-6
        assert max(summary["tracking_error_max"], summary["simple"]["tracking_error_max"]) < 2e-6
        assert Path(summary["plot"]).read_bytes().startswith(PNG)
        assert len(list((folder / "out").glob("arm_6dof_simple-*.mcap"))) > 1  # read over segments
        assert left_behind(folder) == []


@pytest.mark.slow
def test_the_helix_of_the_paper_is_followed_for_its_20_s() -> None:
    """Xu & Liu 2017: peaks 0.88 and 0.48 N m, none at the wrist, m₄g at the lift; a log of two segments."""
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        status, summary = finish(start(Path(made) / "out", "--seconds", "20"))
        assert (status, summary["result"], summary["missed_ticks"]) == (0, "SUCCESSFUL", 0), summary["text"]
        assert summary["measured_ticks"] == 20_001
        assert summary["tool_error_max_m"] < 1e-8
        assert summary["angle_error_max_rad"] < 1e-8
        peak = summary["peak_effort"]
        assert (peak["shoulder"], peak["elbow"]) == (
            pytest.approx(0.88, abs=5e-3),
            pytest.approx(0.48, abs=5e-3),
        )
        assert peak["lift"] == pytest.approx(0.5 * 9.81, abs=1e-4)
        assert peak["wrist"] < 1e-9


@pytest.mark.slow
def test_parts_are_picked_from_a_running_belt_and_the_same_each_time(folder: Path) -> None:
    logs = []
    for name in ("a", "b"):
        code, summary = finish(start(folder / name, "--seconds", "3", "--seed", "2", demo="delta_belt"))
        assert (code, summary["result"]) == (0, "SUCCESSFUL"), summary["text"]
        found = summary["belt"]
        assert (found["placed"], found["misses"], found["passed_by"]) == (4, 0, 0)
        assert found["place_error_rms_m"] < 3e-4
        assert Path(summary["plot"]).read_bytes().startswith(PNG)
        logs.append(read_ticks(Path(summary["log"])).table)
    assert logs[0].tobytes() == logs[1].tobytes()


@pytest.mark.slow
def test_the_demo_says_how_far_and_how_late_a_follower_is(tmp_path: Path) -> None:
    demo = replace(
        demo_named("leader_follower"),
        machine=str(patient_machine(tmp_path)),
        leader=str(patient_five_bar(tmp_path)),
    )
    summary = run_demo(demo, DemoOptions(seconds=2.0, out=tmp_path / "out"), Console(stderr=True))
    assert (summary["result"], summary["text"]) == ("SUCCESSFUL", "")
    found = summary["following"]
    assert 0.02 < found["delay_s"] < 0.2
    assert found["error_rms_m"] < 0.01
    assert found["error_rms_m"] < found["error_at_once_rms_m"]
    assert Path(summary["plot"]).read_bytes().startswith(PNG)


def test_a_demo_of_two_machines_runs_in_real_time_only(tmp_path: Path) -> None:
    ran = command.linkwork("demo", "leader_follower", "--lockstep", "--out", str(tmp_path))
    assert ran.returncode == 2
    assert "--lockstep" in ran.stderr
