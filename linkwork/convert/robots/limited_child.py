"""Work on foreign files in a child process, with limits on time, memory and files, and without a network.

`python -m linkwork.convert.robots.limited_child` is the child. It reads the name of a worker and its request
as JSON, and writes the worker's answer, or what was wrong.
"""

import contextlib
import ctypes
import json
import math
import os
import resource
import signal
import subprocess
import sys
from importlib import import_module
from tempfile import TemporaryDirectory
from typing import Any

from linkwork.convert.robots.robot_model import ImportProblem

SECONDS = 5.0
"""Default of a child's processor time. Its duration may be `_WAIT` times as long, on a busy computer."""
_WAIT = 4.0
MEMORY_BYTES = 4 << 30
_WRITTEN_BYTES = 256 << 20
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000  # of unshare(2)
_KEPT_VARIABLES = ("PATH", "HOME", "LANG", "TMPDIR", "XDG_CACHE_HOME", "PYTHONPATH", "VIRTUAL_ENV")


class WorkerProblem(ValueError):
    """An error of a worker that a user can correct: message, and line of the file (0: none)."""

    def __init__(self, message: str, line: int = 0) -> None:
        """Keep both."""
        super().__init__(message)
        self.message, self.line = message, line


class MissingLibrary(RuntimeError):
    """A worker's library is not installed."""


def call(worker: str, request: dict[str, Any], file: str, seconds: float = SECONDS) -> Any:
    """Return the answer of a worker, "MODULE:FUNCTION" in this package, to a request in plain data.

    Raises ImportProblem, about `file`, for its errors and its limits, and MissingLibrary.
    """
    order = json.dumps({"worker": worker, "request": request, "seconds": seconds})
    with TemporaryDirectory(prefix="lw-import-") as folder:
        kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        try:
            ran = subprocess.run(
                [sys.executable, "-P", "-m", "linkwork.convert.robots.limited_child"],
                input=order,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=_WAIT * seconds,
                cwd=folder,
                env=kept | {"OPENBLAS_NUM_THREADS": "1"},
                check=False,
            )
        except subprocess.TimeoutExpired:
            text = f"reading it took more than {seconds:g} s"
            raise ImportProblem(file, 0, text, "give it more with --timeout") from None
    if ran.returncode != 0:
        raise ImportProblem(file, 0, _end(ran.returncode, ran.stderr, seconds))
    answer = json.loads(ran.stdout)
    if "missing" in answer:
        raise MissingLibrary(answer["missing"])
    if "problem" in answer:
        raise ImportProblem(file, int(answer["line"]), answer["problem"])
    return answer["answer"]


def _end(status: int, said: str, seconds: float) -> str:
    if status == -signal.SIGXCPU:
        return f"reading it took more than {seconds:g} s of processor time; give it more with --timeout"
    if status < 0:
        name = signal.Signals(-status).name
        return f"the process that read it was ended by {name}: the file may need too much memory"
    last = (said.strip().splitlines() or ["no message"])[-1]
    return f"it cannot be read: {last[:300]}"


def _limit(seconds: float) -> None:
    most = max(1, math.ceil(seconds))
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_WRITTEN_BYTES, _WRITTEN_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, AttributeError):  # without permission the network stays
        ctypes.CDLL(None, use_errno=True).unshare(_NEW_USER | _NEW_NETWORK)


def main() -> None:
    """Answer one request."""
    order = json.loads(sys.stdin.read())
    answers = os.dup(1)
    os.dup2(2, 1)  # libraries print
    _limit(float(order["seconds"]))
    module, _, name = order["worker"].partition(":")
    answer: dict[str, Any]
    try:
        function = getattr(import_module(f"linkwork.convert.robots.{module}"), name)
        answer = {"answer": function(order["request"])}
    except WorkerProblem as problem:
        answer = {"problem": problem.message, "line": problem.line}
    except MemoryError:
        answer = {"problem": f"reading it needs more than {MEMORY_BYTES >> 30} GiB", "line": 0}
    except ImportError as error:
        answer = {"missing": str(error.name or error)}
    with os.fdopen(answers, "w", encoding="utf-8") as out:
        json.dump(answer, out)


if __name__ == "__main__":
    from linkwork.convert.robots import (
        limited_child,  # workers raise the errors of this module, not __main__'s
    )

    limited_child.main()
