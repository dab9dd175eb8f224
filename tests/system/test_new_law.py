"""A control law added as CONTRIBUTING.md says, in a copy of the repository: its class and one entry."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from linkwork.protocol.laws import LawKind

ROOT = Path(__file__).parents[2]
ROOMS = ("controller", "plant", "protocol", "configs", "linkwork")
CLASS = '''
"""Inverse dynamics with half the bandwidth."""

from linkwork.controller.laws.pidc import ProjectedInverseDynamics


class Soft(ProjectedInverseDynamics):
    """The law for one machine."""

    def __init__(self, machine, report):
        super().__init__(machine, report)
        self._omega /= 2.0
'''
ENTRY = """
    SOFT = 7, LawSpec(
        "inverse dynamics with half the bandwidth",
        open_chain=_LAWS + "soft:Soft",
        follows="position",
        chosen="in the file",
    )
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("law")
    for room in ROOMS:
        shutil.copytree(ROOT / room, folder / room, symlinks=True)
    (folder / "controller" / "laws" / "soft.py").write_text(CLASS, encoding="utf-8")
    table = folder / "protocol" / "laws.py"
    before, at, after = table.read_text("utf-8").partition("\n    @property\n    def label")
    assert at
    table.write_text(f"{before}{ENTRY}{at}{after}", encoding="utf-8")
    return folder


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "LINKWORK_RUNTIME_DIR": str(folder / "r"),
        "COLUMNS": "200",
    }
    command = [sys.executable, *words]
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=540, check=False
    )


def test_the_number_is_free() -> None:
    assert 7 not in list(LawKind), "give the law that this test adds another number"


def test_schema_command_lines_and_checks_have_it(copy: Path) -> None:
    """Without a daemon, without a kernel."""
    schema = json.loads(run(copy, "-m", "linkwork", "schema").stdout)
    law = schema["$defs"]["ControllerSpec"]["properties"]["law"]
    assert law["enum"] == ["pidc", "servo", "soft"]
    assert "soft: inverse dynamics with half the bandwidth" in law["description"]
    assert "pidc|servo|soft" in run(copy, "-m", "linkwork.controller", "--help").stdout
    refused = run(copy, "-m", "linkwork", "demo", "scara", "--law", "sofd")
    assert refused.returncode == 2
    assert "soft" in refused.stderr


@pytest.mark.slow  # compiles the kernels of the copy
@pytest.mark.timeout(600)
def test_a_machine_runs_by_it(copy: Path) -> None:
    words = "demo scara --lockstep --law soft --seconds 0.3 --json --out out"
    ran = run(copy, "-m", "linkwork", *words.split())
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert (told["result"], told["law"]) == ("SUCCESSFUL", "soft")
    script = (
        "import sys; from pathlib import Path; from linkwork.recordings.log_file import read_ticks; "
        "print(sorted(set(read_ticks(Path(sys.argv[1])).table['law'].tolist())))"
    )
    found = run(copy, "-c", script, str(copy / told["log"]))
    assert 7 in json.loads(found.stdout), found.stderr
