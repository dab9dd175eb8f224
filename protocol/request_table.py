"""The table of requests: names, rights, descriptions, and the names of their parameters' models.

It imports no models, so that a command of one request starts at once; see `protocol.requests.params_of`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from linkwork.protocol.codes import Role
from linkwork.protocol.laws import REST_LAW_NAMES


@dataclass(frozen=True, slots=True)
class Request:
    """One row of the table of methods."""

    model: str
    """Name of the model of its parameters, a class in `protocol.requests`."""
    needs_lease: bool
    """Refused with NOT_OWNER unless the client holds the lease or acquires a free one."""
    role: Role
    """Least role of the client's key; refused with NOT_PERMITTED otherwise."""
    about: str
    """One line for people: `describe` lists it, and the command line shows it."""
    bulk: bool = False
    """Parameters may be large: decoded by the planner, never by the gateway."""
    nothing: str = "nothing to do"
    """Text of the answer when nothing changed."""


REQUESTS: Final[Mapping[str, Request]] = {
    "state": Request("NoParams", False, Role.OBSERVE, "current state of the machine"),
    "describe": Request(
        "NoParams", False, Role.OBSERVE, "the machine: joints, coordinates, motors, limits, hashes"
    ),
    "status": Request("NoParams", False, Role.OBSERVE, "the daemons: plant, loop, timing, lease, log"),
    "faults": Request("FaultsParams", False, Role.OBSERVE, "the latest faults, newest first"),
    "edges": Request(
        "EdgesParams", False, Role.OBSERVE, "the latest changes of a digital input, oldest first"
    ),
    "acquire": Request("AcquireParams", False, Role.OPERATE, "take the lease, or renew it"),
    "release": Request("ReleaseParams", False, Role.OPERATE, "release the lease"),
    "enable": Request(
        "TimedParams",
        True,
        Role.OPERATE,
        "release the brakes and hold the current position",
        nothing="already enabled",
    ),
    "confirm_branch": Request(
        "ConfirmBranchParams",
        True,
        Role.SERVICE,
        "confirm the assembly mode that `state` shows, or begin in another one",
        nothing="the assembly mode was already known",
    ),
    "disable": Request(
        "TimedParams", True, Role.OPERATE, "stop any motion, then brake", nothing="already disabled"
    ),
    "move": Request("MoveParams", True, Role.OPERATE, "jerk-limited move to rest at a target"),
    "send": Request("SendParams", True, Role.OPERATE, "follow a trajectory", bulk=True),
    "append": Request(
        "AppendParams", True, Role.OPERATE, "follow a trajectory after the active goal", bulk=True
    ),
    "check": Request(
        "CheckParams", False, Role.OPERATE, "check whether a trajectory would be accepted", bulk=True
    ),
    "path": Request("NoParams", False, Role.OBSERVE, "poses along the path of the active goal"),
    "pause": Request(
        "TimedParams",
        True,
        Role.OPERATE,
        "slow the active goal to rest on its path; resume continues it",
        nothing="no motion to pause",
    ),
    "resume": Request(
        "TimedParams", True, Role.OPERATE, "continue after a pause", nothing="nothing to resume"
    ),
    "speed": Request(
        "SpeedParams", True, Role.OPERATE, "scale the speed of the active goal", nothing="no active goal"
    ),
    "cancel": Request(
        "CancelParams",
        True,
        Role.OPERATE,
        "stop on the path and cancel the goal",
        nothing="no such active goal",
    ),
    "jog": Request("JogParams", True, Role.OPERATE, "move at given velocities while the request is repeated"),
    "stream": Request("StreamParams", True, Role.OPERATE, "follow set-points as they come, limited online"),
    "set_points": Request("SetPointsParams", True, Role.OPERATE, "send set-points of the active stream"),
    "finish": Request(
        "TimedParams",
        True,
        Role.OPERATE,
        "end the active stream after its last set-point",
        nothing="no active stream",
    ),
    "preload": Request(
        "PreloadParams",
        True,
        Role.SERVICE,
        "set the internal force of redundant motors, within the bounds of the machine file",
        nothing="already set",
    ),
    "switch": Request(
        "SwitchParams", True, Role.SERVICE, "close or open a constraint: a grasp, a guide, a latch"
    ),
    "set": Request(
        "SetParams", True, Role.OPERATE, "set output signals: a gripper, a valve", nothing="already set"
    ),
    "wait": Request("WaitParams", False, Role.OBSERVE, "wait until a condition on signals or motion holds"),
    "law": Request(
        "LawParams", True, Role.OPERATE, f"choose the behavior at rest: {', '.join(REST_LAW_NAMES)}"
    ),
    "set_gain": Request("GainParams", True, Role.SERVICE, "bandwidth and damping of the error dynamics"),
    "payload": Request("PayloadParams", True, Role.SERVICE, "set the payload at a point"),
    "advance": Request("AdvanceParams", True, Role.OPERATE, "advance lockstep time"),
    "stop": Request(
        "TimedParams",
        False,
        Role.OBSERVE,
        "stop on the path, then hold; accepted from anyone",
        nothing="nothing to stop",
    ),
    "estop": Request(
        "TimedParams",
        False,
        Role.OBSERVE,
        "brake at once and latch; accepted from anyone. A software stop is no safety function",
    ),
    "reset": Request(
        "TimedParams", True, Role.OPERATE, "clear the emergency stop", nothing="no emergency stop is active"
    ),
    "recover": Request(
        "TimedParams",
        True,
        Role.OPERATE,
        "clear a fault, or report why it cannot be cleared",
        nothing="no fault is latched",
    ),
}
