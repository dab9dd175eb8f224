"""`linkwork` run in the process of the tests, for commands that start nothing: no seconds for imports."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

import pytest

from linkwork.__main__ import main


@dataclass(frozen=True)
class Ran:
    """What a command said, and its exit status."""

    returncode: int
    stdout: str
    stderr: str


def linkwork(*words: str, columns: int = 100, env: Mapping[str, str] | None = None) -> Ran:
    """Runs a command to its end, as a terminal of so many columns shows it; `env` adds to the environment."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["linkwork", *words])
        for name, value in {"COLUMNS": str(columns), **(env or {})}.items():
            patch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main()
    return Ran(int(ended.value.code or 0), out.getvalue(), err.getvalue())
