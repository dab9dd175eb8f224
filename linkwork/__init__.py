"""linkwork: real-time control and simulation of constrained machines.

    from linkwork import Robot              a running machine: enable, move, send trajectories
    from linkwork import load, simulate     a machine file, and its motion without daemons

Names are imported on first use, so that `Robot` needs only `linkwork.protocol`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from linkwork.version import __version__ as __version__

if TYPE_CHECKING:
    from linkwork.client.async_robot import AsyncRobot
    from linkwork.client.goal import Goal, GoalFailed
    from linkwork.client.passing_parts import PassingParts
    from linkwork.client.robot import Robot
    from linkwork.machine import Machine, MachineError, check, load
    from linkwork.offline.batch import simulate_batch
    from linkwork.offline.run import Motion, simulate
    from linkwork.protocol.errors import NobodyThere, RequestError

__all__ = [
    "Robot",
    "AsyncRobot",
    "Goal",
    "GoalFailed",
    "PassingParts",
    "RequestError",
    "NobodyThere",
    "load",
    "check",
    "Machine",
    "MachineError",
    "simulate",
    "simulate_batch",
    "Motion",
]

_HOMES = {
    "Robot": "linkwork.client.robot",
    "AsyncRobot": "linkwork.client.async_robot",
    "Goal": "linkwork.client.goal",
    "GoalFailed": "linkwork.client.goal",
    "PassingParts": "linkwork.client.passing_parts",
    "RequestError": "linkwork.protocol.errors",
    "NobodyThere": "linkwork.protocol.errors",
    "load": "linkwork.machine",
    "check": "linkwork.machine",
    "Machine": "linkwork.machine",
    "MachineError": "linkwork.machine",
    "simulate": "linkwork.offline.run",
    "simulate_batch": "linkwork.offline.batch",
    "Motion": "linkwork.offline.run",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
