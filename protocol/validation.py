"""From plain data to models, with errors that lead to the field."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo

from linkwork.protocol.codes import RequestCode
from linkwork.protocol.decoding import excerpt
from linkwork.protocol.errors import RequestError, spelled


class ValidatedRequest(BaseModel):
    """Base of every model that travels in a request: unknown fields are ignored, numbers are finite."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False, populate_by_name=True)


P = TypeVar("P", bound=BaseModel)


NO_ALIASES: Final[Mapping[str, str]] = {}


def own_name(value: object, info: ValidationInfo) -> object:
    """Return the machine's name for an alias of it (`validated`); anything else as it is."""
    return info.context.get(value, value) if info.context and isinstance(value, str) else value


def validated(
    model: type[P],
    content: object,
    path: Sequence[str | int] = (),
    aliases: Mapping[str, str] = NO_ALIASES,
) -> P:
    """The model read from plain data; `aliases`: names that its fields of type `Name` accept for others.

    Raises RequestError (INVALID_PARAMS) with the wrong field's path.
    """
    if aliases:
        _refuse_names_twice(content, aliases, path)
    try:
        return model.model_validate(content, context=aliases)
    except ValidationError as error:
        found = error.errors(include_url=False)
        places = [_place(content, each["loc"], missing=each["type"] == "missing") for each in found]
        deepest = max(  # the most specific of the first problem and those within it
            (number for number, place in enumerate(places) if place[: len(places[0])] == places[0]),
            key=lambda number: len(places[number]),
        )
        first, where = found[deepest], [*path, *places[deepest]]
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        said = first["msg"].removeprefix("Value error, ")
        fault = f"{said[:1].lower()}{said[1:]}"
        raise RequestError(
            RequestCode.INVALID_PARAMS,
            f"{spelled(where)}: {fault}, found {_brief(first['input'])}{more}",
            where,
        ) from None


def _place(content: object, loc: Sequence[str | int], *, missing: bool) -> list[str | int]:
    """Return the path in the content to an error of pydantic, without its names of members of unions."""
    found: list[str | int] = []
    here: Any = content
    for number, step in enumerate(loc):
        inside = isinstance(here, dict) and step in here
        inside = inside or (isinstance(here, list) and isinstance(step, int) and step < len(here))
        if inside:
            here = here[step]
        elif not (missing and number == len(loc) - 1):
            continue
        found.append(step)
    return found


def _refuse_names_twice(content: object, aliases: Mapping[str, str], path: Sequence[str | int]) -> None:
    """Raise RequestError for a map that gives something under its name and its alias."""
    if isinstance(content, list):
        for index, each in enumerate(content):
            if isinstance(each, (dict, list)):
                _refuse_names_twice(each, aliases, (*path, index))
    if not isinstance(content, dict):
        return
    for key, value in content.items():
        if key in aliases and aliases[key] in content:
            text = f"{spelled([*path, key])}: this is {aliases[key]}, which is given too"
            raise RequestError(RequestCode.INVALID_PARAMS, text, [*path, key])
        if isinstance(value, (dict, list)):
            _refuse_names_twice(value, aliases, (*path, key))


def _brief(value: Any) -> str:
    if isinstance(value, (dict, list, tuple)):
        return f"{type(value).__name__} of {len(value)}"
    return excerpt(value)
