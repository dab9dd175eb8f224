"""Fault injection while the plant runs: messages are checked, answered, and executed.

A change of the mechanism requires that the machine file is read again, which takes many periods. In real time
a thread of ordinary priority reads it, and the faults are taken afterwards; further messages wait meanwhile.
In lockstep, and while no controller is connected, it is read immediately.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from linkwork.machine import Machine
from linkwork.machine.problems import MachineError
from linkwork.plant.faults.injected_faults import Faults
from linkwork.plant.faults.kinds import capabilities
from linkwork.plant.faults.mechanism_entries import Change, Payload
from linkwork.plant.faults.timeline import Impossible, TimeLine, from_data
from linkwork.protocol.codes import Role
from linkwork.protocol.errors import ProtocolError, role_refusal
from linkwork.protocol.injection import (
    FaultProblem,
    Inject,
    Injected,
    InjectRefusal,
    InjectRefused,
    read_inject,
)
from linkwork.timing.scheduling import set_policy

_SWITCH_S: Final = 5e-5
"""How long the thread may hold the interpreter against a tick that wants it."""


class InjectionRequests:
    """Handle `inject` messages for a plant's faults; `send(peer, message)` answers them."""

    def __init__(
        self, machine: Machine, faults: Faults, send: Callable[[bytes, bytes], object], *, is_open: bool
    ) -> None:
        self._machine, self._faults, self._send, self._is_open = machine, faults, send, is_open
        self._hardware = faults.site.machinery.simulated is None
        self._turns: deque[tuple[bytes, Inject]] = deque()
        self._checking: Beside | None = None

    def receive(self, peer: bytes, message: bytes, *, role: Role | None, clocked: bool) -> None:
        """Handle one message of a client with this role.

        It is answered immediately, unless the machine file has to be read in real time.
        """
        self.check_verdict()
        try:
            asked = read_inject(message)
        except ProtocolError as error:
            self._send(peer, InjectRefused(code=InjectRefusal.MALFORMED, text=str(error)).pack())
            return
        if asked.faults and not self._is_open:
            text = "this plant accepts no faults besides its timeline: start it with --inject"
            self._send(peer, InjectRefused(id=asked.id, code=InjectRefusal.NOT_OFFERED, text=text).pack())
            return
        if role is None or (asked.faults and role < Role.SERVICE):
            text = role_refusal("injecting faults", role, Role.SERVICE)
            self._send(peer, InjectRefused(id=asked.id, code=InjectRefusal.NOT_PERMITTED, text=text).pack())
            return
        if self._checking is not None:
            self._turns.append((peer, asked))
        elif clocked and self._is_slow(asked):
            self._turns.append((peer, asked))
            self._check_beside(asked)
        else:
            self._answer(peer, asked, self._check(asked))

    def check_verdict(self) -> None:
        """Whether the pending check is complete. Called at a tick."""
        if self._checking is None or not self._checking.done:
            return
        found, self._checking = self._checking.found, None
        self._answer(*self._turns.popleft(), found)
        while self._turns and self._checking is None:
            peer, asked = self._turns[0]
            if self._is_slow(asked):
                self._check_beside(asked)
            else:
                self._turns.popleft()
                self._answer(peer, asked, self._check(asked))

    def _check_beside(self, asked: Inject) -> None:
        taken, given = self._faults.taken, self._faults.names
        self._checking = Beside(lambda: self._checked(asked, taken, given))

    def _check(self, asked: Inject) -> TimeLine | MachineError:
        return self._checked(asked, self._faults.taken, self._faults.names)

    def _checked(self, asked: Inject, taken: set[str], given: set[str]) -> TimeLine | MachineError:
        data = {"seed": asked.seed, "faults": asked.faults}
        try:
            return from_data(data, self._machine, hardware=self._hardware, taken=taken, given=given)
        except MachineError as error:
            return error

    def _is_slow(self, asked: Inject) -> bool:
        slow = (Change.kind.partition(".")[2], Payload.kind.partition(".")[2])
        return not self._hardware and any(fault.get("mechanism") in slow for fault in asked.faults)

    def _answer(self, peer: bytes, asked: Inject, found: TimeLine | MachineError) -> None:
        if isinstance(found, MachineError):
            self._send(peer, _refusal(asked.id, found).pack())
            return
        faults = self._faults
        faults.give(found)
        tick, first = faults.site.machinery.tick, faults.first
        answer = Injected(
            id=asked.id,
            tick=-1 if first is None else tick - first,
            time_s=tick * faults.site.period_s,
            names=list(found.names),
            faults=faults.reports(),
            kinds=capabilities(self._machine, hardware=self._hardware),
        )
        self._send(peer, answer.pack())


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
