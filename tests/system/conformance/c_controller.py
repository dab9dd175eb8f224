"""The reference controller in C: built once, where libzmq and msgpack-c have their headers."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "docs" / "examples" / "c" / "controller.c"
_KEPT = tempfile.TemporaryDirectory(prefix="lw-controller-")


def _has(package: str) -> bool:
    return subprocess.run(["pkg-config", "--exists", package], check=False).returncode == 0


@cache
def built() -> Path:
    """The program; it must build without a warning."""
    if shutil.which("cc") is None or shutil.which("pkg-config") is None:
        pytest.skip("there is no cc, or no pkg-config, here")
    packed = next((name for name in ("msgpack-c", "msgpack") if _has(name)), "")
    if not packed or not _has("libzmq"):
        pytest.skip("libzmq or msgpack-c has no headers here (Debian: libzmq3-dev, libmsgpack-dev)")
    ask = ["pkg-config", "--cflags", "--libs", "libzmq", packed]
    flags = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.split()
    program = Path(_KEPT.name) / "controller"
    words = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(SOURCE), *flags, "-lm"]
    made = subprocess.run(words, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert made.stderr == ""
    return program
