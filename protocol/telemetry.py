"""Telemetry and events as published: two frames, a topic and a MessagePack map with a numeric `timestamp`.

PlotJuggler's ZeroMQ subscriber opens this as it is: nested maps become a/b, lists a[0], booleans are
plotted, text is skipped. There is never a third frame.
"""

from collections.abc import Mapping
from typing import Any

import msgpack

from linkwork.protocol.decoding import LATEST_S, NotDecodable, decode
from linkwork.protocol.errors import ProtocolError

TELEMETRY_TOPIC = b"telemetry"
"""The loop's records, decimated. Events are published under their own names: b"goal.result", b"fault", …"""
TWIN_TOPIC = b"twin"
"""How far the machine differs from its model, where a digital twin runs beside it."""


def pack_telemetry(timestamp: float, channels: Mapping[str, Any]) -> bytes:
    """The second frame: the channels and their time (s). Arrays must be lists already."""
    packed: bytes = msgpack.packb({"timestamp": timestamp, **channels})
    return packed


def read_telemetry(payload: bytes) -> dict[str, Any]:
    """The map in a second frame. Raises ProtocolError."""
    try:
        content = decode(payload, most_list=len(payload), most_map=len(payload))
    except NotDecodable as error:
        raise ProtocolError(f"the telemetry cannot be decoded: {error}") from None
    stamp = content.get("timestamp") if isinstance(content, dict) else None
    if not isinstance(stamp, (int, float)) or isinstance(stamp, bool) or not abs(stamp) <= LATEST_S:
        raise ProtocolError("telemetry is a map with a numeric `timestamp`, in s", "timestamp")
    found: dict[str, Any] = content
    return found
