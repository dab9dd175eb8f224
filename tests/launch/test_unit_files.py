"""systemd units: accepted by systemd itself, and started with exactly the words that were given."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from linkwork.launch.unit_files import UnitOptions, quoted, unit_files
from tests.command import linkwork


def settings(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))


def test_the_controller_starts_after_its_plant_and_both_report(tmp_path: Path) -> None:
    files = unit_files(UnitOptions("scara", ["scara"], ["scara", "--law", "servo"], tmp_path, "anna"))
    plant, controller = (
        settings(files[f"linkwork-scara-{role}.service"]) for role in ("plant", "controller")
    )
    assert controller["Requires"] == "linkwork-scara-plant.service"
    for unit in (plant, controller):
        assert (unit["Type"], unit["KillMode"], unit["Restart"]) == ("notify", "mixed", "on-failure")
        assert (unit["LimitRTPRIO"], unit["LimitMEMLOCK"], unit["User"]) == ("99", "infinity", "anna")
        assert int(unit["WatchdogSec"]) > 0
    assert controller["ExecStart"].endswith('"linkwork.controller" "scara" "--law" "servo"')
    assert "User" not in settings("".join(unit_files(UnitOptions("x", ["x"], ["x"], tmp_path)).values()))


@pytest.mark.parametrize("manager", ["--system", "--user"])
def test_systemd_accepts_the_units(manager: str, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze on this computer")
    options = ["--user"] if manager == "--user" else []
    words = ("--realtime", "enforce", "--plant-set", "upper_arm.mass_kg=+20%", "--output", str(tmp_path))
    ran = linkwork("service", "scara", *options, *words)
    assert ran.returncode == 0
    files = [line for line in ran.stdout.splitlines() if line.endswith(".service")][:2]
    assert all(Path(file).is_file() for file in files)
    checked = subprocess.run(
        ["systemd-analyze", manager, "verify", *files],
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        check=False,
    )
    ours = [line for line in checked.stderr.splitlines() if "linkwork" in line]  # not of other units here
    assert (checked.returncode, ours) == (0, [])


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("scara", '"scara"'),
        ("upper_arm.mass_kg=+20%", '"upper_arm.mass_kg=+20%%"'),
        ('a "b" $HOME', '"a \\"b\\" $$HOME"'),
        ("C:\\x", '"C:\\\\x"'),
    ],
)
def test_words_are_quoted_for_systemd(word: str, text: str) -> None:
    assert quoted(word) == text


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = linkwork("service", "scara", "--output", str(tmp_path / "file"))
    assert ran.returncode == 2
    assert "cannot be written" in ran.stderr
