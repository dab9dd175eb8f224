"""What the documentation site adds to the pages of `docs/` (hooks of mkdocs).

Notebooks, and pages that stand elsewhere in the repository (the protocol, contributing, changes), become
pages of the site, and links between them are kept. The references of library and commands are generated
from the code.
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

import linkwork
from linkwork.cli.app import CommandHelp, build, command_helps

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = {
    "overview.md": "README.md",
    "notebooks/own_law.md": "docs/notebooks/own_law.ipynb",
    "protocol.md": "protocol/README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changes.md": "CHANGELOG.md",
}
"""Page of the site → file of the repository."""
PYTHON_REFERENCE = "reference/python.md"
COMMAND_REFERENCE = "reference/commands.md"
_CODE = re.compile(r"`[^`\n]+`")
"""Code in a line. In tables forges need a backslash before its bars, and the site shows it."""
_LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\]\([^)]*\))*\])\(([^)\s#]+)(#[^)]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that do not stand in `docs/`."""
    from mkdocs.structure.files import File

    for page, source in ELSEWHERE.items():
        files.append(File.generated(config, page, content=page_of(ROOT / source)))
    files.append(File.generated(config, PYTHON_REFERENCE, content=python_page()))
    files.append(File.generated(config, COMMAND_REFERENCE, content=commands_page()))
    return files


def page_of(file: Path) -> str:
    """Return the Markdown of a page, or of a notebook: its text, and its code as blocks."""
    text = file.read_text("utf-8")
    if file.suffix != ".ipynb":
        return text
    parts = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(text)["cells"]]
    return "\n\n".join(part if kind == "markdown" else f"```python\n{part}\n```" for kind, part in parts)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return the page with its links to files of the repository turned into links between pages."""
    here = page.file.src_uri
    source = PurePosixPath(ELSEWHERE.get(here, f"docs/{here}"))
    pages = {file: name for name, file in ELSEWHERE.items()}

    def link(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        if "://" in target:
            return match[0]
        file = normpath(str(source.parent / target))
        text = _LINK.sub(link, text)
        name = pages.get(file) or (file.removeprefix("docs/") if file.startswith("docs/") else None)
        shown = text.startswith("!") or (name or "").endswith(".md") or (name or "").startswith("images/")
        if name is None or not shown:
            return f"`{file}`" if text.startswith("[") else ""
        return f"{text}({relpath(name, PurePosixPath(here).parent)}{anchor})"

    return _CODE.sub(lambda code: code[0].replace("\\|", "|"), _LINK.sub(link, markdown))


def python_page() -> str:
    """Return the reference of everything that `from linkwork import …` offers."""
    parts = ["# Python reference\n", "Everything that `from linkwork import …` offers. Units are suffixes.\n"]
    for name in linkwork.__all__:
        thing = getattr(linkwork, name)
        parts.append(_entry(name, thing, "##"))
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            members = [
                (key, value)
                for key, value in inspect.getmembers(thing)
                if not key.startswith("_") and (callable(value) or isinstance(value, property))
            ]
            parts += [
                _entry(f"{name}.{key}", value, "###") for key, value in members if inspect.getdoc(value)
            ]
    return "\n".join(parts)


def commands_page() -> str:
    """Return the reference of every command: its help, with a table of arguments and options."""
    parts = ["# Commands\n", f"`linkwork COMMAND --help` shows the same in the terminal. {build().epilog}\n"]
    return "\n".join([*parts, *map(_command, command_helps())])


def _command(command: CommandHelp) -> str:
    heading = "##" + "#" * command.words.count(" ")
    about = "\n\n".join(command.about)
    rows = [f"| `{_cell(words)}` | {_cell(text)} |" for words, text in command.parameters]
    examples = "\n".join(command.examples)
    return "\n".join(
        [
            f"{heading} linkwork {command.words}\n\n```text\n{command.usage}\n```\n\n{about}\n",
            *("| option | |", "| --- | --- |"),
            *rows,
            f"\n```sh\n{examples}\n```\n",
        ]
    )


def _cell(text: str) -> str:
    """Return text for a table, where a bar ends the cell."""
    return text.replace("|", "\\|")


class _Shown:
    """An annotation as it stands in the source."""

    def __init__(self, text: object) -> None:
        self.text = text

    def __repr__(self) -> str:
        return str(self.text)


def _signature(thing: Any) -> str:
    """Return the signature with one parameter a line where it is long, or "" for what has none."""
    if isinstance(thing, property):
        return ""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    parameters = [
        one if one.annotation is one.empty else one.replace(annotation=_Shown(one.annotation))
        for one in signature.parameters.values()
        if one.name != "self"
    ]
    back = signature.return_annotation
    result = "" if back in (signature.empty, None, "None") else f" -> {back}"
    shown = str(inspect.Signature(parameters))
    if len(shown) + len(result) > 70:
        lines = ",\n".join(f"    {one}" for one in _split(shown[1:-1]))
        return f"(\n{lines},\n){result}"
    return f"{shown}{result}"


def _split(parameters: str) -> list[str]:
    """Return the parameters of a signature: split at commas that stand in no bracket."""
    parts, depth, part = [], 0, ""
    for letter in parameters:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            parts.append(part.strip())
            part = ""
        else:
            part += letter
    return [*parts, part.strip()]


def _entry(name: str, thing: Any, heading: str) -> str:
    signature = _signature(thing)
    shown = f"```python\n{name}{signature}\n```\n" if signature else ""
    return f"{heading} {name}\n\n{shown}\n{inspect.cleandoc(inspect.getdoc(thing) or '')}\n"
