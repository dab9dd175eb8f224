"""One request being served, from its arrival to its one answer.

Handlers that wait are generators: they yield what they wait for, and return the answer.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from linkwork.controller.gateway.history import Requester
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import RequestError, role_refusal
from linkwork.protocol.gateway_ends import RequestEnd
from linkwork.protocol.request_messages import pack_error, pack_response
from linkwork.protocol.request_table import REQUESTS
from linkwork.protocol.requests import RequestFrame


@dataclass(eq=False)
class Call:
    """A request and the way back to who asked. It is answered once; what comes later is dropped."""

    server: RequestEnd
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
        """The connection that the request came by."""
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
        """Answer the request with its result."""
        if not self.answered:
            self.answered = True
            self.server.send(self.peer, pack_response(self.request.msgid, result))

    def refuse(self, error: RequestError) -> None:
        """Answer the request with an error."""
        if not self.answered:
            self.answered = True
            self.server.send(self.peer, pack_error(self.request.msgid, error))


Result = TypeVar("Result")


class PendingResult(Generic[Result]):
    """A result that comes later, or the error that comes in its place: call it with either, once."""

    def __init__(self) -> None:
        self._result: Result | RequestError | None = None
        self._then: Callable[[Result | RequestError], None] | None = None

    def __call__(self, result: Result | RequestError) -> None:
        """Pass on the result."""
        if self._then is None:
            self._result = result
        else:
            self._then(result)

    def pass_to(self, then: Callable[[Result | RequestError], None]) -> None:
        """Call back with the result, at once where it has come already."""
        self._then = then
        if self._result is not None:
            then(self._result)


Steps = Generator[PendingResult[Any], Any, Result]
"""Yields results to wait for, receives them in turn, and returns what comes of it. An error in place of a
result is raised at the `yield`.
"""
Answering = Steps[Mapping[str, Any]]
"""Steps of a request; they return its answer, or raise its refusal."""


def caught(awaited: PendingResult[Result]) -> Steps[Result | RequestError]:
    """Await a result, or the error in its place."""
    try:
        return cast(Result, (yield awaited))
    except RequestError as error:
        return error


def run_steps(
    steps: Steps[Result],
    done: Callable[[Result], None] = lambda _: None,
    failed: Callable[[RequestError], None] = lambda _: None,
) -> None:
    """Run steps to the first result that has not come yet, and on when it comes.

    Steps whose result never comes, such as those behind an order for a later tick, end there.
    """

    def resume(result: Any) -> None:
        try:
            awaited = steps.throw(result) if isinstance(result, RequestError) else steps.send(result)
        except StopIteration as end:
            done(end.value)
        except RequestError as error:
            failed(error)
        else:
            awaited.pass_to(resume)

    resume(None)
