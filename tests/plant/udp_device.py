"""The reference device in C: built once, run on a port of its own."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "docs" / "examples" / "c" / "udp_device.c"
CONFIG = ROOT / "docs" / "examples" / "udp_motor.yaml"
_KEPT = tempfile.TemporaryDirectory(prefix="lw-udp-")


@cache
def built() -> Path:
    """The program; it must build without a warning."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler (cc) here")
    program = Path(_KEPT.name) / "udp_device"
    words = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(SOURCE), "-lm"]
    made = subprocess.run(words, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert made.stderr == ""
    return program


@contextmanager
def running(*arguments: str, under: tuple[str, ...] = ()) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """The device on a free port, and its process, which ends with the block if it has not before."""
    words = [*under, str(built()), "--port", "0", *arguments]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("listening on port "), line
            yield int(line.rsplit(maxsplit=1)[1]), process
        finally:
            process.kill()
