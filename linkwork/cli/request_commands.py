"""Commands of one request each, derived from the table of requests (protocol/request_table.py).

Required parameters of a request become arguments of its command, others options, and maps NAME=VALUE.
Requests that show more than state and text, or accept units, have commands in other modules.
"""

from collections.abc import Sequence
from dataclasses import make_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import click

from linkwork.cli.connected import ConnectionOptions, TimedOptions
from linkwork.command_line import OptionsCommand
from linkwork.options import argument, flag, option, parameters, several
from linkwork.protocol.request_table import REQUESTS
from linkwork.terminal.failures import Misuse


def request_command(name: str, epilog: str) -> click.Command:
    """Return the command of the request with this name."""
    method = name.replace("-", "_")
    request = REQUESTS[method]
    options: type = TimedOptions
    if request.model != "TimedParams":  # most have no more, and the models take long to load
        from linkwork.protocol.requests import params_of

        given = {name: field for name, field in params_of(method).model_fields.items() if name != "owner"}
        base = TimedOptions if "at_tick" in given else ConnectionOptions
        own = [_field(name, field) for name, field in given.items() if name != "at_tick"]
        options = make_dataclass(method, own, bases=(base,), frozen=True, kw_only=True)
    about = f"{request.about[0].upper()}{request.about[1:]}."
    options = type(method, (options,), {"method": method})
    return OptionsCommand(name, options, "cli.request_commands:ask", about, epilog)


def ask(options: Any) -> None:
    """Send the request and show its effect."""
    shared = parameters(ConnectionOptions)
    own = parameters(options.__class__)
    given = {each.name: getattr(options, each.name) for each in own if each not in shared}
    for each in own:
        if each.described.metavar == _ASSIGNED:
            given[each.name] = _assigned(given[each.name])
        elif each.count == 0:
            given[each.name] = list(given[each.name]) or None
    options.effect(options.method, **given)


_ASSIGNED = "NAME=VALUE..."
"""Placeholder of a map."""


def _field(name: str, field: Any) -> tuple[str, Any, Any]:
    """Return name, type and description of an option or argument."""
    bare, about = _bare(field.annotation), field.description or ""
    if bare is dict:
        return name, tuple[str, ...], argument(_ASSIGNED)
    if get_origin(bare) is list:
        bare = tuple[get_args(bare)[0], ...]  # type: ignore[misc]
    if field.is_required():
        return name, bare, argument(name.upper(), about)
    default = field.get_default(call_default_factory=True)
    if bare is bool:
        return name, bool, flag(about, default=bool(default))
    if get_origin(bare) is tuple:
        return name, bare, several(about, "")
    return name, bare if default is not None else bare | None, option(about, default=default)


def _bare(annotation: Any) -> Any:
    """Return int, float, str, bool, list[float] or dict from a field's annotation."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _bare(inner[0])
    if origin in (Union, UnionType):
        return _bare(next(each for each in inner if each is not NoneType))
    if origin is list:
        return list[_bare(inner[0])]  # type: ignore[misc]
    return dict if origin is dict else annotation


def _assigned(texts: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            raise Misuse(f"{text}: write NAME=VALUE, as in left_elbow=1.5") from None
    return found
