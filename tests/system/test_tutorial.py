"""The tutorial's files and commands, as printed, in order, with real daemons."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"


@pytest.mark.slow
def test_every_command_of_the_tutorial_does_what_the_page_says(tmp_path: Path) -> None:
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    env = {**os.environ, "XDG_RUNTIME_DIR": str(runtime), "XDG_STATE_HOME": str(tmp_path / "state")}
    said: dict[str, str] = {}

    def run(line: str) -> None:
        words = shlex.split(line, comments=True)
        assert words[0] == "linkwork"
        done = subprocess.run(
            [sys.executable, "-m", *words], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
        said[line] = done.stdout + done.stderr

    blocks = re.findall(r"```(yaml|sh)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    file = tmp_path / "my_five_bar.yaml"
    try:
        for kind, text in blocks:
            if kind == "sh":
                for line in text.splitlines():
                    run(line)
            elif text.startswith("coordinates:"):
                (tmp_path / "square.yaml").write_text(text, "utf-8")
            else:
                file.write_text((file.read_text("utf-8") if file.exists() else "") + text, "utf-8")
    finally:
        subprocess.run(
            [sys.executable, "-m", "linkwork", "down", "my_five_bar"], env=env, capture_output=True
        )
    everything = "\n".join(said.values())
    rank = "2 degrees of freedom: 4 velocities less rank 2 of 5 rows, 3 of them redundant"
    quoted = ("valid for plant and simulation alone", rank)
    assert all(text in everything for text in quoted)
    assert everything.count("SUCCESSFUL") == 2
    run("linkwork check my_five_bar.yaml")
    assert "warning" not in said["linkwork check my_five_bar.yaml"]
