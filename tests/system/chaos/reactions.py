# ruff: noqa: E501 - a row of a table of the documentation is one line
"""The reactions to a process that ends or is suspended: one table, for the trials and for docs/states.md."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from enum import Enum
from typing import Literal

Pace = Literal["lockstep", "device", "host"]
Blow = Literal["ends", "is suspended"]

PERIOD_S = 0.001
PEER_TIMEOUT_S = 1.2
"""plant.peer_timeout_s of the machines in the trials."""
COMMAND_TIMEOUT_S = 0.6
"""plant.command_timeout_periods of the machines in the trials, in s."""
LOSS_LIMIT_S = 1.0
"""controller.loss_limit of the machines in the trials, in s."""
LEASE_S = 2.0
"""controller.lease_s of the machines in the trials."""


class CrashReaction(Enum):
    """What a trial sees."""

    CONTINUES = "the goal continues, or has succeeded"
    DEVIATES = "the goal ends with PATH_TOLERANCE_VIOLATED"
    STOPS = "the goal ends with LEASE_LOST, and the machine holds"
    LINK_LOST = "fault LINK_LOST"
    DEVICE_WATCHDOG = "fault DEVICE_WATCHDOG"
    NEW_LOOP = "a new loop, inactive"
    LEAVES = "the controller stops the machine and ends with status 0"


@dataclass(frozen=True)
class CrashRow:
    """One reaction. `victim` and `blow` choose it, and the pace where it matters.

    after_s: how long the suspension lasts at least. within_s: the longest time from the cause to the
    reaction, in a trial. happens, within, then: the columns of docs/states.md.
    """

    victim: str
    blow: Blow
    reaction: CrashReaction
    within_s: float
    happens: str
    within: str
    then: str
    paces: tuple[Pace, ...] = ("lockstep", "device", "host")
    after_s: float = 0.0
    signals: tuple[signal.Signals, ...] = (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP)
    also: tuple[CrashReaction, ...] = ()
    """Reactions that are right as well, by chance of the tick."""

    @property
    def line(self) -> str:
        """The row in docs/states.md."""
        return f"| {self.victim} | {self.blow} | {self.happens} | {self.within} | {self.then} |"


_REAL_TIME: tuple[Pace, ...] = ("device", "host")
_LOCKSTEP: tuple[Pace, ...] = ("lockstep",)
_AGAIN = "`recover`, `enable`"
_START_PLANT = "start the plant, `recover`, `enable`"

REACTIONS: tuple[CrashRow, ...] = (
    CrashRow(
        "plant", "ends", CrashReaction.LINK_LOST, LOSS_LIMIT_S,
        "the controller loses the states: fault LINK_LOST",
        "`loss_limit` periods", _START_PLANT, _REAL_TIME,
    ),
    CrashRow(
        "plant", "ends", CrashReaction.LINK_LOST, 0.1,
        "lockstep: the connection closes: fault LINK_LOST",
        "0.1 s", _START_PLANT, _LOCKSTEP,
    ),
    CrashRow(
        "plant", "is suspended", CrashReaction.CONTINUES, 0.0,
        "for less than `loss_limit` periods (lockstep: `peer_timeout_s`): the goal continues; in real time it may violate a path tolerance",
        "", "nothing, or another goal", also=(CrashReaction.DEVIATES,),
    ),
    CrashRow(
        "plant", "is suspended", CrashReaction.LINK_LOST, LOSS_LIMIT_S,
        "longer: fault LINK_LOST", "`loss_limit` periods", _AGAIN, _REAL_TIME, LOSS_LIMIT_S,
        also=(CrashReaction.DEVICE_WATCHDOG,),
    ),
    CrashRow(
        "plant", "is suspended", CrashReaction.LINK_LOST, PEER_TIMEOUT_S,
        "lockstep, longer: fault LINK_LOST", "`peer_timeout_s`", _AGAIN, _LOCKSTEP, PEER_TIMEOUT_S,
    ),
    CrashRow(
        "loop", "ends", CrashReaction.NEW_LOOP, 0.0,
        "the plant brakes; the goal ends with FAULT; the gateway starts another loop, inactive",
        "brakes: `command_timeout_periods` (lockstep: `peer_timeout_s`); loop: its start-up, after further crashes a pause of at most 5 s",
        "`enable`",
    ),
    CrashRow(
        "loop", "is suspended", CrashReaction.CONTINUES, 0.0,
        "for less than `command_timeout_periods` (lockstep: `peer_timeout_s`): the goal continues; in real time it may violate a path tolerance",
        "", "nothing, or another goal", also=(CrashReaction.DEVIATES,),
    ),
    CrashRow(
        "loop", "is suspended", CrashReaction.DEVICE_WATCHDOG, COMMAND_TIMEOUT_S,
        "longer: the plant brakes; fault DEVICE_WATCHDOG when the loop runs again",
        "`command_timeout_periods`", _AGAIN, _REAL_TIME, COMMAND_TIMEOUT_S,
    ),
    CrashRow(
        "loop", "is suspended", CrashReaction.DEVICE_WATCHDOG, PEER_TIMEOUT_S,
        "lockstep, longer: the plant brakes; fault DEVICE_WATCHDOG when the loop runs again",
        "`peer_timeout_s`", _AGAIN, _LOCKSTEP, PEER_TIMEOUT_S,
    ),
    CrashRow(
        "gateway", "ends", CrashReaction.STOPS, 0.0,
        "killed: the loop stops the machine on its path and holds it; a controller that starts adopts the loop. `linkwork up` ends the loop first, braked",
        "16 periods, then the stop; without a controller the loop brakes and ends after `orphan_timeout_s`",
        "start the controller; `enable` if inactive", signals=(signal.SIGKILL,),
    ),
    CrashRow(
        "gateway", "ends", CrashReaction.LEAVES, 60.0,
        "SIGTERM: the machine is stopped on its path and braked; the controller ends", "60 s, the second signal 2 s",
        "start the controller, `enable`", signals=(signal.SIGTERM,),
    ),
    CrashRow(
        "gateway", "is suspended", CrashReaction.CONTINUES, 0.0,
        "the goal continues (lockstep: time waits), and the lease lasts longer by that time; requests wait;"
        " after 4 s in real time ticks are missing from the log",
        "", "nothing",
    ),
    CrashRow(
        "planner", "ends", CrashReaction.CONTINUES, 0.0,
        "the goal continues; a goal that is being planned is refused; the gateway starts another planner",
        "at once, or with the next goal", "nothing, or send the goal again",
    ),
    CrashRow(
        "planner", "is suspended", CrashReaction.CONTINUES, 0.0,
        "the goal continues; goals wait to be planned", "", "nothing",
    ),
    CrashRow(
        "twin", "ends", CrashReaction.CONTINUES, 0.0,
        "the goal continues; the comparison restarts (lockstep: it ends after three crashes in a row)",
        "at once, after further crashes up to 5 s", "nothing",
    ),
    CrashRow(
        "twin", "is suspended", CrashReaction.CONTINUES, 0.0,
        "the goal continues; ticks are not compared (lockstep: time waits; after 10 s another twin is started)",
        "", "nothing",
    ),
    CrashRow(
        "client", "ends", CrashReaction.STOPS, LEASE_S,
        "the lease expires; the machine stops on its path and holds", "`lease_s`, then the stop",
        "another client moves the machine", also=(CrashReaction.CONTINUES,),
    ),
    CrashRow(
        "client", "is suspended", CrashReaction.CONTINUES, 0.0,
        "for less than `lease_s`: the goal continues", "", "nothing",
    ),
    CrashRow(
        "client", "is suspended", CrashReaction.STOPS, LEASE_S,
        "longer: as if it had ended", "`lease_s`, then the stop", "another client moves the machine",
        after_s=LEASE_S, also=(CrashReaction.CONTINUES,),
    ),
)  # fmt: skip

HEADING = "| process | event | what happens | within | what the user does |"
RULE = "| --- | --- | --- | --- | --- |"
