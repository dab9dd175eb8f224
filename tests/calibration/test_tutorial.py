"""The tutorial of docs/calibration.md: its script and its commands run and find what the page says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.command import linkwork

PAGE = Path(__file__).resolve().parents[2] / "docs" / "calibration.md"


def test_the_tutorial_finds_the_longer_arms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tutorial = PAGE.read_text(encoding="utf-8").partition("## Tutorial")[2]
    script = re.search(r"```python\n(.*?)```", tutorial, re.DOTALL)
    command = re.search(r"```sh\nlinkwork (calibrate .*?)\n```", tutorial)
    assert script is not None
    assert command is not None
    monkeypatch.chdir(tmp_path)
    exec(compile(script[1], str(PAGE), "exec"), {})
    ran = linkwork(*command[1].split(), "--json")
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["rank"] == 8
    arms = [each for each in found["parameters"] if each["parameter"].endswith("_elbow.at_m.x")]
    assert len(arms) == 2
    for arm in arms:
        assert abs(arm["change"] - 4e-4) < 3.0 * arm["sigma"] < 3e-4
    assert any("machine as a whole" in each["text"] for each in found["unseen"])
    assert (tmp_path / "five_bar.calibrated.yaml").exists()
