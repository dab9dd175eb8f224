"""The command line where no daemon runs: exit statuses, JSON, and no traceback for anybody's mistake."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.cli.app import command_helps
from tests import command
from tests.command import Ran


@pytest.fixture(scope="module")
def runtime() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="lw-") as folder:
        yield folder


def linkwork(runtime: str, *words: str) -> Ran:
    return command.linkwork(*words, env={"LINKWORK_RUNTIME_DIR": runtime})


def linkwork_process(runtime: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """The same in a process of its own."""
    env = {**os.environ, "LINKWORK_RUNTIME_DIR": runtime, "COLUMNS": "100"}
    argv = [sys.executable, "-m", "linkwork", *words]
    ran = subprocess.run(argv, capture_output=True, text=True, env=env, check=False, stdin=subprocess.DEVNULL)
    assert "Traceback" not in ran.stderr, ran.stderr
    return ran


def only_object(text: str) -> dict[str, Any]:
    """The one JSON object on standard output."""
    assert text.count("\n") == 1
    found = json.loads(text)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["bogus"], 2, "bogus"),
        (["status", "--bogus"], 2, "--bogus"),
        (["speed", "3"], 2, "fraction"),
        (["check", "nowhere.yaml"], 2, "no such file"),
        (["send", "nowhere.yaml"], 2, "no such file"),
        (["simulate", "scara", "--duration", "-1"], 2, "positive"),
        (["simulate", "scara", "--duration", "1", "--initial", "knee_deg=3"], 2, "shoulder_deg"),
        (["simulate", "scara", "--duration", "1", "--initial", "x=3"], 2, "only joints"),
        (["simulate", "four_bar", "--duration", "1", "--formulation", "lagrange"], 2, "independent rows"),
        (["simulate", "four_bar", "--duration", "1", "--stabilisation", "glue"], 2, "baumgarte"),
        (["simulate", "slider_crank", "--duration", "1", "--formulation", "taylor"], 2, "of kind coordinate"),
        (["simulate", "four_bar", "--duration", "1", "--track", "O9"], 2, "O2, O3"),
        (["simulate", "four_bar", "--duration", "1", "--integrator", "euler"], 2, "lsoda"),
        (["simulate", "four_bar", "--duration", "0.01", "--out", "/nowhere/a.npz"], 2, "cannot be written"),
        (["simulate", "scara", "--duration", "1", "--out", "a.xlsx"], 2, "must end in .csv or .npz"),
        (["controller", "thin_disk"], 2, "linkwork simulate thin_disk"),
        (["model", "scara", "--draw", "machine.nothing"], 2, "nothing"),
        (["jog", "shoulder=1"], 2, "--for"),
        (["keys", "make", "a/b"], 2, "is not a key name"),
        (["status", "--endpoint", "nonsense"], 2, "not an endpoint"),
        (["status", "--keys", "mine.secret"], 4, "no controller"),
        (["demo", "nothing"], 2, "nothing"),
        *([[word], 4, "linkwork up scara"] for word in ("status", "state", "enable", "stop", "jog")),
        (["move", "shoulder=1"], 4, "linkwork up scara"),
        (["status", "--robot", "arm"], 4, "linkwork up arm"),
    ],
)
def test_mistakes(runtime: str, words: list[str], status: int, says: str) -> None:
    ran = linkwork(runtime, *words)
    assert (ran.returncode, ran.stdout) == (status, "")
    assert says.lower() in ran.stderr.lower()


@pytest.mark.parametrize(
    ("words", "status", "name"),
    [(["bogus", "--json"], 2, "USAGE"), (["status", "--json"], 4, "NOBODY_THERE")],
)
def test_with_json_an_error_is_one_object(runtime: str, words: list[str], status: int, name: str) -> None:
    ran = linkwork_process(runtime, *words)
    assert ran.returncode == status
    assert only_object(ran.stdout)["error"]["name"] == name


def test_check_names_line_key_found_and_allowed(runtime: str, tmp_path: Path) -> None:
    path = tmp_path / "arm.yaml"
    path.write_text(
        "name: arm\nbodies:\n  rod: {mass_kg: -1, inertia_kg_m2: {xx: 1, yy: 1, zz: 1}}\njoints: {}\n"
    )
    ran = linkwork_process(runtime, "check", str(path), "--json")
    assert ran.returncode == 2
    problem = only_object(ran.stdout)["problems"][0]
    assert (problem["line"], problem["key"]) == (3, "bodies.rod.mass_kg")
    assert problem["found"] == "-1"
    assert f"{path}:3:" in ran.stderr


def test_what_ships_is_valid(runtime: str) -> None:
    listed = only_object(linkwork(runtime, "robots", "--json").stdout)
    assert listed["running"] == {"plants": {}, "controllers": {}, "groups": {}}
    for robot in listed["robots"]:
        ran = linkwork(runtime, "check", robot["file"], "--json")
        assert ran.returncode == 0, ran.stderr
        assert only_object(ran.stdout)["name"] == robot["name"]


def test_the_schema_is_json(runtime: str) -> None:
    assert "joints" in json.loads(linkwork(runtime, "schema").stdout)["properties"]


def test_simulate(runtime: str, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    words = ["simulate", "scara", "--duration", "0.5", "--dt", "0.001", "--initial", "shoulder_deg=10"]
    summary = only_object(linkwork(runtime, *words, "--out", str(path), "--json").stdout)
    assert {"time_s", "q", "v", "energy_start_J", "energy_end_J", "steps", "steps_per_s"} <= set(summary)
    assert (summary["time_s"], summary["steps"]) == (0.5, 500)
    assert summary["q"]["lift"] == pytest.approx(-0.5 * 9.81 * 0.25)  # nothing holds it: it falls
    assert summary["energy_end_J"] == pytest.approx(summary["energy_start_J"], abs=1e-9)
    header, *rows = path.read_text().splitlines()
    assert header.split(",") == [
        "time_s", "shoulder", "elbow", "wrist", "lift",
        "shoulder_velocity", "elbow_velocity", "wrist_velocity", "lift_velocity",
    ]  # fmt: skip
    assert len(rows) == 501
    assert float(rows[-1].split(",")[4]) == summary["q"]["lift"]


def test_simulate_a_closed_machine(runtime: str) -> None:
    words = ["simulate", "slider_crank", "--duration", "0.5", "--initial", "crank_deg=60"]
    summary = only_object(linkwork(runtime, *words, "--json").stdout)
    assert summary["residual_position_max"] < 1e-12
    assert summary["residual_velocity_max"] < 1e-12
    assert (summary["rank_min"], summary["rank_max"]) == (1, 1)
    assert summary["sigma_min"] > 0
    assert summary["energy_balance_error_J"] < 1e-8
    assert summary["q"]["knee"] == pytest.approx(-2 * summary["q"]["crank"])


def test_simulate_with_everything_that_can_be_asked_for(runtime: str, tmp_path: Path) -> None:
    words = [
        "simulate",
        "four_bar",
        "--duration",
        "0.05",
        "--formulation",
        "minimal",
        "--track",
        "O3",
        "--reactions",
    ]
    for name in ("out.npz", "out.csv"):
        ran = linkwork(runtime, *words, "--out", str(tmp_path / name), "--json")
        assert ran.returncode == 0, ran.stderr
    summary = only_object(ran.stdout)
    assert summary["switches"] == 0
    arrays = np.load(tmp_path / "out.npz")
    header, *rows = (tmp_path / "out.csv").read_text().splitlines()
    assert list(arrays) == header.split(",")
    text = np.array([[float(x) for x in row.split(",")] for row in rows])
    np.testing.assert_array_equal(np.column_stack([arrays[name] for name in arrays]), text)
    assert summary["points"]["O3"]["position_m"] == [arrays[f"O3.{axis}_m"][-1] for axis in "xyz"]
    closure = summary["reactions"]["O4"]
    assert closure["on_body"] == "rocker"
    assert closure["force_N"] == [arrays[f"O4.f{axis}_N"][-1] for axis in "xyz"]
    told = linkwork(runtime, *words).stdout
    assert "changed its independent coordinates 0 times" in told
    assert "largest reactions" in linkwork(runtime, *words).stderr + told


def test_model(runtime: str, tmp_path: Path) -> None:
    path = tmp_path / "delta.png"
    found = only_object(linkwork(runtime, "model", "delta", "--json", "--draw", str(path)).stdout)
    assert (found["degrees_of_freedom"], found["redundancy"]) == (3, 12)
    assert path.stat().st_size > 1000
    assert "12 of them redundant" in linkwork(runtime, "model", "delta").stdout


def test_keys_are_made_allowed_listed_and_revoked(runtime: str, tmp_path: Path) -> None:
    own, allowed = str(tmp_path / "own"), str(tmp_path / "allowed")
    made = only_object(linkwork(runtime, "keys", "make", "anna", "--folder", own, "--json").stdout)
    assert Path(made["secret"]).stat().st_mode & 0o077 == 0
    again = linkwork(runtime, "keys", "make", "anna", "--folder", own)
    assert again.returncode == 2
    assert "never overwritten" in again.stderr
    words = ("keys", "allow", made["public"], "--folder", allowed, "--role")
    assert linkwork(runtime, *words, "service").returncode == 0
    assert "role observe" in linkwork(runtime, *words, "observe").stdout
    found = only_object(linkwork(runtime, "keys", "list", "--folder", allowed, "--json").stdout)
    assert [(one["name"], one["role"]) for one in found["clients"]] == [("anna", "observe")]
    assert linkwork(runtime, "keys", "list", "--folder", allowed).stdout.startswith("observe   anna  ")
    assert linkwork(runtime, "keys", "revoke", "anna", "--folder", allowed).returncode == 0
    assert "allows no client" in linkwork(runtime, "keys", "list", "--folder", allowed).stdout
    gone = linkwork(runtime, "keys", "revoke", "anna", "--folder", allowed)
    assert gone.returncode == 2
    assert "no client 'anna'" in gone.stderr


@pytest.mark.parametrize("word", ["anna", "lst"])
def test_a_word_that_is_no_command_makes_no_keys(runtime: str, tmp_path: Path, word: str) -> None:
    ran = linkwork(runtime, "keys", word, "--folder", str(tmp_path))
    assert ran.returncode == 2
    assert not list(tmp_path.iterdir())


def test_every_command_explains_itself(runtime: str) -> None:
    helps = list(command_helps(width=80))
    assert {"demo", "plant", "controller", "rig test", "stop"} <= {each.words for each in helps}
    assert len({each.words for each in helps}) == len(helps)
    for each in helps:
        assert f"Usage: linkwork {each.words} " in each.text
        assert each.about[0].split()[0] in each.text
        assert ("--help", "Show this message and exit.") in each.parameters
        assert all(line.startswith(f"linkwork {each.words}") for line in each.examples)
        assert each.examples
        assert "--help" in each.text
        assert "\x1b" not in each.text
        assert max(map(len, each.text.splitlines())) <= 80
    shown = linkwork(runtime, "--help").stdout
    for each in helps:
        assert each.panel in shown
        assert f" {each.words.split()[0]} " in shown
    ran = linkwork(runtime, "rig", "test", "--help")
    assert ran.returncode == 0
    assert "Usage: linkwork rig test" in ran.stdout
