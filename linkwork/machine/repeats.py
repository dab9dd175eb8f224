"""Templates of the section `repeat`: expanded into the other sections before a machine file is checked.

Each value of a copy keeps its place in the template, so that problems point there.
"""

import math
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine.checks.schema_validation import validate
from linkwork.machine.problems import MachineError, Place, shown
from linkwork.machine.sections.fields import calculated
from linkwork.machine.sections.orientation import Orientation
from linkwork.machine.sections.repeat import SECTIONS, Repeats, RepeatSpec, TurnSpec
from linkwork.machine.yaml_document import MOST_VALUES, Document, parse_yaml
from linkwork.multibody.tree.joint_map import elementary

_PLACEHOLDER = re.compile(r"<([A-Za-z][A-Za-z0-9_]*)>")
_ORIENTATION = tuple(Orientation.model_fields)


def parse_machine(source: str | bytes, file: str = "machine.yaml") -> Document:
    """Read the text of a machine file, its templates expanded. Raises MachineError."""
    return expanded(parse_yaml(source, file))


def expanded(document: Document) -> Document:
    """Return a machine file with copies in place of its section `repeat`. Raises MachineError."""
    data = document.data
    if not isinstance(data, dict) or "repeat" not in data:
        return document
    found = validate(Repeats, {"repeat": data["repeat"]}, document)
    if isinstance(found, list):
        raise MachineError(found)
    expansion = _Expansion(document)
    for name, spec in found.repeat.items():
        expansion.add(name, spec)
    return expansion.finished()


class _Expansion:
    """Copies of all templates by section, with the place of each value, and the problems found."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._made: dict[str, dict[str, Any]] = {}
        self._values: dict[Place, tuple[int, int]] = {}
        self._keys: dict[Place, tuple[int, int]] = {}
        self._origins: dict[Place, str] = {}
        self._problems: list[Any] = []

    def add(self, name: str, spec: RepeatSpec) -> None:
        """Make the copies of a template."""
        copies = [*range(1, spec.copies + 1)] if isinstance(spec.copies, int) else list(spec.copies)
        angles = spec.turn.angles_deg(len(copies)) if spec.turn else [0.0] * len(copies)
        for word, values in (*spec.values.items(), *([("angle_deg", angles)] if spec.turn else [])):
            if len(values) != len(copies):
                path = ("repeat", name, *(("values", word) if word in spec.values else ("turn", "angle_deg")))
                self._refuse(path, "not one value for each copy", f"{len(values)}", f"{len(copies)} values")
        if self._problems:
            return
        template = self._document.data["repeat"][name]
        words = [
            {word: values[number] for word, values in spec.values.items()}
            | {"copy": copy, "number": number + 1}
            | ({"angle_deg": angles[number]} if spec.turn else {})
            for number, copy in enumerate(copies)
        ]
        bodies = template.get("bodies") or {}
        mine = {str(self._text(key, each, ())) for key in bodies for each in words}
        for copy, each, angle in zip(copies, words, angles, strict=True):
            for section in SECTIONS:
                for key, entry in (template.get(section) or {}).items():
                    if self._wanted(entry, copies, copy, ("repeat", name, section, key)):
                        made = self._copy(name, section, key, entry, each)
                        if spec.turn and angle != 0.0 and isinstance(made, dict):
                            _turn(section, made, spec.turn, math.radians(angle), mine)

    def finished(self) -> Document:
        """Return the document with the copies, and the file's own entries over and after them."""
        if self._problems:
            raise MachineError(self._problems)
        document = self._document
        data = {key: value for key, value in document.data.items() if key != "repeat"}
        for section, copies in self._made.items():
            data[section] = _merged(copies, data.get(section) or {})
        return replace(
            document,
            data=data,
            values=self._values | document.values,
            keys=self._keys | document.keys,
            origins=self._origins,
        )

    def _wanted(self, entry: Any, copies: Sequence[Any], copy: Any, path: Place) -> bool:
        """Return whether an entry is in a copy."""
        only = entry.get("only") if isinstance(entry, dict) else None
        if only is None:
            return True
        unknown = [each for each in only if each not in copies] if isinstance(only, list) else [only]
        if unknown and copy == copies[0]:
            allowed = f"a list of {', '.join(map(str, copies))}"
            self._refuse((*path, "only"), "not a list of copies", shown(unknown[0]), allowed)
        return not unknown and copy in only

    def _copy(self, name: str, section: str, key: str, entry: Any, words: Mapping[str, Any]) -> Any:
        """Make and return a copy of an entry."""
        path = ("repeat", name, section, key)
        own = str(self._text(key, words, path))
        made = self._made.setdefault(section, {})
        if own in made:
            remedy = "write <copy> in its name" if "<" not in key else "use another name"
            self._refuse(path, "another copy has this name", own, "different names", remedy)
            return None
        target = (section, own)
        self._origins[target] = f"copy {words['copy']} of repeat.{name}"
        kept = {k: v for k, v in entry.items() if k != "only"} if isinstance(entry, dict) else entry
        made[own] = self._filled(kept, words, path, target)
        return made[own]

    def _filled(self, value: Any, words: Mapping[str, Any], path: Place, target: Place) -> Any:
        """Return a value with its placeholders replaced, and note its places."""
        if len(self._values) > MOST_VALUES:
            raise MachineError(
                [self._document.problem(path[:2], f"copies hold more than {MOST_VALUES} values")]
            )
        for places, mine in ((self._document.values, self._values), (self._document.keys, self._keys)):
            if path in places:
                mine[target] = places[path]
        if isinstance(value, dict):
            names = {key: str(self._text(key, words, (*path, key))) for key in value}
            return {
                name: self._filled(value[key], words, (*path, key), (*target, name))
                for key, name in names.items()
            }
        if isinstance(value, list):
            return [self._filled(v, words, (*path, k), (*target, k)) for k, v in enumerate(value)]
        return self._text(value, words, path) if isinstance(value, str) else value

    def _text(self, text: str, words: Mapping[str, Any], path: Place) -> Any:
        """Return a text with its placeholders replaced; one that stands alone becomes its value."""
        alone = _PLACEHOLDER.fullmatch(text)
        if alone and alone[1] in words:
            return deepcopy(words[alone[1]])

        def value(match: re.Match[str]) -> str:
            if match[1] in words and isinstance(words[match[1]], str | int | float):
                return str(words[match[1]])
            if path:
                what = "this list must stand alone" if match[1] in words else "no value has this name"
                self._refuse(path, what, match[0], ", ".join(f"<{word}>" for word in words))
            return match[0]

        return _PLACEHOLDER.sub(value, text)

    def _refuse(self, path: Place, message: str, found: str, allowed: str, remedy: str = "") -> None:
        problem = self._document.problem(path, message, found=found, allowed=allowed, remedy=remedy)
        if problem not in self._problems:
            self._problems.append(problem)


def _merged(made: Any, own: Any) -> Any:
    """Return a copy with the file's own values in it."""
    if not isinstance(made, dict) or not isinstance(own, dict):
        return own
    return made | {key: _merged(made[key], value) if key in made else value for key, value in own.items()}


def _turn(section: str, entry: dict[str, Any], turn: TurnSpec, angle: float, mine: set[str]) -> None:
    """Turn what an entry of a copy gives in the frame of a body that is not of the template."""
    about = np.array(turn.about, dtype=np.float64)
    R = elementary(np.concatenate([about / np.linalg.norm(about), np.zeros(3)]), angle)[0]
    if section == "joints":
        _turn_place(entry, entry.get("parent"), turn, R, mine, frame=True)
    elif section == "points":
        _turn_place(entry, entry.get("body"), turn, R, mine)
    elif section == "constraints":
        ends = [end for end in (entry.get("a"), entry.get("b")) if isinstance(end, dict)]
        if ends and ends[0].get("body") not in mine and "normal" in entry:
            entry["normal"] = _turned(entry["normal"], R)
        for end in ends:
            frame = entry.get("type") in ("weld", "prismatic")
            _turn_place(end, end.get("body"), turn, R, mine, frame=frame)
            if "axis" in end and end.get("body") not in mine:
                end["axis"] = _turned(end["axis"], R)


def _turn_place(
    entry: dict[str, Any], body: Any, turn: TurnSpec, R: Floats, mine: set[str], *, frame: bool = False
) -> None:
    if body in mine or not isinstance(body, str):
        return
    through = np.array(turn.through_m.get(body, [0.0, 0.0, 0.0]))
    entry["at_m"] = _turned(entry.get("at_m", [0.0, 0.0, 0.0]), R, through)
    if frame:
        given = {key: entry.pop(key) for key in _ORIENTATION if key in entry}
        try:
            entry["rotation_matrix"] = (R @ Orientation.model_validate(given).rotation()).tolist()
        except ValueError:  # reported where the machine is checked
            entry |= given


def _turned(vector: Any, R: Floats, through: Floats | float = 0.0) -> Any:
    """Return a vector after a turn; what is no vector is reported where the machine is checked."""
    try:
        numbers = np.array([float(calculated(each)) for each in vector])
        return (through + R @ (numbers - through)).tolist()
    except (ValueError, TypeError):
        return vector
