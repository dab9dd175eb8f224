"""One request being served, from its arrival to its one answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from linkwork.controller.gateway.history import Requester
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import RequestError, role_refusal
from linkwork.protocol.request_messages import pack_error, pack_response
from linkwork.protocol.request_table import REQUESTS
from linkwork.protocol.requests import RequestFrame
from linkwork.protocol.sockets import RequestServer


@dataclass(eq=False)
class Call:
    """A request and the way back to who asked. It is answered once; what comes later is dropped."""

    server: RequestServer
    peer: bytes
    request: RequestFrame
    key: bytes = b""
    """Public key of the client; empty where the socket has no keys."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Names of the machine by the aliases that requests may use."""
    answered: bool = field(default=False, init=False)

    @property
    def method(self) -> str:
        """The parameters of the request."""
        return self.request.method

    @property
    def owner(self) -> str:
        """In whose name."""
        return self.request.owner

    @property
    def at_tick(self) -> int | None:
        """The tick at which it takes effect; None: at once."""
        return self.request.at_tick

    @property
    def requester(self) -> Requester:
        """Its connection."""
        return Requester(self.server, self.peer, self.key)

    def params(self) -> Any:
        """The decoded, validated parameters. Raises RequestError with the path of the field."""
        return self.request.checked_params(self.aliases)

    def check_role(self) -> None:
        """Check that the client's key has the role that the method needs now. Raises RequestError."""
        held, needed = self.server.role_of(self.key), REQUESTS[self.method].role
        if held is not None and held >= needed:
            return
        text = role_refusal(f"`{self.method}`", held, needed)
        data = {"role": None if held is None else held.word, "needed": needed.word}
        raise RequestError(RequestCode.NOT_PERMITTED, text, data=data)

    def answer(self, result: Mapping[str, Any]) -> None:
        """Succeeds."""
        if not self.answered:
            self.answered = True
            self.server.send(self.peer, pack_response(self.request.msgid, result))

    def refuse(self, error: RequestError) -> None:
        """Fails."""
        if not self.answered:
            self.answered = True
            self.server.send(self.peer, pack_error(self.request.msgid, error))
