"""Provenance of a report: everything in it that may differ between two equal lockstep runs."""

import hashlib
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PARTS = ("linkwork", "numpy", "pyzmq", "pytest")


def provenance(words: Sequence[str], seconds: float) -> dict[str, Any]:
    """Return how and where a report was made, as plain data.

    words: the command line, with paths without folders. seconds: its duration.
    """
    return {
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "took_s": round(seconds, 1),
        "command": " ".join(["linkwork", *map(without_folders, words)]),
        "versions": {"python": platform.python_version()} | {name: _version(name) for name in _PARTS},
        "sources": _sources(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": _processor(),
    }


def origin(told: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return provenance as names with texts, for people."""
    return [
        ("command", str(told["command"])),
        ("made", f"{told['made']}, in {told['took_s']} s"),
        ("versions", ", ".join(f"{name} {number}" for name, number in told["versions"].items())),
        ("source", str(told["sources"])),
        ("system", ", ".join(filter(None, (told["system"], told["processor"])))),
    ]


def without_folders(word: str) -> str:
    """A word of a command line without a path's folders: "--out=/a/b" is "--out=b"."""
    name, equals, value = word.partition("=")
    if equals and name.startswith("-"):
        return f"{name}={without_folders(value)}"
    return word if "://" in word or "/" not in word else Path(word).name


def without_paths(text: str) -> str:
    """A failure's text without the folders of this computer, and without addresses of objects."""
    import re

    folders = [str(Path.cwd()), str(Path(__file__).resolve().parents[2]), sys.prefix, str(Path.home())]
    for folder in sorted(folders, key=len, reverse=True):
        if len(folder) > 1:
            text = text.replace(folder + "/", "")
    text = re.sub(r"\bat 0x[0-9a-f]+", "at 0x…", text)
    return re.sub(r"/(?:tmp|run|dev/shm|var/tmp)/[^\s'\"]*/", "…/", text)


def _sources() -> str:
    """Hash of linkwork's own source, 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for room in sorted(Path(__file__).resolve().parents[1].iterdir()):
        for path in [room] if room.suffix == ".py" else sorted(room.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
