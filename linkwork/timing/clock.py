"""The clock of a fixed-rate loop: absolute deadlines on CLOCK_MONOTONIC that keep their phase.

The deadlines are exactly start + k * period. Where a tick takes too long, whole periods are skipped and
counted; there is no burst to catch up, and the phase never drifts by the lateness of a wake-up.

The sleep is `clock_nanosleep` with TIMER_ABSTIME. `time.sleep` until the deadline wakes as early at the
median, but it turns the deadline into a duration first: being preempted in between makes it sleep too long,
which shows as a longer tail.
"""

import ctypes
import time
from typing import Protocol

from linkwork.timing.system import LIBC, raise_errno

_CLOCK_MONOTONIC = 1
_TIMER_ABSTIME = 1
_EINTR = 4
_SECOND_NS = 1_000_000_000


class Clock(Protocol):
    """Clock of a daemon: the computer's, or a simulated one.

    `simulated`: computing takes no time on it, so that a tick has no overrun to explain.
    """

    @property
    def simulated(self) -> bool:
        """Whether only sleeping takes time."""
        ...

    def now_ns(self) -> int:
        """Nanoseconds since some fixed instant; never goes back."""
        ...

    def unix_ns(self) -> int:
        """Unix time, ns; for people and logs."""
        ...

    def sleep_until_ns(self, deadline_ns: int) -> None:
        """Return at `deadline_ns` or later; immediately when it has passed."""
        ...


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class MonotonicClock:
    """CLOCK_MONOTONIC of the computer, in nanoseconds. One object a thread: the sleep reuses its buffer."""

    now_ns = staticmethod(time.monotonic_ns)
    unix_ns = staticmethod(time.time_ns)
    simulated = False

    def __init__(self) -> None:
        self._timespec = _Timespec()
        self._address = ctypes.byref(self._timespec)
        self._nanosleep = LIBC.clock_nanosleep

    def sleep_until_ns(self, deadline_ns: int) -> None:
        """Sleep until the absolute instant, also when signals arrive meanwhile (their handlers run).

        deadline_ns: ns on CLOCK_MONOTONIC. Raises OSError when the kernel refuses the call.
        """
        timespec = self._timespec
        timespec.seconds, timespec.nanoseconds = divmod(deadline_ns, _SECOND_NS)
        while error := self._nanosleep(_CLOCK_MONOTONIC, _TIMER_ABSTIME, self._address, None):
            if error != _EINTR:
                raise_errno("clock_nanosleep", error)


def now_ns() -> int:
    """Nanoseconds on CLOCK_MONOTONIC, which every process of this computer reads alike."""
    return time.monotonic_ns()


class Ticker:
    """Releases a loop once a period.

    After `start` the first `wait` returns one period later. Every `wait` leaves:

    deadline_ns: the instant this tick was due, ns; start + a whole number of periods, always.
    late_ns: how long after the instant it slept for the loop woke, or after `wait` was called where that
    instant had passed; more than a period where the computer was late by more than one.
    slack_ns: rest of the previous period when `wait` was called, negative after an overrun.
    skipped: periods left out since `start`.
    """

    __slots__ = ("_clock", "deadline_ns", "late_ns", "period_ns", "skipped", "slack_ns")

    def __init__(self, period_ns: int, clock: Clock | None = None) -> None:
        if period_ns <= 0:
            raise ValueError(f"period_ns is {period_ns}; a period must be longer than 0")
        self.period_ns = int(period_ns)
        self._clock: Clock = MonotonicClock() if clock is None else clock
        self.deadline_ns = self.late_ns = self.slack_ns = self.skipped = 0

    def start(self, at_ns: int | None = None) -> None:
        """Set the phase. at_ns: the instant of the tick before the first, ns; now when not given."""
        self.deadline_ns = self._clock.now_ns() if at_ns is None else int(at_ns)
        self.late_ns = self.slack_ns = self.skipped = 0

    def wait(self) -> int:
        """Sleep until the next deadline. Returns how many periods were missed (0 as a rule).

        A period is missed when it ends before this thread runs. Where the deadline has passed by less than a
        period, `wait` returns at once: the tick begins late, and is not missed.
        """
        period = self.period_ns
        target = self.deadline_ns + period
        asked = self._clock.now_ns()
        if asked < target:
            self._clock.sleep_until_ns(target)
        woke = self._clock.now_ns()
        missed = (woke - target) // period
        self.deadline_ns = target + missed * period
        self.late_ns = woke - max(target, asked)
        self.slack_ns = target - asked
        self.skipped += missed
        return missed
