"""Common options of all commands that connect to a controller: address, owner, keys, --json."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from linkwork.terminal.failures import Misuse
from linkwork.terminal.output import emit, remark, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from linkwork.client.robot import Robot
    from linkwork.protocol.keys import ClientKeys
    from linkwork.protocol.request_client import RequestClient

_PANEL = "Connection"
RobotName = Annotated[
    str | None,
    typer.Option(
        "--robot", metavar="NAME", help="Machine name, if several are running.", rich_help_panel=_PANEL
    ),
]
Endpoint = Annotated[
    str | None,
    typer.Option(
        "--endpoint",
        metavar="URL",
        help="Endpoint of the controller's requests, instead of a name.",
        rich_help_panel=_PANEL,
    ),
]
Owner = Annotated[
    str | None,
    typer.Option("--as", metavar="NAME", help="Client name. Default: user@host.", rich_help_panel=_PANEL),
]
Keys = Annotated[
    Path | None,
    typer.Option("--keys", metavar="FILE", help="Your secret key file.", rich_help_panel=_PANEL),
]
ServerKey = Annotated[
    Path | None,
    typer.Option(
        "--server-key", metavar="FILE", help="The daemon's public key file.", rich_help_panel=_PANEL
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]


def client_keys_of(keys: Path | None, server_key: Path | None) -> ClientKeys | None:
    """Return the CURVE keys in two files, None where neither is given. Raises Misuse for one without the
    other.
    """
    from linkwork.protocol.keys import client_keys

    if (keys is None) != (server_key is None):
        raise Misuse("give --keys (your secret file) and --server-key (the daemon's public file) together")
    return None if keys is None or server_key is None else client_keys(keys, server_key)


@dataclass(frozen=True)
class ControllerConnection:
    """Connection options of a command, and the format of its answer."""

    robot_name: str | None = None
    endpoint: str | None = None
    owner: str | None = None
    keys: Path | None = None
    server_key: Path | None = None
    as_json: bool = False

    @cached_property
    def client_keys(self) -> ClientKeys | None:
        """CURVE keys; None where they were not given."""
        return client_keys_of(self.keys, self.server_key)

    @property
    def address(self) -> str:
        """Endpoint of the requests. Raises NobodyThere, EndpointError."""
        from linkwork.client.connection import find_controller

        return self.endpoint or find_controller(self.robot_name).requests

    @contextmanager
    def client(self) -> Iterator[RequestClient]:
        """Return a connection without a lease: each request acquires the lease and releases it."""
        from linkwork.client.waiting import reach
        from linkwork.protocol.request_client import RequestClient

        with RequestClient(self.address, self.client_keys) as client:
            reach(client, remark)
            yield client

    def robot(self, *, lease: bool = True) -> Robot:
        """Return the client object, a context manager."""
        from linkwork.client.robot import Robot

        return Robot(
            endpoint=self.address, owner=self.owner, keys=self.client_keys, lease=lease, on_wait=remark
        )

    def ask(self, method: str, timeout_s: float = 10.0, **params: Any) -> Any:
        """Send a request as the chosen owner. Raises RequestError, NobodyThere."""
        from linkwork.client.connection import default_owner
        from linkwork.client.waiting import patiently

        given = {name: value for name, value in params.items() if value is not None}
        with self.client() as client:
            asked = {"as": self.owner or default_owner(), **given}
            return patiently(
                client.endpoint, method, lambda: client.request(method, asked, timeout_s), remark
            )

    def effect(self, method: str, **params: Any) -> None:
        """Send a request whose answer is {tick, state, text}, and show the answer."""
        effect = self.ask(method, **params)
        if self.as_json:
            emit(effect)
        else:
            text = effect.get("text")
            say(f"{text} (state: {effect['state']})" if text else effect["state"])


_SHARED = {
    "robot_name": (RobotName, None),
    "endpoint": (Endpoint, None),
    "owner": (Owner, None),
    "keys": (Keys, None),
    "server_key": (ServerKey, None),
    "as_json": (AsJson, False),
}


def connected(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a command whose first parameter is a connection: its options take the parameter's place."""
    hints = get_type_hints(function, include_extras=True)
    own = list(inspect.signature(function).parameters.values())[1:]
    parameters = [parameter.replace(annotation=hints[parameter.name]) for parameter in own]
    for name, (annotation, default) in _SHARED.items():
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, kind, annotation=annotation, default=default))

    def command(**given: Any) -> Any:
        link = ControllerConnection(**{name: given.pop(name) for name in _SHARED})
        return function(link, **given)

    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command
