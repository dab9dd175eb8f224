"""Options that commands share, and requests to the controller that the connection options name."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from linkwork.client.connection import default_owner, find_controller, patiently, reach
from linkwork.client.request_client import RequestClient
from linkwork.options import JsonOptions, command_options, option
from linkwork.protocol.keys import ClientKeys, client_keys
from linkwork.terminal.failures import Misuse
from linkwork.terminal.output import emit, remark, say

_PANEL = "Connection"


@command_options
class KeyOptions:
    """CURVE keys of a client."""

    keys: Path | None = option("Your secret key file.", "FILE", panel=_PANEL)
    server_key: Path | None = option("The daemon's public key file.", "FILE", panel=_PANEL)

    @cached_property
    def client_keys(self) -> ClientKeys | None:
        """CURVE keys; None where they were not given. Raises Misuse for one without the other."""
        if (self.keys is None) != (self.server_key is None):
            raise Misuse(
                "give --keys (your secret file) and --server-key (the daemon's public file) together"
            )
        if self.keys is None or self.server_key is None:
            return None
        return client_keys(self.keys, self.server_key)


@command_options
class ConnectionOptions(JsonOptions, KeyOptions):
    """Connection options of a command, and the requests that it sends with them."""

    robot_name: str | None = option("Machine name, if several are running.", "NAME", "--robot", panel=_PANEL)
    endpoint: str | None = option(
        "Endpoint of the controller's requests, instead of a name.", "URL", panel=_PANEL
    )
    owner: str | None = option("Client name. Default: user@host.", "NAME", "--as", panel=_PANEL)

    @property
    def address(self) -> str:
        """Endpoint of the requests. Raises NobodyThere, EndpointError."""
        return self.endpoint or find_controller(self.robot_name).requests

    @contextmanager
    def client(self) -> Iterator[RequestClient]:
        """Return a connection without a lease: each request acquires the lease and releases it."""
        with RequestClient(self.address, self.client_keys) as client:
            reach(client, remark)
            yield client

    def ask(self, method: str, timeout_s: float = 10.0, **params: Any) -> Any:
        """Send a request as the chosen owner. Raises RequestError, NobodyThere."""
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


@command_options
class TimedOptions(ConnectionOptions):
    """Options of a request that may take effect later."""

    at_tick: int | None = option("Device tick at which it takes effect. Default: at once.", least=0)
