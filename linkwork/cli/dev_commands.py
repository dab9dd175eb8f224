"""Commands that begin a new part of linkwork in a checkout: dev new-law, new-request, new-joint."""

import re
import subprocess
import sys
from collections.abc import Iterator
from difflib import unified_diff
from keyword import iskeyword
from pathlib import Path
from string import Template
from typing import Final, NamedTuple

import linkwork
from linkwork.cli.app import build
from linkwork.cli.options.files import NewPartOptions
from linkwork.client.robot import Robot
from linkwork.multibody.model import JOINT_KINDS
from linkwork.protocol.laws import LawKind
from linkwork.protocol.request_table import REQUESTS
from linkwork.terminal.failures import Misuse
from linkwork.terminal.output import emit, say

_SKELETONS: Final = Path(__file__).parent / "skeletons"
_SECTION: Final = re.compile(r"^=== (\S+)(?: before: (.+))?\n", re.MULTILINE)
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_MOST_LETTERS: Final = 24
"""Longest name with which the lines of the skeletons keep their form."""
_YAML_WORDS: Final = ("true", "false", "null", "yes", "no", "on", "off")
_ROOMS: Final = ("controller", "linkwork", "plant", "protocol")
_SCHEMA: Final = "configs/machine.schema.json"


class _Section(NamedTuple):
    """Text for a file of the checkout. before: beginning of the line that it precedes; "": a new file."""

    file: str
    before: str
    text: str


def new_law(options: NewPartOptions) -> None:
    """Run `linkwork dev new-law`."""
    number = max(LawKind) + 1
    _begin("law", options, {kind.label for kind in LawKind}, number=str(number))


def new_request(options: NewPartOptions) -> None:
    """Run `linkwork dev new-request`."""
    commands = {name.replace("-", "_") for names in build().panels.values() for name in names}
    _begin("request", options, {*REQUESTS, *commands, *dir(Robot)})


def new_joint(options: NewPartOptions) -> None:
    """Run `linkwork dev new-joint`."""
    _begin("joint", options, set(JOINT_KINDS))


def _begin(part: str, options: NewPartOptions, taken: set[str], **given: str) -> None:
    """Write the skeleton of a part, or show the difference that it would make."""
    root, name = _checkout(part), options.name
    _check_name(part, name, taken)
    words = {"name": name, "NAME": name.upper(), "Class": name.title().replace("_", ""), **given}
    texts: dict[str, str] = {}
    for section in _sections(part, words):
        _refuse_known_classes(root, section)
        texts[section.file] = _with(root, section, texts.get(section.file))
    if options.dry_run:
        changes = "\n".join(line for file, text in texts.items() for line in _difference(root, file, text))
        if options.as_json:
            emit({"name": name, "files": list(texts), "difference": changes})
        else:
            say(f"{changes}\n\n{_SCHEMA} would be written again, by `linkwork schema`")
        return
    try:
        for file, text in texts.items():
            (root / file).write_text(text, encoding="utf-8")
        _write_schema(root)
    except OSError as error:
        raise Misuse(f"{error.filename} cannot be written: {error.strerror}") from None
    if options.as_json:
        emit({"name": name, "files": [*texts, _SCHEMA]})
        return
    for file in (*texts, _SCHEMA):
        say(file)
    test = next(file for file in texts if file.startswith("tests/"))
    say(f"Fill in what these files say about {name}, until `just test {test}` passes")


def _checkout(part: str) -> Path:
    """Return the root of the checkout that this linkwork runs from. Raises Misuse outside of it."""
    root, here = Path(linkwork.__file__).resolve().parents[1], Path.cwd()
    if not (root / "CONTRIBUTING.md").is_file() or not (root / "tests").is_dir():
        raise Misuse(
            f"dev new-{part} changes a checkout of linkwork, and {root} is none: clone linkwork, run "
            "`pip install -e '.[dev]'` in the clone, and the command there"
        )
    if not here.is_relative_to(root):
        raise Misuse(f"{here} is not in the checkout that this linkwork runs from: `cd {root}` first")
    return root


def _check_name(part: str, name: str, taken: set[str]) -> None:
    """Raise Misuse for a name that cannot be used in Python, in files and on command lines, or is taken."""
    if not _NAME.fullmatch(name) or len(name) > _MOST_LETTERS or iskeyword(name) or name in _YAML_WORDS:
        raise Misuse(
            f"{name!r} cannot be the name of a {part}: it has lower-case letters and digits, words joined by "
            f"_, a letter first, at most {_MOST_LETTERS} characters, and is no word of Python or YAML"
        )
    if name in taken:
        raise Misuse(f"{name} cannot be the name of a new {part}: it is taken; choose another one")


def _sections(part: str, words: dict[str, str]) -> Iterator[_Section]:
    text = (_SKELETONS / f"{part}.txt").read_text(encoding="utf-8")
    _, *parts = _SECTION.split(Template(text).substitute(words))
    for file, before, content in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        yield _Section(file, before or "", content)


def _refuse_known_classes(root: Path, section: _Section) -> None:
    """Raise Misuse where a class of the skeleton exists: a class name has one meaning."""
    for name in re.findall(r"^class (\w+)", section.text, re.MULTILINE):
        known = re.compile(rf"^class {name}\b", re.MULTILINE)
        for path in (path for room in _ROOMS for path in (root / room).rglob("*.py")):
            if known.search(path.read_text(encoding="utf-8")):
                place = path.resolve().relative_to(root)
                raise Misuse(f"{place} has a class {name} already; choose another name")


def _with(root: Path, section: _Section, planned: str | None) -> str:
    """Return a file's text with a section. planned: its text with earlier sections."""
    path = root / section.file
    if not section.before:
        if path.exists():
            raise Misuse(f"{section.file} exists already; choose another name, or delete it first")
        return section.text
    text = path.read_text(encoding="utf-8") if planned is None else planned
    head, found, tail = text.partition(f"\n{section.before}")
    if not found:
        raise Misuse(
            f"{section.file} has no line that begins with {section.before!r}, where the text belongs"
        )
    above = head.rstrip("\n")
    return f"{above}\n{section.text.rstrip()}{head[len(above) :]}{found}{tail}"


def _difference(root: Path, file: str, text: str) -> Iterator[str]:
    path = root / file
    old = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    before = f"a/{file}" if path.exists() else "/dev/null"
    return unified_diff(old, text.splitlines(), before, f"b/{file}", lineterm="")


def _write_schema(root: Path) -> None:
    """Write the schema of machine files as the changed checkout has it. Raises Misuse where that fails."""
    ran = subprocess.run(
        [sys.executable, "-m", "linkwork", "schema"], cwd=root, capture_output=True, text=True, check=False
    )
    if ran.returncode != 0:
        reason = ran.stderr.strip().rpartition("\n")[2]
        raise Misuse(f"the files are written, but `linkwork schema` fails: {reason}")
    (root / _SCHEMA).write_text(ran.stdout, encoding="utf-8")
