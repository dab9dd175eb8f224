"""Commands of one request each, derived from the table of requests (protocol/request_table.py).

Required parameters of a request become arguments of its command, others options, and maps NAME=VALUE.
Requests that show more than state and text, or accept units, have commands in other modules.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import typer

from linkwork.cli.connected import ControllerConnection, connected
from linkwork.cli.state_commands import AtTick
from linkwork.protocol.request_table import REQUESTS
from linkwork.terminal.failures import Misuse

WRITTEN = frozenset(
    {
        "state", "describe", "status", "faults", "move", "send", "append", "check", "jog", "speed", "advance",
        "set_gain", "payload", "switch", "set", "wait", "edges", "acquire", "release", "stream",
        "set_points", "path", "confirm_branch",
    }
)  # fmt: skip
"""Requests that have a separate command, or none. Commands that need the lease acquire and release it."""


def request_command(method: str) -> Callable[..., Any]:
    """Return the command of a request as a function for typer."""
    request = REQUESTS[method]
    fields: dict[str, Any] = {"at_tick": None}
    if request.model != "TimedParams":  # most have no more, and the models take long to load
        fields = {name: field for name, field in request.params.model_fields.items() if name != "owner"}
    maps = [name for name, field in fields.items() if field and _bare(field.annotation) is dict]

    def ask(link: ControllerConnection, **given: Any) -> None:
        link.effect(method, **given | {name: _assigned(given[name]) for name in maps})

    own = [_parameter(name, field) for name, field in fields.items()]
    own.sort(key=lambda parameter: parameter.default is not inspect.Parameter.empty)
    link = inspect.Parameter("link", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=ControllerConnection)
    ask.__name__, ask.__doc__ = method, f"{request.about[0].upper()}{request.about[1:]}."
    ask.__annotations__ = {parameter.name: parameter.annotation for parameter in (link, *own)}
    ask.__signature__ = inspect.Signature([link, *own])  # type: ignore[attr-defined]
    return connected(ask)


def _parameter(name: str, field: Any) -> inspect.Parameter:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    if name == "at_tick":
        return inspect.Parameter(name, kind, annotation=AtTick, default=None)
    bare = _bare(field.annotation)
    if bare is dict:
        assigned = Annotated[list[str], typer.Argument(metavar="NAME=VALUE...")]
        return inspect.Parameter(name, kind, annotation=assigned)
    if field.is_required():
        argument = typer.Argument(metavar=name.upper(), help=field.description)
        return inspect.Parameter(name, kind, annotation=Annotated[bare, argument])
    default = field.get_default(call_default_factory=True)
    if default is None:
        bare = bare | None
    option = typer.Option(help=field.description)
    return inspect.Parameter(name, kind, annotation=Annotated[bare, option], default=default)


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


def _assigned(texts: list[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            raise Misuse(f"{text}: write NAME=VALUE, as in left_elbow=1.5") from None
    return found
