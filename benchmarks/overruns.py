"""Whether overruns are labelled with the cause that was provoked.

    python benchmarks/overruns.py [--provocations 1000] [--cpu N] [--json]

One thread runs at 1 kHz with the timing of the loop (`linkwork.controller.loop.overruns.TickTiming`), under
SCHED_FIFO where that is allowed, on one processor. Every twentieth tick something is provoked, in turns:

    page_fault          the law touches 8 MB of fresh memory
    garbage_collection  the law collects 300,000 objects
    checksum            the order phase computes a checksum of 16 MB
    late_state          another process sends the state of this tick 4 ms late
    preempted           an urgent process takes the processor for 4 ms while the law computes
    late_wake           it does so while the thread waits for its deadline

The urgent process needs a priority above that of the thread. Where that is not allowed, the last two are left
out, and the reason is printed. For each cause: how many overruns were provoked, how many were labelled so,
and what the others were called. Overruns that nothing provoked count as the computer's own.
"""

from __future__ import annotations

import argparse
import gc
import json
import mmap
import os
import select
import socket
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable

from linkwork.controller.exchange.records import Record, layout_for
from linkwork.controller.exchange.tick_io import Inputs
from linkwork.controller.loop.overruns import TickPhase, TickTiming
from linkwork.machine import load
from linkwork.protocol.codes import OverrunCause
from linkwork.timing.clock import MonotonicClock, Ticker
from linkwork.timing.scheduling import pin, set_policy, share_processors

PERIOD_NS = 1_000_000
EVERY = 20
"""Ticks between two provocations."""
SPIN_NS = 4_000_000
PRIORITY = 50
CAUSES = (
    OverrunCause.PAGE_FAULT,
    OverrunCause.GARBAGE_COLLECTION,
    OverrunCause.CHECKSUM,
    OverrunCause.LATE_STATE,
    OverrunCause.PREEMPTED,
    OverrunCause.LATE_WAKE,
)


class Helper:
    """A process that answers each byte: with a state after a delay, or by taking the processor."""

    def __init__(self, kind: str, cpu: int, priority: int | None) -> None:
        self.near, far = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--helper", kind, str(far.fileno()), str(cpu), str(priority or 0)],
            pass_fds=(far.fileno(),),
        )
        far.close()
        self.near.recv(1)

    def close(self) -> None:
        """End the process."""
        self.near.close()
        self._process.wait(timeout=10)


def help_out(kind: str, descriptor: int, cpu: int, priority: int) -> None:
    """The helper's own loop, until the other end closes."""
    far = socket.socket(fileno=descriptor)
    if kind == "urgent":
        pin(frozenset({cpu}))
    if priority:
        set_policy(priority)
    far.send(b"r")
    while asked := far.recv(1):
        if kind == "state":
            time.sleep(4e-3 if asked == b"l" else 0.0)
            far.send(b"s")
            continue
        if asked == b"w":
            time.sleep(0.3e-3)  # the thread waits by now
        until = time.monotonic_ns() + SPIN_NS
        while time.monotonic_ns() < until:
            pass


class Provoked:
    """The thread, its helpers, and what its overruns were called."""

    def __init__(self, cpu: int) -> None:
        pin(frozenset({cpu}))
        self.refused = ""
        policy = set_policy(PRIORITY)
        if not policy.met:
            self.refused = f"{policy.asked} was refused: {policy.remedy}"
        others = sorted(os.sched_getaffinity(0) | set(range(os.cpu_count() or 1)))
        self._state = Helper("state", others[0] if others[0] != cpu else others[-1], None)
        self._urgent = None if self.refused else Helper("urgent", cpu, PRIORITY + 30)
        machine = load("scara")
        self._inputs = Inputs.sized(len(machine.sensors), len(machine.motors), machine.force_numbers)
        self._inputs.connected = True
        self._record = Record(layout_for(machine))
        self._at = self._record.layout.offsets["overrun"]
        self._timing = TickTiming(self._record, PERIOD_NS, MonotonicClock(), explains=True)
        self._objects = [[[] for _ in range(10)] for _ in range(30_000)]
        self._bytes = bytes(16 << 20)
        gc.disable()

    def close(self) -> None:
        """End the helpers."""
        self._timing.close()
        self._state.close()
        if self._urgent is not None:
            self._urgent.close()

    @property
    def causes(self) -> tuple[OverrunCause, ...]:
        """What can be provoked here."""
        return CAUSES if self._urgent is not None else CAUSES[:4]

    def run(self, provocations: int) -> tuple[dict[OverrunCause, Counter[str]], Counter[str]]:
        """What provoked overruns were called, by what provoked them; and all others."""
        found = {cause: Counter[str]() for cause in self.causes}
        own: Counter[str] = Counter()
        ticker = Ticker(PERIOD_NS)
        ticker.start()
        for tick in range(provocations * EVERY):
            number, rest = divmod(tick, EVERY)
            cause = self.causes[number % len(self.causes)] if rest == EVERY // 2 else None
            called = self._tick(ticker, cause)
            if cause is not None:
                found[cause][called] += 1
            elif called != "none" and rest != EVERY // 2 + 1:
                own[called] += 1
        return found, own

    def _tick(self, ticker: Ticker, cause: OverrunCause | None) -> str:
        timing = self._timing
        if cause is OverrunCause.LATE_WAKE and self._urgent is not None:
            self._urgent.near.send(b"w")
        missed = ticker.wait()
        timing.mark(TickPhase.WAIT)
        late_ns = ticker.late_ns if missed else 0
        self._state.near.send(b"l" if cause is OverrunCause.LATE_STATE else b"s")
        patience = 0.5e-9 * PERIOD_NS
        self._inputs.fresh = bool(select.select([self._state.near], [], [], patience)[0])
        timing.mark(TickPhase.WAIT)
        if self._inputs.fresh:
            self._state.near.recv(1)
        timing.mark(TickPhase.RECEIVE)
        if cause is OverrunCause.CHECKSUM:
            zlib.crc32(self._bytes)
        timing.mark(TickPhase.ORDER)
        act = self._acts().get(cause) if cause is not None else None
        if act is not None:
            act()
        timing.mark(TickPhase.LAW)
        timing.begin(ticker.deadline_ns, missed, late_ns)
        timing.note(timing.mark(TickPhase.SEND), self._inputs, 0.0)
        timing.mark(TickPhase.RECORD)
        if not self._inputs.fresh:
            self._state.near.recv(1)
            timing.mark(TickPhase.WAIT)
        timing.refresh()
        return OverrunCause(int(self._record.integers[self._at])).name.lower()

    def _acts(self) -> dict[OverrunCause, Callable[[], object]]:
        return {
            OverrunCause.PAGE_FAULT: _touch,
            OverrunCause.GARBAGE_COLLECTION: gc.collect,
            OverrunCause.PREEMPTED: self._give_way,
        }

    def _give_way(self) -> None:
        assert self._urgent is not None
        self._urgent.near.send(b"p")
        until = time.monotonic_ns() + 200_000
        while time.monotonic_ns() < until:
            pass


def _touch() -> None:
    pages = mmap.mmap(-1, 8 << 20)
    pages.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, len(pages), mmap.PAGESIZE):
        pages[at] = 1
    pages.close()


def main() -> None:
    """Provoke, count, print."""
    asked = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    asked.add_argument("--provocations", type=int, default=1000)
    asked.add_argument("--cpu", type=int, default=min(share_processors()[0]))
    asked.add_argument("--json", action="store_true")
    options = asked.parse_args()
    provoked = Provoked(options.cpu)
    try:
        found, own = provoked.run(options.provocations)
    finally:
        provoked.close()
    right = sum(counts[cause.name.lower()] for cause, counts in found.items())
    every = sum(sum(counts.values()) for counts in found.values())
    if options.json:
        told = {cause.name.lower(): dict(counts) for cause, counts in found.items()}
        sys.stdout.write(
            json.dumps({"right": right, "provoked": every, "labels": told, "own": dict(own)}) + "\n"
        )
        return
    for cause, counts in found.items():
        print(
            f"{cause.name.lower():<20} {counts[cause.name.lower()]} of {sum(counts.values())}: {dict(counts)}"
        )
    print(f"{right} of {every} provoked overruns have the right label ({right / every:.1%})")
    print(f"the computer's own: {dict(own) or 'none'}")
    if provoked.refused:
        print(f"preempted and late_wake were left out: {provoked.refused}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--helper"]:
        help_out(sys.argv[2], *(int(word) for word in sys.argv[3:]))
    else:
        main()
