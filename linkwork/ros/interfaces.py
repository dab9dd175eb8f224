"""Interfaces of the node by name; those whose message package is missing are left out and listed."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.qos import DurabilityPolicy, QoSProfile

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Reliable, and late subscribers get the last message."""
NEWEST = QoSProfile(depth=1)


@cache
def message_class(kind: str) -> Any | None:
    """Return the class of a message, service or action ("std_msgs/msg/String"); None where it is missing."""
    package, part, name = kind.split("/")
    try:
        return getattr(importlib.import_module(f"{package}.{part}"), name)
    except (ImportError, AttributeError):
        return None


def ros_name(name: str) -> str:
    """Return a name of the machine as a part of a topic's name, which has letters, digits and `_` only."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    return f"_{plain}" if plain[0].isdigit() else plain


class Interfaces:
    """Makes the interfaces of a node. `names`: those that it has; `missing`: those left out, by package."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self.names: list[str] = []
        self.missing: dict[str, list[str]] = {}
        self._parallel = ReentrantCallbackGroup()

    def _found(self, kind: str, name: str) -> Any | None:
        made, full = message_class(kind), self._node.resolve_topic_name(name)
        if made is None:
            self.missing.setdefault(kind.partition("/")[0], []).append(full)
        else:
            self.names.append(full)
        return made

    def publisher(self, kind: str, name: str, qos: Any = 10) -> Callable[[Any], None]:
        """Return what publishes a message; it does nothing where the package is missing."""
        made = self._found(kind, name)
        if made is None:
            return lambda _: None
        publish: Callable[[Any], None] = self._node.create_publisher(made, name, qos).publish
        return publish

    def subscription(self, kind: str, name: str, take: Callable[[Any], None], qos: Any = 10) -> None:
        """Hand each message over, one after the other."""
        made = self._found(kind, name)
        if made is not None:
            group = MutuallyExclusiveCallbackGroup()
            self._node.create_subscription(made, name, take, qos, callback_group=group)

    def service(self, kind: str, name: str, answer: Callable[[Any, Any], Any]) -> None:
        """Answer requests, several at once."""
        made = self._found(kind, name)
        if made is not None:
            self._node.create_service(made, name, answer, callback_group=self._parallel)

    def action(self, kind: str, name: str, execute: Callable[[Any], Any]) -> None:
        """Execute goals, several at once; all are accepted, because a rejected one has no text."""
        made = self._found(kind, name)
        if made is not None:
            ActionServer(
                self._node, made, name, execute_callback=execute, callback_group=self._parallel,
                cancel_callback=lambda _: CancelResponse.ACCEPT,
            )  # fmt: skip
