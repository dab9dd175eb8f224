"""The examples in C: each built once, where libzmq and msgpack-c have their headers."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "docs" / "examples" / "c"
_KEPT = tempfile.TemporaryDirectory(prefix="lw-controller-")


def _has(package: str) -> bool:
    return subprocess.run(["pkg-config", "--exists", package], check=False).returncode == 0


@cache
def built(name: str = "controller") -> Path:
    """The program of this name; it must build without a warning."""
    if shutil.which("cc") is None or shutil.which("pkg-config") is None:
        pytest.skip("there is no cc, or no pkg-config, here")
    packed = next((name for name in ("msgpack-c", "msgpack") if _has(name)), "")
    if not packed or not _has("libzmq"):
        pytest.skip("libzmq or msgpack-c has no headers here (Debian: libzmq3-dev, libmsgpack-dev)")
    ask = ["pkg-config", "--cflags", "--libs", "libzmq", packed]
    flags = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.split()
    program = Path(_KEPT.name) / name
    words = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(SOURCES / f"{name}.c")]
    made = subprocess.run([*words, *flags, "-lm"], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert made.stderr == ""
    return program
