"""Deadlines: phase, skipping, and the real sleep."""

import signal
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.timing.clock import MonotonicClock, Ticker, now_ns

PERIOD = 1_000_000


@dataclass
class HandClock:
    """Moves only when told; `overslept` says how much too late each sleep ends."""

    time: int = 5_000_000_000
    overslept: list[int] = field(default_factory=list)

    def now_ns(self) -> int:
        return self.time

    def sleep_until_ns(self, deadline_ns: int) -> None:
        self.time = max(self.time, deadline_ns) + (self.overslept.pop(0) if self.overslept else 0)


@given(
    work=st.lists(st.tuples(st.integers(0, 5 * PERIOD), st.integers(0, 5 * PERIOD)), min_size=1, max_size=40),
    period=st.integers(1, 3 * PERIOD),
)
def test_phase_is_kept_and_only_whole_periods_are_missed(work: list[tuple[int, int]], period: int) -> None:
    clock = HandClock()
    ticker = Ticker(period, clock)
    ticker.start()
    start = clock.now_ns()
    previous = 0
    for busy, overslept in work:
        clock.time += busy
        clock.overslept = [overslept]
        sleeps = clock.now_ns() < ticker.deadline_ns + ticker.period_ns
        missed = ticker.wait()
        number, remainder = divmod(ticker.deadline_ns - start, period)
        assert remainder == 0
        assert number == previous + 1 + missed
        assert ticker.late_ns == (overslept if sleeps else 0)
        assert 0 <= clock.now_ns() - ticker.deadline_ns < period
        previous = number
    assert ticker.skipped == previous - len(work)


def test_a_tick_in_time_leaves_slack() -> None:
    clock = HandClock()
    ticker = Ticker(PERIOD, clock)
    ticker.start()
    clock.time += 300_000
    assert ticker.wait() == 0
    assert (ticker.slack_ns, ticker.late_ns, ticker.skipped) == (700_000, 0, 0)


@pytest.mark.parametrize(
    ("busy", "missed"),
    [
        (PERIOD - 1, 0),
        (PERIOD, 0),
        (2 * PERIOD - 1, 0),
        (2 * PERIOD, 1),
        (2 * PERIOD + 1, 1),
        (10 * PERIOD, 9),
    ],
)
def test_an_overrun_misses_whole_periods_only(busy: int, missed: int) -> None:
    clock = HandClock()
    ticker = Ticker(PERIOD, clock)
    ticker.start()
    clock.time += busy
    assert ticker.wait() == missed
    assert ticker.slack_ns == PERIOD - busy


def test_a_late_wake_up_is_no_reason_to_shift_the_next_deadline() -> None:
    clock = HandClock(overslept=[400_000])
    ticker = Ticker(PERIOD, clock)
    ticker.start()
    start = clock.now_ns()
    ticker.wait()
    assert ticker.late_ns == 400_000
    ticker.wait()
    assert ticker.deadline_ns == start + 2 * PERIOD
    assert ticker.skipped == 0


def test_start_takes_a_phase_and_forgets_the_past() -> None:
    clock = HandClock()
    ticker = Ticker(PERIOD, clock)
    ticker.start()
    clock.time += 7 * PERIOD
    ticker.wait()
    ticker.start(at_ns=clock.now_ns() - 250_000)
    assert ticker.skipped == 0
    ticker.wait()
    assert clock.now_ns() == ticker.deadline_ns


@pytest.mark.parametrize("period", [0, -1])
def test_a_period_is_positive(period: int) -> None:
    with pytest.raises(ValueError, match="period_ns"):
        Ticker(period)


def test_the_real_sleep_never_ends_early() -> None:
    clock = MonotonicClock()
    deadline = now_ns() + 3_000_000
    clock.sleep_until_ns(deadline)
    assert now_ns() >= deadline
    clock.sleep_until_ns(deadline - 5_000_000_000)


def test_signals_are_handled_and_the_sleep_goes_on() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _frame: heard.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        deadline = now_ns() + 100_000_000
        MonotonicClock().sleep_until_ns(deadline)
        assert now_ns() >= deadline
        assert heard
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
