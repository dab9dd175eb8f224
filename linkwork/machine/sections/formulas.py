"""Values that are a number or an expression of coordinates and time, and where in the file one goes wrong."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

from pydantic import PlainValidator, WithJsonSchema

from linkwork.machine.problems import Place, Problem, shown
from linkwork.machine.sections.fields import LARGEST, Section, wrong
from linkwork.machine.yaml_document import Document
from linkwork.multibody.expressions import ExpressionError, parse, parse_equation, renamed
from linkwork.multibody.expressions.text import RATE_OF

S = TypeVar("S", bound=Section)

_ALLOWED = "a number, or an expression of coordinates (rad, m) and t (s) in quotes"


def _formula(value: Any, more: Mapping[str, int] = MappingProxyType({})) -> float | str:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise wrong("this has the wrong type", shown(value), _ALLOWED)
    if isinstance(value, str):
        return _read(value, equation=False, more=more)
    if not abs(value) <= LARGEST:  # not a number compares as false
        raise wrong("this number is too large or not finite", shown(value), f"-{LARGEST:g} to {LARGEST:g}")
    return float(value)


def _equation(value: Any) -> str:
    if not isinstance(value, str):
        raise wrong("this has the wrong type", shown(value), "an equation in quotes: left = right")
    return _read(value, equation=True)


def _force_formula(value: Any) -> float | str:
    return _formula(value, {RATE_OF: 1})


def _read(text: str, *, equation: bool, more: Mapping[str, int] = MappingProxyType({})) -> str:
    try:
        parse_equation(text) if equation else parse(text, more)
    except ExpressionError as error:
        raise wrong(error.message, error.found, error.allowed, error.remedy, offset=error.at) from None
    return text


Formula = Annotated[
    float | str,
    PlainValidator(_formula),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "maxLength": 1000}]}),
]
ForceFormula = Annotated[
    float | str,
    PlainValidator(_force_formula),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "maxLength": 1000}]}),
]
"""A formula that may use `rate(COORDINATE)`, too."""
Equation = Annotated[
    str, PlainValidator(_equation), WithJsonSchema({"type": "string", "pattern": "=", "maxLength": 1000})
]


def as_text(value: float | str) -> str:
    """Return a formula as the text of an expression, with brackets where needed as a factor."""
    return f"({value})" if isinstance(value, str) else f"({value!r})"


def with_names(spec: S, called: Mapping[str, str]) -> S:
    """Return a section with some coordinates called by other names, wherever it names them."""

    def other(value: Any) -> Any:
        if isinstance(value, str):
            return renamed(value, called)
        if isinstance(value, dict):
            return {called.get(key, key): other(inner) for key, inner in value.items()}
        return [other(inner) for inner in value] if isinstance(value, list) else value

    data = spec.model_dump(exclude_none=True)
    names = {key: value for key, value in data.items() if key not in ("type", "about")}
    return type(spec).model_validate({**data, **other(names)})


def within(document: Document, path: Place, problem: Problem, offset: int) -> Problem:
    """Return a problem of a text in the file, moved to the character that it is about.

    Where the text is not written in one piece (folded, or with escapes), the character is counted instead.
    """
    line, column = document.position(path)
    rows = document.text.splitlines()
    source = rows[line - 1][column - 1 :] if line <= len(rows) else ""
    text = _at(document.data, path)
    quoted = source[:1] in ("'", '"')
    if isinstance(text, str) and source[quoted:].startswith(text) and "\\" not in text:
        return replace(problem, line=line, column=column + quoted + offset)
    return replace(problem, found=f"{problem.found} (character {offset + 1})".strip())


def unreadable(document: Document, path: Place, error: ExpressionError) -> Problem:
    """Return the problem of a text that is no expression or condition."""
    problem = document.problem(
        path, error.message, found=error.found, allowed=error.allowed, remedy=error.remedy
    )
    return within(document, path, problem, error.at)


def _at(data: Any, path: Place) -> Any:
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data
