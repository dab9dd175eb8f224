"""Numbers with names: results of goals, refusals, modes of a command, status of a device, exits of a process.

Numbers are only ever added; a number keeps its meaning for good.
"""

from enum import IntEnum, IntFlag, StrEnum
from typing import Final

PROTOCOL_VERSION: Final = 1
"""Version of the device link and of the requests. Both ends must have the same."""

REQUEST_BYTES: Final = 8 * 1024 * 1024
"""Largest request that is answered with a result; a larger one is refused by name (TOO_LARGE)."""

TRANSPORT_BYTES: Final = 64 * 1024 * 1024
"""Last defence: a frame above this is dropped by the transport, which also disconnects its sender."""

LINK_BYTES: Final = 1024 * 1024
"""The same for the device link, whose longest message is a welcome of a few kilobytes."""

LATEST_DRAIN: Final = 64
"""Most messages that a receiver drains in one go in real time."""

UNANSWERED_STATES: Final = 50
"""A device-clocked plant stops sending after this many states in a row that no command answered."""

TRAJECTORY_POINTS: Final = 200_000
"""Most way-points one trajectory may have."""

ORDER_HORIZON_S: Final = 600.0
"""A request may be made for a tick at most this much controller time ahead (`at_tick`)."""

PENDING_ORDERS: Final = 32
"""Most orders of one owner that may be pending."""

PENDING_GOALS: Final = 3
"""Most goals of one owner that may be pending: one goal slot stays free for what moves now."""

PENDING_STOPS: Final = 24
PENDING_STOPS_EACH: Final = 8
"""Most stops for a later tick that may be pending, in all and of one client."""

NAME_LENGTH: Final = 64
"""Longest name of a joint, coordinate, machine, owner or method, in characters."""

ALIAS_LENGTH: Final = 128
"""Longest foreign name of a joint or another part of a machine, in characters."""


class Mode(IntEnum):
    """The mode of all motors in a command."""

    BRAKE = 0
    """Brakes on. The efforts act under them, so that a holding effort is present before the brakes open."""
    ZERO = 1
    """Brakes off, no effort: the machine swings freely."""
    EFFORT = 2
    """Brakes off, the efforts of the command act."""


class Role(IntEnum):
    """Permissions of a client's key. Each role includes those before it."""

    OBSERVE = 1
    """Read state and telemetry; `stop` and `estop`."""
    OPERATE = 2
    """Take the lease and move the machine within its settings."""
    SERVICE = 3
    """Change settings: gains, payload, preload, constraints, assembly mode; inject faults."""

    @property
    def word(self) -> str:
        """The name in key files, on the command line and on the wire."""
        return self.name.lower()


class Feature(StrEnum):
    """Optional parts of the device link. Hello and welcome list those that either end carries."""

    SIGNALS = "signals"
    """States have `inputs` and `outputs`, commands have `outputs`."""
    MOTOR_STATUS = "motor_status"
    """States have status, fault and mode of each motor."""


class Pace(StrEnum):
    """Clock of the device link. The controller requests it in its hello."""

    DEVICE = "device"
    """The plant sends a state every period by its own clock."""
    HOST = "host"
    """The controller sends a command every period; the plant advances one period and answers."""
    LOCKSTEP = "lockstep"
    """As HOST, but as fast as both can: no clock, no dropped messages."""


class DeviceStatus(IntFlag):
    """Bits of `status` in a state message."""

    ENABLED = 1
    """The drives take commands."""
    FAULT = 2
    """The device has a fault; `fault` says which."""
    STO = 4
    """Safe torque off: the motors have no power, independent of the command."""
    BRAKE = 8
    """The brakes are on."""
    HOMED = 16
    """Positions are absolute. Without this bit the machine only jogs."""


class DeviceFault(IntEnum):
    """`fault` in a state message. 1000 and above are the vendor's own."""

    NONE = 0
    COMMAND_TIMEOUT = 1
    """No fresh command for `command_timeout_periods`; latched until a new handshake."""
    DRIVE = 2
    """A drive reports an error."""
    SENSOR = 3
    """A sensor's reading is missing or impossible."""
    OVER_TEMPERATURE = 4
    POWER = 5
    """The supply of the motors is missing or outside its limits."""
    SIMULATION = 6
    """The simulated state is no longer finite."""
    LIMIT = 7
    """A joint went beyond its limits of position or speed, and the plant braked it."""
    LINK = 8
    """A drive's messages are missing or late, or it restarted."""
    VENDOR = 1000


class OverrunCause(IntEnum):
    """Why a tick of the loop overran its period, as far as the loop saw."""

    NONE = 0
    """It did not."""
    UNKNOWN = 1
    """No cause that the loop can measure explains enough of the time lost."""
    PAGE_FAULT = 2
    """The loop touched memory that was not there."""
    PREEMPTED = 3
    """The processor was taken from the loop while it computed (an involuntary context switch)."""
    LATE_WAKE = 4
    """The loop was ready to run, but the processor was busy with something else."""
    GARBAGE_COLLECTION = 5
    LATE_STATE = 6
    """The loop waited in time; the state came late or not at all: plant or link."""
    CHECKSUM = 7
    """The checksum of a goal was being computed."""
    SOLVER = 8
    """A solver in the estimate or the law took more iterations than usual."""
    STOLEN = 9
    """The hypervisor gave the processor to another machine."""


class RefuseCode(IntEnum):
    """Why a plant answers a hello with a refuse."""

    MALFORMED = 1
    """The hello, or a list in a command, is not readable; the text names the field."""
    VERSION = 2
    """The protocol versions differ; the text carries both."""
    INTERFACE = 3
    """Joints, motors, sensors or rates differ; the text names the first difference."""
    TAKEN = 4
    """A live controller owns the plant; `owner` names it."""
    PACE = 5
    """The plant cannot run at this pace."""
    PERIOD = 6
    """The plant cannot run at this period."""
    NOT_PERMITTED = 7
    """The controller's key does not have the role `operate`."""


class ResultCode(IntEnum):
    """Result of a goal, or the reason why it was not accepted."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    """The goal contradicts itself or the machine's limits."""
    INVALID_COORDINATES = -2
    """A coordinate does not exist, is named twice, or is not free."""
    OLD_TIMESTAMP = -3
    """`at_tick` lies in the past."""
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5
    FORCE_TOLERANCE_VIOLATED = -101
    CONTACT_LOST = -102
    INFEASIBLE = -103
    """The walk along the goal met a limit; the text says which sample, which coordinate and by how much."""
    CANCELLED = -104
    REPLACED = -105
    FAULT = -106
    LEASE_LOST = -107
    MODEL_DIFFERENCE = -108
    STREAM_STALE = -109
    """The set-points of a stream stayed away; it ended as `on_stale` asked for."""
    FRAME_LEFT = -110
    """The moving frame of a goal left its range of speeds, or the window in which the goal may be in it."""
    CONSTRAINT_OPEN = -111
    """A constraint that the goal's events close on its path stayed open."""


class RequestCode(IntEnum):
    """Why a request itself failed. Refused goals carry a negative number from ResultCode instead."""

    MALFORMED = 1
    """Not a MessagePack-RPC request."""
    TOO_LARGE = 2
    """More bytes than REQUEST_BYTES."""
    UNKNOWN_METHOD = 3
    INVALID_PARAMS = 4
    """A parameter is missing, of the wrong type, not finite or out of bounds; `path` says which."""
    NOT_OWNER = 5
    """Another owner holds the lease; the text and `data.owner` name it."""
    WRONG_STATE = 6
    """The state machine has no such move from its present state; `data.state` names it."""
    BUSY = 7
    """A goal is under way, or too many requests wait."""
    NO_PLANT = 8
    """The controller has no plant, or has lost it."""
    NO_LOOP = 9
    """The real-time process is not there; the gateway is starting a new one."""
    NOT_CLEARED = 10
    """`recover` or `reset`: the cause persists; the text names it."""
    UNSUPPORTED = 11
    """This machine, law or pace does not offer the method."""
    INTERNAL = 12
    """A defect of linkwork; the text is worth a report."""
    NOT_SWITCHED = 13
    """The plant did not switch the constraint: it is too far open, or it cannot be switched."""
    NOT_PERMITTED = 14
    """The client's key does not have the role that the method needs; `data` has both roles."""
    NOT_MET = 15
    """`wait`: the condition was not met in time."""


class ExitCode(IntEnum):
    """Exit status of every `linkwork` command."""

    DONE = 0
    GOAL_FAILED = 1
    USAGE = 2
    """Wrong command line or file."""
    REFUSED = 3
    NOBODY_THERE = 4
