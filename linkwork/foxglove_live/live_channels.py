"""The channels of a running machine in Foxglove: `tick`, `twin` and `events` as in its log, and the scene.

The numbers of `tick` have the same paths as in a log (`tick.effort.left`), so that one layout serves both.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from foxglove import Channel, Context
from foxglove.channels import FrameTransformsChannel, SceneUpdateChannel
from foxglove.messages import Timestamp

from linkwork.foxglove_live.live_scene import LiveScene

EVENT_SCHEMA = {
    "title": "linkwork event",
    "type": "object",
    "properties": {"event": {"type": "string"}, "timestamp": {"type": "number"}},
}


_POSE_EVERY_NS = 24_000_000
"""Least time between two poses of the scene."""


class LiveChannels:
    """Channels of one server; samples without a subscriber are not encoded."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._events = Channel("events", schema=EVENT_SCHEMA, context=context)
        self._transforms = FrameTransformsChannel("tf", context=context)
        self._scene = SceneUpdateChannel("scene", context=context)
        self._samples: dict[str, tuple[tuple[str, ...], Channel]] = {}
        self._machine: LiveScene | None = None
        self._posed_ns = 0

    def show(self, machine: LiveScene | None) -> None:
        """Show another machine, or none."""
        self._machine = machine
        self.repeat()

    def repeat(self) -> None:
        """Send the parts of the scene again, for clients that came later."""
        if self._machine is not None and self._scene.has_sinks():
            self._scene.log(self._machine.content())

    def sample(self, topic: str, content: Mapping[str, Any]) -> None:
        """Publish telemetry or a comparison of the digital twin."""
        stamp_ns = round(1e9 * float(content["timestamp"]))
        names = tuple(_paths(content))
        known, channel = self._samples.get(topic, ((), None))
        if channel is None or known != names:
            if channel is not None:
                channel.close()
            schema = {"title": f"linkwork {topic}", **_kind(content)}
            channel = Channel(topic, schema=schema, context=self._context)
            self._samples[topic] = names, channel
        if channel.has_sinks():
            channel.log(_text(content), log_time=stamp_ns)
        if topic == "tick":
            self._pose(content, stamp_ns)

    def event(self, name: str, content: Mapping[str, Any]) -> None:
        """Publish an event."""
        if self._events.has_sinks():
            stamp_ns = round(1e9 * float(content["timestamp"]))
            self._events.log(_text({"event": name, **content}), log_time=stamp_ns)

    def _pose(self, content: Mapping[str, Any], stamp_ns: int) -> None:
        machine = self._machine
        if machine is None or not (self._transforms.has_sinks() or self._scene.has_sinks()):
            return
        if 0 <= stamp_ns - self._posed_ns < _POSE_EVERY_NS:
            return
        q = np.fromiter(content["q"].values(), float)
        if len(q) != machine.positions or not np.isfinite(q).all():
            return
        self._posed_ns = stamp_ns
        stamp = Timestamp(sec=stamp_ns // 1_000_000_000, nsec=stamp_ns % 1_000_000_000)
        self._transforms.log(machine.transforms(q, stamp), log_time=stamp_ns)
        if (lines := machine.across(q, stamp)) is not None:
            self._scene.log(lines, log_time=stamp_ns)


def _text(content: Mapping[str, Any]) -> str:
    """Return JSON; numbers that are not finite become null, as JSON has none."""
    return json.dumps(_plain(content), separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, bytes):
        return value.hex()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _paths(content: Mapping[str, Any], before: str = "") -> list[str]:
    found = []
    for name, value in content.items():
        path = f"{before}{name}"
        found += _paths(value, f"{path}.") if isinstance(value, Mapping) else [path]
    return found


def _kind(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {"type": "object", "properties": {str(name): _kind(each) for name, each in value.items()}}
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, list | tuple):
        return {"type": "array", "items": _kind(value[0]) if value else {}}
    return {"type": "string" if isinstance(value, str) else "number"}
