"""What the gateway reads of every request before anyone decodes it: in whose name, for which tick,
and whether it takes over from another one.

The rest of the parameters is skipped, not decoded, so that a trajectory of many megabytes costs
milliseconds here.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgpack

from linkwork.protocol.codes import NAME_LENGTH, REQUEST_BYTES, RequestCode
from linkwork.protocol.decoding import cut, excerpt
from linkwork.protocol.errors import RequestError


@dataclass(frozen=True, slots=True)
class Envelope:
    """`owner` is empty, `at_tick` None and `replace` False where the request does not say."""

    owner: str = ""
    at_tick: int | None = None
    replace: bool = False


def read_envelope(params: bytes | memoryview) -> Envelope:
    """Reads `as`, `at_tick` and `replace` of encoded parameters.

    Raises RequestError: MALFORMED, or INVALID_PARAMS with the path.
    """
    if not len(params) or bytes(params[:1]) == b"\xc0":
        return Envelope()
    found: dict[str, object] = {}
    unpacker = msgpack.Unpacker(max_buffer_size=REQUEST_BYTES, max_str_len=REQUEST_BYTES)
    try:
        unpacker.feed(params)
        for _ in range(unpacker.read_map_header()):
            key = unpacker.unpack()
            if key in ("as", "at_tick", "replace"):
                found[key] = unpacker.unpack()
            else:
                unpacker.skip()
    except Exception as error:
        text = f"params are not a readable map: {cut(str(error), 200) or type(error).__name__}"
        raise RequestError(RequestCode.MALFORMED, text) from None
    return Envelope(_owner(found.get("as")), _tick(found.get("at_tick")), found.get("replace") is True)


def _owner(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > NAME_LENGTH or not value.isprintable():
        text = f"as: must be a printable name of at most {NAME_LENGTH} characters, such as user@host"
        raise RequestError(RequestCode.INVALID_PARAMS, text, ["as"])
    return value


def _tick(value: object) -> int | None:
    if value is None:
        return None
    if type(value) is not int or not 0 <= value < 2**53:
        text = f"at_tick: must be a tick number, an integer from 0, found {excerpt(value)}"
        raise RequestError(RequestCode.INVALID_PARAMS, text, ["at_tick"])
    return value
