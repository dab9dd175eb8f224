"""Fault injection while the plant runs: messages are checked, answered, and executed.

Reading and checking a message takes longer than a tick, and many periods where a change of the mechanism
requires that the machine file is read again. In real time a thread of ordinary priority does it, the faults
are taken at a tick, and the thread writes the answer. Further messages wait meanwhile, and there is a pause
between two. In lockstep, and while no controller is connected, all is done immediately.
"""

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from linkwork.machine import Machine
from linkwork.machine.problems import MachineError
from linkwork.plant.faults.fault import Clear, condition_in
from linkwork.plant.faults.injected_faults import Faults
from linkwork.plant.faults.timeline import Impossible, TimeLine, capabilities, from_data
from linkwork.protocol.codes import Role
from linkwork.protocol.errors import ProtocolError, role_refusal
from linkwork.protocol.injection import (
    FaultProblem,
    Inject,
    Injected,
    InjectRefusal,
    InjectRefused,
    inject_id,
    read_inject,
)
from linkwork.timing.scheduling import set_policy

MOST_LIVE: Final = 100
"""Faults that may wait or act."""
MOST_OPERATIONS: Final = 500
"""Operations, names and numbers of the conditions of waiting faults, which every tick evaluates."""
MOST_TURNS: Final = 16
"""Messages that wait to be read in real time."""
PAUSE_NS: Final = 20_000_000
"""Time between the beginnings of two readings."""
ALL: Final = "all"
_Read = InjectRefused | tuple[Inject, TimeLine]
_SWITCH_S: Final = 5e-5
"""How long the thread may hold the interpreter against a tick that wants it."""


class InjectionRequests:
    """Handle `inject` messages for a plant's faults; `send(peer, message)` answers them."""

    def __init__(
        self, machine: Machine, faults: Faults, send: Callable[[bytes, bytes], object], *, is_open: bool
    ) -> None:
        self._machine, self._faults, self._send, self._is_open = machine, faults, send, is_open
        self._hardware = faults.site.machinery.simulated is None
        self._turns: deque[tuple[bytes, dict[str, Any], Role | None]] = deque()
        self._beside: Beside | None = None
        self._next_ns = 0

    def receive(self, peer: bytes, message: dict[str, Any], *, role: Role | None, clocked: bool) -> None:
        """Handle one decoded message of a client. Without a clock it is answered immediately."""
        self.check_verdict()
        if not clocked and self._beside is None:
            self._send(peer, self._answer(self._taken(self._read(message, role))))
        elif len(self._turns) >= MOST_TURNS:
            text = f"{MOST_TURNS} inject messages wait to be read; try again"
            self._send(peer, InjectRefused(id=inject_id(message), code=InjectRefusal.BUSY, text=text).pack())
        else:
            self._turns.append((peer, message, role))

    def check_verdict(self) -> None:
        """Take what the thread has read, or send the answer that it has written. Called at a tick."""
        if self._beside is not None and self._beside.done:
            found, self._beside = self._beside.found, None
            if isinstance(found, bytes):
                self._send(self._turns.popleft()[0], found)
            else:
                taken = self._taken(found)
                self._beside = Beside(lambda: self._answer(taken))
        if self._turns and self._beside is None and time.monotonic_ns() >= self._next_ns:
            _, message, role = self._turns[0]
            self._next_ns = time.monotonic_ns() + PAUSE_NS
            self._beside = Beside(lambda: self._read(message, role))

    def _read(self, message: dict[str, Any], role: Role | None) -> _Read:
        """Read and check a message, which changes nothing."""
        try:
            asked = read_inject(message)
        except ProtocolError as error:
            return InjectRefused(code=InjectRefusal.MALFORMED, text=str(error))
        if asked.faults and not self._is_open:
            text = "this plant accepts no faults besides its timeline: start it with --inject"
            return InjectRefused(id=asked.id, code=InjectRefusal.NOT_OFFERED, text=text)
        if role is None or (asked.faults and role < Role.SERVICE):
            text = role_refusal("injecting faults", role, Role.SERVICE)
            return InjectRefused(id=asked.id, code=InjectRefusal.NOT_PERMITTED, text=text)
        faults, data = self._faults, {"seed": asked.seed, "faults": asked.faults}
        taken = faults.taken
        try:
            line = from_data(data, self._machine, hardware=self._hardware, taken=taken, given=faults.names)
        except MachineError as error:
            return _refusal(asked.id, error)
        except Exception as error:  # a defect of ours must not stop the plant
            text = f"the faults cannot be checked: {type(error).__name__}: {error}"[:4096]
            return InjectRefused(id=asked.id, code=InjectRefusal.INVALID, text=text)
        cleared = any(isinstance(each, Clear) and each.clear == ALL and each.at_once for each in line.entries)
        count = len(line.entries) + (0 if cleared else len(taken))
        size = sum(condition_in(each.when).size for each in line.entries if each.when is not None)
        size += 0 if cleared else faults.operations
        if count <= MOST_LIVE and size <= MOST_OPERATIONS:
            return asked, line
        text = (
            f"{count} faults would wait or act, with {size} operations, names and numbers in conditions;"
            f" at most {MOST_LIVE} faults and {MOST_OPERATIONS} are possible; clear some first"
        )
        return InjectRefused(id=asked.id, code=InjectRefusal.BUSY, text=text)

    def _taken(self, read: _Read) -> InjectRefused | Injected:
        """Accept the faults. Return the answer without its reports."""
        if isinstance(read, InjectRefused):
            return read
        asked, line = read
        faults = self._faults
        faults.give(line)
        tick, first = faults.site.machinery.tick, faults.first
        return Injected(
            id=asked.id,
            tick=-1 if first is None else tick - first,
            time_s=tick * faults.site.period_s,
            names=list(line.names),
        )

    def _answer(self, answer: InjectRefused | Injected) -> bytes:
        if isinstance(answer, Injected):
            kinds = capabilities(self._machine, hardware=self._hardware)
            answer = answer.model_copy(update={"faults": self._faults.reports(), "kinds": kinds})
        return answer.pack()


class Beside:
    """Work done by a thread beside the ticks."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self.found: Any = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._switch_s = sys.getswitchinterval()
        sys.setswitchinterval(min(_SWITCH_S, self._switch_s))
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether `found` is there."""
        if self._thread.is_alive():
            return False
        sys.setswitchinterval(self._switch_s)
        return True

    def _run(self) -> None:
        set_policy(None)  # of this thread alone
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
        self.found = self._work()


def _refusal(number: int, error: MachineError) -> InjectRefused:
    code = InjectRefusal.UNSUPPORTED if isinstance(error, Impossible) else InjectRefusal.INVALID
    problems = [
        FaultProblem(
            key=each.key,
            message=each.message,
            found=each.found,
            allowed=each.allowed[:4096],
            remedy=each.remedy,
        )
        for each in error.problems
    ]
    text = "; ".join(f"{each.key}: {each.message}" for each in error.problems)
    return InjectRefused(id=number, code=code, text=text[:4096], problems=problems)
