"""Causes of late wake-ups, from traces as the kernel writes them; and a real trace where it may be read."""

from pathlib import Path

import pytest

from linkwork.diagnostics.kernel_trace import Cause, NoTrace, causes, kernel_trace, read_events

HEAD = "# tracer: nop\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
IDLE_TO = "          <idle>-0       [001] d..2. {at}: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm={name} next_pid={pid} next_prio={prio}"  # noqa: E501
TIMER = "          <idle>-0       [001] d.h1. {at}: local_timer_entry: vector=236"


def parsed(*lines: str) -> list[Cause]:
    """Causes for thread 77, due at 100 s, awake 400 µs later."""
    return causes(read_events([HEAD, *lines]), 77, 100_000_000_000, 100_000_400_000)


def switch(at: str, name: str, pid: int, prio: int = 120) -> str:
    return IDLE_TO.format(at=at, name=name, pid=pid, prio=prio)


def test_a_task_that_did_not_give_way_is_named() -> None:
    found = parsed(
        switch("99.999000", "tar xf", 5),
        TIMER.format(at="100.000010"),
        switch("100.000310", "python", 77, 49),
    )
    assert found[0] == Cause("tar xf (process 5, ordinary priority)", 300_000)
    assert found[1] == Cause("the thread's own way back to its program", 90_000)
    assert found[2].what.startswith("the timer interrupt came late: interrupts off")
    assert sum(cause.share_ns for cause in found) == 400_000


def test_a_late_timer_is_told_from_a_slow_exit_of_the_idle_state() -> None:
    found = parsed(
        switch("99.999000", "swapper/1", 0),
        TIMER.format(at="100.000250"),
        switch("100.000350", "python", 77, 49),
    )
    assert [cause.share_ns for cause in found] == [250_000, 100_000, 50_000]
    assert "deep sleep" in found[0].what
    assert found[1].what == "leaving the idle state"


def test_interrupts_are_counted_where_they_nest() -> None:
    at = "          <idle>-0       [001] d.h1. "
    found = parsed(
        switch("99.999000", "work", 5, 10),
        TIMER.format(at="100.000000"),
        at + "100.000050: irq_handler_entry: irq=11 name=virtio0",
        at + "100.000150: irq_handler_exit: irq=11 ret=handled",
        at + "100.000150: softirq_entry: vec=3 [action=NET_RX]",
        at + "100.000350: softirq_exit: vec=3 [action=NET_RX]",
        switch("100.000360", "python", 77, 49),
    )
    assert found[:3] == [
        Cause("soft interrupt NET_RX", 200_000),
        Cause("interrupt 11 (virtio0)", 100_000),
        Cause("work (process 5, real-time priority)", 60_000),
    ]


def test_other_processors_and_text_that_is_no_event_change_nothing() -> None:
    lines = [switch("99.999000", "tar", 5), TIMER.format(at="100.000010"), switch("100.000310", "python", 77)]
    other = [line.replace("[001]", "[000]").replace("next_pid=77", "next_pid=78") for line in lines]
    assert parsed(*lines, *other, "CPU:1 [LOST 12 EVENTS]") == parsed(*lines)
    assert parsed(*lines[:2]) == []


def test_without_tracefs_the_reason_and_the_remedy_are_given() -> None:
    mounted = any(line.split()[2] == "tracefs" for line in Path("/proc/self/mounts").read_text().splitlines())
    if mounted:
        pytest.skip("tracefs is mounted here")
    with pytest.raises(NoTrace, match="mount -t tracefs"), kernel_trace():
        pass
