"""Turning what pydantic says about a document into Problems: place, key, what was found and allowed."""

from __future__ import annotations

from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError

from machine.fields import NAME_PATTERN
from machine.names import nearest
from machine.problems import Problem, shown
from machine.yaml import Document

M = TypeVar("M", bound=BaseModel)

_ALLOWED = {
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "string_type": "text",
    "dict_type": "a mapping of names to values",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "list_type": "a list",
    "finite_number": "a finite number",
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "{ge:g} or more",
    "less_than": "less than {lt:g}",
    "less_than_equal": "at most {le:g}",
    "literal_error": "{expected}",
    "union_tag_invalid": "{expected_tags}",
    "string_pattern_mismatch": "letters, digits and underscores, a letter first",
    "string_too_long": "at most {max_length} characters",
}
_WRONG = {
    "missing": "this key is missing",
    "extra_forbidden": "this key is not known",
    "union_tag_invalid": "this type is not known",
    "union_tag_not_found": "this key is missing",
    "finite_number": "this is not a finite number",
    "literal_error": "this choice does not exist",
    "string_pattern_mismatch": "this is not a name",
}
_OUT_OF_RANGE = {"greater_than", "greater_than_equal", "less_than", "less_than_equal", "string_too_long"}


def validate(model: type[M], data: Any, document: Document) -> M | list[Problem]:
    """Check data against a model; return its instance, or every problem at its place."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        return problems_of(error, model, document)


def problems_of(error: ValidationError, model: type[BaseModel], document: Document) -> list[Problem]:
    """Translate a pydantic error about a document's data, in the order of the document."""
    problems = [_problem(detail, model, document) for detail in error.errors(include_url=False)]
    misspelt = {
        (*_parent(p), p.remedy.removeprefix("write "))
        for p in problems
        if p.message == _WRONG["extra_forbidden"]
    }
    problems = [
        p
        for p in problems
        if p.message != _WRONG["missing"] or (*_parent(p), p.key.rpartition(".")[2]) not in misspelt
    ]
    return sorted(problems, key=lambda problem: (problem.line or 0, problem.column or 0))


def _parent(problem: Problem) -> tuple[str]:
    return (problem.key.rpartition(".")[0],)


def _problem(detail: Any, model: type[BaseModel], document: Document) -> Problem:
    kind, context = detail["type"], detail.get("ctx", {})
    path, section, description = _locate(model, detail["loc"])
    found = shown(detail["input"])
    message = _WRONG.get(kind) or (
        "this is out of range" if kind in _OUT_OF_RANGE else "this has the wrong type"
    )
    allowed, remedy, of_key = _allowed(kind, context, description), "", False
    if detail["loc"] and detail["loc"][-1] == "[key]":
        of_key = True
    if kind == "machine":
        message, found = context["message"], context["found"]
        allowed, remedy, path = context["allowed"], context["remedy"], (*path, *context["at"])
    elif kind in ("missing", "union_tag_not_found"):
        if kind == "union_tag_not_found":
            path = (*path, str(context.get("discriminator", "type")).strip("'"))
        found, remedy = "nothing", f"add {path[-1]}"
    elif kind == "extra_forbidden":
        keys = sorted(section.model_fields) if section else []
        meant = nearest(str(path[-1]), keys)
        found, allowed, of_key = str(path[-1]), ", ".join(keys), True
        remedy = f"write {meant}" if meant else "remove it"
    elif kind == "union_tag_invalid":
        path = (*path, str(context.get("discriminator", "type")).strip("'"))
        found = str(context.get("tag", ""))
        allowed = allowed.replace("'", "")
        remedy = _meant(found, allowed.split(", "))
    elif kind == "literal_error":
        choices = allowed.replace("'", "").replace(" or ", ", ")
        allowed, remedy = choices, _meant(str(detail["input"]), choices.split(", "))
    elif kind == "string_pattern_mismatch" and context.get("pattern") != NAME_PATTERN:
        message, allowed = "this is not understood", description
    elif kind in ("too_short", "too_long"):
        message, allowed = "this has the wrong length", _length(context, detail["input"])
        found = f"{len(detail['input'])} values" if isinstance(detail["input"], (list, dict)) else found
    elif kind not in _ALLOWED:
        message = detail["msg"]
    return document.problem(path, message, of_key=of_key, found=found, allowed=allowed, remedy=remedy)


def _allowed(kind: str, context: dict[str, Any], description: str) -> str:
    text = _ALLOWED.get(kind, "").format(**context) if kind in _ALLOWED else ""
    return (
        f"{text}: {description}"
        if text and description and kind not in ("literal_error", "union_tag_invalid")
        else text or description
    )


def _length(context: dict[str, Any], value: Any) -> str:
    least, most = context.get("min_length"), context.get("max_length")
    unit = "values" if isinstance(value, list) else "entries"
    return f"{least} {unit} at least" if least is not None else f"{most} {unit} at most"


def _meant(word: str, choices: list[str]) -> str:
    meant = nearest(word, choices)
    return f"write {meant}" if meant else ""


def _locate(
    model: type[BaseModel], loc: tuple[str | int, ...]
) -> tuple[tuple[str | int, ...], type[BaseModel] | None, str]:
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
    """Return the type of what a list or a mapping holds."""
    origin, inner = get_origin(here), get_args(here)
    if origin is dict:
        return inner[1]
    return inner[0] if origin in (list, tuple) and inner else None
