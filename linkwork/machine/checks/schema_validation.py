"""Convert pydantic's errors about a document to Problems: place, key, value found and values allowed."""

from collections.abc import Callable
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError

from linkwork.machine.nearest_name import meant
from linkwork.machine.problems import Place, Problem, shown
from linkwork.machine.sections.constraint_base import COORDINATE_PATTERN
from linkwork.machine.sections.fields import NAME_PATTERN
from linkwork.machine.sections.formulas import within
from linkwork.machine.sections.quantity import ANGLE, LENGTH, DofSection
from linkwork.machine.yaml_document import Document

M = TypeVar("M", bound=BaseModel)

_UNKNOWN, _MISSING = "unknown key", "missing key"
_TYPES = {
    "float_type": "a number",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "bool_type": "true or false",
    "string_type": "text",
    "dict_type": "a mapping of names to values",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "list_type": "a list",
}
_RANGES = {
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "{ge:g} or more",
    "less_than": "less than {lt:g}",
    "less_than_equal": "at most {le:g}",
    "string_too_long": "at most {max_length} characters",
}


def validate(model: type[M], data: Any, document: Document) -> M | list[Problem]:
    """Check data against a model; return its instance, or every problem at its place."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        return problems_of(error, model, document)


def problems_of(error: ValidationError, model: type[BaseModel], document: Document) -> list[Problem]:
    """Translate a pydantic error about a document's data, in the order of the document.

    A key that is missing because it is misspelt is reported once, as unknown.
    """
    problems = []
    for detail in error.errors(include_url=False):
        of_key = bool(detail["loc"]) and detail["loc"][-1] == "[key]"
        fault = _Fault(
            detail["msg"], detail.get("ctx", {}), detail["input"], *locate(model, detail["loc"]), of_key
        )
        report = _REPORTS.get(detail["type"], _plainly)
        problems.append(report(detail["type"], fault).problem(document))
    misspelt = {_sibling(p.key, p.remedy.removeprefix("write ")) for p in problems if p.message == _UNKNOWN}
    told = [p for p in problems if p.message != _MISSING or p.key not in misspelt]
    return sorted(told, key=lambda problem: (problem.line or 0, problem.column or 0))


def _sibling(key: str, name: str) -> str:
    parent = key.rpartition(".")[0]
    return f"{parent}.{name}" if parent else name


@dataclass(frozen=True)
class _Fault:
    """Error of pydantic, with its location in the schema."""

    text: str
    context: dict[str, Any]
    value: Any
    path: Place
    section: type[BaseModel] | None
    meaning: str
    of_key: bool


@dataclass(frozen=True)
class _Report:
    """A problem that does not know its line and column yet."""

    path: Place
    message: str
    found: str
    allowed: str
    remedy: str = ""
    of_key: bool = False
    offset: int = -1

    def problem(self, document: Document) -> Problem:
        """Place the problem in a document."""
        rest = {"found": self.found, "allowed": self.allowed, "remedy": self.remedy}
        placed = document.problem(self.path, self.message, of_key=self.of_key, **rest)
        return placed if self.offset < 0 else within(document, self.path, placed, self.offset)


def _with_meaning(allowed: str, fault: _Fault) -> str:
    return f"{allowed}: {fault.meaning}" if allowed and fault.meaning else allowed or fault.meaning


def _plainly(_: str, fault: _Fault) -> _Report:
    return _Report(fault.path, fault.text, shown(fault.value), fault.meaning, of_key=fault.of_key)


def _by_the_section(_: str, fault: _Fault) -> _Report:
    """A fault that a section of ours has found and described (`fields.wrong`)."""
    said = fault.context
    path = (*fault.path, *said["at"])
    words = (said["message"], said["found"], said["allowed"], said["remedy"])
    return _Report(path, *words, offset=said["offset"])


def _missing(kind: str, fault: _Fault) -> _Report:
    path = fault.path if kind == "missing" else (*fault.path, _choosing_key(fault))
    return _Report(path, _MISSING, "nothing", fault.meaning, f"add {path[-1]}")


def _unknown_key(_: str, fault: _Fault) -> _Report:
    keys = sorted(fault.section.model_fields) if fault.section else []
    word = str(fault.path[-1])
    remedy = _deeper(word, fault.section) or meant(word, keys) or "remove it"
    return _Report(fault.path, _UNKNOWN, word, ", ".join(keys), remedy, of_key=True)


def _deeper(word: str, section: type[BaseModel] | None) -> str:
    """Return the remedy for a key that belongs under one of the section's keys, or an empty text."""
    for name, field in section.model_fields.items() if section else ():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel) and word in inner.model_fields:
            return f"write it under {name}"
    return ""


def _unknown_type(_: str, fault: _Fault) -> _Report:
    choices = _choices(fault.context["expected_tags"])
    path, word = (*fault.path, _choosing_key(fault)), str(fault.context["tag"])
    return _Report(path, "unknown type", word, ", ".join(choices), meant(word, choices))


def _unknown_choice(_: str, fault: _Fault) -> _Report:
    choices = _choices(fault.context["expected"].replace(" or ", ", "))
    allowed, remedy = ", ".join(choices), meant(str(fault.value), choices)
    return _Report(fault.path, "invalid choice", shown(fault.value), allowed, remedy)


def _not_a_name(_: str, fault: _Fault) -> _Report:
    if fault.context["pattern"] not in (NAME_PATTERN, COORDINATE_PATTERN):
        return _Report(fault.path, "invalid value", shown(fault.value), fault.meaning)
    allowed = "letters, digits and underscores, a letter first"
    if fault.context["pattern"] == COORDINATE_PATTERN:
        allowed += "; for a joint with several degrees of freedom, a dot and the degree of freedom"
    return _Report(fault.path, "this is not a name", shown(fault.value), allowed, of_key=fault.of_key)


def _wrong_length(kind: str, fault: _Fault) -> _Report:
    what = "values" if isinstance(fault.value, list) else "entries"
    bound = "min_length" if kind == "too_short" else "max_length"
    allowed = f"{fault.context[bound]} {what} at {'least' if kind == 'too_short' else 'most'}"
    found = f"{len(fault.value)} {what}"
    return _Report(fault.path, "this has the wrong length", found, _with_meaning(allowed, fault))


def _not_finite(_: str, fault: _Fault) -> _Report:
    allowed = _with_meaning("a finite number", fault)
    return _Report(fault.path, "this is not a finite number", shown(fault.value), allowed)


def _wrong_type(kind: str, fault: _Fault) -> _Report:
    whole = isinstance(fault.value, int) and not isinstance(fault.value, bool)
    message = "this number is too large" if kind == "float_type" and whole else "this has the wrong type"
    return _Report(fault.path, message, shown(fault.value), _with_meaning(_TYPES[kind], fault))


def _out_of_range(kind: str, fault: _Fault) -> _Report:
    allowed = _RANGES[kind].format(**fault.context)
    if not fault.of_key:
        allowed = _with_meaning(allowed, fault)
    return _Report(fault.path, "this is out of range", shown(fault.value), allowed, of_key=fault.of_key)


def _choosing_key(fault: _Fault) -> str:
    return str(fault.context.get("discriminator", "type")).strip("'")


def _choices(text: str) -> list[str]:
    return text.replace("'", "").split(", ")


_REPORTS: dict[str, Callable[[str, _Fault], _Report]] = {
    "machine": _by_the_section,
    "missing": _missing,
    "union_tag_not_found": _missing,
    "extra_forbidden": _unknown_key,
    "union_tag_invalid": _unknown_type,
    "literal_error": _unknown_choice,
    "string_pattern_mismatch": _not_a_name,
    "too_short": _wrong_length,
    "too_long": _wrong_length,
    "finite_number": _not_finite,
    **dict.fromkeys(_TYPES, _wrong_type),
    **dict.fromkeys(_RANGES, _out_of_range),
}


def locate(model: type[BaseModel], loc: Place) -> tuple[Place, type[BaseModel] | None, str]:
    """Walk a location: return it without the marks of unions, its section, its key's description."""
    path: list[str | int] = []
    section: type[BaseModel] | None = model
    here: Any = model
    description = ""
    for step in loc:
        if step == "[key]":
            continue
        here, member = _member(here, step)
        if member:
            continue
        path.append(step)
        description = ""
        section = here if isinstance(here, type) and issubclass(here, BaseModel) else None
        if section is not None:
            known = section.model_fields.get(str(step))
            description = known.description or "" if known else ""
            here = known.annotation if known else None
        else:
            here = _inside(here)
    return tuple(path), section, description


def _member(here: Any, step: str | int) -> tuple[Any, bool]:
    """Strip what surrounds a type; where it is a union, choose the member that a step names, and say so."""
    while get_origin(here) is Annotated:
        here = get_args(here)[0]
    if isinstance(here, type) and issubclass(here, DofSection) and step in (ANGLE, LENGTH):
        return here.of_kind(step == ANGLE), True
    if get_origin(here) not in (Union, UnionType):
        return here, False
    members = [member for member in get_args(here) if member is not type(None)]
    for candidate in members:
        if step in _tags(candidate):
            return candidate, True
    return (_member(members[0], step)[0], False) if len(members) == 1 else (None, False)


def _tags(member: Any) -> set[str]:
    tags: set[str] = set()
    while get_origin(member) is Annotated:
        tags |= {note.tag for note in get_args(member)[1:] if isinstance(note, Tag)}
        member = get_args(member)[0]
    if isinstance(member, type) and issubclass(member, BaseModel) and "type" in member.model_fields:
        choice = member.model_fields["type"].annotation
        tags |= set(get_args(choice)) if get_origin(choice) is Literal else set()
    return tags


def _inside(here: Any) -> Any:
    """Return the element type of a list or mapping."""
    origin, inner = get_origin(here), get_args(here)
    if origin is dict:
        return inner[1]
    return inner[0] if origin in (list, tuple) and inner else None
