"""Interrupts as flags, in this very process."""

import os
import select
import signal
from collections.abc import Iterator

import pytest

from linkwork.timing.signals import SignalInterrupts


@pytest.fixture
def interrupts() -> Iterator[SignalInterrupts]:
    with SignalInterrupts() as installed:
        yield installed


def readable(fd: int) -> bool:
    return bool(select.select([fd], [], [], 0)[0])


def test_nothing_came(interrupts: SignalInterrupts) -> None:
    assert not interrupts.requested
    assert not readable(interrupts.fd)
    interrupts.drain()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_requests_and_the_second_insists(
    interrupts: SignalInterrupts, number: signal.Signals
) -> None:
    os.kill(os.getpid(), number)
    assert (interrupts.requested, interrupts.insisted, interrupts.last) == (True, False, number)
    assert readable(interrupts.fd)
    interrupts.drain()
    assert not readable(interrupts.fd)
    os.kill(os.getpid(), signal.SIGINT)
    assert interrupts.insisted
    assert interrupts.last == signal.SIGINT
    assert readable(interrupts.fd)


def test_a_poll_wakes_up(interrupts: SignalInterrupts) -> None:
    signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        poll = select.poll()
        poll.register(interrupts.fd, select.POLLIN)
        assert poll.poll(30_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def test_close_puts_back_what_was_there() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    interrupts = SignalInterrupts().install()
    assert signal.getsignal(signal.SIGINT) != before[0]
    interrupts.close()
    interrupts.close()
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
