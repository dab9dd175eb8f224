"""`linkwork dev`: skeletons of a law, a request and a joint type, in a copy of the checkout."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.command import linkwork

ROOT = Path(__file__).parents[2]
NAMES = {
    "law": "soft_law_for_stiff_arms1",
    "request": "greet_everybody_in_range",
    "joint": "table_with_two_crossings",
}
"""The longest that are allowed."""
MACHINE = f"""
name: table
bodies:
  plate: {{mass_kg: 2.0, inertia_kg_m2: {{xx: 0.1, yy: 0.1, zz: 0.1}}}}
joints:
  table: {{type: {NAMES["joint"]}, parent: world, child: plate, axis: [0, 0, 1]}}
motors:
  table.turn: {{max_torque_N_m: 10.0, max_speed_rad_s: 1.0}}
  table.slide: {{max_force_N: 100.0, max_speed_m_s: 1.0}}
sensors:
  table.turn: {{}}
  table.slide: {{}}
controller: {{law: {NAMES["law"]}}}
"""


class Copy(NamedTuple):
    """A checkout in which the three commands have run, and the files that they named."""

    folder: Path
    files: list[str]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    folder, files = tmp_path_factory.mktemp("checkout") / "linkwork", []
    ignored = shutil.ignore_patterns("__pycache__", ".*", "benchmarks", "images")
    shutil.copytree(ROOT, folder, symlinks=True, ignore=ignored)
    for part, name in NAMES.items():
        ran = python(folder, "-m", "linkwork", "dev", f"new-{part}", name, "--json")
        assert ran.returncode == 0, ran.stderr
        files += json.loads(ran.stdout)["files"]
    return Copy(folder, files)


def python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Commands run in the checkout, and leave its files as they are."""
    monkeypatch.chdir(ROOT)
    files = [ROOT / "protocol" / "laws.py", ROOT / "configs" / "machine.schema.json"]
    before = [file.read_bytes() for file in files]
    yield
    assert [file.read_bytes() for file in files] == before


def test_ruff_accepts_the_skeletons(copy: Copy) -> None:
    if find_spec("ruff") is None:
        pytest.skip("ruff is not installed")
    changed = [file for file in copy.files if file.endswith(".py")]
    for words in (["check"], ["format", "--check"]):
        ran = python(copy.folder, "-m", "ruff", *words, "--no-cache", *changed)
        assert ran.returncode == 0, ran.stdout


def test_a_machine_may_have_the_new_law_and_joint(copy: Copy) -> None:
    (copy.folder / "table.yaml").write_text(MACHINE, "utf-8")
    ran = python(copy.folder, "-m", "linkwork", "check", "table.yaml")
    assert ran.returncode == 0, ran.stderr


def test_the_new_request_is_a_command(copy: Copy) -> None:
    shown = python(copy.folder, "-m", "linkwork", "--help").stdout
    assert re.search(f"greet-everybody-in-range +Describe the request {NAMES['request']} here", shown)


@pytest.mark.slow
def test_the_tests_of_law_and_joint_fail_until_they_are_filled_in(copy: Copy) -> None:
    ran = python(
        copy.folder,
        "-m",
        "pytest",
        "-q",
        *(file for file in copy.files if "gateway" not in file and file.startswith("tests/")),
    )
    assert "2 failed" in ran.stdout
    assert "NotImplementedError: write the force" in ran.stdout
    assert "Failed: write the degrees of freedom" in ran.stdout


def test_an_installed_linkwork_is_no_checkout(copy: Copy) -> None:
    guide = copy.folder / "CONTRIBUTING.md"
    text = guide.read_text("utf-8")
    guide.unlink()
    ran = python(copy.folder, "-m", "linkwork", "dev", "new-law", "other")
    guide.write_text(text, "utf-8")
    assert ran.returncode == 2
    assert f"{copy.folder} is none: clone linkwork" in ran.stderr


def test_a_file_that_exists_is_kept(copy: Copy) -> None:
    file, table = copy.folder / "controller/laws/taken_law.py", copy.folder / "protocol/laws.py"
    file.write_text('"""Kept."""\n', "utf-8")
    before = table.read_bytes()
    ran = python(copy.folder, "-m", "linkwork", "dev", "new-law", "taken")
    file.unlink()
    assert ran.returncode == 2
    assert "controller/laws/taken_law.py exists already" in ran.stderr
    assert table.read_bytes() == before


def test_elsewhere_the_command_names_the_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    ran = linkwork("dev", "new-joint", "table", columns=200)
    assert ran.returncode == 2
    assert f"`cd {ROOT}` first" in ran.stderr


@pytest.mark.parametrize("part", ["law", "request", "joint"])
@pytest.mark.parametrize(
    "name", ["Soft", "2nd", "a-b", "a__b", "_a", "", "class", "on", "a/b", "b" * 25, "ä"]
)
@pytest.mark.usefixtures("here")
def test_other_names_are_refused(part: str, name: str) -> None:
    ran = linkwork("dev", f"new-{part}", "--", name, columns=300)
    assert ran.returncode == 2
    assert "lower-case letters and digits, words joined by _" in ran.stderr


@pytest.mark.parametrize(
    ("part", "name"),
    [("law", "pidc"), ("law", "none"), ("request", "move"), ("request", "demo"), ("request", "close"),
     ("request", "build_kernels"), ("joint", "revolute"), ("joint", "simple")],
)  # fmt: skip
@pytest.mark.usefixtures("here")
def test_names_that_are_taken_are_refused(part: str, name: str) -> None:
    ran = linkwork("dev", f"new-{part}", name)
    assert ran.returncode == 2
    assert "is taken" in ran.stderr


@pytest.mark.usefixtures("here")
def test_a_class_has_one_meaning() -> None:
    ran = linkwork("dev", "new-joint", "friction", "--dry-run", columns=200)
    assert ran.returncode == 2
    assert "has a class FrictionSpec already" in ran.stderr


@pytest.mark.parametrize(
    ("part", "lines"),
    [
        ("law", ["+++ b/controller/laws/soft_law.py", "+class SoftLaw:", "+    SOFT = ("]),
        ("request", ["+class SoftParams(OwnedParams):", '+    "soft": _answer_soft,']),
        ("joint", ["+class SoftSpec(_SeveralSpec, AxisSpec):", "+    | several.SoftSpec"]),
    ],
)
@pytest.mark.usefixtures("here")
def test_a_dry_run_shows_the_difference_and_writes_nothing(part: str, lines: list[str]) -> None:
    ran = linkwork("dev", f"new-{part}", "soft", "--dry-run")
    assert ran.returncode == 0
    assert set(lines) <= set(ran.stdout.splitlines())
    assert not list(ROOT.glob("tests/**/test_soft_*.py"))
