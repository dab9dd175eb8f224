"""Read the words of a simple command from its declarations, without typer's own parser.

typer loads pydantic to convert words, which takes longer than a whole request. Words that are not plain
options and arguments, such as --help or a mistake, are left to typer.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from typer.models import OptionInfo

_SCALARS = (str, int, float, Path)


def read_words(command: Callable[..., Any], words: Sequence[str]) -> dict[str, Any] | None:
    """Return the arguments of a command by name, or None where typer has to read the words."""
    parameters = inspect.signature(command).parameters
    options: dict[str, str] = {}
    places: list[str] = []
    for name, parameter in parameters.items():
        declared = parameter.annotation.__metadata__[0]
        if isinstance(declared, OptionInfo):
            spelled = [
                each for each in (declared.default, *(declared.param_decls or ())) if isinstance(each, str)
            ]
            spelled = spelled or [
                f"--{name.replace('_', '-')}"
            ]  # an annotation's first word is its `default`
            options |= dict.fromkeys(spelled, name)
        else:
            places.append(name)
    texts: dict[str, list[str]] = {}
    left = list(words)
    while left:
        option, sign, value = left.pop(0).partition("=")
        if not option.startswith("-"):
            texts.setdefault(places[0] if places else "", []).append(option + sign + value)
            if places and not _bare(parameters[places[0]])[1]:
                places.pop(0)
            continue
        name = options.get(option, "")
        if not name or name in texts:
            return None
        if _bare(parameters[name])[0] is bool:
            if sign:
                return None
        elif not sign:
            if not left:
                return None
            value = left.pop(0)
        texts[name] = [value]
    defaults: dict[str, Any] = {name: each.default for name, each in parameters.items()}
    if "" in texts or any(defaults[name] is inspect.Parameter.empty for name in defaults.keys() - texts):
        return None
    try:
        given = {name: _converted(parameters[name], found) for name, found in texts.items()}
    except (ValueError, KeyError):
        return None
    return defaults | given


def _bare(parameter: inspect.Parameter) -> tuple[Any, bool]:
    """Return the type of a parameter's value without None, and whether it takes several words."""
    whole = parameter.annotation.__origin__
    bare = whole
    if isinstance(whole, UnionType) or get_origin(whole) is Union:
        bare = next(kind for kind in get_args(whole) if kind is not NoneType)
    return (str, True) if bare == list[str] else (bare, False)


def _converted(parameter: inspect.Parameter, texts: list[str]) -> Any:
    """Return a parameter's value. Raises ValueError, KeyError for what typer has to judge."""
    kind, several = _bare(parameter)
    if several:
        return texts
    if kind is bool:
        return True
    if not (kind in _SCALARS or (isinstance(kind, type) and issubclass(kind, Enum))):
        raise KeyError(kind)
    value = kind(texts[0])
    declared = parameter.annotation.__metadata__[0]
    for bound, sign in ((declared.min, 1), (declared.max, -1)):
        if bound is not None and not sign * value >= sign * bound:
            raise ValueError(value)
    return value
