"""Commands whose extra is not installed: each names what is missing, and the extra that installs it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "docs" / "examples" / "five_bar_campaign.yaml")
ROBOT = str(ROOT / "tests" / "convert" / "robots" / "generalized_rbda" / "four_bar.urdf")
COMMANDS = {
    "rig test --rig scara": ("rig", "pytest", "jinja2"),
    "rig index .": ("rig", "jinja2"),
    f"campaign {EXAMPLE}": ("campaign", "pyarrow", "jinja2"),
    f"tune {EXAMPLE}": ("campaign", "pyarrow", "jinja2"),
    f"import {ROBOT}": ("import", "defusedxml", "jinja2"),
    "identify scara run.csv --html report.html": ("identify", "jinja2"),
    "console": ("console", "nicegui"),
    "foxglove": ("foxglove", "foxglove"),
    "simulate five_bar --duration 1 --fmu drive=motor.fmu": ("fmu", "fmpy"),
}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words.split()[0])
def test_a_command_names_what_is_missing_and_the_extra_that_has_it(command: str, tmp_path: Path) -> None:
    extra, *modules = COMMANDS[command]
    script = f"""import sys
sys.modules |= dict.fromkeys({modules})
sys.argv[1:] = {command.split()}
from linkwork.__main__ import main
sys.exit(main())"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    said = " ".join(done.stderr.split())
    assert " and ".join(modules) in said
    assert f"pip install 'linkwork[{extra}]'" in said
    assert not list(tmp_path.iterdir())
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    installed = {re.split("[<>=]", each)[0].removesuffix("-sdk") for each in extras[extra]}
    assert set(modules) <= installed
    assert extra in "".join(extras["test"]), "the tests need every extra of a command"
