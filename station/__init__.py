"""Where a person stands: command line, Python client, records.

`from station import Robot` needs the protocol and nothing else of linkwork. It is fetched when it is first
asked for, so that the command line starts fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from station.shadow import refuse_shadowed

if TYPE_CHECKING:
    from protocol.errors import NobodyThere, RequestError
    from station.client import Robot
    from station.goal import Goal, GoalFailed

refuse_shadowed()

__all__ = ["Robot", "Goal", "GoalFailed", "RequestError", "NobodyThere"]

_HOMES = {
    "Robot": "station.client",
    "Goal": "station.goal",
    "GoalFailed": "station.goal",
    "RequestError": "protocol.errors",
    "NobodyThere": "protocol.errors",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(_HOMES[name]), name)
