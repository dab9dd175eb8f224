"""Time of each phase of a period, and the causes of overruns.

The loop marks the end of each phase on CLOCK_MONOTONIC. A period runs from one hand-over of a command to the
next, so that the phases of a tick add up to the difference of two `sent_ns` exactly. Where a tick overran,
the time beyond the period is compared with what each possible cause explains, and the cause that explains
most is named. All of this happens after the command has been sent.
"""

import gc
import os
import resource
import time
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from linkwork.controller.exchange.records import WALL_CLOCK, Record
from linkwork.controller.exchange.tick_io import Inputs
from linkwork.protocol.codes import OverrunCause
from linkwork.timing.clock import Clock


class TickPhase(IntEnum):
    """Phases of a period, in the order of `linkwork.controller.exchange.records.PHASES`."""

    RECORD = 0
    """Writing the record of the tick before, and housekeeping."""
    WAIT = 1
    """Resting until the deadline, or until the state arrives."""
    RECEIVE = 2
    """Reading the state."""
    ORDER = 3
    """Taking an order, and a slice of the checksum of a goal."""
    ESTIMATE = 4
    SUPERVISE = 5
    LAW = 6
    LIMIT = 7
    SEND = 8
    """Packing the command and handing it to the socket."""


_SMOOTHING: Final = 1.0 / 64.0
"""Weight of a new tick in the averages of ordinary ticks."""
_EXPLAINED: Final = 0.25
"""A cause must explain at least this part of the time lost; otherwise it is unknown."""
_ORDER_NS: Final = 20_000.0
"""Time of the phase ORDER that is ordinary, ns: no checksum is being computed."""
_RUN_DELAY: Final = "/proc/thread-self/schedstat"


class PhaseClock:
    """Marks the ends of phases. `elapsed_ns`: time per phase since the last period ended, ns."""

    __slots__ = ("_last_ns", "_now_ns", "elapsed_ns")

    def __init__(self, clock: Clock) -> None:
        self.elapsed_ns = [0] * len(TickPhase)
        self._now_ns = clock.now_ns
        self._last_ns = clock.now_ns()

    def mark(self, phase: int) -> int:
        """The phase ends now; return the time, ns on the clock."""
        now = self._now_ns()
        self.elapsed_ns[phase] += now - self._last_ns
        self._last_ns = now
        return now

    def clear(self) -> None:
        """A new period begins where the last phase ended."""
        self.elapsed_ns[:] = _NOTHING


_NOTHING: Final = [0] * len(TickPhase)


@dataclass(frozen=True, slots=True)
class OverrunEvidence:
    """Measured causes of a tick's overrun; times in ns.

    lost: time beyond the period. late: how long after its deadline the loop woke. waited: time in the phase
    WAIT. computed: time in all other phases; ordinary: the same in ordinary ticks. order: time in the phase
    ORDER. solving: time in estimate and law beyond the ordinary, of a tick whose solvers took more iterations
    than usual, else 0. collected: in garbage collections. run_delay: time runnable without a processor; None
    where the kernel does not report it. page_faults, preemptions: counts.
    """

    period: int
    lost: float
    late: float
    waited: float
    computed: float
    ordinary: float
    order: float = 0.0
    solving: float = 0.0
    collected: float = 0.0
    run_delay: float | None = None
    page_faults: int = 0
    preemptions: int = 0


def cause_of(seen: OverrunEvidence) -> OverrunCause:
    """The cause that explains most of the time lost."""
    delay = seen.run_delay if seen.run_delay is not None else seen.late
    excess = max(0.0, seen.computed - seen.ordinary)
    explained = {
        OverrunCause.GARBAGE_COLLECTION: seen.collected,
        OverrunCause.CHECKSUM: seen.order - _ORDER_NS,
        OverrunCause.SOLVER: seen.solving,
        OverrunCause.LATE_STATE: seen.waited - seen.late - max(0.0, seen.period - seen.ordinary),
    }
    ours = seen.collected + max(0.0, explained[OverrunCause.CHECKSUM]) + seen.solving
    rest = excess - ours
    if seen.preemptions:
        explained[OverrunCause.PREEMPTED] = delay - seen.late if seen.run_delay is not None else rest
        explained[OverrunCause.LATE_WAKE] = seen.late
    else:
        explained[OverrunCause.LATE_WAKE] = max(delay, seen.late)
    if seen.page_faults:
        explained[OverrunCause.PAGE_FAULT] = rest - (seen.run_delay or 0.0)
    cause = max(explained, key=lambda each: explained[each])
    return cause if explained[cause] >= _EXPLAINED * seen.lost else OverrunCause.UNKNOWN


class OverrunMonitor:
    """Names the cause of every tick of one thread that overran.

    `watch` is called once a tick, after the command was sent. It asks the kernel for the thread's page faults
    and involuntary context switches, and, after an overrun only, for the time it was ready to run but did
    not.
    """

    def __init__(self, period_ns: int) -> None:
        self._period_ns = period_ns
        self._work_ns = self._solve_ns = -1.0
        self._iterations = 0.0
        self._collected_ns = self._collecting_since_ns = 0
        self.page_faults = self.preemptions = 0
        """Of the last tick."""
        self._faults, self._switches = _counts()
        self._schedule: int | None = None
        with suppress(OSError):
            self._schedule = os.open(_RUN_DELAY, os.O_RDONLY | os.O_CLOEXEC)
        self._delayed_ns = self._run_delay_ns()
        gc.callbacks.append(self._collect)

    def close(self) -> None:
        """Stop listening to the garbage collector."""
        gc.callbacks.remove(self._collect)
        if self._schedule is not None:
            os.close(self._schedule)
            self._schedule = None

    def watch(self, elapsed_ns: list[int], *, late_ns: int, overran: bool, iterations: float) -> OverrunCause:
        """The cause of this tick's overrun, NONE where there was none.

        elapsed_ns: time per phase. late_ns: how long after its deadline the loop woke. overran: whether a
        period was skipped or no state came in time; a tick whose work takes more than a period has overrun
        too. iterations: of the solvers in estimate and law.
        """
        faults, switches = _counts()
        self.page_faults, self._faults = faults - self._faults, faults
        self.preemptions, self._switches = switches - self._switches, switches
        total = sum(elapsed_ns)
        work = total - elapsed_ns[TickPhase.WAIT]
        solve = elapsed_ns[TickPhase.ESTIMATE] + elapsed_ns[TickPhase.LAW]
        if self._work_ns < 0.0:
            self._work_ns, self._solve_ns = float(work), float(solve)
            return OverrunCause.NONE
        if not overran and work <= self._period_ns:
            self._work_ns += _SMOOTHING * (work - self._work_ns)
            self._solve_ns += _SMOOTHING * (solve - self._solve_ns)
            self._iterations += _SMOOTHING * (iterations - self._iterations)
            self._collected_ns = 0
            return OverrunCause.NONE
        before, self._delayed_ns = self._delayed_ns, self._run_delay_ns()
        known = before is not None and self._delayed_ns is not None
        seen = OverrunEvidence(
            period=self._period_ns,
            lost=max(1.0, float(total - self._period_ns)),
            late=float(late_ns),
            waited=float(elapsed_ns[TickPhase.WAIT]),
            computed=float(work),
            ordinary=self._work_ns,
            order=float(elapsed_ns[TickPhase.ORDER]),
            solving=max(0.0, solve - self._solve_ns) if iterations > self._iterations + 0.5 else 0.0,
            collected=float(self._collected_ns),
            run_delay=float(self._delayed_ns - before) if known else None,  # type: ignore[operator]
            page_faults=self.page_faults,
            preemptions=self.preemptions,
        )
        self._collected_ns = 0
        return cause_of(seen)

    def refresh(self) -> None:
        """Read the time spent ready to run again, so that the next overrun is charged with its own only."""
        self._delayed_ns = self._run_delay_ns()

    def _run_delay_ns(self) -> int | None:
        if self._schedule is None:
            return None
        try:
            return int(os.pread(self._schedule, 64, 0).split()[1])
        except (OSError, ValueError, IndexError):
            return None

    def _collect(self, stage: str, _: dict[str, Any]) -> None:
        now = time.monotonic_ns()
        if stage == "start":
            self._collecting_since_ns = now
        else:
            self._collected_ns += now - self._collecting_since_ns


class TickTiming:
    """Wall-clock measurements of each tick, written to its record.

    explains: whether overruns are explained; in lockstep there are none.
    """

    def __init__(self, record: Record, period_ns: int, clock: Clock, *, explains: bool) -> None:
        at = 8 * record.layout.offsets["received_ns"]
        self._words = record.floats.data.cast("B")[at : at + WALL_CLOCK.size]
        self._clock = PhaseClock(clock)
        self._unix_ns = clock.unix_ns
        self.mark = self._clock.mark
        self._overruns = OverrunMonitor(period_ns) if explains else None
        self._received_ns = self._missed = self._late_ns = 0

    def begin(self, received_ns: int, missed: int, late_ns: int) -> None:
        """A tick: when its state was received, periods skipped before it, how late after its deadline."""
        self._received_ns, self._missed, self._late_ns = received_ns, missed, late_ns

    def note(self, sent_ns: int, inputs: Inputs, iterations: float) -> None:
        """Write the record of this tick. iterations: of the solvers in estimate and law."""
        elapsed, overruns = self._clock.elapsed_ns, self._overruns
        cause = faults = preemptions = 0
        if overruns is not None:
            waited_in_vain = inputs.connected and (self._late_ns > 0 or not inputs.fresh)
            overran = self._missed > 0 or waited_in_vain
            cause = overruns.watch(elapsed, late_ns=self._late_ns, overran=overran, iterations=iterations)
            faults, preemptions = overruns.page_faults, overruns.preemptions
        WALL_CLOCK.pack_into(
            self._words, 0,
            self._received_ns, sent_ns, self._missed, self._unix_ns(), cause, faults, preemptions, *elapsed,
        )  # fmt: skip
        self._clock.clear()

    def refresh(self) -> None:
        """Read again the counters with which the next overrun is compared."""
        if self._overruns is not None:
            self._overruns.refresh()

    def close(self) -> None:
        """Stop watching the thread."""
        if self._overruns is not None:
            self._overruns.close()


def _counts() -> tuple[int, int]:
    """Page faults and involuntary context switches of this thread since it started."""
    used = resource.getrusage(resource.RUSAGE_THREAD)
    return used.ru_minflt + used.ru_majflt, used.ru_nivcsw
