"""Location of a pydantic error in the schema: its path, its section, the meaning of its key."""

from __future__ import annotations

from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, Tag

from linkwork.machine.problems import Place


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
