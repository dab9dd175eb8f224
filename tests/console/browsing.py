"""A real console and a real browser for tests: processes, pages, and the machine's way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from linkwork.launch.daemons import Rig

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
UNDRAWN = "--disable-3d-apis"
"""Without the drawing, which takes most of a processor where it is done in software."""
OPTIONS = (
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)
"""Drawing in software; no request leaves this computer."""


def console_of(rig: Rig, *words: str) -> AbstractContextManager[tuple[subprocess.Popen[str], str]]:
    """Serves the rig's machine: the process, and the address with its token."""
    return console("--endpoint", rig.requests, *words)


@contextmanager
def console(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Runs `linkwork console` with these words: the process, and the address with its token."""
    argv = [sys.executable, "-m", "linkwork", "console", "--json", *words]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            yield process, json.loads(process.stdout.readline())["address"]
        finally:
            process.kill()
            process.wait()


@contextmanager
def playwright() -> Iterator[Any]:
    """What starts browsers, once in a process; skips the test where it or Chromium is absent."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this computer")
    with api.sync_playwright() as started:
        yield started


@contextmanager
def chromium(started: Any, *options: str) -> Iterator[Any]:
    """A headless browser."""
    browser = started.chromium.launch(executable_path=CHROMIUM, args=[*OPTIONS, *options])
    try:
        yield browser
    finally:
        with suppress(Exception):  # it may have been killed
            browser.close()


class Watched:
    """A page with what went wrong in it: errors of scripts, and requests to other hosts."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.errors: list[str] = []
        self.foreign: list[str] = []
        self.context = browser.new_context(**options)
        own = address.split("/?")[0]

        def asked(request: Any) -> None:
            if not request.url.startswith((own, "data:", "blob:")):
                self.foreign.append(request.url)

        self.context.on("request", asked)
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda said: said.type == "error" and self.errors.append(said.text))
        self.page.goto(address)
        self.page.wait_for_function("window.linkwork?.link.drawn >= 1")

    def close(self) -> None:
        self.context.close()


def screenshot(page: Any, name: str, tmp_path: Path) -> None:
    """Keeps a picture of the page in the folder LINKWORK_SCREENSHOTS, else in that of the test."""
    folder = Path(os.environ.get("LINKWORK_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.png")


def browser_processes(process: int) -> list[int]:
    """The processes below this one whose command names Chromium."""
    listed = subprocess.run(
        ["ps", "-e", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    parents = {int(pid): int(parent) for pid, parent, _ in rows}

    def below(pid: int) -> bool:
        while pid in parents:
            pid = parents[pid]
            if pid == process:
                return True
        return False

    return [int(pid) for pid, _, args in rows if below(int(pid)) and "chromium" in args]


def own_browser() -> list[int]:
    """The processes of the browsers that this test process has started."""
    return browser_processes(os.getpid())
