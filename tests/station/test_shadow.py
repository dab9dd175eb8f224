"""A user's file that hides one of our packages."""

import subprocess
import sys
from pathlib import Path

import pytest

from station.shadow import ROOMS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("room", ["controller", "protocol", "machine"])
def test_a_file_in_the_way_is_named(tmp_path: Path, room: str) -> None:
    in_the_way = tmp_path / f"{room}.py"
    in_the_way.write_text("")
    script = tmp_path / "mine.py"
    script.write_text("try:\n    from station import Robot\nexcept ImportError as error:\n    print(error)\n")
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert str(in_the_way) in ran.stdout
    assert "Rename" in ran.stdout


def test_a_folder_of_ones_own_is_not_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    script = tmp_path / "mine.py"
    script.write_text("from station import Robot\nprint(Robot.__name__)\n")
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert ran.stdout == "Robot\n"


def test_every_package_is_guarded() -> None:
    of_other_names = {"tests", "benchmarks", "linkwork_pytest"}
    ours = {path.parent.name for path in ROOT.glob("*/__init__.py")} - of_other_names
    assert ours == set(ROOMS)


def test_the_client_loads_nothing_but_the_protocol() -> None:
    script = (
        "import sys; from station import Robot; print(*sorted(name.split('.')[0] for name in sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = set(ran.stdout.split())
    assert "protocol" in loaded
    assert not loaded & {"multibody", "timing", "machine", "controller", "plant", "numba", "scipy", "typer"}
