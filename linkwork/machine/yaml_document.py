"""Reading YAML 1.2 with the place of every key and value, for machine files and trajectory files alike."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, ReusedAnchorWarning, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from linkwork.brief import Brief
from linkwork.machine.problems import MachineError, Place, Problem, dotted, shown
from linkwork.regular_files import check_regular

LARGEST_FILE_BYTES = 16 * 1024 * 1024
MOST_VALUES = 300_000
DEEPEST = 50

_TAG = "tag:yaml.org,2002:"
_WANTED = {
    _TAG + "int": "an integer",
    _TAG + "float": "a number",
    _TAG + "bool": "true or false",
    _TAG + "null": "nothing",
}
_TEXTS = {_TAG + "str", _TAG + "timestamp", _TAG + "merge", _TAG + "value"}


@dataclass(frozen=True, repr=False)
class Document(Brief):
    """A file's data as plain dictionaries, lists and scalars, with their places.

    `file` is the name that problems show, `text` the source. Positions count lines and columns from 1.
    """

    file: str
    text: str
    data: Any
    values: dict[Place, tuple[int, int]] = field(repr=False)
    keys: dict[Place, tuple[int, int]] = field(repr=False)
    origins: dict[Place, str] = field(repr=False, default_factory=dict)
    """Of sections' entries that are copies of templates: which copy of which."""

    def position(self, path: Sequence[str | int], *, of_key: bool = False) -> tuple[int, int]:
        """Return (line, column) of the value at a path, or of its key, or else of the nearest parent.

        A missing key is thus placed at the key of the mapping that should hold it.
        """
        steps = tuple(path)
        table = self.keys if of_key else self.values
        if steps in table:
            return table[steps]
        while steps:
            steps = steps[:-1]
            place = self.keys.get(steps) or self.values.get(steps)
            if place:
                return place
        return (1, 1)

    def problem(
        self, path: Sequence[str | int], message: str, *, of_key: bool = False, **rest: Any
    ) -> Problem:
        """Make a problem at a path; `rest` are found, allowed, remedy and severity."""
        line, column = self.position(path, of_key=of_key)
        origin = self.origins.get(tuple(path[:2]))
        message += f" ({origin})" if origin else ""
        return Problem(self.file, line, column, dotted(path), message, **rest)


def read_yaml(path: str | Path) -> Document:
    """Read a file. Raises MachineError for a file that is not UTF-8 text in YAML 1.2."""
    file = str(path)
    try:
        check_regular(Path(path))
        with Path(path).open("rb") as stream:
            raw = stream.read(LARGEST_FILE_BYTES + 1)
    except FileNotFoundError:
        raise _refusal(file, "no such file", remedy="give the path of a file that exists") from None
    except IsADirectoryError:
        raise _refusal(file, "this is a folder, not a file", remedy="give the path of a file in it") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _refusal(file, f"the file cannot be read: {reason}") from None
    return parse_yaml(raw, file)


def parse_yaml(source: str | bytes, file: str = "<text>") -> Document:
    """Read YAML from text or bytes; `file` is the name that problems show. Raises MachineError."""
    if len(source) > LARGEST_FILE_BYTES:
        allowed = f"at most {LARGEST_FILE_BYTES} bytes"
        raise _refusal(file, "the file is too large", found="more than that", allowed=allowed)
    text = _decode(source, file) if isinstance(source, bytes) else source
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", ReusedAnchorWarning
            )  # YAML allows it, but it would not be noticed
            root = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        raise MachineError([_syntax(error, file, text)]) from None
    except ReaderError as error:
        line, column = _place(text, error.position)
        found = f"the character with code {error.character:#x}" if isinstance(error.character, int) else ""
        raise MachineError(
            [Problem(file, line, column, "", "this character is not allowed in YAML", found)]
        ) from None
    except RecursionError:
        raise _refusal(file, "lists or mappings are nested too deeply", allowed=f"{DEEPEST} levels") from None
    except (YAMLError, ValueError, AttributeError, TypeError, IndexError, AssertionError) as error:
        raise _refusal(file, f"this is not YAML: {error}") from None
    if root is None:
        raise _refusal(file, "the file is empty", allowed="a mapping of keys to values")
    return _Walk(file, text).document(root)


def parse_scalar(text: str) -> Any:
    """Read one value as YAML does ("1e3", "true", "[0, 0, 1]"), without its places. Raises MachineError."""
    return parse_yaml(text).data


class _Walk:
    """Turns composed nodes into data while noting the place of each; collects problems on the way."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        self.values: dict[Place, tuple[int, int]] = {}
        self.keys: dict[Place, tuple[int, int]] = {}
        self.problems: list[Problem] = []
        self.constructor = YAML(typ="safe", pure=True).constructor

    def document(self, root: Node) -> Document:
        data = self.value(root, ())
        if self.problems:
            raise MachineError(self.problems)
        return Document(self.file, self.text, data, self.values, self.keys)

    def value(self, node: Node, path: Place) -> Any:
        self.values[path] = _mark(node)
        if len(self.values) > MOST_VALUES:
            self.stop(node, path, "the file holds too many values", f"at most {MOST_VALUES}, aliases counted")
        if len(path) > DEEPEST:
            self.stop(node, path[:4], "lists or mappings are nested too deeply", f"{DEEPEST} levels")
        if isinstance(node, MappingNode) and str(node.tag) == _TAG + "map":
            return self.mapping(node, path)
        if isinstance(node, SequenceNode) and str(node.tag) == _TAG + "seq":
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        if isinstance(node, ScalarNode):
            return self.scalar(node, path)
        return self.refuse(node, path, "unknown tag", str(node.tag), "plain values, lists and mappings")

    def mapping(self, node: MappingNode, path: Place) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode) or str(key_node.tag) not in _TEXTS:
                found = shown(key_node.value) if isinstance(key_node, ScalarNode) else "a list or a mapping"
                self.refuse(key_node, path, "a key must be text", found, "a name", "put the key in quotes")
                continue
            key = str(key_node.value)
            if not _is_unicode(key):
                self.refuse(key_node, path, "this key is not valid Unicode", repr(key))
                continue
            place = (*path, key)
            if key in data:
                first = self.keys[place][0]
                self.refuse(
                    key_node, place, "this key is given twice", f"first on line {first}", remedy="keep one"
                )
                continue
            self.keys[place] = _mark(key_node)
            data[key] = self.value(value_node, place)
            if data[key] is None and not value_node.value:  # there is no value: point at the key
                self.values[place] = self.keys[place]
        return data

    def scalar(self, node: ScalarNode, path: Place) -> Any:
        tag = str(node.tag)
        if tag in _TEXTS and not _is_unicode(node.value):
            return self.refuse(node, path, "this text is not valid Unicode", shown(node.value))
        if tag in _TEXTS:
            return str(node.value)
        if tag not in _WANTED:
            return self.refuse(node, path, "unknown tag", tag, "numbers, texts, true, false, null")
        try:
            return self.constructor.construct_object(node)
        except (ValueError, YAMLError, KeyError, IndexError, OverflowError):
            return self.refuse(node, path, f"this is not {_WANTED[tag]}", shown(str(node.value)))

    def refuse(
        self, node: Node, path: Place, message: str, found: str = "", allowed: str = "", remedy: str = ""
    ) -> None:
        line, column = _mark(node)
        self.problems.append(Problem(self.file, line, column, dotted(path), message, found, allowed, remedy))

    def stop(self, node: Node, path: Place, message: str, allowed: str) -> None:
        self.refuse(node, path, message, allowed=allowed)
        raise MachineError(self.problems)


def _is_unicode(text: str) -> bool:
    """Return whether a text can be written to a file: an escape can name half of a surrogate pair."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _mark(node: Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _decode(raw: bytes, file: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = _place(raw[: error.start].decode("utf-8", "replace"), error.start)
        found = f"the byte {raw[error.start]:#04x}"
        problem = Problem(
            file, line, column, "", "the file is not UTF-8 text", found, "UTF-8", "save it as UTF-8"
        )
        raise MachineError([problem]) from None


def _place(text: str, position: int) -> tuple[int, int]:
    before = text[:position].split("\n")
    return len(before), len(before[-1]) + 1


def _syntax(error: MarkedYAMLError, file: str, text: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
    message = " ".join(str(part) for part in (error.problem, error.context) if part) or "this is not YAML"
    if error.context_mark and mark is not error.context_mark:
        message += f" that began on line {error.context_mark.line + 1}"
    lines = text.splitlines()
    source = lines[line - 1] if line is not None and line <= len(lines) else ""
    if "\t" in source and (not source[: source.index("\t")].strip() or "\\t" in message):
        column = source.index("\t") + 1
        return Problem(
            file,
            line,
            column,
            "",
            "a tab in the indentation; YAML needs spaces",
            "a tab",
            "spaces",
            "indent with spaces",
        )
    return Problem(file, line, column, "", message, shown(source.strip()) if source.strip() else "")


def _refusal(file: str, message: str, allowed: str = "", found: str = "", remedy: str = "") -> MachineError:
    return MachineError([Problem(file, None, None, "", message, found, allowed, remedy)])
