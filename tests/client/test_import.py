"""`import linkwork`: one name, whatever lies beside the user's script, and nothing heavy for the client."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import linkwork

ROOT = Path(__file__).resolve().parents[2]
HEAVY = (
    "linkwork.multibody",
    "linkwork.machine",
    "linkwork.controller",
    "linkwork.plant",
    "scipy",
    "click",
)
FORMER = ("controller", "plant", "protocol", "machine", "timing", "multibody", "station", "configs")


def _run(script: Path | str, folder: Path, **environment: str) -> str:
    ran = subprocess.run(
        [sys.executable, *(["-c", script] if isinstance(script, str) else [str(script)])],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={**os.environ, **environment},
    )
    return ran.stdout


@pytest.mark.parametrize(
    "name", [FORMER[0], *(pytest.param(name, marks=pytest.mark.slow) for name in FORMER[1:])]
)
def test_a_module_of_the_same_name_beside_the_script_does_no_harm(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text("raise AssertionError('the user\\'s own module was imported')\n")
    script = tmp_path / "mine.py"
    script.write_text("from linkwork import Robot, load\nprint(Robot.__name__, load('scara').name)\n")
    assert _run(script, tmp_path) == "Robot scara\n"


def test_webots_controller_package_on_the_path_does_no_harm(tmp_path: Path) -> None:
    """Webots' Python API is a package called `controller`, put on PYTHONPATH; ROS 2 overlays do the same."""
    package = tmp_path / "lib" / "controller"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("class Robot:\n    maker = 'webots'\n")
    script = "from controller import Robot as R; from linkwork import Robot; print(R.maker, Robot.__name__)"
    assert _run(script, tmp_path, PYTHONPATH=str(package.parent)) == "webots Robot\n"


def test_the_client_loads_nothing_but_the_protocol(tmp_path: Path) -> None:
    loaded = _run("import sys; from linkwork import Robot; print(*sys.modules, sep='\\n')", tmp_path).split()
    assert "linkwork.protocol.requests" in loaded or "linkwork.client.request_client" in loaded
    assert not [name for name in loaded if name.startswith(HEAVY)]


def test_every_public_name_is_there() -> None:
    for name in linkwork.__all__:
        assert getattr(linkwork, name).__name__ == name
        assert name in dir(linkwork)


def test_an_unknown_name_lists_those_there_are() -> None:
    with pytest.raises(AttributeError, match="Robot, Goal"):
        _ = linkwork.Robott
