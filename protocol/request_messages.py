"""Frames of requests and answers, from plain data and back: all that a client needs.

The server's side, which validates parameters, is in `protocol.requests`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgpack

from linkwork.protocol.decoding import NotDecodable, decode
from linkwork.protocol.errors import ProtocolError, RequestError


@dataclass(frozen=True, slots=True)
class Response:
    """An answer. `error` is None when it succeeded."""

    msgid: int | None
    error: RequestError | None
    result: Any


@dataclass(frozen=True, slots=True)
class Notification:
    """Something the server says unasked."""

    method: str
    params: dict[str, Any]


def pack_request(msgid: int, method: str, params: Mapping[str, Any]) -> bytes:
    """The frame of a request."""
    return _pack([0, msgid, method, params])


def pack_response(msgid: int | None, result: Any) -> bytes:
    """The frame of an answer that succeeded."""
    return _pack([1, msgid, None, result])


def pack_error(msgid: int | None, error: RequestError) -> bytes:
    """The frame of a refusal."""
    return _pack([1, msgid, error.as_map(), None])


def pack_notification(method: str, params: Mapping[str, Any]) -> bytes:
    """The frame of a notification."""
    return _pack([2, method, params])


def read_answer(data: bytes) -> Response | Notification:
    """Return a server's message. Raises ProtocolError when it is neither a response nor a notification."""
    try:
        content = decode(data, most_list=len(data), most_map=len(data))
    except NotDecodable as error:
        raise ProtocolError(f"the answer cannot be decoded: {error}") from None
    match content:
        case [1, (int() | None) as msgid, error, result]:
            return Response(msgid, None if error is None else RequestError.from_map(error), result)
        case [2, str() as method, dict() as params]:
            return Notification(method, params)
    raise ProtocolError("the answer is neither a response nor a notification")


def _pack(content: list[Any]) -> bytes:
    packed: bytes = msgpack.packb(content, default=_plain)
    return packed


def _plain(value: object) -> Any:
    if type(value).__module__ == "numpy":  # arrays and scalars, without importing numpy for requests without
        return value.tolist()  # type: ignore[attr-defined]
    raise TypeError(f"{type(value).__name__} cannot be encoded")
