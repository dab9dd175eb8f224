"""Rig tests of one machine in a separate process: start, progress, interrupt, and result."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from linkwork.rig.collecting import Collected, read_collected
from linkwork.timing.children import Child

COLLECTED_FILE: Final = "collected.jsonl"
PYTEST_FILE: Final = "pytest.txt"
SUITES: Final = Path(__file__).resolve().parent / "suites"
_LOOK_S = 0.1
_END_S = 90.0
_LAST_LINES = 12
_NO_TESTS, _FINE = 5, (0, 1)
"""Exit statuses of pytest: no test was chosen; all chosen tests were done."""


@dataclass(frozen=True)
class RigRun:
    """The tests to run on every machine. paths: files, folders and pytest's FILE::TEST.

    plant, controller: endpoints of running daemons. keyword: pytest's -k.
    """

    paths: tuple[str, ...]
    suite: str | None = None
    pace: str = "lockstep"
    seed: int = 0
    law: str | None = None
    plant: str | None = None
    controller: str | None = None
    keyword: str | None = None

    def words(self, config: str, folder: Path) -> list[str]:
        """Pytest's command line for one machine."""
        words = ["-p", "linkwork.rig.plugin", "-p", "no:cacheprovider", "-p", "no:randomly"]
        words += ["--color=no", "--rig", config, "--rig-out", str(folder)]
        words += ["--rig-pace", self.pace, "--rig-seed", str(self.seed)]
        for name in ("law", "plant", "controller"):
            value = getattr(self, name)
            words += [] if value is None else [f"--rig-{name}", value]
        words += [] if self.keyword is None else ["-k", self.keyword]
        suite = [] if self.suite is None else [str(SUITES / self.suite)]
        if suite and not self.paths:
            words += ["--rootdir", suite[0], "-c", str(SUITES / "pytest.ini")]
        return [*words, *self.paths, *suite]


@dataclass(frozen=True)
class Done:
    """Result of one machine's tests. problem: why not all of them were done; status: for the command."""

    collected: Collected
    problem: str
    status: int


def suites() -> list[str]:
    """The suites that ship."""
    found = SUITES.iterdir() if SUITES.is_dir() else ()
    return sorted(each.name for each in found if each.is_dir() and any(each.glob("test_*.py")))


def run_tests(run: RigRun, config: str, folder: Path, show: Callable[[Collected], None]) -> Done:
    """Run the tests; `show` receives the findings so far after each change. Old contents of `folder` are
    deleted.

    KeyboardInterrupt ends the tests and their daemons in order, and is not raised further: the `problem` of
    the result reports it. A second one kills them; their daemons brake and end by themselves.
    """
    if (folder / COLLECTED_FILE).exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    # -P: a user's file plant.py or controller.py must not shadow linkwork's
    argv = [sys.executable, "-m", "linkwork.rig.child", *run.words(config, folder)]
    file, interrupted = folder / COLLECTED_FILE, False
    with (folder / PYTEST_FILE).open("wb") as said:
        child = Child.start(argv, stdout=said, stderr=subprocess.STDOUT, env={"COLUMNS": "110"})
        try:
            look = _Following(file, show).read_new_lines
            try:
                while not child.wait(_LOOK_S):
                    look()
            except KeyboardInterrupt:
                interrupted = True
                _end(child)
        finally:
            status = child.stop(_END_S)
            child.close()
    # Read again: an interrupt may have come during the reading.
    collected = read_collected(file) if file.exists() else Collected()
    show(collected)
    if interrupted:
        return Done(collected, "interrupted", 128 + signal.SIGINT)
    return Done(collected, *_judged(collected, status, folder / PYTEST_FILE))


class _Following:
    """The collected file as it grows, shown."""

    def __init__(self, path: Path, show: Callable[[Collected], None]) -> None:
        self._path, self._collected, self._show = path, Collected(), show
        self._at = 0

    def read_new_lines(self) -> None:
        """Read the whole lines that are new."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._at)
            whole = file.read().rpartition(b"\n")[0]
        if not whole:
            return
        self._at += len(whole) + 1
        for line in whole.decode().split("\n"):
            self._collected.read_line(line)
            self._show(self._collected)


def _end(child: Child) -> None:
    """Interrupt like Ctrl-C in pytest: abort the present test and end the daemons."""
    child.send_signal(signal.SIGINT)
    deadline = time.monotonic() + _END_S
    try:
        while not child.wait(_LOOK_S) and time.monotonic() < deadline:
            pass
    except KeyboardInterrupt:
        child.kill()


def _judged(collected: Collected, status: int, said: Path) -> tuple[str, int]:
    """The problem, and the command's exit status."""
    if collected.no_rig is not None:
        return collected.no_rig[1], collected.no_rig[0]
    if status in _FINE:
        return "", status
    if status == _NO_TESTS:
        return "no test was selected: the paths contain no tests, or none matches -k", 2
    if status < 0:
        under_way = f" in {collected.begun}" if collected.begun else ""
        return f"pytest was ended by signal {signal.Signals(-status).name}{under_way}", 1
    lines = said.read_text(errors="replace").splitlines()[-_LAST_LINES:]
    told = os.linesep.join(line for line in lines if line.strip())
    return f"pytest ended with status {status} before the tests were done:\n{told}", 2
